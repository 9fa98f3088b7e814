"""The boards of Spaceships: five layers of five by five for each space, from a view of the game.

A ship's symbol is its letter, small where it is destroyed, with its number when there are several of the type; a text
has room for the letter and one mark. Here are the facts, too, that composers' pages need of the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pbem.games.spaceships import fleet, ships, space
from pbem.games.spaceships.space import COLOURS
from pbem.games.spaceships.space import LETTERS as ROWS
from pbem.games.spaceships.space import NUMBERS as COLUMNS
from pbem.games.squares import PLAIN, Board, Panel, Square

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report
    from pbem.games.spaceships.knowledge import Known, OwnSpace, View
    from pbem.games.spaceships.turn import State

LETTERS: Final[Mapping[str, str]] = {
    "DS": "D",
    "KC": "K",
    "FS": "F",
    "PC": "P",
    "MD": "M",
    "HS": "H",
    "LS": "S",
    "AG": "A",
    "LG": "G",
}
"""The letter of a type in the grids, by its code."""


def boards(view: View) -> list[Board]:
    """The reader's own space, if any, then the others'."""
    known = [_board(int(seat), _known(space)) for seat, space in sorted(view["known"].items())]
    if not view["own"]:
        return known
    me = 3 - known[0].seat
    return [_board(me, _own(view["own"])), *known]


def truth(views: Mapping[int, View], seat: int) -> list[Board]:
    """The spaces as they were, the reader's own first: each as its owner sees it, once everything is revealed."""
    return [_board(owner, _own(own)) for owner in (seat, 3 - seat) if (own := views[owner]["own"]) is not None]


def blank() -> list[Board]:
    """The two spaces of a record sheet."""
    return [_board(seat, {}) for seat in (1, 2)]


def happened(_reports: Sequence[Report]) -> None:
    """None: a turn's shots are marked on the boards themselves."""


_CELLS: Final = [(colour, [[colour + row + column for column in COLUMNS] for row in ROWS]) for colour in COLOURS]


def _board(seat: int, squares: Mapping[str, Square]) -> Board:
    at = squares.get
    panels = [
        Panel(colour, COLUMNS, ROWS, [tuple([at(cell, PLAIN) for cell in row]) for row in rows])
        for colour, rows in _CELLS
    ]
    return Board(seat, panels)


def _symbol(ship: str) -> str:
    return LETTERS[ship[:2]] + ship[2:]


def _square(symbol: str, tint: str, fresh: bool) -> Square:
    """A square whose short text is a letter and one mark: `!` for a fresh cell, otherwise `-` for a fired one."""
    mark = "!" if fresh else "-" if tint == "fired" else ""
    return Square(symbol, tint, fresh, symbol[0] + mark)


def _own(own: OwnSpace) -> dict[str, Square]:
    fresh = set(own["fresh"])
    squares = {cell: _square("o", "empty", cell in fresh) for cell in own["misses"]}
    for ship in own["ships"]:
        symbol = _symbol(ship["ship"])
        for cell in ship["cells"]:
            squares[cell] = _square(symbol, "own", cell in fresh)
        for cell in ship["fired"]:
            squares[cell] = _square(symbol + "-", "fired", cell in fresh)
        for cell in ship["destroyed"]:
            squares[cell] = _square(symbol.lower(), "lost", cell in fresh)
    return squares


def _known(known: Known) -> dict[str, Square]:
    fresh = set(known["fresh"])
    names = dict(known["named"])
    for ship in known["ships"]:
        names.update(dict.fromkeys(ship["cells"], ship["ship"]))
    squares = {cell: _square("o", "empty", cell in fresh) for cell in known["empty"]}
    for cell in known["ship"]:
        squares[cell] = _square(_symbol(names[cell]) if cell in names else "#", "seen", cell in fresh)
    for cell in known["destroyed"]:
        squares[cell] = _square(_symbol(names[cell]).lower() if cell in names else "X", "sunk", cell in fresh)
    return squares


FACTS: Final[Mapping[str, object]] = {
    "colours": space.COLOURS,
    "cost": fleet.cost_of(fleet.STANDARD_FLEETS[0]),
    "letters": space.LETTERS,
    "numbers": space.NUMBERS,
    "standard_types": fleet.STANDARD_TYPES,
    "standard": [list(ships.elements()) for ships in fleet.STANDARD_FLEETS],
    "types": [{**kind._asdict(), "symbol": LETTERS[code]} for code, kind in ships.TYPES.items()],
}


def materiel(state: State) -> tuple[int, ...]:
    """Undamaged cells, by seat."""
    return state.scores
