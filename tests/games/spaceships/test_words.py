"""The words for a square, for those who have their boards read to them."""

from __future__ import annotations

from typing import Any

import pytest

from pbem.games import parts
from pbem.games.spaceships import RULES
from pbem.games.spaceships.boards import truth as boards_of_truth
from pbem.games.spaceships.words import OWN_SIGNS, STRUCK, _legend, _named, truth
from pbem.games.squares import PLAIN, Board, Panel, Square


@pytest.mark.parametrize(
    ("square", "own", "said"),
    [
        (Square("M", "ship"), True, "MD"),
        (Square("M2", "ship"), True, "MD2"),
        (Square("M2-", "fired"), True, "MD2, fired"),
        (Square("m", "lost"), True, "MD, destroyed"),
        (Square("X", "sunk"), False, "ship, destroyed"),
        (Square("#", "ship"), False, "ship"),
        (Square("o", "empty"), True, "searched, empty"),
        (Square("o", "empty"), False, "no ship"),
        (Square("m", "lost", fresh=True), True, "MD, destroyed, struck last turn"),
        (Square("o", "empty", fresh=True), False, "no ship, shot at last turn"),
    ],
)
def test_what_a_square_shows(square: Square, *, own: bool, said: str) -> None:
    assert str(_named(square, own=own)) == said


def test_a_legend_draws_what_it_explains() -> None:
    """In a text by symbols; beside a drawn board by squares, which look as they do on it."""
    searched = Square("o", "empty")
    symbols, tints, types = _legend(Board(1, [Panel("R", ["1", "2"], ["v"], [[searched, PLAIN]])]), OWN_SIGNS, STRUCK)
    assert [sign.partition(" ")[0] for sign in symbols] == ["o", "."]
    assert tints == [(searched, OWN_SIGNS["o"]), (PLAIN, OWN_SIGNS["."])]
    assert not types


def test_a_space_as_it_was_is_named_in_its_captions() -> None:
    options = RULES.options({"fleet": "cost:1"}, 2)
    state = RULES.begin(options, [RULES.setup(options, seat, "LG Rv1") for seat in (1, 2)])
    views: dict[int, Any] = {seat: parts.view(RULES, state, seat, []) for seat in (1, 2)}
    spaces = list(truth(views, {1: "Ann", 2: "Bob"}, 1, boards_of_truth(views, 1)))
    titles = ["Your space, as it was", "Bob's space, as it was"]
    assert [space.title for space in spaces] == titles
    assert [space.caption for space in spaces] == [f"{title}, layer" for title in titles]
