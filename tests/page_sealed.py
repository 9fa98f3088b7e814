"""Sealed games on the page and by the program: what is owed, what an owner tells, what a player knows, said by both.

Here live the games that are compared; `tests/pages/` runs them in an engine, `tests/browser/` in Chromium.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

from random_players import PLAYERS, sensible_orders

from pbem.games import rules
from pbem.games.sealed import sealed_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from javascript import Evaluate

SOURCE = """(cases) => cases.map(({ options, seat, setup, orders, steps }) => {
    const table = SEALED.table(options, steps), own = SEALED.own(seat, setup, orders, table);
    const owed = SEALED.owed(table, seat), asks = SEALED.asks(own, table);
    const lines = owed.length && !asks ? SEALED.lines(own, table, owed[0]) : null;
    return { owed, asks, lines, view: SEALED.view(own, table) };
})"""


def cases(game: str, random: Random, turns: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Of one game before each step, for each seat: what the page is given, and what it must say of it."""
    judge, sealed, player = rules(game), sealed_rules(game), PLAYERS[game]
    assert sealed is not None
    raw, seats = random.choice(player.options)
    options = judge.options(raw, seats)
    make = sensible_orders if game == "spaceships" and random.random() < 0.7 else player.orders
    setups = {n: judge.setup(options, n, player.setup(random, options, n)).text for n in range(1, seats + 1)}
    orders: dict[int, dict[int, str]] = {seat: {} for seat in setups}
    table: Any = sealed.begin(options)
    steps: list[dict[str, Any]] = []
    while True:
        entered = None
        for seat, setup in setups.items():
            own = sealed.own(options, seat, setup, orders[seat], table)
            owed, asks = sealed.owed(table, seat), sealed.asks(own, table)
            view: Any = sealed.own_view(own, table)
            lines = list(sealed.lines(own, table, owed[0])) if owed and not asks else None
            given = {"options": {**options.changed, "seats": seats}, "seat": seat, "setup": setup}
            yield (
                {**given, "orders": {**orders[seat]}, "steps": [*steps]},
                {"owed": list(owed), "asks": asks, "lines": lines, "view": json.loads(json.dumps(view))},
            )
            if asks:
                orders[seat][table.turn] = sealed.order(own, make(random, view))
                own = sealed.own(options, seat, setup, orders[seat], table)
                lines = list(sealed.lines(own, table, owed[0]))
            if owed and entered is None:
                entered = {"turn": table.turn, "seat": seat, "step": owed[0], "lines": lines}
        if entered is None or table.turn > turns:
            return
        steps.append(entered)
        text = "\n".join(entered["lines"])
        judged = sealed.judge(table, entered["seat"], entered["step"], text)
        table = sealed.enter(table, entered["seat"], entered["step"], judged)


def compare_sealed(game: str, evaluate: Evaluate, games: int, turns: int = 60) -> None:
    """Whole games, of which each state is looked at."""
    random = Random(21)
    for _ in range(games):
        found = list(cases(game, random, turns))
        said = evaluate(SOURCE, [given for given, _ in found])
        for (given, wanted), told in zip(found, said, strict=True):
            assert told == wanted, (given, len(given["steps"]))
