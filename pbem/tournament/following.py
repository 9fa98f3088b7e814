"""The entry that must follow by itself: a withdrawal, the next matches, or the end.

Everybody computes it from the entries before; `fold` takes no other in its place. Implements docs/bundle.md, 12.3.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from pbem.tournament.crosstable import monrad, points_for_pairing, table
from pbem.tournament.tournament_terms import FORMATS, LADDER, SWISS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pbem.json_object import JsonObject
    from pbem.tournament.tournament_state import Entrant, Tournament

Following = tuple[str, "JsonObject"]
"""The type and the body of an entry that follows by itself; matches that begin have no names in it yet."""


def follows(tournament: Tournament, time: str = "") -> Following | None:
    """The entry that must follow by itself; with a time, also one that may follow because of the time.

    An entry must follow at once if it is due without regard to the time: until then, no other is taken.
    """
    if tournament.phase == "ended":
        return None
    if tournament.closing:
        return _end(tournament, "ruled")
    if tournament.is_full and tournament.terms.format == LADDER:  # no other format goes on for ever
        return _end(tournament, "full")
    if tournament.phase == "open":
        return None
    if leavers := [entrant for entrant in tournament.live if entrant.leaves]:
        leaving = min(leavers, key=lambda entrant: entrant.ordinal)
        return "withdrawn", {"player": leaving.name, "why": leaving.leaves, "games": _fate(tournament, leaving)}
    if len(tournament.entrants) < tournament.terms.fewest:
        return _end(tournament, "too few")
    pairs = _PAIRING[tournament.terms.format](tournament, time)
    if pairs is not None:
        return "paired", pairs
    if (
        tournament.terms.format == LADDER
        or any(tournament.awaited)
        or (tournament.terms.format == SWISS and _goes_on(tournament))
    ):
        return None
    return _end(tournament, "played")


def _end(tournament: Tournament, reason: str) -> Following:
    return "ended", {"reason": reason, "table": msgspec.to_builtins(table(tournament))}


def _fate(tournament: Tournament, entrant: Entrant) -> str:
    """The fate of the games of an entrant that is withdrawn: the chess federations' rule for round robins.

    Of whoever finished fewer than half of the games, none count; otherwise those that have not begun are lost.
    """
    if not tournament.terms.robin:
        return "kept"
    own = [
        pairing
        for pairing in tournament.pairings
        if entrant.name in pairing.names and not tournament.is_void(pairing)
    ]
    finished = sum(pairing.result is not None and pairing.result.played for pairing in own)
    return "annulled" if 2 * finished < len(own) else "forfeited"


# Pairing.


def _pairs_body(pairs: list[JsonObject], **more: object) -> JsonObject:
    return {"pairs": pairs, "byes": [], "unfinished": [], "rematches": 0, **more}


def _pair_robin(tournament: Tournament, _time: str) -> JsonObject | None:
    """The games that begin: in their order, each whose two players have fewer than `at_once` under way."""
    most = tournament.terms.at_once or len(tournament.pairings)
    awaited = list(tournament.awaited)
    playing = Counter(name for pairing in awaited if pairing.match for name in pairing.names)
    begin = []
    for pairing in awaited:
        if not pairing.match and all(playing[name] < most for name in pairing.names):
            playing.update(pairing.names)
            begin.append({"round": pairing.round, "board": pairing.board, "players": list(pairing.names)})
    return _pairs_body(begin) if begin else None


def _goes_on(tournament: Tournament) -> bool:
    """True if a Swiss tournament has another round, and enough to play it."""
    return tournament.round < tournament.rounds and len(tournament.live) >= tournament.terms.seats


def _pair_swiss(tournament: Tournament, time: str) -> JsonObject | None:
    """The next round, once the last one is over, or its time is."""
    unfinished = [pairing.match for pairing in tournament.awaited]
    this_round = any(pairing.round == tournament.round for pairing in tournament.awaited)
    if not _goes_on(tournament) or (this_round and not (tournament.round_ends and time >= tournament.round_ends)):
        return None
    points = points_for_pairing(tournament)
    ranked = [
        entrant.name for entrant in sorted(tournament.live, key=lambda each: (-points[each.name], each.ordinal))
    ]
    seats, byes = tournament.terms.seats, list[str]()
    while len(ranked) % seats:
        byes.append(next((name for name in reversed(ranked) if name not in tournament.byes), ranked[-1]))
        ranked.remove(byes[-1])
    tables, rematches = monrad(ranked, seats, {pair for pairing in tournament.pairings for pair in pairing.pairs})
    # Whoever had seat 1 less often sits before the others.
    firsts = Counter(pairing.names[0] for pairing in tournament.pairings)
    places = [
        {"round": tournament.round + 1, "board": board, "players": sorted(names, key=firsts.__getitem__)}
        for board, names in enumerate(tables, start=1)
    ]
    return _pairs_body(places, byes=byes, unfinished=unfinished, rematches=rematches)


def _pair_ladder(tournament: Tournament, _time: str) -> JsonObject | None:
    """The challenge that was made."""
    if tournament.challenge is None:
        return None
    return _pairs_body([{"round": len(tournament.pairings) + 1, "board": 1, "players": list(tournament.challenge)}])


_PAIRING: Mapping[str, Callable[[Tournament, str], JsonObject | None]] = {
    **dict.fromkeys(FORMATS, _pair_robin),
    SWISS: _pair_swiss,
    LADDER: _pair_ladder,
}
