"""An intake whose letters end up in a list, and a client that says exactly what it is told to."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from pbem.config.limits import Limits
from pbem.config.mail import ListenerConfig
from pbem.config.values import Listen
from pbem.smtp.intake import Intake

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from pbem.store.inbox import Envelope

HELLO = [b"EHLO client.example", b"MAIL FROM:<anna@example.org>", b"RCPT TO:<pbem@play.example>"]
TEXT = b"From: anna@example.org\r\n\r\nhello\r\n"


class Client:
    """A client that says exactly what it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def reply(self) -> str:
        """One reply, all of its lines, without CRLF; empty when the server hung up."""
        lines: list[str] = []
        while True:
            try:
                line = (await asyncio.wait_for(self.reader.readline(), 10)).decode()
            except ConnectionError:
                line = ""
            lines.append(line.rstrip("\r\n"))
            if line[3:4] != "-":
                return "\n".join(lines)

    async def say(self, line: bytes) -> str:
        self.writer.write(line + b"\r\n")
        return await self.reply()

    async def open(self, lines: list[bytes] = HELLO) -> None:
        for line in lines:
            reply = await self.say(line)
            assert reply.startswith("250"), reply

    async def data(self, raw: bytes) -> str:
        """Send a message with its dots stuffed, and give the reply to the final dot."""
        assert (await self.say(b"DATA")).startswith("354")
        stuffed = b"".join(b"." + line if line.startswith(b".") else line for line in raw.splitlines(keepends=True))
        return await self.say(stuffed + b".")

    async def letter(self, hello: list[bytes] = HELLO[1:]) -> None:
        await self.open(hello)
        assert (await self.data(TEXT)).startswith("250")


class Office:
    """An intake whose letters end up in a list."""

    def __init__(self, limits: Limits | None = None, listener: ListenerConfig | None = None) -> None:
        self.listener = listener or ListenerConfig(listen=Listen("127.0.0.1", 0))
        self.letters: list[tuple[Envelope, bytes]] = []
        self.trouble: BaseException | None = None
        self.gate: asyncio.Event | None = None
        self.intake = Intake(
            "play.example", "pbem@play.example", self.accept, limits=limits or Limits(), reference=lambda: "ref42"
        )

    async def accept(self, envelope: Envelope, raw: bytes) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.trouble is not None:
            raise self.trouble
        self.letters.append((envelope, raw))

    async def listen(self, protocol: str = "smtp") -> None:
        self.port = (await self.intake.listen(protocol, self.listener))[0].port
        await self.intake.open()

    @contextlib.asynccontextmanager
    async def client(self, address: str = "127.0.0.1") -> AsyncIterator[Client]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))
        try:
            yield Client(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


def serve(
    scene: Callable[[Office], Awaitable[None]],
    protocol: str = "smtp",
    limits: Limits | None = None,
    listener: ListenerConfig | None = None,
) -> Office:
    """Play a scene against a listening intake, then see that it still takes letters, and close it."""

    async def play() -> Office:
        office = Office(limits, listener)
        await office.listen(protocol)
        try:
            await asyncio.wait_for(scene(office), 60)
        finally:
            if office.gate is not None:
                office.gate.set()
            await office.intake.close()
        assert not office.intake.admission.per_address
        return office

    return asyncio.run(play())


def speak(dialog: Callable[[Client], Awaitable[None]], hello: list[bytes] = HELLO, **given: Any) -> Office:
    """Serve one client, which says these lines first; then the dialog goes on."""

    async def scene(office: Office) -> None:
        async with office.client() as client:
            assert (await client.reply()).startswith("220 play.example")
            await client.open(hello)
            await dialog(client)

    return serve(scene, **given)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what other tasks bring about."""
    while not condition():  # noqa: ASYNC110 - the condition is the server's state, not an event of ours
        await asyncio.sleep(0.01)
