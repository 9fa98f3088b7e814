"""Rules of another package that hang, crash or raise in a turn: the match is paused, and goes on with better ones."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.inquiries import held, types
from in_a_box.outside import referee_of
from in_a_box.referee import Referee, body

from pbem.desk import match_environment
from pbem.games import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    with referee_of(tmp_path) as referee:
        yield referee


def wait(*_: object) -> Any:
    for _second in range(30):
        time.sleep(1)
    raise KeyError("too late")


def throw(*_: object) -> Any:
    raise KeyError("a secret")


def crash(*_: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("method", "fault", "why"),
    [
        ("turn", wait, "did not come to an end"),
        ("turn", throw, "they raised KeyError"),
        ("turn", crash, "did not come to an end"),
        ("show", throw, "they raised KeyError"),
    ],
)
def test_a_turn_that_fails_pauses_the_match_until_it_can_be_played(
    referee: Referee, monkeypatch: pytest.MonkeyPatch, method: str, fault: Callable[..., Any], why: str
) -> None:
    monkeypatch.setattr(match_environment, "_WALL", 1)
    operator = referee.people["operator@play.example"] = referee.person("operator")
    ann, bob = referee.agreed("miss: default", game="marbles")
    referee.send(ann, ann.filled("setup", "hide 3"))
    referee.send(bob, bob.filled("setup", "hide 4"))
    with monkeypatch.context() as broken:
        broken.setattr(type(rules("marbles")), method, fault)
        referee.send(ann, ann.filled("orders", "final\nguess 5"))
    assert types(referee)[-1] == "paused"
    told = " ".join(body(bob.find("paused")).split())
    assert "the rules of pbem-marbles 0.1.0 failed in turn 1" in told
    assert why in told
    assert "a secret" not in told
    assert why in " ".join(body(operator.find("the rules failed")).split())
    referee.read_cold()
    referee.desk.operator.instructions.give("resume", "m1", "a better version", "operator", referee.now)
    referee.work()
    assert types(referee)[-1] == "turn"
    referee.send(bob, bob.filled("orders", "final\nguess 3"))
    assert held(bob.find("the end"))
