"""A seat leaves the game to the others, who play on: because it resigned, or was silent for too long.

It stays out until the next game. Implements docs/bundle.md, "left", and protocol.md, "A match".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Fault, Refused
from pbem.match.asking import banks, start_clocks
from pbem.match.entry_type import EntryType, list_of, mapping, number, one_of, seat_number
from pbem.match.events.ended import end_game
from pbem.match.state import losing_seats, standing, without
from pbem.match.step import Notice
from pbem.match.stored_orders import drop
from pbem.match.submissions import submit
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import State
    from pbem.match.remaking import Remaking
    from pbem.match.state import Match
    from pbem.match.step import Step

SILENT = "silent"
RESIGNED = "resigned"


def position_without(match: Match, seat: int) -> State | None:
    """The position in which the others play on when a seat leaves the game; None if they do not."""
    return None if match.playing is None else match.play.without(match, match.playing, seat)


def leaves_in_silence(match: Match, seat: int) -> bool:
    """True if a seat that is silent for too long leaves the game, in which the others play on."""
    return match.terms.silence.leaves and position_without(match, seat) is not None


def leave(step: Step, seat: int, position: State, cause: str, entries: Sequence[int]) -> None:
    """A seat is out of the game, in which the others play on in this position; `entries` are what it rests on.

    Its orders, those in advance as well, are not used, its clock stops, and offers lapse. Who is to order only now is
    asked. If the rules end the game now, it is over.
    """
    match = step.match
    body = {"game": match.game, "seat": seat, "turn": match.turn, "cause": cause, "entries": list(entries)}
    step.append_entry("left", body)
    if orders := standing(match.orders, seat):
        submit(step, seat, replace(orders, standing=False))
    asked = match.choosing
    step.match = replace(
        drop(step.match, seat),
        position=position,
        left={**match.left, seat: match.turn},
        before_leaving={**match.before_leaving, seat: match.under_way},
        banks=banks(step),
        clocks=without(step.match.clocks, seat),
        missed=match.missed - {seat},
        misses=without(match.misses, seat),
        nominated=without(match.nominated, seat),
        offers={},
    )
    if new := [other for other in step.match.choosing if other not in asked]:
        start_clocks(step, new, step.match.clocks)
        step.match = replace(step.match, resolve_at=None)
    # Who resigned has the answer to the letter.
    for other in (other for other in match.seats if cause == SILENT or other != seat):
        step.notices.append(Notice("left", other, step.match, {"seat": seat, "cause": cause, "asks": other in new}))
    if position.result is not None:
        end_game(step, position.result)


def leave_in_silence(step: Step, silent: Sequence[int]) -> Sequence[int]:
    """These silent seats leave, the first one first, as long as the others play on; returns those that do not."""
    for at, seat in enumerate(silent):
        position = position_without(step.match, seat)
        if position is None:
            return silent[at:]
        leave(step, seat, position, SILENT, step.match.misses[seat])
        if position.result is not None:
            break
    return ()


def _remake(remaking: Remaking) -> Step:
    """A seat leaves because it was silent, as the terms say; who resigned, or was claimed, leaves with that entry."""
    remaking.goes_on()
    step, seat, match = remaking.at_work(), remaking.seat(), remaking.match
    position = position_without(match, seat)
    if position is None or not match.terms.silence.leaves or seat not in losing_seats(match):
        raise Refused(Fault("left", None, Phrase("nobody was silent for that long")))
    leave(step, seat, position, SILENT, match.misses[seat])
    return step


ENTRY = EntryType(
    "left",
    mapping(
        {
            "game": number,
            "seat": seat_number,
            "turn": number,
            "cause": one_of(SILENT, RESIGNED),
            "entries": list_of(number),
        }
    ),
    remake=_remake,
    says="seat {seat} left game {game} in turn {turn} ({cause}), and the others play on",
    between=True,
    among=3,
)
