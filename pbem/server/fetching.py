"""Fetching letters from a mailbox: kept first, on disk and fsynced, and only then moved to where nobody looks again.

Letters from before the first look are somebody else's: they are left alone for good. A crash between keeping and
moving brings the same letter again; the inbox recognises it, because the envelope is made from the letter alone. A
letter that a provider does not give, or does not let go, keeps back no other. Implements operating.md, "A mailbox is
enough", and reliability.md, promises 1 and 2.
"""

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, TypeVarTuple

import msgspec
import structlog

from pbem.failpoints import Failpoints, passing
from pbem.mail.mail_addresses import without_tags
from pbem.mailbox import Denied, MailboxUnreachable, Withheld, password, token
from pbem.mailbox.maildir import Maildir
from pbem.smtp.rounds import in_thread
from pbem.store.inbox import Envelope, Look

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from pbem.config.server import Config
    from pbem.mailbox import Handle, Mailbox

FIRST_RETRY, LONGEST_RETRY = 1.0, 300.0  # seconds until a mailbox that could not be used is tried again
DENIED_RETRY = 60.0  # providers lock an account out whose password was wrong too often
WITHHELD, RARELY = 300.0, 3600.0  # seconds until a letter is asked for again that the provider did not give
HELD = 24 * 3600.0  # seconds for which deadlines wait for such a letter: a provider may never give it
AT_START = 3600.0  # seconds of that at least after a start: it may have come while the server was down
NOTED = timedelta(seconds=30)  # until an answer of the mailbox is noted again
KEPT = 3600.0  # seconds until a letter that was kept is moved again, if it is still there
REST = 0.2  # seconds after a look that found nothing: a provider may say at any moment that something came
GOODBYE = 5.0  # seconds that the mailbox gets when the daemon stops
HEAD = 64 * 1024  # octets that are searched for headers
MOST = 50  # recipients that are given
LINE = 8000  # octets of one header that are searched for addresses
DELIVERED = (b"delivered-to", b"x-original-to", b"to", b"cc")
_FOLD = re.compile(rb"\r?\n(?=[ \t])")
_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,255}@[A-Za-z0-9.-]{1,255}")
_BRACKETED = re.compile(rf"<({_ADDRESS.pattern})>[^<>]*$")

Arguments = TypeVarTuple("Arguments")
R = TypeVar("R")

log = structlog.get_logger()


def open_mailbox(config: Config) -> Mailbox:
    """The mailbox that a configuration names."""
    box, most = config.mailbox, config.limits.message_bytes
    if box.maildir:
        return Maildir(Path(box.maildir), most=most)
    from pbem.mailbox.imap import Imap

    return Imap(
        box.imap,
        box.port,
        box.tls,
        box.user or config.mail_address,
        lambda: token(box.token_command) if box.token_command else password(box.password_file, box.password_command),
        most=most,
        xoauth2=bool(box.token_command),
        spam=box.spam,
        timeout=box.timeout.total_seconds(),
    )


def envelope(raw: bytes, knows: Callable[[str], bool], address: str) -> Envelope:
    """The envelope of a letter in our mailbox; it is for us, whatever recipients it names."""
    ours = tuple(filter(knows, recipients(raw)))
    return Envelope(without_tags(sender(raw)), ours or (address,))


def sender(raw: bytes) -> str:
    """The address in the topmost Return-Path, "" for the null sender; if no server wrote one, that in From."""
    author = ""
    for name, value in _headers(raw):
        if name == b"return-path":
            if "<>" in "".join(value.split()):
                return ""
            if found := _ADDRESS.search(value):
                return found[0]
        elif name == b"from" and not author and (written := _BRACKETED.search(value) or _ADDRESS.search(value)):
            author = written[written.lastindex or 0]
    return author


def recipients(raw: bytes) -> tuple[str, ...]:
    """All addresses to which a letter was delivered or written, each once, as written there."""
    found: dict[bytes, list[str]] = {name: [] for name in DELIVERED}
    for name, value in _headers(raw):
        if name in found:
            found[name] += _ADDRESS.findall(value)
    return tuple(dict.fromkeys(address for name in DELIVERED for address in found[name]))[:MOST]


def _headers(raw: bytes) -> Iterator[tuple[bytes, str]]:
    head = re.split(rb"\r?\n\r?\n", raw[:HEAD], maxsplit=1)[0]
    for line in _FOLD.sub(b"", head).splitlines():
        name, colon, value = line.partition(b":")
        if colon:
            yield name.strip().lower(), value[:LINE].decode("latin-1")


class Keeping(msgspec.Struct, frozen=True):
    """Keeps what a fetcher found; it is on disk when this returns. Raises if any of it fails."""

    letter: Callable[[bytes], Coroutine[None, None, None]]
    mark: Callable[[str | None], Coroutine[None, None, str | None]]
    """Keep the mark of what is left alone, if one is given; the one that is kept, None before the first look."""
    look: Callable[[Look], Coroutine[None, None, None]]
    """Note a look, without which the matches' clocks stand."""
    read: Callable[[], Coroutine[None, None, datetime | None]]
    """When the mailbox was last read to its end, before this start."""
    now: Callable[[], datetime]


class _Missing(NamedTuple):
    """A letter that the mailbox does not give: since when, in seconds, and since when it may lie there."""

    since: float
    came: datetime


@dataclass(eq=False)
class Fetcher:
    """Reads a mailbox in a thread of its own until `stop`; hands each letter to be kept."""

    mailbox: Mailbox
    keeping: Keeping
    poll: float
    clock: Callable[[], float]
    """Seconds that go by, whatever the time is said to be."""
    points: Failpoints = passing

    def __post_init__(self) -> None:
        self._passed_over: dict[Handle, float] = {}
        """Letters that are not asked for, and until when."""
        self._withheld: dict[Handle, _Missing] = {}
        self._read: datetime
        """The beginning of the last look to the end: none but those letters is older there."""
        self._missed: float | None = None
        """Since when letters are missing that are not given at the first look."""
        self._noted = dict[bool, datetime]()
        """When an answer of the mailbox was noted last, and when a whole look."""
        self._stopped = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._fetching: asyncio.Future[None] | None = None

    async def work(self) -> None:
        """Fetch until `stop`; then a mailbox that does not answer is waited for only a moment."""
        self._fetching = in_thread("mailbox", self._fetch_all)
        await asyncio.wait([self._fetching])
        if not self._fetching.cancelled():
            self._fetching.result()

    def stop(self) -> None:
        """Begin to stop."""
        if not self._stopped.is_set():
            self._stopped.set()
            self.mailbox.interrupt()
            if self._fetching is not None:
                self._loop.call_later(GOODBYE, self._fetching.cancel)

    def _fetch_all(self) -> None:
        with closing(self.mailbox):
            retry = FIRST_RETRY
            begun = False
            while not self._stopped.is_set():
                try:
                    begun = begun or self._begin()
                    if not self._look():
                        self._stopped.wait(REST)
                    if self._stopped.is_set():
                        return
                    self.mailbox.wait(self.poll)
                    retry = FIRST_RETRY
                except MailboxUnreachable as error:
                    if self._stopped.is_set():
                        return
                    wait = max(retry, DENIED_RETRY) if isinstance(error, Denied) else retry
                    log.warning("mailbox out of reach", trouble=str(error), again=wait)
                    self.mailbox.close()
                    self._stopped.wait(wait)
                    retry = min(retry * 2, LONGEST_RETRY)

    def _look(self) -> bool:
        """Fetch, keep and move the letters that are there; returns whether there were any.

        Each move that fails costs a connection: after the first, the others of this look stay where they are.
        """
        began, now = self.keeping.now(), self.clock()
        self._passed_over = {handle: until for handle, until in self._passed_over.items() if until > now}
        came, moves = False, True
        try:
            for found in self.mailbox.letters(self._passed_over.__contains__):
                self._note(Look(self.keeping.now()))
                came = True
                self._withheld.pop(found.handle, None)
                self.points("letter fetched")
                try:
                    self._in_loop(self.keeping.letter, found.raw)
                except Exception as error:
                    log.error("letter not kept", trouble=type(error).__name__)
                    raise MailboxUnreachable("a letter could not be kept") from error
                log.debug("letter fetched", octets=len(found.raw))
                self.points("letter kept")
                # Providers say that they moved a letter, and show it again.
                self._passed_over[found.handle] = self.clock() + KEPT
                moves = moves and self._moved(found.handle)
                self.points("letter moved")
                if self._stopped.is_set():
                    return came
        except Withheld as error:
            self._put_off(error, now)
            if error.broken_off:
                self._note(Look(self.keeping.now()))
                return came
        # Letters that were neither passed over nor withheld again are gone.
        self._withheld = {handle: found for handle, found in self._withheld.items() if handle in self._passed_over}
        self._read, self._missed = began, None
        # Whoever brings about one such letter after the other puts a deadline off by a day, and not for ever.
        waits = [found.came for found in self._withheld.values() if found.since + HELD > self.clock()]
        self._note(Look(self.keeping.now(), min([began, *waits])))
        return came

    def _put_off(self, error: Withheld, now: float) -> None:
        """Ask for withheld letters again later, and more seldom the longer they are missing."""
        log.warning("letters not fetched", trouble=str(error), again=WITHHELD)
        missing = _Missing(now if self._missed is None else self._missed, self._read)
        self._withheld = dict.fromkeys(error.handles, missing) | self._withheld
        for handle in error.handles:
            again = min(max(now - self._withheld[handle].since, WITHHELD), RARELY)
            self._passed_over[handle] = self.clock() + again

    def _note(self, look: Look) -> None:
        """Note that the mailbox answered, as a mailbox that does not is an outage of the server.

        At once if the machine slept: the desk must know before it reads what came then.
        """
        now, whole = look.answered, look.read is not None
        if now - self._noted.get(whole, now - NOTED) < NOTED:
            return
        try:
            self._in_loop(self.keeping.look, look)
        except Exception as error:
            log.error("look not noted", trouble=type(error).__name__)
        else:
            self._noted |= {False: now, whole: now}

    def _moved(self, handle: Handle) -> bool:
        """Move a letter that was kept; if that fails, it stays, and keeps back no other."""
        try:
            self.mailbox.done(handle)
        except MailboxUnreachable as error:
            if not self._stopped.is_set():
                log.warning("letter not moved", trouble=str(error), again=KEPT)
            return False
        return True

    def _begin(self) -> bool:
        """Leave alone what was there at the first look; raises `MailboxUnreachable` if that cannot be recorded."""
        try:
            read = self._in_loop(self.keeping.read)
            mark = self._in_loop(self.keeping.mark, None)
            if mark is None:
                there = self.mailbox.mark(self.keeping.now())
                mark = self._in_loop(self.keeping.mark, there.mark) or there.mark
                log.info("what lay in the mailbox before is left alone", letters=there.letters)
        except MailboxUnreachable:
            raise
        except Exception as error:
            log.error("mark not kept", trouble=type(error).__name__)
            raise MailboxUnreachable("what is left alone could not be kept") from error
        self.mailbox.leave(mark)
        now = self.keeping.now()
        self._read = read or now
        self._missed = self.clock() - min((now - self._read).total_seconds(), HELD - AT_START)
        if read is None:
            self._note(Look(now, now))
        return True

    def _in_loop(self, call: Callable[[*Arguments], Coroutine[None, None, R]], *arguments: *Arguments) -> R:
        return asyncio.run_coroutine_threadsafe(call(*arguments), self._loop).result()
