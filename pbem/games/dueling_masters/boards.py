"""The boards of Dueling Masters of Space-Time, ten by ten for each side, the reader's half below, from a view.

Small letters are pieces in transit: the reader's stand on their destination, the other side's where they departed.
Here are the facts, too, that composers' pages need of the rules, so that no script repeats them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pbem.games.dueling_masters.board import ASTEROIDS, FIGHTERS, RANK, ROWS, STRENGTH
from pbem.games.dueling_masters.notation import DESTROYED, MAX_TURNS
from pbem.games.squares import PLAIN, Board, Panel, Square

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pbem.games import Report
    from pbem.games.dueling_masters.knowledge import Known, Own, View
    from pbem.games.dueling_masters.transit import State

COLUMNS: Final = tuple(str(column) for column in range(1, 11))


def boards(view: View) -> list[Board]:
    """The reader's own pieces, if any, then the others'."""
    turned = view["seat"] == 2
    last = view["turn"] - (0 if view["over"] else 1)
    known = [_board(int(seat), _known(side, last), turned=turned) for seat, side in sorted(view["known"].items())]
    if view["own"] is None or view["seat"] is None:
        return known
    return [_board(view["seat"], _own(view["own"], last), turned=turned), *known]


def truth(views: Mapping[int, View], seat: int) -> list[Board]:
    """The sides as they were, the reader's own first and below: each as its owner sees it, once all is revealed."""
    last = views[seat]["turn"] - (0 if views[seat]["over"] else 1)
    return [
        _board(owner, _own(own, last), turned=seat == 2)
        for owner in (seat, 3 - seat)
        if (own := views[owner]["own"]) is not None
    ]


def blank() -> list[Board]:
    """The two boards of a record sheet."""
    return [_board(seat, {}, turned=False) for seat in (1, 2)]


def happened(_reports: Sequence[Report]) -> None:
    """None: the events of a turn are marked on the boards themselves."""


def _board(seat: int, squares: Mapping[str, Square], *, turned: bool) -> Board:
    rows = ROWS if turned else ROWS[::-1]
    return Board(
        seat,
        [Panel("", COLUMNS, rows, [tuple(squares.get(row + column, PLAIN) for column in COLUMNS) for row in rows])],
    )


def _own(own: Own, last: int) -> dict[str, Square]:
    squares = {square: Square("o", "empty", found == last) for square, found in own["explored"].items()}
    # A text names the own asteroids that are lost beneath the boards, and not on them.
    squares |= {
        square: Square("x", "lost", brief="o" if square in own["explored"] else ".")
        for square in own["asteroids_destroyed"]
    }
    squares |= {square: Square("*", "rock") for square in own["asteroids"]}
    placed = [(piece["square"], piece["piece"], piece["from"] is not None) for piece in own["pieces"]]
    return squares | _pieces(placed, "own", "fired", ())


def _known(known: Known, last: int) -> dict[str, Square]:
    squares = {square: Square("o", "empty", found == last) for square, found in known["empty"].items()}
    squares |= {square: Square("x", "sunk", found == last) for square, found in known["asteroids_destroyed"].items()}
    left = [piece for piece in known["pieces"] if piece["state"] != "destroyed"]
    placed = [(piece["square"], piece["piece"], piece["state"] == "in transit") for piece in left]
    fresh = [piece["square"] for piece in left if piece["turn"] == last]
    return squares | _pieces(placed, "seen", "rock", fresh)


def _pieces(
    placed: Sequence[tuple[str, str, bool]], resting: str, moving: str, fresh: Iterable[str]
) -> dict[str, Square]:
    """The strongest piece of each square, which is named first; + after it for more."""
    squares: dict[str, Square] = {}
    for square, piece, transit in placed:
        if square in squares:
            first = squares[square]
            symbol = first.symbol.rstrip("+") + "+"
            squares[square] = first._replace(symbol=symbol, brief=symbol[0] + "+")
        else:
            symbol = piece.lower() if transit else piece
            squares[square] = Square(symbol, moving if transit else resting, square in fresh)
    return squares


FACTS: Final = {
    "asteroids": ASTEROIDS,
    "fighters": FIGHTERS,
    "rank": RANK,
    "rows": ROWS,
    "strength": STRENGTH,
    "turns": MAX_TURNS,
}


def materiel(state: State) -> tuple[int, ...]:
    """Pieces left, asteroids not counted, by seat."""
    return tuple(len(side.squares) - side.squares.count(DESTROYED) for side in state.sides)
