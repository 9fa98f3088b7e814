"""A server of topics, by ntfy's documentation alone: the body of a POST is the message, and `Title` its title."""

from __future__ import annotations

import json
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

from machines import certificate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST = "ntfy.example"


class Message(NamedTuple):
    """What a subscriber of a topic reads."""

    topic: str
    title: str
    text: str


class Ntfy:
    """A running server: what came, and what it answers."""

    def __init__(self) -> None:
        self.came: list[Message] = []
        self.status = 200
        self.location = ""
        self.said = b""
        """What is answered instead, in no HTTP."""
        self.port = 0
        self.trusting = ssl.create_default_context()

    @property
    def host(self) -> str:
        return f"{HOST}:{self.port}"


@contextmanager
def serving(folder: Path, host: str = HOST) -> Iterator[Ntfy]:
    """A server of this name at 127.0.0.1, and what trusts its certificate alone."""
    ntfy = Ntfy()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            ntfy.came.append(Message(self.path.removeprefix("/"), self.headers["Title"], text))
            if ntfy.said:
                self.wfile.write(ntfy.said)
                return
            body = json.dumps({"event": "message", "topic": self.path[1:], "message": text}).encode()
            self.send_response(ntfy.status)
            if ntfy.location:
                self.send_header("Location", ntfy.location)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    files = certificate.make(folder, host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who does not trust us hangs up
    server.socket = context.wrap_socket(server.socket, server_side=True)
    ntfy.port = server.server_address[1]
    ntfy.trusting = ssl.create_default_context(cafile=files[0])
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield ntfy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
