"""The conventional notation: text of setups and orders to what they mean, and back to canonical text.

Here live the words of the notation and the faults in them. What a player may do in a turn comes in as an
`Entitled`. Implements rulings 10-12, 19 and 35-39 of Spaceships, rules/spaceships.md "Conventional notation".

Canonical orders are in the order written, with one blank between them: `Gx3`, `bGx1Gx3`, `sYw3`, `m2 Ox4` (the
part as the player gave it), `kRv1 Gx3`. A beam names its ship, `bGx1Gx3(DS2)`, only where it must.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import Fault, Refused
from pbem.games.slips import plain
from pbem.games.spaceships.fleet import Setup, is_agreed, setup_of
from pbem.games.spaceships.ships import TYPES, Ship, fits
from pbem.games.spaceships.space import CELLS, LINES, PARTS, box
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pbem.games.spaceships.fleet import Options

_CELL: Final = "[ROYGB][v-z][1-5]"
_END: Final = r"(?=[\s,;]|\Z)"
_WORD: Final = r"[^\s,;]+"

_COMMENT: Final = re.compile(r"#[^\n\r]*")
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_WORDS: Final = re.compile(_WORD)

# Possessive white space (\s*+): a letter full of blanks costs its length, not the square of it.
_ORDER: Final = re.compile(
    rf"{_CELL}{_END}"
    rf"|s\s*+{_CELL}{_END}"
    rf"|b\s*+{_CELL}(?:\s*+-)?+\s*+{_CELL}(?:\s*+\([A-Z]{{2}}[0-9]{{0,3}}\))?{_END}"
    rf"|m\s*+[ROYGB]?[v-z]?[1-5]?\s*+{_CELL}{_END}"
    rf"|k\s*+{_CELL}\s*+{_CELL}{_END}"
    rf"|{_WORD}"
)
"""Where each order begins and ends, in one go; what is no order is found as a word."""
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
_CASED: Final = re.compile(r"([roygb]?)([v-z]?)", re.I)


def meant(text: str) -> str:
    """What a text was probably meant to say: plain dashes, and each word in the capitals of the notation."""
    return _WORDS.sub(_word_meant, plain(text))


def _word_meant(written: re.Match[str]) -> str:
    word = written[0]
    if _RIGHT.fullmatch(word):
        return word
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
    """Whether a word is the name of a ship that a fleet could have (ruling 6)."""
    return _SHIP_WORD.fullmatch(word) is not None


def _without_comments(text: str) -> str:
    return _COMMENT.sub("", text) if "#" in text else text


Placed = tuple[int, Fault]
"""A fault and where it stands in the text; what is missing stands behind everything."""


class Text:
    """What a player wrote, without comments; knows the line of each place."""

    def __init__(self, text: str) -> None:
        self.text = _without_comments(text)
        self._line_ends: list[int] | None = None

    def fault(self, rule: str, token: str | None, message: Phrase, at: int | None = None) -> Placed:
        """A fault at a place of the text, or at its end."""
        if at is None:
            return len(self.text) + 1, Fault(rule, token, message)
        if self._line_ends is None:
            self._line_ends = [end.end() for end in _LINE_END.finditer(self.text)]
        return at, Fault(rule, token, message, bisect_right(self._line_ends, at) + 1)


def _refuse(faults: list[Placed]) -> Refused:
    """All faults, the first written first."""
    return Refused(*(fault for _, fault in sorted(faults, key=lambda placed: placed[0])))


# Setups


class _Named:
    """A ship as a text names it."""

    def __init__(self, token: str, code: str, number: int | None, at: int, *, broken: bool = False) -> None:
        self.token = token
        self.code = code
        self.number = number
        self.at = at
        self.mask = 0
        self.broken = broken
        """Whether something in its cells could not be read, so that its shape says nothing."""


class _Draft:
    """The readable parts of a setup's text."""

    def __init__(self) -> None:
        self.ships: list[_Named] = []
        self.faults: list[Placed] = []
        self.whole = True
        """Whether every ship could be read, so that the fleet can be judged."""


def read_setup(options: Options, seat: int, text: str) -> Setup:
    """Judge a setup in either form; raises `Refused` with all faults."""
    read = Text(text)
    draft = _read_grids(read) if _is_grids(read) else _read_list(read)
    faults = draft.faults
    faults.extend(_numbering(read, draft.ships))
    faults.extend(_shapes(read, draft.ships))
    if draft.whole and not is_agreed(options, seat, [ship.code for ship in draft.ships]):
        faults.append(_not_agreed(read, options, seat, draft.ships))
    if faults:
        raise _refuse(faults)
    return setup_of(tuple(_in_fleet_order(draft.ships)))


def _is_grids(read: Text) -> bool:
    words = _WORDS.findall(read.text)
    return (_EMPTY in words or len(words) == len(CELLS)) and not any(map(_CELL_WORD.fullmatch, words))


def _read_list(read: Text) -> _Draft:
    draft = _Draft()
    taken = 0
    ship: _Named | None = None
    for found in _SETUP.finditer(read.text):
        code, number, first, last, unknown = found.groups()
        token, at = found[0], found.start()
        if code:
            ship = _Named(token, code, int(number) if number else None, at)
            draft.ships.append(ship)
        elif unknown and _LIKE_A_SHIP.fullmatch(unknown):
            draft.faults.append(read.fault("10", token, Phrase("no ship is called `{token}`", token=token), at))
            draft.whole = False
            ship = _Named(token, "", None, at, broken=True)
        elif unknown:
            draft.faults.append(
                read.fault("10", token, Phrase("`{token}` is neither a ship nor a cell", token=token), at)
            )
            if ship:
                ship.broken = True
        elif ship is None:
            draft.faults.append(
                read.fault("10", token, Phrase("{token} comes before the first ship", token=token), at)
            )
            ship = _Named(token, "", None, at, broken=True)
        else:
            cells = box(first, last) if last else 1 << CELLS[first]
            if cells & taken:
                draft.faults.append(
                    read.fault("10", token, Phrase("{token}: a cell is named twice", token=token), at)
                )
            taken |= cells
            ship.mask |= cells
    return draft


def _read_grids(read: Text) -> _Draft:
    draft = _Draft()
    ships: dict[str, _Named] = {}
    cell = 0
    rows = 0
    for line in re.finditer(r"[^\n\r]+", read.text):
        words = list(_WORDS.finditer(read.text, *line.span()))
        rows += len(words) // 5
        if len(words) % 5:
            row = line[0].strip()
            draft.faults.append(read.fault("12", row, Phrase("a row of a grid has five words"), line.start()))
            draft.whole = False
        for word in words:
            _put(read, draft, ships, word, 1 << cell if cell < len(CELLS) else 0)
            cell += 1
    draft.ships.extend(ships.values())
    if draft.whole and rows != 25:
        draft.faults.append(read.fault("12", None, Phrase("five grids have 25 rows, not {rows}", rows=rows)))
        draft.whole = False
    if not draft.whole:  # cells cannot be trusted when rows are not what they should be
        for ship in draft.ships:
            ship.broken = True
    return draft


def _put(read: Text, draft: _Draft, ships: dict[str, _Named], word: re.Match[str], cell: int) -> None:
    token, at = word[0], word.start()
    found = _SHIP_WORD.fullmatch(token)
    if found:
        number = int(found[2]) if found[2] else None
        ships.setdefault(token, _Named(token, found[1], number, at)).mask |= cell
    elif token != _EMPTY:
        draft.faults.append(read.fault("12", token, Phrase("`{token}` is neither `.` nor a ship", token=token), at))
        draft.whole = False


def _numbering(read: Text, ships: list[_Named]) -> Iterator[Placed]:
    """Ruling 6: 1, 2, ... when there are several of a type."""
    several = Counter(ship.code for ship in ships)
    seen = set()
    for ship in ships:
        code, number, most = ship.code, ship.number, several[ship.code]
        if number is None and most > 1:
            yield read.fault(
                "6",
                ship.token,
                Phrase("there are {most} {code}: number them from {code}1", most=most, code=code),
                ship.at,
            )
        elif number is not None and number > most:
            yield read.fault(
                "6",
                ship.token,
                Phrase("{token}: the numbers of {code} go up to {most}", token=ship.token, code=code, most=most),
                ship.at,
            )
        elif number is not None and (code, number) in seen:
            yield read.fault("6", ship.token, Phrase("there are two {token}", token=ship.token), ship.at)
        seen.add((code, number))


def _shapes(read: Text, ships: list[_Named]) -> Iterator[Placed]:
    for ship in ships:
        if ship.broken or fits(ship.code, ship.mask):
            continue
        kind, count = TYPES[ship.code], ship.mask.bit_count()
        if count != kind.size:
            message = Phrase(
                "{token} has {count} cells; a {kind} has {size}",
                token=ship.token,
                count=count,
                kind=kind.title,
                size=kind.size,
            )
        else:
            message = Phrase(
                "the cells of {token} do not have the shape of a {kind}", token=ship.token, kind=kind.title
            )
        yield read.fault("5" if ship.code == "DS" and count == kind.size else "4", ship.token, message, ship.at)


def _not_agreed(read: Text, options: Options, seat: int, ships: list[_Named]) -> Placed:
    free = options.unrestricted
    if options != free and is_agreed(free, seat, [ship.code for ship in ships]):
        return read.fault("9", None, Phrase("there are more ships of a type than agreed"))
    extra = options.additional[seat - 1]
    base = Phrase("the standard fleet")
    if options.cost is not None:
        base = Phrase("a fleet of cost {cost}", cost=options.cost)
    total = sum(TYPES[ship.code].cost for ship in ships)
    if extra:
        message = Phrase(
            "these ships cost {total}; they are not {base} and additional ships of cost {extra}",
            total=total,
            base=base,
            extra=extra,
        )
        return read.fault("8", None, message)
    return read.fault("7", None, Phrase("these ships cost {total}; they are not {base}", total=total, base=base))


def _in_fleet_order(ships: list[_Named]) -> Iterator[Ship]:
    several = Counter(ship.code for ship in ships)
    order = list(TYPES)
    for ship in sorted(ships, key=lambda ship: (order.index(ship.code), ship.number or 0)):
        number = ship.number if several[ship.code] > 1 else ""
        yield Ship(f"{ship.code}{number}", ship.code, ship.mask)


# Orders

WRITING: Final = frozenset({"3", "36"})
"""The rulings that no position can make good: no line of three cells, no order at all."""


class Entitled(NamedTuple):
    """What a player is entitled to in a turn (rulings 14-18)."""

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


def read_orders(setup: Setup, entitled: Entitled, text: str) -> Orders:
    """Judge the orders of one turn; raises `Refused` with all faults."""
    return _Reading(setup, entitled, text).orders()


def unused(entitled: Entitled, orders: Orders) -> tuple[Phrase, ...]:
    """What a player was entitled to this turn and did not order: unlike a missile, it is lost."""
    struck = len(orders.strikes) - orders.fired.bit_count() - len(orders.launches)
    left = (
        (entitled.conventional - struck, Phrase("conventional strike"), Phrase("conventional strikes")),
        (len(entitled.beams) - len(orders.beams), Phrase("beam"), Phrase("beams")),
        (entitled.scans - len(orders.scans), Phrase("scan"), Phrase("scans")),
    )
    return tuple(
        Phrase("{count} {what}", count=count, what=one if count == 1 else several)
        for count, one, several in left
        if count
    )


class _Reading:
    """The reading of one text of orders: what is claimed so far, and the faults found."""

    __slots__ = (
        "beams",
        "burning",
        "entitled",
        "faults",
        "fired",
        "firing",
        "launches",
        "launching",
        "scans",
        "setup",
        "strikes",
        "text",
        "words",
    )

    def __init__(self, setup: Setup, entitled: Entitled, text: str) -> None:
        self.setup = setup
        self.entitled = entitled
        self.text = text
        self.words: list[str] = _ORDER.findall(_without_comments(text))
        """The orders, as written until they are read, then in canonical text."""
        self.faults: list[tuple[int, str, Phrase]] = []
        """By the place of an order among all, with the rule that it breaks."""
        self.beams: list[tuple[tuple[int, int, int], int]] = []
        self.strikes: list[int] = []
        self.scans: list[int] = []
        self.launches: list[int] = []
        self.fired = 0
        # The ships whose beam, missile and kamikaze are claimed, as bits by their place in the fleet.
        self.burning = self.firing = self.launching = 0

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
                    self._blame(place, "36", Phrase("`{word}` is not an order", word=word))
        if conventional > allowed.conventional:
            places = [place for place, word in enumerate(words) if word in CELLS]
            self._blame(places[allowed.conventional], "14", _strikes(allowed.conventional))
        if len(scans) > allowed.scans:
            places = [place for place, word in enumerate(words) if word in _SCANS]
            self._blame(places[allowed.scans], "18", _scans(allowed.scans))
        if self.faults:
            raise self._refusal()
        text = " ".join(words)
        return Orders(text, tuple(self.beams), tuple(strikes), tuple(self.scans), tuple(self.launches), self.fired)

    def _blame(self, place: int, rule: str, message: Phrase) -> None:
        self.faults.append((place, rule, message))

    def _refusal(self) -> Refused:
        """All faults where the player wrote them."""
        read = Text(self.text)
        written = list(_ORDER.finditer(read.text))
        return _refuse(
            [
                read.fault(rule, written[place][0], message, written[place].start())
                for place, rule, message in self.faults
            ]
        )

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
        if not part:
            self._blame(
                place,
                "37",
                Phrase("which missile? Name at least one of its letters and digits, even if only one is left"),
            )
        elif not matching:
            self._blame(place, "37", Phrase("you have no unfired missile at {part}", part=part))
        elif matching & (matching - 1):
            self._blame(
                place,
                "37",
                Phrase("{count} of your unfired missiles match {part}", count=matching.bit_count(), part=part),
            )
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
            self._blame(
                place,
                "3",
                Phrase("{first} and {last} are not the ends of a line of three cells", first=first, last=last),
            )
            return word
        targets, direction = line
        able = [ship for ship, directions in self.entitled.beams if directions >> direction & 1]
        needed = len(able) > 1
        if name:
            able = [ship for ship in able if self._is_called(ship, name)]
        if len(able) != 1:
            self._blame(place, *_why_no_beam(able, name))
            return word
        ship = able[0]
        if self.burning >> ship & 1:
            self._blame(place, "19", Phrase("{name} fires its beam only once a turn", name=self._name(ship)))
        self.burning |= 1 << ship
        self.beams.append((targets, ship))
        return f"b{first}{last}({self._name(ship)})" if needed else f"b{first}{last}"

    def _is_called(self, ship: int, name: str) -> bool:
        return name == self._name(ship) or (name == "DS1" and self._name(ship) == "DS")

    def _name(self, ship: int) -> str:
        return self.setup.ships[ship].name


_READERS: Final[Mapping[str, Callable[[_Reading, int, str], str | None]]] = {
    "s": _Reading.scan,
    "b": _Reading.beam,
    "m": _Reading.missile,
    "k": _Reading.kamikaze,
}
"""By the letter that an order begins with, what reads it."""


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
    return (
        Phrase("that is one too many: you have one scan this turn")
        if number == 1
        else Phrase("that is one too many: you have {number} scans this turn", number=number)
    )
