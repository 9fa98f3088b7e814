"""What a store needs of the engine under it: one connection, its transactions, and the differences between engines.

Statements are written in SQL that both engines understand, with `?` and `:name` for values. Where SQLite alone has a
word for something (COLLATE NOCASE, json_extract, group_concat, rowid) the other engine translates it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from pbem.store_place import Place

__all__ = ["BUSY_SECONDS", "Cursor", "Engine", "Parameters", "Values"]

Parameters = Sequence[object] | Mapping[str, object]
Values = tuple[Any, ...]
"""A row: each value has the type that its table gives the column."""

BUSY_SECONDS = 5.0  # the longest wait for another's transaction; then the sender is asked to come again


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    @property
    def description(self) -> Any:
        """Of each column a sequence that begins with its name."""

    def fetchone(self) -> Values | None:
        """The next row, or None after the last."""

    def fetchall(self) -> list[Values]:
        """The rows that are left."""

    def __iter__(self) -> Iterator[Values]:
        """The rows that are left, one by one."""


class Engine(Protocol):
    """One connection to a store."""

    @property
    def place(self) -> Place:
        """Where the store is."""

    @property
    def failure(self) -> type[Exception]:
        """The library's exception; `tell_apart` translates it."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open on this connection."""

    @property
    def changes(self) -> int:
        """How many rows this connection has written since it was opened."""

    @property
    def version(self) -> int:
        """The number of migrations that this store has seen; 0 for one that is empty."""

    def recognise(self, *, empty: bool) -> None:
        """Check that this is a pbem store, or that it is empty if that is allowed."""

    def prepare(self) -> None:
        """Set up the connection; raises `StoreError` if the promises of a store cannot be kept."""

    def leave_log(self) -> None:
        """Leave checkpoints of the log to other connections, unless they leave them, too."""

    def settle_log(self) -> bool:
        """Bring all that the log holds into the store, on disk, so that it begins anew; False while others read it.

        What could not be synced by a process that was killed is read as if it were on disk, and behind it nothing
        more would be: the power fails, and what was committed later is lost with it.
        """

    def migrate(self, script: str, version: int) -> None:
        """Bring the store to a version, in the open transaction."""

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""

    @property
    def decides(self) -> bool:
        """Whether this connection is the one that decides."""

    def try_to_decide(self) -> bool:
        """Become the connection that decides, unless another is; return whether this one is it now."""

    def depose(self, alive: Sequence[str]) -> None:
        """End the connection that decides if its server is not among those that are alive."""

    def lock(self, table: str) -> None:
        """Within a transaction, wait until nobody else writes to a table, and let nobody until it ends."""

    def begin(self, *, wait: bool) -> None:
        """Begin a transaction that may write; without `wait`, `BusyError` if that would take a moment."""

    def commit(self) -> None:
        """Commit: the transaction is then on disk."""

    def rollback(self) -> None:
        """Undo the transaction, if it has not ended already."""

    def savepoint(self) -> AbstractContextManager[object]:
        """A part of the open transaction that is undone by itself when the block raises."""

    def run(self, sql: str, parameters: Parameters = ()) -> Cursor:
        """Run one statement; raises the errors of a store."""

    def tell_apart(self, error: Exception) -> NoReturn:
        """Raise the store's error for the library's error."""

    def tables(self) -> list[str]:
        """The names of all tables of the store's own, in order."""

    def columns(self, table: str) -> list[str]:
        """The columns of a table, in order; none where there is no such table."""

    def table(self, name: str) -> tuple[list[str], Iterator[Values]]:
        """The columns of a table, and its rows, one by one."""

    def last_numbers(self) -> dict[str, int]:
        """For each table that numbers its rows, the highest number that was ever given out."""

    def number_from(self, table: str, last: int) -> None:
        """Continue a table's numbers after this one, in the open transaction."""

    def time(self, here: datetime) -> datetime:
        """The time for all who share the store, given the time of this machine."""

    def room(self) -> int | None:
        """How many octets are free on the disk under the store; None if that cannot be seen from here."""

    def in_place(self) -> bool:
        """Whether the store is still where it was opened; what is written to one that is not may be lost."""

    def note_high_water(self) -> None:
        """Note how far the store has come, where something could put an older one in its place."""

    def check_high_water(self) -> None:
        """Make sure that the store has come as far as was noted; raises `StoreError`."""

    def size(self) -> int:
        """How many octets the store has."""

    def backup(self, path: Path) -> None:
        """Copy the store as it is at this moment into a new file; raises `StoreError` and FileExistsError."""

    def damage(self) -> list[str]:
        """The damage that the engine finds in the store."""

    def standby(self) -> bool | None:
        """Whether a commit waits for a standby of the database; None if no standby is seen from here."""
