"""Shoot 'em up Spaceships played by the rules and by the second verifier's, slow and literal, side by side.

Crowded boards, random orders, legal and not, two to four seats: whether orders are accepted, every report and its
place, the seats due, scores and end must be the same. Of the engine only its interface is used.
"""

from __future__ import annotations

import random

from games.second_hand import agreed, judges

from pbem.games import Orders, parts, rules
from verifier.rules.shoot_em_up import FLEET, Game, begin, name, zone


def some_setup(dice: random.Random, seat: int, columns: int, rows: int) -> str:
    squares = dice.sample(zone(seat, columns, rows), 3)
    lines = [f"{letter} {name(at)} {dice.choice('NESW')}" for letter, at in zip(FLEET[seat], squares, strict=True)]
    dice.shuffle(lines)
    return "\n".join(lines)


def some_orders(dice: random.Random, table: Game, seat: int) -> str:
    """Mostly bold, sometimes faulty orders."""
    lines = []
    for ship in table.living(seat):
        three = "".join(dice.choices("LRFMS", weights=(2, 2, 4, 6, 2), k=3))
        lines.append(f"{ship.letter}{dice.choice((': ', ' ', ':', ' :  '))}{three}")
    dice.shuffle(lines)
    if dice.random() < 0.15:
        spoilt = dice.choice(("drop", "add", "twice", "letter", "four", "two", "case", "same line"))
        at = dice.randrange(len(lines))
        letter = lines[at][0]
        if spoilt == "drop":
            lines.pop(at)
        elif spoilt == "add":
            lines.append(f"{dice.choice('ABCDEFGHIJKL')}: SSS")
        elif spoilt == "twice":
            lines.append(f"{letter}: SSS")
        elif spoilt == "letter":
            lines[at] = f"{letter}: {''.join(dice.choices('LRFMSXQ', k=3))}"
        elif spoilt in ("four", "two"):
            lines[at] = f"{letter}: {'S' * (4 if spoilt == 'four' else 2)}"
        elif spoilt == "case":
            lines[at] = lines[at].lower()
        else:
            lines = [" ".join(lines)]
    return dice.choice(("\n", "\n\n", " \n")).join(lines)


def play_both(seed: int) -> None:
    dice = random.Random(seed)
    game = rules("shoot-em-up")
    seats = 2 + seed % 3
    columns, rows = dice.choice(((5, 5), (5, 5), (5, 6), (7, 5), (9, 9)))
    max_turns = dice.choice((3, 12, 40))
    options = game.options({"board": f"{columns}x{rows}", "max_turns": max_turns}, seats)
    texts = [some_setup(dice, seat, columns, rows) for seat in range(1, seats + 1)]
    table = begin({"board": f"{columns}x{rows}", "max_turns": max_turns}, texts)
    state = game.begin(options, [game.setup(options, seat, text) for seat, text in enumerate(texts, start=1)])
    while table.result is None:
        assert state.result is None
        assert state.turn == table.turn
        assert list(state.due) == list(table.due)
        given: dict[int, str] = {}
        judged: dict[int, Orders] = {}
        for seat in state.due:
            while seat not in judged:
                text = some_orders(dice, table, seat)
                if (orders := agreed(judges("shoot-em-up", state, table.order, seat), text)) is not None:
                    judged[seat], given[seat] = game.order(state, seat, text), orders
        state, reports = game.turn(state, judged)
        assert reports == table.play(given)
        if table.result is None and dice.random() < 0.1:
            seat = dice.choice(list(state.due))
            left = parts.without(game, state, seat, 1)
            assert (left is not None) == table.leaves(seat)
            state = left or state
        assert state.scores == table.scores
    assert state.result is not None
    assert tuple(state.result) == tuple(table.result)
    assert not state.due
