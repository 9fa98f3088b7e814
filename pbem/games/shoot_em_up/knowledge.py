"""The knowledge of a seat, or of the public: the reports that may be shown, and the position as its letters tell it.

Once all setups are in, only the orders to come are secret, so every reader is told the same, apart from what is
theirs to order. Implements ruling 6 of Shoot 'em up Spaceships; docs/attachments.md describes a view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from pbem.games import Result
from pbem.games.audience import ANY, audience, cut, everybody, followed
from pbem.games.shoot_em_up.action import State
from pbem.games.shoot_em_up.board import FACINGS, LETTERS, SEATS, SHIPS, Options, Ship

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import Report
    from pbem.games.audience import Shown


class Size(TypedDict):
    """The size of the board."""

    columns: int
    rows: int


class Placed(TypedDict):
    """A ship that is left."""

    ship: str
    seat: int
    square: str
    facing: str
    shields: int


class Destroyed(TypedDict):
    """A ship that was destroyed: when, where (one square or two, `c3/c4`), and by which ships."""

    ship: str
    seat: int
    turn: int
    action: int
    where: str
    by: list[str]


class LastTurn(TypedDict):
    """The orders of the last turn played, by ship; open by now."""

    turn: int
    orders: dict[str, str]


class View(TypedDict):
    """All that a reader knows."""

    turn: int
    over: bool
    max_turns: int
    scores: list[int]
    board: Size
    seat: int | None
    ships: list[Placed]
    destroyed: list[Destroyed]
    last: LastTurn | None
    entitled: list[str] | None


SHOWN: Final[Shown] = {
    "hit": everybody("action", "kind", "ship", "where", "by", "shields", "destroyed"),
    "state": {**everybody("action", "kind"), "ships": everybody(ANY)},
}
"""The readers of each field of a report. A field that is not in this table is not sent to anybody.

The board is open to all, those who are out of the game included: the secrets are what no report holds.
"""


def show(report: Report, seat: int | None) -> Report | None:
    """The part of a report that a seat (None: the public) may read; None for nothing."""
    ship = str(report.get("ship", ""))
    owner = LETTERS.find(ship) // SHIPS + 1 if ship else None
    return cut(report, SHOWN, audience(owner, seat, range(1, SEATS[-1] + 1)))


def view(state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> View:
    """Everything that a seat (None: the public) knows about a position, as a JSON object for its letters."""
    options = state.options
    board = options.board
    own = [LETTERS[ship.letter] for ship in state.ships if ship.seat == seat]
    orders = {LETTERS[ship]: actions for ship, actions in state.last}
    return {
        "turn": state.turn,
        "over": state.result is not None,
        "max_turns": options.max_turns,
        "scores": list(state.scores),
        "board": {"columns": board.columns, "rows": board.rows},
        "seat": seat,
        "ships": [
            {
                "ship": LETTERS[ship.letter],
                "seat": ship.seat,
                "square": board.names[ship.square],
                "facing": FACINGS[ship.facing],
                "shields": ship.shields,
            }
            for ship in state.ships
        ],
        "destroyed": followed(turns, list, _add_ends),
        "last": {"turn": len(turns), "orders": orders} if orders else None,
        "entitled": None if seat is None or state.result else own,
    }


def recalled(view: View, _seat: int) -> State:
    """The position that a view shows; all of it, for the board is open."""
    options = Options(
        len(view["scores"]), (view["board"]["columns"], view["board"]["rows"]), max_turns=view["max_turns"]
    )
    squares = options.board.squares
    ships = tuple(
        Ship(LETTERS.index(ship["ship"]), squares[ship["square"]], FACINGS.index(ship["facing"]), ship["shields"])
        for ship in view["ships"]
    )
    orders = view["last"]["orders"] if view["last"] else {}
    last = tuple((LETTERS.index(ship), actions) for ship, actions in orders.items())
    return State(options, view["turn"], ships, last, Result((), tuple(view["scores"])) if view["over"] else None)


def _add_ends(ends: list[Destroyed], reports: Sequence[Report], turn: int) -> None:
    ends += [
        {
            "ship": report["ship"],
            "seat": LETTERS.index(report["ship"]) // SHIPS + 1,
            "turn": turn,
            "action": report["action"],
            "where": report["where"],
            "by": list(report["by"]),
        }
        for report in reports
        if report["kind"] == "hit" and report["destroyed"]
    ]
