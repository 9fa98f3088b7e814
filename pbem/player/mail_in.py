"""The sources of a player's letters: a Maildir, an mbox file, a mailbox at a provider, or a port of this machine.

This module finds letters, as octets, each with a handle; nothing is parsed. The caller remembers which handles it has
seen: a mailbox that people read, too, is left as it is. Implements playing.md.
"""

from __future__ import annotations

import mailbox
import socketserver
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from pbem.connections import LimitedThreads
from pbem.mail.folders import letters as in_folder
from pbem.mailbox import MailboxUnreachable, password, token
from pbem.match.transcript import sha256_hex
from pbem.networks import is_of_this_machine
from pbem.player import PlayerTrouble
from pbem.player.server_letter import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from pbem.mailbox import Handle, Mailbox
    from pbem.mailbox.imap import Tls
    from pbem.player.account_file import Account
    from pbem.player.correspondence import Correspondence
    from pbem.player.server_letter import Event


_MOST = LIMITS.message_bytes


class NoMail(PlayerTrouble):
    """Letters cannot be fetched now; the text says why, without a password."""


class FoundLetter(NamedTuple):
    """A letter that was found: its octets, and where."""

    raw: bytes
    handle: str


class MailSource:
    """The letters of one account; a source may leave them where they are, and hold nothing open."""

    def letters(self, seen: Callable[[str], bool]) -> Iterator[FoundLetter]:
        """The letters there, except those whose handle was seen. Raises `NoMail`."""
        raise NotImplementedError

    def done(self, found: FoundLetter) -> None:
        """A letter from the server was taken in: its octets are on the disk."""

    def close(self) -> None:
        """Release the source."""


class OwnMaildir(MailSource):
    """A Maildir; its contents stay as they are, so that a mail program may show them, too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: set[str] = set()
        """Handles that were seen, so that a look costs no question for each letter that ever came."""

    def letters(self, seen: Callable[[str], bool]) -> Iterator[FoundLetter]:
        """The letters in `new` and `cur`, oldest first; a mail program changes a name only after its colon."""
        try:
            if not (self._path / "new").is_dir():
                raise NoMail(
                    f"{self._path} is no Maildir yet: it has no folder `new`. Most mail servers make one with the"
                    " first letter; otherwise make it, with `cur`, `new` and `tmp` in it"
                )
            files = [path for part in ("new", "cur") for path in (self._path / part).glob("[!.]*")]
            for path in sorted(files, key=lambda path: path.name):
                handle = path.name.partition(":")[0]
                if handle in self._known:
                    continue
                if seen(handle):
                    self._known.add(handle)
                else:
                    try:
                        with path.open("rb") as file:
                            yield FoundLetter(file.read(_MOST + 1), handle)
                    except FileNotFoundError:
                        continue  # a mail program renamed it: it comes at the next look
        except OSError as error:
            raise NoMail(f"{error.filename or self._path}: {error.strerror}") from error


class Mbox(MailSource):
    """An mbox file, which is read again whenever it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[int, int] | None = None

    def letters(self, seen: Callable[[str], bool]) -> Iterator[FoundLetter]:
        """All letters of the file, identified by their octets, as they have no names."""
        try:
            if not self._path.exists():
                return  # many systems take an empty one away
            found = self._path.stat()
            if self._known == (found.st_size, found.st_mtime_ns):
                return
            for _, raw in in_folder(self._path, _MOST):
                if not seen(handle := f"mbox {sha256_hex(raw)}"):
                    yield FoundLetter(raw, handle)
            self._known = (found.st_size, found.st_mtime_ns)
        except (OSError, mailbox.Error) as error:
            raise NoMail(f"{self._path}: {error}") from error


class Provider(MailSource):
    """A mailbox that is read by IMAP; letters of the server are moved to its folder `pbem/done`."""

    def __init__(self, mailbox_: Mailbox) -> None:
        self._mailbox = mailbox_
        self._handles: dict[str, Handle] = {}

    def letters(self, seen: Callable[[str], bool]) -> Iterator[FoundLetter]:
        """The letters in the inbox and in the folder of spam."""
        try:
            for raw, handle in self._mailbox.letters(lambda handle: seen(_name(handle))):
                self._handles[_name(handle)] = handle
                yield FoundLetter(raw, _name(handle))
        except MailboxUnreachable as error:
            raise NoMail(str(error)) from error

    def done(self, found: FoundLetter) -> None:
        """Move it out of the way; if the provider does not let it go, it stays, and was seen all the same."""
        with suppress(MailboxUnreachable):
            self._mailbox.done(self._handles.pop(found.handle))

    def close(self) -> None:
        """Log out."""
        self._mailbox.close()


def _name(handle: Handle) -> str:
    return f"{handle.folder} {handle.validity} {handle.name}"


class _Delivery(socketserver.StreamRequestHandler):
    """One LMTP connection (RFC 2033) of the player's mail server on this machine: just enough to take letters."""

    timeout = 60

    def handle(self) -> None:
        door = self.server
        assert isinstance(door, LmtpListener)
        self._say("220 LMTP")
        recipients = 0
        while line := self.rfile.readline(4096):
            words = line.partition(b":")[0].strip().upper()
            if words.startswith(b"LHLO"):
                self._say("250-localhost", "250-8BITMIME", f"250 SIZE {_MOST}")
            elif words.startswith(b"RCPT"):
                recipients += 1
                self._say("250 2.1.5 ok")
            elif words == b"DATA" and recipients:
                self._say("354 go on")
                raw = self._data()
                if raw is None:
                    return
                # Not yet on the disk: whoever hands it over keeps it until it is taken in.
                taken = door.hand_over(raw)
                for _ in range(recipients):
                    self._say("250 2.0.0 taken in" if taken else "451 4.3.0 not now")
                recipients = 0
            elif words == b"QUIT":
                self._say("221 bye")
                return
            elif words in {b"RSET", b"NOOP"} or words.startswith(b"MAIL"):
                recipients = 0 if words != b"NOOP" else recipients
                self._say("250 2.0.0 ok")
            else:
                self._say("503 5.5.1 not here")

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

    def _data(self) -> bytes | None:
        lines, octets = list[bytes](), 0
        while line := self.rfile.readline(1 << 20):
            if line == b".\r\n":  # and nothing else ends a letter (RFC 5321 4.1.1.4)
                return b"".join(lines)
            octets += len(line)
            if octets > _MOST:
                return None
            lines.append(line[1:] if line.startswith(b".") else line)
        return None


class LmtpListener(MailSource, LimitedThreads):
    """A port of this machine at which the player's mail server delivers letters; 250 is sent once one is taken in."""

    allow_reuse_address = True
    longest = 600.0
    PATIENCE = 30.0

    def __init__(self, host: str, port: int) -> None:
        self._came: deque[tuple[bytes, threading.Event]] = deque()
        try:
            super().__init__((host, port), _Delivery)
        except OSError as error:
            raise NoMail(f"lmtp://{host}:{port}: {error.strerror}") from error
        self._thread = threading.Thread(target=self.serve_forever, name="lmtp", daemon=True)
        self._thread.start()

    def hand_over(self, raw: bytes) -> bool:
        """Let a letter be read; returns whether it was taken in, after waiting for a while."""
        taken = threading.Event()
        self._came.append((raw, taken))
        return taken.wait(self.PATIENCE)

    def letters(self, seen: Callable[[str], bool]) -> Iterator[FoundLetter]:
        """The letters delivered since the last call; one counts as taken in when the next one is requested."""
        del seen
        while self._came:
            raw, taken = self._came.popleft()
            yield FoundLetter(raw, f"lmtp {sha256_hex(raw)}")
            taken.set()

    def close(self) -> None:
        """Close the port."""
        self.shutdown()
        self.server_close()
        self._thread.join()


def begin(account: Account) -> Path | None:
    """Make the Maildir of a new account if there is nothing yet; returns its path if it was made. Raises `NoMail`."""
    url = urlsplit(account.mail_in)
    path = Path(unquote(url.path)).expanduser()
    if url.scheme != "maildir" or path.exists():
        return None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mailbox.Maildir(path).close()
    except OSError as error:
        raise NoMail(f"{path}: {error.strerror}") from error
    return path


def source(account: Account) -> MailSource:
    """The source of an account's letters; raises `NoMail`."""
    url = urlsplit(account.mail_in)
    match url.scheme:
        case "maildir":
            return OwnMaildir(Path(unquote(url.path)).expanduser())
        case "mbox":
            return Mbox(Path(unquote(url.path)).expanduser())
        case "imap" | "imaps":
            return _provider(account)
        case "lmtp" if url.hostname and url.port is not None:
            if not _is_loopback(url.hostname):
                raise NoMail(f"{account.mail_in}: letters are taken from this machine alone")
            return LmtpListener(url.hostname, url.port)
    raise NoMail(f"{account.mail_in}: no way for letters to come; write maildir:PATH, mbox:PATH or imaps://USER@HOST")


def _provider(account: Account) -> MailSource:
    url = urlsplit(account.mail_in)
    from pbem.mailbox.imap import Imap

    tls: Tls = "implicit" if url.scheme == "imaps" else "none" if _is_loopback(url.hostname or "") else "starttls"
    port = url.port or (993 if tls == "implicit" else 143)

    def secret() -> str:
        if account.token_command:
            return token(account.token_command)
        return password(account.password_file, account.password_command)

    user = unquote(url.username or account.address)
    return Provider(
        Imap(url.hostname or "localhost", port, tls, user, secret, most=_MOST, xoauth2=bool(account.token_command))
    )


def fetch(letters: Correspondence, source: MailSource, clock: Callable[[], datetime]) -> Iterator[Event]:
    """Take in all letters that are there, and report the outcome of each. Raises `NoMail`.

    A letter is on the disk before its mailbox is told, so that a crash is harmless.
    """
    memory = letters.memory
    for found in source.letters(memory.has_seen):
        events = letters.inbox.receive(found.raw, clock())
        kinds = {event.kind for event in events}
        if "unpinned" not in kinds:  # it can be judged when the server's key is known
            memory.see(found.handle, forged="forged" in kinds)
            if not kinds <= {"foreign", "forged"}:
                source.done(found)
        yield from events


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (host != "" and is_of_this_machine(host))  # 127.mail.example is a name of anybody's
