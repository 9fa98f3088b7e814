"""The servers at work on a shared store: each has a name and roles, and keeps reporting that it is alive.

One that does not report in time is declared dead, and what it was sending is given back; if it decides, its
connection is ended sooner, so that another server can. One that lives but could not report itself knows nothing of
the others' silence, and declares none of them dead before they had time to report. A store in a file needs none of
this. Implements reliability.md, cases 2 and 30, and docs/many-machines.md, "Roles".
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from pbem.store.database import to_db
from pbem.store.sqlite import Lock
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pbem.store.database import Database

LEASE = timedelta(seconds=7)
"""The time for which a silent server counts as alive, by the database's clock: see `Postgresql.time`."""

SILENT = timedelta(seconds=3)
"""The time for which the deciding server may be silent: all wait for it; if it lives, it loses one transaction."""

_ALIVE = "owners.until > :now AND owners.until <= :most"
"""True if a server is alive. A report that holds for longer than any can is from while the clock was ahead."""

_SENDINGS = f"""
    UPDATE outbox SET state = 'waiting'
    WHERE state = 'leased' AND NOT EXISTS (SELECT 1 FROM owners WHERE {_ALIVE} AND owners.name = owner)
"""


class Role(StrEnum):
    """A part of a server's work."""

    INTAKE = "intake"
    """Letters are taken in: the listeners, and the mailbox that is fetched from."""
    DESK = "desk"
    """Letters are handled, and deadlines, reminders and digests seen to, while no other server does."""
    POST = "post"
    """Letters are sent, names looked up in the DNS, and witnesses asked."""


ALL = frozenset(Role)

UNDONE = {
    Role.INTAKE: "no letter is taken in",
    Role.DESK: "letters wait, none is handled, and no deadline is seen to",
    Role.POST: "no letter is sent",
}
"""The result if no server has a role."""


class Owners:
    """The servers that work on a store, on one connection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._heard_since: datetime | None = None
        """Since when this server has reported without a gap."""

    def renew(self, name: str, roles: Iterable[str], now: datetime) -> None:
        """Report, in the caller's transaction, that this server is alive, and its roles; dead servers are removed."""
        if name not in self.alive(now):
            self._heard_since = now
        self._database.put("owners", "name", name=name, until=to_db(now + LEASE), roles=" ".join(sorted(roles)))
        self._database.write("DELETE FROM owners WHERE until < ?", (to_db(now - LEASE),))

    def leave(self, name: str) -> None:
        """Report that this server is stopping; others may take at once what it still has leased."""
        self._database.execute("DELETE FROM owners WHERE name = ?", (name,))

    def release(self, now: datetime) -> int:
        """Give back, in the caller's transaction, what dead servers were sending: how many letters.

        Does nothing until this server has reported for as long as it takes to declare another one dead.
        """
        if self._heard_since is None or now < self._heard_since + LEASE:
            return 0
        self._database.engine.depose(self.alive(now + LEASE - SILENT))
        return self._database.write(_SENDINGS, _stamps(now)).rowcount

    def alive(self, now: datetime) -> list[str]:
        """The names of the servers that are alive."""
        found = self._database.rows(f"SELECT name FROM owners WHERE {_ALIVE} ORDER BY name", _stamps(now))
        return [row["name"] for row in found]

    def roles(self, now: datetime) -> set[str]:
        """All roles of the servers that are alive."""
        found = self._database.rows(f"SELECT roles FROM owners WHERE {_ALIVE}", _stamps(now))
        return {role for row in found for role in row["roles"].split()}


def _stamps(now: datetime) -> dict[str, str]:
    """The times between which a server's report lies that is alive; some may have asked for the time earlier."""
    return {"now": to_db(now), "most": to_db(now + 2 * LEASE)}


def at_work(database: Database, now: datetime) -> int | list[str] | None:
    """The server that holds the file of a store, or the servers that share it; None if none is at work."""
    if isinstance(database.place, PostgresqlAddress):
        return Owners(database).alive(database.engine.time(now)) or None
    return Lock.holder(database.place)


def left_behind(database: Database) -> list[int]:
    """The processes of a server that has ended, which still hold the store's file."""
    return [] if isinstance(database.place, PostgresqlAddress) else Lock.left_behind(database.place)


def roles_at_work(database: Database, now: datetime) -> set[str] | None:
    """All roles of the servers that share a store; None for a store in a file, whose server does everything."""
    if isinstance(database.place, PostgresqlAddress):
        return Owners(database).roles(database.engine.time(now))
    return None


def named(text: str) -> frozenset[Role]:
    """The roles of a list such as "intake,post"; raises ValueError."""
    try:
        return frozenset(Role(name.strip()) for name in text.split(","))
    except ValueError:
        raise ValueError(f"`{text}`: roles are {', '.join(Role)}, with commas between them") from None
