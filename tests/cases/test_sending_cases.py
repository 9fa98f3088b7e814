"""Case 29 of reliability.md, sending; and that each of the cases has its test."""

from __future__ import annotations

import re
from pathlib import Path

from machines.lives import Server, served
from machines.waiting import until

LETTER = b"From: anna@mail.example\r\nMessage-ID: <1@mail.example>\r\n\r\nhelp\r\n"


def outbox(server: Server) -> list[tuple[str, int]]:
    with server.store() as (database, _, _):
        return [(row["state"], row["attempts"]) for row in database.rows("SELECT state, attempts FROM outbox")]


def test_case_29_a_letter_sent_again_has_the_same_bytes(tmp_path: Path) -> None:
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
    root = Path(__file__).parents[2]
    files = [path for folder in ("tests", "simulation") for path in (root / folder).rglob("test_*.py")]
    names = re.findall(r"^ *def test_case_(\d\d)_", "".join(path.read_text() for path in files), re.M)
    assert {int(number) for number in names} >= {*range(1, 43)}
