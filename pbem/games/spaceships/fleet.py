"""A player's ships: the agreed options, the check of a fleet against them, and the fleet set up.

Here live the options of a game, their checks, the search for a split of a fleet into base and additional
ships, and `Setup`. No reading of text. Implements rulings 7-9 and 33 of Spaceships, rules/spaceships.md "Ships".
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pbem.games import Fault, refuse
from pbem.games.masks import union
from pbem.games.player_text import Readers, one_of, read_options
from pbem.games.spaceships.ships import TYPES
from pbem.games.spaceships.space import NAMES, cells, names
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pbem.games import Result
    from pbem.games.spaceships.ships import Ship

FIRST: Final = ("alternate", "1", "2")
SEATS: Final = 2
_COST_FLEET: Final = re.compile(r"cost:([1-9][0-9]{0,8})")

Allowed = tuple[tuple[str, int], ...]
"""A restriction: allowed types with their greatest numbers, in fleet order."""

MOST_COST: Final = 3 * len(NAMES)
"""No fleet that has room costs more: a light scout is a cell for three."""

STANDARD_TYPES: Final = (("DS",), ("KC",), ("FS", "PC"), ("MD",), ("LS", "HS"))
"""The ships of a standard fleet: one of each of these."""
STANDARD_FLEETS: Final = tuple(Counter(types) for types in product(*STANDARD_TYPES))


def cost_of(ships: Counter[str]) -> int:
    """The cost of ships, counted by type."""
    return sum(TYPES[code].cost * number for code, number in ships.items())


def most_of(allowed: Allowed | None, code: str, number: int) -> int:
    """The ships of one type that a restriction allows, of a number of them."""
    return number if allowed is None else min(number, dict(allowed).get(code, 0))


class Options(NamedTuple):
    """The agreed options of one game; each default is the rule book's."""

    fleet: str = "standard"
    first: str = "alternate"
    additional: tuple[int, ...] = (0, 0)
    allowed: Allowed | None = None
    additional_allowed: Allowed | None = None

    @property
    def seats(self) -> int:
        """Always two."""
        return SEATS

    @property
    def cost(self) -> int | None:
        """The cost of a base fleet, None for the standard fleet."""
        found = _COST_FLEET.fullmatch(self.fleet)
        return int(found[1]) if found else None

    def whole_cost(self, seat: int) -> int:
        """The cost of all ships of a seat."""
        return (cost_of(STANDARD_FLEETS[0]) if self.cost is None else self.cost) + self.additional[seat - 1]

    @property
    def changed(self) -> dict[str, Any]:
        """Only the options agreed otherwise than default, in the record's order, as TOML values."""
        written: Mapping[str, type] = {"additional": list, "allowed": dict, "additional_allowed": dict}
        return {
            name: written.get(name, str)(value)
            for name, value in self._asdict().items()
            if value != self._field_defaults[name]
        }


def options(raw: Mapping[str, object], seats: int) -> Options:
    """Judge agreed options; raises `Refused` with all faults, each named by its option."""
    agreed, faults = read_options(raw, _READERS, seats, (SEATS,), Phrase("Spaceships is a game for two"))
    if agreed.get("allowed") is not None and agreed.get("fleet", "standard") == "standard":
        faults.append(Fault("allowed", "allowed", Phrase("the option allowed works only with a cost fleet")))
    refuse(faults)
    return Options(**agreed)


def _fleet(value: object) -> str:
    if not isinstance(value, str) or not (value == "standard" or _COST_FLEET.fullmatch(value)):
        raise ValueError(Phrase('"standard" or "cost:" and a number'))
    return value


def _additional(value: object) -> tuple[int, ...]:
    if not isinstance(value, (list, tuple)) or len(value) != SEATS or not all(map(_is_count, value)):
        raise ValueError(Phrase("two numbers, one for each seat"))
    return tuple(value)


def _allowed(value: object) -> Allowed:
    if not isinstance(value, dict):
        raise ValueError(Phrase("a table of types and their greatest numbers"))
    for code, most in value.items():
        if code not in TYPES:
            raise ValueError(Phrase("there is no type {code}", code=code))
        if not _is_count(most):
            raise ValueError(Phrase("the greatest number of {code} must be a whole number", code=code))
    return tuple((code, value[code]) for code in TYPES if code in value)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0  # bool is an int to Python, not to the players


_READERS: Final[Readers] = {
    "fleet": _fleet,
    "first": one_of(FIRST, Phrase('"alternate", "1" or "2"')),
    "additional": _additional,
    "allowed": _allowed,
    "additional_allowed": _allowed,
}


def spendable(agreed: Options, materiel: int) -> int:
    """The greatest part of a seat's materiel for which there are additional ships, with room beside a base fleet.

    A player who gives up a game must not leave the other without a legal setup for the next one.
    """
    if agreed.cost is None:
        base: float = min(sum(TYPES[code].size for code in fleet) for fleet in STANDARD_FLEETS)
    else:
        base = _least_cells(min(agreed.cost, MOST_COST), agreed.allowed)[-1]
    more = _least_cells(min(materiel, len(NAMES)), agreed.additional_allowed)
    room = len(NAMES) - (base if base < inf else 0)
    return max((cost for cost, needed in enumerate(more) if needed <= room), default=0)


def carry(options: Options, result: Result) -> Options:
    """The next game of a continued match: each seat's remaining materiel buys additional ships."""
    return options._replace(additional=tuple(spendable(options, score) for score in result.scores))


def _least_cells(most: int, allowed: Allowed | None) -> list[float]:
    """For each cost up to this, the fewest cells of allowed ships that cost it; infinitely many if there are none."""
    least: list[float] = [0, *([inf] * most)]
    for code, ship in TYPES.items():
        for _ in range(most_of(allowed, code, min(len(NAMES), most // ship.cost))):
            before = least
            with_one = [inf] * ship.cost + [cells + ship.size for cells in before]
            least = [min(pair) for pair in zip(before, with_one, strict=False)]
            if least == before:
                break
    return least


def is_agreed(agreed: Options, seat: int, codes: Iterable[str]) -> bool:
    """True if the ships, a code each, can be split into an agreed base fleet and the additional ships."""
    ships = Counter(codes)
    extra = agreed.additional[seat - 1]
    if agreed.cost is None:
        additional = [ships - base for base in STANDARD_FLEETS if base <= ships]
        return any(cost_of(more) == extra and allows(agreed.additional_allowed, more) for more in additional)
    # Some base fleet of the right cost leaves only allowed additional ships.
    reached = 1  # bit n: the types looked at so far can give a base fleet of cost n
    for code, number in ships.items():
        least = number - most_of(agreed.additional_allowed, code, number)
        most = most_of(agreed.allowed, code, number)
        costs = (TYPES[code].cost * base for base in range(least, most + 1))
        reached = union(reached << cost for cost in costs)
    return cost_of(ships) == agreed.cost + extra and bool(reached >> agreed.cost & 1)


def why_not_agreed(options: Options, seat: int, codes: Sequence[str]) -> tuple[str, None, Phrase]:
    """The fault of ships, a code each, that are not agreed: its ruling, the token that there is none of, and why."""
    free = options._replace(allowed=None, additional_allowed=None)
    if options != free and is_agreed(free, seat, codes):
        return "9", None, Phrase("there are more ships of a type than agreed")
    extra = options.additional[seat - 1]
    base = Phrase("the standard fleet")
    if options.cost is not None:
        base = Phrase("a fleet of cost {cost}", cost=options.cost)
    total = cost_of(Counter(codes))
    if not extra:
        # The types of the standard fleet that are not there, alternatives side by side.
        missing = ", ".join("/".join(types) for types in STANDARD_TYPES if not {*codes} & {*types})
        if missing and options.cost is None:
            return "7", None, Phrase("this is not {base}; missing: {missing}", base=base, missing=missing)
        return "7", None, Phrase("these ships cost {total}; they are not {base}", total=total, base=base)
    message = Phrase(
        "these ships cost {total}; they are not {base} and additional ships of cost {extra}",
        total=total,
        base=base,
        extra=extra,
    )
    return "8", None, message


def allows(allowed: Allowed | None, ships: Counter[str]) -> bool:
    """True if a restriction allows these ships, counted by type."""
    return all(number <= most_of(allowed, code, number) for code, number in ships.items())


class Setup(NamedTuple):
    """One seat's judged fleet in its space, with tables of facts about the ships, so that turns need no search."""

    text: str
    ships: tuple[Ship, ...]
    """The ships in fleet order, by number."""
    cells: int
    missiles: int
    """The cells of all ships that are missiles."""
    scanners: int
    """The cells of all ships that have a scanner."""
    owner: tuple[int, ...]
    """The place in `ships` of each cell's ship; -1 for none."""


def setup_of(ships: tuple[Ship, ...]) -> Setup:
    """The setup of these ships, in fleet order; its text names every ship with all of its cells."""
    owner = [-1] * len(NAMES)
    every = missiles = scanners = 0
    for number, ship in enumerate(ships):
        every |= ship.mask
        missiles |= ship.mask if TYPES[ship.code].missiles else 0
        scanners |= ship.mask if TYPES[ship.code].scanner else 0
        for cell in cells(ship.mask):
            owner[cell] = number
    text = "\n".join(" ".join([ship.name, *names(ship.mask)]) for ship in ships)
    return Setup(text, ships, every, missiles, scanners, tuple(owner))
