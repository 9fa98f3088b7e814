"""The way of a letter at the desk: one function a command, facts from its row, each room once."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.referee import SERVER

import pbem
from pbem.desk import answer_letter, authenticate, dispatch, letter_handling, places, sorting, strangers
from pbem.desk.commands import account, handlers
from pbem.desk.reply import Reply
from pbem.mail.commands import COMMANDS
from pbem.mail.message import Letter
from pbem.match.step import Step

if TYPE_CHECKING:
    from types import FrameType, ModuleType

    from in_a_box.referee import Referee

    from pbem.desk.reply import Outcome

ROOT = Path(pbem.__file__).parent


def test_every_row_has_its_function_and_no_other(referee: Referee) -> None:
    found = handlers(referee.desk)
    assert found.keys() == COMMANDS.keys()
    for name, handler in found.items():
        assert len(inspect.signature(handler).parameters) == 2, name


@pytest.mark.parametrize(
    "room",
    [letter_handling, sorting, authenticate, dispatch, answer_letter, places, strangers],
    ids=lambda room: room.__name__,
)
def test_no_room_of_the_way_knows_a_command_by_name(room: ModuleType) -> None:
    """Nor what came of one by the name of a template: that is data in the row and in the reply."""
    phases = {"setup"}
    found = {node.value for node in ast.walk(ast.parse(inspect.getsource(room))) if isinstance(node, ast.Constant)}
    assert not (found & COMMANDS.keys()) - phases
    compared = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(room)))
        if isinstance(node, ast.Compare)
        and any(isinstance(one, ast.Attribute) and one.attr == "template" for one in ast.walk(node))
    ]
    assert not compared


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
    for _ in range(2):
        referee.send(ann, f"set mail digest\nserver {SERVER}\nplayer ann\nrev 1\n")
    assert len(calls) == obeyed


def returns(path: list[str]) -> int:
    """How often a way comes back to a file that it left."""
    at = [file for number, file in enumerate(path) if number == 0 or path[number - 1] != file]
    return sum(file in at[:number] for number, file in enumerate(at))


def test_a_letter_and_a_step_come_back_to_three_files_at_the_most(referee: Referee) -> None:
    """By the calls in which one is an argument, from the raw letter to the answer."""
    ann, bob = referee.begun("settle: 0")
    referee.turn((ann, "Rv1"))
    text = bob.filled("orders", "final\n")
    ways: dict[str, list[str]] = {"letter": [], "step": []}

    def called(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event != "call" or not file.is_relative_to(ROOT):
            return
        given = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
        for name in given:
            value = frame.f_locals.get(name)
            if name == "self":
                continue  # it comes back to nobody by what it does itself
            if isinstance(value, Step):
                ways["step"].append(str(file.relative_to(ROOT)))
            elif isinstance(value, Letter) or type(value).__name__ == "Caller":
                ways["letter"].append(str(file.relative_to(ROOT)))

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        referee.send(bob, text)
    finally:
        sys.setprofile(before)
    assert referee.match().turn == 2
    assert "desk/commands/orders.py" in ways["letter"]
    assert {kind: returns(way) for kind, way in ways.items()} == {"letter": 3, "step": 3}, ways
