"""A small IMAP server for one account, in a thread: what our client asks, and no more; it can break off anywhere."""

from __future__ import annotations

import base64
import contextlib
import re
import socket
import socketserver
import threading
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

USER, PASSWORD = "pbem", 'pass "word"'
CAPABILITIES = ("IMAP4rev1", "IDLE", "NAMESPACE", "MOVE")


class Broken(Exception):
    """The server hangs up."""


@dataclass
class Account:
    """What lies there: octets by UID, by folder; `seen` are the commands, and `passing` may raise `Broken` at one."""

    folders: dict[str, dict[int, bytes]] = field(default_factory=lambda: {"INBOX": {}, "Work": {}})
    flags: dict[str, str] = field(default_factory=dict)
    deleted: set[tuple[str, int]] = field(default_factory=set)
    capabilities: tuple[str, ...] = CAPABILITIES
    namespace: tuple[str, str] = ("", "/")
    validity: int = 1
    seen: list[str] = field(default_factory=list)
    passing: Callable[[str], None] = lambda _: None
    changed: threading.Condition = field(default_factory=threading.Condition)
    last: int = 0
    dates: dict[int, date] = field(default_factory=dict)
    """The days on which letters came, by UID; today, where nothing is said."""
    token: str = ""
    """Where there is one, it opens the account, and no password does."""
    names: str | None = ""
    """What the client called itself (ID); None where it must before it sees a folder, as 163.com has it."""
    lies: dict[str, bytes] = field(default_factory=dict)
    """What is said to a command instead of the truth; TAG stands for the command's, `endless` repeats it."""
    endless: bool = False
    greeting: bytes = b"* OK ready"

    def put(self, raw: bytes, folder: str = "INBOX") -> int:
        with self.changed:
            self.last += 1
            self.folders[folder][self.last] = raw
            self.changed.notify_all()
            return self.last

    def raws(self, folder: str = "INBOX") -> list[bytes]:
        return list(self.folders.get(folder, {}).values())


class _Session(socketserver.StreamRequestHandler):
    server: _Server
    disable_nagle_algorithm = True
    folder = ""

    def setup(self) -> None:
        super().setup()
        self.server.sessions.add(self)
        if self.server.implicit:
            self._secure()

    def handle(self) -> None:
        with contextlib.suppress(Broken, OSError):
            self._say(self.server.account.greeting)
            while line := self.rfile.readline():
                tag, _, rest = line.decode("latin-1").strip().partition(" ")
                word = rest.upper().split(" ", 2)
                command = " ".join(word[:2]) if word[0] == "UID" else word[0]
                self.server.account.seen.append(command)
                self.server.account.passing(command)
                if (lie := self.server.account.lies.get(command)) is not None:
                    self.wfile.write(lie.replace(b"TAG", tag.encode()))
                    while self.server.account.endless:
                        self.wfile.write(lie * 50)
                    continue
                status = getattr(self, "do_" + command.lower().replace(" ", "_"))(rest.removeprefix(command).strip())
                self._say(f"{tag} {status or 'OK done'}".encode("latin-1"))
                self.server.account.passing(f"{command} done")
                if command == "LOGOUT":
                    return
                if command == "STARTTLS":
                    self._secure()

    def finish(self) -> None:
        super().finish()
        self.server.sessions.discard(self)
        self.connection.close()

    def cut(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")

    def _secure(self) -> None:
        assert self.server.tls is not None
        self.connection = self.server.tls.wrap_socket(self.request, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)

    def _letters(self) -> dict[int, bytes]:
        return self.server.account.folders[self.folder]

    def do_capability(self, _: str) -> None:
        # As many do: what it can is told whole to those who logged in.
        told = self.server.account.capabilities if self.folder or self._in else ("IMAP4rev1", "IDLE", "STARTTLS")
        self._say(f"* CAPABILITY {' '.join(told)}".encode())

    _in = False
    _told = 0
    """What came last when a search was answered: IDLE tells of what came since, too."""

    def do_login(self, rest: str) -> str | None:
        user, password = (
            re.sub(r"\\(.)", r"\1", word)
            for word in re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', rest)
            for word in word
            if word
        )
        self._in = (user, password) == (USER, PASSWORD) and not self.server.account.token
        return None if self._in else "NO wrong"

    def do_authenticate(self, mechanism: str) -> str | None:
        assert mechanism == "XOAUTH2"
        self._say(b"+ ")
        token = self.server.account.token
        said = base64.b64decode(self.rfile.readline())
        self._in = bool(token) and said == f"user={USER}\1auth=Bearer {token}\1\1".encode()
        if not self._in:  # as Google's does: why, which wants an answer
            self._say(b"+ " + base64.b64encode(b'{"status":"400"}'))
            self.rfile.readline()
        return None if self._in else "NO [AUTHENTICATIONFAILED] Invalid credentials"

    def do_noop(self, _: str) -> None:
        pass

    def do_logout(self, _: str) -> None:
        self._say(b"* BYE")

    def do_starttls(self, _: str) -> None:
        pass

    def do_namespace(self, _: str) -> None:
        prefix, delim = self.server.account.namespace
        quoted = f'"{delim}"' if delim else "NIL"
        self._say(f'* NAMESPACE (("{prefix}" {quoted})) NIL NIL'.encode())

    def do_id(self, rest: str) -> None:
        self.server.account.names = rest
        self._say(b"* ID NIL")

    def do_list(self, _: str) -> None:
        account = self.server.account
        delim = f'"{account.namespace[1]}"' if account.namespace[1] else "NIL"
        for name in account.folders:
            self._say(f'* LIST ({account.flags.get(name, "")}) {delim} "{name}"'.encode())

    def do_create(self, rest: str) -> None:
        self.server.account.folders[rest.strip('"')] = {}

    def do_select(self, rest: str) -> str | None:
        name = rest.strip('"')
        if name not in self.server.account.folders:
            return "NO no such folder"
        if self.server.account.names is None:
            return "NO SELECT Unsafe Login. Please contact kefu@188.com for help"
        self.folder = name
        self._say(f"* {len(self._letters())} EXISTS".encode())
        self._say(f"* OK [UIDVALIDITY {self.server.account.validity}] valid".encode())
        return None

    def do_status(self, rest: str) -> None:
        quoted, _, asked = rest.removesuffix(")").partition(" (")
        account = self.server.account
        # RFC 9051 6.3.11 has no RECENT, which others would be asked for.
        known = {
            "MESSAGES": len(account.folders[quoted.strip('"')]),
            "UIDNEXT": account.last + 1,
            "UIDVALIDITY": account.validity,
        }
        told = " ".join(f"{item} {known[item]}" for item in asked.split())
        self._say(f"* STATUS {quoted} ({told})".encode())

    def do_uid_search(self, rest: str) -> None:
        asked = re.fullmatch(r"UNDELETED(?: UID (\d+):\*| \(SINCE (\d+-\w{3}-\d{4})\))?", rest)
        assert asked, rest
        account = self.server.account
        self._told = account.last
        uids = [uid for uid in self._letters() if (self.folder, uid) not in account.deleted]
        if asked[1]:
            uids = [uid for uid in uids if uid >= int(asked[1]) or uid == uids[-1]]
        if asked[2]:
            since = datetime.strptime(asked[2], "%d-%b-%Y").replace(tzinfo=UTC).date()
            uids = [uid for uid in uids if account.dates.get(uid, since) >= since]
        found = map(str, uids)
        self._say(" ".join(["* SEARCH", *found]).encode())

    def do_uid_fetch(self, rest: str) -> None:
        uid, most = map(int, re.findall(r"^(\d+) \(BODY\.PEEK\[\]<0\.(\d+)>\)$", rest)[0])
        if (raw := self._letters().get(uid)) is not None:
            part = raw[:most]
            self._say(b"* 1 FETCH (UID %d BODY[]<0> {%d}\r\n%b)" % (uid, len(part), part))

    def do_uid_move(self, rest: str) -> None:
        self.do_uid_copy(rest)
        self._letters().pop(int(rest.split(maxsplit=1)[0]), None)

    def do_uid_copy(self, rest: str) -> None:
        uid, folder = rest.split(" ", 1)
        raw = self._letters().get(int(uid))
        if raw is not None:
            self.server.account.put(raw, folder.strip('"'))

    def do_uid_store(self, rest: str) -> None:
        self.server.account.deleted.add((self.folder, int(rest.split(maxsplit=1)[0])))

    def do_expunge(self, _: str) -> None:
        for folder, uid in self.server.account.deleted:
            self.server.account.folders[folder].pop(uid, None)

    def do_uid_expunge(self, rest: str) -> None:
        self._letters().pop(int(rest), None)

    def do_idle(self, _: str) -> None:
        account, before = self.server.account, self._told
        # What came meanwhile is said at once, as Dovecot says it.
        self._say(b"+ idling\r\n* 1 EXISTS" if account.last > before else b"+ idling")
        before = account.last
        told = threading.Event()

        def tell() -> None:
            with account.changed:
                account.changed.wait_for(lambda: account.last > before or told.is_set())
            with contextlib.suppress(OSError, ValueError):
                if not told.is_set():
                    self._say(b"* 1 EXISTS")

        teller = threading.Thread(target=tell)
        teller.start()
        self.rfile.readline()
        told.set()
        with account.changed:
            account.changed.notify_all()
        teller.join()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = False
    account: Account
    tls: ssl.SSLContext | None = None
    implicit = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.sessions: set[_Session] = set()

    def handle_error(self, *_: object) -> None:
        """Only a session's end."""


@contextlib.contextmanager
def serving(
    account: Account, tls: ssl.SSLContext | None = None, *, port: int = 0, implicit: bool = False
) -> Iterator[int]:
    """The port at which an account is served meanwhile; `tls` is for STARTTLS, or for all (`implicit`)."""
    with _Server(("127.0.0.1", port), _Session) as server:
        server.account, server.tls, server.implicit = account, tls, implicit
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
            for session in list(server.sessions):
                session.cut()
