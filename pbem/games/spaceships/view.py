"""The form of a view of Spaceships, a JSON object that docs/attachments.md describes. Cells and ships are named.

Here live types alone; `knowledge` makes views, `boards` and `words` read them.
"""

from __future__ import annotations

from typing import TypedDict


class ShipCells(TypedDict):
    """A ship, and some or all of its cells."""

    ship: str
    cells: list[str]


class OwnCells(ShipCells):
    """A ship of the reader's, with all of its cells."""

    destroyed: list[str]
    fired: list[str]
    burnt_out: bool


class OwnSpace(TypedDict):
    """The reader's own space: `misses` were searched and empty, `fresh` were struck in the last turn."""

    ships: list[OwnCells]
    misses: list[str]
    fresh: list[str]
    score: int


class Known(TypedDict):
    """Another's space: `ship` are undamaged cells of ships, `fresh` those that were looked at in the last turn."""

    empty: list[str]
    ship: list[str]
    destroyed: list[str]
    named: dict[str, str]
    """The ship of a cell."""
    ships: list[ShipCells]
    """The destroyed ones."""
    fresh: list[str]


class Strikes(TypedDict):
    """The number of conventional strikes that a ship gives."""

    ship: str
    strikes: int


class Beam(TypedDict):
    """In how many directions a death star's beam can go."""

    ship: str
    directions: int


class Entitled(TypedDict):
    """The reader's possible orders; missiles and kamikazes by the cells from which they are launched."""

    conventional: list[Strikes]
    missiles: list[ShipCells]
    kamikazes: list[ShipCells]
    beams: list[Beam]
    scans: int


class View(TypedDict):
    """All that a reader knows; `known` by the number of the other's seat."""

    turn: int
    over: bool
    first: int
    """The seat that reports first."""
    own: OwnSpace | None
    known: dict[str, Known]
    entitled: Entitled | None
