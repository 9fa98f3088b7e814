"""Tournaments at rest: their entries, papers and secrets, who takes part, and changes of keys since they entered.

Only storage, in plain rows: `pbem.tournament` knows what they mean. Entries are appended at an expected head. Every
call is part of the caller's transaction. Implements docs/bundle.md, 12.1.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import asdict

from pbem.store.matches import EntryRow, Registers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pbem.json_object import JsonObject
    from pbem.store.database import Database
    from pbem.store.vault import Vault


class TournamentLetter(msgspec.Struct, frozen=True):
    """A letter to a tournament: its path and bytes, the key that signed it, if one did, and when it arrived."""

    path: str
    signer: str
    received: str
    sealed: bytes


class TournamentTask(msgspec.Struct, frozen=True):
    """A match to begin, or a letter to write to a player: its news since this entry; 0: the table alone."""

    id: int
    tournament: int
    match: str | None
    player: str | None
    since: int | None


class Tournaments(Registers):
    """The tournaments of a store."""

    def __init__(self, database: Database, vault: Vault) -> None:
        super().__init__(database, vault, "tournament")

    def create(self, head: str) -> int:
        """Number a new tournament, which has no entries yet."""
        number = self._database.insert("tournaments", "number", phase="open", head=head, secret=b"")
        self.keep_secret(number, "")
        return number

    def keep_secret(self, number: int, secret: str) -> None:
        """Keep the secret for a tournament's lot."""
        row = self._sealed("tournaments", number=number, secret=secret.encode())
        self._database.write("UPDATE tournaments SET secret = ? WHERE number = ?", (row["secret"], number))

    def secret(self, number: int) -> str:
        """The secret for a tournament's lot; empty for a ladder."""
        return (self._secret("tournaments", "secret", number=number) or b"").decode()

    def head(self, number: int) -> str | None:
        """The head of a tournament; None if there is none of this number."""
        return self._database.text("SELECT head FROM tournaments WHERE number = ?", (number,))

    def of_player(self, player: str) -> list[int]:
        """The tournaments that a player entered or plays on in, and that are not over, oldest first."""
        query = (
            "SELECT number FROM tournaments JOIN tournament_players ON number = tournament"
            " WHERE player = ? AND phase <> 'ended' ORDER BY number"
        )
        return [row[0] for row in self._database.execute(query, (player,))]

    def update(self, number: int, phase: str, due: str | None) -> None:
        """Set a tournament's phase, and when the clock has something to do."""
        self._database.write("UPDATE tournaments SET phase = ?, due = ? WHERE number = ?", (phase, due, number))

    def running(self) -> list[int]:
        """The numbers of the tournaments that are not over, oldest first."""
        rows = self._database.execute("SELECT number FROM tournaments WHERE phase <> 'ended' ORDER BY number")
        return [row[0] for row in rows]

    def paused(self, number: int) -> bool:
        """True if the operator has paused a tournament."""
        return bool(self._database.scalar("SELECT paused FROM tournaments WHERE number = ?", (number,)))

    def pause(self, number: int, *, paused: bool) -> None:
        """Pause a tournament, or let it go on."""
        self._database.write("UPDATE tournaments SET paused = ? WHERE number = ?", (int(paused), number))

    def seat(self, number: int, players: Iterable[str]) -> None:
        """Note who takes part now."""
        query = "SELECT player FROM tournament_players WHERE tournament = ?"
        now, before = set(players), {row[0] for row in self._database.execute(query, (number,))}
        for player in sorted(before - now):
            sql = "DELETE FROM tournament_players WHERE tournament = ? AND player = ?"
            self._database.write(sql, (number, player))
        for player in sorted(now - before):
            self._database.put("tournament_players", tournament=number, player=player)

    def entries(self, number: int, since: int = 1) -> list[EntryRow]:
        """The entries from this one on, in order."""
        query = (
            "SELECT seq, entry, head, signature FROM tournament_entries"
            " WHERE tournament = ? AND seq >= ? ORDER BY seq"
        )
        return self._database.read(EntryRow, query, (number, since))

    def file(self, number: int, path: str, content: bytes) -> None:
        """Keep a paper that is no letter."""
        self._database.put(
            "tournament_papers", **self._sealed("tournament_papers", tournament=number, path=path, sealed=content)
        )

    def file_letter(self, number: int, mail: str, letter: TournamentLetter) -> None:
        """Keep a letter, by its hash."""
        row = self._sealed("tournament_papers", tournament=number, mail=mail, **asdict(letter))
        self._database.put("tournament_papers", **row)

    def letter(self, number: int, mail: str) -> TournamentLetter:
        """The letter of this hash."""
        query = "SELECT * FROM tournament_papers WHERE tournament = ? AND mail = ?"
        row = self._opened_rows("tournament_papers", query, (number, mail))[0]
        return TournamentLetter(row["path"], row["signer"], row["received"], row["sealed"])

    def paper(self, number: int, path: str) -> bytes | None:
        """One paper of a tournament."""
        return self._secret("tournament_papers", "sealed", tournament=number, path=path)

    def papers(self, number: int) -> dict[str, bytes]:
        """All papers of a tournament, by path."""
        query = "SELECT * FROM tournament_papers WHERE tournament = ? ORDER BY path"
        return {row["path"]: row["sealed"] for row in self._opened_rows("tournament_papers", query, (number,))}

    def plan_match(self, number: int, match: str) -> None:
        """Plan to begin a match."""
        self._database.add("tournament_tasks", tournament=number, match=match)

    def plan_letter(self, number: int, player: str, since: int) -> None:
        """Plan a letter to a player; one that waits already brings this news, too."""
        query = "SELECT 1 FROM tournament_tasks WHERE tournament = ? AND player = ? AND since BETWEEN 1 AND ?"
        if self._database.scalar(query, (number, player, since)) is None:
            self._database.add("tournament_tasks", tournament=number, player=player, since=since)

    def tasks(self, number: int | None = None) -> list[TournamentTask]:
        """The planned tasks of all tournaments or of one, oldest first."""
        query = (
            "SELECT id, tournament, match, player, since FROM tournament_tasks"
            " WHERE tournament = coalesce(?, tournament) ORDER BY id"
        )
        return self._database.read(TournamentTask, query, (number,))

    def take(self, task: TournamentTask) -> bool:
        """Take a task that is to be done; False if it was done before."""
        return self._database.write("DELETE FROM tournament_tasks WHERE id = ?", (task.id,)).rowcount == 1

    def octets(self, number: int) -> int:
        """The length of all papers of a tournament."""
        query = "SELECT sum(length(sealed)) FROM tournament_papers WHERE tournament = ?"
        return int(self._database.scalar(query, (number,)) or 0)

    def change_keys(self, number: int, player: str, change: JsonObject) -> None:
        """Keep a change of a player's keys, which each match that begins is told."""
        sealed = json.dumps(change).encode()
        row = self._sealed("tournament_keys", tournament=number, player=player, sealed=sealed)
        self._database.put("tournament_keys", **row)

    def changed_keys(self, number: int, player: str) -> list[JsonObject]:
        """The changes of a player's keys since the player entered, oldest first."""
        query = "SELECT * FROM tournament_keys WHERE tournament = ? AND player = ? ORDER BY id"
        rows = self._opened_rows("tournament_keys", query, (number, player))
        return [json.loads(row["sealed"]) for row in rows]

    def forget_keys(self, number: int, player: str) -> None:
        """Forget the changes of a player's keys: the player entered anew, with those that count now."""
        query = "DELETE FROM tournament_keys WHERE tournament = ? AND player = ?"
        self._database.write(query, (number, player))
