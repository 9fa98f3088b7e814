"""Setups judged by a second hand: shapes, fleets, halves and zones, literally from the rules pages.

Setups are made at random, legal or nearly so, in every form of writing. The rules and the second verifier's must take
the same ones, as the same.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from games.spaceships.second_hand import lie

from pbem.games import Refused, rules
from verifier.rules import Refused as SecondRefused
from verifier.rules import rules as second_rules
from verifier.rules.spaceships import CELLS, CORES, COSTS, SHAPES, adjacent, point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def both(first: Callable[[str], str], second: Callable[[str], str], text: str, about: object = None) -> bool:
    """True if both accept a text; they must agree."""
    found: list[str | None] = [None, None]
    with suppress(Refused):
        found[0] = first(text)
    with suppress(SecondRefused):
        found[1] = second(text)
    assert found[0] == found[1], (about, text)
    return found[0] is not None


def alike(game: str, options: dict[str, Any], seats: int, seat: int, text: str) -> bool:
    """True if both accept the setup; they must agree."""
    first, second = rules(game), second_rules(game)
    return both(
        lambda written: first.setup(first.options(options, seats), seat, written).text,
        lambda written: second.setup(second.options(options, seats), seat, written),
        text,
        options,
    )


# Spaceships


SORTED_CORES = sorted(CORES, key=sorted)


def some_fleet(dice: random.Random) -> tuple[list[str], dict[str, Any]]:
    """Codes, and options under which they may be legal."""
    base = ["DS", "KC", dice.choice(("FS", "PC")), "MD", dice.choice(("LS", "HS"))]
    options: dict[str, Any] = {"fleet": "standard"}
    if dice.random() < 0.6:
        base = [dice.choice(list(COSTS)) for _ in range(dice.randrange(1, 6))]
        options = {"fleet": f"cost:{sum(COSTS[code] for code in base)}"}
        if dice.random() < 0.5:
            options["allowed"] = {code: number + (dice.random() < 0.2) for code, number in Counter(base).items()}
    more = [dice.choice(list(COSTS)) for _ in range(dice.choice((0, 0, 1, 3)))]
    options["additional"] = [sum(COSTS[code] for code in more), dice.randrange(9)]
    if dice.random() < 0.5:
        options["additional_allowed"] = dict(Counter(more)) if dice.random() < 0.7 else {"LG": 2, "HS": 1}
    if dice.random() < 0.15:
        options["additional"][0] += dice.choice((-1, 1)) if more else 1
    codes = base + more
    if dice.random() < 0.15:
        codes[dice.randrange(len(codes))] = dice.choice(list(COSTS))
    return codes, options


def some_place(dice: random.Random, code: str) -> list[str]:
    """Cells for a ship of this type: a place of its shape, or nearly."""
    while True:
        spots = lie(dice, code)
        cells = [cell for cell in spots if cell]
        if len(cells) == len(spots):
            break
    if dice.random() < 0.12:
        near = [other for other in CELLS if other not in cells and any(adjacent(other, cell) for cell in cells)]
        cells[dice.randrange(len(cells))] = dice.choice(near)
    if code == "DS" and dice.random() < 0.5:  # odd death stars: cells of a rectangle, and two more beside it
        core = list(dice.choice(SORTED_CORES))
        while len(core) < 8:
            near = [other for other in CELLS if other not in core and any(adjacent(other, cell) for cell in core)]
            core.append(dice.choice(near))
        cells = core
    return cells


def written_fleet(dice: random.Random, ships: Sequence[tuple[str, int | None, list[str]]]) -> str:
    if dice.random() < 0.25 and all(len(cells) == len(set(cells)) for _, _, cells in ships):
        at = {cell: f"{code}{number or ''}" for code, number, cells in ships for cell in cells}
        if sum(len(cells) for _, _, cells in ships) == len(at):
            rows = [" ".join(at.get(cell, ".") for cell in CELLS[start : start + 5]) for start in range(0, 125, 5)]
            return dice.choice(("\n", "\n\n", " ")).join(rows)
    lines = []
    for code, number, sorted_cells in dice.sample(ships, len(ships)):
        cells = dice.sample(sorted_cells, len(sorted_cells))
        ends = min(cells, key=point), max(cells, key=point)
        whole = frozenset(cells) in SHAPES.get(code, ()) and len(cells) > 1
        spelt = f"{ends[0]}{dice.choice(('-', ' - '))}{ends[1]}" if whole and dice.random() < 0.5 else " ".join(cells)
        lines.append(f"{code}{number or ''} {spelt}")
    return dice.choice(("\n", " ", ", ", " # mine\n")).join(lines)


def numbered(dice: random.Random, codes: Sequence[str]) -> Iterator[int | None]:
    several = Counter(codes)
    seen: Counter[str] = Counter()
    for code in codes:
        seen[code] += 1
        number = seen[code] if several[code] > 1 or dice.random() < 0.1 else None
        yield number if dice.random() > 0.02 else dice.choice((None, 2, 1))


def fleets_agree(seed: int) -> bool:
    dice = random.Random(f"fleet {seed}")
    codes, options = some_fleet(dice)
    for _ in range(60):  # somewhere without overlap, if that is to be had at random
        ships = [
            (code, number, some_place(dice, code)) for code, number in zip(codes, numbered(dice, codes), strict=True)
        ]
        cells = [cell for _, _, cells in ships for cell in cells]
        if len(cells) == len(set(cells)):
            break
    text = written_fleet(dice, ships)
    return alike("spaceships", options, 2, 1, text)


# Dueling Masters


def written_half(dice: random.Random, pieces: list[tuple[str, tuple[str, int]]]) -> str:
    def said(square: tuple[str, int]) -> str:
        return f"{square[0]}{square[1]}"

    if dice.random() < 0.5:
        lines = [f"{name} {said(square)}" for name, square in dice.sample(pieces, len(pieces))]
        return dice.choice(("\n", "\r\n", "\n\n")).join(lines)
    lines = []
    for kind in dice.sample("*WBXYZH", 7):
        of_kind = [square for name, square in sorted(pieces, key=lambda piece: piece[0]) if name[0] == kind]
        lines += [" ".join([kind, *map(said, of_kind)])] if of_kind else []
    return dice.choice(("\n", " ", "  \n")).join(lines)


def halves_agree(seed: int) -> bool:
    dice = random.Random(f"half {seed}")
    seat, homes = dice.choice((1, 2)), dice.choice((1, 3))
    squares = [(row, column) for row in ("ABCDE", "FGHIJ")[seat - 1] for column in range(1, 11)]
    alone = dice.sample(squares, 7 + homes)
    free = [square for square in squares if square not in alone]
    pieces = [("*", square) for square in alone[:7]]
    pieces += [("H" if homes == 1 else f"H{number}", square) for number, square in enumerate(alone[7:], start=1)]
    pieces += [(name, dice.choice(free)) for name in ["W", "B", "X1", "X2", "Y1", "Y2", "Z1", "Z2", "Z3", "Z4"]]
    spoilt = dice.random()
    at = dice.randrange(len(pieces))
    if spoilt < 0.3:
        pieces[at] = (pieces[at][0], (dice.choice("ABCDEFGHIJ"), dice.randint(1, 11)))
    elif spoilt < 0.4:
        pieces.append(dice.choice(pieces))
    elif spoilt < 0.5:
        del pieces[at]
    text = written_half(dice, pieces)
    return alike("dueling-masters", {"homes": homes}, 2, seat, text)


# Shoot 'em up Spaceships


def zones_agree(seed: int) -> bool:
    dice = random.Random(f"zone {seed}")
    seats, columns, rows = dice.choice((2, 3, 4)), dice.randint(5, 26), dice.randint(5, 26)
    seat = dice.randint(1, seats)
    letters = ["ABC", "DEF", "GHI", "JKL"][seat - 1]
    edge = {1: ("column", 1), 2: ("column", rows), 3: ("row", 1), 4: ("row", columns)}[seat]
    ships = []
    for letter in letters:
        along = dice.randint(1, columns if edge[0] == "column" else rows)
        square = (along, edge[1]) if edge[0] == "column" else (edge[1], along)
        if dice.random() < 0.06:
            square = (dice.randint(1, 26), dice.randint(1, 27))
        ships.append((letter if dice.random() > 0.03 else dice.choice("ABCDEFGHIJKL"), square, dice.choice("NESW")))
    if dice.random() < 0.05:
        ships.append(dice.choice(ships))
    text = "\n".join(
        f"{letter} {'abcdefghijklmnopqrstuvwxyz'[column - 1]}{row} {facing}"
        for letter, (column, row), facing in ships
    )
    return alike("shoot-em-up", {"board": f"{columns}x{rows}"}, seats, seat, text)


FEW, MANY = [range(200)], [range(batch * 400, batch * 400 + 400) for batch in range(1, 11)]


@pytest.mark.parametrize("seeds", [*FEW, *(pytest.param(many, marks=pytest.mark.long) for many in MANY)], ids=str)
@pytest.mark.parametrize("agree", [fleets_agree, halves_agree, zones_agree])
def test_setups_are_judged_alike(agree: Callable[[int], bool], seeds: range) -> None:
    verdicts = Counter(agree(seed) for seed in seeds)
    assert min(verdicts[True], verdicts[False]) > 30


ORDERS = {
    "spaceships": ({"fleet": "cost:1"}, ["LG Rv1", "LG Bz5"], "mR Bz4"),
    "shoot-em-up": ({}, ["A b1 N\nB c1 N\nC d1 N", "D b9 S\nE c9 S\nF d9 S"], "A FMS\nB FMS\nC FMS"),
}


@pytest.mark.parametrize("blank", ["\N{NO-BREAK SPACE}", "\N{IDEOGRAPHIC SPACE}", "\x85", "\r"], ids=ascii)
@pytest.mark.parametrize("game", ORDERS)
def test_any_white_space_is_judged_alike(game: str, blank: str) -> None:
    raw, setups, order = ORDERS[game]
    first, second = rules(game), second_rules(game)
    options = first.options(raw, 2)
    state = first.begin(options, [first.setup(options, seat, text) for seat, text in enumerate(setups, 1)])
    position = second.begin(second.options(raw, 2), setups)
    for text in (f"{blank}{order}{blank}", order.replace(" ", blank)):
        accepted = both(lambda said: first.order(state, 1, said).text, partial(position.order, 1), text)
        assert accepted or (game, blank) == ("shoot-em-up", "\r")  # which ends a line
