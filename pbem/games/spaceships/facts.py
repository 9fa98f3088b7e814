"""Facts of the rules for the pages of composers: cells, ships and fleets, so that no script repeats them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pbem.games.spaceships import boards, fleet, ships, space

if TYPE_CHECKING:
    from pbem.games.spaceships.turn import State

FACTS: Final = {
    "colours": space.COLOURS,
    "cost": fleet.cost_of(fleet.STANDARD_FLEETS[0]),
    "letters": space.LETTERS,
    "numbers": space.NUMBERS,
    "standard_types": fleet.STANDARD_TYPES,
    "standard": [list(ships.elements()) for ships in fleet.STANDARD_FLEETS],
    "types": [{**kind._asdict(), "symbol": boards.LETTERS[code]} for code, kind in ships.TYPES.items()],
}


def materiel(state: State) -> tuple[int, ...]:
    """Undamaged cells, by seat."""
    return state.scores
