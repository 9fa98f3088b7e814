"""Delivery: sends the outbox to the smarthost, with retries, in exactly the bytes that were stored.

Every letter has its own return path (VERP), unless a provider accepts only the account's address. One call to the
store records outcomes and leases the next letters, in one commit. Implements reliability.md, promise 3 and cases 27
and 29; RFC 5321 4.5.4.1.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import aiosmtplib
import structlog

from pbem.failpoints import Failpoints, passing
from pbem.mail.compose import ADDRESS
from pbem.mail.delivery_status import RETURN_PATH
from pbem.smtp.rounds import TROUBLE_WAIT, is_set_within
from pbem.store.errors import StoreError
from pbem.store.outbox import Sent

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from pbem.config.mail import Delivery as Schedule
    from pbem.config.mail import SmarthostConfig
    from pbem.smtp.rounds import TaskServices
    from pbem.store.outbox import Outbox, OutboxRow

KEPT_REPLY = 500  # characters of a reply that are kept
GOODBYE = 5.0  # seconds that the smarthost has to answer QUIT
PATIENCE = 10.0  # seconds for letters under way to finish when the daemon stops
AUTHENTICATION = range(530, 540)  # RFC 4954 6: about our account, not about the letter
CONGESTED = "5.4.5"  # RFC 3463 3.5: so is this; Gmail says it of an account that sent too much today
LETTERS_PER_CONNECTION = 50  # many servers end a connection after 100
KEPT = 2.0  # seconds that a connection stays open for the next letter, as in Postfix
SOON = 0.02  # seconds that an outcome may wait, to be recorded together with others
DAY = timedelta(days=1)
LETTERS_AHEAD = 16  # leased letters per connection, and as many more whose outcome is not recorded yet

log = structlog.get_logger()


class Transport(Protocol):
    """A way to send letters."""

    async def send(self, sender: str, recipient: str, raw: bytes) -> str:
        """Send one letter and return the reply; raises `Permanent` or `Temporary`."""

    async def rest(self) -> None:
        """Close idle connections, because nothing will be sent for a while."""


class Permanent(Exception):
    """The letter was refused for good; the text is the reply."""


class Temporary(Exception):
    """The letter was not accepted this time; the text is the reply or the error."""


_ABOUT_THE_LETTER = (aiosmtplib.SMTPSenderRefused, aiosmtplib.SMTPRecipientRefused, aiosmtplib.SMTPDataError)
"""The refusals of MAIL, RCPT, and DATA or the final dot."""


class _Ended(Exception):
    """An idle connection was closed by the smarthost meanwhile."""


@dataclass(eq=False)
class _Connection:
    """A connection to the smarthost, which carries one letter at a time."""

    client: aiosmtplib.SMTP
    letters: int = 0
    """The number of letters that it carried, or tried to."""
    begun: bool = False
    """True if the server took the MAIL of the last of them, and so heard of it."""

    async def send(self, sender: str, recipient: str, raw: bytes) -> str:
        """Send a letter and return the server's reply; raises aiosmtplib's exceptions and OSError."""
        self.letters, self.begun = self.letters + 1, False
        await self.client.mail(sender)
        self.begun = True
        await self.client.rcpt(recipient)
        return (await self.client.data(raw)).message

    async def reset(self) -> bool:
        """Forget a refused letter; return whether the connection is ready for the next."""
        with contextlib.suppress(aiosmtplib.SMTPException, OSError):
            await self.client.rset()
            return True
        return False

    async def end(self) -> None:
        """Say goodbye if it is still open; errors here do not affect any letter."""
        if self.client.is_connected and self.letters:
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                await self.client.quit(timeout=GOODBYE)
        self.client.close()


@dataclass(eq=False)
class Smarthost:
    """The mail server that takes our letters; a connection carries one letter after the other.

    `token` returns an access token (XOAUTH2) instead of the password, for each connection; it may raise OSError.
    """

    config: SmarthostConfig
    server: str
    password: str = ""
    token: Callable[[], Awaitable[str]] | None = None
    tls_context: ssl.SSLContext | None = None
    _idle: list[_Connection] = field(default_factory=list, init=False)

    async def send(self, sender: str, recipient: str, raw: bytes) -> str:
        """Send one letter and return the reply; raises `Permanent` or `Temporary`."""
        if not ADDRESS.fullmatch(recipient):
            # Any other text could add recipients or commands to the session.
            raise Permanent("not sent: no plain address")
        kept = self._idle.pop() if self._idle else None
        try:
            if kept is not None:
                with contextlib.suppress(_Ended):
                    return _printable(await self._carry(kept, sender, recipient, raw))
            line = _Connection(self._client())
            return _printable(await self._carry(line, sender, recipient, raw))
        except aiosmtplib.SMTPResponseException as error:
            # For good only if a 5xx was about this letter: to MAIL, RCPT, DATA, or the final dot.
            ours = error.code in AUTHENTICATION or error.message.startswith(CONGESTED)
            about_it = isinstance(error, _ABOUT_THE_LETTER) and not ours
            refusal = Permanent if about_it and 500 <= error.code < 600 else Temporary
            raise refusal(_printable(f"{error.code} {error.message}")) from None
        except (aiosmtplib.SMTPException, OSError) as error:
            # If the connection broke after the final dot, the letter may have arrived. We send the same bytes with
            # the same Message-ID again, by which the receiver can recognise the copy.
            raise Temporary(_printable(f"{type(error).__name__}: {error}")) from None

    async def rest(self) -> None:
        """Close all idle connections with QUIT."""
        while self._idle:
            await self._idle.pop().end()

    async def _carry(self, line: _Connection, sender: str, recipient: str, raw: bytes) -> str:
        """Send a letter over a connection, and keep that for the next letter if possible.

        Raises `_Ended` if it is an idle connection that has ended meanwhile.
        """
        kept = line.letters > 0
        usable = False
        try:
            if not kept:
                await line.client.connect()
            reply = await line.send(sender, recipient, raw)
            usable = True
        except (aiosmtplib.SMTPException, OSError) as error:
            # The smarthost closed it before this letter began: a new connection may work.
            if kept and not line.begun:
                raise _Ended from error
            # A refused letter does not spoil the connection for the next.
            usable = isinstance(error, _ABOUT_THE_LETTER) and line.begun and await line.reset()
            raise
        finally:
            if usable and line.client.is_connected and line.letters < LETTERS_PER_CONNECTION:
                self._idle.append(line)
            else:
                await line.end()
        return reply

    def _client(self) -> aiosmtplib.SMTP:
        config = self.config
        return aiosmtplib.SMTP(
            hostname=config.host,
            port=config.port,
            username=config.user or None,
            password=self.password if config.user and self.token is None else None,
            oauth_token_generator=self.token,
            local_hostname=self.server,
            timeout=config.timeout.total_seconds(),
            use_tls=config.tls == "implicit",
            start_tls=config.tls == "starttls",  # True: no sending without it
            tls_context=self.tls_context if config.tls != "none" else None,
        )


@dataclass(eq=False)
class Deliverer:
    """The task that empties the outbox; set `wake` when it gets new letters."""

    outbox: Outbox
    transport: Transport
    schedule: Schedule
    services: TaskServices
    _: KW_ONLY
    address: str
    delimiter: str | None
    points: Failpoints = passing

    def __post_init__(self) -> None:
        self.wake = asyncio.Event()
        self._ahead = LETTERS_AHEAD * self.schedule.concurrency
        self._leased: deque[OutboxRow] = deque()
        self._outcomes: list[tuple[OutboxRow, Sent]] = []
        """The outcomes of letters, not yet on disk."""
        self._oldest_outcome = 0.0
        """The time of the oldest outcome, by the event loop's clock."""
        self._senders: set[asyncio.Task[None]] = set()
        self._under_way: set[int] = set()
        """The letters that senders are sending."""
        self._in_doubt = False
        """True if the store may have leased letters to us whose rows we never received."""
        self._stopping = False

    async def work(self) -> None:
        """Send letters as they come due, until `stop`; letters under way then get some time to finish."""
        while not self._stopping:
            self.wake.clear()
            try:
                wait = self._idle_time() or await self._exchange()
            except StoreError as error:
                log.error("outbox out of reach", trouble=type(error).__name__)
                wait = TROUBLE_WAIT
            except Exception:
                log.exception("outbox trouble")
                wait = TROUBLE_WAIT
            if not await is_set_within(self.wake, min(wait, KEPT)) and wait > KEPT:
                if not self._senders:
                    await self.transport.rest()
                await is_set_within(self.wake, wait - KEPT)
        # Let letters under way finish, and leave none leased.
        loop = asyncio.get_running_loop()
        give_up = loop.time() + PATIENCE
        await self._leave()
        while self._senders and (left := give_up - loop.time()) > 0:
            await asyncio.wait(self._senders, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            await self._leave()
        late = [*self._senders]
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        await self._leave()  # outcomes that came during the last exchange
        await self.transport.rest()

    def stop(self) -> None:
        """Start no further letter, and let `work` finish."""
        self._stopping = True
        self.wake.set()

    def envelope_sender(self, row: OutboxRow) -> str:
        """The envelope sender, to which a bounce comes back (VERP); nobody can guess it, and it reveals no number."""
        if self.delimiter is None:
            return self.address
        local, _, domain = self.address.rpartition("@")
        return f"{local}{self.delimiter}{RETURN_PATH}{row.token}@{domain}"

    def _idle_time(self) -> float:
        """The seconds until the next call to the store; 0 if it is due now.

        Senders work on the second half of the leased letters while one call records the outcomes of the first half.
        If letters take long, each outcome is recorded soon: until then, a crash would send the letter again.
        """
        if len(self._leased) <= self._ahead // 2:
            return 0.0 if self._outcomes or not self._leased else self.services.longest_wait
        if not self._outcomes:
            return self.services.longest_wait
        return max(self._oldest_outcome + SOON - asyncio.get_running_loop().time(), 0.0)

    async def _exchange(self) -> float:
        """Record outcomes, and lease more letters in the same call; returns the seconds until the next is due."""
        outcomes, self._outcomes = self._outcomes, []
        full = self._stopping or len(self._leased) > self._ahead // 2
        try:
            room = 0 if full else await self._room(len(outcomes))
            # The last exchange failed, perhaps after its commit: give back leased letters that we do not know.
            if self._in_doubt:
                known = [row.id for row in self._leased] + [row.id for row, _ in outcomes]
                await self.services.run(self.outbox.give_back_others, {*known, *self._under_way})
            self._in_doubt = True
            leased = await self.services.run(
                self.outbox.exchange, [sent for _, sent in outcomes], self.services.now(), room
            )
        except BaseException:
            self._outcomes = outcomes + self._outcomes
            raise
        self._in_doubt = False
        for row, sent in outcomes:
            self._recorded(row, sent)
        for number in leased.sealed:
            log.error("letter cannot be opened", outbox=number)
        if leased.rows:
            self.points("sending leased")
            self._leased.extend(leased.rows)
        self._send()
        if self._leased or leased.due is None or (not room and not full):
            return self.services.longest_wait
        return min(max((leased.due - self.services.now()).total_seconds(), 0.0), self.services.longest_wait)

    async def _room(self, outcomes: int) -> int:
        """The number of further letters that may be leased, with these outcomes not recorded yet."""
        room = self._ahead - len(self._leased)
        if not self.schedule.per_day:
            return room
        # A provider's daily limit counts letters that are delivered, and those that may be.
        ours = outcomes + len(self._leased) + len(self._senders)
        today = await self.services.run(self.outbox.delivered_since, self.services.now() - DAY)
        return max(min(room, self.schedule.per_day - today - ours), 0)

    def _send(self) -> None:
        """Start as many senders as the schedule allows."""
        while self._may_start() and len(self._senders) < self.schedule.concurrency:
            sender = asyncio.create_task(self._sender(self._leased.popleft()))
            self._senders.add(sender)
            sender.add_done_callback(self._ended)

    async def _sender(self, row: OutboxRow) -> None:
        """Send this letter, and then further leased ones."""
        while True:
            self._under_way.add(row.id)
            try:
                sent = await self._deliver(row)
            except Exception:
                log.exception("sending broke", outbox=row.id)
                sent = self._retried(row, "internal error")
            finally:
                self._under_way.discard(row.id)
            self._outcomes.append((row, sent))
            if len(self._outcomes) == 1:
                self._oldest_outcome = asyncio.get_running_loop().time()
            if len(self._outcomes) == 1 or not self._idle_time():
                self.wake.set()
            if not self._may_start():
                return
            row = self._leased.popleft()

    def _may_start(self) -> bool:
        """True if a leased letter may be started; not while too many outcomes wait for the disk."""
        return bool(self._leased) and not self._stopping and len(self._outcomes) < self._ahead

    def _ended(self, sender: asyncio.Task[None]) -> None:
        self._senders.discard(sender)
        # More letters may have been leased while this sender was finishing.
        self._send()
        self.wake.set()

    async def _deliver(self, row: OutboxRow) -> Sent:
        """Try one leased letter once."""
        self.points("sending begun")
        try:
            reply = await self.transport.send(self.envelope_sender(row), row.recipient, row.raw)
        except Temporary as trouble:
            return self._retried(row, str(trouble))
        except Permanent as refusal:
            return Sent(row.id, str(refusal), self.services.now(), "failed")
        self.points("smarthost said 250")
        return Sent(row.id, reply, self.services.now(), "delivered")

    def _retried(self, row: OutboxRow, reply: str) -> Sent:
        now = self.services.now()
        retry = retry_time(self.schedule, row.created, row.attempts, now)
        if retry is None and self.services.stops():
            retry = now + self.schedule.longest_retry
        if retry is None:
            return Sent(row.id, f"{reply} (given up after {row.attempts} attempts)", now, "failed")
        return Sent(row.id, reply, now, "waiting", retry)

    def _recorded(self, row: OutboxRow, sent: Sent) -> None:
        """Log the outcome of a letter, which is on disk now."""
        # A reply's first word: the rest may name the recipient, and must stay in the store.
        code = sent.reply.partition(" ")[0].rstrip(":")
        if sent.state == "delivered":
            self.points("sending settled")
            log.info("letter sent", outbox=row.id, octets=len(row.raw), attempts=row.attempts)
        elif sent.retry is not None:
            log.warning("letter waits", outbox=row.id, attempts=row.attempts, code=code, retry=sent.retry.isoformat())
        else:
            log.error("letter given up", outbox=row.id, attempts=row.attempts, code=code)
            self.services.settled()

    async def _leave(self) -> None:
        """Record outcomes until there are no more, and give back leased letters."""
        try:
            while self._outcomes:
                await self._exchange()
            if self._leased:
                await self.services.run(self.outbox.give_back, [row.id for row in self._leased])
                self._leased.clear()
        except Exception:
            # Leased letters wait again after the next start.
            log.exception("outbox trouble")


def retry_time(schedule: Schedule, created: datetime, attempts: int, now: datetime) -> datetime | None:
    """The time of the next retry after this number of attempts; None to give the letter up.

    The letter must be old, and must have had the attempts of that time: an outage makes it older without attempts.
    """
    longest = schedule.longest_retry.total_seconds()
    wait = tried = min(schedule.first_retry.total_seconds(), longest)
    for _ in range(attempts - 1):
        wait = min(wait * schedule.factor, longest)
        tried += wait
    retry = now + timedelta(seconds=wait)
    patience = schedule.give_up.total_seconds()
    return None if retry > created + schedule.give_up and tried > patience else retry


def _printable(reply: str) -> str:
    """A stranger's text, made safe for a log line and for the operator's letter."""
    return "".join(character if character.isprintable() else " " for character in reply)[:KEPT_REPLY]
