"""Secrets that one reader of a game cannot have learned: the changes that `pbem.testing.secrecy` tries, by game.

What a change may be is told here; whether it shows is left to the rules.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playing import random_players

from pbem.games import rules
from pbem.games.spaceships.ships import TYPES, placements
from pbem.games.spaceships.space import NAMES, names
from pbem.testing import World, secrecy

if TYPE_CHECKING:
    from random import Random

    from pbem.testing import RandomPlayers
    from pbem.testing.subject import Change


def play(game: str, random: Random, case: int, most: int) -> World:
    """A game between random players, in canonical text; of Spaceships between players who leave much unused."""
    return secrecy.world(rules(game), sparing(game), random, case, most)


def sparing(game: str) -> RandomPlayers:
    """The random players of a game, who vary its secrets; those of Spaceships leave much unused."""

    def some(random: Random, view: dict[str, Any]) -> str:
        text = random_players.PLAYERS[game].orders(random, view)
        return "\n".join(found[0] for found in _AS_WRITTEN.finditer(text) if random.random() < 0.6)

    players = replace(random_players.PLAYERS[game], changes=CHANGES[game])
    return replace(players, orders=some) if game == "spaceships" else players


def vary(random: Random, told: World, reader: int | None, tries: int = 100) -> World:
    """A game of which the reader is shown the same, with as many secrets changed as could be in so many tries."""
    return secrecy.vary(random, told, reader, CHANGES[told.judge.name], tries)


# Spaceships

_AS_WRITTEN = re.compile(r"b[^()]*\(\w+\)|[mk]\S+ [^\s,]+|[^\s,]+")
_ORDER = re.compile(r"[mk]\S+ \S+|\S+")


def _words(told: World, seat: int, wanted: str) -> list[tuple[int, int, str]]:
    """Turn, place and word of each order of a seat that begins like this."""
    return [
        (number, place, word)
        for number, turn in enumerate(told.orders)
        for place, word in enumerate(_ORDER.findall(turn.get(seat, "")))
        if re.match(wanted, word)
    ]


def _put(told: World, seat: int, number: int, place: int, word: str) -> None:
    words = _ORDER.findall(told.orders[number][seat])
    words[place] = word
    told.orders[number][seat] = " ".join(words)


def move_a_ship(random: Random, told: World, seat: int) -> None:
    lines = [line.split() for line in told.setups[seat - 1].split("\n")]
    ship = random.choice(lines)
    place = names(random.choice(placements(ship[0][:2])))
    moved = dict(zip(ship[1:], place, strict=True))
    ship[1:] = place
    told.setups[seat - 1] = "\n".join(map(" ".join, lines))
    for turn in told.orders:
        turn[seat] = re.sub(r"(?<=[mk])\S+", lambda cell: moved.get(cell[0], cell[0]), turn[seat])


def another_ship(random: Random, told: World, seat: int) -> None:
    """A ship of another type that costs as much, somewhere: entitled to more, or to less of what was not used."""
    ships = [(line[:2], frozenset(line.split()[1:])) for line in told.setups[seat - 1].split("\n")]
    code, _ = ships.pop(random.randrange(len(ships)))
    other = random.choice([kind.code for kind in TYPES.values() if kind.cost == TYPES[code].cost])
    free = set(NAMES).difference(*(cells for _, cells in ships))
    places = [frozenset(names(mask)) for mask in random.choices(placements(other), k=30)]
    ships.append((other, next((place for place in places if place <= free), frozenset())))
    ships.sort(key=lambda ship: list(TYPES).index(ship[0]))
    several, number = Counter(code for code, _ in ships), Counter[str]()
    lines = []
    for code, cells in ships:
        number[code] += 1
        lines.append(" ".join([f"{code}{number[code]}" if several[code] > 1 else code, *sorted(cells)]))
    told.setups[seat - 1] = "\n".join(lines)


def another_missile(random: Random, told: World, seat: int) -> None:
    """Two launches, perhaps of different turns, from each other's cells."""
    missiles = _words(told, seat, "m")
    if len(missiles) > 1:
        one, other = random.sample(missiles, 2)
        for (number, place, word), (_, _, instead) in ((one, other), (other, one)):
            _put(told, seat, number, place, f"{instead.split()[0]} {word.split()[1]}")


def another_weapon(random: Random, told: World, seat: int) -> None:
    """Two strikes of one turn with each other's weapons."""
    number, place, word = random.choice(_words(told, seat, "[mkROYGB]") or [(0, 0, "")])
    others = [strike for strike in _words(told, seat, "[mkROYGB]") if strike[0] == number and strike[2] != word]
    if others:
        _, there, other = random.choice(others)
        _put(told, seat, number, place, " ".join([*other.split()[:-1], word.split()[-1]]))
        _put(told, seat, number, there, " ".join([*word.split()[:-1], other.split()[-1]]))


def another_star(random: Random, told: World, seat: int) -> None:
    """A beam fired by another death star, or by the same one with its name."""
    beams = _words(told, seat, "b")
    if beams:
        number, place, word = random.choice(beams)
        _put(told, seat, number, place, word[:7] + random.choice(("", "(DS1)", "(DS2)", "(DS3)")))


# Dueling Masters


def move_a_piece(random: Random, told: World, seat: int) -> None:
    """Somewhere else, or in exchange with what is there."""
    text = told.setups[seat - 1]
    squares = [f"{row}{column}" for row in ("ABCDE", "FGHIJ")[seat - 1] for column in range(1, 11)]
    one, other = random.choice(re.findall(r"[A-J]\d+", text)), random.choice(squares)
    if random.random() < 0.5:
        swapped = {one: other, other: one}
        told.setups[seat - 1] = re.sub(r"[A-J]\d+", lambda found: swapped.get(found[0], found[0]), text)
    else:
        told.setups[seat - 1] = re.sub(rf"\b{one}\b", other, text, count=1)


def go_elsewhere(random: Random, told: World, seat: int) -> None:
    """One departure to another square, a ram perhaps; the piece's next order then leaves from there."""
    turns = [turn for turn in told.orders if turn.get(seat)]
    if not turns:
        return
    turn = random.choice(turns)
    piece, squares = turn[seat].split()
    there = f"{random.choice('ABCDEFGHIJ')}{random.randint(1, 10)}"
    later = [after for after in turns[turns.index(turn) + 1 :] if after[seat].startswith(f"{piece} ")]
    turn[seat] = f"{piece} {squares.split('-')[0]}-{there}"
    if later:
        later[0][seat] = f"{piece} {there}-{later[0][seat].split('-')[1]}"


def two_destinations() -> tuple[World, World]:
    """A game in which seat 1's Z1 dies on its way, and the same with another square at the end of that way."""
    setups = [
        "* B1 B3 B5 B7 B9 D10 E10\nW A10\nB A8\nX A6 A7\nY C8 C10\nZ D1 D4 D6 D8\nH A1",
        "* I2 I4 I6 I8 I10 G2 F1\nW J10\nB J8\nX J6 J7\nY H8 H10\nZ G3 G4 G6 G8\nH J1",
    ]
    judge = rules("dueling-masters")
    options = judge.options({}, 2)
    one, other = (
        World(
            judge,
            options,
            setups,
            [{1: f"Z1 D1-{there}"}, {2: "Z4 G8-G9"}, {1: f"Z1 {there}-{there[0]}2"}, {2: "Z4 G9-G8"}],
            [""] * 4,
        )
        for there in ("H1", "I1")
    )
    return one, other


CHANGES: dict[str, list[Change]] = {
    "spaceships": [move_a_ship, another_ship, another_missile, another_weapon, another_star],
    "dueling-masters": [move_a_piece, go_elsewhere],
    "shoot-em-up": [],  # the board is open, and orders are revealed with the reports
}


# How the same orders may be written


def rewritten(random: Random, game: str, text: str) -> str:
    """Orders that mean the same, written otherwise."""
    if game == "shoot-em-up":
        lines = [line.replace(": ", random.choice((": ", " ", ":"))) for line in text.split("\n")]
        random.shuffle(lines)
        return random.choice(("\n", "\n\n")).join(lines)
    if game == "spaceships":
        words = _ORDER.findall(text)
        return random.choice((" ", ", ", "\n", " ; ")).join(words) + random.choice(("", " # as agreed"))
    return text.replace("-", random.choice(("-", " - ", " -"))) + random.choice(("", " # as agreed"))
