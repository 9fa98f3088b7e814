"""A running daemon in this very process, with a desk that echoes and a smarthost that is a list."""

from __future__ import annotations

import asyncio
import contextlib
import os
import smtplib
import sys
from typing import TYPE_CHECKING, Any

from in_a_box.boxes import Inbox, Outbox
from in_a_box.stores import place
from machines import post_office
from machines.desk_thread import OwnThread

from pbem.config.mail import ListenerConfig
from pbem.config.server import Config
from pbem.config.values import Listen
from pbem.desk.reading import InProcess
from pbem.mail.compose import Content
from pbem.server.daemon import Daemon
from pbem.store import own_keys
from pbem.store.database import Database

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Awaitable, Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from pbem.mail.compose import Composer
    from pbem.server.desk_work import DeskLike
    from pbem.store.vault import Vault

PATIENCE = 60  # seconds for a start or a scene that hangs; a busy machine takes ten for what a quiet one does at once
TEXT = b"From: anna@example.org\r\nSubject: hello\r\n\r\nsecret orders\r\n"


class Echo:
    """A desk that answers each letter with its own text."""

    def __init__(self, database: Database, vault: Vault, composer: Composer) -> None:
        self.database = database
        self.inbox = Inbox(database, vault)
        self.outbox = Outbox(database, vault)
        self.composer = composer
        self.ticks: list[datetime] = []
        self.trouble: list[Exception] = []

    def handle_next(self, now: datetime) -> bool:
        if self.trouble:
            raise self.trouble.pop()
        row = self.inbox.lease(now)
        if row is None:
            return False
        with self.database.transaction():
            message_id = self.composer.message_id(f"echo.{row.id}")
            raw = self.composer.compose(row.envelope.sender, "echo", Content("echo"), message_id=message_id, date=now)
            self.outbox.put(row.envelope.sender, message_id, raw, now)
            self.inbox.done(row.id, "echoed")
        return True

    def may_decide(self) -> bool:
        """It decides whenever nobody else does."""
        if not self.database.engine.decides and self.database.try_to_decide():
            self.inbox.release_all()
        return self.database.engine.decides

    def tick(self, now: datetime) -> datetime | None:
        self.ticks.append(now)
        return None

    def stand_still(self, *_: object) -> None:
        """The clock never leaps."""


class Post:
    """A smarthost that keeps what it gets."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, bytes]] = []

    async def send(self, sender: str, recipient: str, raw: bytes) -> str:
        self.sent.append((sender, recipient, raw))
        return "250 ok"

    async def rest(self) -> None:
        """There is nothing to let go of."""


class House:
    """A running daemon and what stands around it."""

    def __init__(self, config: Config, **more: Any) -> None:
        self.post = Post()
        self.begun = False
        self.places: dict[str, Any] = {}
        self.desk: Any = None
        more = {"desk": self.open, "place": OwnThread, "reader": InProcess, **more}
        self.daemon = Daemon(config, transport=self.post, ready=self.ready, **more)

    def open(self, *arguments: Any) -> DeskLike:
        _, database, keys, composer, _ = arguments
        self.desk = Echo(database, keys.vault, composer)
        desk: DeskLike = self.desk
        return desk

    def ready(self, places: Any) -> None:
        self.begun = True
        self.places = {place.protocol: place for place in places}

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():  # noqa: ASYNC110 - the condition is the daemon's state, not an event of ours
            await asyncio.sleep(0.01)

    async def send(
        self,
        raw: bytes = TEXT,
        sender: str = "anna@example.org",
        recipient: str = "pbem@play.example",
        *,
        client: str = "",
    ) -> tuple[int, bytes]:
        """Send a letter as another mail server would, or as ours would for a client; the reply to it."""
        return await asyncio.to_thread(deliver, self.places["smtp"].port, raw, sender, recipient, client=client)


def deliver(
    port: int,
    raw: bytes,
    sender: str = "anna@example.org",
    recipient: str = "pbem@play.example",
    *,
    client: str = "",
) -> tuple[int, bytes]:
    with smtplib.SMTP("127.0.0.1", port, timeout=10) as smtp:
        smtp.ehlo()
        if client:
            assert smtp.docmd("XFORWARD", f"ADDR={client}")[0] == 250
        smtp.mail(sender)
        smtp.rcpt(recipient)
        return smtp.data(raw)


def configured(folder: Path, **more: Any) -> Config:
    more.setdefault("smtp", ListenerConfig(listen=Listen("127.0.0.1", 0)))
    return Config(server="play.example", store=place(folder / "pbem.sqlite"), keys=folder / "keys", **more)


def move_in(config: Config, signing: bytes = bytes(32)) -> None:
    """Give a store that a referee in a box has left its keys, as the files that a daemon looks for."""
    config.keys.mkdir(mode=0o700)
    for path, key in ((config.store_key, bytes(32)), (config.signing_key, signing)):
        path.touch(0o600)
        path.write_text(key.hex())
    with Database(config.store) as database:
        own_keys.note(database, own_keys.load(config.store_key, config.signing_key, os.urandom))


async def nothing_happens(_house: House) -> None:
    """A scene without events."""


def run(config: Config, scene: Callable[[House], Awaitable[None]], **more: Any) -> House:
    """Start a daemon, play a scene against it, and stop it cleanly."""

    async def main() -> House:
        house = House(config, **more)
        running = asyncio.create_task(house.daemon.run())
        try:
            await asyncio.wait_for(house.until(lambda: bool(house.places) or running.done()), PATIENCE)
            if not running.done():
                await asyncio.wait_for(scene(house), PATIENCE)
        finally:
            house.daemon.stop()
            await running
        return house

    return asyncio.run(main())


SERVE = "from pbem.cli.serve import serve; serve()"


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`pbem serve` as a process of its own, and the port it listens at."""
    config = folder / "pbem.toml"
    config.write_text('server = "play.example"\n[smtp]\nlisten = "127.0.0.1:0"\n[smarthost]\nport = 1\n')
    program = (sys.executable, "-c", SERVE)
    with post_office.serving(folder / "ready.json", "--config", str(config), program=program) as (server, places):
        yield server, places["smtp"]["port"]
        server.kill()
