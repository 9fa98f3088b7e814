"""Battleship: each player hides five ships in a sea of ten by ten squares, and shoots at the other's.

This is a game by the interface of `pbem.games`: text in, new positions and reports out; no clock, no randomness, no
files. The rulings whose numbers the faults name are in `rules.txt`, among the templates.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import Fault, Game, Result, beyond, faults, refuse
from pbem.games.audience import Shown, audience, cut, everybody
from pbem.games.player_text import WORDS, Text, one_of, plain, read_options
from pbem.games.two_sides import TwoSides
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pbem.games import Report

INTERFACE = 1
"""The number of the interface for which this is written."""

ROWS: Final = "ABCDEFGHIJ"
COLUMNS: Final = tuple(map(str, range(1, 11)))
SQUARES: Final = {row + column: (ROWS.index(row), int(column)) for row in ROWS for column in COLUMNS}
"""The squares by name, with the place of each: A1 to A10 is the top row."""
FLEET: Final = {"carrier": 5, "battleship": 4, "cruiser": 3, "submarine": 3, "destroyer": 2}
"""The ships, and the number of squares of each."""
SHIPS: Final = {
    "carrier": Phrase("carrier"),
    "battleship": Phrase("battleship"),
    "cruiser": Phrase("cruiser"),
    "submarine": Phrase("submarine"),
    "destroyer": Phrase("destroyer"),
}
"""The names of the ships as letters say them: they may be translated."""

SHOWN: Shown = {"shot": everybody("seat", "kind", "square", "result", "sunk")}
"""The readers of each field of a report: all of it is called across the table. Secrets are only in the setups."""


class Options(NamedTuple):
    """The options on which the players agreed."""

    shots: int = 1
    """The number of shots in a turn."""
    turns: str = "alternate"
    """`alternate`: one player shoots in a turn; `together`: both do, without knowing where the other does."""
    seats: int = 2

    @property
    def changed(self) -> Mapping[str, object]:
        """The options that differ from the default."""
        return {key: value for key, value in self._asdict().items() if value != self._field_defaults[key]}

    @property
    def most_turns(self) -> int:
        """The number of turns after which each square has been shot at."""
        return -(-len(SQUARES) // self.shots) * (1 if self.turns == "together" else 2)


class Fleet(NamedTuple):
    """A setup: ship by ship, the squares that it takes."""

    text: str
    ships: Mapping[str, tuple[str, ...]]


class Shots(NamedTuple):
    """The orders of a turn."""

    text: str
    squares: tuple[str, ...]


class Side(NamedTuple):
    """The side of one player: ships, the squares where they were shot at, and those at which the player shot."""

    ships: Mapping[str, tuple[str, ...]] = {}
    struck: frozenset[str] = frozenset()
    fired: frozenset[str] = frozenset()

    @property
    def score(self) -> int:
        """The number of squares of ships that are not hit."""
        return len({*chain(*self.ships.values())} - self.struck)

    def answers(self, squares: Iterable[str]) -> Iterator[dict[str, str]]:
        """The calls of this sea's owner to these shots, one after the other."""
        struck = set(self.struck)
        for square in squares:
            struck.add(square)
            ship = next((name for name, cells in self.ships.items() if square in cells), None)
            if ship is None:
                yield {"square": square, "result": "miss"}
            elif struck.issuperset(self.ships[ship]):
                yield {"square": square, "result": "hit", "sunk": ship}
            else:
                yield {"square": square, "result": "hit"}


class State(TwoSides[Options, Side]):
    """A position. It never changes: a turn makes a new one."""

    @property
    def due(self) -> Mapping[int, None]:
        """The seats that shoot in this turn."""
        return {} if self.result else dict.fromkeys(shooters(self.options, self.turn))

    def shots(self, seat: int) -> int:
        """The number of shots that a seat has in a turn: fewer, once it has shot at nearly all squares."""
        return min(self.options.shots, len(SQUARES) - len(self.sides[seat - 1].fired))


def shooters(options: Options, turn: int) -> tuple[int, ...]:
    """The seats that shoot in a turn."""
    return (1, 2) if options.turns == "together" else (2 - turn % 2,)


class Battleship(Game[Options, Fleet, Shots, State]):
    """The rules."""

    name = "battleship"
    title = "Battleship"
    editions = (1,)
    """The editions of the rulings. One never changes: later rulings make a new one."""
    seats = (2,)
    empty_orders = False
    """No seat may order nothing at all: a game in which nobody shoots would not end."""

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        """The options of a proposal."""
        readers = {
            "shots": one_of(range(1, 10), Phrase("a number from 1 to 9")),
            "turns": one_of(("alternate", "together"), Phrase("`alternate` or `together`")),
        }
        agreed, found = read_options(raw, readers, seats, self.seats, Phrase("Battleship is for two"))
        refuse(found)
        return Options(**agreed)

    def setup(self, options: Options, seat: int, text: str) -> Fleet:
        """The fleet of a seat: each ship with the squares of its two ends, such as `carrier A1 A5`."""
        del options, seat  # alike for all
        written = Text(text)
        ships: dict[str, tuple[str, ...]] = {}
        words = [*WORDS.finditer(text)]
        for at in range(0, len(words), 3):
            name, *ends = (word[0].upper() for word in words[at : at + 3])
            name, token, place = name.lower(), " ".join(word[0] for word in words[at : at + 3]), words[at].start()
            if name not in FLEET or name in ships or len(ends) < 2:
                written.blame("1", token, Phrase("say each ship once, with its two ends: `carrier A1 A5`"), place)
                break  # what follows would be misread
            cells = line(*ends)
            if len(cells) != FLEET[name]:
                says = Phrase("{ship} takes {number} squares in a line", ship=SHIPS[name], number=FLEET[name])
                written.blame("2", token, says, place)
            elif other := next((one for one, taken in ships.items() if {*taken} & {*cells}), None):
                says = Phrase("{ship} lies across {other}", ship=SHIPS[name], other=SHIPS[other])
                written.blame("3", token, says, place)
            ships[name] = cells
        else:
            for name in (name for name in FLEET if name not in ships):
                written.blame("1", None, Phrase("{ship} is missing", ship=SHIPS[name]))
        written.refuse_faults()
        fleet = {name: ships[name] for name in FLEET}
        return Fleet("\n".join(f"{name} {cells[0]} {cells[-1]}" for name, cells in fleet.items()), fleet)

    def begin(self, options: Options, setups: Sequence[Fleet]) -> State:
        """The position before the first turn."""
        one, two = setups
        return State(options, 1, (Side(one.ships), Side(two.ships)))

    def order(self, state: State, seat: int, text: str) -> Shots:
        """The shots of a seat, such as `B7 C3`."""
        return read_shots(text, state.sides[seat - 1].fired, state.shots(seat))

    def turn(self, state: State, orders: Mapping[int, Shots]) -> tuple[State, list[Report]]:
        """Resolve a turn: all shots hit ships as they were at its start, those that sink in it too."""
        sides, reports = list(state.sides), []
        for seat, shots in sorted(orders.items()):
            own, other = sides[seat - 1], sides[2 - seat]
            reports += [{"seat": seat, "kind": "shot", **answer} for answer in other.answers(shots.squares)]
            sides[seat - 1] = own._replace(fired=own.fired.union(shots.squares))
            sides[2 - seat] = other._replace(struck=other.struck.union(shots.squares))
        one, two = sides
        result = None if one.score and two.score else Result.of((one.score, two.score))
        return State(state.options, state.turn + (result is None), (one, two), result), reports

    def show(self, report: Report, seat: int | None) -> Report | None:
        """The part of a report that a seat, or the public, may read."""
        return cut(report, SHOWN, audience(report.get("seat"), seat, range(1, 3)))


def line(one: str, other: str) -> tuple[str, ...]:
    """The squares from one to another in a row or column, from left to right or from the top down; else none."""
    if one not in SQUARES or other not in SQUARES:
        return ()
    (row, column), (last, end) = sorted((SQUARES[one], SQUARES[other]))
    if row != last and column != end:
        return ()
    return tuple(ROWS[at] + str(to) for at in range(row, last + 1) for to in range(column, end + 1))


def read_shots(text: str, fired: frozenset[str], number: int | None) -> Shots:
    """Shots at squares that were not shot at before, so many of them if a number is given; raises `Refused`."""
    written, squares = Text(text), []
    for word in WORDS.finditer(text):
        square = word[0].upper()
        if square not in SQUARES:
            written.blame(
                "4", word[0], Phrase("`{word}` is no square: they are A1 to J10", word=word[0][:20]), word.start()
            )
        elif square in fired or square in squares:
            written.blame("5", word[0], Phrase("you have shot at {square} already", square=square), word.start())
        squares.append(square)
    if number is not None and len(squares) != number:
        written.blame(
            "4", None, Phrase("shots that are due: {number}; here are {count}", number=number, count=len(squares))
        )
    written.refuse_faults()
    return Shots(" ".join(squares), tuple(squares))


RULES: Final = Battleship()


def ahead(state: State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
    """The faults of orders for a later turn, whatever happens until then."""
    found = faults(read_shots, text, frozenset(), None) + beyond(state.options.most_turns, turn, "6")
    if turn and seat not in shooters(state.options, turn):
        found += (Fault("4", f"turn {turn}", Phrase("that turn is not yours")),)
    return found


def slips(text: str) -> str:
    """The orders that were probably meant: the player is asked."""
    return plain(text).replace("-", " ")
