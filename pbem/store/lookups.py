"""The queries to the DNS for a letter, and their answers: kept with the letter, so that every look sees the same.

Only storage. A letter with open lookups is not given to the desk. Implements design.md, "The way of a
letter": the desk never waits on the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbem.store.database import from_db, to_db

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pbem.store.database import Database

__all__ = ["Lookup", "Lookups"]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A name whose TXT record is wanted for a letter, and how often it may still be asked for, this time included."""

    inbox: int
    name: str
    tries: int


class Lookups:
    """The lookups of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, inbox: int, names: Iterable[str], tries: int, now: datetime) -> None:
        """Want the TXT records of these names for a letter, asking up to so many times; part of a transaction."""
        for name in names:
            self._database.execute(
                "INSERT INTO lookups (inbox, name, tries, due) VALUES (?, ?, ?, ?)", (inbox, name, tries, to_db(now))
            )

    def found(self, inbox: int) -> dict[str, str | None]:
        """What is known for a letter: the record by name, "" where there is none, None where nobody could say."""
        rows = self._database.rows("SELECT name, record FROM lookups WHERE inbox = ? ORDER BY name", (inbox,))
        return {row["name"]: row["record"] for row in rows}

    def due(self, now: datetime, most: int) -> list[Lookup]:
        """The look-ups that are due now, oldest first."""
        rows = self._database.rows(
            "SELECT inbox, name, tries FROM lookups WHERE settled IS NULL AND due <= ? ORDER BY due, inbox LIMIT ?",
            (to_db(now), most),
        )
        return [Lookup(row["inbox"], row["name"], row["tries"]) for row in rows]

    def next_due(self) -> datetime | None:
        """When there will be something to ask."""
        due = self._database.scalar("SELECT min(due) FROM lookups WHERE settled IS NULL")
        return from_db(due) if due else None

    def settle(self, lookup: Lookup, record: str | None, now: datetime) -> None:
        """Keep what the DNS said: the record, "" when there is none, None when nobody could be asked."""
        with self._database.transaction():
            self._database.write(
                "UPDATE lookups SET settled = ?, record = ? WHERE inbox = ? AND name = ? AND settled IS NULL",
                (to_db(now), record, lookup.inbox, lookup.name),
            )

    def postpone(self, lookup: Lookup, due: datetime) -> None:
        """Ask again then; that is one try less."""
        with self._database.transaction():
            self._database.write(
                "UPDATE lookups SET tries = tries - 1, due = ? WHERE inbox = ? AND name = ? AND settled IS NULL",
                (to_db(due), lookup.inbox, lookup.name),
            )
