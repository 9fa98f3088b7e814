"""A player's space in a sealed game as far as it is public, and contradictions in answers about it.

Everything destroyed is told, and the cost of a whole fleet is agreed. So hits and duplicates are exact, and the named
ships show whether any ship is left. Here live the lines of answers, and whether they agree with what
was told before; no table, no secrets. Implements docs/sealed.md, "Spaceships" and "What is refused at once".
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import Fault
from pbem.games.spaceships.fleet import STANDARD_FLEETS, allows, cost_of, most_of
from pbem.games.spaceships.notation import is_ship
from pbem.games.spaceships.ships import TYPES, fits
from pbem.games.spaceships.space import ADJACENT, CELLS, NAMES, cells, extents, mask_of, names
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.games import Report
    from pbem.games.spaceships.fleet import Options
    from pbem.games.spaceships.notation import Orders


class Line(NamedTuple):
    """One line of answers: what happened in a cell of the owner's space."""

    kind: str
    cell: int
    result: str = ""
    explosions: int = 0
    ship: str = ""
    """The ship that was destroyed."""
    ship_cells: int = 0

    @property
    def text(self) -> str:
        """The line as it is in a paper."""
        words = [self.kind, NAMES[self.cell], *([self.result] if self.result else ())]
        if self.explosions:
            words += ["explodes", *names(self.explosions)]
        if self.ship:
            words += ["destroyed", self.ship, *names(self.ship_cells)]
        return " ".join(words)


def read_line(word: str, rest: list[str]) -> Line:
    """A line of answers other than `flash` and `over`; raises ValueError or LookupError on anything else."""
    cell, *words = rest
    result = words.pop(0) if word != "death" else ""
    if result not in _RESULTS[word]:
        raise ValueError
    ship, explosions, ship_cells = "", 0, 0
    if "destroyed" in words:
        at = words.index("destroyed")
        words, (ship, *named) = words[:at], words[at + 1 :]
        ship_cells = mask_of(named)
        if not is_ship(ship) or names(ship_cells) != named or word == "scan":
            raise ValueError
    if words:
        explosions = mask_of(words[1:])
        if words[0] != "explodes" or result not in ("hit", "duplicate") or names(explosions) != words[1:]:
            raise ValueError
        if not explosions:
            raise ValueError
    return Line(word, CELLS[cell], result, explosions, ship, ship_cells)


_RESULTS: Final = {
    "beam": ("miss", "hit", "duplicate"),
    "strike": ("miss", "hit", "duplicate"),
    "scan": ("none", "ship", "destroyed"),
    "death": ("",),
}
"""The possible results in a line, by its first word."""


def read_flash(words: list[str]) -> Report:
    """Flashcube data from the words of a line; raises ValueError or LookupError on anything else."""
    match words:
        case [cell, "none"] if cell in CELLS:
            return {"cell": cell, "ship": None}
        case [cell, ship, *rest] if cell in CELLS and is_ship(ship) and rest in ([], ["destroyed"]):
            return {"cell": cell, "ship": ship, "destroyed": bool(rest)}
    raise ValueError


def flash_text(flash: Report) -> str:
    """A line of flashcube data."""
    words = [flash["ship"], *(["destroyed"] if flash["destroyed"] else ())] if flash["ship"] else ["none"]
    return " ".join(["flash", flash["cell"], *words])


class Space(NamedTuple):
    """The public facts about one seat's space."""

    destroyed: int = 0
    """All cells of ships that are destroyed: none of them can be kept secret."""
    ship: int = 0
    """Cells of ships, destroyed or not."""
    empty: int = 0
    named: Mapping[int, str] = {}
    """The ship in each named cell."""
    lost: Mapping[str, int] = {}
    """The cells of each ship that is destroyed."""


class Telling:
    """A space during its owner's answers of one turn, with the contradictions in them."""

    def __init__(self, options: Options, seat: int, space: Space, launches: int) -> None:
        self.options = options
        self.seat = seat
        self.faults: list[Fault] = []
        self.before = space.destroyed
        self.launches = launches
        self.start = self.destroyed = space.destroyed | launches
        """Start with the cells that were destroyed before any strike of the turn."""
        self.ship = space.ship | launches
        self.empty = space.empty
        self.named = dict(space.named)
        self.lost = dict(space.lost)
        self.exploded: dict[int, int] = {}
        """The cells of each explosion, by the cell that was struck in this turn and held a ship."""
        self.line = ""

    def space(self) -> Space:
        """The space as told from now on."""
        return Space(self.destroyed, self.ship, self.empty, self.named, self.lost)

    def _blame(self, rule: str, message: Phrase) -> None:
        self.faults.append(Fault(rule, self.line, message))

    def _denied(self, rule: str, cell: int) -> None:
        self._blame(rule, Phrase("{cell}: an earlier answer said something else", cell=NAMES[cell]))

    def tell(self, line: Line) -> None:
        """Enter one line of answers."""
        self.line, cell, bit = line.text, line.cell, 1 << line.cell
        fresh = 0
        if line.kind == "scan":
            self._scan(cell, line.result)
        elif line.kind != "death":
            fresh = self._strike(cell, line.result, line.explosions)
        else:
            fresh = bit
        if line.ship:
            self._lose(line, fresh)

    def _lose(self, line: Line, fresh: int) -> None:
        """Enter the ship that an answer names as lost, with all of its cells (ruling 27)."""
        mask, name = line.ship_cells, line.ship
        if not fits(name[:2], mask) or (line.explosions and not TYPES[name[:2]].missiles):
            self._blame("27", Phrase("these are not the cells of {ship}", ship=name))
        elif mask & ~self.destroyed or not mask & fresh or name in self.lost or line.explosions & ~mask:
            self._denied("27", line.cell)
        elif line.kind == "death" and name[:2] in ("DS", "LS"):
            self._blame("16", Phrase("{ship} never flies a kamikaze strike", ship=name))
        elif any(name != self.named.get(cell, name) for cell in cells(mask)) or mask & ~self._at(name, mask):
            self._denied("27", line.cell)
        else:
            self.lost[name] = mask
            self.named.update(dict.fromkeys(cells(mask), name))

    def _scan(self, cell: int, result: str) -> None:
        bit = 1 << cell
        if result == "none":
            self._find_nothing("25", cell)
        elif (result == "destroyed") != bool(self.destroyed & bit) or self.empty & bit:
            self._denied("25", cell)
        else:
            self.ship |= bit

    def _find_nothing(self, rule: str, cell: int) -> None:
        if self.ship & 1 << cell:
            self._denied(rule, cell)
        else:
            self.empty |= 1 << cell

    def _strike(self, cell: int, result: str, explosions: int) -> int:
        """One strike: the cells that it newly destroyed (rulings 22-24)."""
        bit = 1 << cell
        if result == "miss":
            self._find_nothing("22", cell)
            return 0
        if (result == "duplicate") != bool(self.destroyed & bit) or self.empty & bit:
            self._denied("22", cell)
        if explosions != self.exploded.setdefault(cell, explosions):
            self._denied("23", cell)
        if explosions:
            around, in_line = explosions & ~bit, extents(explosions)[:2] == (1, 1)
            if not explosions & bit or around & ~ADJACENT[cell] or not in_line:
                self._blame("23", Phrase("no missile explodes like that"))
            elif explosions & (self.before | self.empty) or bit & self.launches:
                self._denied("23", cell)
        fresh = (bit | explosions) & ~self.destroyed
        self.destroyed |= bit | explosions
        self.ship |= bit | explosions
        return fresh

    def _at(self, name: str, mask: int) -> int:
        """The same cells; none if another line names the ship elsewhere."""
        return mask if all(mask >> cell & 1 for cell, known in self.named.items() if known == name) else 0

    def flash(self, flash: Report, by: int) -> None:
        """Enter flashcube data of a cell; `by` is what was destroyed at that moment (ruling 28)."""
        self.line = flash_text(flash)
        cell, ship = CELLS[flash["cell"]], flash["ship"]
        bit = 1 << cell
        if ship is None:
            self._find_nothing("28", cell)
        elif (
            self.empty & bit
            or flash["destroyed"] != bool(by & bit)
            or self.named.get(cell, ship) != ship
            or not self.lost.get(ship, bit) & bit
        ):
            self._denied("28", cell)
        else:
            self.ship |= bit
            self.named[cell] = ship

    def end(self, over: str, orders: Orders) -> None:
        """Enter whether the game is over (rulings 30 and 31), and look at the fleet as it was named."""
        self.line = over
        left = self.options.whole_cost(self.seat) - cost_of(Counter(ship[:2] for ship in self.lost))
        if (not left) != (over == "over fleet"):
            self._blame("30", Phrase("the game is over when no ship is left, and only then"))
        if over == "over idle" and (orders.beams or orders.strikes):
            self._blame("31", Phrase("something else than scans was ordered"))
        # No fleet has more or larger ships than rulings 6 to 9 permit.
        sizes = Counter(self.named.values())
        codes = Counter(ship[:2] for ship in sizes)
        lone = any(len(ship) == len("DS") and codes[ship[:2]] > 1 for ship in sizes)
        if lone or any(size > TYPES[ship[:2]].size for ship, size in sizes.items()):
            self._blame("6", Phrase("no fleet has the ships that were named"))
        elif not _is_possible(self.options, self.seat, codes):
            self._blame("7", Phrase("no fleet has the ships that were named"))


def _is_possible(options: Options, seat: int, codes: Counter[str]) -> bool:
    """True if ships of these types may be part of an agreed fleet."""
    extra = options.additional[seat - 1]
    bases = STANDARD_FLEETS
    if options.cost is not None:  # whatever is allowed; the cost of all is looked at besides
        bases = (Counter({code: most_of(options.allowed, code, len(NAMES)) for code in TYPES}),)
    return cost_of(codes) <= options.whole_cost(seat) and any(
        cost_of(more) <= extra and allows(options.additional_allowed, more)
        for more in (codes - base for base in bases)
    )


def entitlement(options: Options, seat: int, lost: Counter[str]) -> tuple[int, int]:
    """The most strikes of all kinds, and beams, that a fleet without these ships may give (rulings 14-17)."""
    extra, dear = options.additional[seat - 1], TYPES["DS"].cost
    if options.cost is not None:
        left = options.whole_cost(seat) - cost_of(lost)
        return left, left // dear
    bases = [base - lost for base in STANDARD_FLEETS]
    most = max(sum(_MOST_STRIKES[code] * number for code, number in base.items()) for base in bases)
    return most + extra, 1 - min(1, lost["DS"]) + extra // dear


_MOST_STRIKES: Final = {"DS": 1, "KC": 3, "FS": 2, "PC": 2, "MD": 2, "HS": 1, "LS": 0, "AG": 2, "LG": 1}
"""The strikes of a ship in a turn by type, missile and kamikaze included: no type gives more than it costs."""
