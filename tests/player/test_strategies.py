"""Programs that play: legal under all options, blind, alike on every Python, and with a bounded amount of work.

How well they play is measured by `bench/opponent.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from playing import random_players, unlearned
from playing.opponents import play, told

from pbem.games import GAMES, rules
from pbem.games.spaceships.space import NAMES
from pbem.player.opponent import (
    LEVELS,
    Chance,
    Position,
    dueling_masters,
    edition,
    shoot_em_up,
    spaceships,
    strategy,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


GOLDEN = Path(__file__).parent / "golden_games.json"
TURNS = {1: 60, 2: 4, 3: 2}
"""By level, how much of the golden games is played."""
CASES = [(game, case) for game, player in random_players.PLAYERS.items() for case in range(len(player.options))]
TIGHT = (
    {"fleet": "cost:1"},
    {"fleet": "cost:60"},
    {"fleet": "cost:12", "allowed": {"LS": 4}},
    {"fleet": "cost:14", "allowed": {"DS": 1, "KC": 1, "LG": 0}},
    {"additional": [23, 1], "additional_allowed": {"LG": 1, "AG": 30}},
    {"fleet": "cost:8", "allowed": {"PC": 2}, "additional": [24, 16], "additional_allowed": {"DS": 3}},
)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same programs with a small part of their work, where what they find does not matter."""
    monkeypatch.setattr(spaceships, "STEPS", 100)
    monkeypatch.setattr(spaceships, "CHAINS", 1)
    monkeypatch.setattr(shoot_em_up, "SOLVED", 10)
    budgets = [shoot_em_up.Budget(2, 0, 0, 0), shoot_em_up.Budget(3, 0, 0, 0), shoot_em_up.Budget(3, 2, 4, 1)]
    monkeypatch.setattr(shoot_em_up, "BUDGETS", budgets)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(("game", "case"), CASES)
def test_all_is_legal_under_all_options(game: str, case: int) -> None:
    """With 3 and 4 seats, too. What is illegal is refused; and an edition plays alike under all of them."""
    raw, seats = random_players.PLAYERS[game].options[case]
    several = [levels[:seats] for levels in ((1, 2, 1, 2), (0, 3, 1, 0), (3, 2, 3, 2))]
    played = [play(game, f"legal {case} {number}", levels, raw, most=25) for number, levels in enumerate(several)]
    assert all(found.orders for found in played)
    golden = json.loads(GOLDEN.read_text())[game][f"edition {edition(game)}"]["options"][case]
    assert [played[0].digest, played[2].digest] == golden


@pytest.mark.parametrize("raw", TIGHT)
@pytest.mark.parametrize("level", LEVELS)
def test_fleets_are_as_agreed_however_tight(raw: dict[str, Any], level: int) -> None:
    judge = rules("spaceships")
    options = judge.options(raw, 2)
    for seat in (1, 2):
        text = strategy("spaceships").setup(level, Chance(b"tight"), options, seat)
        assert judge.setup(options, seat, text).text


@pytest.mark.parametrize("raw", [{"fleet": "cost:7", "allowed": {"AG": 9}}, {"fleet": "cost:99999"}])
def test_where_no_fleet_is_to_be_had_there_is_none(raw: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no ships add up"):
        strategy("spaceships").setup(1, Chance(b"none"), rules("spaceships").options(raw, 2), 1)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("level", LEVELS)
def test_games_are_the_same_on_every_python(game: str, level: int) -> None:
    """They are the same with any hash seed; each run of the tests draws another.

    What an edition plays is never written anew: another play is another edition, with golden games of its own.
    """
    golden = json.loads(GOLDEN.read_text())[game]
    assert list(golden) == [f"edition {number}" for number in range(1, edition(game) + 1)]
    digest = play(game, "golden", (level, level), most=TURNS[level]).digest
    assert digest == golden[f"edition {edition(game)}"][str(level)], "another play is another edition: EDITIONS"


# Blindness


def pairs(game: str, seed: int) -> Iterator[tuple[Position, Position]]:
    """The reports to a seat in two worlds that differ only in secrets that it cannot have learned."""
    random = Random(f"{game} {seed}")
    case = random.randrange(len(random_players.PLAYERS[game].options))
    one = unlearned.play(game, random, case, 8)
    seat = random.randint(1, len(one.setups))
    other = unlearned.vary(random, one, seat)
    assert one.setups[seat - 1] == other.setups[seat - 1]
    judge = rules(game)
    shown: tuple[list[Any], list[Any]] = ([], [])
    for number, worlds in enumerate(zip(one.positions(), other.positions(), strict=True)):
        for seen, (_, reports) in zip(shown, worlds, strict=True):
            if number:
                seen.append([report for one in reports if (report := judge.show(one, seat)) is not None])
        if seat in worlds[0][0].due:
            first, second = (
                told(world.options, state, seat, seen)
                for world, (state, _), seen in zip((one, other), worlds, shown, strict=True)
            )
            yield first, second


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("game", ["spaceships", "dueling-masters"])
def test_worlds_that_differ_in_secrets_alone_are_played_alike(game: str) -> None:
    plays = strategy(game)
    compared = 0
    for seed in range(3):
        for one, other in itertools.islice(pairs(game, seed), 2, 5):
            for level in LEVELS:
                found = [
                    (plays.orders(level, Chance(b"blind"), seen), plays.wish(level, seen)) for seen in (one, other)
                ]
                assert found[0] == found[1]
                compared += 1
    assert compared >= 6


def test_another_seed_is_another_game() -> None:
    """Otherwise the comparisons above could not fail."""
    for game in GAMES:
        assert play(game, "one", (1, 1), most=4).digest != play(game, "other", (1, 1), most=4).digest


# What they know


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.usefixtures("hasty")
def test_where_no_fleet_fits_the_dark_is_struck(level: int) -> None:
    """Whatever was thought of the other's ships: a cell that was looked at in vain is not looked at again."""
    judge = rules("spaceships")
    options = judge.options({}, 2)
    setup = judge.setup(options, 1, "DS Rv1-Ow2\nKC Bx1-By3\nFS Gv4-Gw5\nMD Yx1 Yx2 Yx3\nLS Ov5")
    state: Any = judge.begin(options, [setup, setup])
    position = told(options, state, 1, [])
    left = {"Rv1", "Yx3", "Bz5"}
    position.view["known"]["2"] |= {
        "empty": [name for name in NAMES if name not in {*left, "Gx3"}],
        "destroyed": ["Gx3"],
        "ships": [{"ship": "LS", "cells": ["Gx3"]}],
    }
    orders: Any = judge.order(state, 1, strategy("spaceships").orders(level, Chance(b"dark"), position))
    struck = {*orders.strikes, *(cell for line, _ in orders.beams for cell in line)}
    assert left <= {NAMES[cell] for cell in struck}


# Chance


def test_chance_is_hmac_of_a_counter() -> None:
    """RFC 2104 and FIPS 180-4, by hand: the words of one digest after the other, from the highest bit."""
    digests = [hmac.new(b"seed", number.to_bytes(8, "big"), hashlib.sha256).digest() for number in (0, 1)]
    words = [int.from_bytes(digest[at : at + 8], "big") for digest in digests for at in range(0, 32, 8)]
    drawn = Chance(b"seed")
    assert [drawn.below(1 << 64) for _ in range(8)] == words
    assert Chance(b"seed").below(1 << 100) == (words[0] << 64 | words[1]) >> 28
    assert Chance(b"seed").below(16) == words[0] >> 60
    occasion = Chance(b"seed").of("turn 1")
    assert occasion.below(1 << 64) == Chance(hmac.digest(b"seed", b"turn 1", "sha256")).below(1 << 64)


# What is left where nothing promises anything


@pytest.mark.parametrize("level", LEVELS)
def test_a_program_of_any_level_that_finds_no_move_rams_moves_its_home_or_passes(level: int) -> None:
    """It is entitled to such a move, and must order something legal; in Dueling Masters, that may be nothing."""
    ram = {"piece": "Z1", "square": "D1", "to": [], "rams": ["D2"]}
    home = {"piece": "H", "square": "A1", "to": ["A2"], "rams": []}
    for entitled, orders in (
        ([ram], {"Z1 D1-D2"}),
        ([home], {"H A1-A2"}),
        ([ram, home], {"H A1-A2"}),
        ([{**ram, "rams": []}], {""}),
        ([], {""}),
        (None, {""}),
    ):
        options = rules("dueling-masters").options({"mobile_home": True}, 2)
        position = Position(options, 1, {"entitled": entitled}, [])
        assert {dueling_masters.orders(level, Chance(bytes([n])), position) for n in range(9)} == orders
