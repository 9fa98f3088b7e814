"""A referee that dies as by `kill -9` before or after any commit, and begins anew from what was committed.

Nothing that Python remembers outlives a death but who has which letters. Whoever sends a letter that was not stored
sends it again, as mail servers do.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from in_a_box.referee import SERVER, Referee
from in_a_box.stores import connection
from machines.deaths import Killed

from pbem.store.inbox import Envelope
from pbem.store.operator import Instructions, begin_generation

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from datetime import timedelta
    from pathlib import Path
    from random import Random


class MortalReferee(Referee):
    """A referee that dies at this rate of its commits, once `mortal` is set."""

    def __init__(self, folder: Path, random: Random, rate: float) -> None:
        super().__init__(folder)
        self.random, self.rate, self.mortal = random, rate, False
        self.deaths: Counter[str] = Counter()
        self.generation = 1
        self.reborn: Callable[[], None] = lambda: None
        """Is called after each death, before anything goes on."""
        self.afterwards: Callable[[], None] = lambda: None
        """Is called when nothing is left to do."""
        self.database._points = self._pass

    def _pass(self, point: str) -> None:
        if self.mortal and self.random.random() < self.rate:
            raise Killed(point)

    def _begin_anew(self) -> None:
        """As a daemon does: what was leased when the last one died is free again."""
        self.outbox.release_all()
        self.inbox.release_all()
        self.open_desk()

    def _die(self, killed: Killed) -> None:
        self.deaths[str(killed)] += 1
        before, self.mortal = self.mortal, False
        self._begin_anew()
        self.reborn()
        self.mortal = before

    def _alive_again(self, call: Callable[[], None]) -> None:
        while True:
            try:
                return call()
            except Killed as killed:
                self._die(killed)

    def deliver(self, raw: bytes, sender: str, to: str = f"pbem@{SERVER}", network: str = "") -> None:
        def store() -> None:
            try:
                self.inbox.put(Envelope(sender, (to,), network), raw, self.now)
            except Killed as killed:
                if str(killed) == "transaction written":
                    raise
                self._die(killed)

        self._alive_again(store)
        self.work()

    def work(self) -> None:
        self._alive_again(super().work)
        self._alive_again(self.afterwards)

    def wait(self, time: timedelta) -> None:
        end, wait = self.now + time, super().wait
        self._alive_again(lambda: wait(end - self.now))

    # Restore.

    def back_up(self, into: sqlite3.Connection) -> None:
        """Copy the store as it is."""
        connection(self.database).backup(into)

    def put_back(self, backup: sqlite3.Connection) -> None:
        """The store of the backup, in a new generation, as `pbem restore` puts it there; and the operator resumes."""
        before, self.mortal = self.mortal, False
        backup.backup(connection(self.database))
        with self.database.transaction():
            self.generation = begin_generation(self.database, self.generation)
            Instructions(self.database).give("restored", None, "", "root", self.now)
        self._begin_anew()
        self.reborn()
        self.work()
        for number in self.desk.archive.matches.in_phases("setup", "playing"):
            Instructions(self.database).give("resume", number, "all agree to go on", "root", self.now)
        self.work()
        self.mortal = before
