"""The boards of Shoot 'em up Spaceships: the one that all share, and the states after each action of a turn.

North is at the top. A ship is its letter and an arrow, in the tint of its seat. A text board shows no shields, and of
the ships that were hit only those destroyed on a single square. Here are the facts, too, that composers' pages need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pbem.games.shoot_em_up import board, notation
from pbem.games.shoot_em_up.board import COLUMNS, LETTERS, SHIPS
from pbem.games.squares import PLAIN, Board, Panel, Square

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pbem.games import Report
    from pbem.games.shoot_em_up.action import State
    from pbem.games.shoot_em_up.knowledge import View

ARROWS: Final[Mapping[str, str]] = {"N": "^", "E": ">", "S": "v", "W": "<"}


def boards(view: View) -> list[Board]:
    """The whole board, with what was destroyed in the last turn marked."""
    lost = [ship["where"] for ship in view["destroyed"] if view["last"] and ship["turn"] == view["last"]["turn"]]
    squares = {where.split("/")[0]: Square("*", "hit", fresh=True, brief=".") for where in lost}
    for ship in view["ships"]:
        squares[ship["square"]] = _ship(ship["ship"], ship["facing"])
    columns = COLUMNS[: view["board"]["columns"]]
    rows = [str(row) for row in range(view["board"]["rows"], 0, -1)]
    return [Board(0, [_panel("", columns, rows, squares)])]


def truth(views: Mapping[int, View], seat: int) -> list[Board]:
    """The board as it was: there is nothing hidden on it."""
    return boards(views[seat])


def blank() -> list[Board]:
    """The board of a record sheet."""
    return [Board(0, [_panel("", COLUMNS[:9], [str(row) for row in range(9, 0, -1)], {})])]


def marked(size: tuple[int, int], marks: Mapping[str, str]) -> Board:
    """A board of this many columns and rows with only these marks on its squares."""
    rows = [str(row) for row in range(size[1], 0, -1)]
    return Board(0, [_panel("", COLUMNS[: size[0]], rows, {where: Square(mark) for where, mark in marks.items()})])


def happened(reports: Sequence[Report]) -> Board:
    """The part of the board in which anything happened in a turn: a panel for each action, named by its number."""
    used = [square for report in reports for square in _squares(report)]
    columns = [COLUMNS.index(square[0]) for square in used]
    numbers = [int(square[1:]) for square in used]
    rows = [str(row) for row in range(max(numbers), min(numbers) - 1, -1)]
    panels = []
    for state in (report for report in reports if report["kind"] == "state"):
        struck = [report for report in reports if report["kind"] == "hit" and report["action"] == state["action"]]
        squares = _after(state, struck)
        panels.append(_panel(str(state["action"]), COLUMNS[min(columns) : max(columns) + 1], rows, squares))
    return Board(0, panels)


def _after(state: Report, struck: Sequence[Report]) -> dict[str, Square]:
    """The squares that anything is on after an action, or was hit on."""
    gone = {report["where"] for report in struck if report["destroyed"]}
    squares = {
        where: Square("*", "hit", fresh=True, brief="*" if where in gone else ".")
        for report in struck
        for where in report["where"].split("/")
    }
    hit = {report["ship"] for report in struck}
    for letter, text in state["ships"].items():
        square, facing, shields = text.split(" ")
        ship = _ship(letter, facing, fresh=letter in hit)
        shielded = ship.symbol + (shields if shields != "0" else "")
        squares[square] = ship._replace(symbol=shielded, brief=ship.symbol)
    return squares


def _squares(report: Report) -> Iterable[str]:
    if report["kind"] == "hit":
        return str(report["where"]).split("/")
    return [text.split(" ")[0] for text in report["ships"].values()]


def _ship(letter: str, facing: str, *, fresh: bool = False) -> Square:
    return Square(letter + ARROWS[facing], f"seat {LETTERS.index(letter) // SHIPS + 1}", fresh)


def _panel(name: str, columns: Sequence[str], rows: Sequence[str], squares: Mapping[str, Square]) -> Panel:
    return Panel(name, columns, rows, [tuple(squares.get(column + row, PLAIN) for column in columns) for row in rows])


FACTS: Final = {
    "actions": notation.ACTIONS,
    "arrows": ARROWS,
    "columns": board.COLUMNS,
    "each": board.SHIPS,
    "edges": notation.EDGES,
    "facings": board.FACINGS,
    "ships": board.LETTERS,
    "size": board.SIZE,
    "smallest": board.SMALLEST,
    "steps": board.STEPS,
    "turns": board.MOST_TURNS,
}


def materiel(state: State) -> tuple[int, ...]:
    """Ships left, by seat."""
    return state.scores
