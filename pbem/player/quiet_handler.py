"""The answers to requests by HTTP, of the page at home and of a witness; nothing is logged.

It is a module of its own, because `http.server` takes long to load, and few of a player's commands serve anything.
Implements docs/playing.md and docs/witnesses.md.
"""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class QuietHandler(BaseHTTPRequestHandler):
    """Answers requests, and logs none: addresses hold tokens, and who asked is nobody's business."""

    def answer(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        """Send an answer with these headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def version_string(self) -> str:
        """The name of the software, without a version."""
        return "pbem"

    def log_message(self, *_: object) -> None:
        """Log nothing."""
