"""Case 29 of reliability.md, sending; and that each of the cases has its test."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from machines.lives import Server, Smarthost

from pbem.config.mail import Delivery
from pbem.smtp.delivery import retry_time

if TYPE_CHECKING:
    from collections.abc import Callable

LETTER = b"From: anna@mail.example\r\nMessage-ID: <1@mail.example>\r\n\r\nhelp\r\n"


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def outbox(server: Server) -> list[tuple[str, int]]:
    with server.store() as (database, _, _):
        return [(row["state"], row["attempts"]) for row in database.rows("SELECT state, attempts FROM outbox")]


def test_case_29_the_same_bytes_again(tmp_path: Path) -> None:
    smarthost = Smarthost(script=["451 4.3.0 later", "hang up", "452 4.2.2 full", "250 2.0.0 ok"])
    with smarthost.open():
        server = Server(tmp_path, smarthost.port)
        try:
            server.start()
            server.send(LETTER)
            until(lambda: outbox(server) == [("delivered", 4)])
            server.stop()
        finally:
            server.kill()
    assert len(smarthost.seen) == 4
    assert len(set(smarthost.seen)) == 1


def test_case_29_5xx_stops(tmp_path: Path) -> None:
    smarthost = Smarthost(script=["554 5.7.1 never"])
    with smarthost.open():
        server = Server(tmp_path, smarthost.port)
        try:
            server.start()
            server.send(LETTER)
            until(lambda: ("failed", 1) in outbox(server))
            time.sleep(0.3)
            assert ("failed", 1) in outbox(server)
            server.stop()
        finally:
            server.kill()
    assert sum(b"anna@mail.example" in raw.partition(b"\r\n\r\n")[0] for raw in smarthost.seen) == 1


def test_case_29_back_off_up_to_five_days() -> None:
    written = now = datetime(2026, 11, 21, tzinfo=UTC)
    waits: list[timedelta] = []
    while (retry := retry_time(Delivery(), written, len(waits) + 1, now)) is not None:
        waits.append(retry - now)
        now = retry
    assert waits == sorted(waits)
    assert waits[0] == timedelta(minutes=1)
    assert waits[-1] == timedelta(hours=6)
    assert timedelta(days=4.7) < now - written <= timedelta(days=5)


def test_every_case_has_a_test() -> None:
    """Here, or beside the other tests of the room whose case it is."""
    root = Path(__file__).parents[2]
    files = [path for folder in ("tests", "simulation") for path in (root / folder).rglob("test_*.py")]
    names = re.findall(r"^ *def test_case_(\d\d)_", "".join(path.read_text() for path in files), re.M)
    assert {int(number) for number in names} >= {*range(1, 43)}
