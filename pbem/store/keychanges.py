"""Changes of players' keys that wait: for the new key's signature, or for a delay to pass.

Only storage: who may change what is decided at the desk. The letters that prove a change are sealed by the vault.
Every call is part of the caller's transaction. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from pbem.store.players import KeyRow

if TYPE_CHECKING:
    from pbem.store.database import Database, Row
    from pbem.store.vault import Vault

__all__ = ["KeyChanges", "WaitingKey"]


@dataclass(frozen=True, slots=True)
class WaitingKey:
    """A waiting new key: the proof by which it was requested, the challenge, and since when."""

    player: str
    proof: str
    """"old-key", "recovery-code" or "mailbox"."""
    key: KeyRow
    challenge: str
    created: str
    asked_by: str | None = None
    """The fingerprint of the old key that asked."""
    letter: bytes = field(default=b"", repr=False)
    """Signed by the old key that asked; once a delay runs, signed by the new one."""
    due: str | None = None
    """When the delay is over; None while the challenge has not come back."""


class KeyChanges:
    """The waiting changes of a store."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    def ask(self, waiting: WaitingKey) -> None:
        """Keep a change, in place of an earlier one of the same key by the same proof."""
        key = waiting.key
        row = asdict(waiting) | {"format": key.format, "fingerprint": key.fingerprint, "public": key.public}
        row["letter"] = self._vault.seal(waiting.letter, _context(waiting.player, key.fingerprint))
        del row["key"]
        self._database.put("key_changes", "player, proof, fingerprint", **row)

    def of_player(self, player: str) -> list[WaitingKey]:
        """The player's waiting changes, oldest first."""
        query = "SELECT * FROM key_changes WHERE player = ? ORDER BY created, fingerprint"
        return [self._waiting(row) for row in self._database.rows(query, (player,))]

    def due(self, now: str) -> list[WaitingKey]:
        """The changes whose delay is over."""
        query = "SELECT * FROM key_changes WHERE due <= ? ORDER BY created, fingerprint"
        return [self._waiting(row) for row in self._database.rows(query, (now,))]

    def delayed(self) -> list[WaitingKey]:
        """The changes whose delay runs."""
        query = "SELECT * FROM key_changes WHERE due IS NOT NULL ORDER BY created, fingerprint"
        return [self._waiting(row) for row in self._database.rows(query)]

    def next_due(self) -> str | None:
        """When the next delay is over."""
        return self._database.text("SELECT min(due) FROM key_changes")

    def forget(
        self, player: str, *, asked_by: str | None = None, proof: str | None = None, fingerprint: str | None = None
    ) -> None:
        """Forget the player's changes: all, or those asked by one key, by one proof, or for one key."""
        self._database.write(
            "DELETE FROM key_changes WHERE player = :player"
            " AND (CAST(:asked_by AS TEXT) IS NULL OR asked_by = :asked_by)"
            " AND proof = coalesce(:proof, proof) AND fingerprint = coalesce(:fingerprint, fingerprint)",
            {"player": player, "asked_by": asked_by, "proof": proof, "fingerprint": fingerprint},
        )

    def forget_older(self, player: str, created: str) -> None:
        """Forget the player's changes whose challenge did not come back since then."""
        self._database.write(
            "DELETE FROM key_changes WHERE player = ? AND created < ? AND due IS NULL", (player, created)
        )

    def _waiting(self, row: Row) -> WaitingKey:
        row["letter"] = self._vault.open(row["letter"], _context(row["player"], row["fingerprint"]))
        key = KeyRow(row.pop("format"), row.pop("fingerprint"), row.pop("public"))
        return WaitingKey(key=key, **row)


def _context(player: str, fingerprint: str) -> str:
    return f"key change {player} {fingerprint}"
