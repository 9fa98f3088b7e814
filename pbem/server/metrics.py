"""The figures of a running server for Prometheus, at `/metrics` of a separate listener.

Here live the figures, and who may ask: only the loopback interface (`pbem.config.server`). They are numbers: no
name, no address, no word of a letter.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, NamedTuple

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from pbem.store.database import from_db

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping
    from datetime import datetime

    from pbem.store.operator import Survey

PATIENCE = 5.0  # seconds for one request and its answer
MOST = 16  # connections at once: more would take the descriptors that mail needs

log = structlog.get_logger()


class Figures(NamedTuple):
    """The figures about a server."""

    survey: Survey
    desk_deaths: int
    """The number of the desk's processes that died since the server was started."""


def gauges(figures: Figures, now: datetime) -> Iterator[GaugeMetricFamily]:
    """The figures, each with its name."""
    survey = figures.survey
    what = "Processes of the desk that died since the server was started."
    yield GaugeMetricFamily("pbem_desk_deaths", what, figures.desk_deaths)
    yield GaugeMetricFamily("pbem_generation", "Restores from a backup, plus one.", survey["generation"])
    for box, letters, oldest in (
        ("inbox", survey["inbox"], survey["inbox_oldest"]),
        ("outbox", survey["outbox"], survey["outbox_oldest"]),
    ):
        yield _labelled(f"pbem_{box}_letters", f"Letters in the {box} by state.", "state", letters)
        age = max((now - from_db(oldest)).total_seconds(), 0) if oldest else 0
        what = "Age of the oldest letter that waits there; 0 when none does."
        yield GaugeMetricFamily(f"pbem_{box}_oldest_seconds", what, age)
    yield _labelled("pbem_bounces", "Bounces received by kind.", "kind", survey["bounces"])
    yield _labelled("pbem_matches", "Matches by phase.", "phase", survey["matches"])
    yield GaugeMetricFamily("pbem_matches_paused", "Matches that stand still.", len(survey["paused"]))
    yield GaugeMetricFamily("pbem_players", "Registered players.", survey["players"])
    what = "Players to whom letters do not arrive."
    yield GaugeMetricFamily("pbem_players_unreachable", what, len(survey["unreachable"]))


def _labelled(name: str, what: str, label: str, counts: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, what, labels=[label])
    for value, count in counts.items():
        family.add_metric([value], count)
    return family


class _Gauges(Collector):
    """The figures of one moment, as the client of Prometheus asks for them."""

    def __init__(self, figures: Figures, now: datetime) -> None:
        self._found = list(gauges(figures, now))

    def collect(self) -> list[GaugeMetricFamily]:
        """The figures."""
        return self._found


class Metrics:
    """Answers `GET /metrics`, a request for each connection."""

    def __init__(self, figures: Callable[[], Coroutine[None, None, Figures]], now: Callable[[], datetime]) -> None:
        self._figures = figures
        self._now = now
        self._server: asyncio.Server | None = None
        self._under_way = 0

    async def listen(self, host: str, port: int) -> int:
        """Bind the given port; nobody is answered before `open`. Raises OSError."""
        self._server = await asyncio.start_server(self._answer, host, port, start_serving=False)
        return int(self._server.sockets[0].getsockname()[1])

    async def open(self) -> None:
        """Answer from now on."""
        assert self._server is not None
        await self._server.start_serving()

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._under_way >= MOST:
            writer.close()
            return
        self._under_way += 1
        try:
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                known = re.match(rb"GET /metrics[ ?]", head)
                registry = CollectorRegistry(auto_describe=False)
                if known:
                    registry.register(_Gauges(await self._figures(), self._now()))
                body = generate_latest(registry)
                status = "200 OK" if known else "404 Not Found"
                answer = (
                    f"HTTP/1.0 {status}\r\nContent-Type: {CONTENT_TYPE_LATEST}\r\nContent-Length: {len(body)}\r\n\r\n"
                )
                writer.write(answer.encode("ascii") + body)
                await writer.drain()
        except Exception:  # in a line of our own, without the client's address
            log.exception("metrics trouble")
        finally:
            self._under_way -= 1
            writer.close()
