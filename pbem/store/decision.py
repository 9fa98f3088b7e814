"""A decision, its premises and what it writes: tried first, then written in one short transaction.

While a decision is tried, nobody waits for the store: it only reads, and what it writes is pending. Slow parts
(a letter put into words, drawn and sealed) are a `Later`, which is made when the decision is known. Other desks
may write meanwhile: a decision holds as long as each of its queries would return the same rows again. Nothing here
knows an engine; `Database.decide` does both halves. Implements design.md, "The way of a letter".
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from pbem.store.reach import Reach

    Parameters = Sequence[object] | Mapping[str, object]
    Values = tuple[Any, ...]  # of a row; each has the type that its table gives the column

__all__ = ["Answer", "Later", "Pending", "Read", "Script", "Write", "made", "meanwhile", "puts_off"]

T = TypeVar("T")
U = TypeVar("U")


class Later(Generic[T]):
    """A value to be written that takes time to make; `meanwhile` is what the decision itself sees in its place."""

    def __init__(self, make: Callable[[], T], meanwhile: T) -> None:
        self.meanwhile = meanwhile
        self._make = make
        self._made: list[T] = []

    def made(self) -> T:
        """The value, made once."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def then(self, make: Callable[[T], U], meanwhile: U) -> Later[U]:
        """A further value made from this one."""
        return Later(lambda: make(self.made()), meanwhile)


class Answer:
    """The rows of a query, one after the other, as a cursor returns them."""

    def __init__(self, rows: Sequence[Values], description: Sequence[Values]) -> None:
        self.rowcount = -1
        self.description = description
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[Values]:
        return self._rows

    def fetchone(self) -> Values | None:
        """The next row, or None after the last."""
        return next(self._rows, None)

    def fetchall(self) -> list[Values]:
        """The rows that are left."""
        return list(self._rows)


class Read(NamedTuple):
    """One query, and the rows that it gave when the decision was tried."""

    sql: str
    parameters: Parameters
    rows: list[Values]
    description: Sequence[Values] = ()
    unmade: frozenset[object] = frozenset()
    """What may stand in these rows for values that were not made yet."""

    @property
    def asked(self) -> Hashable:
        """The identity of the query."""
        return _asked(self.sql, self.parameters)

    @property
    def puts_off(self) -> bool:
        """False: nothing in it takes time to make."""
        return False

    def holds(self, _: int, rows: list[Values]) -> bool:
        """Whether it returns the same rows as before, apart from values that were not made yet."""
        if not self.unmade:
            return rows == self.rows
        return len(rows) == len(self.rows) and all(
            now == then or then in self.unmade
            for row, known in zip(rows, self.rows, strict=True)
            for now, then in zip(row, known, strict=True)
        )


@dataclass(slots=True)
class Write:
    """One statement, and its effect when it was tried: how many rows it changed, and which number it returned."""

    sql: str
    parameters: Parameters
    puts_off: bool
    """Whether anything in it takes time to make."""

    rows: int | None = None
    """None where nobody asked, of a statement that is pending."""
    new: int | None = None

    def holds(self, changed: int, rows: list[Values]) -> bool:
        """Whether it changes as many rows, and returns the same number, as it did or was expected to."""
        return self.rows in {None, changed} and (self.new is None or rows == [(self.new,)])


class Pending:
    """The answer to a statement that is not run yet: it is expected to change one row, which is checked when it runs.

    In a part that is undone it never runs: an answer there must rest on queries.
    """

    description: tuple[Values, ...] = ()

    def __init__(self, write: Write) -> None:
        self._write = write

    @property
    def rowcount(self) -> int:
        """How many rows it is expected to change."""
        self._write.rows = 1
        return 1

    def fetchone(self) -> NoReturn:
        """Nothing: a statement that returns rows is not deferred."""
        raise TypeError("what a statement returns is known when it was run")

    def fetchall(self) -> NoReturn:
        """Nothing, either."""
        self.fetchone()

    def __iter__(self) -> NoReturn:
        self.fetchone()


class _Written:
    """What each statement wrote, and its stand-ins for values that are not made yet; looked up by table.

    Letters that are decided together write to the same few tables.
    """

    def __init__(self, each: Iterable[tuple[Reach, frozenset[object]]] = ()) -> None:
        self.each: list[tuple[Reach, frozenset[object]]] = []
        self._of_table: dict[str, list[tuple[Reach, frozenset[object]]]] = {}
        for one in each:
            self.add(one)

    def add(self, written: tuple[Reach, frozenset[object]]) -> None:
        """Note one more statement."""
        self.each.append(written)
        for table in written[0].tables:
            self._of_table.setdefault(table, []).append(written)

    def met(self, asked: Reach) -> list[frozenset[object]]:
        """The stand-ins for values not made yet in each statement that may change a query's rows."""
        near = [of_table for table, of_table in self._of_table.items() if table in asked.tables]
        return [stand_ins for written in near for reach, stand_ins in written if asked.meets(reach)]


@dataclass(slots=True)
class Script:
    """A decision's queries and writes, in order, and its other premises."""

    reach: Callable[[str, Parameters], Reach]
    steps: list[Read | Write] = field(default_factory=list)
    stands_on: list[Callable[[], bool]] = field(default_factory=list)
    """What others may change meanwhile and no query shows: each says whether it holds still."""

    _recording: bool = True
    """Whether queries count among what the decision stands on."""
    _written: _Written = field(default_factory=_Written)
    _known: dict[Hashable, Read] = field(default_factory=dict)
    """The queries that were asked, by their texts and values."""
    _ahead: dict[Hashable, Read] = field(default_factory=dict)
    """Those that were asked before anybody wanted to know."""
    queries: list[Read] = field(default_factory=list)
    """All that anybody wanted to know, in order, also a second time."""

    def wrote(self, write: Write) -> None:
        """Note a statement that was run, or is pending."""
        stand_ins = (value.meanwhile for value in write.parameters if isinstance(value, Later))
        self.steps.append(write)
        self._written.add((self.reach(write.sql, write.parameters), frozenset(stand_ins)))

    def asked(self, read: Read) -> None:
        """Note a query that was run, and the rows that it gave."""
        if self._recording:
            self.steps.append(read)
            self._known[read.asked] = read
            self.queries.append(read)

    def known(self, sql: str, parameters: Parameters) -> Read | None:
        """The same query, made before: its rows are the same while nothing is written that it may notice."""
        asked = _asked(sql, parameters)
        if (read := self._known.get(asked)) is not None:
            self.queries.append(read)
        elif (read := self._ahead.get(asked)) is not None:
            self.asked(read)
        return read

    def ahead(self, reads: Iterable[Read]) -> None:
        """Keep the results of queries that may be needed; those that are used become premises of the decision."""
        self._ahead = {read.asked: read for read in reads}

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Make a query that is no premise of the decision."""
        self._recording = False
        try:
            yield
        finally:
            self._recording = True

    def holds(self) -> bool:
        """Whether the decision's premises other than its queries still hold."""
        with self.silent():
            return all(holds() for holds in self.stands_on)

    def met(self, sql: str, parameters: Parameters) -> list[frozenset[object]]:
        """The stand-ins for values not made yet in each statement that may change a query's rows."""
        return self._written.met(self.reach(sql, parameters)) if self._written.each else []

    def undo(self, steps: int) -> None:
        """Keep the first steps, and the queries after them: the reason for undoing the others rests on these.

        Queries that may have found undone rows are not kept: they would now find others.
        """
        undone = self.steps[steps:]
        del self.steps[steps:]
        kept = sum(isinstance(step, Write) for step in self.steps)
        gone = _Written(self._written.each[kept:])
        self._written = _Written(self._written.each[:kept])
        self._known.clear()
        self.steps += [
            step for step in undone if isinstance(step, Read) and not gone.met(self.reach(step.sql, step.parameters))
        ]

    def make(self) -> None:
        """Make all deferred values."""
        for step in self.steps:
            if isinstance(step, Write) and step.puts_off:
                made(step.parameters)

    @property
    def puts_off(self) -> bool:
        """Whether anything takes time to make."""
        return any(isinstance(step, Write) and step.puts_off for step in self.steps)


def _asked(sql: str, parameters: Parameters) -> Hashable:
    return sql, tuple(parameters.items() if isinstance(parameters, dict) else parameters)


def puts_off(parameters: Parameters) -> bool:
    """Whether any value of a statement is deferred; statements with named values have none."""
    return any(isinstance(value, Later) for value in parameters)


def made(parameters: Parameters) -> Parameters:
    """The values of a statement with deferred ones, as they are written."""
    return [value.made() if isinstance(value, Later) else value for value in parameters]


def meanwhile(parameters: Parameters) -> Parameters:
    """The values of such a statement as it is tried."""
    return [value.meanwhile if isinstance(value, Later) else value for value in parameters]
