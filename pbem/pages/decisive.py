"""The turn that decided a game: where the page of a match opens, and what the picture of it shows.

Found here, when the page is made, and nowhere else: the page is told its number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pbem.games import BUILT_IN, part_of
from pbem.match import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import Report, State
    from pbem.match.record import Record
    from pbem.proof.bundle import Bundle

_RECORD = re.compile(r"records/game-([1-9][0-9]*)\.pbem\.toml")


class DecisiveTurn(NamedTuple):
    """A game as it stood after the turn that decided it."""

    record: Record
    turn: int
    """0 if no turn cost anybody anything: then it is the beginning."""
    state: State
    reports: Sequence[Sequence[Report]]
    """The reports of each turn up to this one."""


def decisive_turns(found: Bundle) -> dict[int, DecisiveTurn]:
    """The games of a bundle that were revealed, by their numbers, without those whose records are not legal."""
    games = {int(path[1]): content for name, content in found.papers.items() if (path := _RECORD.fullmatch(name))}
    decided: dict[int, DecisiveTurn] = {}
    for number, content in sorted(games.items()):
        try:
            read = record.read(content.decode())
            if read.game in BUILT_IN:
                decided[number] = decisive_turn(read)
        except ValueError:
            continue  # no record, or an illegal one: the page's proof tells of it
    return decided


def decisive_turn(game: Record) -> DecisiveTurn:
    """The end of the turn that cost the losers most beyond what it cost the winner, or all most where nobody won.

    Raises `Illegal` for a record that is not legal.
    """
    left, winner = part_of(game.game, "boards").materiel, game.result.winner if game.result else 0
    reports: list[Sequence[Report]] = []
    most, best = 0, None
    for turn, (before, told, after) in enumerate(record.replayed(game)):
        if turn:
            reports.append(told)
        cost = [had - has for had, has in zip(left(before), left(after), strict=True)]
        swing = sum(-lost if seat == winner else lost for seat, lost in enumerate(cost, start=1))
        if best is None or swing > most:
            most, best = swing, (turn, after)
    assert best is not None  # the setups alone are one
    turn, state = best
    return DecisiveTurn(game, turn, state, reports[:turn])
