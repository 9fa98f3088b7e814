"""Spaceships, from its rules page alone."""

from __future__ import annotations

import copy
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import combinations, permutations, product, zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

from verifier import rules
from verifier.rules import Conditional, Options, Paper, Refused, Report, best, chosen, demand, is_conditional

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

EDITIONS, SEATS = range(1, 2), range(2, 3)
COLOURS, LETTERS, NUMBERS = "ROYGB", "vwxyz", "12345"
CELLS = ["".join(cell) for cell in product(COLOURS, LETTERS, NUMBERS)]
PLACES = {cell: at for at, cell in enumerate(CELLS)}
COSTS = {"DS": 8, "KC": 6, "FS": 4, "PC": 4, "MD": 3, "HS": 3, "LS": 3, "AG": 2, "LG": 1}
SIZES = COSTS | {"HS": 2, "LS": 1}
BOXES = {"KC": (3, 2, 1), "FS": (2, 2, 1), "PC": (4, 1, 1), "MD": (3, 1, 1), "HS": (2, 1, 1)} | {
    "LS": (1, 1, 1),
    "AG": (2, 1, 1),
    "LG": (1, 1, 1),
}
SCANNERS, MISSILES = ("HS", "LS"), ("MD", "AG", "LG")
CELL = "[ROYGB][v-z][1-5]"
SHIP = r"(DS|KC|FS|PC|MD|HS|LS|AG|LG)([1-9][0-9]{0,2})?"
LIKE_A_SHIP = re.compile("(?![A-Za-z][v-zV-Z][0-9])[A-Za-z]{2,}[0-9]*")
STANDARD = [
    dict.fromkeys(COSTS, 0) | dict.fromkeys(("DS", "KC", four, "MD", scout), 1)
    for four, scout in product(("FS", "PC"), ("LS", "HS"))
]
Order = tuple[Any, ...]
"""("strike", target), ("scan", target), ("missile", part, target), ("kamikaze", launch, target), or
("beam", first, last, name or None); with the text as it is written last."""


@cache
def point(cell: str) -> tuple[int, int, int]:
    return COLOURS.index(cell[0]), LETTERS.index(cell[1]), NUMBERS.index(cell[2])


def cell_at(spot: Sequence[int]) -> str | None:
    inside = all(0 <= value <= 4 for value in spot)
    return COLOURS[spot[0]] + LETTERS[spot[1]] + NUMBERS[spot[2]] if inside else None


@cache
def apart(one: str, other: str) -> tuple[int, ...]:
    return tuple(b - a for a, b in zip(point(one), point(other), strict=True))


@cache
def adjacent(one: str, other: str) -> bool:
    return sum(map(abs, apart(one, other))) == 1


def in_order(cells: Collection[str]) -> list[str]:
    return sorted(cells, key=PLACES.__getitem__)


# 7.2 Options, and which fleets they allow.


def options(given: Mapping[str, Any], seats: int) -> Options:
    made = {"fleet": "standard", "first": "alternate", "additional": [0, 0]} | dict(given)
    known = {"fleet", "first", "additional", "allowed", "additional_allowed"}
    demand(seats == 2 and set(made) <= known, 7, "no such options")
    fleet, first, more = made["fleet"], made["first"], made["additional"]
    demand(isinstance(fleet, str) and re.fullmatch("standard|cost:[1-9][0-9]{0,8}", fleet), 7, "fleet")
    demand(isinstance(first, str) and first in {"alternate", "1", "2"}, 33, "first")
    right = isinstance(more, (list, tuple)) and len(more) == 2
    demand(right and all(type(one) is int and 0 <= one < 10**9 for one in more), 8, "additional")
    made["additional"] = list(more)
    for key in ("allowed", "additional_allowed"):
        if key in made:
            most = made[key]
            demand(isinstance(most, dict) and set(most) <= set(COSTS), 9, "no types")
            demand(all(type(one) is int and 0 <= one < 10**9 for one in most.values()), 9, "no numbers")
            made[key] = {code: most[code] for code in COSTS if code in most}
    demand(fleet != "standard" or "allowed" not in made, 9, "only cost fleets are restricted")
    defaults = {"fleet": "standard", "first": "alternate", "additional": [0, 0]}
    keys = ("fleet", "first", "additional", "allowed", "additional_allowed")
    return {key: made[key] for key in keys if key in made and made[key] != defaults.get(key)}


def bases(options: Options) -> list[tuple[dict[str, int], dict[str, int], int]]:
    """The base fleets that there may be: the least and the most of each type, and what they cost."""
    fleet = options.get("fleet", "standard")
    if fleet == "standard":
        return [(base, base, sum(COSTS[code] * number for code, number in base.items())) for base in STANDARD]
    allowed = options.get("allowed", dict.fromkeys(COSTS, 125))
    return [(dict.fromkeys(COSTS, 0), {code: allowed.get(code, 0) for code in COSTS}, int(fleet[5:]))]


def is_fleet(options: Options, seat: int, ships: Mapping[str, int], *, whole: bool = True) -> bool:
    """True if so many ships of each type are an agreed fleet, by some way to split it (9), or part of one."""
    extra, may = additional(options, seat)
    total = sum(COSTS[code] * number for code, number in ships.items())
    for fewest, many, cost in bases(options):
        sums = {0}
        for code, price in COSTS.items():
            number = ships.get(code, 0)
            least = max(fewest[code] if whole else 0, number - may.get(code, 0))
            sums = {base + one * price for base in sums for one in range(least, min(many[code], number) + 1)}
        for base in sums:
            if (base, total - base) == (cost, extra) or (not whole and base <= cost and total - base <= extra):
                return True
    return False


def additional(options: Options, seat: int) -> tuple[int, Mapping[str, int]]:
    """The cost of additional ships, and how many of each type there may be."""
    return options.get("additional", [0, 0])[seat - 1], options.get("additional_allowed", dict.fromkeys(COSTS, 125))


def best_of(cost: int, least: Mapping[str, int], most: Mapping[str, int], worth: Mapping[str, int]) -> dict[int, int]:
    """By cost up to this one the best worth of ships of that cost."""
    found = {0: 0}
    for code, price in COSTS.items():
        after: dict[int, int] = {}
        for base, value in found.items():
            room = min(most.get(code, 0), (min(cost, 375) - base) // price)  # a space has room for no more
            for number in range(least.get(code, 0), room + 1):
                key, made = base + number * price, value + number * worth.get(code, 0)
                after[key] = max(after.get(key, made), made)
        found = after
    return found


def most_of(options: Options, seat: int, worth: Mapping[str, int]) -> int:
    """The best worth of any fleet."""
    base = max(max(best_of(cost, least, most, worth).values(), default=0) for least, most, cost in bases(options))
    cost, may = additional(options, seat)
    return base + max(best_of(cost, {}, may, worth).values())


def carry(given: Options, scores: Sequence[int]) -> Options:
    """The options of the next game of a continued match (7.4)."""
    small = {code: -size for code, size in SIZES.items()}
    base = max(best_of(cost, least, most, small)[cost] for least, most, cost in bases(given))
    more = []
    for score in scores:
        cells = best_of(score, {}, additional(given, 1)[1], small)
        more.append(max(cost for cost, size in cells.items() if len(CELLS) + base + size >= 0))
    return options(given | {"additional": more}, 2)


# 3 of the rules: setups.


def boxes(sides: Sequence[int]) -> set[frozenset[str]]:
    """Every set of cells that fills a box with these sides, however it lies."""
    found = set()
    for a, b, c in set(permutations(sides)):
        for corner in product(range(5), repeat=3):
            spots = [
                cell_at([at + step for at, step in zip(corner, steps, strict=True)])
                for steps in product(range(a), range(b), range(c))
            ]
            cells = [cell for cell in spots if cell]
            if len(cells) == len(spots):
                found.add(frozenset(cells))
    return found


SHAPES = {code: boxes(sides) for code, sides in BOXES.items()}
CORES = boxes((2, 2, 2)) | boxes((3, 2, 1))


def has_shape(code: str, cells: Collection[str]) -> bool:
    cells = frozenset(cells)
    if len(cells) != SIZES[code]:
        return False
    if code != "DS":
        return cells in SHAPES[code]
    beside = [sum(adjacent(cell, other) for other in cells) for cell in cells]
    return min(beside) >= 2 and any(frozenset(some) in CORES for size in (6, 8) for some in combinations(cells, size))


@dataclass
class Written:
    """A ship of a setup, as it is written at a place of the text; a name that no ship has has no code."""

    at: int
    code: str = ""
    number: str = ""
    cells: set[str] = field(default_factory=set)
    unread: bool = False
    """Among its cells is what is none, so that nothing is said of its shape."""


Faults = list[tuple[int, Refused]]
"""With their places in the text; of several at one place, the first counts."""


def ships_of(options: Options, seat: int, text: str) -> list[Ship]:
    text = separated(text)
    words = re.findall(r"[^\s;]+", text)
    grids = ("." in words or len(words) == len(CELLS)) and not any(re.match(f"{CELL}(-|$)", word) for word in words)
    ships, faults = drawn(text) if grids else written_ships(text)
    several = Counter(ship.code for ship in ships)
    numbers: set[tuple[str, str]] = set()
    for ship in ships:
        many = several[ship.code]
        numbered = int(ship.number) <= many if ship.number else many == 1
        if not numbered or (ship.code, ship.number) in numbers:
            faults.append((ship.at, Refused(6, f"the numbers of {ship.code}")))
        numbers.add((ship.code, ship.number))
        if not ship.unread and not has_shape(ship.code, ship.cells):
            ruling = 5 if ship.code == "DS" and len(ship.cells) == SIZES["DS"] else 4
            faults.append((ship.at, Refused(ruling, f"no {ship.code}")))
    if faults:
        raise min(faults, key=lambda fault: fault[0])[1]
    free = {key: one for key, one in options.items() if not key.endswith("allowed")}
    demand(is_fleet(free, seat, several), 8 if additional(options, seat)[0] else 7, "another fleet")
    demand(is_fleet(options, seat, several), 9, "ships that are not allowed")
    codes = list(COSTS)
    ships.sort(key=lambda ship: (codes.index(ship.code), int(ship.number or 1)))
    return [
        Ship(ship.code + (ship.number if several[ship.code] > 1 else ""), ship.code, in_order(ship.cells))
        for ship in ships
    ]


def separated(text: str) -> str:
    """Commas and semicolons separate, and stand within nothing."""
    return re.sub(r"#[^\n\r]*", " ", text).replace(",", ";")


def drawn(text: str) -> tuple[list[Written], Faults]:
    """Five grids, of which each line is one row or several."""
    found: dict[str, Written] = {}
    faults: Faults = []
    cells = iter(CELLS)
    for line in re.finditer(r"[^\n\r]+", text):
        words = list(re.finditer(r"[^\s;]+", line[0]))
        if len(words) % 5:
            faults.append((line.start(), Refused(12, "no row of five words")))
        for word in words:
            at, cell, ship = line.start() + word.start(), next(cells, None), re.fullmatch(SHIP, word[0])
            if ship:
                found.setdefault(word[0], Written(at, ship[1], ship[2] or "")).cells |= {cell} if cell else set()
            elif word[0] != ".":
                faults.append((at, Refused(12, "no ship")))
    if not faults and len(re.findall(r"[^\s;]+", text)) != len(CELLS):
        faults.append((len(text), Refused(12, "not 25 rows")))
    for written in found.values():
        written.unread = bool(faults)
    return list(found.values()), faults


def written_ships(text: str) -> tuple[list[Written], Faults]:
    """Ship by ship, with single cells and boxes."""
    found: list[Written] = []
    faults: Faults = []
    taken: set[str] = set()
    ship: Written | None = None
    end = r"(?=[\s;]|$)"
    for one in re.finditer(rf"{SHIP}{end}|({CELL})(?:\s*-\s*({CELL}))?{end}|[^\s;]+", text):
        code, number, first, last = one.groups()
        if code:
            ship = Written(one.start(), code, number or "")
            found.append(ship)
        elif first and ship:
            sides = [range(min(ends), max(ends) + 1) for ends in zip(point(first), point(last or first), strict=True)]
            cells = {cell for spot in product(*sides) if (cell := cell_at(spot))}
            if cells & taken:
                faults.append((one.start(), Refused(10, "a cell twice")))
            taken |= cells
            ship.cells |= cells
        else:
            faults.append((one.start(), Refused(10, "neither a ship nor a cell of one")))
            if ship and not LIKE_A_SHIP.fullmatch(one[0]):
                ship.unread = True
            else:
                ship = Written(one.start())
    return found, faults


def setup(options: Options, seat: int, text: str) -> str:
    return "\n".join(" ".join([ship.name, *ship.cells]) for ship in ships_of(options, seat, text))


def begin(options: Options, setups: Sequence[str]) -> Game:
    one, two = (Player(ships_of(options, seat, text)) for seat, text in enumerate(setups, 1))
    game = Game(one, two, options.get("first", "alternate"))
    game.told = []
    return game


# 4 of the rules: what may be ordered.


@dataclass
class Ship:
    name: str
    code: str
    cells: list[str]
    burnt: bool = False


@dataclass
class Player:
    """One side, and what the rules page says of it, read from the state at the start of the turn."""

    ships: list[Ship]
    destroyed: set[str] = field(default_factory=set)
    fired: set[str] = field(default_factory=set)
    lost: int = 0
    start: set[str] = field(default_factory=set)
    """The ships destroyed when the turn began; and what is still an unfired missile after the launches."""
    empty: set[str] = field(default_factory=set)
    """Cells of this space that reports told to have no ship."""
    armed: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    def whole(self, ship: Ship) -> list[str]:
        return [cell for cell in ship.cells if cell not in self.destroyed]

    def at(self, cell: str) -> Ship | None:
        return next((ship for ship in self.ships if cell in ship.cells), None)

    def strikes(self, ship: Ship) -> int:
        whole = self.whole(ship)
        return (1 if whole else 0) if ship.code == "DS" else most_pairs(whole)

    def missiles(self, ship: Ship) -> list[str]:
        return [cell for cell in self.whole(ship) if ship.code in MISSILES and cell not in self.fired]

    def kamikazes(self, ship: Ship) -> list[str]:
        barred = ship.code in ("DS", "LS") or self.strikes(ship) or self.missiles(ship)
        return [] if barred else self.whole(ship)

    def beams(self, direction: tuple[int, ...]) -> list[Ship]:
        """The death stars that could fire along this direction."""
        able = []
        for ship in self.ships:
            if ship.code != "DS" or ship.burnt:
                continue
            steps = [apart(one, other) for one, other in combinations(self.whole(ship), 2)]
            if direction in steps or tuple(-step for step in direction) in steps:
                able.append(ship)
        return able

    def scans(self, turn: int) -> int:
        if not any(self.whole(ship) for ship in self.ships if ship.code in SCANNERS):
            return 0
        return 1 if turn == 1 else max(1, self.lost)

    def score(self) -> int:
        return sum(len(self.whole(ship)) for ship in self.ships)

    def helpless(self) -> bool:
        return not any(self.strikes(ship) or self.missiles(ship) for ship in self.ships)

    def firing(self, order: Order) -> Ship:
        """The death star that fires this beam."""
        found = line(order[1], order[2])
        if found is None:
            raise Refused(3, "no line of three")
        able = self.beams(found[1])
        demand(able or order[3], 17, "no beam along this line")
        if order[3] is None:
            demand(len(able) == 1, 38, "which ship?")
            return able[0]
        named = [ship for ship in able if order[3] in (ship.name, *(["DS1"] if ship.name == "DS" else []))]
        demand(named, 38, "this ship cannot")
        return named[0]

    def launching(self, part: str) -> str:
        """The cell of the missile that this part names."""
        demand(part, 37, "no part")
        ready = [cell for ship in self.ships for cell in self.missiles(ship)]
        fits = [cell for cell in ready if all(value in cell for value in part)]
        demand(len(fits) == 1, 37, "not one missile")
        return fits[0]

    def judged(self, turn: int, text: str, known: Collection[str] | None = None) -> list[Order]:
        """The orders of a text, if they are legal (13 to 19); `known` is what a target list leaves out (40)."""
        orders = read_orders(text)
        if ("next",) in orders and known is not None:
            demand(orders.count(("next",)) == 1, 40, "two target lists")
            orders = self.chosen(orders, set(known))
        used: Counter[tuple[str, str]] = Counter()
        for order in orders:
            kind, ship = order[0], None
            demand(kind != "unread", 36, "no order")
            demand(kind != "next", 40, "no target list here")
            if kind == "beam":
                ship = self.firing(order)
            elif kind == "missile":
                ship = self.at(self.launching(order[1]))
            elif kind == "kamikaze":
                ship = self.at(order[1])
                demand(ship and order[1] in self.kamikazes(ship), 16, "no kamikaze")
            used[kind, ship.name if ship else ""] += 1
            demand(used["strike", ""] <= sum(map(self.strikes, self.ships)), 14, "too many strikes")
            demand(used["scan", ""] <= self.scans(turn), 18, "too many scans")
            demand(not ship or used[kind, ship.name] == 1, 19, "twice")
        return orders

    def chosen(self, orders: Sequence[Order], known: set[str]) -> list[Order]:
        """The orders with the strikes for which their target list stands (40)."""
        at = orders.index(("next",))
        known |= {order[-1] for order in orders if order[0] in ("missile", "kamikaze")}
        known |= {order[-1] for order in orders[:at] if order[0] == "strike"}
        room = sum(map(self.strikes, self.ships)) - sum(order[0] == "strike" for order in orders[:at])
        demand(any(order[0] == "strike" and order[-1] not in known for order in orders[at:]), 40, "nothing left")
        demand(room > 0, 14, "too many strikes")
        found = list(orders[:at])
        for order in orders[at + 1 :]:
            if order[0] != "strike":
                found.append(order)
            elif room and order[-1] not in known:
                known.add(order[-1])
                found.append(order)
                room -= 1
        return found

    def canonical(self, turn: int, text: str, known: Collection[str]) -> str:
        made = []
        for order in self.judged(turn, text, known):
            kind, *rest = order
            if kind == "beam":
                found = line(rest[0], rest[1])
                several = found and len(self.beams(found[1])) > 1
                made.append(f"b{rest[0]}{rest[1]}" + (f"({self.firing(order).name})" if several else ""))
            else:
                made.append({"strike": "", "scan": "s", "missile": "m", "kamikaze": "k"}[kind] + " ".join(rest))
        return " ".join(made)

    # 5 of the rules: what happens in the space of this side.

    def launch(self, orders: Sequence[Order]) -> list[tuple[Ship, Order]]:
        """The turn's own effects (20); which ship fires which beam."""
        beams = [(self.firing(order), order) for order in orders if order[0] == "beam"]
        fired = {self.launching(order[1]) for order in orders if order[0] == "missile"}
        self.start, self.told = set(self.destroyed), set()
        self.destroyed |= {order[1] for order in orders if order[0] == "kamikaze"}
        self.fired |= fired
        self.armed = {cell for ship in self.ships for cell in self.missiles(ship)}
        return beams

    def struck(self, cell: str) -> tuple[str, list[str], Ship | None]:
        """The result of a strike, what exploded, and the ship that was destroyed."""
        ship = self.at(cell)
        if ship is None:
            self.empty.add(cell)
            return "miss", [], None
        before = self.whole(ship)
        result = "duplicate hit" if cell in self.destroyed else "hit"
        self.destroyed.add(cell)
        exploded: list[str] = []
        if cell in self.armed:
            exploded = [cell, *(one for one in ship.cells if adjacent(cell, one) and one not in self.start)]
            self.destroyed.update(exploded)
        fallen = ship if before and not self.whole(ship) else None
        if fallen:
            self.told.add(fallen.name)
        return result, in_order(exploded), fallen

    def scanned(self, cell: str) -> str:
        if not self.at(cell):
            self.empty.add(cell)
        return "none" if not self.at(cell) else "destroyed" if cell in self.destroyed else "ship"

    def died(self, cell: str) -> Ship | None:
        """The ship whose destruction is reported with the death of a kamikaze."""
        ship = self.at(cell)
        assert ship
        if self.whole(ship) or ship.name in self.told:
            return None
        self.told.add(ship.name)
        return ship

    def ends(self) -> None:
        self.lost = len(self.destroyed - self.start)


def most_pairs(cells: Sequence[str]) -> int:
    if len(cells) < 2:
        return 0
    head, *rest = cells
    best = most_pairs(rest)
    for other in rest:
        if adjacent(head, other):
            best = max(best, 1 + most_pairs([cell for cell in rest if cell != other]))
    return best


def line(first: str, last: str) -> tuple[list[str], tuple[int, ...]] | None:
    """The three targets and the direction, or None."""
    span = apart(first, last)
    if not any(span) or any(step not in (-2, 0, 2) for step in span):
        return None
    direction = tuple(step // 2 for step in span)
    middle = cell_at([at + step for at, step in zip(point(first), direction, strict=True)])
    assert middle is not None
    return [first, middle, last], direction


TOKEN = re.compile(
    rf"[\s;]*(?:(?P<next>next)|(?P<strike>{CELL})|s\s*(?P<scan>{CELL})|m\s*(?P<part>(?=[^\s;])[ROYGB]?[v-z]?[1-5]?)\s*(?P<missile>{CELL})"
    rf"|k\s*(?P<launch>{CELL})\s*(?P<kamikaze>{CELL})"
    rf"|b\s*(?P<beam>{CELL})\s*-?\s*(?P<last>{CELL})(?:\s*\((?P<star>[A-Z][A-Z][0-9]{{0,3}})\))?)(?=[\s;]|$)"
)


def read_orders(text: str) -> list[Order]:
    """The orders of a text, up to the first word that is none: what stands before it may have a fault, too."""
    text, at = separated(text), 0
    found: list[Order] = []
    while one := TOKEN.match(text, at):
        at = one.end()
        if one["next"]:
            found.append(("next",))
        elif one["strike"] or one["scan"]:
            found.append(("strike", one["strike"]) if one["strike"] else ("scan", one["scan"]))
        elif one["missile"]:
            found.append(("missile", one["part"], one["missile"]))
        elif one["kamikaze"]:
            found.append(("kamikaze", one["launch"], one["kamikaze"]))
        else:
            found.append(("beam", one["beam"], one["last"], one["star"]))
    return found + [("unread",)] * bool(text[at:].replace(";", " ").strip())


def may(player: Player, turn: int, known: Collection[str], text: str) -> bool:
    """True if a player might order this, as the atom `can` asks."""
    demand(text and ("unread",) not in read_orders(text), 41, "no order")
    try:
        player.judged(turn, text, known)
    except Refused:
        return False
    return True


def holds(seat: int, atom: Sequence[str], told: Sequence[Report], able: Callable[[str], bool]) -> bool:
    """True if an atom holds (41)."""
    first, *rest = atom
    if first == "can":
        return able(" ".join(rest))
    demand(len(rest) == 1, 41, "no atom")
    (word,) = rest
    if first in CELLS:
        wanted = {"hit": "hit", "miss": "miss", "duplicate": "duplicate hit", "ship": "ship", "none": "none"}
        demand(word in wanted, 41, "no result")
        mine = [one for one in told if (one["seat"], one["cell"]) == (seat, first)]
        scan = word in ("ship", "none")
        return any(one.get("result") == wanted[word] and (one["kind"] == "scan") == scan for one in mine)
    if first == "struck":
        demand(word in CELLS, 41, "no cell")
        theirs = [one for one in told if one["seat"] != seat and one["kind"] in ("beam", "strike")]
        return any(one["cell"] == word for one in theirs)
    demand(first in ("sunk", "lost"), 41, "no atom")
    demand(word == "any" or re.fullmatch(rf"({'|'.join(COSTS)})([1-9][0-9]{{0,2}})?", word), 41, "no ship")
    for one in told:
        own = (one["seat"] == seat) == (one["kind"] == "kamikaze death")
        name = one["destroyed"]["ship"] if "destroyed" in one else ""
        names = ("any", name, name[:2], *([f"{name}1"] if name in COSTS else []))
        if name and own == (first == "lost") and word in names:
            return True
    return False


class Game(Conditional):
    RULING = 41

    def __init__(self, one: Player, two: Player, first: str) -> None:
        self.players = {1: one, 2: two}
        self.first = first

    @property
    def scores(self) -> tuple[int, ...]:
        return self.players[1].score(), self.players[2].score()

    @property
    def due(self) -> dict[int, str | None]:
        return {} if self.result else {1: None, 2: None}

    def store(self, seat: int, _turn: int, text: str) -> None:
        for orders in map(read_orders, self.branches(seat, text)):
            demand(("unread",) not in orders, 36, "no order")
            demand(all(line(one[1], one[2]) for one in orders if one[0] == "beam"), 3, "no line of three")
            demand(orders.count(("next",)) <= 1, 40, "two target lists")
            at = orders.index(("next",)) if ("next",) in orders else len(orders)
            struck = {one[-1] for one in orders if one[0] in ("missile", "kamikaze")}
            struck |= {one[-1] for one in orders[:at] if one[0] == "strike"}
            left = [one for one in orders[at:] if one[0] == "strike" and one[-1] not in struck]
            demand(left or at == len(orders), 40, "nothing left")

    def holds(self, seat: int, atom: Sequence[str]) -> bool:
        enemy, told = self.players[3 - seat], [report for turn in self.told or [] for report in turn]
        able = partial(may, self.players[seat], self.turn, enemy.destroyed | enemy.empty)
        return holds(seat, atom, told, able)

    def plain(self, seat: int, text: str) -> str:
        enemy = self.players[3 - seat]
        return self.players[seat].canonical(self.turn, text, enemy.destroyed | enemy.empty)

    def play(self, orders: Mapping[int, str]) -> list[Report]:
        given = {seat: player.judged(self.turn, orders[seat]) for seat, player in self.players.items()}
        idle = [
            player.helpless() and all(one[0] == "scan" for one in given[seat])
            for seat, player in self.players.items()
        ]
        beams = {seat: player.launch(given[seat]) for seat, player in self.players.items()}
        reports: list[Report] = []
        first = reports_first(self.first, self.turn)
        for seat in (first, 3 - first):
            reports += self.reports(seat, given[seat], beams[seat])
        for player in self.players.values():
            player.ends()
        self.told = [reports]
        if any(idle) or not all(self.scores):
            self.result = best(self.scores)
        else:
            self.turn += 1
        return reports

    def reports(self, seat: int, orders: Sequence[Order], beams: Sequence[tuple[Ship, Order]]) -> Iterator[Report]:
        enemy = self.players[3 - seat]
        for ship, order in beams:
            found = line(order[1], order[2])
            assert found
            three = [self.strike(seat, "beam", cell) for cell in found[0]]
            ship.burnt = ship.burnt or three[0]["result"] == three[2]["result"] == "hit"
            yield from three
        for order in orders:
            if order[0] in ("strike", "missile", "kamikaze"):
                yield self.strike(seat, "strike", order[-1])
        for order in orders:
            if order[0] == "scan":
                yield {"seat": seat, "kind": "scan", "cell": order[1], "result": enemy.scanned(order[1])}
        for order in orders:
            if order[0] == "kamikaze":
                report = {"seat": seat, "kind": "kamikaze death", "cell": order[1]}
                fallen = self.players[seat].died(order[1])
                yield report | (self.destruction(seat, fallen) if fallen else {})

    def strike(self, seat: int, kind: str, cell: str) -> Report:
        result, exploded, fallen = self.players[3 - seat].struck(cell)
        report: Report = {"seat": seat, "kind": kind, "cell": cell, "result": result}
        report |= {"explosions": exploded} if exploded else {}
        return report | (self.destruction(3 - seat, fallen) if fallen else {})

    def destruction(self, owner: int, ship: Ship) -> Report:
        other = self.players[3 - owner]
        data: list[Report] = []
        for cell in ship.cells:
            found = other.at(cell)
            data.append({"cell": cell, "ship": found.name if found else None})
            if found:
                data[-1]["destroyed"] = cell in other.destroyed
            else:
                other.empty.add(cell)
        return {"destroyed": {"ship": ship.name, "cells": list(ship.cells)}, "flashcube": data}


def reports_first(first: str, turn: int) -> int:
    return 2 - turn % 2 if first == "alternate" else int(first)


# 9 of the rules, and 11.3: sealed games.

WORDS = re.compile(r" (?=(?:beam|strike|scan|death|flash|over) )")
LOST = rf"(?: destroyed {SHIP}(?: {CELL})+)?"
ANSWER = re.compile(
    rf"(?:beam|strike) {CELL} (?:miss|(?:hit|duplicate)(?: explodes(?: {CELL})+)?{LOST})"
    rf"|scan {CELL} (?:none|ship|destroyed)|death {CELL}{LOST}|flash {CELL} (?:none|{SHIP}(?: destroyed)?)"
)
KINDS = ["beam", "strike", "scan", "death"]
STRIKES = {"DS": 1, "KC": 3, "FS": 2, "PC": 2, "MD": 2, "HS": 1, "AG": 2, "LG": 1}
"""The number of times that a ship of a type can strike in a turn, at most."""


class Space:
    """The reports of one seat's space."""

    def __init__(self) -> None:
        self.empty: set[str] = set()
        self.ship: set[str] = set()
        self.destroyed: set[str] = set()
        self.named: dict[str, str] = {}
        self.fallen: dict[str, list[str]] = {}
        self.lost = 0
        self.turn()

    def turn(self) -> None:
        """A turn begins: what was destroyed then, and after the launches; what exploded since."""
        self.start, self.launched = set(self.destroyed), set(self.destroyed)
        self.exploded: dict[str, list[str]] = {}

    def hit(self, cells: Collection[str]) -> None:
        self.ship |= set(cells)
        self.destroyed |= set(cells)

    def strike(self, said: Sequence[str]) -> None:
        cell, result, *rest = said
        known = cell in self.destroyed
        if result == "miss":
            demand(cell not in self.ship, 22, "a ship was there")
            self.empty.add(cell)
            return
        demand(cell not in self.empty and result == ("duplicate" if known else "hit"), 22, "told otherwise")
        cells, rest = taken(rest, "explodes")
        before = self.exploded.get(cell)
        demand(before is None or before == cells, 23, "it exploded otherwise")
        self.exploded[cell] = cells
        if cells:
            right = cell in cells and cell not in self.launched and not set(cells) & (self.start | self.empty)
            right = right and cells == in_order(cells) and all(one == cell or adjacent(one, cell) for one in cells)
            demand(right and (frozenset(cells) in SHAPES["MD"] | SHAPES["AG"] | SHAPES["LG"]), 23, "no explosion")
        fresh = {cell, *cells} - self.destroyed
        self.hit({cell, *cells})
        self.destruction(rest, {cell, *cells}, fresh, missiles=bool(cells))

    def scan(self, said: Sequence[str]) -> None:
        cell, result = said
        right = {"none": cell not in self.ship, "ship": cell not in self.destroyed | self.empty}
        right["destroyed"] = cell in self.destroyed
        demand(right.get(result), 25, "told otherwise")
        (self.empty if result == "none" else self.ship).add(cell)

    def death(self, said: Sequence[str]) -> None:
        cell, *rest = said
        self.destruction(rest, {cell}, {cell}, missiles=False)
        demand(not rest or rest[1][:2] not in ("DS", "LS"), 16, "these never fly so")

    def destruction(self, said: Sequence[str], of: set[str], fresh: set[str], *, missiles: bool) -> None:
        if not said:
            return
        _, name, *cells = said
        code = name[:2]
        right = cells == in_order(set(cells)) and has_shape(code, cells) and of <= set(cells) <= self.destroyed
        right = right and bool(fresh & set(cells)) and name not in self.fallen
        right = right and (not missiles or code in MISSILES)
        right = right and {cell for cell, one in self.named.items() if one == name} <= set(cells)
        demand(right and all(self.named.get(cell, name) == name for cell in cells), 27, "no such destruction")
        self.fallen[name] = cells
        self.named |= dict.fromkeys(cells, name)

    def flash(self, said: Sequence[str], state: set[str]) -> None:
        cell, name, *rest = said
        if name == "none":
            demand(cell not in self.ship, 28, "a ship was there")
            self.empty.add(cell)
            return
        right = cell not in self.empty and bool(rest) == (cell in state) and self.named.get(cell, name) == name
        demand(right and (name not in self.fallen or cell in self.fallen[name]), 28, "told otherwise")
        self.named[cell] = name
        demand(list(self.named.values()).count(name) <= SIZES[name[:2]], 28, "too many cells")
        self.ship.add(cell)

    def ships(self) -> Counter[str]:
        """The number of ships of each type that are named, whose numbers do not contradict each other."""
        names = set(self.named.values())
        found = Counter(name[:2] for name in names)
        demand(all(found[name] == 1 for name in names if len(name) == 2), 6, "a number is missing")
        demand(all(found[name[:2]] == 1 or len(name) > 2 for name in names), 6, "a number is missing")
        return found


def taken(said: list[str], word: str) -> tuple[list[str], list[str]]:
    """The cells after this word, if it comes first, and the rest."""
    if not said or said[0] != word:
        return [], said
    cells = []
    rest = said[1:]
    while rest and rest[0] in PLACES:
        cells.append(rest.pop(0))
    return cells, rest


class Table(rules.Table):
    """A sealed game: one commits, the other opens, the one opens and answers, the other answers; perhaps flash."""

    papers: ClassVar[Mapping[str, Paper]] = {
        "open": Paper("strikes", ("after", "orders", "salt")),
        "answers": Paper("answers", ("to", "own"), ("open",)),
        "flash": Paper("flash", ("to",), ("answers",)),
    }

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.committer = 1
        self.spaces = {1: Space(), 2: Space()}
        self.again()

    def again(self) -> None:
        """A turn begins."""
        self.done = 0
        self.opened: dict[int, Sequence[str]] = {}
        self.answered: dict[int, list[str]] = {}
        self.flashed: dict[int, list[str]] = {1: [], 2: []}
        self.over = False
        for space in self.spaces.values():
            space.turn()

    @property
    def scores(self) -> tuple[int, ...]:
        return 0, 0

    @property
    def plan(self) -> list[tuple[int, str]]:
        one, other = self.committer, 3 - self.committer
        plan = [(one, "commit"), (other, "open"), (one, "open"), (one, "answers"), (other, "answers")]
        return [*plan, (one, "flash")] if self.lit(one) else plan

    @property
    def due(self) -> dict[int, str]:
        return {} if self.result else dict(self.plan[self.done : self.done + 1])

    @property
    def first(self) -> int:
        return reports_first(self.options.get("first", "alternate"), self.turn)

    def lit(self, seat: int) -> list[tuple[str, bool]]:
        """The cells in the seat's space that the other's destroyed ships light up, and whether with a death."""
        found = []
        for said in map(str.split, self.answered.get(3 - seat, [])):
            if "destroyed" in said and said[0] != "scan":
                found += [(cell, said[0] == "death") for cell in said[said.index("destroyed") + 2 :]]
        return found

    def asked(self, seat: int) -> list[str]:
        """The beginnings of the lines of the seat's answers."""
        struck = []
        for kind, *cells in map(str.split, self.opened[3 - seat]):
            struck += [f"{kind} {cell}" for cell in cells if kind != "death"]
        deaths = [one for one in self.opened[seat] if one.startswith("death")]
        return [*deaths, *struck] if self.first == seat else [*struck, *deaths]

    def moment(self, seat: int, *, death: bool) -> bool:
        """True if flashcube data show the seat's space after the other's strikes: 28."""
        return death or self.first != seat

    def judge(self, seat: int, step: str, text: str) -> tuple[str, ...]:
        lines = tuple(WORDS.sub("\n", " ".join(text.split())).split("\n")) if text.split() else ()
        if step == "open":
            self.judge_open(seat, lines)
        elif step != "commit":
            space = copy.deepcopy(self.spaces[seat])
            self.tell(space, seat, step, lines)
            self.judge_fleet(space, seat, lines)
        return lines

    def judge_open(self, seat: int, lines: Sequence[str]) -> None:
        space, said = self.spaces[seat], [one.split() for one in lines]
        for kind, *cells in said:
            demand(kind in KINDS and cells and set(cells) <= set(CELLS), 21, "no line of orders")
            three = line(cells[0], cells[-1]) if kind == "beam" else None
            demand(cells == three[0] if three else len(cells) == 1 and kind != "beam", 21, "no line of orders")
        kinds = Counter(one[0] for one in said)
        demand(sorted((one[0] for one in said), key=KINDS.index) == [one[0] for one in said], 21, "out of order")
        dying = [one[1] for one in said if one[0] == "death"]
        right = len(dying) == len(set(dying)) and not set(dying) & (space.empty | space.destroyed)
        demand(right, 16, "no such cell to be launched")
        # What the ships that are left allow is known when they are revealed; until then only that none could do more.
        left = bases(self.options)[0][2] + additional(self.options, seat)[0]
        left -= sum(COSTS[name[:2]] for name in space.fallen)
        demand(kinds["strike"] <= min(left, most_of(self.options, seat, STRIKES)), 14, "too many")
        demand(kinds["beam"] <= min(left // 8, most_of(self.options, seat, {"DS": 1})), 17, "too many")
        demand(kinds["scan"] <= max(1, space.lost), 18, "too many scans")

    def tell(self, space: Space, seat: int, step: str, lines: Sequence[str]) -> None:
        """Enter the lines of answers or flashcube data, each of which is of what was asked."""
        asked = self.asked(seat) if step == "answers" else []
        flash = self.lit(seat) if step == "flash" or seat != self.committer else []
        said = [one.split() for one in lines if one not in {"over fleet", "over idle"}]
        starts = [*asked, *(f"flash {cell}" for cell, _ in flash)]
        demand([" ".join(one[:2]) for one in said] == starts, 21, "not what was asked")
        demand(all(ANSWER.fullmatch(" ".join(one)) for one in said), 22, "no answer")
        for kind, *rest in said[: len(asked)]:
            {"beam": space.strike, "strike": space.strike, "scan": space.scan, "death": space.death}[kind](rest)
        for (_, *rest), (_, death) in zip(said[len(asked) :], flash, strict=True):
            space.flash(rest, space.destroyed if self.moment(seat, death=death) else space.launched)

    def judge_fleet(self, space: Space, seat: int, lines: Sequence[str]) -> None:
        demand(is_fleet(self.options, seat, space.ships(), whole=False), 7, "no agreed fleet has these")
        over = [one for one in lines if one.startswith("over")]
        demand(len(over) <= 1 and over == list(lines)[len(lines) - len(over) :], 30, "over, and then more")
        if "flash" in self.plan[self.done][1]:
            demand(not over, 30, "flashcube data end no game")
            return
        gone = Counter(name[:2] for name in space.fallen)
        whole = is_fleet(self.options, seat, gone)
        demand(whole == (over == ["over fleet"]), 30, "a ship is left, or not")
        idle = all(one.startswith("scan") for one in self.opened[seat])
        demand(over != ["over idle"] or idle, 31, "not idle")

    def enter(self, seat: int, step: str, lines: Sequence[str]) -> None:
        space = self.spaces[seat]
        self.done += 1
        if step == "open":
            self.opened[seat] = lines
            space.hit([one.split()[1] for one in lines if one.startswith("death")])
            space.launched = set(space.destroyed)
        elif step != "commit":
            self.tell(space, seat, step, lines)
            self.over = self.over or any(one.startswith("over") for one in lines)
            told = [one for one in lines if not one.startswith("over")]
            self.flashed[seat] = [one for one in told if one.startswith("flash")]
            if step == "answers":
                self.answered[seat] = [one for one in told if not one.startswith("flash")]
        if self.done == len(self.plan) and self.done > 4:
            self.complete()

    def complete(self) -> None:
        self.played.append([*self.merged(self.first), *self.merged(3 - self.first)])
        for space in self.spaces.values():
            space.lost = len(space.destroyed - space.start)
        if self.over:
            self.result = rules.Result((1, 2), (0, 0))
            return
        self.committer = self.committer if self.done > 5 else 3 - self.committer
        self.turn += 1
        self.again()

    def merged(self, seat: int) -> Iterator[Report]:
        """The reports of a seat's actions: on the other's answers to them, and its own deaths."""
        answers = [one.split() for one in self.answered[3 - seat] if not one.startswith("death")]
        for kind, cell, result, *rest in answers:
            word = "duplicate hit" if result == "duplicate" else result
            cells, lost = taken(rest, "explodes")
            report: Report = {"seat": seat, "kind": kind, "cell": cell, "result": word}
            yield report | ({"explosions": cells} if cells else {}) | self.destruction(3 - seat, lost)
        for _, cell, *rest in (one.split() for one in self.answered[seat] if one.startswith("death")):
            yield {"seat": seat, "kind": "kamikaze death", "cell": cell} | self.destruction(seat, rest)

    def destruction(self, owner: int, said: Sequence[str]) -> Report:
        if not said:
            return {}
        name, cells = said[1], list(said[2:])
        told = {line[1]: line[2:] for line in map(str.split, self.flashed[3 - owner])}
        data: list[Report] = []
        for cell in cells:
            ship, *rest = told[cell]
            data.append({"cell": cell, "ship": None if ship == "none" else ship})
            data[-1] |= {} if ship == "none" else {"destroyed": bool(rest)}
        return {"destroyed": {"ship": name, "cells": cells}, "flashcube": data}


class Owner:
    """One seat of a sealed game with its secrets, beside the table as it was told."""

    def __init__(self, table: Table, seat: int, setup: str) -> None:
        self.table, self.seat = table, seat
        self.own = Player(ships_of(table.options, seat, setup))
        self.beams: list[tuple[Ship, Order]] = []
        self.idle = False
        self.before: set[str] = set()

    def lines(self, step: str, orders: str) -> tuple[str, ...]:
        if step == "open":
            if is_conditional(orders):
                able = partial(may, self.own, self.table.turn, ())
                chosen(orders, 41, lambda atom: holds(self.seat, atom, [], able))
                raise Refused(42, "no conditions here")
            return self.opened(self.own.judged(self.table.turn, orders))
        asked = self.table.asked(self.seat) if step == "answers" else []
        made = [" ".join([one, *self.answer(*one.split())]) for one in asked]
        if step == "flash" or self.seat != self.table.committer:
            made += [self.flash(cell, death=death) for cell, death in self.table.lit(self.seat)]
        if step == "answers" and not self.own.score():
            made.append("over fleet")
        elif step == "answers" and self.idle:
            made.append("over idle")
        return tuple(made)

    def opened(self, orders: Sequence[Order]) -> tuple[str, ...]:
        self.idle = self.own.helpless() and all(one[0] == "scan" for one in orders)
        self.beams = self.own.launch(orders)
        self.before = set(self.own.destroyed)
        beams = [line(order[1], order[2]) for _, order in self.beams]
        made = [f"beam {' '.join(three[0])}" for three in beams if three]
        made += [f"strike {one[-1]}" for one in orders if one[0] in ("strike", "missile", "kamikaze")]
        made += [f"scan {one[1]}" for one in orders if one[0] == "scan"]
        return (*made, *(f"death {one[1]}" for one in orders if one[0] == "kamikaze"))

    def answer(self, kind: str, cell: str) -> Iterator[str]:
        fallen = None
        if kind == "death":
            fallen = self.own.died(cell)
        elif kind == "scan":
            yield self.own.scanned(cell)
        else:
            result, exploded, fallen = self.own.struck(cell)
            yield result.split()[0]
            yield from ["explodes", *exploded] if exploded else []
        if fallen:
            yield from ["destroyed", fallen.name, *fallen.cells]

    def flash(self, cell: str, *, death: bool) -> str:
        ship = self.own.at(cell)
        state = self.own.destroyed if self.table.moment(self.seat, death=death) else self.before
        return f"flash {cell} {ship.name if ship else 'none'}{' destroyed' if ship and cell in state else ''}"

    def follow(self, _seat: int, _step: str) -> None:
        if self.table.done and not self.table.result:
            return
        told = [one for one in self.table.played[-1] if (one["kind"], one["seat"]) == ("beam", self.seat)]
        for (ship, _), at in zip(self.beams, range(0, len(told), 3), strict=True):
            ship.burnt = ship.burnt or told[at]["result"] == told[at + 2]["result"] == "hit"
        self.own.ends()

    def ruling(self, step: str, right: Sequence[str], told: Sequence[str]) -> int:
        if step == "open":
            return 21
        pairs = zip_longest(right, told, fillvalue="")
        one, other = next((ours.split(), theirs.split()) for ours, theirs in pairs if ours != theirs)
        if not one or not other or "over" in (one[0], other[0]):
            return 31
        if one[0] in {"scan", "death", "flash"}:
            return {"scan": 25, "death": 27, "flash": 28}[one[0]]
        if one[2:3] != other[2:3]:
            return 22
        return 23 if taken(one[3:], "explodes")[0] != taken(other[3:], "explodes")[0] else 27
