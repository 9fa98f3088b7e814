"""The board of Liar's Dice: a row of cups for each seat, with the reader's own dice, from a view of the game."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pbem.games.squares import PLAIN, Board, Panel, Square

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pbem.games import Report

HIDDEN: Final = Square("?", "empty")
"""A die under somebody's cup."""


def boards(view: Mapping[str, Any]) -> list[Board]:
    """The dice of all: the reader's own, and those of the others hidden."""
    return [_board(view["dice"], view["counts"], {str(view["seat"]): view["own"]})]


def truth(views: Mapping[int, Mapping[str, Any]], seat: int) -> list[Board]:
    """The dice that are left, once everything is revealed."""
    view = views[seat]
    return [_board(view["dice"], view["counts"], {str(owner): one["own"] for owner, one in views.items()})]


def blank() -> list[Board]:
    """The dice of a record sheet."""
    return [_board(6, dict.fromkeys("123456", 0), {})]


def happened(reports: Sequence[Report]) -> Board | None:
    """The dice that were shown when somebody said `liar`, those that count marked."""
    for report in reports:
        if report["kind"] == "liar":
            counts = {seat: len(dice) for seat, dice in report["dice"].items()}
            return _board(max(counts.values()), counts, report["dice"], report["faces"])
    return None


def _board(
    most: int, counts: Mapping[str, int], hands: Mapping[str, Sequence[int]], faces: Collection[int] = ()
) -> Board:
    rows = []
    for seat, count in counts.items():
        known = [Square(str(die), "seen" if die in faces else "own") for die in hands.get(seat, ())]
        dice = known or [HIDDEN] * count
        rows.append([*dice, *[PLAIN] * (most - len(dice))])
    return Board(0, [Panel("", [str(at) for at in range(1, most + 1)], [*counts], rows)])
