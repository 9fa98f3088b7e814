"""What a letter costs when the store is large, and when the game is long."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench import servers
from bench.measure import Goal, Part, alternate, median, ratio_goal
from bench.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FEW, MANY = 100, 100_000
EARLY, MIDDLE, LATE = 10, 100, 1000
LETTERS = 20

FILL = """
WITH RECURSIVE more(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM more WHERE n < :matches)
INSERT INTO {table} ({columns}) SELECT {values} FROM {table}, more WHERE {number} = 1
"""


def measure(rounds: int) -> Iterator[Part]:
    """A hundred matches beside a hundred thousand; turn 10 beside turn 1,000; matches that are not in memory."""
    yield _stores(rounds)
    yield _turns(rounds)


def _stores(rounds: int) -> Part:
    part = Part("A signed letter to its effect, by the number of matches in the store", "milliseconds a letter")
    with ExitStack() as stack:
        contestants = {}
        for matches in (FEW, MANY):
            table = Table(stack.enter_context(servers.folder()))
            _fill(table, matches)
            contestants[f"{matches:,} matches"] = _revisions(table)
        part.figures = alternate(contestants, rounds)
    few, many = part.figures.values()
    part.goals.append(ratio_goal(f"{MANY:,} matches beside {FEW}", many, few, 1.1, most=True))
    return part


def _fill(table: Table, matches: int) -> None:
    """So many matches like the first one."""
    database = table.referee.database
    with database.transaction():
        for name in ("matches", "seats", "entries", "submissions"):
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
            number = "number" if name == "matches" else "match"
            values = {number: "more.n"}
            database.execute(
                FILL.format(
                    table=name,
                    number=f"{name}.{number}",
                    columns=", ".join(columns),
                    values=", ".join(values.get(column, f"{name}.{column}") for column in columns),
                ),
                {"matches": matches},
            )


def _revisions(table: Table) -> Callable[[], float]:
    """New revisions of a player's orders: the milliseconds of the median letter."""

    def letters() -> float:
        raws = [table.orders(table.ann, 1, next(table.revisions)) for _ in range(LETTERS)]
        return median([table.effect(raw, table.ann.address) for raw in raws])

    return letters


def _turns(rounds: int) -> Part:
    part = Part("The letter that resolves a turn, by the length of the game", "milliseconds a letter")
    with ExitStack() as stack:
        contestants = {}
        tables = {turns: Table(stack.enter_context(servers.folder())) for turns in (EARLY, MIDDLE, LATE)}
        for turns, table in tables.items():
            for _ in range(turns - 1):
                table.turn()
        for turns in (EARLY, LATE):
            contestants[f"turn {turns:,}, warm"] = _resolving(tables[turns])
        for turns in (MIDDLE, LATE):
            contestants[f"turn {turns:,}, cold"] = _cold(tables[turns])
        part.figures = alternate(contestants, rounds)
    early, late, cold, _ = part.figures.values()
    part.goals.append(ratio_goal(f"turn {LATE:,} beside turn {EARLY}, warm", late, early, 1.3, most=True))
    part.goals.append(Goal(f"turn {MIDDLE}, cold, a letter", median(cold), 100, unit=" ms", most=True))
    return part


def _resolving(table: Table) -> Callable[[], float]:
    def letters() -> float:
        found = []
        for _ in range(LETTERS // 4):
            table.effect(table.orders(table.ann, 1, next(table.revisions), final=True), table.ann.address)
            found.append(
                table.effect(table.orders(table.bob, 1, next(table.revisions), final=True), table.bob.address)
            )
            for person in (table.ann, table.bob):
                del person.letters[:-8]
        return median(found)

    return letters


def _cold(table: Table) -> Callable[[], float]:
    def letters() -> float:
        found = []
        for _ in range(3):
            table.referee.open_desk()
            found.append(table.effect(table.orders(table.ann, 1, next(table.revisions)), table.ann.address))
        return median(found)

    return letters
