"""Which rows a statement reaches, as far as its text tells: whether a query can notice what a statement wrote.

A decision is tried before any of it is written. A query that reaches no row which the decision writes returns the
same rows either way; if the text leaves that open, it may reach all rows of its tables. Only the store's own
statements come here, in the few shapes in which they are written: no schema is parsed, and the engine is asked only
for the columns of a table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.store.decision import Parameters

__all__ = ["CASCADES", "Reach", "Reaches"]

CASCADES = {"inbox": "lookups"}
"""Tables whose rows are deleted with those of another, which is named first."""

_EQUAL = re.compile(r"\b(\w+) = (\?|:\w+)")
_WRITES = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")
_WORD = re.compile(r"\w+")
_WHERE = re.compile(r"\bWHERE\b")
_MORE = re.compile(r"\b(?:OR|NOT(?! NULL)|UNION|JOIN|CASE|EXISTS|IN)\b")
_LIST = re.compile(r"\b(\w++) IN \([?, ]+\)")
_VALUES = re.compile(r"INSERT INTO \w+(?: \(([\w, ]+)\))? VALUES \(([\w?:, ]+)\)")
_CONFLICT = re.compile(r"ON CONFLICT \(([\w, ]+)\)\s+DO UPDATE")
_SET = re.compile(r"\b(\w+) = ")


class Reach(NamedTuple):
    """The tables that a statement reaches, and the values of some columns in every row that it reaches there."""

    tables: frozenset[str]
    fixed: Mapping[str, object]

    def meets(self, other: Reach) -> bool:
        """Whether both may reach the same row."""
        if self.tables.isdisjoint(other.tables):
            return False
        both = self.fixed.keys() & other.fixed.keys()
        return not any(_differ(self.fixed[name], other.fixed[name]) for name in both)


class Reaches:
    """What statements reach in one store; `columns` lists those of a table in their order."""

    def __init__(self, columns: Callable[[str], Sequence[str]]) -> None:
        self._columns = columns
        self._known: dict[str, Reach] = {}
        """By a statement's text: for each column the position, or the name, of its value."""

    def __call__(self, sql: str, parameters: Parameters) -> Reach:
        """What a statement reaches with these values."""
        if (known := self._known.get(sql)) is None:
            known = self._known[sql] = self._read(sql)
        values = cast("Mapping[object, object]", parameters)
        return Reach(known.tables, {name: values[place] for name, place in known.fixed.items()})

    def _read(self, sql: str) -> Reach:
        sql = sql.lstrip()
        written = _WRITES.match(sql)
        if written is None:
            return Reach(frozenset(_WORD.findall(sql)), _conditions(sql) if sql.count("SELECT") == 1 else {})
        table = written[1]
        tables = frozenset({table, CASCADES.get(table, table)} if sql.startswith("DELETE") else {table})
        if "SELECT" in sql:
            return Reach(tables, {})
        if sql.startswith("INSERT"):
            return Reach(tables, _inserted(sql, lambda: self._columns(table)))
        changed = _SET.findall(_WHERE.split(sql)[0])
        return Reach(tables, {name: place for name, place in _conditions(sql).items() if name not in changed})


def _conditions(sql: str) -> dict[str, int | str]:
    """The columns that equal a value in every row that a WHERE selects; none if it is more than such a list."""
    before, *where = _WHERE.split(sql)
    if len(where) != 1 or _MORE.search(_LIST.sub(r"\1", where[0])):
        return {}
    found: dict[str, int | str] = {}
    for equal in _EQUAL.finditer(where[0]):
        place = before.count("?") + where[0].count("?", 0, equal.start())
        found[equal[1]] = place if equal[2] == "?" else equal[2][1:]
    return found


def _inserted(sql: str, columns: Callable[[], Sequence[str]]) -> dict[str, int | str]:
    """The columns of a new row whose values are known; of an upsert, only those that identify the row."""
    row = _VALUES.match(sql)
    if row is None:
        return {}
    names = _listed(row[1]) if row[1] else columns()
    values = _listed(row[2])
    found: dict[str, int | str] = {}
    for place, (name, value) in enumerate(zip(names, values, strict=False)):
        if value == "?":
            found[name] = values[:place].count("?")
        elif value.startswith(":"):
            found[name] = value[1:]
    if "DO UPDATE" in sql:
        conflict = _CONFLICT.search(sql)
        known = _listed(conflict[1]) if conflict else ()
        return {name: place for name, place in found.items() if name in known}
    return found


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _differ(one: object, other: object) -> bool:
    """Whether two values certainly differ for every engine: some columns ignore case."""
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() != other.lower()
    if isinstance(one, int) and isinstance(other, int):
        return one != other
    return False
