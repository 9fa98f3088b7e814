"""The page at home: a port of this machine for one browser, which comes with a token that counts once.

Whoever brings the token gets a cookie; everything else lies below a path that nobody can guess, as a browser sends
its cookies to every port of a machine. Only the name `localhost` is served, so that no page of the Web can reach in.
One thread does what is asked for (`WorkQueue`): a mailbox and a memory are used by one.
"""

from __future__ import annotations

import errno
import hmac
import json
import os
import queue
import select
import socket
import sys
import threading
import time
from concurrent.futures import CancelledError, Future
from http.server import HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

from pbem.connections import LimitedThreads
from pbem.player.quiet_handler import QuietHandler

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pbem.json_object import JsonObject


_MOST = 100_000  # octets of a request
_SECONDS = 10  # of silence within one
_GOODBYE = 1.0  # seconds for the answers that are under way when the port is closed
_COOKIE = "pbem"
_CONNECTIONS = ("/proc/net/tcp", "/proc/net/tcp6")
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_ENTER = '<!DOCTYPE html><title>pbem</title><meta http-equiv="refresh" content="0; url={path}">'
"""The page itself begins here: after a redirection, a browser that came from elsewhere sends no strict cookie."""


class PageAnswer(NamedTuple):
    """Something for the browser: its octets, their type, and the policy that the browser applies to it."""

    content: bytes
    type: str = "text/html; charset=utf-8"
    policy: str = ""
    framed: bool = False
    """True if our own page may show it in a frame."""


def as_json(found: object) -> PageAnswer:
    """An answer for the script of the page."""
    return PageAnswer(json.dumps(found).encode(), "application/json")


class PageRoom(Protocol):
    """The views and actions that the port serves."""

    def view(self, name: str, asked: Mapping[str, str]) -> PageAnswer | None:
        """The page or the facts of a name; None if there is none."""

    def act(self, name: str, asked: JsonObject) -> PageAnswer | None:
        """Do what a press of a button asks for; None if it cannot be understood."""


class _PageHandler(QuietHandler):
    server: PagePort
    timeout = _SECONDS

    def do_GET(self) -> None:  # noqa: N802 - as http.server names it
        port = self.server
        try:
            url = urlsplit(self.path)
        except ValueError:
            self._refuse(400)
            return
        if not self._is_of_this_machine():
            self._refuse(403)
        elif url.path == "/favicon.ico":
            self._refuse(204)  # every browser asks, and would call anything else an error
        elif port.is_token(url.path) and not self._is_of_this_user():
            self._refuse(403)  # who read the address in the list of processes
        elif port.is_token(url.path):
            self._enter(port.enter())
        elif url.path == port.path and not self._is_known(url.path):
            self._enter(None)  # the address of the tab, in another browser
        elif not self._is_known(url.path) or not self._comes_from_us("none"):
            self._refuse(403)
        else:
            self._answer(port.room.view(url.path.removeprefix(port.path), dict(parse_qsl(url.query))), 404)

    def do_POST(self) -> None:  # noqa: N802 - as http.server names it
        port, length = self.server, self.headers.get("Content-Length", "")
        ours = self._is_of_this_machine() and self._is_known(self.path) and self._comes_from_us()
        if not ours or self.headers.get("Origin") != port.origin:
            self._refuse(403)
        elif self.headers.get("Content-Type") != "application/json":
            self._refuse(415)
        elif not (length.isascii() and length.isdecimal()) or len(length) > len(str(_MOST)) or int(length) > _MOST:
            self._refuse(413)
        elif (asked := _read(self.rfile.read(int(length)))) is None:
            self._refuse(400)
        else:
            port.keep(self.connection)
            self._answer(port.room.act(self.path.removeprefix(port.path), asked), 400)

    def _is_of_this_machine(self) -> bool:
        """True if the browser addressed this machine by our name for it: another name may be anybody's."""
        return self.headers.get("Host") == self.server.origin.removeprefix("http://")

    def _is_of_this_user(self) -> bool:
        """True if this user's browser waits for the answer: whose a connection was that is closed, nobody says."""
        if _is_of_another_user(self.client_address, self.server.server_address[1]):
            return False
        gone, _, _ = select.select([self.connection], [], [], 0)  # or says something more, as no browser does
        return not gone

    def _comes_from_us(self, *others: str) -> bool:
        """True unless the browser says that something else made it ask."""
        return self.headers.get("Sec-Fetch-Site", "same-origin") in {"same-origin", *others}

    def _is_known(self, path: str) -> bool:
        """True if this is the browser that came with the token."""
        # Other ports of this machine set cookies as they like, for our name, too: none of them may hide ours.
        cookies = (each.strip().partition("=") for each in self.headers.get("Cookie", "").split(";"))
        known = any(name == _COOKIE and self.server.knows(value) for name, _, value in cookies)
        return path.startswith(self.server.path) and known

    def _enter(self, session: str | None) -> None:
        if session is None:
            self._send(403, PageAnswer(self.server.used.encode()))
            return
        path = self.server.path
        cookie = f"{_COOKIE}={session}; Path={path}; HttpOnly; SameSite=Strict"
        self._send(200, PageAnswer(_ENTER.format(path=path).encode()), {"Set-Cookie": cookie})

    def _answer(self, found: PageAnswer | None, otherwise: int) -> None:
        if found is None:
            self._refuse(otherwise)
        else:
            self._send(200, found)

    def _refuse(self, status: int) -> None:
        self._send(status, PageAnswer(b"", "text/plain"))

    def _send(self, status: int, found: PageAnswer, more: dict[str, str] | None = None) -> None:
        whose = "'self'" if found.framed else "'none'"
        headers = {
            "Content-Type": found.type,
            "Content-Security-Policy": f"{found.policy}frame-ancestors {whose}",
            "X-Frame-Options": "SAMEORIGIN" if found.framed else "DENY",
        }
        self.answer(status, found.content, _HEADERS | headers | (more or {}))


def _read(content: bytes) -> JsonObject | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_of_another_user(client: tuple[str, int], port: int) -> bool:
    """True if the system says that a connection is another user's; only Linux says so. Root may be a relay."""
    host = f"{int.from_bytes(socket.inet_aton(client[0]), sys.byteorder):08X}"
    ends = f"{host}:{client[1]:04X}", f"{host}:{port:04X}"
    for table in map(Path, _CONNECTIONS):
        try:
            rows = [line.split() for line in table.read_text("ascii").splitlines()[1:]]
        except OSError:
            continue
        # An IPv6 socket has the same number at the end of its own.
        owners = {int(row[7]) for row in rows if row[1].endswith(ends[0]) and row[2].endswith(ends[1])}
        if owners - {0, os.getuid()}:
            return True
    return False


def _held(port: int) -> socket.socket | None:
    """Take a port of ::1, where browsers look for localhost first, so that no other user can; None without IPv6."""
    held = None
    try:
        held = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        held.bind(("::1", port))
    except OSError as error:
        if held:
            held.close()
        if error.errno in {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}:
            return None
        raise
    return held  # it does not listen: a browser that tries it goes on to 127.0.0.1 at once


class PagePort(LimitedThreads, HTTPServer):
    """A port of this machine that serves a room to the one browser that brings the token first.

    `random` returns octets; `used` is shown to whoever brings the token again.
    """

    def __init__(self, random: Callable[[int], bytes], room: PageRoom, used: str) -> None:
        super().__init__(("127.0.0.1", 0), _PageHandler)
        self.room = room
        self.used = used
        self.path = f"/{random(16).hex()}/"
        self.origin = f"http://localhost:{self.server_address[1]}"
        self._held = _held(self.server_address[1])
        self._token, self._session = random(16).hex(), random(16).hex()
        self._entered = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="page", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address that a browser opens, once."""
        return f"{self.origin}/{self._token}"

    def is_token(self, path: str) -> bool:
        """True if a path is that of the address."""
        return hmac.compare_digest(path.encode(), f"/{self._token}".encode())

    def enter(self) -> str | None:
        """The session for who brings the token; None if it was used up."""
        return self._session if self._entered.acquire(blocking=False) else None

    def knows(self, session: str) -> bool:
        """True if this is the session of who came with the token."""
        return self._entered.locked() and hmac.compare_digest(session.encode(), self._session.encode())

    def stop(self) -> None:
        """Close the port, once the answers that are under way had their time."""
        self.shutdown()
        self._thread.join()
        until = time.monotonic() + _GOODBYE
        while self._served and time.monotonic() < until:
            time.sleep(0.01)
        self.server_close()
        if self._held:
            self._held.close()


class WorkQueue:
    """Work for one thread, in its order."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    def ask(self, work: Callable[[], object], seconds: float) -> object:
        """Have work done, and return its result; raises what it raises, and `TimeoutError` if it takes longer.

        Work that has begun goes on all the same.
        """
        done: Future[object] = Future()

        def do() -> None:
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(work())
                except Exception as error:  # raised where it was asked for
                    done.set_exception(error)

        self._work.put(do)
        try:
            return done.result(seconds)
        except CancelledError as error:
            raise TimeoutError from error

    def stop(self) -> None:
        """Let the thread end."""
        self._work.put(None)

    def run(self, look: Callable[[], float]) -> None:
        """Do the work until `stop`; `look` is called in between, and says how long to rest before it is again."""
        rest = 0.0
        while True:
            try:
                do = self._work.get(timeout=rest)
            except queue.Empty:
                pass
            else:
                if do is None:
                    return
                do()
            rest = look()


class LatestNews:
    """The latest of what is told, for those who know an earlier state of it."""

    def __init__(self, first: object) -> None:
        self._changed = threading.Condition()
        self._number, self._latest = 1, first

    def tell(self, latest: object) -> None:
        """Note how things are now, and wake those who wait for it."""
        with self._changed:
            if latest != self._latest:
                self._number, self._latest = self._number + 1, latest
                self._changed.notify_all()

    def after(self, number: int, seconds: float) -> tuple[int, object]:
        """The latest with its number: at once if the number differs, or else when it changes, or after a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._number != number, seconds)
            return self._number, self._latest
