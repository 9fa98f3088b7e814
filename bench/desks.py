"""Scaling past this machine: 1, 2, 4, 8 desks over one PostgreSQL, which wait as long as they would compute."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING

import psycopg
from clusters import single

from bench import servers
from bench.measure import Goal, Part, alternate, median, ratios
from bench.servers.waiting import VAULT
from pbem.store.database import Database
from pbem.store.inbox import Envelope, Inbox
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from collections.abc import Callable

DESKS = (1, 2, 4, 8)
WAITS = {0.0025: 300, 0.025: 120}
"""What a letter with orders takes of its desk and its reader here, and on a machine of a tenth of the speed; and how
many letters there are for each desk: many times as many as it takes at once."""

SENDERS = 64

LOOK = 0.01


def measure(rounds: int) -> list[Part]:
    """Letters by 64 senders, one after the other."""
    parts = []
    with servers.folder() as folder, ExitStack() as stack:
        folder.chmod(0o755)  # whose database's user is another
        url = stack.enter_context(single(folder)).url
        for wait in WAITS:
            part = Part(
                f"Desks that wait {wait * 1000:g} ms in place of computing, one PostgreSQL", "letters a second"
            )
            seen: dict[int, Counter[str]] = {number: Counter() for number in DESKS}
            contestants = {_name(number): _handled(url, number, wait, seen[number]) for number in DESKS}
            part.figures = alternate(contestants, rounds)
            for number in DESKS[1:]:
                found = ratios(part.figures[_name(number)], part.figures[_name(1)])
                spread = min(found) / number, max(found) / number
                part.goals.append(Goal(f"{number} desks beside linear", median(found) / number, 0.85, spread=spread))
            part.notes += [f"{_name(number)}: {_said(seen[number])}" for number in DESKS]
            parts.append(part)
    return parts


def _name(number: int) -> str:
    return f"{number} desk{'s' if number > 1 else ''}"


def _handled(url: str, desks: int, wait: float, seen: Counter[str]) -> Callable[[], float]:
    """What gives the letters a second of so many desks, and adds to what their connections were seen doing."""
    rounds = itertools.count()
    address = PostgresqlAddress(url)
    count = WAITS[wait] * desks

    def handled() -> float:
        with Database(address) as database:
            inbox, here = Inbox(database, VAULT), next(rounds)
            before = inbox.count("done")
            letters = [
                (
                    Envelope(f"p{number % SENDERS}@mail.example", ("pbem@play.example",)),
                    f"{number} of {count}, {here}, {wait}\n".encode() * 100,
                )
                for number in range(count)
            ]
            inbox.put_all(letters, datetime.now(UTC))
        command = [sys.executable, "-m", "bench.servers.waiting", url, str(wait), str(before + count)]
        shares = [[str(desk), str(desks)] for desk in range(desks)]
        with ExitStack() as stack:
            lines = [_begun(stack, command + share) for share in shares]
            for _, said in lines:
                said.readline()
            stack.enter_context(_Watch(url, seen))
            began = time.perf_counter()
            for told, _ in lines:
                told.write("\n")
                told.flush()
            anew = sum(int(said.readline()) for _, said in lines)
            took = time.perf_counter() - began
        seen["decided anew"] += anew
        return count / took

    return handled


def _begun(stack: ExitStack, command: list[str]) -> tuple[IO[str], IO[str]]:
    """A process that was started: what it is told by, and what it says."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stack.enter_context(process)
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


class _Watch:
    """Looks again and again at what the connections of desks do."""

    def __init__(self, url: str, seen: Counter[str]) -> None:
        self._url = url
        self._seen = seen
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        sql = (
            "SELECT CASE WHEN state = 'idle' THEN 'no transaction' WHEN state <> 'active' THEN 'waits for its desk'"
            " WHEN wait_event_type = 'Lock' THEN 'waits for another to write'"
            " WHEN wait_event_type = 'IO' OR wait_event LIKE 'WAL%' THEN 'waits for the disk' ELSE 'runs' END"
            " FROM pg_stat_activity WHERE application_name = 'pbem' AND pid <> pg_backend_pid()"
        )
        with psycopg.connect(self._url, autocommit=True) as connection:
            while not self._over.wait(LOOK):
                self._seen.update(row[0] for row in connection.execute(sql))


def _said(seen: Counter[str]) -> str:
    anew = seen["decided anew"]
    looks = seen.total() - anew
    shares = (f"{name} {count / looks:.0%}" for name, count in seen.most_common() if name != "decided anew")
    return f"{', '.join(shares)}; decided anew {anew} times"
