"""The decisive turn of a game: the one that cost the losers most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from data.material import EXAMPLES
from msgspec.structs import replace
from vectors.matches import VECTORS

from pbem.match import record
from pbem.pages.match_page import decisive_turn, decisive_turns
from pbem.proof import bundle

if TYPE_CHECKING:
    from pbem.proof.bundle import Bundle


def vector(name: str) -> Bundle:
    return bundle.read((VECTORS / "good" / f"{name}.pbem.zip").read_bytes())


@pytest.mark.parametrize(
    ("game", "turn"),
    [
        ("spaceships/gives-up", 1),
        ("spaceships/kamikaze-beside-a-strike", 1),  # in the second the winner loses a ship, too
        ("spaceships/burn-out", 1),  # the first of several that cost as much
        ("dueling-masters/destroys-beyond-its-death", 0),  # as much on both sides
        ("dueling-masters/both-home-planets", 5),  # where nobody won, what both lost counts
        ("dueling-masters/pass", 3),
        ("shoot-em-up/order-of-reports", 3),
        ("shoot-em-up/ends-in-an-action", 2),
    ],
)
def test_the_turn_that_cost_the_losers_most_is_decisive(game: str, turn: int) -> None:
    found = decisive_turn(record.read((EXAMPLES / f"{game}.pbem.toml").read_text()))
    assert found == turn


def test_a_record_that_is_not_legal_decides_nothing() -> None:
    found = vector("default")
    path = "records/game-1.pbem.toml"
    for text in (b"record = 2", b"\xff", found.papers[path].replace(b'"Rv1"', b'"Rv9"')):
        assert decisive_turns(replace(found, papers={**found.papers, path: text})) == {}
    assert decisive_turns(found).keys() == {1}
