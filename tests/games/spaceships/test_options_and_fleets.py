"""Options are taken strictly; a fleet is agreed when some split of it obeys everything."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbem.games import Refused, Result
from pbem.games.spaceships import RULES
from pbem.games.spaceships.fleet import STANDARD_FLEETS, Options, is_agreed
from pbem.games.spaceships.ships import TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping


def test_defaults() -> None:
    options = RULES.options({}, 2)
    assert options == Options("standard", "alternate", (0, 0), None, None)
    assert options.changed == {}


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


def test_what_is_default_is_not_changed() -> None:
    assert RULES.options({"fleet": "standard", "first": "alternate", "additional": [0, 0]}, 2).changed == {}


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
    with pytest.raises(Refused) as refused:
        RULES.options(raw, 2)
    assert [(fault.rule, str(fault.message)) for fault in refused.value.faults] == [(next(iter(raw)), says)]


@pytest.mark.parametrize("seats", [0, 1, 3, True, 2.0])
def test_spaceships_is_for_two(seats: int) -> None:
    with pytest.raises(Refused) as refused:
        RULES.options({}, seats)
    assert [str(fault.message) for fault in refused.value.faults] == ["Spaceships is a game for two"]


def test_all_faults_are_named() -> None:
    with pytest.raises(Refused) as refused:
        RULES.options({"fleet": 1, "what": 2, "first": 3}, 1)
    assert [fault.rule for fault in refused.value.faults] == ["seats", "fleet", "what", "first"]


def test_survivors_carry_over() -> None:
    options = RULES.options({"fleet": "cost:30", "first": "1", "additional": [9, 9]}, 2)
    carried = RULES.carry(options, Result(1, (12, 0)))
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
    carried = RULES.carry(RULES.options(agreed, 2), Result(1, scores))
    assert list(carried.additional) == additional


def every_split(ships: Counter[str], options: Options, seat: int) -> bool:
    """The ruling read aloud: try all splits."""
    codes = list(ships)
    for numbers in product(*(range(ships[code] + 1) for code in codes)):
        base = Counter(dict(zip(codes, numbers, strict=True)))
        if legal_base(+base, options) and legal_extra(ships - base, options, seat):
            return True
    return False


def legal_base(base: Counter[str], options: Options) -> bool:
    if options.fleet == "standard":
        return base in STANDARD_FLEETS
    allowed = base if options.allowed is None else dict(options.allowed)
    right_cost = f"cost:{sum(TYPES[code].cost * number for code, number in base.items())}" == options.fleet
    return right_cost and all(number <= allowed.get(code, 0) for code, number in base.items())


def legal_extra(extra: Counter[str], options: Options, seat: int) -> bool:
    allowed = extra if options.additional_allowed is None else dict(options.additional_allowed)
    right_cost = sum(TYPES[code].cost * number for code, number in extra.items()) == options.additional[seat - 1]
    return right_cost and all(number <= allowed.get(code, 0) for code, number in extra.items())


SMALL = st.dictionaries(st.sampled_from(list(TYPES)), st.integers(0, 3), max_size=5)


@given(
    ships=SMALL,
    rest=st.integers(0, 9),
    allowed=st.none() | SMALL,
    more=st.none() | SMALL,
    seat=st.sampled_from((1, 2)),
)
def test_a_fleet_is_agreed_when_a_split_exists(ships: Any, rest: Any, allowed: Any, more: Any, seat: int) -> None:
    fleet = +Counter(ships)
    cost = sum(TYPES[code].cost * number for code, number in fleet.items())
    extra = min(rest, max(0, cost - 1))
    raw = {"fleet": f"cost:{max(1, cost - extra)}", "additional": [extra, extra]}
    raw |= {} if allowed is None else {"allowed": allowed}
    raw |= {} if more is None else {"additional_allowed": more}
    options = RULES.options(raw, 2)
    assert is_agreed(options, seat, fleet.elements()) == every_split(fleet, options, seat)


@given(base=st.sampled_from(STANDARD_FLEETS), ships=SMALL, more=st.none() | SMALL, wrong=st.integers(0, 1))
def test_a_standard_fleet_and_additional_ships(base: Any, ships: Any, more: Any, wrong: Any) -> None:
    fleet = base + Counter(ships)
    extra = sum(TYPES[code].cost * number for code, number in ships.items()) + wrong
    raw = {"additional": [extra, 0]} | ({} if more is None else {"additional_allowed": more})
    options = RULES.options(raw, 2)
    assert is_agreed(options, 1, fleet.elements()) == every_split(fleet, options, 1)
