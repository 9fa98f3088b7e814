"""Sending the outbox to the smarthost, with retries, in exactly the bytes that were stored.

Here live the conversation with the smarthost, the judgement of its replies (again later, or never), the schedule
of retries, and the task that keeps a few letters under way, over connections that it uses again. Every letter has a
return path of its own (VERP). Nothing is composed or changed here. The store's
calls go through `run`, because they may wait for the disk; time is handed in.
Implements reliability.md, promise 3 and cases 27 and 29; RFC 5321 4.5.4.1.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar, TypeVarTuple

import aiosmtplib
import structlog

from pbem.mail.bounces import RETURN_PATH
from pbem.mail.compose import ADDRESS
from pbem.points import Points, passing
from pbem.store.database import StoreError
from pbem.store.outbox import Sent
from pbem.together import Together

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from datetime import datetime

    from pbem.config import Delivery as Schedule
    from pbem.config import Smarthost as SmarthostConfig
    from pbem.store.outbox import Outbox, OutboxRow

__all__ = ["Deliverer", "Permanent", "Run", "Smarthost", "Temporary", "Transport", "retry_time"]

REPLY = 500  # characters of a reply that are kept
LONGEST_WAIT = 60.0  # seconds; how long a step of the system clock can go unnoticed
TROUBLE_WAIT = 5.0  # seconds before the store is asked again after it had trouble
PATIENCE = 10.0  # seconds that letters under way get to finish when the daemon stops
AUTHENTICATION = range(530, 540)  # RFC 4954 6: about our account, not about the letter
LETTERS_PER_CONNECTION = 50  # many servers end a connection after 100

log = structlog.get_logger()
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Run(Protocol):
    """Runs a call to the store where it may wait."""

    async def __call__(self, call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
        """Call it with these arguments and give its result."""


class Transport(Protocol):
    """What letters are sent by."""

    async def send(self, sender: str, recipient: str, raw: bytes) -> str:
        """Send one letter and give the reply; raises `Permanent` or `Temporary`."""

    async def rest(self) -> None:
        """Nothing is to be sent for a while: let go of what was kept for the next letter."""


class Permanent(Exception):  # noqa: N818 - RFC 5321 4.2.1: permanent negative completion
    """The letter will never be taken; the text is the reply."""


class Temporary(Exception):  # noqa: N818 - RFC 5321 4.2.1: transient negative completion
    """The letter was not taken this time; the text is the reply or the trouble."""


@dataclass(slots=True)
class _Line:
    """A connection to the smarthost, and how many letters it carried."""

    client: aiosmtplib.SMTP
    letters: int = 0


class Smarthost:
    """The mail server that takes our letters; a connection carries one letter after the other."""

    def __init__(
        self, config: SmarthostConfig, *, server: str, password: str = "", tls_context: ssl.SSLContext | None = None
    ) -> None:
        self._config = config
        self._server = server
        self._password = password
        self._tls_context = tls_context
        self._idle: list[_Line] = []

    async def send(self, sender: str, recipient: str, raw: bytes) -> str:
        """Send one letter and give the reply; raises `Permanent` or `Temporary`."""
        if not ADDRESS.fullmatch(recipient):
            # aiosmtplib would repair it, and so write to somebody else.
            raise Permanent("not sent: no plain address")
        line = self._idle.pop() if self._idle else _Line(self._client())
        usable = False
        try:
            line = await self._greeted(line, sender)
            await line.client.rcpt(recipient)
            _, reply = await line.client.data(raw)
            usable = True
        except aiosmtplib.SMTPRecipientRefused as error:
            usable = await _reset(line.client)
            raise _judged(error) from None
        except aiosmtplib.SMTPResponseException as error:
            raise _judged(error) from None
        except (aiosmtplib.SMTPException, OSError) as error:
            # Nobody knows whether the letter arrived when the connection broke after the final dot:
            # the same bytes and Message-ID go out again, and the receiver can tell.
            raise Temporary(_clean(f"{type(error).__name__}: {error}")) from None
        finally:
            line.letters += 1
            if usable and line.client.is_connected and line.letters < LETTERS_PER_CONNECTION:
                self._idle.append(line)
            else:
                await _farewell(line.client)
        return _clean(reply)

    async def rest(self) -> None:
        """Say goodbye on all connections that are not in use."""
        while self._idle:
            await _farewell(self._idle.pop().client)

    async def _greeted(self, line: _Line, sender: str) -> _Line:
        """The connection once it has taken MAIL; a new one in its place when it was kept and has ended meanwhile."""
        try:
            if not line.client.is_connected:
                await line.client.connect()
            await line.client.mail(sender)
        except (aiosmtplib.SMTPException, OSError):
            if not line.letters:
                raise
            line.client.close()
        else:
            return line
        line = _Line(self._client())
        try:
            await line.client.connect()
            await line.client.mail(sender)
        except BaseException:
            line.client.close()
            raise
        return line

    def _client(self) -> aiosmtplib.SMTP:
        config = self._config
        return aiosmtplib.SMTP(
            hostname=config.host,
            port=config.port,
            username=config.user or None,
            password=self._password if config.user else None,
            local_hostname=self._server,
            timeout=config.timeout.total_seconds(),
            use_tls=config.tls == "implicit",
            start_tls=config.tls == "starttls",  # True: no sending without it
            tls_context=self._tls_context if config.tls != "none" else None,
        )


class Deliverer:
    """The task that empties the outbox; `wake` is set when new letters were put into it."""

    def __init__(  # noqa: PLR0913 - the outside world, handed in piece by piece
        self,
        outbox: Outbox,
        transport: Transport,
        schedule: Schedule,
        *,
        address: str,
        delimiter: str,
        now: Callable[[], datetime],
        run: Run,
        settled: Callable[[], None] = lambda: None,
        points: Points = passing,
    ) -> None:
        self.wake = asyncio.Event()
        self._outbox = outbox
        self._transport = transport
        self._schedule = schedule
        self._local, _, self._domain = address.rpartition("@")
        self._delimiter = delimiter
        self._now = now
        self._run = run
        self._settled = settled
        self._points = points
        self._settle: Together[Sent, None] = Together(lambda sent: run(outbox.settle, sent), schedule.concurrency)
        self._under_way: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def work(self) -> None:
        """Send letters as they come due, until `stop`; letters under way then get some time to finish."""
        while not self._stopping:
            self.wake.clear()
            try:
                await self._start_due()
                if not self._under_way:
                    await self._transport.rest()
                wait = await self._wait()
            except StoreError as error:
                log.error("outbox out of reach", trouble=type(error).__name__)
                wait = TROUBLE_WAIT
            except Exception:
                # One letter that cannot be opened stays leased, out of the others' way.
                log.exception("outbox trouble")
                wait = TROUBLE_WAIT
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), wait)
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=PATIENCE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._transport.rest()

    def stop(self) -> None:
        """Begin no further letter, and let `work` come to its end."""
        self._stopping = True
        self.wake.set()

    def envelope_sender(self, row: OutboxRow) -> str:
        """The sender that a bounce comes back to (VERP): nobody can guess it, and it counts nothing."""
        return f"{self._local}{self._delimiter}{RETURN_PATH}{row.token}@{self._domain}"

    async def deliver(self, row: OutboxRow) -> None:
        """Try one leased letter once and note what came of it."""
        self._points("sending begun")
        try:
            reply = await self._transport.send(self.envelope_sender(row), row.recipient, row.raw)
        except Temporary as trouble:
            await self._again(row, str(trouble))
        except Permanent as refusal:
            await self._fail(row, str(refusal))
        else:
            self._points("smarthost said 250")
            await self._settle(Sent(row.id, reply, self._now(), "delivered"))
            self._points("sending settled")
            log.info("letter sent", outbox=row.id, octets=len(row.raw), attempts=row.attempts)

    async def _again(self, row: OutboxRow, reply: str) -> None:
        now = self._now()
        retry = retry_time(self._schedule, row.created, row.attempts, now)
        if retry is None:
            await self._fail(row, f"{reply} (given up after {row.attempts} attempts)")
            return
        await self._settle(Sent(row.id, reply, now, "waiting", retry))
        log.warning("letter waits", outbox=row.id, attempts=row.attempts, code=_code(reply), retry=retry.isoformat())

    async def _fail(self, row: OutboxRow, reply: str) -> None:
        await self._settle(Sent(row.id, reply, self._now(), "failed"))
        log.error("letter given up", outbox=row.id, attempts=row.attempts, code=_code(reply))
        self._settled()

    async def _start_due(self) -> None:
        while not self._stopping and len(self._under_way) < self._schedule.concurrency:
            free = self._schedule.concurrency - len(self._under_way)
            rows = await self._run(self._outbox.lease_some, self._now(), free)
            if not rows:
                return
            self._points("sending leased")
            for row in rows:
                task = asyncio.create_task(self._guarded(row))
                self._under_way.add(task)
                task.add_done_callback(self._finished)

    async def _guarded(self, row: OutboxRow) -> None:
        try:
            await self.deliver(row)
        except Exception:
            log.exception("sending broke", outbox=row.id)
            await self._again(row, "internal error")

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()):
            # Not even the failure could be noted: the letter stays leased until the next start.
            log.error("outcome of sending lost", trouble=type(error).__name__)
        self.wake.set()

    async def _wait(self) -> float:
        if len(self._under_way) >= self._schedule.concurrency:
            return LONGEST_WAIT
        due = await self._run(self._outbox.next_due)
        if due is None:
            return LONGEST_WAIT
        return min(max((due - self._now()).total_seconds(), 0.0), LONGEST_WAIT)


def retry_time(schedule: Schedule, created: datetime, attempts: int, now: datetime) -> datetime | None:
    """When to try again after so many attempts, or None when the letter is to be given up."""
    longest = schedule.longest_retry.total_seconds()
    wait = schedule.first_retry.total_seconds()
    for _ in range(attempts - 1):
        wait = min(wait * schedule.factor, longest)
    retry = now + timedelta(seconds=min(wait, longest))
    return None if retry > created + schedule.give_up else retry


def _judged(error: aiosmtplib.SMTPResponseException) -> Permanent | Temporary:
    """Permanent only when a 5xx was said about this very letter: to MAIL, RCPT, or the final dot."""
    text = _clean(f"{error.code} {error.message}")
    about_letter = isinstance(
        error, aiosmtplib.SMTPSenderRefused | aiosmtplib.SMTPRecipientRefused | aiosmtplib.SMTPDataError
    )
    if about_letter and 500 <= error.code < 600 and error.code not in AUTHENTICATION:
        return Permanent(text)
    return Temporary(text)


async def _reset(client: aiosmtplib.SMTP) -> bool:
    """Whether the connection is ready for the next letter after one that was refused."""
    with contextlib.suppress(aiosmtplib.SMTPException, OSError):
        await client.rset()
        return True
    return False


async def _farewell(client: aiosmtplib.SMTP) -> None:
    """End the conversation; what goes wrong here changes nothing about the letter."""
    if client.is_connected:
        with contextlib.suppress(aiosmtplib.SMTPException, OSError):
            await client.quit(timeout=5)
    client.close()


def _code(reply: str) -> str:
    """A reply's first word, for the log: the rest may name the recipient, and stays in the store."""
    return reply.partition(" ")[0].rstrip(":")


def _clean(reply: str) -> str:
    """A stranger's words, fit for a log line and for the operator's letter."""
    return "".join(character if character.isprintable() else " " for character in reply)[:REPLY]
