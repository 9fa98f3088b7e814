"""The news of a server's feeds: what its pages show of its public matches and tournaments, and when it was.

No word that anybody wrote is in it, such as the reason of a ruling. Implements protocol.md, "Secrets".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.games import rules
from pbem.pages.feeds import News
from pbem.phrase import Phrase
from pbem.tournament.tournament_entries import MatchResult
from pbem.tournament.tournament_terms import LADDER, SWISS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pbem.match.state import Match
    from pbem.match.transcript import Entry
    from pbem.tournament.tournament_entries import TournamentEntry
    from pbem.tournament.tournament_state import Tournament


def of_invitation(match: Match, proposed: str) -> News:
    """An invitation that is open since this time."""
    title = Phrase("{id}: {name} proposes {game}", id=match.id, name=match.name(1), game=match.rules.title)
    return News(match.id, 0, proposed, title)


def of_match(match: Match, entries: Sequence[Entry]) -> Iterator[News]:
    """A match that everybody may watch: its begin, its turns, the ends of its games, and its own."""
    for entry in entries:
        if title := _of_match(match, entry.type, entry.body):
            yield News(match.id, entry.seq, entry.time, title, front=entry.type in {"agreed", "closed"})


def _of_match(match: Match, kind: str, body: dict[str, Any]) -> Phrase | None:
    """An entry of a match in words; None if the pages do not show it."""
    single = match.terms.kind == "single"
    match kind:
        case "agreed":
            names = ", ".join(body["players"][str(seat)]["name"] for seat in match.seats)
            return Phrase("{id}: {names} begin {game}", id=match.id, names=names, game=match.rules.title)
        case "turn" if single:
            return Phrase("{id}: turn {turn} is over", id=match.id, turn=body["turn"])
        case "turn":
            return Phrase("{id}: game {game}, turn {turn} is over", id=match.id, game=body["game"], turn=body["turn"])
        case "ended" if not single:
            return Phrase("{id}: game {game} is over", id=match.id, game=body["game"])
        case "closed" if body["winner"]:
            return Phrase("{id} is over: {name} won", id=match.id, name=match.name(body["winner"]))
        case "closed":
            return Phrase("{id} is over: nobody won", id=match.id)
    return None


def of_tournament(t: Tournament, entries: Sequence[TournamentEntry]) -> Iterator[News]:
    """A tournament: its announcement, its start, its rounds and results, and its end."""
    for entry in entries:
        if title := _of_tournament(t, entry.type, entry.body):
            front = entry.type in {"announced", "started", "ended"}
            yield News(t.id, entry.seq, entry.time, title, front=front or _is_round(t, entry.type))


def _of_tournament(t: Tournament, kind: str, body: dict[str, Any]) -> Phrase | None:
    """An entry of a tournament in words; None if the pages do not show it."""
    match kind:
        case "announced":
            game = rules(str(t.terms.match["game"])).title
            if t.terms.format == LADDER:
                return Phrase("{id}: a ladder of {game} is open", id=t.id, game=game)
            closes = str(t.terms.closes)[:10]
            return Phrase("{id}: a tournament of {game}, entries until {day}", id=t.id, game=game, day=closes)
        case "started":
            return Phrase("{id} begins; players: {count}", id=t.id, count=len(body["order"]))
        case "paired" if _is_round(t, kind):
            return Phrase("{id}: round {round} begins", id=t.id, round=body["pairs"][0]["round"])
        case "paired":
            matches = ", ".join(pair["match"] for pair in body["pairs"])
            return Phrase("{id}: now played: {matches}", id=t.id, matches=matches)
        case "result":
            pairing, points = t.pairing_of(body["match"]), MatchResult.read(body).points
            assert pairing is not None
            return Phrase(
                "{id}, {match}: {first} and {second}, {points}",
                id=t.id,
                match=body["match"],
                first=pairing.names[0],
                second=pairing.names[1],
                points=":".join(map(str, points)),
            )
        case "ruled" if body["what"] == "annul":
            return Phrase("{id}: by a ruling, {match} does not count", id=t.id, match=body["match"])
        case "withdrawn":
            return Phrase("{id}: {name} is out", id=t.id, name=body["player"])
        case "ended" if body["reason"] == "too few":
            return Phrase("{id} does not take place: too few have entered", id=t.id)
        case "ended":
            return Phrase("{id} is over", id=t.id)
    return None


def _is_round(t: Tournament, kind: str) -> bool:
    """True if an entry of this type begins a round: elsewhere a match begins whenever its players are free."""
    return kind == "paired" and t.terms.format == SWISS
