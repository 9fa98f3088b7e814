"""Facts of a match or a tournament for letters, answers and pages: what follows from its state alone.

Subjects, times, outcomes, and what is no secret any more; the terms of a tournament, its table, and its reader's
games, with what is the same for all readers made once a head. What must be looked up elsewhere is `match_letters`'.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from pbem.games import rules
from pbem.games.conditional_orders import condition_of, is_conditional
from pbem.match.notices import NOTICES
from pbem.match.seat_clock import VACATION, Clock, on_a_day, written
from pbem.match.terms import Terms
from pbem.match.view import TermsView
from pbem.phrase import Phrase, Span
from pbem.tournament.crosstable import TableRow, scored, table, teams
from pbem.tournament.tournament_state import TableCell, TableLine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.letters.draft import Facts
    from pbem.match.state import Ended, Match, Submission
    from pbem.match.step import Notice
    from pbem.tournament.tournament_state import Pairing, Tournament

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
    if last := match.awaits:
        return last
    return Phrase("turn {turn}", turn=match.turn) if match.phase == "playing" else Phrase("setup")


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


def time_of(match: Match, seat: int) -> Facts:
    """The facts about a seat's own clock, and about others' vacations."""
    clock = match.clocks.get(seat)
    own = _own_time(clock) if clock else {"deadline": None, "grace_ends": None, "bank": None, "stops": []}
    return {
        "runs": clock is not None,
        "over": seat in match.missed,
        "misses": match.misses.get(seat, 0),
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
    """The outcome of a game: the winner, the reason, and the number of turns."""
    winner = match.name(ended.winner) if ended.winner else None
    return {"winner": winner, "reason": ended.reason, "turns": ended.turns}


def outcome_of_match(match: Match) -> Facts:
    """The outcome of a match: the winner, and the reason."""
    outcome = match.outcome or {}
    winner = outcome.get("winner")
    return {"winner": match.name(winner) if winner else None, "reason": outcome.get("reason")}


@dataclass(frozen=True)
class _AtHead:
    """A tournament at a head, by which alone it is compared."""

    head: str
    t: Tournament = field(compare=False)


def of_tournament(t: Tournament, reader: str) -> Facts:
    """The public facts of a tournament, and its reader's games in it."""
    entrant = t.entrant_of(reader)
    name = entrant.name if entrant else None
    return _public_facts(_AtHead(t.head, t)) | {
        "me": reader,
        "line": name,
        "out": entrant.out if entrant else "",
        "standing": standing_of(t, reader),
        "games": [_game_of(t, pairing, name) for pairing in t.pairings if name and name in pairing.names],
    }


@lru_cache(maxsize=16)  # Everybody in a tournament is told of it at once.
def _public_facts(at: _AtHead) -> Facts:
    t = at.t
    terms, groups = Terms.read({**t.terms.match, "players": ("1", "2")}), table(t) if t.phase != "open" else []
    rows = [_group(t, group) for group in groups]
    return {
        "id": t.id,
        "title": rules(terms.game).title,
        "game_name": terms.game,
        "server": t.server,
        "phase": t.phase,
        "format": t.terms.format,
        "terms": t.terms,
        "closes": t.terms.closes[:10] if t.terms.closes else None,
        "hash": t.rules,
        "organiser": t.organiser.name,
        "entrants": [_entrant(t, name) for name in t.entrants],
        "round": t.round,
        "rounds": t.rounds,
        "groups": rows,
        "teams": [teams(t, group) for group in groups],
        "places": {
            row.entrant: {"place": place, "of": len(group), "points": row.points}
            for group in groups
            for place, row in enumerate(group, start=1)
        },
        "lines": [
            [
                TableLine(row["name"], row["player"], row["played"], row["points"], bool(row["out"]), row["cells"])
                for row in group
            ]
            for group in rows
        ],
        "pairings": [
            {
                "match": pairing.match,
                "round": pairing.round,
                "names": pairing.names,
                "points": pairing.result.points if pairing.result else None,
                "void": t.is_void(pairing),
                "annulled": pairing.annulled,
            }
            for pairing in t.pairings
            if pairing.match
        ],
        "m": {"match": None, "title": rules(terms.game).title, "terms": terms, "phase": "open"},
    }


def standing_of(t: Tournament, player: str) -> Facts | None:
    """The place of a player's line in the table; None if the player has none, or nothing has begun."""
    entrant = t.entrant_of(player)
    place: Facts | None = _public_facts(_AtHead(t.head, t))["places"].get(entrant.name) if entrant else None
    if entrant is None or place is None:
        return None
    running = sum(entrant.name in pairing.names and bool(pairing.match) for pairing in t.awaited)
    return {**place, "id": t.id, "running": running, "format": t.terms.format}


def lines_of_table(t: Tournament) -> list[list[TableLine]]:
    """The table, group by group, as bulletins have it."""
    told: list[list[TableLine]] = _public_facts(_AtHead(t.head, t))["lines"]
    return told


def _entrant(t: Tournament, name: str) -> Facts:
    entrant = t.entrants[name]
    level = "key" if entrant.player.keys else "mailbox"
    return {"name": name, "player": entrant.player.name, "team": entrant.team, "level": level, "out": entrant.out}


def _group(t: Tournament, rows: Sequence[TableRow]) -> list[Facts]:
    """The lines of a group in their order; where all play all, each with its cells against the others."""
    cells = _cells(t) if t.terms.robin else {}
    played = Counter(name for each in scored(t) for name in each.pairing.names)
    return [
        {
            **msgspec.to_builtins(row),
            "place": place,
            **_entrant(t, row.entrant),
            "cells": [cells.get((row.entrant, other.entrant), []) for other in rows] if cells else [],
            "played": played[row.entrant],
        }
        for place, row in enumerate(rows, start=1)
    ]


def _cells(t: Tournament) -> dict[tuple[str, str], list[TableCell]]:
    """The meetings of each line with each other one, in their order."""
    points = {(each.pairing.round, each.pairing.board): each.points for each in scored(t)}
    found: dict[tuple[str, str], list[TableCell]] = {}
    for pairing in t.pairings:
        made = points.get((pairing.round, pairing.board))
        for seat, name in enumerate(pairing.names):
            other = pairing.names[1 - seat]
            cell = TableCell(pairing.match, made[seat] if made else None, pairing.annulled)
            found.setdefault((name, other), []).append(cell)
    return found


def _game_of(t: Tournament, pairing: Pairing, own: str) -> Facts:
    """A game of a line: against whom, and how it stands."""
    seat = pairing.names.index(own)
    against = t.entrants[pairing.names[1 - seat]]
    if t.is_void(pairing):
        state = "void"
    elif pairing.result is not None:
        state = ("lost", "drawn", "won")[pairing.result.points[seat]]
    elif t.is_forfeited(pairing):
        state = "lost" if t.entrants[own].out else "won"
    else:
        state = "running" if pairing.match else "later"
    return {"match": pairing.match, "against": against.player.name, "round": pairing.round, "state": state}
