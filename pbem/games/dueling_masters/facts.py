"""Facts of the rules for the pages of composers: board, pieces and limits, so that no script repeats them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pbem.games.dueling_masters import board, notation, transit

if TYPE_CHECKING:
    from pbem.games.dueling_masters.transit import State

FACTS: Final = {
    "asteroids": board.ASTEROIDS,
    "fighters": board.FIGHTERS,
    "rank": board.RANK,
    "rows": board.ROWS,
    "strength": board.STRENGTH,
    "turns": notation.MAX_TURNS,
}


def materiel(state: State) -> tuple[int, ...]:
    """Pieces left, asteroids not counted, by seat."""
    return tuple(len(side.squares) - side.squares.count(transit.DESTROYED) for side in state.sides)
