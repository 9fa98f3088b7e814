"""Seats that were silent for too long lose the game, or the match where none has begun.

Implements protocol.md, "A match", the clock (`miss`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused, Result
from pbem.match.entry_forms import mapping, number, seats
from pbem.match.entry_type import EntryType
from pbem.match.events.closed import close
from pbem.match.events.ended import end_game
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pbem.match.remaking import Remaking
    from pbem.match.state import Match
    from pbem.match.step import Step


def forfeit(step: Step, seats: Iterable[int]) -> None:
    """Seats that were silent for too long lose the game, or the whole match if no game has begun."""
    match = step.match
    losing = sorted(seats)
    allowed = [seat for seat in match.seats if seat in lost(match)]
    if not losing or not set(losing) <= set(allowed):
        raise Refused(Fault("forfeit", None, Phrase("nobody was silent for that long")))
    step.append_entry("forfeited", {"game": match.game, "seats": losing})
    lose(step, losing)


def lose(step: Step, seats: Sequence[int]) -> None:
    """End the game or match because these seats were silent: nobody wins if all were silent."""
    match = step.match
    in_game = match.position.remaining if match.position and match.phase == "playing" else tuple(match.seats)
    others = [seat for seat in in_game if seat not in seats]
    winner = others[0] if len(others) == 1 else 0
    reason = "forfeit" if others else "abandoned"
    if match.position is not None and match.phase == "playing":
        end_game(step, Result(winner, match.position.scores, reason))
    else:
        close(step, winner, reason)


def lost(match: Match) -> list[int]:
    """The seats that lose the game by their silence, unless their answer came in after all.

    None once it is over: who reveals nothing is judged for that.
    """
    if match.terms.claimable or match.revealing:
        return []
    return [seat for seat in sorted(match.missed) if match.terms.miss == "forfeit" or match.silent.get(seat, 0) > 1]


def remake(remaking: Remaking) -> Step:
    """The forfeit again."""
    remaking.goes_on()
    step = remaking.at_work()
    forfeit(step, remaking.entry.body["seats"])
    return step


ENTRY = EntryType(
    "forfeited",
    mapping({"game": number, "seats": seats}),
    remake=remake,
    says="seats {seats} lost game {game} by their silence",
)
