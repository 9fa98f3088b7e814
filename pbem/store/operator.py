"""The operator's view of the store: figures, lists of letters, and instructions to the desk.

Letters can be put back or dropped here at once, each in one transaction, even while the daemon runs. Anything that
concerns a match is an instruction, which the desk obeys like a letter that nobody wrote. Nothing sealed is opened
here. Implements reliability.md, cases 9 and 30.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypedDict

import msgspec

from pbem.store.database import to_db
from pbem.store.players import Players
from pbem.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pbem.store.database import Database, Row

DROPPED = "dropped by the operator"

PUBLIC = ("matches", "tournaments")
"""The tables whose numbers players know by name, such as m17."""

LEAP = 1000
"""The jump of numbers at a restore: what was given out after the backup must not be given out again."""


REASON = 200
"""The most characters of a reason that are kept: it stands in a transcript for ever."""


class Busy(Exception):
    """The letter cannot be changed in its state, or does not exist; the message says which."""


class Instruction(msgspec.Struct, frozen=True):
    """An instruction to the desk: "pause", "resume" or "end", and why; "rule"; or "restored"."""

    id: int
    what: str
    about: str
    """The name of what it is about, such as m17; empty: all."""
    ruling: str
    """The ruling, in the words of a letter's `rule`."""
    reason: str
    by: str

    @property
    def short_reason(self) -> str:
        """The reason in a line, and as much of it as transcripts keep."""
        return " ".join(self.reason.split())[:REASON]


class Instructions(Rows):
    """The instructions of a store, in the order in which they were given."""

    def give(self, what: str, about: str, reason: str, by: str, now: datetime, *, ruling: str = "") -> int:
        """Give an instruction, in a transaction of its own unless one is open; its number."""
        database = self._database
        with nullcontext() if database.in_transaction else database.transaction():
            return database.insert(
                "instructions",
                "id",
                what=what,
                about=about,
                ruling=ruling,
                reason=reason,
                by=by,
                given=to_db(now),
            )

    def waiting(self) -> list[Instruction]:
        """Those that wait for the desk, in order."""
        query = "SELECT id, what, about, ruling, reason, by FROM instructions WHERE state = 'waiting' ORDER BY id"
        return self._database.read(Instruction, query)

    def settle(self, number: int, state: Literal["done", "refused"], answer: str) -> None:
        """Record, in the desk's transaction, the outcome of an instruction."""
        self._database.write(
            "UPDATE instructions SET state = ?, answer = ? WHERE id = ? AND state = 'waiting'",
            (state, answer, number),
        )

    def outcome(self, number: int) -> tuple[str, str]:
        """State ("waiting", "done", "refused") and answer of an instruction; raises KeyError."""
        row = self._database.row("SELECT state, answer FROM instructions WHERE id = ?", (number,))
        if row is None:
            raise KeyError(number)
        return row["state"], row["answer"] or ""


def generation(database: Database) -> int:
    """The number of restores from a backup, plus one; letters of later generations say so."""
    return int(database.meta("generation") or 1)


def begin_generation(database: Database, above: int, given: Mapping[str, int] = MappingProxyType({})) -> int:
    """Begin the next generation, above this store's and another's, in the caller's transaction; its number.

    Numbers of matches, tournaments and letters jump, so that no number that was ever given out means two things.
    `given`: the last numbers of a store that was here, which may have jumped before.
    """
    before = generation(database)
    number = max(before, above) + 1
    database.set_meta("generation", str(number))
    last = database.engine.last_numbers()
    skipped = {}
    for table in (*PUBLIC, "inbox", "outbox"):
        known = last.get(table, 0)
        # Other generations may have begun from here, in stores of which nothing is known.
        skipped[table] = [known + 1, max(known + LEAP * (number - before - 1), given.get(table, 0)) + LEAP]
        database.engine.number_from(table, skipped[table][1])
    skipped = {table: skipped[table] for table in PUBLIC}
    database.set_meta("forgotten", json.dumps(skipped))
    return number


def forgotten(database: Database) -> dict[str, list[int]]:
    """The numbers of matches and tournaments that the last restore skipped, from and to: those are forgotten."""
    found: dict[str, list[int]] = json.loads(database.meta("forgotten") or "{}")
    return found


class Box:
    """The inbox or the outbox as the operator sees it: envelopes and states, never the contents of a letter."""

    def __init__(self, database: Database, table: Literal["inbox", "outbox"]) -> None:
        self._database = database
        self._table = table
        self._select, self._unfinished, self._retried, self._dropped = _LETTERS[table]

    def list(self, *, everything: bool = False) -> list[Row]:
        """The unfinished letters, oldest first; all letters if `everything`."""
        query = f"{self._select} WHERE :all OR {self._unfinished} ORDER BY id"
        return [_row(row) for row in self._database.rows(query, {"all": everything, "dropped": DROPPED})]

    def show(self, number: int) -> Row:
        """One letter's row; raises `Busy` when there is none."""
        row = self._database.row(f"{self._select} WHERE id = ?", (number,))
        if row is None:
            raise Busy(f"there is no letter {number} in the {self._table}")
        return _row(row)

    def retry(self, number: int, now: datetime) -> None:
        """Have a letter retried that was set aside or given up; raises `Busy`."""
        self._change(number, self._retried, now)

    def drop(self, number: int, now: datetime) -> None:
        """Let a letter have no effect, or not be sent; its bytes are kept. Raises `Busy`."""
        self._change(number, self._dropped, now)

    def _change(self, number: int, changed: str, now: datetime) -> None:
        sql = f"UPDATE {self._table} SET {changed} WHERE id = :id AND state IN ('aside', 'failed', 'waiting')"
        with self._database.transaction():
            state = self.show(number)["state"]
            if self._database.write(sql, {"id": number, "now": to_db(now), "by": DROPPED}).rowcount != 1:
                raise Busy(f"letter {number} of the {self._table} is {STATES[state]}")


_LETTERS = {  # what is read of a letter; which are unfinished; what changes when it is retried, or dropped
    "inbox": (
        "SELECT id, state, attempts, received, sender, recipients, size, outcome, reference FROM inbox",
        "state IN ('waiting', 'leased', 'aside')",
        "state = 'waiting', attempts = 0, suspect = 0, tried = NULL",
        "state = 'done', outcome = :by",
    ),
    "outbox": (
        (
            "SELECT id, state, attempts, created, due, settled, recipient, message_id, size, reply,"
            " (SELECT group_concat(kind, ' ') FROM bounces WHERE bounces.outbox = outbox.id) AS bounces FROM outbox"
        ),
        "state IN ('waiting', 'leased') OR state = 'failed' AND reply <> :dropped",
        "state = 'waiting', due = :now, told = 0",
        "state = 'failed', told = 1, settled = :now, reply = :by",
    ),
}

STATES = {
    "waiting": "waiting",
    "leased": "in the daemon's hands at this moment",
    "done": "done: a letter has its effect once",
    "aside": "set aside",
    "delivered": "delivered: it is not sent a second time",
    "failed": "given up",
}


def _row(row: Row) -> Row:
    if "recipients" in row:
        row["recipients"] = json.loads(row["recipients"])
    return row


class Survey(TypedDict):
    """The store in figures; times are stamps, None where there is none."""

    generation: int
    inbox: dict[str, int]
    inbox_oldest: str | None
    outbox: dict[str, int]
    outbox_oldest: str | None
    bounces: dict[str, int]
    matches: dict[str, int]
    paused: dict[str, str]
    """Since when."""
    players: int
    unreachable: dict[str, str]
    """Since when."""
    instructions: int


def survey(database: Database) -> Survey:
    """The store in figures, for `pbem status`: no address, no content, only names."""

    def counts(query: str) -> dict[str, int]:
        return {row["name"]: row["number"] for row in database.rows(query)}

    inbox = {"waiting": 0, "leased": 0, "aside": 0, "done": 0}
    outbox = {"waiting": 0, "leased": 0, "failed": 0, "delivered": 0}
    bounces = {"permanent": 0, "temporary": 0, "unclear": 0}
    return {
        "generation": generation(database),
        "inbox": inbox | counts("SELECT state AS name, count(*) AS number FROM inbox GROUP BY state"),
        "inbox_oldest": database.scalar("SELECT min(received) FROM inbox WHERE state IN ('waiting', 'leased')"),
        "outbox": outbox | counts("SELECT state AS name, count(*) AS number FROM outbox GROUP BY state"),
        "outbox_oldest": database.scalar("SELECT min(created) FROM outbox WHERE state IN ('waiting', 'leased')"),
        "bounces": bounces | counts("SELECT kind AS name, count(*) AS number FROM bounces GROUP BY kind"),
        "matches": counts("SELECT phase AS name, count(*) AS number FROM matches GROUP BY phase ORDER BY phase"),
        "paused": {row["match"]: row["since"] for row in database.rows(PAUSED)},
        "players": int(database.scalar("SELECT count(*) FROM players")),
        "unreachable": Players(database).out_of_reach(),
        "instructions": int(database.scalar("SELECT count(*) FROM instructions WHERE state = 'waiting'")),
    }


def matches(database: Database, *, everything: bool = False) -> list[Row]:
    """The matches that are proposed or played, or all: their names, phases and when something happened last."""
    rows = database.rows(
        "SELECT 'm' || number AS match, json_extract(terms, '$.game') AS game, phase, created,"
        " (SELECT group_concat(player, ', ') FROM"
        " (SELECT player FROM seats WHERE match = number ORDER BY seat) AS seated) AS players,"
        " (SELECT count(*) FROM entries WHERE match = number) AS entries,"
        " (SELECT json_extract(CAST(entry AS TEXT), '$.time') FROM entries WHERE match = number"
        " ORDER BY seq DESC LIMIT 1) AS last"
        " FROM matches WHERE ? OR phase NOT IN ('planned', 'closed', 'declined', 'withdrawn') ORDER BY number",
        (everything,),
    )
    paused = {row["match"]: row["since"] for row in database.rows(PAUSED)}
    return [row | {"paused": paused.get(row["match"], ""), "last": row["last"] or row["created"]} for row in rows]


def paused_by_restore(database: Database) -> list[int]:
    """The matches that stand still since a restore, and were not paused by the operator before or since."""
    kind = "json_extract(CAST(entry AS TEXT), '$.type')"
    rows = database.rows(
        f"SELECT match, {kind} AS kind FROM matches JOIN entries ON match = number"
        f" WHERE phase IN ('setup', 'playing') AND {kind} IN ('paused', 'restored', 'resumed') ORDER BY match, seq"
    )
    latest: dict[int, set[str]] = {}
    for row in rows:
        kinds = latest.setdefault(row["match"], set())
        kinds.clear() if row["kind"] == "resumed" else kinds.add(row["kind"])
    return [match for match, kinds in latest.items() if kinds == {"restored"}]


# Entries are JSON in a BLOB, which later versions of SQLite would read as their own binary form.
PAUSED = """
SELECT 'm' || match AS match, json_extract(CAST(entry AS TEXT), '$.time') AS since
FROM matches JOIN entries AS last ON last.match = matches.number
WHERE matches.phase IN ('setup', 'playing')
AND json_extract(CAST(entry AS TEXT), '$.type') IN ('paused', 'restored') AND NOT EXISTS (
    SELECT 1 FROM entries AS later WHERE later.match = last.match AND later.seq > last.seq
    AND json_extract(CAST(later.entry AS TEXT), '$.type') IN ('paused', 'restored', 'resumed', 'stopped')
) ORDER BY last.match
"""
