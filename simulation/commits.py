"""A database elsewhere, as PostgreSQL is one: the connection may break after COMMIT was sent, or the answer be late.

The store is still the file of the simulated disk; what a server cannot know of a database that others run is added.
Whether the commit took place, the server learns only by looking again, and it decides nothing before it has asked
anew whether it may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.store.errors import BusyError
from pbem.store.sqlite import Sqlite
from simulation.disk import Process

if TYPE_CHECKING:
    import sqlite3

    from pbem.store.engine import Parameters

READS = ("SELECT", "PRAGMA", "WITH", "BEGIN")
LATE = 2.0  # most seconds until a late answer comes


class Distant(Sqlite):
    """A connection to such a database, for `pbem.store.database` to make in place of its own."""

    _deposed = False
    """Whether this connection decided, was lost, and has not asked again."""

    def commit(self) -> None:
        """Commit: nobody may hear of it, or late."""
        fate = self._fate()
        if fate == "undone":
            super().rollback()
            self._lost()
        super().commit()
        if fate == "unknown":
            self._lost()
        if fate == "late" and isinstance(self._disk, Process):
            disk = self._disk.disk
            disk.pause(disk.random.random() * LATE)

    def _fate(self) -> str:
        disk = self._disk.disk if isinstance(self._disk, Process) else None
        if disk is None or not disk.chance(disk.faults.commit):
            return "done"
        return disk.random.choice(("undone", "unknown", "late"))

    def _lost(self) -> None:
        self._deposed, self.decides = self._deposed or self.decides, False
        raise BusyError("the database cannot be reached: the connection broke at COMMIT")

    def run(self, sql: str, parameters: Parameters = ()) -> sqlite3.Cursor:
        """Run one statement; one that writes outside of a transaction is a transaction of its own."""
        if self.in_transaction or sql.lstrip().startswith(READS):
            return super().run(sql, parameters)
        self._may_write()
        fate = self._fate()
        if fate == "undone":
            self._lost()
        done = super().run(sql, parameters)
        if fate == "unknown":
            self._lost()
        return done

    def begin(self, *, wait: bool) -> None:
        """Begin a transaction; raises `BusyError` if this connection was to decide, and no longer does."""
        self._may_write()
        super().begin(wait=wait)

    def _may_write(self) -> None:
        if self._deposed:
            raise BusyError("the connection was lost: another server may decide by now")

    def try_to_decide(self) -> bool:
        """Become the connection that decides, on a new connection."""
        self._deposed = False
        return super().try_to_decide()
