"""The way of a letter at the desk: one function a command, facts from its row, each room once."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from in_a_box.referee import SERVER, Referee

import pbem
from pbem.desk.commands import account
from pbem.desk.outcomes import Outcome, Reply
from pbem.mail.commands import COMMANDS

ROOT = Path(pbem.__file__).parent


def test_every_row_has_its_function_and_no_other(referee: Referee) -> None:
    found = referee.desk.dispatch.handlers
    assert found.keys() == COMMANDS.keys()
    for name, handler in found.items():
        assert len(inspect.signature(handler).parameters) == 2, name


def test_rows_agree_with_themselves() -> None:
    for spec in COMMANDS.values():
        assert set(spec.withdraws) <= {name for name, one in COMMANDS.items() if one.stands}, spec.name
        assert not spec.alone or spec.shown == "at once", f"{spec.name}: alone, since others are shown the letter"
        assert spec.shown != "never" or not spec.published, f"{spec.name}: pages show what players are shown"
    assert {name for name, spec in COMMANDS.items() if spec.stands} == {"setup", "orders", "seal"}
    ranks = [spec.unvouched for spec in COMMANDS.values() if spec.unvouched is not None]
    assert len(set(ranks)) == len(ranks)


@pytest.mark.parametrize(("outcome", "obeyed"), [("done", 1), ("asked", 2), ("unplaced", 2), ("refused", 2)])
def test_only_what_was_done_is_not_done_again(
    referee: Referee, monkeypatch: pytest.MonkeyPatch, outcome: Outcome, obeyed: int
) -> None:
    """Whatever the reply says: its outcome counts."""
    ann = referee.registered("ann")
    calls: list[str] = []

    def handler(*given: Any) -> Reply:
        calls.append(given[-1].name)
        return Reply("unobserve", {"name": "m1"}, outcome=outcome)

    monkeypatch.setattr(account, "choose", handler)
    referee.open_desk()
    for _ in range(2):
        referee.send(ann, f"set mail digest\nserver {SERVER}\nplayer ann\nrev 1\n")
    assert len(calls) == obeyed
