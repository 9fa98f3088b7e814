"""A mailbox at a provider, read by IMAP (RFC 9051 and 3501): the one module that knows imap-tools.

The connection is opened when it is needed, and dropped at the first trouble. Nothing is marked as read, and nothing
is deleted unless a copy is in another folder (RFC 6851). UIDs identify letters as long as UIDVALIDITY stays the same;
after that, letters that are left alone are recognised by the day on which they came. No answer is trusted to be
sound, or to end. Implements operating.md, "A mailbox is enough".
"""

from __future__ import annotations

import contextlib
import imaplib
import itertools
import json
import re
import socket
import ssl
import threading
from dataclasses import KW_ONLY, dataclass, field
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

import imap_tools

from pbem.mailbox import DONE, Denied, FetchedLetter, Handle, LeftAlone, MailboxUnreachable, Withheld, none_skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

INBOX = "INBOX"
JUNK = "\\Junk"  # RFC 6154
SPAM = frozenset({"spam", "junk", "junk mail", "junk e-mail", "bulk", "bulk mail"})
LOGGED_OFF = 25 * 60.0  # seconds after which IDLE is begun anew (RFC 2177: before 29 minutes)
ANSWER = 4 * 1024 * 1024  # octets of the answer to one command, beside a letter's; a search that finds 400,000 fits
WITHHELD = 10  # letters that cannot be fetched, of a folder in one look: each costs three connections
_PERSONAL = re.compile(rb'\(\("((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"')  # of NAMESPACE (RFC 2342)
_UID = re.compile(rb"\bUID ([0-9]+)\b", re.IGNORECASE)

Result = TypeVar("Result")
Tls = Literal["none", "starttls", "implicit"]


class _Client(imaplib.IMAP4):
    """imaplib's client with limits: imaplib believes any length, and reads an endless answer until memory is full."""

    most = ANSWER
    _came = 0

    def send(self, data: bytes) -> None:  # type: ignore[override] # any buffer, says typeshed
        self._came = 0
        super().send(data)

    def readline(self) -> bytes:
        line = super().readline()
        self._count(len(line))
        return line

    def read(self, size: int) -> bytes:
        self._count(size)
        return super().read(size)

    def says_more(self) -> bool:
        """True if a line came together with the last one, which the socket does not show."""
        timeout = self.sock.gettimeout()
        self.sock.settimeout(0)
        try:
            line = self.readline()
        except OSError:  # it would have to wait
            return False
        finally:
            self.sock.settimeout(timeout)
        if line and not line.endswith(b"\n"):
            raise self.abort("half a line")
        return bool(line)

    def _count(self, octets: int) -> None:
        self._came += octets
        if self._came > self.most:
            raise self.abort("an answer is too long")


class _TlsClient(_Client, imaplib.IMAP4_SSL):
    """The same client by TLS from the beginning."""


class _Box(imap_tools.MailBoxUnencrypted):
    def _get_mailbox_client(self) -> imaplib.IMAP4:
        return _Client(self._host, self._port, self._timeout)


class _TlsBox(imap_tools.MailBox):
    def _get_mailbox_client(self) -> imaplib.IMAP4:
        return _TlsClient(self._host, self._port, ssl_context=self._ssl_context, timeout=self._timeout)


def _status(folder: str, box: imap_tools.BaseMailBox) -> dict[str, int]:
    return box.folder.status(folder, ["MESSAGES", "UIDNEXT", "UIDVALIDITY"])


def _accepted(answer: tuple[str, Result]) -> Result:
    """The words of a server's answer; raises `imaplib.IMAP4.error` if it refused."""
    status, told = answer
    if status != "OK":
        raise imaplib.IMAP4.error("refused")
    return told


@dataclass(eq=False)
class Imap:
    """The letters of an account, each fetched up to `most` octets and one more; a `Mailbox`.

    `password` is called at each connection; with `xoauth2` it gives an access token. `spam` names the folder of
    spam if the server does not.
    """

    host: str
    port: int
    tls: Tls
    user: str
    password: Callable[[], str]
    _: KW_ONLY
    most: int
    xoauth2: bool = False
    spam: str = ""
    timeout: float = 60.0
    tls_context: ssl.SSLContext | None = None
    _box: imap_tools.BaseMailBox | None = field(default=None, init=False)
    _folders: list[str] = field(default_factory=list, init=False)
    _done: str = field(default="", init=False)
    _selected: tuple[str, str] = field(default=("", ""), init=False)
    _since: date | None = field(default=None, init=False)
    _first: dict[str, tuple[str, int]] = field(default_factory=dict, init=False)
    """The UIDVALIDITY and the first UID of what is not left alone, by folder."""
    _stop: threading.Event = field(default_factory=threading.Event, init=False)

    def mark(self, now: datetime) -> LeftAlone:
        """The mark: each folder's UIDVALIDITY and UIDNEXT, and a day for folders in which those do not help."""
        self._do(lambda box: box.client.noop())
        first, count = {}, 0
        for folder in self._folders:
            told = self._do(partial(_status, folder))
            first[folder] = (str(told["UIDVALIDITY"]), told["UIDNEXT"])
            count += told["MESSAGES"]
        # By its own clock and zone the server may be a day behind.
        since = now.date() - timedelta(days=1)
        return LeftAlone(json.dumps({"since": since.isoformat(), "first": first}), count)

    def leave(self, mark: str) -> None:
        """Leave alone the letters that were there when this mark was made."""
        told = json.loads(mark)
        self._since = date.fromisoformat(told["since"])
        self._first = {folder: (validity, uid) for folder, (validity, uid) in told["first"].items()}

    def letters(self, skips: Callable[[Handle], bool] = none_skipped) -> Iterator[FetchedLetter]:
        """The letters in the inbox and in the folder of spam."""
        self._do(lambda box: box.client.noop())
        withheld, trouble, broken_off = list[Handle](), "", False
        for folder in self._folders:
            uids, validity = self._do(partial(self._uids, folder))
            for uid in uids:
                handle = Handle(folder, uid, validity)
                if skips(handle):
                    continue
                try:
                    raw = self._in_two_tries(partial(self._fetch, handle))
                except Denied:
                    raise
                except MailboxUnreachable as error:
                    trouble = str(error)
                    self._do(lambda box: box.client.noop())  # a server that answers this breaks off at the letter
                    withheld.append(handle)
                    if broken_off := len(withheld) >= WITHHELD:
                        break
                    continue
                if raw is not None:
                    yield FetchedLetter(raw, handle)
        if withheld:
            raise Withheld(withheld, trouble, broken_off=broken_off)

    def done(self, handle: Handle) -> None:
        """Move a letter to the folder of read letters."""

        def move(box: imap_tools.BaseMailBox) -> None:
            if self._select(box, handle.folder) != handle.validity:
                return
            if "MOVE" in box.client.capabilities:
                box.move([handle.name], self._done)
                return
            box.copy([handle.name], self._done)
            # EXPUNGE alone would take away what others marked, too (RFC 4315 2.1).
            _accepted(box.client.uid("STORE", handle.name, "+FLAGS.SILENT", "(\\Deleted)"))
            if "UIDPLUS" in box.client.capabilities:
                _accepted(box.client.uid("EXPUNGE", handle.name))

        self._in_two_tries(move)

    def wait(self, seconds: float) -> None:
        """Return when the server says that something came, if it can (IDLE)."""
        if self._stop.is_set():
            return
        if not self._do(lambda box: "IDLE" in box.client.capabilities):
            self._stop.wait(seconds)
            return

        def idle(box: imap_tools.BaseMailBox) -> None:
            self._select(box, INBOX)
            with box.idle as idle:
                assert isinstance(box.client, _Client)
                if not box.client.says_more():
                    idle.poll(min(seconds, LOGGED_OFF))

        try:
            self._do(idle)
        except MailboxUnreachable:
            if not self._stop.is_set():
                raise

    def interrupt(self) -> None:
        """Make waiting calls return: the connection is cut."""
        self._stop.set()
        box = self._box
        if box is not None:
            with contextlib.suppress(OSError):
                box.client.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Log out."""
        if self._box is not None:
            with contextlib.suppress(Exception):
                self._box.logout()
        self._drop()

    def _in_two_tries(self, call: Callable[[imap_tools.BaseMailBox], Result]) -> Result:
        """Do something again, on a new connection, if it failed: connections break at any moment."""
        try:
            return self._do(call)
        except Denied:
            raise  # a password that is wrong again and again locks the account
        except MailboxUnreachable:
            return self._do(call)

    def _do(self, call: Callable[[imap_tools.BaseMailBox], Result]) -> Result:
        """Do something on the connection, which is opened if need be, and dropped if this fails."""
        if self._stop.is_set():
            raise MailboxUnreachable("interrupted")
        try:
            return call(self._open() if self._box is None else self._box)
        except MailboxUnreachable:
            self._drop()
            raise
        except Exception as error:
            # A server may say anything, and the libraries that read it raise anything. What it says may name an
            # address; of its words none is passed on.
            self._drop()
            said = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise MailboxUnreachable(f"{self.host}:{self.port}: {said}") from error

    def _drop(self) -> None:
        box, self._box = self._box, None
        if box is not None:
            with contextlib.suppress(Exception):
                box.client.shutdown()

    def _open(self) -> imap_tools.BaseMailBox:
        password = self.password()
        box = self._connected()
        assert isinstance(box.client, _Client)
        box.client.most = ANSWER + self.most
        self._box = box
        self._selected = ("", "")
        # LOGIN carries ASCII alone; RFC 4616 carries the rest.
        login: Callable[..., object] = box.login if f"{self.user}{password}".isascii() else box.login_utf8
        if self.xoauth2:
            login = box.xoauth2
        try:
            login(self.user, password, initial_folder=None)
        except imaplib.IMAP4.abort:
            raise
        except (imaplib.IMAP4.error, imap_tools.MailboxLoginError) as error:
            secret = "access token" if self.xoauth2 else "password"
            raise Denied(f"{self.host} does not accept this user and {secret}") from error
        # Many servers tell only those who logged in that they can MOVE.
        _, told = box.client.capability()
        box.client.capabilities = tuple(b" ".join(told).decode("ascii", "replace").upper().split())
        if "ID" in box.client.capabilities:  # RFC 2971; 163.com and 126.com open no folder to who does not say it
            try:
                box.client.xatom("ID", '("name" "pbem")')
            except imaplib.IMAP4.abort:
                raise
            except imaplib.IMAP4.error:  # it is told, and need not be accepted
                pass
        self._find_folders(box)
        return box

    def _connected(self) -> imap_tools.BaseMailBox:
        if self.tls == "implicit":
            context = self.tls_context or ssl.create_default_context()
            return _TlsBox(self.host, self.port, self.timeout, ssl_context=context)
        box = _Box(self.host, self.port, self.timeout)
        if self.tls == "starttls":
            try:  # imap-tools has a class for this, which leaves the connection open when it fails
                box.client.starttls(self.tls_context or ssl.create_default_context())
            except BaseException:
                with contextlib.suppress(OSError):
                    box.client.shutdown()
                raise
        return box

    def _find_folders(self, box: imap_tools.BaseMailBox) -> None:
        """The folders to be read, and the folder for read letters, made if it is not there."""
        there = box.folder.list()
        if not there:  # there is always an inbox: the server refused to answer, which imap-tools does not notice
            raise imaplib.IMAP4.error("no folders")
        # NIL: folders have no folders in them (RFC 9051 7.3.1), which some say of the inbox alone.
        delims = [folder.delim for folder in there if folder.delim not in {"", "NIL"}]
        prefix, delim = self._namespace(box, delims[0] if delims else "-")
        self._done = prefix + delim.join(DONE)
        if self._done not in {folder.name for folder in there}:
            box.folder.create(self._done)
        spam = [folder.name for folder in there if JUNK in folder.flags]
        spam = spam or [
            folder.name for folder in there if folder.name.rpartition(folder.delim or "/")[2].lower() in SPAM
        ]
        # The inbox last: IDLE tells of all that came after it was read only if no other folder was selected since.
        self._folders = [*([self.spam] if self.spam else spam), INBOX]

    @staticmethod
    def _namespace(box: imap_tools.BaseMailBox, delim: str) -> tuple[str, str]:
        """The prefix of our own folders' names, such as "INBOX.", and the separator of their parts."""
        if "NAMESPACE" in box.client.capabilities:
            told = _accepted(box.client.namespace())
            if told and isinstance(told[0], bytes) and (found := _PERSONAL.match(told[0])):
                return found[1].decode("ascii", "replace"), found[2].decode("ascii", "replace") or delim
        return "", delim

    def _select(self, box: imap_tools.BaseMailBox, folder: str) -> str:
        """Go into a folder; its UIDVALIDITY."""
        if self._selected[0] != folder:
            self._selected = ("", "")
            box.folder.set(folder)
            _, told = box.client.response("UIDVALIDITY")
            self._selected = (folder, told[-1].decode("ascii", "replace") if told and told[-1] else "")
        return self._selected[1]

    def _uids(self, folder: str, box: imap_tools.BaseMailBox) -> tuple[list[str], str]:
        validity = self._select(box, folder)
        if self._since is None:
            return box.uids("UNDELETED", charset=None), validity
        known, first = self._first.get(folder, ("", 0))
        if not known or known != validity:
            since = imap_tools.AND(date_gte=self._since)
            return box.uids(f"UNDELETED {since}", charset=None), validity
        # The last letter is always among those from a number on (RFC 9051 9, "seq-range").
        found = box.uids(f"UNDELETED UID {first}:*", charset=None)
        return [uid for uid in found if int(uid) >= first], validity

    def _fetch(self, handle: Handle, box: imap_tools.BaseMailBox) -> bytes | None:
        """The octets of a letter; None if it is gone. Raises `imaplib.IMAP4.error` if it is there without octets."""
        if self._select(box, handle.folder) != handle.validity:
            return None
        _, told = box.client.uid("FETCH", handle.name, f"(BODY.PEEK[]<0.{self.most + 1}>)")
        for part, after in itertools.pairwise([*told, b""]):
            # An unsolicited response may be about another letter. The UID is before the octets, or after them.
            about, octets = part if isinstance(part, tuple) else (part or b"", b"")
            more = after if isinstance(part, tuple) and isinstance(after, bytes) else b""
            if handle.name.encode() not in _UID.findall(about + more):
                continue
            if octets:
                return bytes(octets)
            if b"BODY[]" in about.upper():
                raise imaplib.IMAP4.error("no octets")
        return None
