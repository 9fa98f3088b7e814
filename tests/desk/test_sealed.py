"""Sealed matches by mail: what letters bring, what they say, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sealed_seats import agreed, play

if TYPE_CHECKING:
    from referee import Referee


def test_a_whole_game_of_spaceships(referee: Referee) -> None:
    seats = agreed(referee, "ann", "bob")
    sent = play(referee, seats)
    assert referee.match().phase == "closed"
    assert sent > 20


@pytest.mark.parametrize(
    ("game", "options"), [("dueling-masters", "max_turns: 12\n"), ("shoot-em-up", "max_turns: 4\n")]
)
def test_a_whole_game_of_the_others(referee: Referee, game: str, options: str) -> None:
    seats = agreed(referee, "ann", "bob", game=game, options=options)
    play(referee, seats)
    assert referee.match().phase == "closed"
