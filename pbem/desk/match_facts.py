"""Facts of a match for letters, answers and pages: what follows from its state alone.

Subjects, times, outcomes, and what is no secret any more. What must be looked up elsewhere is `match_letters`'.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.games.conditional_orders import condition_of, is_conditional
from pbem.match.events.leaving import leaves_in_silence
from pbem.match.notices import NOTICES
from pbem.match.seat_clock import VACATION, Clock, on_a_day, written
from pbem.match.view import TermsView
from pbem.phrase import Phrase, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.letters.draft import Facts
    from pbem.match.state import Ended, Match, Submission
    from pbem.match.step import Notice

_MATTERS = {"draw": Phrase("a draw?"), "annul": Phrase("annul the match?")}
_MOMENT = timedelta(seconds=1)


class LetterView(TermsView, frozen=True, kw_only=True):
    """A view of a match for a letter or an answer: the `m` of the templates."""

    server: str
    key: str
    """The server's key, which signs heads and papers."""
    terms_signature: str
    """The server's signature of the proposed terms; empty once they are agreed."""
    options: Mapping[str, object]
    """The options of this game that are not the default."""
    owes: Mapping[int, Sequence[str]]
    """The steps that are due in a sealed match, by seat."""
    level: str = ""
    """The reader's own level."""
    format: str = "ssh"
    """The format of the reader's key."""
    brief: bool = False
    """True if the reader may leave out the place, as the reply address stands for it."""
    in_words: bool = False
    remains: bool = False
    """True if pieces of the reader's are left in the game."""
    time: Facts | None = None
    """The reader's clock: see `time_of`."""
    standing: Submission | None = None
    """The reader's setup or orders that stand for what is due."""
    others: Sequence[str] = ()
    undecided: Sequence[str] = ()
    """The others who have not accepted the proposal."""
    late: Sequence[str] = ()
    unreachable: Sequence[str] = ()


def subject_of(notice: Notice, *, observed: bool = False) -> Phrase:
    """The subject of a notice, as its seat reads it, or an observer."""
    match, subject = notice.match, NOTICES[notice.kind].subject
    assert subject is not None, "a notice of a match says what it is about"
    matter = _MATTERS.get(str(notice.facts.get("agreement")), "")
    told = notice.facts.get("told", notice)
    who = match.name(notice.facts.get("seat", told.seat))
    turn = told.turn if notice.kind == "step" else match.turn
    facts = {"who": who, "game": match.game, "turn": turn, "what": match.asks_for, "matter": matter, **notice.facts}
    if notice.kind == "ended":
        facts["result"] = _result(match, notice.facts["ended"], 0 if observed else notice.seat)
    return subject.given(**facts)


def _result(match: Match, ended: Ended, seat: int) -> Phrase:
    """The result of a game, as its reader sees it; seat 0: an observer."""
    if not ended.winners:
        return Phrase("no winner")
    if len(ended.winners) == len(match.seats):
        return Phrase("drawn")
    if len(ended.winners) > 1:
        return Phrase("{names} share it", names=_names(match, ended.winners))
    if seat in ended.winners:
        return Phrase("you won")
    if seat and len(match.seats) == 2:
        return Phrase("you lost")
    return Phrase("{name} won", name=_names(match, ended.winners))


def is_for_observers(notice: Notice, notices: Sequence[Notice]) -> bool:
    """True if observers get a notice too: once for all seats, and of steps only the result."""
    if notice.kind == "step" and not notice.facts["told"].reports:
        return False
    first = min(one.seat for one in notices if one.kind == notice.kind)
    return notice.seat == first and NOTICES[notice.kind].public


def is_over(match: Match) -> bool:
    """True if the game of a match is over, or has not begun."""
    return match.position is None or match.position.result is not None


def stage_of(match: Match) -> tuple[object, ...]:
    """The stage of a match, to be compared with an earlier one."""
    return match.phase, match.game, match.turn, len(match.games)


def branch_facts(match: Match, submission: Submission) -> Facts | None:
    """The branch of conditional orders that counts, by its number and its condition; None for other orders.

    None, too, if a game of another package has a notation of its own: then the receipt alone names the branch.
    """
    if not submission.branch or not is_conditional(submission.written):
        return None
    number = int(submission.branch)
    return {"number": number, "condition": condition_of(match.terms.game, submission.written, number)}


def standing_orders(submission: Submission | None) -> Facts | None:
    """The orders that stand when a turn begins."""
    if submission is None or not submission.standing:
        return None
    return {"rev": submission.rev, "final": submission.final, "orders": submission.text}


def time_of(match: Match, seat: int) -> Facts:
    """The facts about a seat's own clock, and about others' vacations."""
    clock = match.clocks.get(seat)
    none: Facts = {"deadline": None, "grace_ends": None, "pace": None, "bank": None, "stops": []}
    own = _own_time(clock) if clock else none
    return {
        "runs": clock is not None,
        "over": seat in match.missed,
        "misses": len(match.misses.get(seat, ())),
        "leaves": leaves_in_silence(match, seat),
        **own,
        "away": [
            {
                "seat": other,
                "first": on_a_day(stop.began, clock.zone),
                "last": on_a_day(stop.ended - _MOMENT, clock.zone),
            }
            for other, clock in sorted(match.clocks.items())
            for stop in clock.stops
            if other != seat and stop.reason == VACATION and stop.ended
        ],
    }


def _own_time(clock: Clock) -> Facts:
    """The time that a seat has, and why its clock stands; stops that begin after the deadline matter to nobody."""
    deadline, zone = clock.deadline, clock.zone
    return {
        "deadline": written(deadline, zone) if deadline else None,
        "grace_ends": written(clock.grace_ends, zone) if clock.grace_ends and clock.grace else None,
        "pace": Span(clock.time - clock.bank),
        "bank": Span(clock.bank) if clock.bank else None,
        "stops": [
            {
                "reason": stop.reason,
                "began": written(stop.began, zone),
                "ended": written(stop.ended, zone) if stop.ended else None,
            }
            for stop in clock.stops
            if deadline is None or stop.began < deadline
        ],
    }


def outcome_of_game(match: Match, ended: Ended) -> Facts:
    """The outcome of a game: who won it, the reason, and the number of turns."""
    return {**_winners(match, ended.winners), "reason": ended.reason, "turns": ended.turns}


def outcome_of_match(match: Match) -> Facts:
    """The outcome of a match: who won it, and the reason."""
    outcome = match.outcome or {}
    return {**_winners(match, outcome.get("winners", ())), "reason": outcome.get("reason")}


def rematch_of(match: Match, seat: int) -> list[str]:
    """The lines that propose the same match with the same players, with this one in the first seat."""
    others, lines = [match.name(other) for other in match.seats if other != seat], match.terms.lines()
    if match.terms.anonymous:  # they join again
        others, lines = [], {**lines, "seats": str(len(match.seats))}
    head = f"new {match.rules.name}" + (f" with {' '.join(others)}" if others else "")
    return [head, *(f"{name}: {value}" for name, value in lines.items()), "end"]


def _winners(match: Match, winners: Sequence[int]) -> Facts:
    """The one winner; or those that share the win with each other, but not with all."""
    several = 1 < len(winners) < len(match.seats)
    return {
        "winner": match.name(winners[0]) if len(winners) == 1 else None,
        "sharing": _names(match, winners) if several else None,
        "drawn": len(winners) == len(match.seats),
    }


def _names(match: Match, seats: Sequence[int]) -> str:
    """The names of the players in some seats."""
    return ", ".join(map(match.name, seats))
