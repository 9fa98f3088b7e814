"""Sealed matches by mail: what letters bring, what they say, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sealed_seats import agreed, play

if TYPE_CHECKING:
    from referee import Referee


def test_a_whole_game_of_spaceships(referee: Referee) -> None:
    seats = agreed(referee, "ann", "bob")
    sent = play(referee, seats)
    assert referee.match().phase == "closed"
    assert sent > 20
