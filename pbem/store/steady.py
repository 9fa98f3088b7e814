"""The rows of queries about what seldom changes, kept from one decision to the next: who is who, and what they chose.

Whoever writes to a table of `STEADY` puts another mark into the store, in the same transaction: triggers do that, so
nobody can forget it. While the mark is the same, such a query gives the same rows; so the mark is the premise of a
decision in place of these queries. A mark never comes back, not even when a store is restored.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from pbem.store.reach import words
from pbem.store.schema import STEADY

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from pbem.store.decision import Values
    from pbem.store.reach import Reach

__all__ = ["MARK", "Kept", "Steady", "is_steady"]

MARK = "SELECT mark FROM marks WHERE name = 'steady'"

_STEADY = frozenset(STEADY)
_MANY = 8192
"""How many queries are kept at the most: some eight for each player."""
_FEW = 16
"""Results of more rows than these are not kept."""


def is_steady(reach: Reach) -> bool:
    """Whether a statement that writes leaves these tables alone."""
    return _STEADY.isdisjoint(reach.tables)


class Kept(NamedTuple):
    """The rows of a query, and their columns."""

    rows: list[Values]
    description: Sequence[Values]


class Steady:
    """The kept rows of one connection; `tables` gives the names of all tables of its store."""

    def __init__(self, tables: Callable[[], Iterable[str]]) -> None:
        self._tables = tables
        self._all: frozenset[str] = frozenset()
        self._covered: dict[str, bool] = {}
        """Of each query's text whether it is about what seldom changes."""
        self._mark: object = None
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()

    def covers(self, sql: str) -> bool:
        """Whether a query asks these tables and no others."""
        if (covered := self._covered.get(sql)) is None:
            self._all = self._all or frozenset(self._tables())
            asked = words(sql) & self._all
            covered = self._covered[sql] = bool(asked) and asked <= _STEADY and "marks" in self._all
        return covered

    def marked(self, mark: object) -> None:
        """Forget everything unless the store still has this mark."""
        if mark != self._mark:
            self._kept.clear()
            self._mark = mark

    def known(self, asked: Hashable) -> Kept | None:
        """The rows of a query under the present mark, if they are kept."""
        return self._kept.get(asked)

    def keep(self, asked: Hashable, kept: Kept) -> None:
        """Keep the rows of a query that was made under the present mark."""
        if len(kept.rows) <= _FEW:
            self._kept[asked] = kept
            if len(self._kept) > _MANY:
                self._kept.popitem(last=False)
