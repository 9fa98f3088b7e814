"""Rows on one connection to a store, and the seals of their secret columns.

Each seal opens only under the context of its own row, so that no sealed column can be moved to another row. The
contexts stand here once: what writes a row, what reads it and what examines it (`soundness`) agree by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.store.database import Database, Row
    from pbem.store.engine import Parameters
    from pbem.store.vault import Vault


class Seals(NamedTuple):
    """The sealed columns of a table, and the context that they open under, filled from the row."""

    columns: tuple[str, ...]
    context: str


SEALS: Final[Mapping[str, Seals]] = {
    "inbox": Seals(("raw",), "inbox {fingerprint}"),
    "outbox": Seals(("raw",), "outbox {message_id} {recipient}"),
    "papers": Seals(("sealed",), "paper {match} {path}"),
    "submissions": Seals(("sealed", "letter"), "submission {match} {game} {turn} {seat}"),
    "consents": Seals(("sealed", "letter"), "consent {match} {seat}"),
    "held": Seals(("sealed",), "held {player} {match}"),
    "notifications": Seals(("sealed",), "notifications {player}"),
    "key_changes": Seals(("letter",), "key change {player} {fingerprint}"),
    "notes_to_self": Seals(("sealed",), "note {match} {game} {seat}"),
    "signed_texts": Seals(("sealed",), "text {match} {mail}"),
    "tournaments": Seals(("secret",), "tournament {number}"),
    "tournament_papers": Seals(("sealed",), "tournament paper {tournament} {path}"),
    "tournament_keys": Seals(("sealed",), "tournament keys {tournament} {player}"),
}


class Rows:
    """The rows of some tables, on one connection."""

    def __init__(self, database: Database) -> None:
        self._database = database


class SealedRows(Rows):
    """The same, where some columns are sealed."""

    def __init__(self, database: Database, vault: Vault) -> None:
        super().__init__(database)
        self._vault = vault

    def _sealed(self, table: str, **row: Any) -> Row:
        """A row as it is stored, from its columns in clear."""
        columns, context = SEALS[table]
        return row | {name: self._vault.seal(row[name], context.format_map(row)) for name in columns}

    def _opened(self, table: str, row: Row) -> Row:
        """A stored row, with those of its sealed columns in clear that were read; raises `Sealed`."""
        columns, context = SEALS[table]
        read = [name for name in columns if name in row]
        return row | {name: self._vault.open(row[name], context.format_map(row)) for name in read}

    def _opened_rows(self, table: str, query: str, parameters: Parameters) -> list[Row]:
        """The rows of a query, opened one by one."""
        return [self._opened(table, row) for row in self._database.each(query, parameters)]

    def _secret(self, table: str, column: str, **place: object) -> bytes | None:
        """A sealed column of the row at a place, in clear; None if there is no such row."""
        where = " AND ".join(f"{name} = ?" for name in place)
        rows = self._opened_rows(table, f"SELECT * FROM {table} WHERE {where}", tuple(place.values()))
        return rows[0][column] if rows else None
