"""The public side of tournaments: the facts of each for its page, and its files.

Implements protocol.md, "Secrets".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.tournament.tournament_archive import TournamentRepository
from pbem.desk.tournament.tournament_facts import facts_of
from pbem.pages.site import PublicTournament
from pbem.store.tournament_rows import Tournaments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.store.database import Database
    from pbem.store.vault import Vault


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
        yield PublicTournament(facts_of(t, ""), files if bare else {})
