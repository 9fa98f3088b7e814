"""Spaceships as a program plays it: a hunter, counting of placements, and sampled fleets.

Level 1 finishes off what it found and otherwise strikes in the dark. Level 2 counts for each ship where it may lie
(`fleets.counted`). Level 3 draws whole fleets that fit everything known (`fleets.sampled`), and hides its own where
such counting looks last. The choice of weapons is the same at all levels.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from pbem.games.masks import union
from pbem.games.spaceships.ships import lines_of_fire
from pbem.games.spaceships.space import ADJACENT, LINES, NAMES, cells, mask_of, names
from pbem.player.opponent.fleets import (
    CERTAIN,
    SPACE,
    counted,
    drawn_fleet,
    placed,
    placements_of,
    sampled,
    seen,
    slots,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pbem import games
    from pbem.games.spaceships import Options
    from pbem.player.opponent import Chance, Position, Wish
    from pbem.player.opponent.fleets import Seen


FLEETS: Final = 4
"""The number of drawn fleets examined for the other side, if the options allow several."""
CHAINS: Final = 3
"""The number of chains of sampled fleets, each with ships drawn anew if the options allow several fleets."""
STEPS: Final = 2000
"""The number of times that a ship is placed anew in each chain."""
HIDDEN: Final = 30
"""Out of how many setups level 3 takes the one that is hidden best."""

_TRIES: Final = 200
_BESIDE: Final = 85
"""Per cent that a cell is still worth when a neighbour is struck in the same salvo: not all eggs in one basket."""
_NEARLY_CERTAIN: Final = CERTAIN * 9 // 10
_STANDARD: Final = 23
"""Cells of a standard fleet at most."""


def setup(level: int, chance: Chance, options: games.Options, seat: int) -> str:
    """A fleet by chance; at level 3 the best hidden of several. Raises ValueError where none was found."""
    agreed = cast("Options", options)
    wanted = HIDDEN if level == 3 else 1
    found: list[list[tuple[str, int]]] = []
    for _ in range(_TRIES):
        fleet = placed(chance, drawn_fleet(chance, agreed, seat))
        if fleet:
            found.append(fleet)
        if len(found) == wanted:
            break
    if not found:
        raise ValueError("no fleet was found that has room")
    return _written(min(found, key=_exposed))


def _exposed(fleet: Sequence[tuple[str, int]]) -> int:
    """The likelihood that a fleet's cells belong to a fleet placed at random."""
    prior = _prior()
    return sum(prior[cell] for _, mask in fleet for cell in cells(mask))


@cache
def _prior() -> list[int]:
    """For each cell, the number of placements of the standard ships that cover it, normalised for each type."""
    worth = [0] * SPACE
    for code in ("DS", "KC", "FS", "PC", "MD"):
        index = placements_of(code)
        for cell in range(SPACE):
            worth[cell] += index.covering[cell].bit_count() * CERTAIN // len(index.masks)
    return worth


def _written(fleet: Sequence[tuple[str, int]]) -> str:
    several = Counter(code for code, _ in fleet)
    numbers: Counter[str] = Counter()
    lines = []
    for code, mask in fleet:
        numbers[code] += 1
        name = f"{code}{numbers[code]}" if several[code] > 1 else code
        lines.append(" ".join([name, *names(mask)]))
    return "\n".join(lines)


def orders(level: int, chance: Chance, position: Position) -> str:
    """All that the seat is entitled to, at the cells that are worth most; only scans to end a game that it wins."""
    known = seen(position)
    worth = (_hunted, _counted, _sampled)[level - 1](chance, position, known)
    for cell in cells(known.dark):  # however unlikely: the fleet may be none of those that were thought of
        worth[cell] = max(worth[cell], 1)
    return " ".join(_Salvo(chance, position, worth, thin=level > 1).orders())


def wish(_level: int, _position: Position) -> Wish:
    """Nothing: a player who cannot strike any more ends the game with orders."""
    return None


def _hunted(_chance: Chance, _position: Position, known: Seen) -> list[int]:
    """Known cells, then the neighbours of what was struck, then the dark."""
    beside = union(ADJACENT[cell] for cell in cells(known.wounds))
    worth = [0] * SPACE
    for mask, value in ((known.dark, CERTAIN // 8), (known.dark & beside, CERTAIN // 2), (known.alive, CERTAIN)):
        for cell in cells(mask):
            worth[cell] = value
    return worth


def _counted(chance: Chance, position: Position, known: Seen) -> list[int]:
    agreed = cast("Options", position.options)
    fleets = 1 if agreed.cost is None and not any(agreed.additional) else FLEETS
    worth = [0] * SPACE
    for _ in range(fleets):
        found = counted(slots(chance, agreed, position.seat, known), known.ships, known.dark | known.alive)
        worth = [one + other for one, other in zip(worth, found, strict=True)]
    dark = [min(value // fleets, _NEARLY_CERTAIN) for value in worth]
    return [CERTAIN if known.alive >> cell & 1 else value for cell, value in enumerate(dark)]


def _sampled(chance: Chance, position: Position, known: Seen) -> list[int]:
    agreed = cast("Options", position.options)
    found = []
    for _ in range(CHAINS):
        ships = slots(chance, agreed, position.seat, known)
        found += sampled(chance, ships, known.ships, STEPS // max(1, len(ships)))
    if len(found) < CHAINS:
        return _counted(chance, position, known)
    able = known.dark | known.alive
    worth = [0] * SPACE
    for fleet in found:
        for _, mask in fleet:
            for cell in cells(mask & able):
                worth[cell] += 1
    return [value * CERTAIN // len(found) for value in worth]


class _Salvo:
    """The orders of one turn, each taking the cell that is worth most by then."""

    def __init__(self, chance: Chance, position: Position, worth: Sequence[int], *, thin: bool) -> None:
        self.chance = chance
        self.view = position.view
        self.thin = thin
        # Cells worth the same are told apart by chance, in what is worth less than any difference that matters.
        self.worth = [(value << 10) + chance.below(1 << 10) if value else 0 for value in worth]
        self.seat = position.seat
        self.options = cast("Options", position.options)

    def orders(self) -> Iterator[str]:
        """The beams, missiles, strikes, kamikazes and scans."""
        entitled: dict[str, Any] = self.view["entitled"]
        strikes = [ship["strikes"] for ship in entitled["conventional"]]
        yield from (self._beam(beam["ship"]) for beam in entitled["beams"])
        yield from (f"m{self._launched(ship)} {self._take()}" for ship in entitled["missiles"])
        yield from (self._take() for given in strikes for _ in range(given))
        must = not strikes and not entitled["missiles"]
        agreed, lost = self.options, self.view["known"][str(3 - self.seat)]["destroyed"]
        began = (_STANDARD if agreed.cost is None else agreed.cost) + agreed.additional[2 - self.seat]
        left = began - len(lost)  # of the other's cells, at most
        if must and int(self.view["own"]["score"]) >= left:
            return  # who strikes at nothing now ends the game
        for ship in entitled["kamikazes"]:
            if must or max(self.worth) >> 10 >= _NEARLY_CERTAIN:
                yield f"k{self.chance.choice(ship['cells'])} {self._take()}"
                must = False
        yield from (self._scan() for _ in range(entitled["scans"]))

    def _take(self) -> str:
        return NAMES[self._strike(max(range(SPACE), key=self.worth.__getitem__))]

    def _strike(self, cell: int) -> int:
        value, self.worth[cell] = self.worth[cell], 0
        if self.thin and value < _NEARLY_CERTAIN << 10:
            for beside in cells(ADJACENT[cell]):
                if self.worth[beside] < _NEARLY_CERTAIN << 10:
                    self.worth[beside] = self.worth[beside] * _BESIDE // 100
        return cell

    def _beam(self, name: str) -> str:
        ship = next(ship for ship in self.view["own"]["ships"] if ship["ship"] == name)
        able = lines_of_fire(mask_of(ship["cells"]) & ~mask_of(ship["destroyed"]))
        ends = max(
            (ends for ends, (_, direction) in LINES.items() if able >> direction & 1),
            key=lambda ends: sum(self.worth[cell] for cell in LINES[ends][0]),
        )
        for cell in LINES[ends][0]:
            self._strike(cell)
        return f"b{ends[:3]}{ends[3:]} ({name})"

    def _launched(self, ship: dict[str, Any]) -> str:
        """The missile with most neighbours in its ship: struck before it is fired, it would take them with it."""
        whole = next(own for own in self.view["own"]["ships"] if own["ship"] == ship["ship"])
        mask = mask_of(whole["cells"])
        able = mask_of(ship["cells"])
        return NAMES[max(cells(able), key=lambda cell: (ADJACENT[cell] & mask).bit_count())]

    def _scan(self) -> str:
        """The cell of which it is least certain whether a ship is there."""
        cell = min(range(SPACE), key=lambda cell: abs((self.worth[cell] >> 10) - CERTAIN // 2))
        self.worth[cell] = 0
        return f"s{NAMES[cell]}"
