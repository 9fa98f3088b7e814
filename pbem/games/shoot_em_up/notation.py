"""The notation: text of setups and orders to what they mean, and back to canonical text.

Here live the words of the notation and the faults in them; which ships a seat has left comes in from outside.
Implements rulings 3-5, 7, 8 and 28 of Shoot 'em up Spaceships, rules/shoot-em-up.md "Orders".

Canonical are lines in the order of letters, `A c1 N` in a setup and `A: FMS` in orders.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games.player_text import Text, plain
from pbem.games.shoot_em_up.board import FACINGS, LETTERS, SHIPS, Ship
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from pbem.games.shoot_em_up.board import Options

ACTIONS: Final = "LRFMS"
"""To turn left and right, fire, move, shield."""

# Possessive white space (\s*+): a line full of blanks costs its length, not the square of it.
_PLACED: Final = re.compile(r"([A-L])\s++([a-z][1-9][0-9]?)\s++([NESW])")
_ORDERED: Final = re.compile(rf"([A-L])(?:\s*+:\s*+|\s++)([{ACTIONS}]{{3}})")
_LETTER: Final = {letter: number for number, letter in enumerate(LETTERS)}
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


def letters_of(seat: int) -> range:
    """The ships of a seat, as places in the alphabet."""
    return range((seat - 1) * SHIPS, seat * SHIPS)


# Setups


def read_setup(options: Options, seat: int, text: str) -> Setup:
    """Judge a setup; raises `Refused` with all faults, the first written first."""
    board = options.board
    own = letters_of(seat)
    read = Text(text)
    named: set[int] = set()
    placed: dict[int, Ship] = {}
    taken: dict[int, int] = {}
    for at, line in read.lines():
        found = _PLACED.fullmatch(line)
        if not found:
            message = Phrase("write a ship, a square and a facing, such as `A c1 N`, on a line of its own")
            read.blame("4", line, message, at)
            named.update(_meant(line, own))
            continue
        ship, square = _LETTER[found[1]], board.squares.get(found[2], -1)
        if ship not in own:
            names = [LETTERS[ship] for ship in own]
            message = Phrase(
                "{ship} is not your ship: you have {ships}",
                ship=found[1],
                ships=Phrase("{first} and {last}", first=", ".join(names[:-1]), last=names[-1]),
            )
            read.blame("3", line, message, at)
            continue
        if ship in named:
            read.blame("4", line, Phrase("{ship} has a line already", ship=found[1]), at)
            continue
        named.add(ship)
        if square not in board.homes[seat - 1]:
            size, edge = f"{board.columns}x{board.rows}", EDGES[seat - 1]
            message = Phrase("there is no {square} on a board of {size}", square=found[2], size=size)
            if square >= 0:
                message = Phrase(
                    "{square} is not in your home zone, the {edge} without its corners", square=found[2], edge=edge
                )
            read.blame("2" if square >= 0 else "1", line, message, at)
        elif square in taken:
            message = Phrase("{ship} starts on {square} already", ship=LETTERS[taken[square]], square=found[2])
            read.blame("5", line, message, at)
        taken.setdefault(square, ship)
        placed[ship] = Ship(ship, square, FACINGS.index(found[3]))
    _refuse(read, "4", own, named)
    ships = tuple(placed[ship] for ship in own)
    lines = (f"{LETTERS[ship.letter]} {board.names[ship.square]} {FACINGS[ship.facing]}" for ship in ships)
    return Setup("\n".join(lines), ships)


def _refuse(read: Text, rule: str, ships: Sequence[int], named: Container[int]) -> None:
    """Raise `Refused` if there are any faults, ships without a line among them."""
    for ship in ships:
        if ship not in named:
            read.blame(rule, None, Phrase("{ship} has no line", ship=LETTERS[ship]))
    read.refuse_faults()


# Orders

WRITING: Final = frozenset({"7"})
"""The ruling that no position can make good: a line that is no ship and three actions."""


def read_orders(ships: Sequence[Ship], seat: int, text: str) -> Orders:
    """Judge the orders of one turn against the ships left; raises `Refused` with all faults."""
    own = letters_of(seat)
    living = [ship.letter for ship in ships if ship.letter in own]
    read = Text(text)
    given: dict[int, str] = {}
    for at, line in read.lines():
        found = _ORDERED.fullmatch(line)
        if not found:
            message = Phrase("write a ship and three of L R F M S, such as `A: FMS`, on a line of its own")
            read.blame("7", line, message, at)
            given.update(dict.fromkeys(_meant(line, living), ""))
            continue
        ship = _LETTER[found[1]]
        if ship not in living:
            why = Phrase("{ship} is destroyed", ship=LETTERS[ship])
            other = Phrase("{ship} is not your ship", ship=LETTERS[ship])
            read.blame("8", line, why if ship in own else other, at)
        elif ship in given:
            read.blame("8", line, Phrase("{ship} has a line already", ship=LETTERS[ship]), at)
        given.setdefault(ship, found[2])
    _refuse(read, "8", living, given)
    actions = tuple([(ship, given[ship]) for ship in living])
    return Orders("\n".join([f"{LETTERS[ship]}: {three}" for ship, three in actions]), actions)


_NEARLY_ORDERED: Final = re.compile(r"([a-l])[\s:.=-]*" + r"\s*".join([r"([lrfms])"] * 3) + r"(?!\S)\s*", re.I)
_NEARLY_PLACED: Final = re.compile(r"([a-l])[\s:.=-]+([a-z][1-9][0-9]?)\s+([nesw])(?!\S)\s*", re.I)


def meant(text: str) -> str:
    """The probable meaning of a setup or orders: a line for each ship, in the capitals of the notation."""
    written = plain(text).strip()
    if written and not _NEARLY_ORDERED.sub("", written):
        found = _NEARLY_ORDERED.findall(written.upper())
        return "\n".join(f"{ship}: {''.join(actions)}" for ship, *actions in found)
    if written and not _NEARLY_PLACED.sub("", written):
        placed = _NEARLY_PLACED.findall(written.upper())
        return "\n".join(f"{ship} {square.lower()} {facing}" for ship, square, facing in placed)
    return text


def _meant(line: str, ships: Sequence[int]) -> set[int]:
    """The ship that a line begins with, so that one slip is not told as two faults."""
    ship = _LETTER.get(line[0].upper())
    return {ship} if ship is not None and ship in ships and not line[1:2].isalnum() else set()
