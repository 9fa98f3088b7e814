"""A seat's own side, made again from its view, where there is none; and orders read back in words."""

from __future__ import annotations

from random import Random

import pytest
from playing import random_players

from pbem.games import GAMES, part_of, parts, rules


@pytest.mark.parametrize("game", GAMES)
def test_what_is_no_view_is_said_to_be_none(game: str) -> None:
    """A letter may bring any JSON."""
    views: tuple[dict[str, object], ...] = (
        {},
        {"turn": 1, "own": None},
        {"own": {"ships": 3}, "entitled": None},
        {"own": {"pieces": [{}]}},
    )
    for view in views:
        with pytest.raises((KeyError, TypeError, ValueError, IndexError)):
            parts.recalled(rules(game), view, 1)


@pytest.mark.parametrize(
    ("game", "text", "said"),
    [
        (
            "spaceships",
            "Gx3 bGx1Gx3(DS2) m2 Ox4 Gx4 kRv1 Gx3 sYw3",
            [
                "conventional strikes at Gx3, Gx4",
                "beam along Gx1Gx3(DS2)",
                "missile 2 at Ox4",
                "kamikaze from Rv1 at Gx3",
                "scans of Yw3",
            ],
        ),
        ("spaceships", "", []),
        ("dueling-masters", "Z2 A1-C3", ["Z2 goes from A1 to C3"]),
        ("dueling-masters", "", ["pass"]),
        ("shoot-em-up", "A: FMS\nB: LRR", ["A: fire, move, raise a shield", "B: turn left, turn right, turn right"]),
    ],
)
def test_orders_are_read_back_in_words(game: str, text: str, said: list[str]) -> None:
    assert part_of(game, "words").said(text) == said


@pytest.mark.parametrize("game", ["dueling-masters", "spaceships"])
def test_the_public_has_no_side_to_be_recalled(game: str) -> None:
    raw, seats = random_players.PLAYERS[game].options[0]
    played = random_players.play(game, Random("public"), raw, seats, 2000)
    judge = rules(game)
    with pytest.raises(ValueError, match="the public has no"):
        parts.recalled(judge, parts.view(judge, played.states[0], None, []), 1)
