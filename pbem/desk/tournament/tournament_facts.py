"""Facts of a tournament for letters, answers, bulletins and pages: what follows from its state alone.

Its terms, its table, and its reader's games, with what is the same for all readers made once a head. Implements
docs/bundle.md, 12.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from pbem.games import rules
from pbem.match.transcript import utc
from pbem.match.view import TranscriptHead
from pbem.phrase import Moment
from pbem.tournament.crosstable import TableRow, scored, table, teams
from pbem.tournament.tournament_entries import WIN
from pbem.tournament.tournament_state import TableCell, TableLine, TournamentView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.json_object import JsonObject
    from pbem.letters.draft import Facts
    from pbem.tournament.tournament_state import Pairing, Tournament


@dataclass(frozen=True)
class _AtHead:
    """A tournament at a head, by which alone it is compared."""

    head: str
    t: Tournament = field(compare=False)


def facts_of(t: Tournament, reader: str) -> Facts:
    """The public facts of a tournament, and its reader's games in it."""
    entrant = t.entrant_of(reader)
    name, place = entrant.name if entrant else None, t.entrants.get(t.nominated.get(reader, ""))
    return _public_facts(_AtHead(t.head, t)) | {
        "me": reader,
        "line": name,
        "nominated": name is None and place is not None and not place.out,
        "out": entrant.out if entrant else "",
        "standing": standing_of(t, reader),
        "games": [_game_of(t, pairing, name) for pairing in t.pairings if name and name in pairing.names],
    }


@lru_cache(maxsize=16)  # Everybody in a tournament is told of it at once.
def _public_facts(at: _AtHead) -> Facts:
    t = at.t
    terms, groups = t.terms.of_matches, table(t) if t.phase != "open" else []
    rows = [_group(t, group) for group in groups]
    return {
        "id": t.id,
        "title": rules(terms.game).title,
        "game_name": terms.game,
        "server": t.server,
        "phase": t.phase,
        "format": t.terms.format,
        "terms": t.terms,
        "closes": Moment(utc(t.terms.closes)) if t.terms.closes else None,
        "hash": t.rules_hash,
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


def item_of(t: Tournament, reader: str, signature: bytes) -> JsonObject:
    """The bulletin's item of a tournament, for a reader who may have no place in it; `signature` signs its head."""
    own = standing_of(t, reader) or {"place": None, "of": None, "points": None, "running": 0}
    entrant = t.entrant_of(reader)
    stands = TournamentView(
        tournament=t.id,
        head=TranscriptHead(t.seq, t.head, signature.hex()),
        generation=t.generation,
        restored=t.restored,
        format=t.terms.format,
        phase=t.phase,
        rules=str(t.terms.match["game"]),
        organiser=t.organiser.name,
        entrants=len(t.entrants),
        agreement=t.terms.document(),
        hash=t.rules_hash,
        entered=entrant is not None and not entrant.out,
        place=own["place"],
        of=own["of"],
        points=own["points"],
        running=own["running"],
        table=_public_facts(_AtHead(t.head, t))["lines"],
    )
    return {"about": "tournament", **msgspec.to_builtins(stands)}


def _entrant(t: Tournament, name: str) -> Facts:
    entrant = t.entrants[name]
    return {"name": name, "player": entrant.player.name, "out": entrant.out}


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
            cell = TableCell(pairing.match, made[seat] if made else None, t.is_void(pairing))
            found.setdefault((name, other), []).append(cell)
    return found


def _game_of(t: Tournament, pairing: Pairing, own: str) -> Facts:
    """A game of a line: against whom, and how it stands; its points, where some won more and some less."""
    seat = pairing.names.index(own)
    now = tuple(t.entrants[name].player.name for name in pairing.names)
    players = pairing.players or now  # a match stays with those who began it
    against = [player for at, player in enumerate(players) if at != seat]
    points = None
    if t.is_void(pairing):
        state = "void"
    elif pairing.result is not None:
        points = pairing.result.points[seat]
        drawn = len({*pairing.result.points}) == 1
        extremes = {0: "lost", WIN * len(against): "won"}
        state = extremes.get(points, "drawn" if drawn else "placed")
    elif t.is_forfeited(pairing):
        state = "lost" if t.entrants[own].out else "won"
    else:
        state = "later" if not pairing.match else "running" if players[seat] == now[seat] else "before"
    return {"match": pairing.match, "against": against, "round": pairing.round, "state": state, "points": points}
