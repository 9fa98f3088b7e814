"""Asking witnesses: over real sockets, a double of a witness, and whatever else may answer."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Referee
from in_a_box.stores import place
from machines.house import House, configured, move_in, run
from machines.http_double import Answer, serving
from machines.waiting import at_once, one_round
from machines.witness_double import Double
from msgspec.structs import replace

from pbem.config.server import WitnessConfig
from pbem.config.values import Cosigner
from pbem.server import http_call
from pbem.server.desk_work import open_desk
from pbem.server.http_call import MOST, Unreachable, WitnessAsker, fetched
from pbem.smtp.rounds import LONGEST_WAIT, TaskServices
from pbem.store.database import Database
from pbem.store.questions import WitnessRequests
from pbem.verifier_key import LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Case:
    """A store in which something is to be asked, a clock, and a network that does as it is told."""

    def __init__(self, database: Database) -> None:
        self.requests = WitnessRequests(database)
        self.database = database
        self.now = NOW
        self.said: list[tuple[int, bytes] | None] = []
        self.asked: list[tuple[str, bytes]] = []
        self.woken = 0
        self.urls = {"w.example": "https://w.example/logs"}
        self.asker = self._asker()

    def _asker(self) -> WitnessAsker:
        return WitnessAsker(self.requests, self.urls, TaskServices(lambda: self.now, at_once, self.wake), self.post)

    def wake(self) -> None:
        self.woken += 1

    async def post(self, url: str, body: bytes) -> tuple[int, bytes]:
        self.asked.append((url, body))
        answer = self.said.pop(0)
        if answer is None:
            raise Unreachable("TimeoutError")
        return answer

    def put(self, text: str) -> None:
        with self.database.transaction():
            self.requests.put("w.example", text, self.now)


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with closing(Database(tmp_path / "store.sqlite")) as database:
        yield Case(database)


def test_what_is_due_is_asked_once_and_its_answer_wakes_the_desk(case: Case) -> None:
    assert one_round(case.asker) == LONGEST_WAIT
    case.put("old 0")
    case.said = [(200, b"\xe2\x80\x94 w AAAA\n\x1b[2J\xff")]
    assert one_round(case.asker) == LONGEST_WAIT
    assert case.asked == [("https://w.example/logs/add-checkpoint", b"old 0")]
    found = case.requests.answered()
    assert found is not None
    assert (found.status, found.said) == (200, "— w AAAA\n[2J\ufffd"), "nothing in it moves a cursor"
    assert case.woken == 1
    assert one_round(case.asker) == LONGEST_WAIT
    case.put("old 1")
    assert case.requests.answered() is None, "a newer request takes the place of all that was"


@pytest.mark.parametrize("said", [None, (500, b""), (503, b"later"), (429, b""), (302, b""), (101, b"")])
def test_trouble_of_the_network_is_no_answer_and_waits_longer_each_time(
    case: Case, said: tuple[int, bytes] | None
) -> None:
    case.put("old 0")
    waits = []
    for _ in range(9):
        case.said = [said]
        one_round(case.asker)
        due = case.requests.next_due()
        assert due is not None
        waits.append(due - case.now)
        case.now = due
    assert waits[:3] == [timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=4)]
    assert waits[-1] == timedelta(hours=1)
    assert case.requests.answered() is None
    assert not case.woken


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422])
def test_what_a_witness_refuses_is_an_answer(case: Case, status: int) -> None:
    case.put("old 0")
    case.said = [(status, b"7\n")]
    one_round(case.asker)
    found = case.requests.answered()
    assert found is not None
    assert (found.status, found.said) == (status, "7\n")


def test_who_asked_and_died_is_followed_and_nothing_is_held_meanwhile(case: Case) -> None:
    case.put("old 0")
    first = case.requests.due(case.now, case.now + http_call.LEASE)
    assert len(first) == 1
    assert not case.database.in_transaction
    assert not case.requests.due(case.now, case.now + http_call.LEASE), "another asks nothing meanwhile"
    case.now += http_call.LEASE
    case.said = [(200, b"x\n")]
    one_round(case.asker)
    assert case.requests.answered() is not None


def test_a_request_that_comes_again_while_it_is_under_way_is_asked_again(case: Case) -> None:
    """A witness that is asked in vain from another size is soon asked from the first one again, in the same words."""
    case.said = [(200, b"x\n"), (200, b"y\n")]

    async def scene() -> None:
        for _ in range(2):
            case.put("old 0")
            await case.asker._round()
        under_way = list(case.asker._under_way)
        assert len(under_way) == 2
        await asyncio.gather(*under_way)
        assert not case.asker._under_way

    asyncio.run(scene())
    assert len(case.asked) == 2
    found = case.requests.answered()
    assert found is not None
    assert found.said == "x\n", "the first answer is one to the same words"


def test_a_witness_that_is_none_of_ours_any_more_is_not_asked(case: Case) -> None:
    case.put("old 0")
    case.urls["v.example"] = case.urls.pop("w.example")
    one_round(case.asker)
    assert not case.asked
    found = case.requests.answered()
    assert found is not None
    assert found.status == 0


# Over sockets.


def test_an_answer_without_end_and_one_that_is_no_http_are_none() -> None:
    with serving(lambda _: Answer(200, b"*" * 1000)) as port:
        url = f"http://127.0.0.1:{port}"
        with pytest.raises(Unreachable, match="too long"):
            asyncio.run(fetched(url, b"x"))
        # No TLS where there should be.
        with pytest.raises(Unreachable):
            asyncio.run(fetched(url.replace("http:", "https:"), b"x"))
    with pytest.raises(Unreachable):
        asyncio.run(fetched(url, b"x"))
    with pytest.raises(Unreachable):
        asyncio.run(fetched("https://no-such-host.invalid", b"x"))


def test_an_answer_that_trickles_is_waited_for_no_longer_than_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_call, "PATIENCE", 0.3)
    began = time.monotonic()
    with serving(lambda _: Answer(200, bytes(MOST)), slow=0.05) as port:
        with pytest.raises(Unreachable, match="in time"):
            asyncio.run(fetched(f"http://127.0.0.1:{port}", b"x"))
        assert time.monotonic() - began < 10
        while any(thread.name == "http" for thread in threading.enumerate()):
            assert time.monotonic() - began < 10, "nothing is left of it"
            time.sleep(0.01)


def test_a_server_asks_its_witness_and_keeps_what_it_cosigned(tmp_path: Path) -> None:
    """The daemon, its desk and its asker together, at a match that is under way."""
    with closing(Referee(tmp_path)) as referee:
        referee.begun()
        log = VerifierKey("play.example", LOG, referee.signing_key.public_key().public_bytes_raw())
    double = Double(log)

    async def scene(house: House) -> None:
        seen = "SELECT max(cosigned) FROM checkpoints"
        await house.until(lambda: bool(house.daemon._database.scalar(seen)))

    with serving(double) as port:
        witness = WitnessConfig(cosigners=(Cosigner(double.verifier, f"http://127.0.0.1:{port}/of/logs"),))
        config = replace(configured(tmp_path, witness=witness), store=place(tmp_path / "store.sqlite"))
        move_in(config, bytes(range(32)))
        run(config, scene, desk=open_desk)
    assert set(double.known) == {"play.example"}
