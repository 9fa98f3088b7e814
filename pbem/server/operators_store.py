"""The store as the operator's commands open it: beside a daemon, or for a moment in its place.

An instruction waits in the store for the daemon, which is woken; if none runs, the desk is opened here, under the
same lock. Implements reliability.md, case 30.
"""

from __future__ import annotations

import getpass
import os
import signal
import time
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pbem.server.desk_work import open_composer
from pbem.server.logs import configure_logs
from pbem.server.server_clock import THIS_MACHINE, ServerClock
from pbem.store import own_keys
from pbem.store.database import Database
from pbem.store.errors import LockedError
from pbem.store.operator import Busy, Instructions
from pbem.store.owners import at_work
from pbem.store.sqlite import Lock
from pbem.store.vault import Vault, load_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.config.server import Config

PATIENCE = 90.0  # seconds; a daemon that cannot be woken looks by itself after a minute


class OperatorsStore(NamedTuple):
    """The store of a configuration, and the vault that opens what is sealed in it."""

    config: Config
    database: Database
    vault: Vault
    afterwards: ExitStack
    """Closed together with the store."""

    @property
    def clock(self) -> ServerClock:
        """The clock by which the servers of the store go: this machine's, or its database's."""
        clock = ServerClock(THIS_MACHINE, self.config)
        clock.look(self.database)
        return clock

    @property
    def now(self) -> datetime:
        """The time of that clock; raises `Busy` if it leapt, and nobody vouches for it."""
        clock = self.clock
        if clock.stop is not None:
            raise Busy(f"The clock: {clock.stop}. Until then nothing is decided.")
        return clock()

    def wake(self) -> bool:
        """Let the daemon look now; returns whether one runs. Servers sharing a store look by themselves."""
        daemon = at_work(self.database, datetime.now(UTC))
        if isinstance(daemon, int):
            with suppress(ProcessLookupError, PermissionError):  # it looks by itself, later
                os.kill(daemon, signal.SIGCONT)
        return daemon is not None

    def instruct(self, what: str, about: str, reason: str, *, ruling: str = "") -> str:
        """Give the desk an instruction, wait until it is obeyed, and return its answer; raises `Busy`."""
        instructions = Instructions(self.database)
        number = instructions.give(what, about, reason, operator(), self.now, ruling=ruling)
        if self._is_at_rest():
            # Here the desk does what that of the daemon would; the letters leave when one starts.
            from pbem.desk.letter_handling import WorkingDesk
            from pbem.desk.reading import InProcess
            from pbem.desk.wiring import Desk

            configure_logs(self.config.log)
            keys = own_keys.load(self.config.store_key, self.config.signing_key, os.urandom)
            own_keys.check(self.database, keys)
            composer = open_composer(self.config, self.database)
            reader = InProcess(self.config.limits)
            desk = Desk(self.config, self.database, self.vault, keys.signing, composer, os.urandom, reader)
            clock = self.clock
            self.database.noting = partial(clock.note, self.database)
            WorkingDesk(desk).obey(clock())
        else:
            self.wake()
        until = time.monotonic() + PATIENCE
        while (outcome := instructions.outcome(number))[0] == "waiting":
            if time.monotonic() > until:
                raise Busy("The server has not obeyed yet; it will do so later.")
            time.sleep(0.1)
        if outcome[0] == "refused":
            raise Busy(outcome[1])
        return outcome[1]

    def _is_at_rest(self) -> bool:
        """True if no daemon runs; over a store in a file, none starts until we are done."""
        if not isinstance(self.database.place, Path):
            return at_work(self.database, datetime.now(UTC)) is None
        try:
            self.afterwards.enter_context(Lock(self.database.place))
        except LockedError:
            return False
        return True


@contextmanager
def opened(config: Config) -> Iterator[OperatorsStore]:
    """The store of a server, as it is."""
    with ExitStack() as afterwards, Database(config.store, migrate=False) as database:
        yield OperatorsStore(config, database, Vault(load_key(config.store_key)), afterwards)


def operator() -> str:
    """The user's name for the record; a container's user may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
