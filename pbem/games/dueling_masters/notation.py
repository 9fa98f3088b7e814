"""Text of setups and orders to what they mean, and back to canonical text; the agreed options.

Here live the words of the notation and the faults in them. Where a piece stands comes in as a `Side`. Implements
rulings 1-11, 25 and 34-37 of Dueling Masters, rules/dueling-masters.md "Setup notation" and "Options".

Canonical setups are in kinds alone, one a line, asteroids in the order of squares; canonical orders are `Z2 A1-C3`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import Fault, Refused, refuse
from pbem.games.dueling_masters.board import (
    ASTEROID,
    ASTEROIDS,
    FIRST_HOME,
    HALVES,
    HOME,
    NAMES,
    PATHS,
    RANK,
    SQUARES,
    destinations,
    names,
    pieces,
)
from pbem.games.player_text import WORDS, Readers, Text, one_of, plain, read_options, without_comments
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SEATS: Final = 2
MAX_TURNS: Final = 400
_MOST_TURNS: Final = 9999  # turns of two who can but pass are played at once: somewhere there is an end

# Options


class Options(NamedTuple):
    """The agreed options of one game."""

    homes: int = 1
    mobile_home: bool = False
    max_turns: int = MAX_TURNS

    @property
    def seats(self) -> int:
        """Always two."""
        return SEATS

    @property
    def changed(self) -> dict[str, object]:
        """Only the options agreed otherwise than default, in the record's order, as TOML values."""
        return {name: value for name, value in self._asdict().items() if value != self._field_defaults[name]}

    @property
    def pieces(self) -> tuple[str, ...]:
        """The names of one side's pieces but the asteroids, by slot."""
        return pieces(self.homes)


def options(raw: Mapping[str, object], seats: int) -> Options:
    """Judge agreed options; raises `Refused` with all faults, each named by its option."""
    agreed, faults = read_options(raw, _READERS, seats, (SEATS,), Phrase("Dueling Masters is a game for two"))
    refuse(faults)
    return Options(**agreed)


_READERS: Final[Readers] = {
    "homes": one_of((1, 3), Phrase("1 or 3")),
    "mobile_home": one_of((True, False), Phrase("true or false")),
    "max_turns": one_of(range(1, _MOST_TURNS + 1), Phrase("a whole number from 1 to {most}", most=_MOST_TURNS)),
}

# Setups


class Setup(NamedTuple):
    """One seat's judged setup: the mask of its asteroids, and the square of each piece by slot."""

    text: str
    asteroids: int
    squares: tuple[int, ...]


DESTROYED: Final = -1


class Side(NamedTuple):
    """One player's pieces at the start of a turn, by slot but for the asteroids."""

    setup: Setup
    asteroids: int
    squares: tuple[int, ...]
    """The square on which a piece rests or, in transit, its destination; -1 when it is destroyed."""
    starts: tuple[int, ...]
    """The square from which a piece in transit departed; -1 when it rests or is destroyed."""

    @property
    def homes(self) -> int:
        """The squares of the home planets left, as a mask."""
        found = 0
        for square in self.squares[FIRST_HOME:]:
            if square != DESTROYED:
                found |= 1 << square
        return found

    @property
    def score(self) -> int:
        """Home planets left."""
        homes = self.squares[FIRST_HOME:]
        return len(homes) - homes.count(DESTROYED)

    def destinations(self, options: Options, slot: int) -> int:
        """The legal destinations of a piece, rams included."""
        square = self.squares[slot]
        if square < 0 or (slot >= FIRST_HOME and not options.mobile_home):
            return 0
        return destinations(options.pieces[slot][0], square, self.asteroids, self.homes)

    def can_move(self, options: Options) -> bool:
        """True if there is any legal move."""
        return any(self.destinations(options, slot) for slot in range(len(self.squares)))


_NUMBERED: Final = re.compile(rf"([{RANK}])([1-9][0-9]{{0,2}})")
_KINDS: Final = frozenset(ASTEROID + RANK)


def read_setup(options: Options, seat: int, text: str) -> Setup:
    """Judge a setup; raises `Refused` with all faults."""
    return _Reading(options, seat, text).setup()


class _Reading:
    """The reading of one setup: what is placed so far, and the faults found."""

    __slots__ = ("asteroids", "names", "placed", "read", "seat", "slots", "squares", "taken")

    def __init__(self, agreed: Options, seat: int, text: str) -> None:
        self.read = Text(without_comments(text))
        self.seat = seat
        self.names = agreed.pieces
        self.slots = _slots(self.names)
        self.placed: set[str] = set()
        self.squares = [-1] * len(self.names)
        self.asteroids = 0
        # Squares taken: by anything, and by what stands alone.
        self.taken = [0, 0]

    def setup(self) -> Setup:
        piece = ""
        left: list[int] | None = None  # slots that wait for a square; None when it does not matter any more
        whole = True
        for found in WORDS.finditer(self.read.text):
            word, at = found[0], found.start()
            if word in _KINDS or (word in self.slots and not WORDS.search(self.read.before(at))):
                piece, left = word, self._claim(word, at)
            elif word in SQUARES and piece:
                self._put(word, at, piece, left)
            elif word in SQUARES:
                self.read.blame("34", word, Phrase("{word} comes before the first piece", word=word), at)
            else:
                rule, message = "34", Phrase("`{word}` is neither a piece nor a square", word=word)
                if word in self.slots:
                    rule, message = "35", Phrase("{word} is read as a piece only at the start of a line", word=word)
                elif _NUMBERED.fullmatch(word):
                    rule, message = "36", Phrase("there is no piece {word}", word=word)
                self.read.blame(rule, word, message, at)
                piece, left, whole = word, None, False
        if whole and (count := self.asteroids.bit_count()) < ASTEROIDS:
            message = Phrase("place {asteroids} asteroids, not {count}", asteroids=ASTEROIDS, count=count)
            self.read.blame("2", None, message)
        for name, square in zip(self.names, self.squares, strict=True) if whole else ():
            if square < 0:
                self.read.blame("2", None, Phrase("{name} is not placed", name=name))
        self.read.refuse_faults()
        return setup_of(self.names, self.asteroids, tuple(self.squares))

    def _claim(self, word: str, at: int) -> list[int] | None:
        """The slots that a piece or kind asks squares for; None for what is there already."""
        slots = list(self.slots.get(word, ()))
        for slot in slots:
            if self.names[slot] in self.placed:
                self.read.blame("34", word, Phrase("{name} is placed twice", name=self.names[slot]), at)
                return None
        self.placed.update(self.names[slot] for slot in slots)
        return slots

    def _put(self, word: str, at: int, piece: str, left: list[int] | None) -> None:
        square = SQUARES[word]
        bit = 1 << square
        alone = piece[0] in (ASTEROID, HOME)
        if not bit & HALVES[self.seat - 1]:
            self.read.blame("2", word, Phrase("{word} is not in your half", word=word), at)
        elif bit & self.taken[0 if alone else 1]:
            self.read.blame("3", word, Phrase("{word}: asteroids and home planets must stand alone", word=word), at)
        self.taken[0] |= bit
        self.taken[1] |= bit if alone else 0
        if piece == ASTEROID:
            self.asteroids |= bit
            if self.asteroids.bit_count() == ASTEROIDS + 1:
                message = Phrase("{word}: there are only {asteroids} asteroids", word=word, asteroids=ASTEROIDS)
                self.read.blame("2", word, message, at)
        elif left:
            self.squares[left.pop(0)] = square
        elif left is not None:
            self.read.blame(
                "2", word, Phrase("{word} is one square too many for {piece}", word=word, piece=piece), at
            )


def _slots(names_: tuple[str, ...]) -> dict[str, list[int]]:
    """The slots of each kind and of each piece; a lone piece has its number 1, too."""
    slots: dict[str, list[int]] = {}
    for slot, name in enumerate(names_):
        slots.setdefault(name[0], []).append(slot)
    for slot, name in enumerate(names_):
        slots[name if len(name) > 1 else name + "1"] = [slot]
    return slots


def setup_of(names_: tuple[str, ...], asteroids: int, squares: tuple[int, ...]) -> Setup:
    """The setup with its canonical text."""
    lines = [" ".join((ASTEROID, *names(asteroids)))]
    kind = ""
    for name, square in zip(names_, squares, strict=True):
        if name[0] == kind:
            lines[-1] += f" {NAMES[square]}"
        else:
            kind = name[0]
            lines.append(f"{kind} {NAMES[square]}")
    return Setup("\n".join(lines), asteroids, squares)


# Orders

FORM: Final = frozenset({"8", "36", "37"})
"""The rulings about the form of an order, of which no other fault is found beside."""

WRITING: Final = frozenset({"4", "8", "36", "37"})
"""The rulings that no position can make good: no order, no piece, or no such way for it to move."""


class Orders(NamedTuple):
    """One seat's judged order: the slot of the piece and its destination, both -1 for a pass."""

    text: str
    slot: int = -1
    to: int = -1


PASS: Final = Orders("")


_ORDER: Final = re.compile(r"([^\s,;]+)[\s,;]+([A-J](?:10|[1-9]))[\s,;]*-[\s,;]*([A-J](?:10|[1-9]))")
_NEARLY: Final = re.compile(r"\s*+([A-Z][1-9]?):?\s++([A-J](?:10|[1-9]))(?:\s*+-)?+\s*+([A-J](?:10|[1-9]))\s*+")
_WRITTEN: Final = re.compile(r"[^\s,;](?:.*[^\s,;])?", re.S)  # all between the blanks around it
_SLOTS: Final = {homes: {word: slots[0] for word, slots in _slots(pieces(homes)).items()} for homes in (1, 3)}


def read_orders(agreed: Options, side: Side, text: str) -> Orders:
    """Judge the order of one turn; raises `Refused` with all faults."""
    order = "".join(_WRITTEN.findall(without_comments(text, " ")))
    if not order:
        if side.can_move(agreed):
            raise Refused(Fault("25", None, Phrase("a player with a legal move may not pass")))
        return PASS
    found = _ORDER.fullmatch(order)
    if not found:
        if len(WORDS.findall(order)) > 2 and _ORDER.match(order):
            raise Refused(Fault("8", order, Phrase("a turn is one order")))
        message = Phrase("`{order}` is not an order; write for example Z2 A1-C3", order=order)
        raise Refused(Fault("37", order, message))
    word, start, end = found.groups()
    slot = slot_of(agreed, word)
    named = agreed.pieces
    if word == ASTEROID:
        raise Refused(Fault("4", order, Phrase("asteroids do not move")))
    if slot < 0:
        raise Refused(Fault("36", order, Phrase("there is no piece `{word}`", word=word)))
    refuse(Fault(rule, order, message) for rule, message in _faults(agreed, side, slot, start, end))
    return Orders(f"{named[slot]} {start}-{end}", slot, SQUARES[end])


def slot_of(agreed: Options, word: str) -> int:
    """The slot of a piece as orders name it; -1 if there is none."""
    slot = _SLOTS[agreed.homes].get(word, -1)
    return slot if slot < 0 or len(word) >= len(agreed.pieces[slot]) else -1


def meant(text: str) -> str:
    """The probable meaning of a setup or an order: capitals, and a plain dash between two squares."""
    written = plain(text).upper()
    found = _NEARLY.fullmatch(written)
    return f"{found[1]} {found[2]}-{found[3]}" if found else written


def _faults(agreed: Options, side: Side, slot: int, start: str, end: str) -> Iterator[tuple[str, Phrase]]:
    name = agreed.pieces[slot]
    stands = side.squares[slot]
    if stands < 0:
        yield "10", Phrase("{name} is destroyed", name=name)
        return
    if SQUARES[start] != stands:
        yield "9", Phrase("{name} does not stand on {square}", name=name, square=start)
    # Home planets move only if the options say so.
    if slot >= FIRST_HOME and not agreed.mobile_home:
        yield "4", Phrase("{name} does not move", name=name)
        return
    path = PATHS[name[0]].get((SQUARES[start], SQUARES[end]))
    if path is None:
        yield "4", Phrase("{name} does not move from {start} to {end}", name=name, start=start, end=end)
        return
    for square in path:
        if side.homes >> square & 1:
            yield "5", Phrase("{square}: no move passes over or ends on your own home planet", square=NAMES[square])
        if side.asteroids >> square & 1:
            if square != path[-1]:
                yield "6", Phrase("{square}: no move passes over your own asteroid", square=NAMES[square])
            elif slot >= FIRST_HOME:
                yield "32", Phrase("{square}: a home planet never rams", square=NAMES[square])
