"""Case 29 of reliability.md, sending; and that each of the cases has its test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from machines.deaths import End
from machines.lives import Server, served
from machines.waiting import until

LETTER = b"From: anna@mail.example\r\nMessage-ID: <1@mail.example>\r\n\r\nhelp\r\n"


def outbox(server: Server) -> list[tuple[str, int]]:
    with server.store() as (database, _, _):
        return [(row["state"], row["attempts"]) for row in database.rows("SELECT state, attempts FROM outbox")]


@pytest.mark.parametrize("point", ["sending leased", "sending begun", "smarthost said 250", "sending settled"])
def test_case_29_crash_while_sending(tmp_path: Path, point: str) -> None:
    with served(tmp_path) as (server, smarthost):
        server.start(End(point))
        server.send(LETTER)
        assert server.wait() == -9
        server.start()
        until(lambda: [state for state, _ in outbox(server)] == ["delivered"])
        server.stop()
    assert len(smarthost.taken) == (2 if point == "smarthost said 250" else 1)
    assert len({raw for _, raw in smarthost.taken}) == 1


def test_case_29_the_same_bytes_again(tmp_path: Path) -> None:
    with served(tmp_path, script=["451 4.3.0 later", "hang up", "452 4.2.2 full", "250 2.0.0 ok"]) as (
        server,
        smarthost,
    ):
        server.start()
        server.send(LETTER)
        until(lambda: outbox(server) == [("delivered", 4)])
        server.stop()
    assert len(smarthost.seen) == 4
    assert len(set(smarthost.seen)) == 1


def test_every_case_has_a_test() -> None:
    """Here, or beside the other tests of the room whose case it is."""
    files = Path(__file__).parents[1].rglob("test_*.py")
    names = re.findall(r"^ *def test_case_(\d\d)_", "".join(path.read_text() for path in files), re.M)
    assert {int(number) for number in names} >= {*range(1, 43)}
