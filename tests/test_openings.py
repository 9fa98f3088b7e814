"""An opening that was played once and copied is the one that is played again, and nobody's but the copier's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.referee import Openings, Referee
from in_a_box.stores import connection

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SMALL = "fleet: cost:3\nsettle: 0"
SETUPS = ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5")


def stands(referee: Referee) -> object:
    """All that can be told of a referee."""
    people = [
        (person.name, person.letters.came, list(map(str, person.letters)), [*person.letters.numbers])
        for person in referee.people.values()
    ]
    return people, repr(referee.sent), referee.asked, list(connection(referee.database).iterdump())


def begin(folder: Path, openings: Openings | None, give: Callable[[Referee], object] = lambda _: None) -> Referee:
    folder.mkdir()
    referee = Referee(folder, openings=openings)
    give(referee)
    referee.begun(SMALL, SETUPS)
    return referee


def go_on(referee: Referee) -> object:
    """Two turns, and what then stands."""
    ann, bob = referee.people.values()
    for place in ("Gv1", "Gv2"):
        referee.turn((ann, place), (bob, ""))
    return stands(referee)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[Referee]:
    """Who played an opening, and did not take a copy."""
    who: list[Referee] = []
    begin_by_mail = Referee._begin

    def noted(referee: Referee, *arguments: Any) -> object:
        who.append(referee)
        return begin_by_mail(referee, *arguments)

    monkeypatch.setattr(Referee, "_begin", noted)
    return who


def test_a_copy_is_what_would_have_been_played(tmp_path: Path, played: list[Referee]) -> None:
    openings = Openings()
    alone, first, copied = (
        begin(tmp_path / name, given) for name, given in zip("abc", (None, *[openings] * 2), strict=True)
    )
    assert played == [alone, first]
    assert stands(alone) == stands(first) == stands(copied)
    assert go_on(alone) == go_on(first) == go_on(copied)
