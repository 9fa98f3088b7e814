"""Options are taken strictly; a fleet is agreed when some split of it obeys everything."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from judges.refusals import messages, refused

from pbem.games import Refused, Result
from pbem.games.spaceships import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping


def test_what_is_changed_comes_in_the_order_of_the_record() -> None:
    raw = {
        "additional_allowed": {"LG": 5, "KC": 0},
        "allowed": {"LG": 3, "DS": 1},
        "additional": [0, 4],
        "first": "2",
        "fleet": "cost:30",
    }
    changed = RULES.options(raw, 2).changed
    assert list(changed) == ["fleet", "first", "additional", "allowed", "additional_allowed"]
    assert changed == raw
    assert list(changed["allowed"]) == ["DS", "LG"]
    assert RULES.options(changed, 2).changed == changed
    hash(RULES.options(raw, 2))


NOT_A_COUNT: list[Any] = [-1, True, 1.0, "1", None, [], {}, datetime(2026, 1, 1, tzinfo=UTC)]
NO_FLEET: list[Any] = ["cost:24 ", "cost:٣", "cost:" + "9" * 5000, None, [], "standard\n"]
NOT_ALLOWED: list[Any] = [{"XX": 1}, {"lg": 1}, [], "LG", 3, {"LG": {}}]


@pytest.mark.parametrize(
    "raw",
    [
        {"colour": 1},
        *({"fleet": value} for value in ("", "cost", "cost:", "cost:-1", "cost:1.5", "cost:x", "COST:3", 24, True)),
        *({"fleet": value} for value in NO_FLEET),
        *({"first": value} for value in (1, "3", "", True, None, ["1"])),
        *({"additional": value} for value in ([], [1], [1, 2, 3], 5, "00", {"1": 2})),
        *({"additional": [0, value]} for value in NOT_A_COUNT),
        *({"additional_allowed": {"LG": value}} for value in NOT_A_COUNT),
        *({"fleet": "cost:9", "allowed": value} for value in NOT_ALLOWED),
        {"allowed": {"LG": 3}},
        {"fleet": "standard", "allowed": {"LG": 3}},
    ],
)
def test_refused(raw: Mapping[str, Any]) -> None:
    with pytest.raises(Refused):
        RULES.options(raw, 2)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"colour": 1}, "there is no option colour"),
        ({"fleet": "cost"}, 'option fleet: "standard" or "cost:" and a number'),
        ({"first": "3"}, 'option first: "alternate", "1" or "2"'),
        ({"additional": [1]}, "option additional: two numbers, one for each seat"),
        ({"additional_allowed": 5}, "option additional_allowed: a table of types and their greatest numbers"),
        ({"additional_allowed": {"XX": 1}}, "option additional_allowed: there is no type XX"),
        (
            {"additional_allowed": {"LG": -1}},
            "option additional_allowed: the greatest number of LG must be a whole number",
        ),
        ({"allowed": {"LG": 3}}, "the option allowed works only with a cost fleet"),
    ],
)
def test_what_is_wrong_with_an_option_is_said(raw: Mapping[str, Any], says: str) -> None:
    assert refused(RULES.options, raw, 2) == [*raw]
    assert messages(RULES.options, raw, 2) == [says]


@pytest.mark.parametrize("seats", [0, 1, 3, True, 2.0])
def test_spaceships_is_for_two(seats: int) -> None:
    assert messages(RULES.options, {}, seats) == ["Spaceships is a game for two"]


def test_all_faults_are_named() -> None:
    rules = refused(RULES.options, {"fleet": 1, "what": 2, "first": 3}, 1)
    assert rules == ["seats", "fleet", "what", "first"]


def test_survivors_carry_over() -> None:
    options = RULES.options({"fleet": "cost:30", "first": "1", "additional": [9, 9]}, 2)
    carried = RULES.carry(options, Result((1,), (12, 0)))
    assert carried.changed == {"fleet": "cost:30", "first": "1", "additional": [12, 0]}


@pytest.mark.parametrize(
    ("agreed", "scores", "additional"),
    [
        ({"additional_allowed": {"LG": 9, "AG": 4}}, (23, 12), [17, 12]),
        ({"additional_allowed": {"KC": 3}}, (23, 17), [18, 12]),
        ({"additional_allowed": {}}, (5, 1), [0, 0]),
        ({"fleet": "cost:330"}, (110, 9), [45, 9]),
        ({"fleet": "cost:300", "allowed": {"LS": 100}, "additional_allowed": {"DS": 9}}, (40, 8), [24, 8]),
    ],
)
def test_survivors_for_whom_there_are_no_ships_do_not_return(
    agreed: dict[str, object], scores: tuple[int, int], additional: list[int]
) -> None:
    carried = RULES.carry(RULES.options(agreed, 2), Result((1,), scores))
    assert list(carried.additional) == additional
