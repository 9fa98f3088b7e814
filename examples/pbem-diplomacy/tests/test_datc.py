"""Each case of the DATC, version 3.1, has the outcome that it should have."""

from __future__ import annotations

from collections import Counter

import pytest
from datc import Step, steps
from pbem_diplomacy.adjustments import adjust, due
from pbem_diplomacy.geography import standard
from pbem_diplomacy.movement import move
from pbem_diplomacy.retreats import open_to, retreat

BOARD = standard()


def named(phase: str) -> list[object]:
    return [pytest.param(step, id=step.id) for step in steps(phase)]


@pytest.mark.parametrize("step", named("movement"))
def test_movement(step: Step) -> None:
    moved = move(BOARD, step.units, step.orders)
    assert [outcome.code for outcome in moved.outcomes] == step.facts["outcome"]
    assert sorted(map(str, moved.units)) == sorted(step.facts["after"])
    assert sorted(moved.dislodged) == sorted(step.dislodged)
    assert sorted(moved.contested) == sorted(step.facts.get("contested", []))
    open_places = {str(each.unit): [*open_to(BOARD, each, moved.units, moved.contested)] for each in moved.dislodged}
    assert open_places == {each["unit"]: sorted(each["retreats"]) for each in step.facts["dislodged"]}
    for unit, places in step.facts.get("may_retreat", {}).items():
        assert set(places) <= set(open_places[unit])
    for unit, places in step.facts.get("may_not_retreat", {}).items():
        assert not set(places) & set(open_places[unit])


@pytest.mark.parametrize("step", named("retreat"))
def test_retreat(step: Step) -> None:
    back = retreat(BOARD, step.units, step.dislodged, step.facts["contested"], step.orders)
    assert [outcome.code for outcome in back.outcomes] == step.facts["outcome"]
    assert sorted(map(str, back.units)) == sorted(step.facts["after"])
    assert sorted(map(str, back.disbanded)) == sorted(step.facts["disbanded"])


@pytest.mark.parametrize("step", named("adjustment"))
def test_adjustment(step: Step) -> None:
    owned = {centre: power for power, centres in step.facts["owned"].items() for centre in centres}
    counts = due(step.units, owned)
    assert {power: counts.get(power, 0) for power in step.facts["adjust"]} == step.facts["adjust"]
    adjusted = adjust(BOARD, step.units, owned, step.orders)
    assert [outcome.code for outcome in adjusted.outcomes] == step.facts["outcome"]
    assert sorted(map(str, adjusted.units)) == sorted(step.facts["after"])
    assert sorted(map(str, adjusted.civil_disorder)) == sorted(step.facts["civil_disorder"])


def test_no_case_is_missing() -> None:
    numbers = {step.id for phase in ("movement", "retreat", "adjustment") for step in steps(phase)}
    chapters = Counter(number.split(".")[1] for number in numbers)
    assert chapters == {"A": 12, "B": 15, "C": 9, "D": 34, "E": 15, "F": 25, "G": 20, "H": 16, "I": 7, "J": 11}
