"""A mailbox at a provider, read by IMAP (RFC 9051 and 3501): the one module that knows imap-tools.

Here live the connection, the folders, and the commands that fetch, move and wait (IDLE, RFC 2177). The connection is
opened when it is needed, and dropped at the first trouble. Nothing is marked as read, and nothing deleted: a letter
moves to another folder (RFC 6851) when its reader says so. UIDs are a hint for as long as UIDVALIDITY stays the same.
Implements mailbox.md.
"""

from __future__ import annotations

import contextlib
import imaplib
import re
import socket
import ssl
import threading
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

import imap_tools

from pbem.mailbox import DONE, Denied, Found, Handle, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Imap"]

INBOX = "INBOX"
JUNK = "\\Junk"  # RFC 6154
SPAM = frozenset({"spam", "junk", "junk mail", "junk e-mail", "bulk", "bulk mail"})
LOGGED_OFF = 25 * 60.0  # seconds after which IDLE is begun anew (RFC 2177: before 29 minutes)
_PERSONAL = re.compile(rb'\(\("((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"')  # of NAMESPACE (RFC 2342)

Result = TypeVar("Result")
Tls = Literal["none", "starttls", "implicit"]


class Imap:
    """The letters of an account, of which each is fetched up to `most` octets and one more; a `Mailbox`.

    `password` is asked for at each connection; with `xoauth2` it gives an access token. `spam` names the folder of
    spam where the server does not.
    """

    def __init__(  # noqa: PLR0913 - an account has as many properties
        self,
        host: str,
        port: int,
        tls: Tls,
        user: str,
        password: Callable[[], str],
        *,
        most: int,
        xoauth2: bool = False,
        spam: str = "",
        timeout: float = 60.0,
        tls_context: ssl.SSLContext | None = None,
    ) -> None:
        self._host, self._port, self._tls = host, port, tls
        self._user, self._password, self._xoauth2 = user, password, xoauth2
        self._most = most
        self._spam = spam
        self._timeout = timeout
        self._tls_context = tls_context
        self._box: imap_tools.BaseMailBox | None = None
        self._folders: list[str] = []
        self._done = ""
        self._selected = ("", "")
        self._stop = threading.Event()

    def letters(self) -> Iterator[Found]:
        """The letters that lie in the inbox and in the folder of spam."""
        self._do(lambda box: box.client.noop())
        for folder in self._folders:
            uids, validity = self._do(partial(self._uids, folder))
            for uid in uids:
                handle = Handle(folder, uid, validity)
                raw = self._do(partial(self._fetch, handle))
                if raw is not None:
                    yield Found(raw, handle)

    def done(self, handle: Handle) -> None:
        """Move a letter to the folder of those that were read."""

        def move(box: imap_tools.BaseMailBox) -> None:
            if self._select(box, handle.folder) == handle.validity:
                box.move([handle.name], self._done)

        self._do(move)

    def wait(self, seconds: float) -> None:
        """Return when the server says that something came, where it can (IDLE)."""
        if self._stop.is_set():
            return
        if not self._do(lambda box: "IDLE" in box.client.capabilities):
            self._stop.wait(seconds)
            return

        def idle(box: imap_tools.BaseMailBox) -> None:
            self._select(box, INBOX)
            with box.idle as idle:
                idle.poll(min(seconds, LOGGED_OFF))

        try:
            self._do(idle)
        except Unreachable:
            if not self._stop.is_set():
                raise

    def interrupt(self) -> None:
        """Let whoever waits return: the connection is cut."""
        self._stop.set()
        box = self._box
        if box is not None:
            with contextlib.suppress(OSError):
                box.client.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Log out."""
        box, self._box = self._box, None
        if box is not None:
            with contextlib.suppress(imaplib.IMAP4.error, imap_tools.ImapToolsError, OSError):
                box.logout()
            with contextlib.suppress(imaplib.IMAP4.error, OSError):
                box.client.shutdown()

    def _do(self, call: Callable[[imap_tools.BaseMailBox], Result]) -> Result:
        """Do something on the connection, which is opened for it, or dropped when it fails."""
        if self._stop.is_set():
            raise Unreachable("interrupted")
        try:
            if self._box is None:
                self._open()
            assert self._box is not None
            return call(self._box)
        except imap_tools.MailboxLoginError as error:
            self._drop()
            raise Denied(f"{self._host} does not accept this user and {self._secret}") from error
        except (imaplib.IMAP4.error, imap_tools.ImapToolsError, OSError, ValueError) as error:
            # What a server says may name an address; of its words none is passed on.
            self._drop()
            said = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise Unreachable(f"{self._host}:{self._port}: {said}") from error

    def _drop(self) -> None:
        box, self._box = self._box, None
        if box is not None:
            with contextlib.suppress(imaplib.IMAP4.error, OSError):
                box.client.shutdown()

    def _open(self) -> None:
        password = self._password()
        box = self._connected()
        self._box = box
        self._selected = ("", "")
        # LOGIN carries ASCII alone; RFC 4616 carries the rest.
        login: Callable[..., object] = box.login if f"{self._user}{password}".isascii() else box.login_utf8
        if self._xoauth2:
            login = box.xoauth2
        try:
            login(self._user, password, initial_folder=None)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            raise Denied(f"{self._host} does not accept this user and {self._secret}") from error
        # Many servers tell only those who logged in that they can MOVE.
        _, told = box.client.capability()
        box.client.capabilities = tuple(b" ".join(told).decode("ascii", "replace").upper().split())
        self._find_folders(box)

    @property
    def _secret(self) -> str:
        return "access token" if self._xoauth2 else "password"

    def _connected(self) -> imap_tools.BaseMailBox:
        if self._tls == "implicit":
            context = self._tls_context or ssl.create_default_context()
            return imap_tools.MailBox(self._host, self._port, self._timeout, ssl_context=context)
        box = imap_tools.MailBoxUnencrypted(self._host, self._port, self._timeout)
        if self._tls == "starttls":
            try:  # imap-tools has a class for this, which leaves the connection open when it fails
                box.client.starttls(self._tls_context or ssl.create_default_context())
            except BaseException:
                with contextlib.suppress(OSError):
                    box.client.shutdown()
                raise
        return box

    def _find_folders(self, box: imap_tools.BaseMailBox) -> None:
        """Which folders are read, and where what was read goes, made if it is not there."""
        there = box.folder.list()
        prefix, delim = self._namespace(box, there[0].delim if there else "/")
        self._done = prefix + delim.join(DONE)
        if self._done not in {folder.name for folder in there}:
            box.folder.create(self._done)
        spam = [folder.name for folder in there if JUNK in folder.flags]
        spam = spam or [folder.name for folder in there if folder.name.rpartition(folder.delim)[2].lower() in SPAM]
        self._folders = [INBOX, *([self._spam] if self._spam else spam)]

    @staticmethod
    def _namespace(box: imap_tools.BaseMailBox, delim: str) -> tuple[str, str]:
        """What the names of our own folders begin with, such as "INBOX.", and what stands between their parts."""
        if "NAMESPACE" in box.client.capabilities:
            _, told = box.client.namespace()
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
        return box.uids("UNDELETED", charset=None), validity

    def _fetch(self, handle: Handle, box: imap_tools.BaseMailBox) -> bytes | None:
        """The octets of a letter; None when it is gone."""
        if self._select(box, handle.folder) != handle.validity:
            return None
        _, told = box.client.uid("FETCH", handle.name, f"(BODY.PEEK[]<0.{self._most + 1}>)")
        return next((bytes(part[1]) for part in told if isinstance(part, tuple)), None)
