"""The daemon: starts and stops the parts of a server, and wires them together.

No logic: the desk, in a separate process, decides what becomes of a letter. Intake and delivery call the store in a
thread, because a commit may have to wait for the desk's. Implements design.md, "The way of a letter", and
reliability.md, case 30 (the second daemon exits).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, closing
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, TypeVarTuple

import structlog

from pbem.desk.reading import ReaderError
from pbem.failpoints import Failpoints, passing
from pbem.mail.dkim_signing import BadDkimKey
from pbem.mailbox import PasswordError, password
from pbem.server import systemd
from pbem.server.desk_process import DeskError, Flood, OwnProcess
from pbem.server.desk_work import Supplies, open_composer, open_desk
from pbem.server.fair_queue import Crowded, FairQueue
from pbem.server.fetching import Fetcher, Keeping, envelope, open_mailbox
from pbem.server.house_program import HouseProgram, command
from pbem.server.http_call import Notifier, WitnessAsker, fetched, told
from pbem.server.logs import Complaints
from pbem.server.opening import StartError, check_beginning, locked, open_store
from pbem.server.sandbox import Worker
from pbem.server.server_clock import THIS_MACHINE, Machine, ServerClock
from pbem.server.ways_out import way_out
from pbem.smtp.delivery import Deliverer
from pbem.smtp.dns import DnsAsker, txt
from pbem.smtp.intake import Intake, IntakePlace
from pbem.smtp.rounds import LONGEST_WAIT, TaskServices, is_set_within
from pbem.smtp.storing import GroupCommit, Refusal
from pbem.store.database import Database, is_there
from pbem.store.disk import THIS_DISK
from pbem.store.errors import FullError, StoreError
from pbem.store.inbox import Inbox
from pbem.store.outbox import Outbox
from pbem.store.owners import ALL, Owners, Role
from pbem.store.questions import Lookups, Notifications, WitnessRequests
from pbem.store.sqlite import Lock
from pbem.store.vault import KeyFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from pbem.config.limits import Limits
    from pbem.config.server import Config
    from pbem.desk.reading import LetterReader
    from pbem.server.desk_process import DeskPlace, OpenPlace
    from pbem.server.desk_work import OpenDesk
    from pbem.server.http_call import Post, Tell
    from pbem.smtp.delivery import Transport
    from pbem.smtp.dns import Resolve
    from pbem.smtp.rounds import Asker
    from pbem.store.disk import Disk
    from pbem.store.inbox import Envelope, Look
    from pbem.store.vault import Vault

TOGETHER = 64  # the most letters in one commit: with more, each would wait long for the others to be sealed
TOO_MANY_TODAY = "450 4.7.1 too many letters from your network, come again tomorrow"
IN_DOUBT = (4, 64)  # letters beyond that limit that may wait for examination, from each network and in all
RENEW = 0.75  # seconds, roughly, between two signs of life of a server that shares its store

log = structlog.get_logger()
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class _Running(Protocol):
    """A part of the server that runs in a task of its own until it is stopped."""

    async def work(self) -> None:
        """Run until `stop`."""

    def stop(self) -> None:
        """Begin nothing more."""


@dataclass(eq=False)
class Daemon:
    """One running server. `run` raises `StartError`; time, randomness and the desk are arguments, for tests."""

    config: Config
    _: KW_ONLY
    machine: Machine = THIS_MACHINE
    random: Callable[[int], bytes] = os.urandom
    desk: OpenDesk = open_desk
    place: OpenPlace = OwnProcess
    reader: Callable[[Limits], LetterReader] = Worker
    transport: Transport | None = None
    resolve: Resolve = field(default_factory=txt)
    tell: Tell = field(default_factory=told)
    http: Post = fetched
    house: Callable[[str], Sequence[str]] = command
    ready: Callable[[Sequence[IntakePlace]], None] = lambda _: None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    points: Failpoints = passing
    roles: frozenset[Role] = ALL
    disk: Disk = THIS_DISK
    longest_wait: float = LONGEST_WAIT

    def __post_init__(self) -> None:
        self._name = "" if isinstance(self.config.store, Path) else f"{self.random(8).hex()}."
        """This server's name among those sharing the store."""
        self._lock: Lock | None = None
        self._stop = asyncio.Event()
        self._asked_to_look = asyncio.Event()
        self._sending_thread = ThreadPoolExecutor(1, "sending")
        self._admission_thread = ThreadPoolExecutor(1, "admission")
        self._in_doubt = FairQueue(*IN_DOUBT)
        self._desk: DeskPlace | None = None
        """The place of this server's desk, if it has one."""
        self._others: list[asyncio.Event] = []

    async def run(self) -> None:
        """Serve until `stop`, SIGTERM or SIGINT; returns after a clean stop.

        Raises `StartError`, and the error of any task that ended unexpectedly.
        """
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(Complaints(loop.time))
        self._clock = ServerClock(self.machine, self.config)
        async with AsyncExitStack() as stack:
            try:
                await self._serve(stack)
            except (StoreError, KeyFileError, BadDkimKey, ReaderError, DeskError) as error:
                raise StartError(str(error)) from error

    def stop(self) -> None:
        """Begin to stop; safe to call again."""
        self._stop.set()
        self._asked_to_look.set()

    def wake(self) -> None:
        """Make the desk look at its inbox and its clock now."""
        if self._desk is not None:
            self._desk.wake()

    async def _serve(self, stack: AsyncExitStack) -> None:
        from pbem.desk.strangers import DeskAdmission

        config = self.config
        if self.roles != ALL and not self._name:
            raise StartError(f"{config.store} is a file and has one server, which does everything: leave --roles out")
        known = is_there(config.store)
        if not known:
            check_beginning(config)
        elif isinstance(config.store, Path):
            self._lock = stack.enter_context(await locked(config.store, self.disk))
        # Steps that can fail for lack of a password, key or port come before anything is written.
        try:
            secret = password(config.smarthost.password_file, config.smarthost.password_command)
        except PasswordError as error:
            raise StartError(f"the smarthost's password: {error}") from error
        open_composer(config)
        intake = self._intake()
        stack.push_async_callback(intake.close)
        places = await self._listen(intake)
        self._flood = Flood(asyncio.get_running_loop().time)
        if Role.DESK in self.roles:
            supplies = Supplies(
                config,
                self.machine,
                self.random,
                self.desk,
                self.reader,
                self.points,
                self._name,
                self.disk,
                self.longest_wait,
            )
            self._desk = self.place(supplies, self._wake_others)
            stack.push_async_callback(self._desk.close)
        if not known and isinstance(config.store, Path):
            self._lock = stack.enter_context(Lock(config.store, self.disk))
        store = open_store(config, stack, self._lock, self.random, self.points, self.disk, new=not known)
        vault = store.keys.vault
        self._database = store.sending
        self._inbox = Inbox(store.doorstep, vault, config.mailbox_account)
        outbox = Outbox(store.sending, vault, self._name)
        self._release_others(outbox, stack)
        # The examiner of letters beyond a network's limit.
        examiner = DeskAdmission(config, store.admission, vault, self.reader)
        self._admission = stack.enter_context(closing(examiner))
        # Entered last, left first: calls in a thread end before their connection is closed.
        stack.callback(self._sending_thread.shutdown)
        stack.callback(self._admission_thread.shutdown)
        if self._desk is not None:
            await self._desk.open(self._lock.files if self._lock else [])
        clock = self._clock
        services = TaskServices(clock.for_retries, self._in_thread, self.wake, self.longest_wait, clock.stops)
        senders = self._senders(services, outbox, vault, secret)
        # Letters come in only once everything that they need is open.
        await intake.open()
        await self._work(senders, intake, places)

    def _release_others(self, outbox: Outbox, stack: AsyncExitStack) -> None:
        """Release letters that dead servers had leased; in a shared store, also report that this one lives."""
        if self._name:
            # A separate connection: letters that wait for a lock must not make this server look dead.
            self._life_base = stack.enter_context(Database(self.config.store, disk=self.disk))
            self._owners = Owners(self._life_base)
            stack.callback(self._leave)
            self._renew()
            log.info("store open")
        else:
            self._clock.look(self._database)
            # We hold the lock, so the process that leased letters has ended.
            log.info("store open", sendings=outbox.release_all())

    def _senders(
        self, services: TaskServices, outbox: Outbox, vault: Vault, secret: str
    ) -> dict[str, Deliverer | Asker[Any]]:
        """What goes out, by name: letters; questions to the DNS and, if there are any, to witnesses and topics."""
        config = self.config
        senders: dict[str, Deliverer | Asker[Any]] = {
            "delivery": Deliverer(
                outbox,
                self.transport or way_out(config, secret),
                config.delivery,
                services,
                address=config.mail_address,
                delimiter=config.delimiter if config.return_paths else None,
                points=self.points,
            ),
            "dns": DnsAsker(Lookups(self._database), self.resolve, services),
        }
        if urls := {cosigner.key.name: cosigner.url for cosigner in config.witness.cosigners}:
            senders["witnesses"] = WitnessAsker(WitnessRequests(self._database), urls, services, self.http)
        if hosts := config.notify.hosts:
            notifications = Notifications(self._database, vault)
            senders["notifier"] = Notifier(notifications, hosts, config.server, services, self.tell)
        return senders

    async def _work(
        self, senders: Mapping[str, Deliverer | Asker[Any]], intake: Intake, places: Sequence[IntakePlace]
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)

        self._others += [sender.wake for sender in senders.values()]
        bringers = self._bringers(intake)
        # The desk and the post, as the server's roles say.
        workers: dict[str, _Running] = {"desk": self._desk} if self._desk is not None else {}
        workers |= senders if Role.POST in self.roles else {}

        def look() -> None:
            self.wake()
            self._asked_to_look.set()

        # The operator's commands send SIGCONT, because it does not end a process that has no handler for it.
        loop.add_signal_handler(signal.SIGCONT, look)
        tasks: list[asyncio.Task[object]] = []
        try:
            tasks += [asyncio.create_task(one.work(), name=name) for name, one in {**bringers, **workers}.items()]
            if self._name:
                tasks.append(asyncio.create_task(self._share(), name="share"))
            self.ready(places)
            systemd.notify(self.environment, "READY=1")
            log.info("ready", **{place.protocol: place.address for place in places})
            # Tasks end by a failure or by the stop; the first that ends stops the server.
            stopped = asyncio.create_task(self._stop.wait(), name="stop")
            tasks.append(asyncio.create_task(self._watch(), name="watch"))
            await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            log.info("stopping")
            with contextlib.suppress(OSError):  # without a free descriptor, stop all the same
                systemd.notify(self.environment, "STOPPING=1")
        finally:
            self.stop()
            # First what brings letters, then the intake, then the workers: the letters taken in are finished.
            for bringer in bringers.values():
                bringer.stop()
            await intake.close()
            for worker in workers.values():
                worker.stop()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
                loop.remove_signal_handler(number)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        log.info("stopped")

    async def _watch(self) -> None:
        """Check, now and then, when asked and at the end, that the store is in place, and note its high water."""
        asked = False
        while (in_place := self._database.engine.in_place()) and not self._stop.is_set():
            self._asked_to_look.clear()
            await self._note_high_water()
            if asked:
                self._wake_others()  # the operator may have accepted the clock by which they go
            asked = await is_set_within(self._asked_to_look, self.longest_wait)
        if in_place:
            await self._note_high_water()
        else:
            raise StartError(
                f"{self.config.store}, or the log beside it, was moved, exchanged or deleted while the server ran:"
                ' bring it back as it was. See docs/operating.md, "The store is lost"'
            )

    async def _note_high_water(self) -> None:
        """Note the high water of a store in a file, and look at its clock; a full disk is only logged."""
        try:
            await self._in_thread(self._database.engine.note_high_water)
            if not self._name:
                await self._in_thread(self._clock.look, self._database)
        except (StoreError, OSError) as error:
            log.warning("how far the store has come is not noted", trouble=type(error).__name__)

    async def _listen(self, intake: Intake) -> list[IntakePlace]:
        places: list[IntakePlace] = []
        if Role.INTAKE not in self.roles:
            return places
        handed = systemd.sockets(self.environment)
        for protocol, listener in (("smtp", self.config.smtp), ("lmtp", self.config.lmtp)):
            if listener.listen.systemd and not handed[protocol]:
                raise StartError(f"systemd handed over no socket with FileDescriptorName={protocol}")
            if listener.listen:
                try:
                    places += await intake.listen(protocol, listener, handed[protocol])
                except OSError as error:
                    raise StartError(f"cannot listen at {listener.listen}: {error.strerror or error}") from error
        if not places and not self.config.mailbox:
            raise StartError("no way in: smtp.listen, lmtp.listen and the mailbox are all empty")
        return places

    def _wake_others(self) -> None:
        """Wake the deliverer and the askers: there may be letters to send, and names to look up."""
        for other in self._others:
            other.set()

    async def _share(self) -> None:
        """Keep reporting that this server lives; take over letters from dead servers and from other intakes."""
        # At a random moment, so that servers do not come all at once.
        while not await is_set_within(self._stop, RENEW * (0.75 + self.random(1)[0] / 512)):
            try:
                given_back = await asyncio.to_thread(self._renew)
            except StoreError as error:
                log.error("store out of reach", trouble=type(error).__name__)
                continue
            if given_back:
                log.warning("another server is gone", given_back=given_back)
            self.wake()
            self._wake_others()

    def _renew(self) -> int:
        """Report that this server lives; returns the number of letters released from dead servers."""
        self._clock.look(self._life_base)
        now = self._life_base.engine.time(self.machine.now())  # of one clock, right or wrong
        with self._life_base.transaction():
            self._owners.renew(self._name, self.roles, now)
            return self._owners.release(now)

    def _leave(self) -> None:
        with contextlib.suppress(StoreError):
            self._owners.leave(self._name)

    def _intake(self) -> Intake:
        config = self.config
        keep_together: GroupCommit[tuple[Envelope, bytes], bool] = GroupCommit(
            self._keep, TOGETHER, lambda: bool(intake.admission.writing)
        )

        async def keep_or_refuse(envelope: Envelope, raw: bytes) -> None:
            if not await keep_together((envelope, raw)):
                # Its network has sent too many today: it is stored only if its sender is known here.
                try:
                    async with self._in_doubt.turn_of(envelope.network):
                        loop, now = asyncio.get_running_loop(), self._clock()
                        known = await loop.run_in_executor(
                            self._admission_thread, self._admission.knows, envelope, raw, now
                        )
                except Crowded as error:
                    raise Refusal(TOO_MANY_TODAY) from error
                if not known:
                    raise Refusal(TOO_MANY_TODAY)
                await self._in_thread(self._inbox.put_all, [(envelope, raw)], self._clock)
                self._came(1)

        intake = Intake(
            config.server,
            config.mail_address,
            keep_or_refuse,
            limits=config.limits,
            delimiter=config.delimiter,
            reference=lambda: self.random(6).hex(),
            points=self.points,
        )
        return intake

    def _bringers(self, intake: Intake) -> dict[str, _Running]:
        """What brings letters beside the listeners: the mailbox, and the house, whose program plays here."""
        config = self.config

        # What the mailbox brings is stored like all other letters.
        async def keep(raw: bytes) -> None:
            await self._keep([(envelope(raw, intake.recipients.knows, config.mail_address), raw)])

        async def mark(given: str | None) -> str | None:
            return await self._in_thread(self._mark, f"mailbox {config.mailbox_account}", given)

        async def look(made: Look) -> None:
            await self._in_thread(self._inbox.note_look, made)

        async def read() -> datetime | None:
            return await self._in_thread(self._inbox.mailbox_read)

        bringers: dict[str, _Running] = {}
        if config.mailbox and Role.INTAKE in self.roles:
            keeping = Keeping(keep, mark, look, read, self._clock)
            poll, clock = config.mailbox.poll.total_seconds(), asyncio.get_running_loop().time
            bringers["mailbox"] = Fetcher(open_mailbox(config), keeping, poll, clock, points=self.points)
        if house := config.house.config:
            bringers["house"] = HouseProgram(self.house(house), Path(house).parent, self.environment)
        return bringers

    def _mark(self, name: str, given: str | None) -> str | None:
        """Keep a mark under this name, unless another server sharing the store was first; returns the one kept."""
        with self._database.transaction():
            if given is not None:
                self._database.add("meta", name=name, value=given)
            return self._database.meta(name)

    async def _keep(self, letters: list[tuple[Envelope, bytes]]) -> list[bool]:
        """Store letters that arrived together; returns False for each that exceeds its network's limit today."""
        if not self._database.engine.in_place():
            self.stop()
            raise StoreError("the store is not where it was opened")
        room = self._database.engine.room()
        if room is not None and room < self.config.limits.reserve_bytes:
            raise FullError("the room that is left is for the letters that are here")
        rows = await self._in_thread(self._inbox.put_all, letters, self._clock, self.config.limits.letters_per_day)
        self._came(len(letters))
        return [row is not None for row in rows]

    def _came(self, letters: int) -> None:
        """Wake the desk for new letters; during a flood, make it rest more than it works."""
        if self._desk is not None and self._flood.is_on(letters):
            self._desk.ease()
        self.wake()

    async def _in_thread(self, call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._sending_thread, call, *arguments)
