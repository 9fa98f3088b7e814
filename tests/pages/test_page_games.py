"""The page's games against the referee's, sealed ones too: random games, without a browser."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest
from page_scripts.javascript import Scripts
from playing import sealed_players
from playing.random_players import PLAYERS, play, sensible_orders

from pbem.games import GAMES, rules
from pbem.games.dueling_masters import transit
from pbem.games.sealed import sealed_rules
from pbem.match.record import Record, RecordedResult, Turn, write
from pbem.pages import told
from pbem.pages.match_page import checking

if TYPE_CHECKING:
    from pbem.games import State

NAMES = ("Ann", 'O"Brien', "Jörg \\ Ä", "李 \t😀")


SEALED = """([options, seats, steps]) => {
    const tables = [SEALED.begin(options)];
    for (const { seat, step, lines } of steps) tables.push(SEALED.enter(tables.at(-1), seat, step, lines));
    const states = tables.map((table) => [table.turn, table.over, seats.map((seat) => SEALED.owed(table, seat))]);
    return [states, FOLD.fold(options, steps).played];
}"""


@pytest.mark.parametrize("game", GAMES)
def test_sealed_games_are_told_alike(game: str) -> None:
    """The papers owed after each step, and the reports."""
    random, sealed, scripts = Random(21), sealed_rules(game), Scripts(*checking(game, sealed=True))
    assert sealed is not None
    for _ in range(3):
        raw, seats = random.choice(PLAYERS[game].options)
        sensible = game == "spaceships" and random.random() < 0.7
        played = sealed_players.play(game, random, raw, seats, 60, sensible_orders if sensible else None)
        options = {**played.options.changed, "seats": seats}
        steps = [{**step._asdict(), "lines": list(step.lines)} for step in played.steps]
        states, reports = scripts.evaluate(SEALED, [options, list(played.setups), steps])
        for table, state in zip(played.tables, states, strict=True):
            owed = [next(iter(sealed.owed(table, seat)), "") for seat in played.setups]
            assert state == [table.turn, table.result is not None, owed]
        assert reports == json.loads(json.dumps([list(told_of) for told_of in played.tables[-1].played]))


PLAY = """([record, reports]) => {
    const files = new Map([["records/game-1.pbem.toml", BUNDLE.utf8(record)]]);
    reports.forEach((told, at) => {
        files.set(`reports/game-1-turn-${at + 1}.json`, BUNDLE.utf8(JSON.stringify({ reports: told })));
    });
    const [game] = BUNDLE.games(files);
    const steps = [GAME.begin(game)];
    game.turns.forEach((given, turn) => steps.push(GAME.turn(steps[turn], given, game.reports[turn])));
    return [game, steps.map(GAME.materiel)];
}"""


def left(state: State) -> list[int]:
    """The page's counts for each seat after a turn."""
    if isinstance(state, transit.State):
        return [sum(square >= 0 for square in side.squares) for side in state.sides]
    return list(state.scores)


@pytest.mark.parametrize("game", GAMES)
def test_whole_games_are_read_and_played_alike(game: str) -> None:
    """From the record and the reports: all that they say, what is left to whom after each turn, and the result."""
    random, scripts = Random(7), Scripts("say.js", *told(game), f"replay/{game}.js", "bundle.js")
    for _ in range(3):
        raw, seats = random.choice(PLAYERS[game].options)
        played = play(game, random, raw, seats)
        result, judge = played.states[-1].result, rules(game)
        assert result is not None
        record = Record(
            game,
            tuple(zip(random.sample(NAMES, seats), played.setups, strict=True)),
            tuple(
                Turn({seat: judge.order(state, seat, text).text for seat, text in orders.items()})
                for state, orders in zip(played.states, played.orders, strict=False)
            ),
            played.options.changed,
            result=RecordedResult.of(result, seats),
        )
        found, materiel = scripts.evaluate(PLAY, [write(record), played.reports])
        assert materiel == [left(state) for state in played.states]
        assert found["seats"] == [{"name": name, "setup": setup} for name, setup in record.seats]
        assert found["turns"] == [{str(seat): text for seat, text in turn.orders.items()} for turn in record.turns]
        assert found["reports"] == json.loads(json.dumps(played.reports))
        said = {key: value for key, value in record.result._asdict().items() if value != ()} if record.result else {}
        assert found["result"] == json.loads(json.dumps(said))
        assert found["options"].keys() == record.options.keys()
        simple = {name: value for name, value in record.options.items() if not isinstance(value, dict)}
        assert {name: found["options"][name] for name in simple} == simple
