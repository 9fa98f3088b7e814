"""The figures of a running server for Prometheus: a text, and the small answer to whoever asks for it.

Here live the text format (version 0.0.4) and one listener that knows one path. It stands on the loopback interface
alone (`pbem.config`), and tells numbers: no name, no address, no word of a letter.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import structlog

from pbem.store.database import moment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from datetime import datetime

__all__ = ["Metrics", "exposition"]

REQUEST = 8192  # octets of a request that are read
PATIENCE = 5.0  # seconds for one request and its answer

log = structlog.get_logger()


def exposition(survey: Mapping[str, Any], now: datetime) -> str:
    """The figures of `pbem.store.operator.survey`, and the deaths of the desk, as Prometheus reads them."""
    return "".join(f"{line}\n" for line in _lines(survey, now))


def _lines(survey: Mapping[str, Any], now: datetime) -> Iterator[str]:
    what = "Processes of the desk that died since the server was started."
    yield from _gauge("pbem_desk_deaths", what, {"": survey["desk_deaths"]})
    yield from _gauge("pbem_generation", "Restores from a backup, plus one.", {"": survey["generation"]})
    for box in ("inbox", "outbox"):
        yield from _gauge(f"pbem_{box}_letters", f"Letters in the {box} by state.", _labelled("state", survey[box]))
        oldest = survey[f"{box}_oldest"]
        age = max((now - moment(oldest)).total_seconds(), 0) if oldest else 0
        what = "Age of the oldest letter that waits there; 0 when none does."
        yield from _gauge(f"pbem_{box}_oldest_seconds", what, {"": age})
    yield from _gauge("pbem_bounces", "Bounces received by kind.", _labelled("kind", survey["bounces"]))
    yield from _gauge("pbem_matches", "Matches by phase.", _labelled("phase", survey["matches"]))
    yield from _gauge("pbem_matches_paused", "Matches that stand still.", {"": len(survey["paused"])})
    yield from _gauge("pbem_players", "Registered players.", {"": survey["players"]})
    what = "Players to whom letters do not arrive."
    yield from _gauge("pbem_players_unreachable", what, {"": len(survey["unreachable"])})


def _labelled(label: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {f'{{{label}="{value}"}}': count for value, count in counts.items()}


def _gauge(name: str, what: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} gauge"
    for labels, value in values.items():
        yield f"{name}{labels} {value}"


class Metrics:
    """Answers `GET /metrics`; `survey` gives the figures."""

    def __init__(self, survey: Callable[[], Awaitable[Mapping[str, Any]]], now: Callable[[], datetime]) -> None:
        self._survey = survey
        self._now = now
        self._server: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> int:
        """Take the port, which is given; nobody is answered before `open`. Raises OSError."""
        self._server = await asyncio.start_server(self._answer, host, port, limit=REQUEST, start_serving=False)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def open(self) -> None:
        """Answer from now on, if there is a place."""
        if self._server is not None:
            await self._server.start_serving()

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._reply(head.split(b" ")[:2]))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # nobody whom an answer would help
        except Exception:
            log.exception("metrics trouble")
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _reply(self, request: list[bytes]) -> bytes:
        if request != [b"GET", b"/metrics"]:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        body = exposition(await self._survey(), self._now()).encode()
        head = (
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body
