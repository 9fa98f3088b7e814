"""The turn at writing: one has it at a time, it comes to who waits, and no death keeps it."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from pbem.store.write_turn import WriteTurn

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def turn() -> Iterator[WriteTurn]:
    with WriteTurn() as turn:
        yield turn


def test_one_has_it_at_a_time_in_this_process_and_in_another(turn: WriteTurn) -> None:
    other = WriteTurn(turn.ends)
    assert turn.acquire(0)
    for waiting in (turn, other):
        assert not waiting.acquire(0)
        assert not waiting.acquire(0.01)
    turn.release()
    assert other.acquire(0)
    assert not turn.acquire(0)


def test_who_waits_is_woken(turn: WriteTurn) -> None:
    assert turn.acquire(0)
    other, came = WriteTurn(turn.ends), []
    waiting = threading.Thread(target=lambda: came.append(other.acquire(30)))
    waiting.start()
    time.sleep(0.05)
    assert not came
    turn.release()
    waiting.join(30)
    assert came == [True]


def test_a_token_that_died_is_put_back_and_no_second_one_is_made(turn: WriteTurn) -> None:
    child = os.fork()
    if not child:
        os._exit(0 if WriteTurn(turn.ends).acquire(0) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not turn.acquire(0)
    for _ in range(2):
        turn.mend()
    assert turn.acquire(0)
    turn.mend()
    assert not turn.acquire(0)
    turn.release()
    assert turn.acquire(0)
