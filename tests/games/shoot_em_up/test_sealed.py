"""Commit and open: whose turn it is to do which."""

from __future__ import annotations

import pytest

from pbem.games import Refused
from pbem.games.sealed import COMMIT
from pbem.games.shoot_em_up import RULES
from pbem.games.shoot_em_up.sealed import SEALED, Table

SETUPS = {1: "A c1 N B d1 N C e1 N", 2: "D c9 S E d9 S F e9 S", 3: "G a3 E H a4 E I a5 E"}
ORDERS = {1: "A: SSS B: SSS C: SSS", 2: "D: SSS E: SSS F: SSS", 3: "G: SSS H: SSS I: SSS"}


def enter(table: Table, seat: int, step: str) -> Table:
    assert SEALED.owed(table, seat)[0] == step
    text = {"setup": SETUPS, "open": ORDERS}.get(step, {}).get(seat, "")
    return SEALED.enter(table, seat, step, SEALED.judge(table, seat, step, text))


def begun(seats: int) -> Table:
    table = SEALED.begin(RULES.options({}, seats))
    for seat in range(1, seats + 1):
        table = enter(table, seat, "setup")
    return table


def test_two_seats_need_two_letters_a_turn() -> None:
    table = SEALED.begin(RULES.options({}, 2))
    assert (table.turn, dict(table.due)) == (0, {1: None, 2: None})
    assert SEALED.owed(table, 1) == SEALED.owed(table, 2) == ("setup",)
    table = enter(table, 2, "setup")
    assert SEALED.owed(table, 1) == ("setup", COMMIT)
    assert SEALED.view(table, None)["ships"][0]["ship"] == "D"
    table = enter(table, 1, "setup")
    assert (table.turn, dict(table.due)) == (1, {1: None})
    for _ in range(3):
        table = enter(table, 1, COMMIT)
        assert not SEALED.owed(table, 1)
        table = enter(table, 2, "open")
        assert SEALED.owed(table, 1) == ("open", COMMIT)
        table = enter(table, 1, "open")
    assert (table.turn, table.scores) == (4, (3, 3))


def test_of_three_two_commit_and_nobody_opens_before() -> None:
    table = begun(3)
    assert SEALED.owed(table, 1) == SEALED.owed(table, 2) == (COMMIT,)
    assert not SEALED.owed(table, 3)
    table = enter(table, 2, COMMIT)
    assert not SEALED.owed(table, 2)
    assert not SEALED.owed(table, 3)
    table = enter(enter(table, 1, COMMIT), 3, "open")
    assert SEALED.owed(table, 1) == SEALED.owed(table, 2) == ("open",)
    assert SEALED.owed(enter(table, 1, "open"), 2) == ("open", COMMIT)


def test_what_is_opened_is_judged_as_a_referee_judges_it() -> None:
    table = SEALED.begin(RULES.options({}, 2))
    for text in ("A c1 N", "A c1 N B c1 N C d1 N", "A c9 N B d1 N C e1 N", "A c1"):
        with pytest.raises(Refused):
            SEALED.judge(table, 1, "setup", text)
    table = enter(begun(2), 1, COMMIT)
    for text in ("D: SSS", "D: SSS E: SSS F: XXX", "A: SSS B: SSS C: SSS", "D: SSS E: SSS F:"):
        with pytest.raises(Refused):
            SEALED.judge(table, 2, "open", text)
    assert SEALED.first_false(table.options, 1, "", {}, ()) is None
