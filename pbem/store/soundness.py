"""Damage that can be seen in a store row by row: seals that do not open, impossible sizes and times.

SQLite's own check looks at how pages are linked, and hardly at what is in them. This module cannot tell whether a
transcript is true. Implements reliability.md, case 40.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.store.errors import DamagedError
from pbem.store.vault import Sealed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pbem.store.database import Database, Row
    from pbem.store.vault import Vault

__all__ = ["unsound"]


class _Seals(NamedTuple):
    """The sealed columns of a table, and the context that they open under, filled from the row."""

    columns: tuple[str, ...]
    context: str


_SEALED: Final[Mapping[str, _Seals]] = {
    "inbox": _Seals(("raw",), "inbox {fingerprint}"),
    "outbox": _Seals(("raw",), "outbox {message_id} {recipient}"),
    "papers": _Seals(("sealed",), "paper {match} {path}"),
    "submissions": _Seals(("sealed", "letter"), "submission {match} {game} {turn} {seat}"),
    "consents": _Seals(("sealed", "letter"), "consent {match} {seat}"),
    "held": _Seals(("sealed",), "held {player} {match}"),
    "key_changes": _Seals(("letter",), "key change {player} {fingerprint}"),
    "notes_to_self": _Seals(("sealed",), "note {match} {game} {seat}"),
    "signed_texts": _Seals(("sealed",), "text {match} {mail}"),
}

_TIMES: Final = frozenset(
    {"added", "asked", "began", "confirmed", "created", "due", "ended", "given", "received"}
) | {
    "revoked",
    "settled",
    "since",
    "time",
    "used",
}
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
    seals = _SEALED.get(table, _Seals((), ""))
    for column in seals.columns:
        try:
            plain = vault.open(row[column], seals.context.format_map(row))
        except Sealed:
            yield f"{column} does not open"
        else:
            if "size" in row and row["size"] != len(plain):
                yield f"its size is {row['size']}, and it has {len(plain)} octets"
    for column in row.keys() & _TIMES:
        if isinstance(row[column], str) and not _TIME.fullmatch(row[column]):
            yield f"{column} is no time"
    for column in row.keys() & _DOCUMENTS:
        try:
            json.loads(row[column] or "null")
        except ValueError:
            yield f"{column} cannot be read"
