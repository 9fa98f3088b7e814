"""Sealed games on the page and by the program: what is owed after each step, and the reports, said by both.

Here live the games that are compared; `tests/pages/` runs them in an engine.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

from playing.random_players import PLAYERS, sensible_orders
from playing.sealed_players import play

from pbem.games.sealed import sealed_rules

if TYPE_CHECKING:
    from page_scripts.javascript import Evaluate

SOURCE = """([options, seats, steps]) => {
    const tables = [SEALED.begin(options)];
    for (const { seat, step, lines } of steps) tables.push(SEALED.enter(tables.at(-1), seat, step, lines));
    const states = tables.map((table) => [table.turn, table.over, seats.map((seat) => SEALED.owed(table, seat))]);
    return [states, FOLD.fold(options, steps).played];
}"""


def compare_sealed(game: str, evaluate: Evaluate, games: int, most: int = 60) -> None:
    """Whole games, of which each state is looked at."""
    random, sealed = Random(21), sealed_rules(game)
    assert sealed is not None
    for _ in range(games):
        raw, seats = random.choice(PLAYERS[game].options)
        sensible = game == "spaceships" and random.random() < 0.7
        played = play(game, random, raw, seats, most, sensible_orders if sensible else None)
        options = {**played.options.changed, "seats": seats}
        steps = [{**step._asdict(), "lines": list(step.lines)} for step in played.steps]
        states, told = evaluate(SOURCE, [options, list(played.setups), steps])
        for table, state in zip(played.tables, states, strict=True):
            owed = [next(iter(sealed.owed(table, seat)), "") for seat in played.setups]
            assert state == [table.turn, table.result is not None, owed]
        assert told == json.loads(json.dumps([list(reports) for reports in played.tables[-1].played]))
