"""Orders taken back from the browser: a port of this machine, open for one page and one answer.

A request is served only if it knows the token in the address, which is drawn each time, and only under this machine's
own name, so that no page of the Web can reach in. Implements docs/playing.md, "In the browser".
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import Future, InvalidStateError
from http.server import HTTPServer
from typing import TYPE_CHECKING, NamedTuple

from pbem.connections import LimitedThreads
from pbem.player.http_handler import QuietHandler

if TYPE_CHECKING:
    from collections.abc import Callable


_MOST = 100_000  # octets of an answer
_SECONDS = 30
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Handed(NamedTuple):
    """The orders that came back: a text in the game's notation, and whether it is final."""

    text: str
    final: bool


class _BrowserHandler(QuietHandler):
    server: Port
    timeout = _SECONDS

    def do_GET(self) -> None:  # noqa: N802 - as http.server names it
        content = self.server.pages.get(self.path) if self._is_ours() else None
        self._answer(404 if content is None else 200, (content or "").encode())

    def do_POST(self) -> None:  # noqa: N802 - as http.server names it
        port = self.server
        length = self.headers.get("Content-Length", "")
        if not self._is_ours() or self.path != port.path or self.headers.get("Origin") != port.origin:
            self._answer(403)
        elif not length.isdecimal() or int(length) > _MOST:
            self._answer(413)
        elif (handed := _read(self.rfile.read(int(length)))) is None:
            self._answer(400)
        else:
            self._answer(204 if port.take(handed) else 410)

    def _is_ours(self) -> bool:
        """True if the browser addressed this machine by number: another name may be anybody's."""
        return self.headers.get("Host") == self.server.origin.removeprefix("http://")

    def _answer(self, status: int, content: bytes = b"") -> None:
        self.answer(status, content, _HEADERS)


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
        self._handed: Future[Handed] = Future()
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
        try:
            self._handed.set_result(handed)
        except InvalidStateError:
            return False
        return True

    def wait(self, seconds: float) -> Handed | None:
        """The orders that were handed over, or None after this many seconds."""
        try:
            return self._handed.result(seconds)
        except TimeoutError:
            return None

    def stop(self) -> None:
        """Close the port."""
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
        self.server_close()
