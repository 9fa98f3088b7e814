"""The desk at work, in whichever process or thread it is: what it is handed, its loop, and the life of its process.

No logic: the desk decides what becomes of a letter. Trouble with the store or a letter ends nothing; the desk tries
again. SMTP clients wait for the intake, never for the desk, which rests during a flood. `desk_process` starts and
watches it. Implements design.md, "The way of a letter", and reliability.md, cases 9 and 32.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Protocol

import structlog

from pbem.desk.reading import ReaderError
from pbem.failpoints import passing
from pbem.games import GAMES
from pbem.games.outside import UnusableGame, enable
from pbem.letters.render import Templates
from pbem.mail.compose import Composer, Generation
from pbem.mail.dkim_signing import BadDkimKey, DkimSigner
from pbem.server.logs import configure_logs
from pbem.server.sandbox import Worker
from pbem.server.server_clock import THIS_MACHINE, Machine, ServerClock
from pbem.smtp.rounds import LONGEST_WAIT, TROUBLE_WAIT
from pbem.store import own_keys
from pbem.store.database import Database
from pbem.store.disk import THIS_DISK
from pbem.store.errors import StoreError
from pbem.store.matches import games_of
from pbem.store.operator import forgotten, generation
from pbem.store.vault import KeyFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from pbem.config.limits import Limits
    from pbem.config.server import Config
    from pbem.desk.reading import LetterReader
    from pbem.failpoints import Failpoints
    from pbem.store.disk import Disk
    from pbem.store.noted_time import Leap
    from pbem.store.own_keys import OwnKeys

    OpenDesk = Callable[["Supplies", Database, OwnKeys, Composer, LetterReader], "DeskLike"]
    """Makes the desk of a server, on its own connection to the store."""

READY, WORKED, FAILED, HERE = b"!", b".", b"?", b"h"
"""The messages from the desk."""

FILES, WAKE, EASE, STOP, ASKED = b"f", b"w", b"e", b"s", b"a"
"""The messages from the daemon."""

STANDBY = 0.5  # seconds between two looks whether the server that decides is gone
LETTERS_PER_TICK = 16  # so that a full inbox stops neither the clock nor the answers
EASED = 0.12  # seconds for which a desk leaves the machine to letters that pour in; it hears again if they go on
RESTED = 9  # times as long as it worked a desk rests meanwhile, so that it takes a tenth of a processor
LONGEST_REST = 1.0  # seconds; heavy letters in a flood delay nobody's answer by more than their own work and this

log = structlog.get_logger()


class DeskLike(Protocol):
    """The desk as its work sees it; called from one thread, one call at a time."""

    def handle_next(self, now: datetime) -> int:
        """Handle the next letters of the inbox; returns how many there were."""

    def may_decide(self) -> bool:
        """Return whether this server is the one that decides, or has just become it."""

    def tick(self, now: datetime) -> datetime | None:
        """Do what the clock demands; returns when to be called again, None if nothing is timed."""

    def stand_still(self, leap: Leap, now: datetime) -> None:
        """Tell the operator, once, that nothing is decided, because the clock leapt."""


def open_desk(
    supplies: Supplies, database: Database, keys: OwnKeys, composer: Composer, reader: LetterReader
) -> DeskLike:
    """The real desk, on its own connection to the store."""
    from pbem.desk.letter_handling import WorkingDesk
    from pbem.desk.wiring import Desk

    config, random, points = supplies.config, supplies.random, supplies.points
    desk = Desk(config, database, keys.vault, keys.signing, composer, random, reader, points)
    return WorkingDesk(desk, supplies.clock)


@dataclass(frozen=True)
class Supplies:
    """The supplies of a desk, anywhere. Keys are read there from their files, and are never passed on."""

    config: Config
    machine: Machine = THIS_MACHINE
    random: Callable[[int], bytes] = os.urandom
    open_desk: OpenDesk = open_desk
    reader: Callable[[Limits], LetterReader] = Worker
    points: Failpoints = passing
    server: str = ""
    """The name of this server among those that share a store; "" where it has one of its own."""
    disk: Disk = THIS_DISK
    longest_wait: float = LONGEST_WAIT
    event: Callable[[], threading.Event] = threading.Event
    """Makes what a desk waits for that has nothing to do."""
    clock: Callable[[], float] = time.monotonic
    """Seconds that go by, whatever the time is said to be."""


def open_composer(config: Config, database: Database | None = None) -> Composer:
    """The composer of a server with this store, whose generation its letters name; raises `BadDkimKey`."""
    dkim = config.dkim
    return Composer(
        config.server,
        config.mail_address.partition("@")[0],
        Templates(),
        address=config.mail_address,
        delimiter=config.delimiter,
        generation=Generation(generation(database), forgotten(database)) if database else None,
        sign=DkimSigner(dkim.selector, config.dkim_domain, dkim.key_file) if dkim.selector else None,
    )


def enable_games(config: Config, database: Database) -> None:
    """Enable the games that the configuration names; raises `UnusableGame` if it lacks one whose matches are kept."""
    enable(config.games.enabled)
    if missing := sorted(games_of(database) - GAMES.keys()):
        raise UnusableGame(f'there are matches of "{missing[0]}" in the store: name it in [games] enabled')


@contextmanager
def opened(supplies: Supplies, worked: Callable[[], None]) -> Iterator[Work]:
    """The desk over an existing store, ready for its work; raises what `DeskPlace.open` raises but `DeskError`."""
    config = supplies.config
    keys = own_keys.load(config.store_key, config.signing_key, supplies.random)
    with (
        Database(
            config.store,
            migrate=False,
            points=supplies.points,
            name=supplies.server,
            disk=supplies.disk,
        ) as database,
        closing(supplies.reader(config.limits)) as reader,
    ):
        enable_games(config, database)
        composer = open_composer(config, database)
        desk = supplies.open_desk(supplies, database, keys, composer, reader)
        yield Work(desk, database, supplies, worked)


class Work:
    """Letter after letter, and the clock between them; other threads may call it."""

    def __init__(self, desk: DeskLike, database: Database, supplies: Supplies, worked: Callable[[], None]) -> None:
        self._desk = desk
        self._database = database
        self._supplies = supplies
        self._now = ServerClock(supplies.machine, supplies.config)
        database.noting = partial(self._now.note, database)
        self._worked = worked
        self._reported = database.engine.changes
        self._woken = supplies.event()
        self._stopping = supplies.event()
        self._eased = 0.0

    def wake(self) -> None:
        """Look at the inbox and the clock now."""
        self._woken.set()

    def ease(self) -> None:
        """Rest more than work, for a moment: letters pour in."""
        self._eased = self._supplies.clock() + EASED

    def stop(self) -> None:
        """Begin no further letter."""
        self._stopping.set()
        self._woken.set()

    def __call__(self) -> None:
        """Work until `stop`."""
        while not self._stopping.is_set():
            self._woken.clear()
            wait = 0.0
            try:
                wait = self._handle_batch()
            except StoreError as error:
                log.error("store out of reach", trouble=type(error).__name__)
                wait = TROUBLE_WAIT
            except Exception:
                log.exception("desk trouble")
                wait = TROUBLE_WAIT
            self._report()
            if wait and not self._stopping.is_set():
                self._woken.wait(wait)

    def _handle_batch(self) -> float:
        """Handle some letters, and look at the clock after the last; returns the seconds until there is more work."""
        if not self._desk.may_decide():
            self._stopping.wait(STANDBY)
            return 0.0
        now = self._now.look(self._database)
        if self._now.leap is not None:
            self._desk.stand_still(self._now.leap, now)
            return self._supplies.longest_wait
        since_tick = handled = 0
        while since_tick < LETTERS_PER_TICK:
            began = self._supplies.clock()
            if not (handled := self._desk.handle_next(now)):
                break
            self._report()
            since_tick += handled
            self._rest(self._supplies.clock() - began)
            now = self._now()
            if self._stopping.is_set() or self._now.leap is not None:
                return 0.0
        following = self._desk.tick(now)
        if handled:
            return 0.0
        if following is None:
            return self._supplies.longest_wait
        # Never so short a wait that a late desk keeps the processor busy.
        return min(max((following - self._now()).total_seconds(), 0.05), self._supplies.longest_wait)

    def _rest(self, worked: float) -> None:
        """Leave the processor to others after this many seconds of work, while letters pour in."""
        rested = self._supplies.clock() + min(worked * RESTED, LONGEST_REST)
        while (rest := min(rested, self._eased) - self._supplies.clock()) > 0:  # more of them came meanwhile
            if self._stopping.wait(rest):
                return

    def _report(self) -> None:
        """Report that there may be something to send."""
        if self._reported != (changes := self._database.engine.changes):
            self._reported = changes
            self._worked()


def main() -> None:
    """The whole life of the desk's process whose line to the daemon is its standard input."""
    with socket.socket(fileno=os.dup(0)) as line:
        import pbem.desk.wiring  # noqa: F401 - it takes a while, in which the daemon opens the store

        supplies = received(line)
        configure_logs(supplies.config.log)
        gc.freeze()  # what was loaded stays: for the collector to look at all of it takes as long as ten letters
        sys.exit(serve(line, supplies))


def received(line: socket.socket) -> Supplies:
    """Receive what the daemon hands over. The files that hold the store's lock are ours until this process ends."""
    socket.recv_fds(line, len(FILES), 8)
    try:
        with Connection(os.dup(line.fileno())) as daemon:
            supplies: Supplies = daemon.recv()  # pickled by who started us
    except (EOFError, OSError):  # it is gone
        sys.exit(1)
    return supplies


def serve(line: socket.socket, supplies: Supplies) -> int:
    """Work until the daemon says stop; returns the process's status."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # meant for the daemon, which tells us
    try:
        with opened(supplies, partial(_say, line, WORKED)) as work:
            threading.Thread(target=_listen, args=(line, work), daemon=True).start()
            _say(line, READY)
            work()
    except (StoreError, KeyFileError, BadDkimKey, ReaderError, UnusableGame) as error:
        _say(line, FAILED + str(error).encode())
        return 1
    return 0


def _say(line: socket.socket, word: bytes) -> None:
    """Tell the daemon; one that has not read for long knows as much already, and one that is gone need not know."""
    with contextlib.suppress(OSError):
        line.send(word, socket.MSG_DONTWAIT)


def _listen(line: socket.socket, work: Work) -> None:
    """Listen to the daemon; without one, nothing here is ours any more."""
    with contextlib.suppress(OSError):
        while said := line.recv(4096):
            if EASE in said:
                work.ease()
            if ASKED in said:
                _say(line, HERE)
            if WAKE in said:
                work.wake()
            if STOP in said:
                work.stop()
    os._exit(1)
