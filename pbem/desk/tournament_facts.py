"""Facts of a tournament for letters, answers and pages: its terms, its table, and its reader's games.

Only pure functions of a tournament; what is the same for all readers is made once a head. A table shows which of its
cells rest on somebody's bare word.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from pbem.desk.match_facts import duration
from pbem.games import rules
from pbem.match.terms import Terms
from pbem.tournament.crosstable import TableRow, scored, table, teams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.letters.draft import Facts
    from pbem.tournament.tournament_state import Pairing, Tournament


class Cell(msgspec.Struct, frozen=True):
    """A meeting of two lines, as the row of one of them shows it."""

    match: str
    """Empty where none begins or none has begun."""
    points: int | None
    """None if it does not count, or not yet."""
    annulled: bool


@dataclass(frozen=True)
class _AtHead:
    """A tournament at a head, by which alone it is compared."""

    head: str
    t: Tournament = field(compare=False)


def of(t: Tournament, reader: str) -> Facts:
    """The public facts of a tournament, and its reader's games in it."""
    line = t.line_of(reader)
    return _public(_AtHead(t.head, t)) | {
        "me": reader,
        "line": line.name if line else None,
        "out": line.out if line else "",
        "standing": standing(t, reader),
        "games": [_game(t, pairing, line.name) for pairing in t.pairings if line and line.name in pairing.names],
    }


@lru_cache(maxsize=16)  # Everybody in a tournament is told of it at once.
def _public(at: _AtHead) -> Facts:
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
        "lines": [[_line(row) for row in group] for group in rows],
        "pairings": [_pairing(t, pairing) for pairing in t.pairings if pairing.match],
        "m": _matches(terms),
    }


def _pairing(t: Tournament, pairing: Pairing) -> Facts:
    """A match of a tournament, for those who look at all of them."""
    result = pairing.result
    points = result.points if result else None
    return {"match": pairing.match, "round": pairing.round, "names": pairing.names, "points": points} | {
        "void": t.is_void(pairing),
        "annulled": pairing.annulled,
    }


def standing(t: Tournament, player: str) -> Facts | None:
    """The place of a player's line in the table; None if the player has none, or nothing has begun."""
    line = t.line_of(player)
    place: Facts | None = _public(_AtHead(t.head, t))["places"].get(line.name) if line else None
    if line is None or place is None:
        return None
    running = sum(line.name in pairing.names and bool(pairing.match) for pairing in t.awaited)
    return {**place, "id": t.id, "running": running, "format": t.terms.format}


def lines(t: Tournament) -> list[list[Facts]]:
    """The table, group by group, as bulletins have it."""
    told: list[list[Facts]] = _public(_AtHead(t.head, t))["lines"]
    return told


def _line(row: Facts) -> Facts:
    told = ("name", "player", "played", "points")
    return {name: row[name] for name in told} | {
        "out": bool(row["out"]),
        "cells": msgspec.to_builtins(row["cells"]),
    }


def _matches(terms: Terms) -> Facts:
    """The facts that `letters/terms.txt` shows of the terms of each match."""
    return {
        "id": None,
        "title": rules(terms.game).title,
        "terms": terms,
        "kind": terms.kind,
        "phase": "open",
        "pace": duration(terms.pace),
        "grace": duration(terms.grace),
        "bank": duration(terms.bank),
        "settling": duration(terms.settle),
    }


def _entrant(t: Tournament, name: str) -> Facts:
    line = t.entrants[name]
    level = "key" if line.player.keys else "mailbox"
    return {"name": name, "player": line.player.name, "team": line.team, "level": level, "out": line.out}


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


def _cells(t: Tournament) -> dict[tuple[str, str], list[Cell]]:
    """The meetings of each line with each other one, in their order."""
    points = {(each.pairing.round, each.pairing.board): each.points for each in scored(t)}
    found: dict[tuple[str, str], list[Cell]] = {}
    for pairing in t.pairings:
        made = points.get((pairing.round, pairing.board))
        for seat, name in enumerate(pairing.names):
            other = pairing.names[1 - seat]
            cell = Cell(pairing.match, made[seat] if made else None, pairing.annulled)
            found.setdefault((name, other), []).append(cell)
    return found


def _game(t: Tournament, pairing: Pairing, own: str) -> Facts:
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
