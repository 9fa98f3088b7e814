"""Letters going out: our deliverer, which notes each letter's fate on disk, beside smtplib in a loop."""

from __future__ import annotations

import asyncio
import os
import smtplib
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bench import servers
from bench.measure import Part, alternate, ratio_goal
from pbem.config.mail import Delivery, SmarthostConfig
from pbem.smtp import delivery
from pbem.smtp.rounds import TaskServices
from pbem.store.database import Database
from pbem.store.outbox import Outbox
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar, TypeVarTuple

    T = TypeVar("T")
    Arguments = TypeVarTuple("Arguments")

LETTERS = 600
OCTETS = 8192
SMTPLIB, OURS = "smtplib, one connection, nothing kept", "pbem, each letter's fate on disk"


def measure(rounds: int) -> list[Part]:
    """Letters of 8 KiB to smtp-sink, on connections that are kept."""
    part = Part("Outgoing letters, 8 KiB, kept connections to smtp-sink", "letters a second")
    if any(name.startswith("smtp-sink") for name in servers.absent()):
        part.notes.append("not measured: smtp-sink (Debian: postfix)")
        return [part]
    body = b"".join(b"%-70d\r\n" % line for line in range(OCTETS // 72))
    raw = b"From: pbem@play.example\r\nTo: anna@mail.example\r\nSubject: a report\r\n\r\n" + body
    with ExitStack() as stack:
        port = stack.enter_context(servers.sink())

        def plain() -> float:
            start = time.perf_counter()
            with smtplib.SMTP("127.0.0.1", port) as client:
                for _ in range(LETTERS):
                    client.sendmail("pbem@play.example", ["anna@mail.example"], raw)
            return LETTERS / (time.perf_counter() - start)

        part.figures = alternate({SMTPLIB: plain, OURS: lambda: asyncio.run(_ours(port, raw))}, rounds)
    part.goals.append(ratio_goal("pbem beside smtplib", part.figures[OURS], part.figures[SMTPLIB], 0.9))
    return [part]


async def _ours(port: int, raw: bytes) -> float:
    now = datetime.now(UTC)
    sent = asyncio.Event()
    with (
        servers.folder() as folder,
        ThreadPoolExecutor(1) as thread,
        Database(Path(folder) / "store.sqlite") as database,
    ):
        outbox = Outbox(database, Vault(bytes(32), os.urandom))
        with database.transaction():
            for number in range(LETTERS):
                outbox.put("anna@mail.example", f"<{number}@play.example>", raw, now)
        settled = 0

        def count(point: str) -> None:
            nonlocal settled
            settled += point == "sending settled"
            if settled == LETTERS:
                sent.set()

        async def run(call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
            return await asyncio.get_running_loop().run_in_executor(thread, call, *arguments)

        deliverer = delivery.Deliverer(
            outbox,
            delivery.Smarthost(SmarthostConfig(host="127.0.0.1", port=port, tls="none"), server="play.example"),
            Delivery(),
            TaskServices(lambda: datetime.now(UTC), run),
            address="pbem@play.example",
            delimiter="+",
            points=count,
        )
        start = time.perf_counter()
        work = asyncio.create_task(deliverer.work())
        await sent.wait()
        seconds = time.perf_counter() - start
        deliverer.stop()
        await work
    return LETTERS / seconds
