"""Fleets of Spaceships that fit what is known: how many there are, and some of them drawn by chance.

Here live the placements of each type indexed by cell as bit masks, the ships that the other seat may have left, the
counting of placements and the sampling of fleets. `spaceships` uses the figures.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pbem.games.masks import union
from pbem.games.spaceships.fleet import MOST_COST, STANDARD_FLEETS, cost_of
from pbem.games.spaceships.ships import TYPES, placements
from pbem.games.spaceships.space import NAMES, cells, mask_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.games.spaceships import Options
    from pbem.player.opponent import Chance, Position


CERTAIN: Final = 1 << 20
"""The worth of a cell in which a ship is known to be: whole numbers stand for chances."""
SPACE: Final = len(NAMES)
"""The number of cells."""
_EXPLAINED: Final = 30
"""The factor by which each struck cell that it explains makes a placement likelier."""
BURN_IN: Final = 8
"""Sweeps of a chain before its fleets count."""


class Placements(NamedTuple):
    """All placements of a type of ship, each a bit of a number."""

    code: str
    masks: tuple[int, ...]
    """The cells of each."""
    every: int
    covering: tuple[int, ...]
    """The placements that cover each cell."""

    def touching(self, mask: int) -> int:
        """The placements that have one of these cells."""
        return union([self.covering[cell] for cell in cells(mask)])

    def containing(self, mask: int) -> int:
        """The placements that have all of these cells."""
        found = self.every
        for cell in cells(mask):
            found &= self.covering[cell]
        return found


def indexed(code: str, masks: tuple[int, ...], space: int) -> Placements:
    """Placements in a space of this many cells."""
    covering = [0] * space
    for number, mask in enumerate(masks):
        for cell in cells(mask):
            covering[cell] |= 1 << number
    return Placements(code, masks, (1 << len(masks)) - 1, tuple(covering))


@cache
def placements_of(code: str) -> Placements:
    """The placements of a type of Spaceships."""
    return indexed(code, placements(code), SPACE)


def _nth(mask: int, number: int) -> int:
    """The place of a set bit by its number, the lowest being 0."""
    base = 0
    while (width := mask.bit_length()) > 1:
        half = width >> 1
        low = mask & (1 << half) - 1
        count = low.bit_count()
        if number < count:
            mask = low
        else:
            number -= count
            mask >>= half
            base += half
    return base


# Fleets


def drawn_fleet(chance: Chance, options: Options, seat: int) -> list[str]:
    """The types of an agreed fleet; raises ValueError if costs and restrictions allow none."""
    extra = _filled(chance, options.additional[seat - 1], options.additional_allowed)
    if options.cost is None:
        base: Counter[str] | None = chance.choice(STANDARD_FLEETS)
    else:
        base = _filled(chance, options.cost, options.allowed)
    if base is None or extra is None:
        raise ValueError("no ships add up to the agreed cost")
    return _listed(base + extra)


def _listed(ships: Counter[str]) -> list[str]:
    return [code for code in TYPES for _ in range(ships[code])]


def _filled(chance: Chance, cost: int, allowed: Sequence[tuple[str, int]] | None) -> Counter[str] | None:
    """Ships of exactly this cost; None if there are none."""
    if cost > MOST_COST:
        return None
    most = {code: min(SPACE, cost // TYPES[code].cost) for code in TYPES}
    if allowed is not None:
        most = {code: min(number, most[code]) for code, number in allowed}
    left = chance.shuffled(most)
    able = [1]  # bit n: the types behind can cost n
    for code in reversed(left):
        price = TYPES[code].cost
        able.append(union(able[-1] << price * number for number in range(most[code] + 1)))
    if not able.pop() >> cost & 1:
        return None
    fleet: Counter[str] = Counter()
    for code in left:
        price, behind = TYPES[code].cost, able.pop()
        fitting = [
            number for number in range(min(most[code], cost // price) + 1) if behind >> cost - price * number & 1
        ]
        fleet[code] = chance.choice(fitting)
        cost -= price * fleet[code]
    return fleet


def placed(chance: Chance, codes: Sequence[str]) -> list[tuple[str, int]] | None:
    """The ships placed at random, in fleet order; None if the last of them found no room."""
    taken = 0
    found = []
    for code in sorted(codes, key=lambda code: -TYPES[code].size):
        index = placements_of(code)
        free = index.every & ~index.touching(taken)
        if not free:
            return None
        mask = index.masks[_nth(free, chance.below(free.bit_count()))]
        taken |= mask
        found.append((code, mask))
    order = list(TYPES)
    return sorted(found, key=lambda ship: order.index(ship[0]))


# What is known of the other's space


class Seen(NamedTuple):
    """The known facts about the other's space, as masks of cells."""

    empty: int
    alive: int
    """Undamaged cells of ships."""
    wounds: int
    """Destroyed cells of ships that are still afloat."""
    gone: int
    """Cells of ships that were destroyed."""
    sunk: tuple[str, ...]
    """The names of those."""
    named: Mapping[str, int]
    """The known cells of each named ship that is afloat."""
    exploded: tuple[int, ...]
    """Cells that are one missile ship's, whichever, for they exploded together."""

    @property
    def ships(self) -> int:
        """The cells of ships that are still afloat."""
        return self.alive | self.wounds

    @property
    def dark(self) -> int:
        """Cells about which nothing is known."""
        return (1 << SPACE) - 1 & ~(self.empty | self.ships | self.gone)


def seen(position: Position) -> Seen:
    """The facts that a seat knows about the other's space."""
    known: Mapping[str, Any] = position.view["known"][str(3 - position.seat)]
    gone = mask_of([cell for ship in known["ships"] for cell in ship["cells"]])
    named: dict[str, int] = {}
    for cell, name in known["named"].items():
        named[name] = named.get(name, 0) | mask_of([cell]) & ~gone
    exploded = [
        mask_of(report["explosions"])
        for reports in position.turns
        for report in reports
        if report["seat"] == position.seat and "explosions" in report
    ]
    return Seen(
        mask_of(known["empty"]),
        mask_of(known["ship"]),
        mask_of(known["destroyed"]) & ~gone,
        gone,
        tuple(ship["ship"] for ship in known["ships"]),
        {name: mask for name, mask in named.items() if mask},
        tuple(mask for mask in exploded if mask & ~gone),
    )


class FleetSlot(NamedTuple):
    """A ship that may still be afloat: its possible types, and for each the placements that fit."""

    kinds: tuple[Placements, ...]
    fitting: tuple[int, ...]

    def weighed(self, explained: int, free_of: int = 0) -> Iterator[tuple[Placements, int, int]]:
        """Placements that touch none of some cells, by type and by how much they explain, with their weights."""
        lengths = [len(kind.masks) for kind in self.kinds]
        for kind, fitting, length in zip(self.kinds, self.fitting, lengths, strict=True):
            # Types are equally likely, not placements.
            share = 1 if len(lengths) == 1 else (sum(lengths) << 6) // length
            free = fitting & ~kind.touching(free_of)
            for number, part in enumerate(_parted(kind, free, explained)):
                if part:
                    yield kind, part, _EXPLAINED**number * share


def _parted(kind: Placements, fitting: int, explained: int) -> list[int]:
    """Placements grouped by how many of some cells they have, from none."""
    parts = [fitting]
    for cell in cells(explained):
        covers = kind.covering[cell]
        if covers & fitting:
            more = [part & covers for part in parts]
            parts = [part & ~covers for part in parts] + [0]
            for number, part in enumerate(more, start=1):
                parts[number] |= part
            while not parts[-1] and len(parts) > 1:
                parts.pop()
    return parts


def slots(chance: Chance, options: Options, seat: int, known: Seen) -> list[FleetSlot]:
    """The ships that the other seat may have left, as one draw where the options leave several fleets."""
    wanted = Counter(name[:2] for name in (*known.sunk, *known.named))
    kinds = _kinds(chance, options, 3 - seat, wanted)
    for name in known.sunk:
        _take(kinds, name[:2])
    found = []
    blocked = known.empty | known.gone
    groups = _groups(known)
    claimed = union(mask for _, mask in groups)
    for code, mask in groups:
        _take(kinds, code)
        kind = placements_of(code)
        fitting = kind.containing(mask) & ~kind.touching(blocked | claimed & ~mask)
        if fitting:
            found.append(FleetSlot((kind,), (fitting,)))
    for codes in kinds:
        able = tuple(placements_of(code) for code in codes)
        fits = tuple(kind.every & ~kind.touching(blocked | claimed) for kind in able)
        if any(fits):
            found.append(FleetSlot(able, fits))
    return found


def _groups(known: Seen) -> list[tuple[str, int]]:
    """Groups of cells of one ship, with its type."""
    groups = [(name[:2], mask) for name, mask in known.named.items()]
    for mask in known.exploded:
        if not any(mask & other for _, other in groups):
            groups.append(("MD", mask))
    return groups


def _take(kinds: list[tuple[str, ...]], code: str) -> tuple[str, ...]:
    for place, codes in enumerate(kinds):
        if code in codes:
            return kinds.pop(place)
    return ()


def _kinds(chance: Chance, options: Options, seat: int, wanted: Counter[str]) -> list[tuple[str, ...]]:
    """The possible types of each ship of a seat; for additional and free ships, a draw that has what was seen."""
    extra = options.additional[seat - 1]
    if options.cost is not None:
        both = _together(options)
        return [(code,) for code in _listed(_drawn(chance, options.cost + extra, both, wanted))]
    standard: list[tuple[str, ...]] = [("DS",), ("KC",), ("FS", "PC"), ("MD",), ("LS", "HS")]
    if not extra:
        return standard
    fitted = list(standard)
    more = Counter(code for code in wanted.elements() if not _take(fitted, code))
    drawn = _drawn(chance, extra, options.additional_allowed, more)
    return [*standard, *((code,) for code in _listed(drawn))]


def _together(options: Options) -> tuple[tuple[str, int], ...] | None:
    if options.allowed is None or (options.additional_allowed is None and any(options.additional)):
        return None
    most = Counter(dict(options.allowed)) + Counter(dict(options.additional_allowed or ()))
    return tuple((code, most[code]) for code in TYPES if most[code])


def _drawn(
    chance: Chance, cost: int, allowed: Sequence[tuple[str, int]] | None, wanted: Counter[str]
) -> Counter[str]:
    left = max(0, cost - cost_of(wanted))
    if allowed is not None:
        allowed = tuple((code, max(0, number - wanted[code])) for code, number in allowed)
    return wanted + (_filled(chance, left, allowed) or Counter())


# Counting


def counted(slots: Sequence[FleetSlot], struck: int, asked: int, space: int = SPACE) -> list[int]:
    """For each of these cells, the expected number of ships there, in parts of `CERTAIN`.

    Placements are counted for each ship separately, with more weight for those that explain what was struck.
    """
    worth = [0] * space
    for slot in slots:
        total = 0
        shares = [0] * space
        for kind, part, weight in slot.weighed(struck):
            total += part.bit_count() * weight
            for cell in cells(asked):
                shares[cell] += (part & kind.covering[cell]).bit_count() * weight
        for cell in cells(asked if total else 0):
            worth[cell] += shares[cell] * CERTAIN // total
    return worth


# Sampling

Fleet = tuple[tuple[str, int], ...]
"""Ships by type, each with its cells."""


def sampled(chance: Chance, slots: Sequence[FleetSlot], struck: int, sweeps: int) -> list[Fleet]:
    """Fleets that explain all that was struck: one chain of this many sweeps.

    Each ship in turn is placed again with the others fixed (Gibbs sampling), where it meets none of them, the
    likelier the more it explains. Fleets in which something is left unexplained do not count.
    """
    lying: list[tuple[str, int]] = [("", 0)] * len(slots)
    order = sorted(range(len(slots)), key=lambda place: sum(part.bit_count() for part in slots[place].fitting))
    found = []
    for sweep in range(-BURN_IN, sweeps if slots else -BURN_IN):
        for place in order:
            others = union([mask for other, (_, mask) in enumerate(lying) if other != place])
            lying[place] = _put(chance, slots[place], struck & ~others, others) or lying[place]
        taken = union(mask for _, mask in lying)
        meet_nowhere = taken.bit_count() == sum(mask.bit_count() for _, mask in lying)
        if sweep >= 0 and meet_nowhere and not struck & ~taken:
            found.append(tuple(lying))
    return found


def _put(chance: Chance, slot: FleetSlot, struck: int, others: int) -> tuple[str, int] | None:
    parts = [(kind, part, weight) for kind, part, weight in slot.weighed(struck, others) if part]
    if not parts:
        return None
    kind, part, _ = parts[chance.weighted([part.bit_count() * weight for _, part, weight in parts])]
    return kind.code, kind.masks[_nth(part, chance.below(part.bit_count()))]
