"""Orders taken back from the browser: a port of this machine, open for one page and one answer.

A request is served only if it knows the token in the address, which is drawn each time, and only under this machine's
own name, so that no page of the Web can reach in. Implements docs/playing.md, "In the browser".
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, NamedTuple

from pbem.connections import LimitedThreads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Handed", "Port"]

_MOST = 100_000  # octets of an answer
_SECONDS = 30


class Handed(NamedTuple):
    """The orders that came back: a text in the game's notation, and whether it is final."""

    text: str
    final: bool


class _BrowserHandler(BaseHTTPRequestHandler):
    timeout = _SECONDS
    server_version = "pbem"
    sys_version = ""

    def do_GET(self) -> None:
        port = self._port()
        content = port.pages.get(self.path) if self._is_ours(port) else None
        if content is None:
            self._answer(404)
            return
        self._answer(200, content.encode())

    def do_POST(self) -> None:
        port = self._port()
        length = self.headers.get("Content-Length", "")
        if not self._is_ours(port) or self.path != port.path or self.headers.get("Origin") != port.origin:
            self._answer(403)
        elif not length.isdecimal() or int(length) > _MOST:
            self._answer(413)
        elif (handed := _read(self.rfile.read(int(length)))) is None:
            self._answer(400)
        else:
            self._answer(204 if port.take(handed) else 410)

    def _port(self) -> Port:
        assert isinstance(self.server, Port)
        return self.server

    def _is_ours(self, port: Port) -> bool:
        """Whether the browser addressed this machine by number: another name may be anybody's."""
        return self.headers.get("Host") == port.origin.removeprefix("http://")

    def _answer(self, status: int, content: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "SAMEORIGIN")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library names it
        """Nothing is logged: the address holds the token."""


def _read(content: bytes) -> Handed | None:
    try:
        match json.loads(content):
            case {"text": str(text), "final": bool(final)}:
                return Handed(text, final)
    except (ValueError, RecursionError):
        pass
    return None


class Port(LimitedThreads, HTTPServer):
    """A port of this machine that serves a page with a composer in it, until it has handed something over."""

    def __init__(self, random: Callable[[int], bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _BrowserHandler)
        self.path = f"/{random(16).hex()}/"
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self.pages: dict[str, str] = {}
        self._handed: Handed | None = None
        self._came = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, name="browser", daemon=True)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"{self.origin}{self.path}"

    def serve(self, page: str, composer: str) -> None:
        """Serve the page at the address, and the composer at `composer` below it."""
        self.pages = {self.path: page, f"{self.path}composer": composer}
        self._thread.start()

    def take(self, handed: Handed) -> bool:
        """Accept what is handed over; only the first time counts."""
        with self._lock:
            if self._handed is not None:
                return False
            self._handed = handed
        self._came.set()
        return True

    def wait(self, seconds: float) -> Handed | None:
        """What was handed over, after this many seconds at the latest."""
        self._came.wait(seconds)
        return self._handed

    def stop(self) -> None:
        """Close the port."""
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
        self.server_close()
