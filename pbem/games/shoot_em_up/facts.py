"""Facts of the rules for the pages of composers: board, ships and limits, so that no script repeats them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pbem.games.shoot_em_up import board, boards, notation

if TYPE_CHECKING:
    from pbem.games.shoot_em_up.action import State

FACTS: Final = {
    "actions": notation.ACTIONS,
    "arrows": boards.ARROWS,
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
