"""The opening of a desk: what it is handed, and the desk over a store, ready for its work.

Keys are read where the desk is, from their files: they are never passed on. Implements design.md, "The way of a
letter".
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbem.failpoints import passing
from pbem.server.composer import open_composer
from pbem.server.desk_rest import LONGEST_WAIT
from pbem.server.desk_work import Work
from pbem.server.games_here import enable_games
from pbem.server.sandbox import Worker
from pbem.server.server_clock import THIS_MACHINE, Machine
from pbem.store import own_keys
from pbem.store.database import Database
from pbem.store.disk import THIS_DISK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pbem.config.limits import Limits
    from pbem.config.server import Config
    from pbem.desk.reading import Reader
    from pbem.failpoints import Failpoints
    from pbem.mail.compose import Composer
    from pbem.server.desk_work import DeskLike
    from pbem.store.disk import Disk
    from pbem.store.own_keys import OwnKeys

    OpenDesk = Callable[["Supplies", Database, OwnKeys, Composer, Reader], DeskLike]
    """Makes the desk of a server, on its own connection to the store."""


def open_desk(supplies: Supplies, database: Database, keys: OwnKeys, composer: Composer, reader: Reader) -> DeskLike:
    """The real desk, on its own connection to the store."""
    from pbem.desk.letter_handling import WorkingDesk
    from pbem.desk.wiring import Desk

    config, random, points = supplies.config, supplies.random, supplies.points
    return WorkingDesk(Desk(config, database, keys.vault, keys.signing, composer, random, reader, points))


@dataclass(frozen=True)
class Supplies:
    """The supplies of a desk, anywhere. Keys are read there from their files, and are never passed on."""

    config: Config
    machine: Machine = THIS_MACHINE
    random: Callable[[int], bytes] = os.urandom
    open_desk: OpenDesk = open_desk
    reader: Callable[[Limits], Reader] = Worker
    points: Failpoints = passing
    server: str = ""
    """The name of this server among those that share a store; "" where it has one of its own."""
    disk: Disk = THIS_DISK
    longest_wait: float = LONGEST_WAIT
    event: Callable[[], threading.Event] = threading.Event
    """Makes what a desk waits for that has nothing to do."""
    clock: Callable[[], float] = time.monotonic
    """Seconds that go by, whatever the time is said to be."""


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
