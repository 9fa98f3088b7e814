"""Orders in advance and default orders as users of `pbem play` see them, with the referee in a box behind it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from cli.test_play import terminal
from in_a_box.referee import body, new
from in_a_box.table import ANN, BOB, SMALL

from pbem.games.dueling_masters.words import example

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox
    from in_a_box.terminal import Terminal

__all__ = ["terminal"]


@pytest.fixture
def bob(terminal: Terminal) -> Mailbox:
    """Ann, at her terminal, plays m1 with Bob, in which default orders are agreed on."""
    terminal.register()
    return begun(terminal)


def begun(terminal: Terminal, options: str = f"{SMALL}\nmiss: default") -> Mailbox:
    bob = agreed(terminal, options)
    terminal.referee.send(bob, bob.filled("setup", BOB))
    terminal("setup", "m1", ANN, "--yes")
    assert "turn 1: your move" in terminal()
    return bob


def agreed(terminal: Terminal, options: str, game: str = "spaceships") -> Mailbox:
    bob = terminal.referee.registered("bob")
    terminal.referee.send(bob, new(bob, game, "ann", options=options))
    terminal("accept", "m1", "--yes")
    terminal()
    return bob


def heard(bob: Mailbox, turn: int) -> str:
    """The report of a turn that Bob got."""
    return body(bob.find(f"turn {turn}"))


def test_orders_in_advance_are_played_when_their_turn_comes(terminal: Terminal, bob: Mailbox) -> None:
    shown = terminal("m1", "--turn", "2", "Rv3", typed="\n")
    assert "m1, turn 2: you order\n  conventional strikes at Rv3\nSign and send? [Y/n]" in shown
    assert "would not be legal" not in shown
    shown = terminal()
    assert "Answered: orders m1 game 1 turn 2: done." in shown
    assert shown.splitlines()[-1].endswith("left); stored: turn 2")
    assert "turn 1: your move" in shown
    assert "\nYours, turn 2 (stored):\n\n    orders m1 turn 2\n" in terminal("m1")
    terminal("m1", "Rv1", "--final", "--yes")
    terminal.referee.turn((bob, ""))
    shown = terminal()
    assert "turn 2: waiting for the others" in shown
    assert "stored" not in shown
    assert "\nYours (it stands): Rv3\n" in terminal("m1")
    terminal.referee.turn((bob, ""))
    assert "turn 3: your move" in terminal()
    assert "Rv3" in heard(bob, 2)


def test_a_target_list_is_read_back_as_it_was_written(terminal: Terminal, bob: Mailbox) -> None:
    shown = terminal("m1", "--default", "Next", "rv3", "Rv1", typed="\n")
    assert "you order\n  next Rv3 Rv1\nSign and send? [Y/n]" in shown
    shown = terminal("m1", "next", "Rv3", "Rv1", typed="\n")
    assert "m1, turn 1: you order\n  conventional strikes at Rv3\n" in shown
    terminal.referee.turn((bob, ""))
    assert "turn 2: your move" in terminal()


def test_conditions_are_read_back_branch_by_branch(terminal: Terminal, bob: Mailbox) -> None:
    shown = terminal("m1", "--turn", "2", "If Rv1 hit then Rv3 else next Gx3 Bz5", "--yes")
    assert (
        "you order\n  branch 1, if you hit Rv1: conventional strikes at Rv3\n  branch 2, otherwise: next Gx3 Bz5\n"
    ) in shown
    assert "would not be legal" not in shown
    assert "Careful" not in shown, "what is ordered in turn 1 is not known"
    refused = terminal("m1", "if Rv1 hit then Rv3", "--yes", status=1)
    assert "orders for the turn that is due have no conditions: the report is here" in refused
    terminal("m1", "Rv1", "--final", "--yes")
    terminal.referee.turn((bob, ""))
    assert "\nYours (it stands): If Rv1 hit then Rv3" in terminal("m1")
    terminal.referee.turn((bob, ""))
    assert "Rv3" in heard(bob, 2)


def test_each_branch_is_judged_and_what_is_asked_in_vain_is_said(terminal: Terminal, bob: Mailbox) -> None:
    terminal("m1", "Rv1", "--yes")
    shown = terminal("m1", "--turn", "2", "if Gx3 hit or Rv1 hit then Rv3 Rv1 else Rv2", typed="\n")
    assert "  branch 1, if you hit Gx3, or you hit Rv1: Rv3 Rv1\n  branch 1 would not be legal now: that is " in shown
    assert "  branch 2, otherwise: conventional strikes at Rv2\n" in shown
    assert "Careful: nothing of yours strikes or scans Gx3 in the turn before.\nSign and send?" in shown
    terminal("m1", "--turn", "3", "if Rv3 hit then Rv2", typed="\n")
    shown = terminal("m1", "--turn", "4", "if Rv3 miss then Rv2", typed="\n")
    assert "Careful" not in shown, "what turn 3 stands for is not known yet"
    assert "Careful" not in terminal("m1", "--default", "if Rv3 miss then Rv2", typed="\n")
    terminal.referee.turn((bob, ""))


def test_what_is_illegal_when_its_turn_comes_is_asked_for_anew(terminal: Terminal, bob: Mailbox) -> None:
    shown = terminal("m1", "--turn", "2", "Rv1 Rv3", "--yes")
    assert "you order\n  Rv1 Rv3\nTurn 1 is being played; in it they would not be legal:\n  - " in shown
    terminal("m1", "Rv1", "--final", "--yes")
    terminal.referee.turn((bob, ""))
    shown = terminal()
    assert "turn 2: your move, until" in shown
    assert "left); what you had ordered does not count\n" in shown
    shown = terminal("m1")
    assert "\nYours, but it does not count, as the letter about the turn says:\n\n    orders m1 turn 2\n" in shown
    assert "it stands" not in shown
    assert "not legal" in terminal("letter", "m1")
    terminal("m1", "Rv3", "--yes")
    assert "Answered: orders m1 game 1 turn 2: done." in terminal()


def test_default_orders_are_played_when_a_turn_is_missed(terminal: Terminal, bob: Mailbox) -> None:
    shown = terminal("m1", "--default", "Rv3", "--yes")
    assert "m1, whenever you miss a turn: you order\n  conventional strikes at Rv3\n" in shown
    assert "stored: default orders" in terminal()
    terminal.referee.turn((bob, ""))
    terminal.referee.wait(timedelta(days=20))
    shown = terminal()
    assert "turn 2: your move" in shown
    assert "stored: default orders" in shown, "they are for any turn of the game"
    assert "\nYours, whenever you miss a turn (stored):\n\n    orders m1 default\n" in terminal("m1")
    assert "Rv3" in heard(bob, 1)


def test_what_is_stored_is_replaced_and_withdrawn(terminal: Terminal, bob: Mailbox) -> None:
    for place in (("--turn", "2"), ("--default",)):
        for cell in ("Rv1", "Rv3", "Rv3"):
            terminal("m1", *place, cell, "--yes")
        assert "rev 2\r\nRv3" in terminal.sent[-1].decode()
        shown = terminal("clear", "m1", *place, typed="\n")
        assert f"clear m1 {' '.join(place).removeprefix('--')}\nSign and send?" in shown
        shown = terminal()
        assert "Answered: clear m1: done." in shown
        assert "stored" not in shown
    terminal("m1", "--turn", "2", "Bz5", "--yes")
    assert "Answered: orders m1 game 1 turn 2: done." in terminal()
    terminal("m1", "Rv1", "--final", "--yes")
    terminal.referee.turn((bob, ""))
    assert "turn 2: waiting for the others" in terminal()
    terminal("clear", "m1", "--turn", "2", "--yes")
    assert "turn 2: your move, until" in terminal()
    assert "does not count" not in terminal("m1")


def test_what_no_turn_could_make_legal_is_said_and_nothing_is_signed(terminal: Terminal, bob: Mailbox) -> None:
    sent = len(terminal.sent)
    for words, said in (
        (("--turn", "2", "Rv9"), "there is no cell `Rv9`"),
        (("--turn", "40", "Rv1"), "that is more than 30 turns ahead"),
        (("--turn", "2", "--default", "Rv1"), "--turn or --default: one of the two"),
        (("--default", "Rx9"), "there is no cell `Rx9`"),
    ):
        status = 2 if "--turn or" in said else 1
        assert said in terminal("m1", *words, "--yes", status=status), words
    terminal("m1", "Rv1", "--final", "--yes")
    terminal.referee.turn((bob, ""))
    terminal()
    assert "Turn 1 of m1 is over; turn 2 is being played." in terminal("m1", "--turn", "1", "Rv1", "--yes", status=4)
    assert len(terminal.sent) == sent + 1


def test_default_orders_that_were_not_agreed_on_are_not_signed(terminal: Terminal) -> None:
    terminal.register()
    begun(terminal, f"{SMALL}\nmiss: wait")
    sent = len(terminal.sent)
    shown = terminal("m1", "--default", "Rv1", "--yes", status=1)
    assert "you agreed on `miss: wait`; default orders are only played with `miss: default`" in shown
    assert len(terminal.sent) == sent


def test_while_the_others_move_the_next_turn_is_ordered(terminal: Terminal) -> None:
    terminal.register()
    bob = agreed(terminal, "settle: 0", "dueling-masters")
    terminal.referee.send(bob, bob.filled("setup", example({}, 1)))
    terminal("setup", "m1", example({}, 2), "--yes")
    assert "turn 1: waiting for the others" in terminal()
    shown = terminal("m1", "--turn", "3", "Z1 G2-F1", "--yes", status=1)
    assert "players move in turn, and that turn is your opponent's" in shown
    shown = terminal("m1", "--turn", "2", "z1 g2-f1", "--yes")
    assert "m1, turn 2: you order\n" in shown
    assert "turn 1: waiting for the others; stored: turn 2" in terminal()
