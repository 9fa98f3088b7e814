"""Changes of players' keys that wait: for the new key's signature, or for a delay to pass.

Only storage: who may change what is decided at the desk. The letters that prove a change are sealed by the vault.
Every call is part of the caller's transaction. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from pbem.store.players import KeyRow
from pbem.store.rows import SealedRows

if TYPE_CHECKING:
    from datetime import datetime


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
    """The end of the delay; None while the challenge has not come back."""


class KeyChanges(SealedRows):
    """The waiting changes of a store."""

    def ask(self, waiting: WaitingKey) -> None:
        """Keep a change, in place of an earlier one of the same key by the same proof."""
        row = asdict(waiting) | waiting.key.document()
        del row["key"]
        self._database.put("key_changes", "player, proof, fingerprint", **self._sealed("key_changes", **row))

    def of_player(self, player: str) -> list[WaitingKey]:
        """The player's waiting changes, oldest first."""
        return self._where("player = ?", player)

    def due(self, now: str) -> list[WaitingKey]:
        """The changes whose delay is over."""
        return self._where("due <= ?", now)

    def delayed(self) -> list[WaitingKey]:
        """The changes whose delay runs."""
        return self._where("due IS NOT NULL")

    def next_due(self) -> datetime | None:
        """The end of the next delay."""
        return self._database.moment("SELECT min(due) FROM key_changes")

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

    def _where(self, condition: str, *values: str) -> list[WaitingKey]:
        """The changes for which a condition holds, oldest first."""
        query = f"SELECT * FROM key_changes WHERE {condition} ORDER BY created, fingerprint"
        rows = self._opened_rows("key_changes", query, values)
        keys = [KeyRow(row.pop("format"), row.pop("fingerprint"), row.pop("public")) for row in rows]
        return [WaitingKey(key=key, **row) for key, row in zip(keys, rows, strict=True)]
