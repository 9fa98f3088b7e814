"""Snapshots at rest: a match as it stood at a head of its transcript, and the turns of its game, as sealed octets.

Only storage; `pbem.desk.snapshots` knows what is in them. Everything here may be thrown away at any time: it
is made again from the transcript. Every call is part of the caller's transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pbem.store.database import Database
    from pbem.store.vault import Vault

__all__ = ["SnapshotRows"]


class SnapshotRows:
    """The snapshots of a store: at most one per match."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    def read(self, number: int, head: str, code: str) -> bytes | None:
        """The snapshot of a match at this head, made by this code; raises `Sealed` if it does not open."""
        query = "SELECT sealed FROM snapshots WHERE match = ? AND head = ? AND code = ?"
        row = self._database.execute(query, (number, head, code)).fetchone()
        return self._vault.open(row[0], _context(number, head, code)) if row else None

    def move(self, number: int, before: str, head: str, code: str, content: bytes) -> bool:
        """Replace the snapshot at the previous head with a new one, if there is one by the same code."""
        moved = self._database.execute(
            "UPDATE snapshots SET head = ?, sealed = ? WHERE match = ? AND head = ? AND code = ?",
            (head, self._vault.seal(content, _context(number, head, code)), number, before, code),
        )
        return moved.rowcount == 1

    def begin(self, number: int, head: str, code: str, content: bytes) -> None:
        """Replace whatever there was of a match, turns included, with a snapshot."""
        self.forget_turns(number)
        self._database.execute(
            "INSERT INTO snapshots VALUES (?, ?, ?, ?) ON CONFLICT (match)"
            " DO UPDATE SET head = excluded.head, code = excluded.code, sealed = excluded.sealed",
            (number, head, code, self._vault.seal(content, _context(number, head, code))),
        )

    def add_turns(self, number: int, game: int, first: int, content: bytes) -> None:
        """Keep the turns of a game from this one on, by how many came before it."""
        sealed = self._vault.seal(content, _context_of_turns(number, game, first))
        self._database.execute(
            "INSERT INTO snapshot_turns VALUES (?, ?, ?)"
            " ON CONFLICT (match, first) DO UPDATE SET sealed = excluded.sealed",
            (number, first, sealed),
        )

    def turns(self, number: int, game: int) -> list[tuple[int, bytes]]:
        """The turns that were kept, each with how many come before; raises `Sealed` if one does not open."""
        query = "SELECT first, sealed FROM snapshot_turns WHERE match = ? ORDER BY first"
        rows = self._database.execute(query, (number,)).fetchall()
        return [(first, self._vault.open(sealed, _context_of_turns(number, game, first))) for first, sealed in rows]

    def forget_turns(self, number: int) -> None:
        """Forget the turns of a match: its game is over."""
        self._database.execute("DELETE FROM snapshot_turns WHERE match = ?", (number,))


def _context(number: int, head: str, code: str) -> str:
    return f"snapshot {number} {head} {code}"


def _context_of_turns(number: int, game: int, first: int) -> str:
    return f"snapshot turns {number} {game} {first}"
