"""The figures for Prometheus: of what is in the store, and how old what waits there is."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from pbem.server.metrics import MOST, Figures, Metrics, gauges
from pbem.store.inbox import Envelope
from pbem.store.operator import survey

if TYPE_CHECKING:
    from in_a_box.referee import Referee


def test_the_figures_are_those_of_the_store(referee: Referee) -> None:
    referee.registered("ann")
    referee.inbox.put(Envelope("ann@mail.example", ("pbem@play.example",)), b"late", referee.now)
    figures = Figures(survey(referee.database), desk_deaths=2)
    told = {
        "".join([sample.name, *sample.labels.values()]): sample.value
        for family in gauges(figures, referee.now + timedelta(seconds=90))
        for sample in family.samples
    }
    for name, value in {
        "pbem_desk_deaths": 2,
        "pbem_generation": 1,
        "pbem_inbox_letterswaiting": 1,
        "pbem_inbox_lettersaside": 0,
        "pbem_inbox_oldest_seconds": 90,
        "pbem_outbox_letterswaiting": 0,
        "pbem_outbox_oldest_seconds": 0,
        "pbem_players": 1,
        "pbem_players_unreachable": 0,
    }.items():
        assert told[name] == value, name


async def ask(metrics: Metrics, request: bytes) -> bytes:
    port = await metrics.listen("127.0.0.1", 0)
    await metrics.open()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    if not request.endswith(b"\r\n\r\n"):  # by a reset
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await asyncio.sleep(0.1)
        writer.close()
        await asyncio.sleep(0.1)
        answer = b""
    else:
        answer = await reader.read()
        writer.close()
    metrics.close()
    return answer


def unasked() -> Metrics:
    return Metrics(asyncio.Event().wait, datetime.now)  # type: ignore[arg-type]


def test_other_addresses_are_not_found() -> None:
    assert asyncio.run(ask(unasked(), b"GET /other HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.0 404 ")
    assert asyncio.run(ask(unasked(), b"POST /metrics HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.0 404 ")


def test_who_hangs_up_while_asking_for_figures_is_told_of_in_a_line_of_ours() -> None:
    with structlog.testing.capture_logs() as lines:
        asyncio.run(ask(unasked(), b"GET /met"))
    assert [line["event"] for line in lines] == ["metrics trouble"]


def test_connections_that_say_nothing_take_no_more_than_their_room() -> None:
    async def scene() -> None:
        metrics = unasked()
        port = await metrics.listen("127.0.0.1", 0)
        await metrics.open()
        with ExitStack() as stack:
            for _ in range(MOST):
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            await asyncio.sleep(0.1)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await asyncio.wait_for(reader.read(), 2) == b""
            writer.close()
        metrics.close()

    with structlog.testing.capture_logs():
        asyncio.run(scene())
