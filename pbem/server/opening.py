"""The opening of a server's store, with its keys and its lock; and of a new one.

What is there is looked at before the first write: a wrong or older store, or one without its keys, must stay as it
is. Implements reliability.md, case 30, and docs/operating.md, "The store is lost".
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import structlog

from pbem.store import own_keys
from pbem.store.database import Database
from pbem.store.errors import OrphanedError
from pbem.store.sqlite import Lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AsyncExitStack

    from pbem.config.server import Config
    from pbem.failpoints import Failpoints
    from pbem.store.disk import Disk
    from pbem.store.own_keys import OwnKeys

LAST_MOMENTS = 10.0  # seconds for the desk of a dead daemon to end

log = structlog.get_logger()


class StartError(Exception):
    """The server cannot start; the message says why, for the operator."""


def check_beginning(config: Config) -> None:
    """Check that a new server can begin here, and that it is not one whose store is missing; raises `StartError`."""
    for path in (config.store_key, config.signing_key):
        if path.exists():
            raise StartError(
                f"there is {path}, and no store {config.store}: is its disk mounted, and is `store` right in the"
                ' configuration? See docs/operating.md, "The store is lost"'
            )
    for folder in (*([config.store.parent] if isinstance(config.store, Path) else []), config.keys):
        there = next(one for one in (folder, *folder.parents) if one.exists())
        if not os.access(there, os.W_OK | os.X_OK):
            raise StartError(f"{there} cannot be written by this user")


async def locked(store: Path, disk: Disk) -> Lock:
    """The lock of a store in a file; waits for it while the desk of a dead daemon still holds it."""
    clock = asyncio.get_running_loop().time
    end = clock() + LAST_MOMENTS
    while True:
        try:
            return Lock(store, disk)
        except OrphanedError:
            if clock() > end:
                raise
        await asyncio.sleep(0.01)


class OpenStore(NamedTuple):
    """A server's store: its keys, and three connections, so that none waits for what another does."""

    keys: OwnKeys
    sending: Database
    """For what is sent, in a thread of its own."""
    doorstep: Database
    """For letters that come: it may commit on the event loop while delivery works."""
    admission: Database
    """For the examiner of letters beyond a network's limit."""


def open_store(
    config: Config,
    stack: AsyncExitStack,
    lock: Lock | None,
    random: Callable[[int], bytes],
    points: Failpoints,
    disk: Disk,
    *,
    new: bool,
) -> OpenStore:
    """Open the store with its keys; if there is none, make it, in a file under this lock, and keys for it."""
    files = (config.store_key, config.signing_key)
    loaded: list[OwnKeys] = []

    def approve(database: Database) -> None:
        if not new and database.engine.version == 0 and any(path.exists() for path in files):
            raise StartError(f'{config.store} is empty, and was not: see docs/operating.md, "The store is lost"')
        if own_keys.begun(database):
            loaded.append(own_keys.load(*files, random))
            own_keys.check(database, loaded[0])
            own_keys.check_name(database, config.server)
            database.engine.check_high_water()

    post = stack.enter_context(Database(config.store, points=points, disk=disk, approve=approve))
    if not post.engine.settle_log():
        log.warning("the store's log stays as it is: somebody reads the store")
    if new and lock:
        lock.cover()
    keys = loaded[0] if loaded else own_keys.make(*files, random, disk)
    own_keys.note(post, keys)
    doorstep = stack.enter_context(Database(config.store, points=points, disk=disk))
    doorstep.engine.leave_log()  # an SMTP client waits for this connection
    admission = stack.enter_context(Database(config.store, points=points, disk=disk))
    return OpenStore(keys, post, doorstep, admission)
