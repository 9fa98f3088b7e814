"""A small IMAP server for one account: what our client asks, and no more; it can break off anywhere.

It is served in a thread by real sockets, and in simulated weeks over the network in memory (`simulation.imap`).
"""

from __future__ import annotations

import asyncio
import base64
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from world.listening import in_a_thread

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

USER, PASSWORD = "pbem", 'pass "word"'
CAPABILITIES = ("IMAP4rev1", "IDLE", "NAMESPACE", "MOVE")


class Broken(Exception):
    """The server hangs up."""


@dataclass
class Account:
    """An account: octets by UID, by folder; `seen` are the commands, and `passing` may raise `Broken` at one."""

    folders: dict[str, dict[int, bytes]] = field(default_factory=lambda: {"INBOX": {}, "Work": {}})
    flags: dict[str, str] = field(default_factory=dict)
    deleted: set[tuple[str, int]] = field(default_factory=set)
    capabilities: tuple[str, ...] = CAPABILITIES
    namespace: tuple[str, str] = ("", "/")
    validity: int = 1
    seen: list[str] = field(default_factory=list)
    passing: Callable[[str], None] = lambda _: None
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
        uid = self.last + 1
        self.folders[folder][uid] = raw
        self.last = uid  # at last: whoever waits looks at this
        return uid

    def number_anew(self) -> None:
        """Give all letters other UIDs."""
        self.validity, self.last = self.validity + 1, 0
        for folder, letters in list(self.folders.items()):
            self.folders[folder] = {}
            for raw in letters.values():
                self.put(raw, folder)

    def raws(self, folder: str = "INBOX") -> list[bytes]:
        return list(self.folders.get(folder, {}).values())


class Session:
    """One connection: commands are methods, which may give another end of the answer than `OK done`."""

    def __init__(
        self,
        account: Account,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.account = account
        self.folder = ""
        self._reader, self.writer, self._tls = reader, writer, tls
        self._in = False
        self._told = 0
        """What came last when a search was answered: IDLE tells of what came since, too."""

    async def serve(self) -> None:
        """Obey until the client is gone, or `Broken` is raised."""
        try:
            self.say(self.account.greeting)
            while line := await self._reader.readline():
                tag, _, rest = line.decode("latin-1").strip().partition(" ")
                word = rest.upper().split(" ", 2)
                command = " ".join(word[:2]) if word[0] == "UID" else word[0]
                self.account.seen.append(command)
                await self.obey(tag, command, rest[len(command) :].strip())
                if command == "LOGOUT":
                    return
        except (Broken, OSError):
            pass
        finally:
            self.writer.close()

    async def obey(self, tag: str, command: str, rest: str) -> None:
        """Do what a command asks, and answer it, with a lie perhaps."""
        self.account.passing(command)
        if (lie := self.account.lies.get(command)) is not None:
            self.writer.write(lie.replace(b"TAG", tag.encode()))
            while self.account.endless:
                self.writer.write(lie * 50)
                await self.writer.drain()
            return
        self.say(f"{tag} {await self.perform(command, rest)}".encode("latin-1"))
        if command == "STARTTLS":
            assert self._tls is not None
            await self.writer.start_tls(self._tls)
        self.account.passing(f"{command} done")

    async def perform(self, command: str, rest: str) -> str:
        """Do it; how its answer ends."""
        done = getattr(self, "do_" + command.lower().replace(" ", "_"))(rest)
        end: str | None = await done if asyncio.iscoroutine(done) else done
        return end or "OK done"

    def say(self, line: bytes) -> None:
        self.writer.write(line + b"\r\n")

    @property
    def _letters(self) -> dict[int, bytes]:
        return self.account.folders[self.folder]

    def do_capability(self, _: str) -> None:
        # As many do: what it can is told whole to those who logged in.
        told = self.account.capabilities if self.folder or self._in else ("IMAP4rev1", "IDLE", "STARTTLS")
        self.say(f"* CAPABILITY {' '.join(told)}".encode())

    def do_login(self, rest: str) -> str | None:
        user, password = (
            re.sub(r"\\(.)", r"\1", word)
            for word in re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', rest)
            for word in word
            if word
        )
        self._in = (user, password) == (USER, PASSWORD) and not self.account.token
        return None if self._in else "NO wrong"

    async def do_authenticate(self, mechanism: str) -> str | None:
        assert mechanism == "XOAUTH2"
        self.say(b"+ ")
        token = self.account.token
        said = base64.b64decode(await self._reader.readline())
        self._in = bool(token) and said == f"user={USER}\1auth=Bearer {token}\1\1".encode()
        if not self._in:  # as Google's does: why, which wants an answer
            self.say(b"+ " + base64.b64encode(b'{"status":"400"}'))
            await self._reader.readline()
        return None if self._in else "NO [AUTHENTICATIONFAILED] Invalid credentials"

    def do_noop(self, _: str) -> None:
        pass

    def do_logout(self, _: str) -> None:
        self.say(b"* BYE")

    def do_starttls(self, _: str) -> None:
        pass

    def do_namespace(self, _: str) -> None:
        prefix, delim = self.account.namespace
        quoted = f'"{delim}"' if delim else "NIL"
        self.say(f'* NAMESPACE (("{prefix}" {quoted})) NIL NIL'.encode())

    def do_id(self, rest: str) -> None:
        self.account.names = rest
        self.say(b"* ID NIL")

    def do_list(self, _: str) -> None:
        account = self.account
        delim = f'"{account.namespace[1]}"' if account.namespace[1] else "NIL"
        for name in account.folders:
            self.say(f'* LIST ({account.flags.get(name, "")}) {delim} "{name}"'.encode())

    def do_create(self, rest: str) -> None:
        self.account.folders[rest.strip('"')] = {}

    def do_select(self, rest: str) -> str | None:
        name = rest.strip('"')
        if name not in self.account.folders:
            return "NO no such folder"
        if self.account.names is None:
            return "NO SELECT Unsafe Login. Please contact kefu@188.com for help"
        self.folder = name
        self.say(f"* {len(self._letters)} EXISTS".encode())
        self.say(f"* OK [UIDVALIDITY {self.account.validity}] valid".encode())
        return None

    def do_status(self, rest: str) -> None:
        quoted, _, asked = rest.removesuffix(")").partition(" (")
        account = self.account
        # RFC 9051 6.3.11 has no RECENT, which others would be asked for.
        known = {
            "MESSAGES": len(account.folders[quoted.strip('"')]),
            "UIDNEXT": account.last + 1,
            "UIDVALIDITY": account.validity,
        }
        told = " ".join(f"{item} {known[item]}" for item in asked.split())
        self.say(f"* STATUS {quoted} ({told})".encode())

    def do_uid_search(self, rest: str) -> None:
        asked = re.fullmatch(r"UNDELETED(?: UID (\d+):\*| \(SINCE (\d+-\w{3}-\d{4})\))?", rest)
        assert asked, rest
        account = self.account
        self._told = account.last
        uids = [uid for uid in self._letters if (self.folder, uid) not in account.deleted]
        if asked[1]:
            uids = [uid for uid in uids if uid >= int(asked[1]) or uid == uids[-1]]
        if asked[2]:
            since = datetime.strptime(asked[2], "%d-%b-%Y").replace(tzinfo=UTC).date()
            uids = [uid for uid in uids if account.dates.get(uid, since) >= since]
        found = map(str, uids)
        self.say(" ".join(["* SEARCH", *found]).encode())

    def do_uid_fetch(self, rest: str) -> None:
        uid, most = map(int, re.findall(r"^(\d+) \(BODY\.PEEK\[\]<0\.(\d+)>\)$", rest)[0])
        if (raw := self._letters.get(uid)) is not None:
            part = raw[:most]
            self.say(b"* 1 FETCH (UID %d BODY[]<0> {%d}\r\n%b)" % (uid, len(part), part))

    def do_uid_move(self, rest: str) -> None:
        self.do_uid_copy(rest)
        self._letters.pop(int(rest.split(maxsplit=1)[0]), None)

    def do_uid_copy(self, rest: str) -> None:
        uid, folder = rest.split(" ", 1)
        raw = self._letters.get(int(uid))
        if raw is not None:
            self.account.put(raw, folder.strip('"'))

    def do_uid_store(self, rest: str) -> None:
        self.account.deleted.add((self.folder, int(rest.split(maxsplit=1)[0])))

    def do_expunge(self, _: str) -> None:
        for folder, uid in self.account.deleted:
            self.account.folders[folder].pop(uid, None)

    def do_uid_expunge(self, rest: str) -> None:
        self._letters.pop(int(rest), None)

    async def do_idle(self, _: str) -> None:
        self.say(b"+ idling")
        done = asyncio.ensure_future(self._reader.readline())
        while not done.done() and self.account.last <= self._told:
            await asyncio.wait([done], timeout=0.01)
        if not done.done():  # what came before it asked is said at once, as Dovecot says it
            self.say(b"* 1 EXISTS")
        await done


@contextmanager
def serving(
    account: Account, tls: ssl.SSLContext | None = None, *, port: int = 0, implicit: bool = False
) -> Iterator[int]:
    """The port at which an account is served meanwhile; `tls` is for STARTTLS, or for all (`implicit`)."""

    async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):
            await Session(account, reader, writer, tls).serve()

    with in_a_thread(lambda: asyncio.start_server(session, "127.0.0.1", port, ssl=tls if implicit else None)) as (
        _,
        server,
    ):
        yield server.sockets[0].getsockname()[1]
