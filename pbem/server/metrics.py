"""The figures of a running server for Prometheus, at `/metrics` of a separate listener.

Here live the figures, and who may ask: only the loopback interface (`pbem.config.server`). They are numbers: no
name, no address, no word of a letter.
"""

from __future__ import annotations

import asyncio
import io
import socket
import threading
import time
from typing import TYPE_CHECKING, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from pbem.connections import LimitedThreads
from pbem.store.database import from_db

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
    from datetime import datetime
    from wsgiref.types import StartResponse, WSGIEnvironment

    from pbem.store.operator import Survey

PATIENCE = 5.0  # seconds for one request and its answer
POLL = 0.05  # seconds until the listener notices that it is to end

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


class Metrics(Collector):
    """Answers `GET /metrics`; `figures` is called on the loop on which this was made."""

    def __init__(self, figures: Callable[[], Coroutine[None, None, Figures]], now: Callable[[], datetime]) -> None:
        self._figures = figures
        self._now = now
        self._server: WSGIServer | None = None
        self._thread: threading.Thread | None = None
        self._loop = asyncio.get_running_loop()
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        self._text = make_wsgi_app(registry, disable_compression=True)

    async def listen(self, host: str, port: int) -> int:
        """Bind the given port; nobody is answered before `open`. Raises OSError."""
        family = _IPv6Server if ":" in host else _Server
        self._server = make_server(host, port, self._answer, family, _MetricsHandler)
        return self._server.server_port

    async def open(self) -> None:
        """Answer from now on, if a port was given."""
        if self._server is not None:
            self._thread = threading.Thread(
                target=self._server.serve_forever, args=(POLL,), name="metrics", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            if self._thread is not None:
                self._server.shutdown()
            self._server.server_close()

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Nothing: the names are known only when there are figures."""
        return ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The figures of this moment."""
        figures = asyncio.run_coroutine_threadsafe(self._figures(), self._loop).result(PATIENCE)
        yield from gauges(figures, self._now())

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "GET" or environ["PATH_INFO"] != "/metrics":
            start("404 Not Found", [("Content-Length", "0")])
            return []
        try:
            body: Iterable[bytes] = self._text(environ, start)
        except Exception:
            log.exception("metrics trouble")
            start("500 Internal Server Error", [("Content-Length", "0")])
            return []
        return body


class _Server(LimitedThreads, WSGIServer):
    def get_request(self) -> tuple[socket.socket, object]:
        """The next connection; without a descriptor for it, it is tried again a little later, not at once."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(POLL)
            raise

    def handle_error(self, *_: object) -> None:
        """A line of our own, in place of a traceback with the client's address."""
        log.exception("metrics trouble")  # noqa: LOG004 - called while it is handled


class _IPv6Server(_Server):
    address_family = socket.AF_INET6


class _MetricsHandler(WSGIRequestHandler):
    """A handler with a time limit, and silent: errors are logged in lines of our own."""

    timeout = PATIENCE

    def log_message(self, *_: object) -> None:
        """Nothing: the client is not logged."""

    def get_stderr(self) -> io.StringIO:
        """Nothing: nobody who needs a traceback reads it there."""
        return io.StringIO()
