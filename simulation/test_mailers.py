"""The mail servers around ours: what they tell the world of their attempts."""

from __future__ import annotations

import asyncio
from random import Random
from unittest.mock import Mock

import pytest

from simulation.loop import Loop
from simulation.mailers import Bringer


@pytest.mark.parametrize("last", ["250 kept", "421 idle"])
def test_a_reply_that_a_client_forgets_was_given(last: str) -> None:
    """The letter is kept, whatever becomes of it when it is sent once more (seed 1073)."""
    loop, over, forgotten = Loop(Random(1)), Mock(), Mock()
    random = Mock(random=Mock(side_effect=[0.9, 0.0]))  # no pipelining, and a bad memory
    bringer = Bringer(loop, random, "ann@mail.example", "pbem@play.example", b"\r\n", over, forgotten)
    bringer.connection_made(Mock(spec=asyncio.Transport))
    for reply in ("220 hello", "250 ok", "250 ok", "250 ok", "354 go on", "250 kept"):
        bringer.data_received(f"{reply}\r\n".encode())
    forgotten.assert_called_once_with("250 kept")
    over.assert_not_called()
    for reply in ("250 ok", "250 ok", "354 go on", last):
        bringer.data_received(f"{reply}\r\n".encode())
    over.assert_called_once_with(last)
    forgotten.assert_called_once()
    loop.end()
