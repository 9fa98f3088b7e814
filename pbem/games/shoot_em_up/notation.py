"""The notation: text of setups and orders to what they mean, and back to canonical text.

Here live the words of the notation and the faults in them; which ships a seat has left comes in from outside.
Implements rulings 3-5, 7, 8 and 28 of Shoot 'em up Spaceships, rules/shoot-em-up.md "Orders".

Canonical are lines in the order of letters, `A c1 N` in a setup and `A: FMS` in orders.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import Fault, Refused
from pbem.games.shoot_em_up.board import FACINGS, LETTERS, SHIPS, Ship
from pbem.games.slips import plain
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pbem.games.shoot_em_up.board import Board, Options

_LINE_END: Final = re.compile(r"\r\n|\n|\r")

# Possessive white space (\s*+): a line full of blanks costs its length, not the square of it.
_PLACED: Final = re.compile(r"([A-L])\s++([a-z][1-9][0-9]?)\s++([NESW])")
_ORDERED: Final = re.compile(r"([A-L])(?:\s*+:\s*+|\s++)([LRFMS]{3})")
_LETTER: Final = {letter: number for number, letter in enumerate(LETTERS)}
_USUAL: Final = {
    f"{letter}{between}{three}": (number, three)
    for letter, number in _LETTER.items()
    for between in (": ", " ")
    for three in map("".join, product("LRFMS", repeat=3))
}
"""By a line as most write it: the ship's place in the alphabet and its three actions."""
EDGES: Final = (Phrase("south edge"), Phrase("north edge"), Phrase("west edge"), Phrase("east edge"))


class Setup(NamedTuple):
    """One seat's judged setup: its ships in the order of letters."""

    text: str
    ships: tuple[Ship, ...]


class Orders(NamedTuple):
    """One seat's judged orders of one turn."""

    text: str
    actions: tuple[tuple[int, str], ...]
    """Each ship's place in the alphabet and its three actions, in the order of letters."""


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    for number, line in enumerate(_LINE_END.split(text), start=1):
        stripped = line.strip()
        if stripped:
            yield number, stripped


def letters_of(seat: int) -> range:
    """The ships of a seat, as places in the alphabet."""
    return range((seat - 1) * SHIPS, seat * SHIPS)


def _listed(ships: Sequence[int]) -> str:
    names = [LETTERS[ship] for ship in ships]
    return Phrase("{first} and {last}", first=", ".join(names[:-1]), last=names[-1])


# Setups


def read_setup(options: Options, seat: int, text: str) -> Setup:
    """Judge a setup; raises `Refused` with all faults, the first written first."""
    board = options.board
    own = letters_of(seat)
    faults = []
    named: set[int] = set()
    placed: dict[int, Ship] = {}
    taken: dict[int, int] = {}
    for number, line in _lines(text):
        found = _PLACED.fullmatch(line)
        if not found:
            faults.append(
                Fault(
                    "4",
                    line,
                    Phrase("write a ship, a square and a facing, such as `A c1 N`, on a line of its own"),
                    number,
                )
            )
            named.update(_meant(line, own))
            continue
        ship, square = _LETTER[found[1]], board.squares.get(found[2], -1)
        if ship not in own:
            faults.append(
                Fault(
                    "3",
                    line,
                    Phrase("{ship} is not your ship: you have {ships}", ship=found[1], ships=_listed(own)),
                    number,
                )
            )
            continue
        if ship in named:
            faults.append(Fault("4", line, Phrase("{ship} has a line already", ship=found[1]), number))
            continue
        named.add(ship)
        if square not in board.homes[seat - 1]:
            faults.append(Fault(*_not_at_home(board, seat, line, found[2]), number))
        elif square in taken:
            faults.append(
                Fault(
                    "5",
                    line,
                    Phrase("{ship} starts on {square} already", ship=LETTERS[taken[square]], square=found[2]),
                    number,
                )
            )
        taken.setdefault(square, ship)
        placed[ship] = Ship(ship, square, FACINGS.index(found[3]))
    faults.extend(
        Fault("4", None, Phrase("{ship} has no line", ship=LETTERS[ship])) for ship in own if ship not in named
    )
    if faults:
        raise Refused(*faults)
    ships = tuple(placed[ship] for ship in own)
    lines = (f"{LETTERS[ship.letter]} {board.names[ship.square]} {FACINGS[ship.facing]}" for ship in ships)
    return Setup("\n".join(lines), ships)


def _not_at_home(board: Board, seat: int, line: str, square: str) -> tuple[str, str, Phrase]:
    if square not in board.squares:
        size = f"{board.columns}x{board.rows}"
        return "1", line, Phrase("there is no {square} on a board of {size}", square=square, size=size)
    edge = EDGES[seat - 1]
    message = Phrase("{square} is not in your home zone, the {edge} without its corners", square=square, edge=edge)
    return "2", line, message


# Orders

WRITING: Final = frozenset({"7"})
"""The ruling that no position can make good: a line that is no ship and three actions."""


def read_orders(ships: Sequence[Ship], seat: int, text: str) -> Orders:
    """Judge the orders of one turn against the ships left; raises `Refused` with all faults."""
    own = letters_of(seat)
    living = [ship.letter for ship in ships if ship.letter in own]
    given = _read(living, text)
    if given is None:
        raise Refused(*_faults(living, seat, text))
    actions = tuple([(ship, given[ship]) for ship in living])
    return Orders("\n".join([f"{LETTERS[ship]}: {three}" for ship, three in actions]), actions)


def _read(living: Sequence[int], text: str) -> dict[int, str] | None:
    """Each living ship's actions, or None when anything is wrong."""
    given: dict[int, str] = {}
    for written in _LINE_END.split(text) if "\r" in text else text.split("\n"):
        line = written.strip()
        found = _USUAL.get(line) or _ordered(line)
        if found:
            ship, actions = found
            if ship in given or ship not in living:
                return None
            given[ship] = actions
        elif line:
            return None
    return given if len(given) == len(living) else None


def _ordered(line: str) -> tuple[int, str] | None:
    found = _ORDERED.fullmatch(line)
    return (_LETTER[found[1]], found[2]) if found else None


_NEARLY_ORDERED: Final = re.compile(r"([a-l])[\s:.=-]*" + r"\s*".join([r"([lrfms])"] * 3) + r"(?!\S)\s*", re.I)
_NEARLY_PLACED: Final = re.compile(r"([a-l])[\s:.=-]+([a-z][1-9][0-9]?)\s+([nesw])(?!\S)\s*", re.I)


def meant(text: str) -> str:
    """What a setup or orders were probably meant to say: a line for each ship, in the capitals of the notation."""
    written = plain(text).strip()
    for nearly, line in ((_NEARLY_ORDERED, _order_meant), (_NEARLY_PLACED, _place_meant)):
        if written and not nearly.sub("", written):
            return "\n".join(line(found) for found in nearly.finditer(written))
    return text


def _order_meant(found: re.Match[str]) -> str:
    ship, *actions = (group.upper() for group in found.groups())
    return f"{ship}: {''.join(actions)}"


def _place_meant(found: re.Match[str]) -> str:
    return f"{found[1].upper()} {found[2].lower()} {found[3].upper()}"


def _faults(living: Sequence[int], seat: int, text: str) -> list[Fault]:
    """All faults of orders, the first written first."""
    faults = []
    named: set[int] = set()
    for number, line in _lines(text):
        found = _ORDERED.fullmatch(line)
        if not found:
            faults.append(
                Fault(
                    "7",
                    line,
                    Phrase("write a ship and three of L R F M S, such as `A: FMS`, on a line of its own"),
                    number,
                )
            )
            named.update(_meant(line, living))
        elif _LETTER[found[1]] not in living:
            faults.append(
                Fault(
                    "8",
                    line,
                    _why_not(_LETTER[found[1]], seat),
                    number,
                )
            )
        elif _LETTER[found[1]] in named:
            faults.append(Fault("8", line, Phrase("{ship} has a line already", ship=found[1]), number))
        else:
            named.add(_LETTER[found[1]])
    faults.extend(
        Fault("8", None, Phrase("{ship} has no line", ship=LETTERS[ship])) for ship in living if ship not in named
    )
    return faults


def _why_not(ship: int, seat: int) -> Phrase:
    if ship in letters_of(seat):
        return Phrase("{ship} is destroyed", ship=LETTERS[ship])
    return Phrase("{ship} is not your ship", ship=LETTERS[ship])


def _meant(line: str, ships: Sequence[int]) -> set[int]:
    """The ship that a line begins with, so that one slip is not told as two faults."""
    ship = _LETTER.get(line[0].upper())
    return {ship} if ship is not None and ship in ships and not line[1:2].isalnum() else set()
