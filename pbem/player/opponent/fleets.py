"""Fleets of Spaceships that fit what is known: how many there are, and some of them drawn by chance.

Here live the placements of each type indexed by cell as bit masks, the ships that another may have left, the counting
of placements and the sampling of fleets. What is done with the figures is in `spaceships`.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pbem.games.spaceships.fleet import STANDARD_FLEETS
from pbem.games.spaceships.ships import TYPES, placements
from pbem.games.spaceships.space import NAMES, cells, mask_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pbem.games.spaceships import Options
    from pbem.player.opponent import Position
    from pbem.player.opponent.chance import Chance

__all__ = ["CERTAIN", "Seen", "Slot", "counted", "drawn_fleet", "placed", "sampled", "seen", "slots"]

CERTAIN: Final = 1 << 20
"""The worth of a cell in which a ship is known to be: whole numbers stand for chances."""
MOST_CELLS: Final = len(NAMES)
_MOST_COST: Final = 3 * MOST_CELLS
"""No fleet costs more: a light scout is a cell for three."""
_TRIES: Final = 60
_EXPLAINED: Final = 30
"""How much likelier a placement is for each struck cell that it explains."""
_BURN_IN: Final = 8
"""Sweeps of a chain before its fleets count."""


class Placements(NamedTuple):
    """All placements of a type, each a bit of a number."""

    masks: tuple[int, ...]
    """The cells of each."""
    every: int
    covering: tuple[int, ...]
    """By cell, the placements that cover it."""


@cache
def placements_of(code: str) -> Placements:
    """The placements of a type, indexed by cell."""
    masks = placements(code)
    covering = [0] * MOST_CELLS
    for number, mask in enumerate(masks):
        for cell in cells(mask):
            covering[cell] |= 1 << number
    return Placements(masks, (1 << len(masks)) - 1, tuple(covering))


def _touching(code: str, mask: int) -> int:
    """The placements that have one of these cells."""
    covering = placements_of(code).covering
    found = 0
    for cell in cells(mask):
        found |= covering[cell]
    return found


def _containing(code: str, mask: int) -> int:
    """The placements that have all of these cells."""
    index = placements_of(code)
    found = index.every
    for cell in cells(mask):
        found &= index.covering[cell]
    return found


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
    """The types of an agreed fleet; raises ValueError where costs and restrictions leave none."""
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
    """Ships of exactly this cost; None where there are none."""
    if cost > _MOST_COST:
        return None
    most = {code: min(MOST_CELLS, cost // TYPES[code].cost) for code in TYPES}
    if allowed is not None:
        most = {code: min(number, most[code]) for code, number in allowed}
    left = chance.shuffled(most)
    able = [1]  # bit n: the types behind can cost n
    for code in reversed(left):
        price = TYPES[code].cost
        able.append(_any_of(able[-1] << price * number for number in range(most[code] + 1)))
    if not able.pop() >> cost & 1:
        return None
    fleet: Counter[str] = Counter()
    for code in left:
        price, behind = TYPES[code].cost, able.pop()
        fitting = [
            number
            for number in range(min(most[code], cost // price) + 1)
            if behind >> cost - price * number & 1
        ]
        fleet[code] = chance.choice(fitting)
        cost -= price * fleet[code]
    return fleet


def _any_of(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def placed(chance: Chance, codes: Sequence[str]) -> list[tuple[str, int]] | None:
    """The ships put anywhere, in fleet order; None where the last of them found no room."""
    taken = 0
    found = []
    for code in sorted(codes, key=lambda code: -TYPES[code].size):
        index = placements_of(code)
        free = index.every & ~_touching(code, taken)
        if not free:
            return None
        mask = index.masks[_nth(free, chance.below(free.bit_count()))]
        taken |= mask
        found.append((code, mask))
    order = list(TYPES)
    return sorted(found, key=lambda ship: order.index(ship[0]))


# What is known of the other's space


class Seen(NamedTuple):
    """What reports told of the other's space, as masks of cells."""

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
    """Of ships afloat by name, the cells that are known to be theirs."""
    exploded: tuple[int, ...]
    """Cells that are one missile ship's, whichever, for they exploded together."""

    @property
    def ships(self) -> int:
        """Where there is something of ships afloat."""
        return self.alive | self.wounds

    @property
    def dark(self) -> int:
        """Cells of which nothing is known."""
        return (1 << MOST_CELLS) - 1 & ~(self.empty | self.ships | self.gone)


def seen(position: Position) -> Seen:
    """What a seat knows of the other's space."""
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


class Slot(NamedTuple):
    """A ship that may still be afloat: the types that it may be of, and by type the placements that fit."""

    codes: tuple[str, ...]
    fitting: tuple[int, ...]


def slots(chance: Chance, options: Options, seat: int, known: Seen) -> list[Slot]:
    """The ships that the other seat may have left, as one draw where the options leave several fleets."""
    wanted = Counter(name[:2] for name in (*known.sunk, *known.named))
    kinds = _kinds(chance, options, 3 - seat, wanted)
    for name in known.sunk:
        _take(kinds, name[:2])
    found = []
    blocked = known.empty | known.gone
    groups = _groups(known)
    claimed = _any_of(mask for _, mask in groups)
    for code, mask in groups:
        codes = _take(kinds, code) or (code,)
        fitting = _containing(code, mask) & ~_touching(code, blocked | claimed & ~mask)
        if fitting:
            found.append(Slot(codes[:0] + (code,), (fitting,)))
    for codes in kinds:
        fits = tuple(placements_of(code).every & ~_touching(code, blocked | claimed) for code in codes)
        if any(fits):
            found.append(Slot(codes, fits))
    return found


def _groups(known: Seen) -> list[tuple[str, int]]:
    """Cells that are one ship's, with its type."""
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
    """The types that each ship of a seat may be of; of additional and free ships a draw that has what was seen."""
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
    left = max(0, cost - sum(TYPES[code].cost * number for code, number in wanted.items()))
    if allowed is not None:
        allowed = tuple((code, max(0, number - wanted[code])) for code, number in allowed)
    return wanted + (_filled(chance, left, allowed) or Counter())


# Counting


def counted(slots: Sequence[Slot], known: Seen) -> list[int]:
    """By cell, how many ships are to be expected there, in parts of `CERTAIN`, each ship taken by itself.

    Placements are counted, those the more that explain what was struck.
    """
    worth = [0] * MOST_CELLS
    able = known.dark | known.alive
    for slot in slots:
        total = 0
        shares = [0] * MOST_CELLS
        for code, fitting, share in zip(slot.codes, slot.fitting, _shares(slot.codes), strict=True):
            covering = placements_of(code).covering
            for part, weight in _parted(covering, fitting, known.ships):
                total += part.bit_count() * weight * share
                for cell in cells(able):
                    shares[cell] += (part & covering[cell]).bit_count() * weight * share
        if total:
            for cell in cells(able):
                worth[cell] += shares[cell] * CERTAIN // total
    return worth


def _shares(codes: tuple[str, ...]) -> list[int]:
    """What a placement of each type weighs when the types are equally likely."""
    if len(codes) == 1:
        return [1]
    lengths = [len(placements_of(code).masks) for code in codes]
    return [sum(lengths) * 64 // length for length in lengths]


def _parted(covering: Sequence[int], fitting: int, explained: int) -> list[tuple[int, int]]:
    """Placements in parts by how many of some cells they have, each part with its weight."""
    parts = [fitting]
    for cell in cells(explained):
        covers = covering[cell]
        if not covers & fitting:
            continue
        new = [part & ~covers for part in parts] + [0]
        for number, part in enumerate(parts):
            new[number + 1] |= part & covers
        while not new[-1]:
            new.pop()
        parts = new
    return [(part, _EXPLAINED**number) for number, part in enumerate(parts) if part]


# Sampling


def sampled(chance: Chance, slots: Sequence[Slot], known: Seen, sweeps: int) -> list[tuple[tuple[str, int], ...]]:
    """Fleets that explain all that was struck, each ship with its cells: one chain of so many sweeps.

    Each ship in turn is put anew, with the others where they are (Gibbs' way), where it meets none of them, the
    likelier the more it explains. Fleets in which something is left unexplained do not count.
    """
    if not slots:
        return []
    explained = known.ships
    lying: list[tuple[str, int]] = [("", 0)] * len(slots)
    found = []
    order = sorted(range(len(slots)), key=lambda place: sum(part.bit_count() for part in slots[place].fitting))
    for sweep in range(-_BURN_IN, sweeps):
        for place in order:
            others = _any_of(mask for other, (_, mask) in enumerate(lying) if other != place)
            lying[place] = _put(chance, slots[place], others, explained & ~others) or lying[place]
        taken = _any_of(mask for _, mask in lying)
        if sweep >= 0 and not explained & ~taken and taken.bit_count() == sum(mask.bit_count() for _, mask in lying):
            found.append(tuple(lying))
    return found


def _put(chance: Chance, slot: Slot, others: int, explained: int) -> tuple[str, int] | None:
    parts = []
    for code, fitting, share in zip(slot.codes, slot.fitting, _shares(slot.codes), strict=True):
        free = fitting & ~_touching(code, others)
        if free:
            covering = placements_of(code).covering
            parts += [(code, part, weight * share) for part, weight in _parted(covering, free, explained)]
    if not parts:
        return None
    code, part, _ = parts[chance.weighted([part.bit_count() * weight for _, part, weight in parts])]
    return code, placements_of(code).masks[_nth(part, chance.below(part.bit_count()))]
