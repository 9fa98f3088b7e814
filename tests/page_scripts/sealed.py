"""Sealed games on the page and by the program: what is owed, what an owner tells, what a player knows, said by both.

Here live the games that are compared; `tests/pages/` runs them in an engine.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

from playing.random_players import PLAYERS, sensible_orders
from playing.sealed_players import play

from pbem.games.sealed import sealed_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from page_scripts.javascript import Evaluate

SOURCE = """(cases) => cases.map(({ options, seat, setup, orders, steps }) => {
    const table = FOLD.fold(options, steps), own = SEALED.own(seat, setup, orders, table);
    const owed = SEALED.owed(table, seat), asks = SEALED.asks(own, table);
    const lines = owed.length && !asks ? SEALED.lines(own, table, owed[0]) : null;
    return { owed, asks, lines, view: SEALED.view(own, table) };
})"""


def cases(game: str, random: Random, most: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Of one game before each step, for each seat: what the page is given, and what it must say of it."""
    sealed = sealed_rules(game)
    assert sealed is not None
    raw, seats = random.choice(PLAYERS[game].options)
    sensible = game == "spaceships" and random.random() < 0.7
    played = play(game, random, raw, seats, most, sensible_orders if sensible else None)
    steps = [{**step._asdict(), "lines": list(step.lines)} for step in played.steps]
    for at, table in enumerate(played.tables):
        for seat, setup in played.setups.items():
            bound = any(step.seat == seat and step.turn == table.turn for step in played.steps[:at])
            decided = bound or random.random() < 0.5
            known = {n: text for n, text in played.orders[seat].items() if n < table.turn or decided}
            own = sealed.own(played.options, seat, setup, known, table)
            owed, asks = sealed.owed(table, seat), sealed.asks(own, table)
            lines = list(sealed.lines(own, table, owed[0])) if owed and not asks else None
            options = {**played.options.changed, "seats": seats}
            yield (
                {"options": options, "seat": seat, "setup": setup, "orders": known, "steps": steps[:at]},
                {"owed": list(owed), "asks": asks, "lines": lines,
                 "view": json.loads(json.dumps(sealed.own_view(own, table)))},
            )  # fmt: skip


def compare_sealed(game: str, evaluate: Evaluate, games: int, most: int = 60) -> None:
    """Whole games, of which each state is looked at."""
    random = Random(21)
    for _ in range(games):
        found = list(cases(game, random, most))
        said = evaluate(SOURCE, [given for given, _ in found])
        for (given, wanted), told in zip(found, said, strict=True):
            assert told == wanted, (given, len(given["steps"]))
