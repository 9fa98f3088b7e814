"""The public side of tournaments: the pages of each, with its files, and its news, for all who can read.

No word that anybody wrote, such as the reason of a ruling, is in the news. Implements protocol.md, "Secrets".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.desk.tournament.tournament_archive import TournamentRepository
from pbem.desk.tournament.tournament_facts import facts_of
from pbem.games import rules
from pbem.pages.site import News, PublicTournament
from pbem.phrase import Phrase
from pbem.store.tournament_rows import Tournaments
from pbem.tournament.tournament_entries import MatchResult
from pbem.tournament.tournament_terms import LADDER, SWISS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.store.database import Database
    from pbem.store.vault import Vault
    from pbem.tournament.tournament_state import Tournament


def public_tournaments(server: str, database: Database, vault: Vault) -> Iterator[PublicTournament]:
    """All tournaments, newest first: nothing about them is secret but addresses, which the letters hold."""
    archive = TournamentRepository(Tournaments(database, vault), server)
    for number in reversed(archive.rows.numbers()):
        t = archive.known(number)
        entries = archive.entries(number)
        pinning = [entry.body for entry in entries if entry.type in {"announced", "entered"}]
        players = [body.get("player") or body["organiser"] for body in pinning]
        bare = all(key["format"] == "ssh" for player in players for key in player["keys"])
        transcript = b"".join(entry.canonical() + b"\n" for entry in entries)
        proof = archive.bundle(number, letters=False)
        files = {f"{t.id}.jsonl": transcript, f"{t.id}.pbem-tournament.zip": proof}
        front = {"announced", "started", "ended"}
        news = [
            News(t.id, entry.seq, entry.time, title, entry.type in front or _is_round(t, entry.type))
            for entry in entries
            if (title := _title(t, entry.type, entry.body))
        ]
        yield PublicTournament(facts_of(t, ""), files if bare else {}, news)


def _title(t: Tournament, kind: str, body: dict[str, Any]) -> Phrase | None:
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
