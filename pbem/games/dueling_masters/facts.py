"""Facts of the rules for the pages of composers: board, pieces and limits, so that no script repeats them."""

from __future__ import annotations

from typing import Final

from pbem.games.dueling_masters import board, notation

FACTS: Final = {
    "asteroids": board.ASTEROIDS,
    "fighters": board.FIGHTERS,
    "moves": board.MOVES,
    "rank": board.RANK,
    "rows": board.ROWS,
    "strength": board.STRENGTH,
    "turns": notation.MAX_TURNS,
}
