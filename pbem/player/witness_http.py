"""A witness by HTTP: requests are posted, and answered with HTTP status codes.

Here live the listener and its limits of time and size; `witness` decides on the answers. It speaks without TLS: to
make it public, put a web server in front of it. Implements C2SP tlog-witness, add-checkpoint.
"""

from __future__ import annotations

import socket
import sqlite3
import sys
import threading
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from pbem.config.values import Listen
from pbem.player.account import BadAccount
from pbem.player.witness import Settings, Witness
from pbem.tlog.checkpoint import Checkpoint, Request
from pbem.tlog.note import NotANote

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    _Asked = socket.socket | tuple[bytes, socket.socket]  # as socketserver has it

__all__ = ["Listener"]

PATIENCE = 5.0  # seconds without an octet
LONGEST = 30.0  # seconds for a whole request and its answer
MOST = 16 * 1024  # octets of a request: one with the longest proof has less
AT_ONCE = 16  # requests that are read at once; more are turned away


class Listener(ThreadingHTTPServer):
    """Answers in threads of its own until `close`; `said` is told the outcome of each request. Raises OSError."""

    daemon_threads = True

    def __init__(self, settings: Settings, now: Callable[[], datetime], said: Callable[[str], None]) -> None:
        place = Listen.parse(settings.listen)
        if ":" in place.host:
            self.address_family = socket.AF_INET6
        super().__init__((place.host, place.port), _Handler)
        self._settings = settings
        self._now = now
        self._said = said
        self._room = threading.BoundedSemaphore(AT_ONCE)
        threading.Thread(target=self.serve_forever, args=(0.05,), name="witness", daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self.shutdown()
        self.server_close()

    def answer(self, text: str) -> tuple[int, str, str]:
        """Status, type and body of the answer to a request with this body."""
        try:
            request = Request.read(text)
            found = Checkpoint.read(request.note.text)
        except NotANote as error:
            return 400, "text/plain", f"{error}\n"
        with closing(Witness(self._settings)) as witness:  # a connection of its own: each request has its thread
            if not witness.knows(found.origin):
                return 404, "text/plain", "no log that is witnessed here\n"
            if request.old > found.size:
                return 400, "text/plain", "the old size is beyond the checkpoint's\n"
            made = witness.answer(request, self._now())
        self._said(f"{made.outcome}: {found.origin} {made.size}")
        if made.outcome == "cosigned" and made.note is not None:
            return 200, "text/plain; charset=utf-8", f"{made.note.signatures[-1]}\n"
        if made.outcome in {"behind", "forked"}:
            return 409, "text/x.tlog.size", f"{made.size}\n"
        if made.outcome == "unproved":
            return 422, "text/plain", "the proof does not show that the log only grew\n"
        return 403, "text/plain", "not signed with the key of this log\n"

    def process_request(self, request: _Asked, client_address: object) -> None:
        """Read a request if there is room for one more."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: _Asked, client_address: object) -> None:
        """Answer, and make room for another, however slowly the other side writes."""
        cut = threading.Timer(LONGEST, _cut, (request,))
        cut.daemon = True
        cut.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            cut.cancel()
            self._room.release()

    def handle_error(self, request: _Asked, client_address: object) -> None:  # noqa: ARG002 - clients are not logged
        """Report an error, unless it is that the client has gone away."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError):
            self._said(f"a request failed: {error}")


def _cut(request: _Asked) -> None:
    if isinstance(request, socket.socket):
        with suppress(OSError):  # it ended meanwhile
            request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: Listener
    timeout = PATIENCE

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length") or ""
        if self.path.rpartition("/")[2] != "add-checkpoint":
            self._say(404, "text/plain", "")
        elif not (length.isascii() and length.isdigit()):
            self._say(411, "text/plain", "")
        elif len(length) > 9 or int(length) > MOST:
            self._say(413, "text/plain", "")
        else:
            try:
                self._say(*self.server.answer(self.rfile.read(int(length)).decode("utf-8", "replace")))
            except (sqlite3.Error, BadAccount):  # what it remembers, or its key, is out of reach
                self._say(503, "text/plain", "")
                raise

    def _say(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """The name of the software, without a version."""
        return "pbem"

    def log_message(self, *_: object) -> None:
        """Log nothing: who asked is nobody's business."""
