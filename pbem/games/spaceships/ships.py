"""The types of ships: their shapes, costs and what they entitle to.

Here live the facts of each type, tests of shape by the set of cells, the greatest number of pairs, and the
enumeration of all placements. No fleets, no players. Implements rulings 4, 5, 14 and 17 of Spaceships,
rules/spaceships.md "Ships". Every result about a set of cells is cached by that set.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations, product
from typing import Final, NamedTuple

from pbem.games.spaceships.space import ADJACENT, EVERYWHERE, SIDE, cells, directions, extents, stride
from pbem.phrase import Phrase


class Type(NamedTuple):
    """A type of ship as the rule book lists it."""

    code: str
    title: Phrase
    size: int
    cost: int
    box: tuple[int, ...] | None
    """The sides of the box that it fills, shortest first; None for the death star."""
    missiles: bool = False
    scanner: bool = False


TYPES: Final = {
    kind.code: kind
    for kind in (
        Type("DS", Phrase("death star"), 8, 8, None),
        Type("KC", Phrase("kill cruiser"), 6, 6, (1, 2, 3)),
        Type("FS", Phrase("flying saucer"), 4, 4, (1, 2, 2)),
        Type("PC", Phrase("patrol cruiser"), 4, 4, (1, 1, 4)),
        Type("MD", Phrase("missile destroyer"), 3, 3, (1, 1, 3), missiles=True),
        Type("HS", Phrase("heavy scout"), 2, 3, (1, 1, 2), scanner=True),
        Type("LS", Phrase("light scout"), 1, 3, (1, 1, 1), scanner=True),
        Type("AG", Phrase("assault gunboat"), 2, 2, (1, 1, 2), missiles=True),
        Type("LG", Phrase("light gunboat"), 1, 1, (1, 1, 1), missiles=True),
    )
}
"""The types by code, in fleet order."""


class Ship(NamedTuple):
    """One ship of a player: its name as the fleet is numbered (ruling 6), its type's code and its cells."""

    name: str
    code: str
    mask: int


@cache
def fits(code: str, mask: int) -> bool:
    """True if these cells have the shape of the type (rulings 4 and 5)."""
    kind = TYPES[code]
    if mask.bit_count() != kind.size:
        return False
    return extents(mask) == kind.box if kind.box else _is_death_star(mask)


def _is_death_star(mask: int) -> bool:
    each_beside_two = all((ADJACENT[cell] & mask).bit_count() >= 2 for cell in cells(mask))
    return each_beside_two and any(core & mask == core for core in (*boxes((2, 2, 2)), *boxes((1, 2, 3))))


@cache
def boxes(sides: tuple[int, ...]) -> tuple[int, ...]:
    """All boxes with these sides, shortest first, whichever way they lie."""
    found: set[int] = set()
    for lying in set(permutations(sides)):
        at_origin = sum(1 << stride(place) for place in product(*map(range, lying)))
        starts = product(*(range(SIDE - side + 1) for side in lying))
        found.update(at_origin << stride(start) for start in starts)
    return tuple(sorted(found))


@cache
def placements(code: str) -> tuple[int, ...]:
    """All sets of cells in which a ship of the type can lie. Slow for the death star when first asked."""
    if sides := TYPES[code].box:
        return boxes(sides)
    found = set(boxes((2, 2, 2)))
    for rectangle in boxes((1, 2, 3)):
        # Each of the two other cells is adjacent to two cells, so to one of the rectangle at least.
        around = [cell for cell in cells(EVERYWHERE ^ rectangle) if ADJACENT[cell] & rectangle]
        pairs = (rectangle | 1 << one | 1 << other for one, other in combinations(around, 2))
        found.update(filter(_is_death_star, pairs))
    return tuple(sorted(found))


@cache
def pairs(mask: int) -> int:
    """The greatest number of non-overlapping adjacent pairs in a set of cells: a maximum matching."""
    if not mask:
        return 0
    lowest = mask & -mask
    rest = mask ^ lowest
    beside = ADJACENT[lowest.bit_length() - 1] & rest
    return max([pairs(rest), *(1 + pairs(rest ^ 1 << cell) for cell in cells(beside))])


@cache
def strikes(code: str, undamaged: int) -> int:
    """Conventional strikes that a ship gives with these cells undamaged (ruling 14)."""
    if code == "DS":
        return 1 if undamaged else 0
    return pairs(undamaged)


@cache
def lines_of_fire(undamaged: int) -> int:
    """The directions, as bits 0..12, in which a beam can fire with these cells undamaged (ruling 17)."""
    return directions(undamaged)
