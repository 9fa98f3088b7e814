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
    ("game", "names", "options"),
    [
        ("dueling-masters", ("ann", "bob"), "max_turns: 12\n"),
        ("shoot-em-up", ("ann", "bob"), "max_turns: 4\n"),
        ("shoot-em-up", ("ann", "bob", "cleo"), "board: 5x5\nmax_turns: 3\n"),
    ],
)
def test_a_whole_game_of_the_others(referee: Referee, game: str, names: tuple[str, ...], options: str) -> None:
    seats = agreed(referee, *names, game=game, options=options)
    play(referee, seats)
    assert referee.match().phase == "closed"
