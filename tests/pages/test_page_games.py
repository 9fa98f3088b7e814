"""The page's rules, drawings and records against the referee's: random games, without a browser."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest
from page_scripts.drawings import compare_drawings, compare_sealed_drawings
from page_scripts.javascript import Scripts
from page_scripts.rules import compare_orders, compare_setups
from page_scripts.sealed import compare_sealed
from playing.random_players import PLAYERS, play

from pbem.games import GAMES, rules
from pbem.games.dueling_masters import transit
from pbem.match.record import Record, RecordedResult, Turn, write
from pbem.pages import ruled, told
from pbem.pages.match_page import checking

if TYPE_CHECKING:
    from pbem.games import State

NAMES = ("Ann", 'O"Brien', "Jörg \\ Ä", "李 \t😀")


@pytest.mark.parametrize("game", GAMES)
def test_setups_are_judged_alike(game: str) -> None:
    compare_setups(game, Scripts("say.js", *ruled(game)).evaluate, 150)


@pytest.mark.parametrize("game", GAMES)
def test_orders_are_judged_alike(game: str) -> None:
    compare_orders(game, Scripts("say.js", *ruled(game)).evaluate, 200)


@pytest.mark.parametrize("game", GAMES)
def test_the_page_draws_what_the_letters_draw(game: str) -> None:
    compare_drawings(game, Scripts("say.js", *told(game), f"replay/{game}.js").evaluate, 2)


@pytest.mark.parametrize("game", ["spaceships", pytest.param("dueling-masters", marks=pytest.mark.long)])
def test_the_page_of_a_sealed_match_draws_what_its_players_knew(game: str) -> None:
    compare_sealed_drawings(game, Scripts("say.js", *told(game), f"replay/{game}.js").evaluate, 3)


@pytest.mark.parametrize("game", GAMES)
def test_sealed_games_are_told_alike(game: str) -> None:
    compare_sealed(game, Scripts(*checking(game, sealed=True)).evaluate, 3)


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
