"""A server of HTTP in a thread, which answers as a function says: a witness, a host of topics, or whatever else."""

from __future__ import annotations

import ssl
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Asked(NamedTuple):
    """A request."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Answer(NamedTuple):
    """The answer to a request; a body that begins with `*` has no end."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}
    raw: bytes = b""
    """Octets to send instead, which are no HTTP."""


@contextmanager
def serving(
    answer: Callable[[Asked], Answer], slow: float = 0.0, certificate: tuple[str, str] | None = None
) -> Iterator[int]:
    """The port where this answers; `slow`: seconds between two octets of its answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.say(self.rfile.read(int(self.headers["Content-Length"])))

        def do_GET(self) -> None:
            self.say(b"")

        def say(self, asked: bytes) -> None:
            status, body, headers, raw = answer(Asked(self.path, dict(self.headers), asked))
            if raw:
                self.wfile.write(raw)
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if not body.startswith(b"*"):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                while body.startswith(b"*"):
                    self.wfile.write(body)
                for start in range(0, len(body), 1 if slow else len(body) or 1):
                    self.wfile.write(body[start : start + 1] if slow else body)
                    self.wfile.flush()
                    time.sleep(slow)
            except OSError:
                return  # nobody listens any more

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who does not trust us hangs up
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
