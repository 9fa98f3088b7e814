"""Servers of this process, each in a thread with a loop of its own: of streams, or of mail by aiosmtpd's handlers."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aiosmtpd.smtp import SMTP

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Coroutine, Iterator


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def in_a_thread(
    listen: Callable[[], Coroutine[Any, Any, asyncio.Server]],
) -> Iterator[tuple[asyncio.AbstractEventLoop, asyncio.Server]]:
    """A server, until the block ends; then everything that it began ends, too."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(listen(), loop).result()
        try:
            yield loop, server
        finally:
            asyncio.run_coroutine_threadsafe(_end_all(server), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end_all(server: asyncio.Server) -> None:
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening)
    await asyncio.sleep(0.001)  # a connection that was just accepted begins: asyncio would lose it in a closed server
    server.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_default_executor()
    transports: Any = loop._transports  # type: ignore[attr-defined]  # those of tasks that had not begun, too
    while [one.abort() for one in [*transports.values()] if one._sock is not None]:  # noqa: ASYNC110 - no event
        await asyncio.sleep(0.001)


@contextmanager
def mail_server(handler: object, port: int = 0, tls: ssl.SSLContext | None = None, **options: Any) -> Iterator[int]:
    """A mail server whose letters come to this handler of aiosmtpd's; gives its port."""

    async def listen() -> asyncio.Server:
        loop = asyncio.get_running_loop()
        given = {"hostname": "smarthost.example", "data_size_limit": None, **options}
        return await loop.create_server(lambda: SMTP(handler, loop=loop, **given), "127.0.0.1", port, ssl=tls)

    with in_a_thread(listen) as (_, server):
        yield server.sockets[0].getsockname()[1]
