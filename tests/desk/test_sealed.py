"""Sealed matches by mail: what letters bring, what they say, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sealed_seats import agreed, play

if TYPE_CHECKING:
    from referee import Referee

GAMES = [
    ("spaceships", ("ann", "bob"), ""),
    ("spaceships", ("ann", "bob"), "kind: continued\ngames: 2\nfirst: 2\n"),
    ("dueling-masters", ("ann", "bob"), "max_turns: 12\n"),
    ("shoot-em-up", ("ann", "bob"), ""),
    ("shoot-em-up", ("ann", "bob", "carl"), ""),
]


@pytest.mark.parametrize(("game", "names", "options"), GAMES)
def test_whole_matches(referee: Referee, game: str, names: tuple[str, ...], options: str) -> None:
    seats = agreed(referee, *names, game=game, options=options)
    sent = play(referee, seats)
    match = referee.match()
    assert match.phase == "closed"
    print(game, sent, [x.turns for x in match.games], match.outcome)
    for letter in seats[0].box.letters[-8:]:
        print("=" * 30, letter["Subject"], len(letter.as_bytes())); print(letter.get_body(("plain",)).get_content())
        print([p.get_filename() for p in letter.iter_attachments()])
