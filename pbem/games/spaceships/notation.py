"""The conventional notation: the text of setups and orders to their meaning, and back to canonical text.

Here live the words of the notation and the faults in them. What a player may do in a turn comes in as an
`Entitled`. Implements rulings 10-12, 19 and 35-39 of Spaceships, rules/spaceships.md "Conventional notation".

Canonical orders are in the order written, with one blank between them: `Gx3`, `bGx1Gx3`, `sYw3`, `m2 Ox4` (the
part as the player gave it), `kRv1 Gx3`. A beam names its ship, `bGx1Gx3(DS2)`, only where it must. A target list is
replaced by the strikes for which it stands.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games.player_text import WORDS, Text, plain, without_comments
from pbem.games.spaceships.fleet import Setup, is_agreed, setup_of, why_not_agreed
from pbem.games.spaceships.ships import TYPES, Ship, fits
from pbem.games.spaceships.space import CELLS, LINES, PARTS, box, names
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.games.spaceships.fleet import Options

_CELL: Final = "[ROYGB][v-z][1-5]"
_END: Final = r"(?=[\s,;]|\Z)"
_WORD: Final = r"[^\s,;]+"

# Possessive white space (\s*+): a letter full of blanks costs its length, not the square of it.
_ORDER: Final = re.compile(
    rf"{_CELL}{_END}"
    rf"|s\s*+{_CELL}{_END}"
    rf"|b\s*+{_CELL}(?:\s*+-)?+\s*+{_CELL}(?:\s*+\([A-Z]{{2}}[0-9]{{0,3}}\))?{_END}"
    rf"|m\s*+[ROYGB]?[v-z]?[1-5]?\s*+{_CELL}{_END}"
    rf"|k\s*+{_CELL}\s*+{_CELL}{_END}"
    rf"|{_WORD}"
)
"""The whole of each order, in one go; any other text is found word by word."""
_BEAM: Final = re.compile(rf"b\s*+({_CELL})(?:\s*+-)?+\s*+({_CELL})(?:\s*+\(([A-Z]{{2}}[0-9]{{0,3}})\))?")

_SHIP: Final = rf"({'|'.join(TYPES)})([1-9][0-9]{{0,2}})?"
_SETUP: Final = re.compile(rf"{_SHIP}{_END}|({_CELL})(?:\s*+-\s*+({_CELL}))?{_END}|({_WORD})")
_SHIP_WORD: Final = re.compile(_SHIP)
_CELL_WORD: Final = re.compile(rf"{_CELL}(-.*)?")
_LIKE_A_SHIP: Final = re.compile(r"(?![A-Za-z][v-zV-Z][0-9])[A-Za-z]{2,}[0-9]*")
_EMPTY: Final = "."
_SCANS: Final = {"s" + name: cell for name, cell in CELLS.items()}


_PART: Final = rf"[ROYGB]?[v-z]?[1-5]?(?:{_CELL})?"
_AIMED: Final = rf"([sbk]?)({_CELL}(?:-?{_CELL})?)(\([A-Z]{{2}}[0-9]{{0,3}}\))?|(m?)({_PART})|([sbmk])"
_RIGHT: Final = re.compile(_AIMED)
_NEARLY: Final = re.compile(_AIMED, re.I)
_NEARLY_A_CELL: Final = re.compile(rf"[sbmk]?(?!{_CELL}\Z)[ROYGB][A-Za-z][0-9]{{1,3}}")
_CASED: Final = re.compile(r"([roygb]?)([v-z]?)", re.I)


def meant(text: str) -> str:
    """The probable meaning of a text: plain dashes, no colons, and each word in the capitals of the notation."""
    return WORDS.sub(_word_meant, plain(text).replace(":", " "))


def _word_meant(written: re.Match[str]) -> str:
    word = written[0]
    if _RIGHT.fullmatch(word):
        return word
    if word.lower() == NEXT:
        return NEXT
    if _SHIP_WORD.fullmatch(word.upper()):
        return word.upper()
    found = _NEARLY.fullmatch(word)
    if found is None:
        return word
    verb, cells, ship, missile, part, alone = (group or "" for group in found.groups())
    # The colour of a cell stands before its row: `YY1` can only be Yy1.
    cased = _CASED.sub(lambda cell: cell[1].upper() + cell[2].lower(), cells or part)
    return f"{verb or missile or alone}".lower() + cased + ship.upper()


def is_ship(word: str) -> bool:
    """True if a word is the name of a ship that a fleet could have (ruling 6)."""
    return _SHIP_WORD.fullmatch(word) is not None


# Setups


class _Named:
    """A ship as a text names it."""

    __slots__ = ("at", "broken", "code", "mask", "number", "token")

    def __init__(self, token: str, code: str, number: int | None, at: int) -> None:
        self.token, self.code, self.number, self.at = token, code, number, at
        self.mask = 0
        self.broken = False  # True if a cell was unreadable: then faults of its shape would mislead


def read_setup(options: Options, seat: int, text: str) -> Setup:
    """Judge a setup in either form; raises `Refused` with all faults."""
    read = Text(without_comments(text))
    words = WORDS.findall(read.text)
    is_grids = (_EMPTY in words or len(words) == len(CELLS)) and not any(map(_CELL_WORD.fullmatch, words))
    ships, whole = _read_grids(read) if is_grids else _read_list(read)
    several = Counter(ship.code for ship in ships)
    _judge_numbers(read, ships, several)
    _judge_shapes(read, ships)
    if whole and not is_agreed(options, seat, [ship.code for ship in ships]):
        read.blame(*why_not_agreed(options, seat, [ship.code for ship in ships]))
    read.refuse_faults()
    order = list(TYPES)
    ships.sort(key=lambda ship: (order.index(ship.code), ship.number or 0))
    numbers = (ship.number if several[ship.code] > 1 else "" for ship in ships)
    named = (Ship(f"{ship.code}{number}", ship.code, ship.mask) for ship, number in zip(ships, numbers, strict=True))
    return setup_of(tuple(named))


def _read_list(read: Text) -> tuple[list[_Named], bool]:
    """The ships of a list, and True if all were readable, so that the fleet can be judged."""
    ships: list[_Named] = []
    whole = True
    taken = 0
    ship: _Named | None = None
    for found in _SETUP.finditer(read.text):
        code, number, first, last, unknown = found.groups()
        token, at = found[0], found.start()
        if code:
            ship = _Named(token, code, int(number) if number else None, at)
            ships.append(ship)
        elif unknown and _LIKE_A_SHIP.fullmatch(unknown):
            read.blame("10", token, Phrase("no ship is called `{token}`", token=token), at)
            whole = False
            ship = _Named(token, "", None, at)
        elif unknown:
            read.blame("10", token, Phrase("`{token}` is neither a ship nor a cell", token=token), at)
            if ship:
                ship.broken = True
        elif ship is None:
            read.blame("10", token, Phrase("{token} comes before the first ship", token=token), at)
            ship = _Named(token, "", None, at)
        else:
            cells = box(first, last) if last else 1 << CELLS[first]
            if cells & taken:
                read.blame("10", token, Phrase("{token}: a cell is named twice", token=token), at)
            taken |= cells
            ship.mask |= cells
    return ships, whole


def _read_grids(read: Text) -> tuple[list[_Named], bool]:
    """The ships of grids, and True if all cells were readable."""
    ships: dict[str, _Named] = {}
    whole = True
    cell = 0
    rows = 0
    for at, line in read.lines():
        words = list(WORDS.finditer(read.text, at, at + len(line)))
        rows += len(words) // 5
        if len(words) % 5:
            read.blame("12", line, Phrase("a row of a grid has five words"), at)
            whole = False
        for word in words:
            token = word[0]
            if found := _SHIP_WORD.fullmatch(token):
                ship = _Named(token, found[1], int(found[2]) if found[2] else None, word.start())
                ships.setdefault(token, ship).mask |= 1 << cell if cell < len(CELLS) else 0
            elif token != _EMPTY:
                read.blame("12", token, Phrase("`{token}` is neither `.` nor a ship", token=token), word.start())
                whole = False
            cell += 1
    if whole and rows != 25:
        read.blame("12", None, Phrase("five grids have 25 rows, not {rows}", rows=rows))
        whole = False
    for ship in ships.values():  # a wrong row shifts the cells of ships
        ship.broken = not whole
    return list(ships.values()), whole


def _judge_numbers(read: Text, ships: list[_Named], several: Counter[str]) -> None:
    """Several ships of a type have the numbers 1, 2, ... (ruling 6)."""
    seen = set()
    for ship in ships:
        token, code, number, most = ship.token, ship.code, ship.number, several[ship.code]
        message = None
        if number is None and most > 1:
            message = Phrase("there are {most} {code}: number them from {code}1", most=most, code=code)
        elif number is not None and number > most:
            message = Phrase("{token}: the numbers of {code} go up to {most}", token=token, code=code, most=most)
        elif (code, number) in seen:
            message = Phrase("there are two {token}", token=token)
        if message:
            read.blame("6", token, message, ship.at)
        seen.add((code, number))


def _judge_shapes(read: Text, ships: list[_Named]) -> None:
    for ship in ships:
        if ship.broken or fits(ship.code, ship.mask):
            continue
        token, title, size = ship.token, TYPES[ship.code].title, TYPES[ship.code].size
        if (count := ship.mask.bit_count()) != size:
            message = Phrase(
                "{token} has {count} cells; a {kind} has {size}", token=token, count=count, kind=title, size=size
            )
            read.blame("4", token, message, ship.at)
        else:
            message = Phrase("the cells of {token} do not have the shape of a {kind}", token=token, kind=title)
            read.blame("5" if ship.code == "DS" else "4", token, message, ship.at)


# Orders

NEXT: Final = "next"
"""The word before a target list (ruling 40)."""

FORM: Final = "36"
"""The ruling that what is no order breaks."""

WRITING: Final = frozenset({"3", "36", "40"})
"""The rulings whose faults no later position can cure: no line of three cells, no order, no cell left in a list."""


class Entitled(NamedTuple):
    """A player's strikes, beams and scans in a turn (rulings 14-18)."""

    conventional: int
    missiles: int
    """Cells that can be launched as missiles."""
    kamikazes: int
    """Cells that can be launched as kamikazes."""
    beams: tuple[tuple[int, int], ...]
    """The place in the fleet of each death star with a beam, and its directions as bits 0..12."""
    scans: int


class Orders(NamedTuple):
    """One seat's judged orders of one turn."""

    text: str
    beams: tuple[tuple[tuple[int, int, int], int], ...]
    """Targets in order, and the death star's place in the fleet."""
    strikes: tuple[int, ...]
    """Targets of strikes of all kinds, in the order written."""
    scans: tuple[int, ...]
    launches: tuple[int, ...]
    """Launch cells of kamikazes, in the order written."""
    fired: int
    """Missiles launched."""


def read_orders(setup: Setup, entitled: Entitled, text: str, known: int | None) -> Orders:
    """Judge the orders of one turn; raises `Refused` with all faults.

    `known` are the cells of the other's space which their player knows to be empty or destroyed; None: this is not
    known here, and there can be no target list.
    """
    reading = _Reading(setup, entitled, text)
    if NEXT in reading.words:
        reading.choose(known)
    return reading.orders()


def has_target_list(text: str) -> bool:
    """True if orders have a target list, so that what they stand for depends on what is known by then."""
    return NEXT in WORDS.findall(without_comments(text))


class _Reading:
    """The reading of one text of orders: the ships claimed so far, and the faults."""

    def __init__(self, setup: Setup, entitled: Entitled, text: str) -> None:
        self.setup = setup
        self.entitled = entitled
        self.text = text
        self.words: list[str] = _ORDER.findall(without_comments(text))
        """The orders, as written until they are read, then in canonical text."""
        self.places: Sequence[int] = range(len(self.words))
        """The place of each in the text, where cells of a target list may stand between them."""
        self.faults: list[tuple[int, str, Phrase]] = []
        """The place of an order among all, the rule that it breaks, and a sentence."""
        self.beams: list[tuple[tuple[int, int, int], int]] = []
        self.strikes: list[int] = []
        self.scans: list[int] = []
        self.launches: list[int] = []
        self.fired = 0
        # The ships whose beam, missile and kamikaze are claimed, as bits by their place in the fleet.
        self.burning = self.firing = self.launching = 0

    def choose(self, known: int | None) -> None:
        """Put the strikes for which a target list stands in its place (ruling 40)."""
        words, at = self.words, self.words.index(NEXT)
        before = [word for word in words[:at] if word in CELLS]
        room = self.entitled.conventional - len(before)
        listed = [place for place, word in enumerate(words[at:], start=at) if word in CELLS]
        others = [word[-3:] for word in words if word[0] in "mk"]
        done = {*before, *others, *names(known or 0)}
        chosen = []
        for place in listed:
            if words[place] not in done:
                chosen.append(place)
                done.add(words[place])
        self._judge_list(at, known, listed, chosen, room)
        gone = {place for place, word in enumerate(words) if word == NEXT} | {*listed} - {*chosen[: max(room, 0)]}
        self.places = [place for place in range(len(words)) if place not in gone]
        self.words = [words[place] for place in self.places]

    def _judge_list(self, at: int, known: int | None, listed: list[int], chosen: list[int], room: int) -> None:
        """Judge a target list: all its cells, those of them that count, and the strikes that are left for it."""
        if known is None:
            self._blame(at, "40", Phrase("there can be no target list here"))
        elif self.words.count(NEXT) > 1:
            message = Phrase("there is one target list: write `next` once, and all its cells behind it")
            self._blame(self.words.index(NEXT, at + 1), "40", message)
        elif not listed:
            self._blame(at, "40", Phrase("the cells of the target list are missing behind `next`"))
        elif not chosen:
            self._blame(at, "40", Phrase("no cell of the target list is left: all are known, or struck already"))
        elif room <= 0:
            self._blame(at, "14", _strikes(self.entitled.conventional))

    def orders(self) -> Orders:
        words, strikes, scans, allowed = self.words, self.strikes, self.scans, self.entitled
        conventional = 0
        for place, word in enumerate(words):
            if word in CELLS:
                strikes.append(CELLS[word])
                conventional += 1
            elif word in _SCANS:
                scans.append(_SCANS[word])
            else:
                read = _READERS.get(word[0])
                canonical = read(self, place, word) if read else None
                if canonical:
                    words[place] = canonical
                else:
                    # A cell that there is not, if it looks like one.
                    there_is_not = Phrase(
                        "there is no cell `{word}`: the cells of a plane go from v1 to z5", word=word
                    )
                    other = Phrase("`{word}` is not an order", word=word)
                    self._blame(place, "36", there_is_not if _NEARLY_A_CELL.fullmatch(word) else other)
        if conventional > allowed.conventional:
            places = [place for place, word in enumerate(words) if word in CELLS]
            self._blame(places[allowed.conventional], "14", _strikes(allowed.conventional))
        if len(scans) > allowed.scans:
            places = [place for place, word in enumerate(words) if word in _SCANS]
            self._blame(places[allowed.scans], "18", _scans(allowed.scans))
        if self.faults:
            self._refuse()
        text = " ".join(words)
        return Orders(text, tuple(self.beams), tuple(strikes), tuple(self.scans), tuple(self.launches), self.fired)

    def _blame(self, place: int, rule: str, message: Phrase) -> None:
        self.faults.append((self.places[place], rule, message))

    def _refuse(self) -> None:
        """Raise `Refused` with all faults where the player wrote them."""
        read = Text(without_comments(self.text))
        written = list(_ORDER.finditer(read.text))
        for place, rule, message in self.faults:
            read.blame(rule, written[place][0], message, written[place].start())
        read.refuse_faults()

    # The other kinds of orders, and scans with a blank in them: the canonical text, or None for what is no order.

    def scan(self, _place: int, word: str) -> str | None:
        canonical = "s" + word[1:].lstrip()
        if canonical not in _SCANS:
            return None
        self.scans.append(_SCANS[canonical])
        return canonical

    def missile(self, place: int, word: str) -> str | None:
        part, cell = word[1:-3].strip(), word[-3:]
        fitting = PARTS.get(part, 0)
        if cell not in CELLS or (part and not fitting):
            return None
        self.strikes.append(CELLS[cell])
        matching = fitting & self.entitled.missiles
        if (count := matching.bit_count()) != 1:
            self._blame(place, "37", _why_no_missile(part, count))
        else:
            ship = self.setup.owner[matching.bit_length() - 1]
            if self.firing >> ship & 1:
                self._blame(place, "19", Phrase("{name} has only one missile strike a turn", name=self._name(ship)))
            self.firing |= 1 << ship
            self.fired |= matching
        return f"m{part} {cell}"

    def kamikaze(self, place: int, word: str) -> str | None:
        cell, target = word[1:-3].strip(), word[-3:]
        if cell not in CELLS or target not in CELLS:
            return None
        launch = CELLS[cell]
        self.strikes.append(CELLS[target])
        if self.entitled.kamikazes >> launch & 1:
            ship = self.setup.owner[launch]
            if self.launching >> ship & 1:
                self._blame(place, "19", Phrase("{name} has only one kamikaze strike a turn", name=self._name(ship)))
            self.launching |= 1 << ship
            self.launches.append(launch)
        else:
            self._blame(place, "16", self._why_no_kamikaze(cell, launch))
        return f"k{cell} {target}"

    def _why_no_kamikaze(self, cell: str, launch: int) -> Phrase:
        owner = self.setup.owner[launch]
        if owner < 0:
            return Phrase("you have no ship at {cell}", cell=cell)
        ship = self.setup.ships[owner]
        if ship.code in ("DS", "LS"):
            return Phrase("a {kind} never flies a kamikaze strike", kind=TYPES[ship.code].title)
        if self.entitled.kamikazes & ship.mask:
            return Phrase("{cell} is destroyed", cell=cell)
        return Phrase("{name} may not fly a kamikaze strike this turn", name=ship.name)

    def beam(self, place: int, word: str) -> str | None:
        found = _BEAM.fullmatch(word)
        if not found:
            return None
        first, last, name = found.groups()
        line = LINES.get(first + last)
        if line is None:
            ends = Phrase("{first} and {last} are not the ends of a line of three cells", first=first, last=last)
            self._blame(place, "3", ends)
            return word
        targets, direction = line
        able = [ship for ship, directions in self.entitled.beams if directions >> direction & 1]
        needed = len(able) > 1
        if name:
            called = {name, "DS"} if name == "DS1" else {name}
            able = [ship for ship in able if self._name(ship) in called]
        if len(able) != 1:
            self._blame(place, *_why_no_beam(able, name))
            return word
        ship = able[0]
        if self.burning >> ship & 1:
            self._blame(place, "19", Phrase("{name} fires its beam only once a turn", name=self._name(ship)))
        self.burning |= 1 << ship
        self.beams.append((targets, ship))
        return f"b{first}{last}({self._name(ship)})" if needed else f"b{first}{last}"

    def _name(self, ship: int) -> str:
        return self.setup.ships[ship].name


_READERS: Final[Mapping[str, Callable[[_Reading, int, str], str | None]]] = {
    "s": _Reading.scan,
    "b": _Reading.beam,
    "m": _Reading.missile,
    "k": _Reading.kamikaze,
}
"""The reader of an order by its first letter."""


def _why_no_missile(part: str, count: int) -> Phrase:
    if not part:
        return Phrase("which missile? Name at least one of its letters and digits, even if only one is left")
    if not count:
        return Phrase("you have no unfired missile at {part}", part=part)
    return Phrase("{count} of your unfired missiles match {part}", count=count, part=part)


def _why_no_beam(able: list[int], name: str | None) -> tuple[str, Phrase]:
    if able:
        return "38", Phrase("{count} of your death stars could fire along this line: name one", count=len(able))
    if name:
        return "38", Phrase("you have no {name} that can fire along this line", name=name)
    return "17", Phrase("you have no death star that can fire along this line")


def _strikes(number: int) -> Phrase:
    if not number:
        return Phrase("you have no conventional strike this turn")
    if number == 1:
        return Phrase("that is one too many: you have one conventional strike this turn")
    return Phrase("that is one too many: you have {number} conventional strikes this turn", number=number)


def _scans(number: int) -> Phrase:
    if not number:
        return Phrase("you have no scan this turn")
    if number == 1:
        return Phrase("that is one too many: you have one scan this turn")
    return Phrase("that is one too many: you have {number} scans this turn", number=number)
