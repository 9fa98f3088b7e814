"""A server of topics, by ntfy's documentation alone: the body of a POST is the message, and `Title` its title."""

from __future__ import annotations

import json
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from machines import certificate, http_double
from machines.http_double import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from machines.http_double import Asked

HOST = "ntfy.example"


class Message(NamedTuple):
    """A message as a subscriber of its topic reads it."""

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
        """The answer instead, which is no HTTP."""
        self.port = 0
        self.trusting = ssl.create_default_context()

    @property
    def host(self) -> str:
        return f"{HOST}:{self.port}"

    def __call__(self, asked: Asked) -> Answer:
        message = Message(asked.path.removeprefix("/"), asked.headers["Title"], asked.body.decode())
        self.came.append(message)
        body = json.dumps({"event": "message", "topic": message.topic, "message": message.text}).encode()
        return Answer(self.status, body, {"Location": self.location} if self.location else {}, self.said)


@contextmanager
def serving(folder: Path, host: str = HOST) -> Iterator[Ntfy]:
    """A server of this name at 127.0.0.1, and what trusts its certificate alone."""
    ntfy, files = Ntfy(), certificate.make(folder, host)
    ntfy.trusting = ssl.create_default_context(cafile=files[0])
    with http_double.serving(ntfy, certificate=files) as ntfy.port:
        yield ntfy
