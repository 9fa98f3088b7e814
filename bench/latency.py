"""A letter on an idle machine: from the first octet of its connection until the smarthost has the answer."""

from __future__ import annotations

import smtplib
import statistics
import sys
import time
from typing import TYPE_CHECKING

from machines.lives import Smarthost

from bench import servers
from bench.measure import Goal, Part
from bench.table import Table

if TYPE_CHECKING:
    from aiosmtpd.smtp import SMTP, Envelope, Session

LETTERS = 200
PAUSE = 0.02
MEDIAN, SLOWEST = 9, 30


class _Relay(Smarthost):
    """A smarthost that offers PIPELINING (RFC 2920), as every relay that is in use does, and aiosmtpd does not."""

    async def handle_EHLO(
        self, _server: SMTP, session: Session, _envelope: Envelope, hostname: str, replies: list[str]
    ) -> list[str]:
        session.host_name = hostname
        return [replies[0], "250-PIPELINING", *replies[1:]]


def measure(rounds: int) -> list[Part]:
    """New revisions of a player's orders, one letter after the other, each on a connection of its own."""
    part = Part("A signed letter to its answer at the smarthost, one at a time, 2 KiB", "milliseconds")
    with servers.folder() as folder, _Relay().open() as smarthost:
        table = Table(folder)
        table.referee.close()
        port = servers.free_port()
        command = [sys.executable, "-m", "bench.servers.whole", str(folder), str(port), str(smarthost.port)]
        with servers.running(command, port):
            _answered(table, smarthost, port, 40)
            for _ in range(rounds):
                found = statistics.quantiles(_answered(table, smarthost, port, LETTERS), n=100)
                for name, percentile in (("the median", 50), ("the slowest in a hundred", 99)):
                    part.figures.setdefault(name, []).append(found[percentile - 1])
    for (name, figures), mark in zip(part.figures.items(), (MEDIAN, SLOWEST), strict=True):
        spread = min(figures), max(figures)
        part.goals.append(Goal(name, statistics.median(figures), mark, unit=" ms", most=True, spread=spread))
    return [part]


def _answered(table: Table, smarthost: Smarthost, port: int, count: int) -> list[float]:
    found = []
    for _ in range(count):
        raw = table.orders(table.ann, 1, next(table.revisions), size=2048)
        time.sleep(PAUSE)
        while not smarthost.arrivals.empty():
            smarthost.arrivals.get()
        began = time.perf_counter()
        with smtplib.SMTP("127.0.0.1", port, "client.example") as client:
            client.sendmail(table.ann.address, ["pbem@play.example"], raw)
        smarthost.arrivals.get(timeout=10)
        found.append((time.perf_counter() - began) * 1000)
    return found
