"""The queries to the DNS for a letter, and their answers: kept with the letter, so that every look sees the same.

Only storage. A letter with open lookups is not given to the desk. Implements design.md, "The way of a
letter": the desk never waits on the network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.store.database import to_db
from pbem.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime


class Lookup(msgspec.Struct, frozen=True):
    """A name whose TXT record is needed for a letter, and how many queries are left, this one included."""

    inbox: int
    name: str
    tries: int
    sender: str
    """The sender of the letter, by its envelope."""
    of_player: bool
    """True if that is a player's address."""


class Lookups(Rows):
    """The lookups of a store."""

    def ask(self, inbox: int, names: Iterable[str], tries: int, now: datetime, *, counts: bool = True) -> None:
        """Request the TXT records of these names for a letter, with up to this many tries; part of a transaction.

        If the letter `counts`, it may have an effect in a match once they are known, and clocks wait for it.
        """
        for name in names:
            self._database.put("lookups", inbox=inbox, name=name, tries=tries, due=to_db(now), counts=int(counts))

    def found(self, letters: Sequence[int]) -> dict[int, dict[str, str | None]]:
        """The records for letters, by letter and name: "" if there is none, None if nobody answered."""
        places = ", ".join("?" * len(letters))
        query = f"SELECT inbox, name, record FROM lookups WHERE inbox IN ({places}) ORDER BY inbox, name"
        found: dict[int, dict[str, str | None]] = {}
        for inbox, name, record in self._database.execute(query, tuple(letters)).fetchall():
            found.setdefault(inbox, {})[name] = record
        return found

    def due(self, now: datetime, most: int, *, of_players: bool) -> list[Lookup]:
        """The lookups that are due now for letters from players' addresses, or for all others.

        Of the former those come first that are from where their players wrote before.
        """
        kind, first = ("rank > 0", "rank DESC, ") if of_players else ("rank = 0", "")
        query = (
            "SELECT lookups.inbox, lookups.name, lookups.tries, lower(inbox.sender) AS sender, ? AS of_player"
            " FROM lookups JOIN inbox ON inbox.id = lookups.inbox"
            f" WHERE lookups.settled IS NULL AND lookups.due <= ? AND {kind}"
            f" ORDER BY {first}lookups.due, lookups.inbox LIMIT ?"
        )
        return self._database.read(Lookup, query, (of_players, to_db(now), most))

    def next_due(self, now: datetime) -> datetime | None:
        """The time at which the next lookup is due, after this one."""
        return self._database.moment("SELECT min(due) FROM lookups WHERE settled IS NULL AND due > ?", (to_db(now),))

    def settle(self, lookup: Lookup, record: str | None, now: datetime) -> None:
        """Keep the DNS's answer: the record, "" if there is none, None if it could not be asked."""
        self._database.execute(
            "UPDATE lookups SET settled = ?, record = ? WHERE inbox = ? AND name = ? AND settled IS NULL",
            (to_db(now), record, lookup.inbox, lookup.name),
        )

    def postpone(self, lookup: Lookup, due: datetime) -> None:
        """Ask again then; this uses up one try."""
        self._database.execute(
            "UPDATE lookups SET tries = tries - 1, due = ? WHERE inbox = ? AND name = ? AND settled IS NULL",
            (to_db(due), lookup.inbox, lookup.name),
        )
