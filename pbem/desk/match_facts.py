"""Facts of a match for letters, from its state alone: subjects, times, outcomes, and what is no secret any more.

Only pure functions of a match; what must be looked up elsewhere is `match_letters`'.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pbem.games import Refused
from pbem.games.conditional_orders import condition_of, is_conditional
from pbem.match.notices import NOTICES
from pbem.match.sealed_game import SETUP
from pbem.match.seat_clock import VACATION, Clock, on_a_day, written
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.letters.draft import Facts
    from pbem.match.state import Ended, Match, Submission
    from pbem.match.step import Notice

_MATTERS = {"draw": Phrase("a draw?"), "annul": Phrase("annul the match?")}
_MOMENT = timedelta(seconds=1)


def subject_of(notice: Notice, *, observed: bool = False) -> Phrase:
    """The subject of a notice, as its seat reads it, or an observer."""
    match, subject = notice.match, NOTICES[notice.kind].subject
    assert subject is not None, "a notice of a match says what it is about"
    matter = _MATTERS.get(str(notice.facts.get("agreement")), "")
    told = notice.facts.get("told", notice)
    who = match.name(notice.facts.get("seat", told.seat))
    turn = told.turn if notice.kind == "step" else match.turn
    facts = {"who": who, "game": match.game, "turn": turn, "what": asked_for(match), "matter": matter, **notice.facts}
    if notice.kind == "ended":
        facts["result"] = _result(match, notice.facts["ended"], 0 if observed else notice.seat)
    return subject.given(**facts)


def _result(match: Match, ended: Ended, seat: int) -> Phrase:
    """The result of a game, as its reader sees it; seat 0: an observer."""
    if not ended.winner:
        return Phrase("drawn") if ended.reason in {"rules", "agreement"} else Phrase("no winner")
    if ended.winner == seat:
        return Phrase("you won")
    if seat and len(match.seats) == 2:
        return Phrase("you lost")
    return Phrase("{name} won", name=match.name(ended.winner))


def asked_for(match: Match) -> Phrase:
    """The submission that a match asks its players for now."""
    if match.revealing:
        return Phrase("reveal")
    return Phrase("turn {turn}", turn=match.turn) if match.phase == "playing" else Phrase("setup")


def named(name: str) -> str:
    """A player's name, or that the seat is still free."""
    return Phrase("(free)") if name.startswith("?") else name


def called(name: str, *, program: bool) -> str:
    """A player's name for others to choose from; a program is marked as one."""
    return Phrase("{name}, a program", name=name) if program else named(name)


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
    """The orders already there when a turn begins, because they came in advance."""
    if submission is None or not submission.standing:
        return None
    return {"rev": submission.rev, "final": submission.final, "orders": submission.text}


def truth_of(match: Match) -> dict[int, Mapping[str, Any]] | None:
    """The true views of all owners; None unless everybody revealed theirs, truthfully."""
    rules, game = match.sealed_rules, match.sealed_game
    if rules is None or game is None or not rules.reveals:
        return {owner: match.view(owner) or {} for owner in match.seats}
    if len(game.reveals) < len(match.seats):
        return None
    assert match.options is not None
    try:
        own = {
            owner: rules.own(match.options, owner, revealed.setup, revealed.orders, match.table)
            for owner, revealed in sorted(game.reveals.items())
        }
    except Refused:
        return None
    return {owner: rules.own_view(side, match.table) for owner, side in own.items()}


def setups_of(match: Match) -> dict[int, str]:
    """The setups, once none of them is secret any more."""
    game = match.sealed_game
    if game is not None and match.sealed_rules is not None:
        if match.sealed_rules.reveals:
            return {seat: revealed.setup for seat, revealed in sorted(game.reveals.items())}
        opened = {step.seat: "\n".join(step.lines) for step in game.steps if step.step == SETUP}
        return dict(sorted(opened.items()))
    return {seat: submission.text for seat, submission in sorted(match.setups.items())}


def commitments_of(match: Match) -> dict[int, str]:
    """The hash to which each seat is committed."""
    if match.sealed_game is not None:
        return dict(sorted(match.sealed_game.commitments.items()))
    return {seat: sha256_hex(submission.paper.encode()) for seat, submission in sorted(match.setups.items())}


def levels_of(match: Match) -> dict[int, str]:
    """The level at which each setup came."""
    if match.terms.sealed:
        return dict.fromkeys(match.seats, "key")
    return {seat: submission.level for seat, submission in sorted(match.setups.items())}


@lru_cache
def duration(seconds: int) -> Phrase:
    """A length of time in words."""
    return Span(seconds) if seconds else Phrase("none")


def time_of(match: Match, seat: int) -> Facts:
    """The facts about a seat's own clock, and about others' vacations."""
    clock = match.clocks.get(seat)
    own = _own_time(clock) if clock else {"deadline": None, "grace_ends": None, "bank": None, "stops": []}
    return {
        "runs": clock is not None,
        "over": seat in match.missed,
        "silent": match.silent.get(seat, 0),
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
        "bank": duration(clock.bank) if clock.bank else None,
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
    """The outcome of a game: the winner, the reason, and the number of turns."""
    winner = match.name(ended.winner) if ended.winner else None
    return {"winner": winner, "reason": ended.reason, "turns": ended.turns}


def outcome_of_match(match: Match) -> Facts:
    """The outcome of a match: the winner, and the reason."""
    outcome = match.outcome or {}
    winner = outcome.get("winner")
    return {"winner": match.name(winner) if winner else None, "reason": outcome.get("reason")}
