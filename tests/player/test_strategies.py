"""Programs that play: legal under all options, blind, alike on every Python, and with a bounded amount of work.

How well they play is measured by `bench/opponent.py`.
"""

from __future__ import annotations

import ast
import hashlib
import hmac
import itertools
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from playing import random_players, unlearned
from playing.opponents import play, told

from pbem.games import GAMES, rules
from pbem.games.dueling_masters.board import SQUARES
from pbem.games.spaceships.ships import fits, placements
from pbem.games.spaceships.space import NAMES, cells, mask_of
from pbem.player.opponent import (
    LEVELS,
    STRATEGIES,
    Chance,
    Position,
    dueling_masters,
    edition,
    fleets,
    shoot_em_up,
    spaceships,
    strategy,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pbem.games import Report, Rules

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


def test_every_game_has_a_strategy() -> None:
    assert set(STRATEGIES) == set(GAMES)


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
    """With 3 and 4 seats, too. What is illegal is refused."""
    raw, seats = random_players.PLAYERS[game].options[case]
    for number, levels in enumerate(((1, 2, 1, 2), (0, 3, 1, 0), (3, 2, 3, 2))):
        assert play(game, f"legal {case} {number}", levels[:seats], raw, most=25).orders


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
    """And with any seed of hashes, which each run of the tests draws anew.

    What an edition plays is never written anew: another play is another edition, with golden games of its own.
    """
    golden = json.loads(GOLDEN.read_text())[game]
    assert list(golden) == [f"edition {number}" for number in range(1, edition(game) + 1)]
    digest = play(game, "golden", (level, level), most=TURNS[level]).digest
    assert digest == golden[f"edition {edition(game)}"][str(level)], "another play is another edition: EDITIONS"


# Blindness


def shown_to(judge: Rules, seat: int, reports: Sequence[Report]) -> list[Report]:
    return [found for report in reports if (found := judge.show(report, seat)) is not None]


def pairs(game: str, seed: int) -> Iterator[tuple[Position, Position]]:
    """What a seat is told in two worlds that differ only in what it cannot have learned."""
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
                seen.append(shown_to(judge, seat, reports))
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
    """So that what is compared here can differ."""
    for game in GAMES:
        assert play(game, "one", (1, 1), most=4).digest != play(game, "other", (1, 1), most=4).digest


def test_no_clock_and_no_other_chance_is_asked() -> None:
    """What of `pbem` is imported is held by `tests/test_arrows.py`."""
    imported: set[str] = set()
    for path in Path(fleets.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module))
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), path
            assert not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)), path
    others = {name for name in imported if name.split(".")[0] != "pbem"}
    assert others == {"__future__", "collections", "collections.abc", "functools", "hmac", "importlib", "typing"}


# Work


def counting(monkeypatch: pytest.MonkeyPatch, where: object, name: str) -> Counter[str]:
    """How often a function is called from here on."""
    counts: Counter[str] = Counter()
    inner = getattr(where, name)

    def counted(*arguments: object) -> object:
        counts[name] += 1
        return inner(*arguments)

    monkeypatch.setattr(where, name, counted)
    return counts


@pytest.mark.parametrize("raw", [{}, {"fleet": "cost:60"}])
def test_ships_are_put_anew_so_many_times_and_no_more(raw: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = counting(monkeypatch, fleets, "_put")
    played = play("spaceships", "work", (3, 1), raw, most=1)
    most = spaceships.CHAINS * (spaceships.STEPS + fleets.BURN_IN * 60)
    assert spaceships.STEPS < counts["_put"] <= most * len(played.orders)


def test_so_many_turns_are_played_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for level, budget in zip(LEVELS, shoot_em_up.BUDGETS, strict=True):
        with monkeypatch.context() as patch:
            counts = counting(patch, shoot_em_up, "_valued")
            play("shoot-em-up", "work", (level, 0), most=1)
        side = budget.drawn + budget.rounds * budget.kept
        assert 0 < counts["_valued"] <= side * side + 2 * budget.rounds * budget.tried * shoot_em_up.AGAINST


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


def test_sampled_fleets_explain_what_was_struck() -> None:
    """Ships of a standard fleet that meet nowhere, with each struck cell in one of them and no empty cell in any."""
    chance = Chance(b"fleets")
    struck, empty = mask_of(["Yx3", "Yx4", "Gx3"]), mask_of(["Yw3", "Yy3", "Ox3"])
    known = fleets.Seen(empty, 0, struck, 0, (), {}, ())
    ships = fleets.slots(chance, rules("spaceships").options({}, 2), 1, known)  # type: ignore[arg-type]
    found = fleets.sampled(chance, ships, struck, 60)
    assert len(found) > 20
    assert len(set(found)) > len(found) // 2
    for fleet in found:
        assert [code for code, _ in fleet if code in ("DS", "KC", "MD")] == ["DS", "KC", "MD"]
        assert all(fits(code, mask) for code, mask in fleet)
        taken = mask_of([name for _, mask in fleet for name in map(NAMES.__getitem__, cells(mask))])
        assert taken.bit_count() == sum(mask.bit_count() for _, mask in fleet)
        assert not struck & ~taken
        assert not empty & taken


def test_counting_is_counting() -> None:
    """Of a lone kill cruiser with nothing known, each cell is worth its share of the placements."""
    kind = fleets.placements_of("KC")
    found = fleets.counted([fleets.FleetSlot((kind,), (kind.every,))], 0, (1 << len(NAMES)) - 1)
    masks = placements("KC")
    assert found == [
        sum(mask >> cell & 1 for mask in masks) * fleets.CERTAIN // len(masks) for cell in range(len(NAMES))
    ]


def test_what_exploded_together_is_one_ship() -> None:
    """A missile destroyer struck at its end: the third cell is in line."""
    judge = rules("spaceships")
    options = judge.options({}, 2)
    setups = [
        "DS Rv1-Ow2\nKC Bx1-By3\nFS Gv4-Gw5\nMD Yx1 Yx2 Yx3\nLS Ov5",
        "DS Rv1-Ow2\nKC Bx1-By3\nFS Gv4-Gw5\nMD Yx1 Yx2 Yx3\nLS Ov5",
    ]
    state = judge.begin(options, [judge.setup(options, seat, text) for seat, text in enumerate(setups, start=1)])
    state, reports = judge.turn(state, {1: judge.order(state, 1, "Yx1"), 2: judge.order(state, 2, "")})
    known = fleets.seen(told(options, state, 1, [shown_to(judge, 1, reports)]))
    assert known.exploded == (mask_of(["Yx1", "Yx2"]),)
    ships = fleets.slots(Chance(b"one"), options, 1, known)  # type: ignore[arg-type]
    (slot,) = [ship for ship in ships if ship.kinds[0].code == "MD"]
    (fitting,) = slot.fitting
    assert [slot.kinds[0].masks[place] for place in cells(fitting)] == [mask_of(["Yx1", "Yx2", "Yx3"])]


def test_nothing_is_where_a_fighter_left_or_passed() -> None:
    judge = rules("dueling-masters")
    options = judge.options({}, 2)
    setups = [
        "* B1 B3 B5 B7 B9 D10 E10\nW A10\nB A8\nX A6 A7\nY C8 C10\nZ D1 D4 D6 D8\nH A1",
        "* I2 I4 I6 I8 I10 G2 F1\nW J10\nB J8\nX J6 J7\nY H8 H10\nZ G3 G4 G6 G8\nH J1",
    ]
    state = judge.begin(options, [judge.setup(options, seat, text) for seat, text in enumerate(setups, start=1)])
    shown: list[Any] = []
    for text in ("Z1 D1-E1", "Z4 G8-D5", "Z1 E1-D1", "Z4 D5-C5"):
        seat = next(iter(state.due))
        state, reports = judge.turn(state, {seat: judge.order(state, seat, text)})
        shown.append(shown_to(judge, 1, reports))
    known = dueling_masters._Known(told(options, state, 1, shown))
    free = {"G8", "F7", "E6", "D5"}
    assert {name for name in free if known.free >> SQUARES[name] & 1} == free


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


def test_chance_is_fair() -> None:
    chance = Chance(b"fair")
    counts = Counter(chance.below(6) for _ in range(6000))
    assert set(counts) == set(range(6))
    assert all(850 < count < 1150 for count in counts.values())
    weighed = Counter(chance.weighted([1, 0, 3]) for _ in range(4000))
    assert 900 < weighed[0] < 1100
    assert weighed[1] == 0
    orders = Counter(tuple(chance.shuffled("abc")) for _ in range(6000))
    assert len(orders) == 6
    assert all(850 < count < 1150 for count in orders.values())


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


def test_a_program_of_the_lowest_level_that_sees_no_target_strikes_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spaceships, "_hunted", lambda *_: [0] * len(NAMES))
    judge = rules("spaceships")
    options = judge.options({}, 2)
    setups = [strategy("spaceships").setup(1, Chance(bytes([seat])), options, seat) for seat in (1, 2)]
    state = judge.begin(
        options, [judge.setup(options, seat, text) for seat, text in zip((1, 2), setups, strict=True)]
    )
    position = told(options, state, 1, [])
    ordered = {
        next(word for word in spaceships.orders(1, Chance(bytes([n])), position).split() if len(word) == 3)
        for n in range(9)
    }
    assert len(ordered) > 1, "not always the first cell of all"
