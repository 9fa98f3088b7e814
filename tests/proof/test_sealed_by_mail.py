"""Sealed matches as the server played them by mail: nobody is accused, and the store tells the same again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from forgers import holds
from honest import accused, bundles_now
from referee import Referee
from sealed_seats import agreed, play

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def referee(tmp_path: Path) -> Referee:
    return Referee(tmp_path)


@pytest.mark.parametrize("game", ["spaceships", "dueling-masters", "shoot-em-up"])
def test_an_honest_server_is_not_accused(referee: Referee, game: str) -> None:
    seats = agreed(referee, "ann", "bob", game=game)
    play(referee, seats)
    assert referee.match().phase == "closed"
    assert accused(referee) == []
    for content in bundles_now(referee):
        holds(content)


def test_the_store_tells_the_same_again_at_every_point(referee: Referee) -> None:
    """Without what is kept in memory, from a snapshot, and retraced from the transcript and its letters."""
    seats = agreed(referee, "ann", "bob", options="fleet: cost:3\n")
    while play(referee, seats, 1):
        referee.read_three_ways()
    assert referee.match().phase == "closed"
