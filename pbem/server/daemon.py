"""Wiring and tasks: what runs when the server runs, how it starts, and how it stops.

Here live the opening of keys, store and listeners, the tasks of intake, desk and delivery with what wakes them,
and the set-up of logs. No logic: what becomes of a letter is the desk's, how it is taken in and sent is mail's.
The desk works in a thread and on a connection of its own; so does what intake and delivery ask of the store,
because a commit may have to wait until the desk's is done, and the loop must not wait with it.
Implements design.md, "The way of a letter", and reliability.md, case 30 (the second daemon exits).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, TypeVarTuple

import structlog

from pbem.desk.reading import ReaderError
from pbem.failpoints import Failpoints, passing
from pbem.letters.render import Templates
from pbem.mail.compose import Composer
from pbem.mail.signing import BadDkimKey, DkimSigner
from pbem.server import systemd
from pbem.server.complaints import Complaints, Listener
from pbem.server.metrics import Metrics
from pbem.server.sandbox import Worker
from pbem.smtp.delivery import Deliverer, Smarthost
from pbem.smtp.dns import Asker, txt
from pbem.smtp.group_commit import GroupCommit
from pbem.smtp.server import Intake, Place, Refusal
from pbem.store import own_keys
from pbem.store.database import BusyError, Database, FullError, Lock, StoreError
from pbem.store.inbox import Inbox
from pbem.store.lookups import Lookups
from pbem.store.operator import Generation, survey
from pbem.store.outbox import Outbox
from pbem.store.vault import KeyFileError
from pbem.turns import Crowded, Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.config import Config, Limits, Log
    from pbem.desk.admission import Admission
    from pbem.desk.reading import Reader
    from pbem.smtp.delivery import Transport
    from pbem.smtp.dns import Resolve
    from pbem.store.inbox import Envelope
    from pbem.store.own_keys import OwnKeys
    from pbem.store.vault import Vault

__all__ = ["Daemon", "DeskLike", "StartError", "configure_logs", "open_composer", "open_desk", "write_ready"]

LONGEST_WAIT = 60.0  # seconds; how long a step of the system clock can go unnoticed
TROUBLE_WAIT = 5.0  # seconds before the desk tries again after the store had trouble
LETTERS_PER_TICK = 16  # so that a full inbox stops neither the clock nor the answers
QUICK = 0.005  # seconds: a commit that takes no longer may keep the event loop
TOGETHER = 64  # letters in one commit: so long nobody waits for the others' sealing
TOO_MANY_TODAY = "450 4.7.1 too many letters from your network, come again tomorrow"
IN_DOUBT = (4, 64)  # letters beyond that limit that may wait to be looked at, of each network and in all

log = structlog.get_logger()
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class StartError(Exception):
    """The server cannot start; the message says why, for the operator."""


class DeskLike(Protocol):
    """The desk as the daemon sees it; called from one thread, one call at a time."""

    def handle_next(self, now: datetime) -> int:
        """Handle the next letters of the inbox; how many there were."""

    def tick(self, now: datetime) -> datetime | None:
        """Do what the clock demands; when to be called again, or None when nothing is timed."""


class OpenDesk(Protocol):
    """Makes the desk."""

    def __call__(  # noqa: PLR0913, PLR0917 - all that a desk is handed
        self,
        config: Config,
        database: Database,
        vault: Vault,
        signing_key: Ed25519PrivateKey,
        composer: Composer,
        random: Callable[[int], bytes],
        reader: Reader,
        points: Failpoints,
    ) -> DeskLike:
        """The desk of a server, on its own connection to the store."""


def open_desk(  # noqa: PLR0913, PLR0917 - all that a desk is handed
    config: Config,
    database: Database,
    vault: Vault,
    signing_key: Ed25519PrivateKey,
    composer: Composer,
    random: Callable[[int], bytes],
    reader: Reader,
    points: Failpoints,
) -> DeskLike:
    """The real desk."""
    from pbem.desk import Desk  # noqa: PLC0415 - games and matches are loaded only where letters are handled

    return Desk(config, database, vault, signing_key, composer, random, reader, points)


def open_admission(config: Config, database: Database, vault: Vault, reader: Callable[[Limits], Reader]) -> Admission:
    """Who looks at letters beyond a network's limit, on a connection of its own."""
    from pbem.desk.admission import Admission  # noqa: PLC0415 - as above

    return Admission(config, database, vault, reader)


def open_composer(config: Config, generation: int) -> Composer:
    """The composer of a server whose store is of this generation; raises `BadDkimKey`."""
    dkim = config.dkim
    return Composer(
        config.server,
        config.mailbox,
        Templates(),
        address=config.mail_address,
        delimiter=config.delimiter,
        generation=generation,
        sign=DkimSigner(dkim.selector, config.dkim_domain, dkim.key_file) if dkim.selector else None,
    )


class Daemon:
    """One running server. Raises `StartError` from `run`; time, randomness and the desk are handed in."""

    def __init__(  # noqa: PLR0913 - the outside world, handed in piece by piece
        self,
        config: Config,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Callable[[int], bytes] = os.urandom,
        desk: OpenDesk = open_desk,
        reader: Callable[[Limits], Reader] = Worker,
        transport: Transport | None = None,
        resolve: Resolve | None = None,
        ready: Callable[[Sequence[Place]], None] = lambda _: None,
        environment: Mapping[str, str] = os.environ,
        points: Failpoints = passing,
    ) -> None:
        self._config = config
        self._now = now
        self._random = random
        self._open_desk = desk
        self._open_reader = reader
        self._transport = transport
        self._resolve = resolve or txt()
        self._ready = ready
        self._environment = environment
        self._points = points
        self._quick = False
        self._stop = asyncio.Event()
        self._letters = asyncio.Event()
        self._desk_thread = ThreadPoolExecutor(1, "desk")
        self._post_thread = ThreadPoolExecutor(1, "post")
        self._admission_thread = ThreadPoolExecutor(1, "admission")
        self._in_doubt = Turns(*IN_DOUBT)

    async def run(self) -> None:
        """Serve until `stop`, SIGTERM or SIGINT; returns after a clean stop.

        Raises `StartError`, and whatever ended a task that should not end.
        """
        asyncio.get_running_loop().set_exception_handler(Complaints())
        async with AsyncExitStack() as stack:
            try:
                await self._serve(stack)
            except (StoreError, KeyFileError, BadDkimKey, ReaderError) as error:
                raise StartError(str(error)) from error

    def stop(self) -> None:
        """Begin to stop; safe to call again."""
        self._stop.set()

    def wake(self) -> None:
        """Let the desk look at its inbox and its clock now."""
        self._letters.set()

    async def _serve(self, stack: AsyncExitStack) -> None:
        config = self._config
        known = config.store.exists()
        if known:
            stack.enter_context(Lock(config.store))
        else:
            self._begin()
        # What can be wrong with a start is found before anything is written.
        password = _password(config)
        open_composer(config, 1)
        intake = self._intake()
        stack.push_async_callback(intake.close)
        metrics = Metrics(lambda: self._post(survey, self._post_base), self._now)
        stack.callback(metrics.close)
        places = [*await self._listen(intake), *await self._give_figures(metrics)]
        keys = self._open_store(stack, new=not known)
        outbox = Outbox(self._post_base, keys.vault)
        # Whatever was in somebody's hands when the last process ended is in nobody's now: we hold the lock.
        log.info("store open", letters=self._inbox.release_all(), sendings=outbox.release_all())
        reader = stack.enter_context(closing(self._open_reader(config.limits)))
        self._admission = stack.enter_context(
            closing(open_admission(config, self._door_base, keys.vault, self._open_reader))
        )
        # Entered last, left first: what still runs in a thread ends before its connection is closed.
        stack.callback(self._post_thread.shutdown)
        stack.callback(self._desk_thread.shutdown)
        stack.callback(self._admission_thread.shutdown)
        composer = open_composer(config, Generation(self._desk_base).number)
        desk = self._open_desk(
            config, self._desk_base, keys.vault, keys.signing, composer, self._random, reader, self._points
        )
        deliverer = Deliverer(
            outbox,
            self._transport or Smarthost(config.smarthost, server=config.server, password=password),
            config.delivery,
            address=config.mail_address,
            delimiter=config.delimiter,
            now=self._now,
            run=self._post,
            settled=self.wake,
            points=self._points,
        )
        asker = Asker(Lookups(self._post_base), self._resolve, now=self._now, run=self._post, settled=self.wake)
        await intake.open()
        await metrics.open()
        await self._work(desk, deliverer, asker, intake, places)

    def _begin(self) -> None:
        """See that a new server can begin here, and that this is none whose store is missing."""
        config = self._config
        for path in (config.store_key, config.signing_key):
            if path.exists():
                raise StartError(
                    f"there is {path}, and no store {config.store}: is its disk mounted, and is `store` right in the"
                    ' configuration? See docs/operating.md, "The store is lost"'
                )
        for folder in (config.store.parent, config.keys):
            there = next(one for one in (folder, *folder.parents) if one.exists())
            if not os.access(there, os.W_OK | os.X_OK):
                raise StartError(f"{there} cannot be written by this user")

    def _open_store(self, stack: AsyncExitStack, *, new: bool) -> OwnKeys:
        """Open the store with the keys that it belongs to; a new one is made, and keys for it."""
        config, turn = self._config, threading.Lock()
        files = (config.store_key, config.signing_key)
        found: list[OwnKeys] = []

        def approve(database: Database) -> None:
            if not new and database.version == 0 and any(path.exists() for path in files):
                raise StartError(f'{config.store} is empty, and was not: see docs/operating.md, "The store is lost"')
            if own_keys.begun(database):
                found.append(own_keys.load(*files, self._random))
                own_keys.check(database, found[0])

        lock = stack.enter_context(Lock(config.store)) if new else None
        first = Database(config.store, points=self._points, turn=turn, approve=approve)
        self._post_base = stack.enter_context(first)
        if lock is not None:
            lock.cover()
        keys = found[0] if found else own_keys.make(*files, self._random)
        own_keys.note(first, keys)
        # The intake's own connection: a commit may be made on the event loop, while the post works in its thread.
        self._inbox = Inbox(stack.enter_context(Database(config.store, points=self._points, turn=turn)), keys.vault)
        self._desk_base = stack.enter_context(Database(config.store, points=self._points, turn=turn))
        self._door_base = stack.enter_context(Database(config.store, points=self._points, turn=turn))
        return keys

    async def _work(
        self, desk: DeskLike, deliverer: Deliverer, asker: Asker, intake: Intake, places: Sequence[Place]
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)

        def look() -> None:
            for woken in (self._letters, deliverer.wake, asker.wake):
                woken.set()

        # From the operator's commands; a process that does not know it is not ended by it.
        loop.add_signal_handler(signal.SIGCONT, look)
        tasks: list[asyncio.Task[Any]] = []
        try:
            tasks += [
                asyncio.create_task(self._desk_work(desk, deliverer.wake, asker.wake), name="desk"),
                asyncio.create_task(deliverer.work(), name="delivery"),
                asyncio.create_task(asker.work(), name="dns"),
            ]
            self._ready(places)
            systemd.notify(self._environment, "READY=1")
            log.info("ready", **{place.protocol: _described(place) for place in places})
            stopped = asyncio.create_task(self._stop.wait(), name="stop")
            await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            log.info("stopping")
            systemd.notify(self._environment, "STOPPING=1")
        finally:
            self.stop()
            await intake.close()
            self._letters.set()
            deliverer.stop()
            asker.stop()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
                loop.remove_signal_handler(number)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        log.info("stopped")

    async def _listen(self, intake: Intake) -> list[Place]:
        places: list[Place] = []
        handed = systemd.sockets(self._environment)
        for protocol, listener in (("smtp", self._config.smtp), ("lmtp", self._config.lmtp)):
            if listener.listen.systemd and not handed[protocol]:
                raise StartError(f"systemd handed over no socket with FileDescriptorName={protocol}")
            if listener.listen:
                try:
                    places += await intake.listen(protocol, listener, handed[protocol])
                except OSError as error:
                    raise StartError(f"cannot listen at {listener.listen}: {error.strerror or error}") from error
        if not places:
            raise StartError("nothing to listen at: both smtp.listen and lmtp.listen are empty")
        return places

    async def _give_figures(self, metrics: Metrics) -> list[Place]:
        place = self._config.metrics.listen
        if not place:
            return []
        try:
            return [Place("metrics", host=place.host, port=await metrics.listen(place.host, place.port))]
        except OSError as error:
            raise StartError(f"cannot listen at {place}: {error.strerror or error}") from error

    async def _desk_work(self, desk: DeskLike, *others: asyncio.Event) -> None:
        """Letter after letter, and the clock between them; one call at a time."""

        def some() -> float:
            """Handle some letters, and look at the clock after the last one; seconds until there is more to do."""
            since_tick = 0
            while since_tick < LETTERS_PER_TICK and (handled := desk.handle_next(self._now())):
                since_tick += handled
                if self._stop.is_set():
                    return 0.0
            following = desk.tick(self._now())
            return 0.0 if handled else self._until(following)

        while not self._stop.is_set():
            self._letters.clear()
            wait = 0.0
            before = self._desk_base.changes
            try:
                wait = await self._at_desk(some)
            except StoreError as error:
                log.error("store out of reach", trouble=type(error).__name__)
                wait = TROUBLE_WAIT
            except Exception:
                log.exception("desk trouble")
                wait = TROUBLE_WAIT
            if self._desk_base.changes != before:
                for other in others:
                    other.set()  # there may be letters to send, and names to look up
            if wait:
                await self._wait_for_letters(wait)

    async def _wait_for_letters(self, wait: float) -> None:
        if self._stop.is_set():
            return
        try:
            await asyncio.wait_for(self._letters.wait(), wait)
        except TimeoutError:
            return

    def _until(self, time: datetime | None) -> float:
        """Seconds to wait for a time, never so few that a desk in arrears keeps the processor busy."""
        if time is None:
            return LONGEST_WAIT
        return min(max((time - self._now()).total_seconds(), 0.05), LONGEST_WAIT)

    def _intake(self) -> Intake:
        config = self._config
        keep: GroupCommit[tuple[Envelope, bytes], bool] = GroupCommit(
            self._keep, TOGETHER, lambda: bool(intake.writing)
        )

        async def accept(envelope: Envelope, raw: bytes) -> None:
            if not await keep((envelope, raw)):
                await self._keep_beyond_limit(envelope, raw)

        intake = Intake(
            config.server,
            config.mail_address,
            accept,
            limits=config.limits,
            delimiter=config.delimiter,
            reference=lambda: self._random(6).hex(),
            points=self._points,
        )
        return intake

    async def _keep(self, letters: list[tuple[Envelope, bytes]]) -> list[bool]:
        """Store letters that arrived together; which of them, as some may be too many from their network today."""
        if self._post_base.room() < self._config.limits.reserve_bytes:
            raise FullError("the room that is left is for the letters that are here")
        a_day = self._config.limits.letters_per_day
        began = time.monotonic()
        try:
            # To hand a commit to a thread and back costs more than a quick disk's fsync.
            if not self._quick:
                raise BusyError
            rows = self._inbox.put_all(letters, self._now(), a_day, wait=False)
        except BusyError:
            rows = await self._post(self._inbox.put_all, letters, self._now(), a_day)
        self._quick = time.monotonic() - began < QUICK
        self.wake()
        return [row is not None for row in rows]

    async def _keep_beyond_limit(self, envelope: Envelope, raw: bytes) -> None:
        """Store a letter whose network has sent too many today, if it is by somebody who is known here.

        Raises `Refusal`.
        """
        try:
            async with self._in_doubt.of(envelope.network):
                known = await self._at_door(self._admission.knows, envelope, raw, self._now())
        except Crowded as error:
            raise Refusal(TOO_MANY_TODAY) from error
        if not known:
            raise Refusal(TOO_MANY_TODAY)
        await self._post(self._inbox.put, envelope, raw, self._now())
        self.wake()

    async def _post(self, call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._post_thread, call, *arguments)

    async def _at_door(self, call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._admission_thread, call, *arguments)

    async def _at_desk(self, call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._desk_thread, call, *arguments)


def write_ready(path: Path, places: Sequence[Place]) -> None:
    """Write the bound places as JSON, whole or not at all: who waits for the file may read it at once."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps({place.protocol: _described(place) for place in places}) + "\n", "utf-8")
    draft.replace(path)


def configure_logs(config: Log) -> None:
    """Send structured logs to standard error, one line each, with no word of any letter in them."""
    renderer: Any = structlog.processors.JSONRenderer()
    if config.format == "text":
        renderer = structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _frames,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[config.level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    # A library's own line on standard error is no JSON, and may quote a letter.
    logging.lastResort = Listener(Complaints())
    # aiosmtpd logs commands and addresses; what matters of them is logged by mail/intake.py.
    logging.getLogger("mail.log").setLevel(logging.CRITICAL)


def _frames(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Say of an exception its kind and its place: its text may quote a letter."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()[1]
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)
        event["exception"] = type(error).__name__
        event["frames"] = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
        if error.__cause__ is not None:
            event["cause"] = type(error.__cause__).__name__
    return event


def _described(place: Place) -> dict[str, str | int]:
    return {"path": place.path} if place.path else {"host": place.host, "port": place.port}


def _password(config: Config) -> str:
    name = config.smarthost.password_file
    if not name:
        return ""
    try:
        return Path(name).read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"the smarthost's password: {error}") from error
