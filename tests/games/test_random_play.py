"""Every registered game is played at random to its end, written as a record and replayed: the same reports.

A game that is registered without players in `random_players.PLAYERS` fails here.
"""

from __future__ import annotations

import json
from random import Random

import pytest
from playing import random_players

from pbem.games import GAMES, rules
from pbem.match.record import Record, RecordedResult, Turn, read, replay, write

MOST_TURNS = 2000
CASES = [(game, case) for game, player in random_players.PLAYERS.items() for case in range(len(player.options))]


def play(game: str, case: int, seed: int) -> random_players.Game:
    raw, seats = random_players.PLAYERS[game].options[case]
    return random_players.play(game, Random(seed), raw, seats, MOST_TURNS)


def record_of(game: random_players.Game) -> Record:
    result = game.states[-1].result
    return Record(
        game=game.game,
        seats=tuple((f"Player {seat}", setup) for seat, setup in enumerate(game.setups, start=1)),
        turns=tuple(Turn(orders) for orders in game.orders),
        options=dict(game.options.changed),
        result=RecordedResult(result.winner, tuple(result.scores), result.reason),
    )


def test_every_game_has_players() -> None:
    assert set(random_players.PLAYERS) == set(GAMES)


@pytest.mark.parametrize(("game", "case"), CASES)
def test_options_say_how_many_sit_there_and_are_carried_over(game: str, case: int) -> None:
    """In Spaceships what survives is the next fleet."""
    played = play(game, case, seed=0)
    raw, seats = random_players.PLAYERS[game].options[case]
    assert rules(game).options(raw, seats).seats == seats
    following = rules(game).carry(played.options, played.states[-1].result)
    assert following.seats == seats
    assert game == "spaceships" or following == played.options


@pytest.mark.parametrize("game", ["dueling-masters", "shoot-em-up"])
def test_nothing_is_ordered_for_a_turn_after_the_last(game: str) -> None:
    played = play(game, 0, seed=0)
    judge, last = rules(game), played.options.max_turns
    seat = 2 - last % 2 if game == "dueling-masters" else 1
    found = [judge.ahead(played.states[0], seat, turn, "") for turn in (last, last + 2)]
    (fault,) = set(found[1]) - set(found[0])
    assert f"at most {last} turns" in fault.message


@pytest.mark.parametrize(("game", "case"), CASES)
@pytest.mark.parametrize("seed", range(3))
def test_a_random_game_ends_and_replays_alike(game: str, case: int, seed: int) -> None:
    played = play(game, case, seed)
    assert played.states[-1].result is not None, f"not over after {MOST_TURNS} turns"
    assert not played.states[-1].due
    assert tuple(played.states[-1].scores) == tuple(played.states[-1].result.scores)
    record = record_of(played)
    text = write(record)
    assert read(text) == record
    assert write(read(text)) == text
    replayed = replay(read(text))
    assert [list(reports) for reports in replayed.turns] == played.reports
    assert replayed.result["scores"] == list(played.states[-1].result.scores)


@pytest.mark.parametrize(("game", "case"), CASES)
def test_turns_count_and_canonical_orders_mean_the_same(game: str, case: int) -> None:
    judge = rules(game)
    played = play(game, case, seed=7)
    for number, state in enumerate(played.states[:-1], start=1):
        assert state.turn == number
        orders = {seat: judge.order(state, seat, text) for seat, text in played.orders[number - 1].items()}
        again = {seat: judge.order(state, seat, order.text) for seat, order in orders.items()}
        assert {seat: order.text for seat, order in again.items()} == {
            seat: order.text for seat, order in orders.items()
        }
        assert judge.turn(state, again) == (played.states[number], played.reports[number - 1])


@pytest.mark.parametrize(("game", "case"), CASES)
def test_what_is_shown_and_viewed_is_json(game: str, case: int) -> None:
    judge = rules(game)
    seats = random_players.PLAYERS[game].options[case][1]
    played = play(game, case, seed=11)
    for seat in (None, *range(1, seats + 1)):
        shown = [[found for report in reports if (found := judge.show(report, seat))] for reports in played.reports]
        view = judge.view(played.states[-1], seat, shown)
        assert json.loads(json.dumps([shown, view])) == [shown, view]
    assert judge.show({"kind": "no such kind", "seat": 1}, 1) is None
