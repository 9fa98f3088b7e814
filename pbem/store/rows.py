"""Rows on one connection to a store, the seals of their secret columns, and the damage that can be seen row by row.

Each seal opens only under the context of its own row, so that no sealed column can be moved to another row. SQLite's
own check looks at how pages are linked, and hardly at what is in them; `unsound` looks at seals, sizes and times, and
cannot tell whether a transcript is true. Implements reliability.md, case 40.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pbem.store.errors import DamagedError
from pbem.store.vault import Sealed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pbem.store.database import Database, Row
    from pbem.store.engine import Parameters
    from pbem.store.vault import Vault


class Seals(NamedTuple):
    """The sealed columns of a table, and the context that they open under, filled from the row."""

    columns: tuple[str, ...]
    context: str
    compressed: bool = False
    """True if what is sealed is long, and much of it is the same words again."""

    def seal(self, vault: Vault, column: str, row: Row) -> bytes:
        """The sealed octets of a column of this row."""
        plain: bytes = row[column]
        return vault.seal(zlib.compress(plain, _FAST) if self.compressed else plain, self.context.format_map(row))

    def open(self, vault: Vault, column: str, row: Row) -> bytes:
        """The clear octets of a column of this stored row; raises `Sealed`."""
        opened = vault.open(row[column], self.context.format_map(row))
        return zlib.decompress(opened) if self.compressed else opened


_FAST: Final = 1
"""The level of compression: the highest saves another tenth, in twice the time."""

SEALS: Final[Mapping[str, Seals]] = {
    "inbox": Seals(("raw",), "inbox {fingerprint}"),
    "outbox": Seals(("raw",), "outbox {message_id} {recipient}", compressed=True),
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
        seals = SEALS[table]
        return row | {name: seals.seal(self._vault, name, row) for name in seals.columns}

    def _opened(self, table: str, row: Row) -> Row:
        """A stored row, with those of its sealed columns in clear that were read; raises `Sealed`."""
        seals = SEALS[table]
        return row | {name: seals.open(self._vault, name, row) for name in seals.columns if name in row}

    def _opened_rows(self, table: str, query: str, parameters: Parameters) -> list[Row]:
        """The rows of a query, opened one by one."""
        return [self._opened(table, row) for row in self._database.each(query, parameters)]

    def _secret(self, table: str, column: str, **place: object) -> bytes | None:
        """A sealed column of the row at a place, in clear; None if there is no such row."""
        where = " AND ".join(f"{name} = ?" for name in place)
        rows = self._opened_rows(table, f"SELECT * FROM {table} WHERE {where}", tuple(place.values()))
        return rows[0][column] if rows else None


_TIMES: Final = (
    *("added", "asked", "began", "confirmed", "created", "due", "ended", "given", "received"),
    *("revoked", "settled", "since", "time", "used"),
)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")

_DOCUMENTS: Final = frozenset({"recipients", "terms", "clock"})


def unsound(database: Database, vault: Vault) -> Iterator[str]:
    """All rows in which something cannot be as it was written, each in a few words without what is in it."""
    for table in database.engine.tables():
        try:
            # One row at a time: letters are many, and large.
            for number, row in enumerate(database.table(table), start=1):
                for fault in _faults(table, row, vault):
                    yield f"{table}, row {number}: {fault}"
        except DamagedError as error:
            yield f"{table}: {error}"


def _faults(table: str, row: Row, vault: Vault) -> Iterator[str]:
    seals = SEALS.get(table, Seals((), ""))
    # Sealed columns: a seal opens only with this store's key, in this row.
    for column in seals.columns:
        try:
            plain = seals.open(vault, column, row)
        except Sealed:
            yield f"{column} does not open"
        else:
            if "size" in row and row["size"] != len(plain):
                yield f"its size is {row['size']}, and it has {len(plain)} octets"
    for column in row.keys() & set(_TIMES):
        if isinstance(row[column], str) and not _TIME.fullmatch(row[column]):
            yield f"{column} is no time"
    for column in row.keys() & _DOCUMENTS:
        try:
            json.loads(row[column] or "null")
        except ValueError:
            yield f"{column} cannot be read"
