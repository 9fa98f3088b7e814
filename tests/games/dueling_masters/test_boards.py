"""Marks of new things on boards, names of several pieces on a square, and the lists beside boards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pbem.games.dueling_masters.boards import boards, truth
from pbem.games.dueling_masters.knowledge import _Picture
from pbem.games.dueling_masters.words import FRESH, KNOWN, OWN, position
from pbem.games.dueling_masters.words import truth as true_position

if TYPE_CHECKING:
    from pbem.games.squares import Board

OPTIONS = {"homes": 1, "mobile_home": False, "max_turns": 50}


def side(*placed: tuple[str, str], **more: Any) -> dict[str, Any]:
    """A reader's own side: these pieces rest on these squares."""
    pieces = [{"piece": piece, "square": square, "from": None} for piece, square in placed]
    nothing: dict[str, Any] = {"asteroids": [], "destroyed": [], "asteroids_destroyed": [], "explored": {}}
    return {**nothing, "pieces": pieces, **more}


def view(turn: int, *, over: bool = False, own: dict[str, Any] | None = None, seat: int = 1, **known: Any) -> Any:
    nothing: dict[str, Any] = {"pieces": [], "asteroids": 7, "asteroids_destroyed": {}, "empty": {}}
    return {
        "turn": turn,
        "over": over,
        "seat": seat,
        "moves": None if over else 1,
        "scores": [1, 1],
        "options": OPTIONS,
        "own": own or side(),
        "known": {str(3 - seat): {**nothing, **known}},
        "entitled": None,
    }


def fresh(board: Board) -> set[str]:
    """The squares where something happened in the last turn."""
    (panel,) = board.panels
    return {
        row + column
        for row, squares in zip(panel.rows, panel.squares, strict=True)
        for column, square in zip(panel.columns, squares, strict=True)
        if square.fresh
    }


@pytest.mark.parametrize(("over", "last"), [(False, 4), (True, 5)])
def test_what_the_last_turn_told_is_marked_on_both_boards(*, over: bool, last: int) -> None:
    """The last turn played is the one before that which is due, or the one that ended the game."""
    told = {f"G{turn}": turn for turn in (3, 4, 5)}
    own, other = boards(
        view(
            5,
            over=over,
            own=side(explored={f"B{turn}": turn for turn in (3, 4, 5)}),
            empty=told,
            asteroids_destroyed={f"H{turn}": turn for turn in (3, 4, 5)},
            pieces=[
                {"piece": f"Z{turn - 2}", "state": "resting", "square": f"J{turn}", "turn": turn}
                for turn in (3, 4, 5)
            ],
        )
    )
    assert fresh(own) == {f"B{last}"}
    assert fresh(other) == {f"G{last}", f"H{last}", f"J{last}"}


@pytest.mark.parametrize(("over", "last"), [(False, 4), (True, 5)])
def test_what_the_last_turn_searched_is_marked_once_all_is_revealed(*, over: bool, last: int) -> None:
    views = {
        seat: view(5, over=over, seat=seat, own=side(explored={f"{row}{turn}": turn for turn in (3, 4, 5)}))
        for seat, row in ((1, "B"), (2, "H"))
    }
    assert [(board.seat, fresh(board)) for board in truth(views, 2)] == [(2, {f"H{last}"}), (1, {f"B{last}"})]


def test_the_pieces_of_another_are_listed_by_strength() -> None:
    """Ruling 19; those of one kind by their numbers."""
    picture = _Picture()
    for piece in ("H", "Z2", "X2", "Y1", "B", "Z1", "X1", "W"):
        picture.heard(piece, "resting", "A1", 1)
    assert [heard["piece"] for heard in picture.known()["pieces"]] == ["W", "B", "X1", "X2", "Y1", "Z1", "Z2", "H"]


def test_the_home_planets_left_are_named_as_such() -> None:
    views = {seat: view(5, over=True, seat=seat) for seat in (1, 2)}
    names = {1: "Ann", 2: "Bob"}
    for told in (position(views[1], names), true_position(views, names, 1, truth(views, 1))):
        assert told.homes == ("Home planets left", ["Ann 1", "Bob 1"])
    assert told.title == "Left your pieces, right Bob's, as they were"
    assert [one.title for one in told.sides] == ["Your pieces", "Bob's pieces"]


def test_the_squares_that_were_found_empty_are_named_beside_the_board() -> None:
    own, other = position(view(5, own=side(explored={"B3": 3}), empty={"G4": 4}), {1: "Ann", 2: "Bob"}).sides
    assert (other.title, other.heading) == ("Bob's pieces", "Bob's pieces, as you know them")
    assert own.title == own.heading == "Your pieces"
    assert own.empty == ("found empty", ["B3"])
    assert other.empty == ("found empty", ["G4"])
    assert [own.key, other.key] == [[OWN[4]], [KNOWN[3], FRESH]]
