"""Damage that can be seen in a store row by row: seals that do not open, impossible sizes and times.

SQLite's own check looks at how pages are linked, and hardly at what is in them. This module cannot tell whether a
transcript is true. Implements reliability.md, case 40.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from pbem.store.errors import DamagedError
from pbem.store.rows import SEALS
from pbem.store.vault import Sealed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.store.database import Database, Row
    from pbem.store.vault import Vault

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
    columns, context = SEALS.get(table, ((), ""))
    # Sealed columns: a seal opens only with this store's key, in this row.
    for column in columns:
        try:
            plain = vault.open(row[column], context.format_map(row))
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
