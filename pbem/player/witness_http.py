"""The listener of a witness: requests are posted, and answered with HTTP status codes.

Here live its limits of size and silence; `checkpoint_witness` decides on the answers. It speaks without TLS: to
make it public, put a web server in front of it. Implements C2SP tlog-witness, add-checkpoint.
"""

from __future__ import annotations

import socket
import sqlite3
import sys
import threading
from contextlib import closing
from http.server import HTTPServer
from typing import TYPE_CHECKING

from pbem.config.values import Listen
from pbem.connections import LimitedThreads
from pbem.player.account_file import BadAccount
from pbem.player.checkpoint_witness import Witness, WitnessSettings
from pbem.player.http_handler import QuietHandler
from pbem.tlog.checkpoint import Checkpoint, CosignRequest
from pbem.tlog.note import NotANote

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.connections import Asked


PATIENCE = 5.0  # seconds without an octet
MOST = 16 * 1024  # octets of a request: one with the longest proof has less


class WitnessListener(LimitedThreads, HTTPServer):
    """Answers in threads of its own until `close`; `said` is told the outcome of each request. Raises OSError."""

    def __init__(self, settings: WitnessSettings, now: Callable[[], datetime], said: Callable[[str], None]) -> None:
        place = Listen.parse(settings.listen)
        if ":" in place.host:
            self.address_family = socket.AF_INET6
        super().__init__((place.host, place.port), _WitnessHandler)
        self._settings = settings
        self._now = now
        self._said = said
        threading.Thread(target=self.serve_forever, args=(0.05,), name="witness", daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self.shutdown()
        self.server_close()

    def answer(self, text: str) -> tuple[int, str, str]:
        """Status, type and body of the answer to a request with this body."""
        try:
            request = CosignRequest.read(text)
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

    def handle_error(self, request: Asked, client_address: object) -> None:  # noqa: ARG002 - clients are not logged
        """Report an error, unless it is that the client has gone away."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError):
            self._said(f"a request failed: {error}")


class _WitnessHandler(QuietHandler):
    server: WitnessListener
    timeout = PATIENCE

    def do_POST(self) -> None:  # noqa: N802 - as http.server names it
        length = self.headers.get("Content-Length") or ""
        if self.path.rpartition("/")[2] != "add-checkpoint":
            self._say(404, "text/plain", "")
        elif not (length.isascii() and length.isdigit()):
            self._say(411, "text/plain", "")
        elif len(length) > 9 or int(length) > MOST:
            self._say(413, "text/plain", "")
        else:
            text = self.rfile.read(int(length)).decode("utf-8", "replace")
            self.server.keep(self.connection)
            try:
                self._say(*self.server.answer(text))
            except (sqlite3.Error, BadAccount):  # what it remembers, or its key, is out of reach
                self._say(503, "text/plain", "")
                raise

    def _say(self, status: int, kind: str, text: str) -> None:
        self.answer(status, text.encode(), {"Content-Type": kind})
