"""Sealed games: owners who answer tell what a referee would have reported, and every lie is refused or convicted.

Whole games are played by owners who know nothing but their own secrets and the table. Then each step is told falsely
in many ways: what `judge` lets pass, `first_false` names, the seat, the turn and the step.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from playing import random_players, sealed_players

from pbem.games import GAMES, Refused, parts, rules
from pbem.games.sealed import COMMIT, Falsehood, SealedRules, SealedStep, sealed_rules, settled
from pbem.mail.commands.sections import SECTIONS
from pbem.match import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playing.sealed_players import Sealed

CASES = [(game, case) for game, player in random_players.PLAYERS.items() for case in range(len(player.options))]
SECRET = ("spaceships", "dueling-masters")
MOST = 24


@cache
def sealed(game: str) -> SealedRules:
    found = sealed_rules(game)
    assert found is not None
    return found


@cache
def played(game: str, case: int, seed: int, most: int = MOST, *, aimed: bool = False) -> Sealed:
    raw, seats = random_players.PLAYERS[game].options[case]
    orders = random_players.sensible_orders if aimed else None
    return sealed_players.play(game, Random(seed), raw, seats, most, orders)


def games(game: str, seed: int = 0) -> list[Sealed]:
    """Games of all options, in Spaceships of players who aim: the first turns, or all that there were."""
    cases = range(len(random_players.PLAYERS[game].options))
    return [played(game, case, seed + case, most=16, aimed=game == "spaceships") for case in cases]


def judged(game: Sealed, place: int, text: str) -> SealedStep | None:
    """The step that another text would have made in this place; None if it is refused, or no other step at all."""
    step, table = game.steps[place], game.tables[place]
    try:
        lines = sealed(game.game).judge(table, step.seat, step.step, text)
    except Refused:
        return None
    return step._replace(lines=lines) if lines != step.lines else None


def first_false(game: Sealed, seat: int, steps: list[SealedStep], **other: Any) -> Falsehood | None:
    game = replace(game, **other)
    return sealed(game.game).first_false(game.options, seat, game.setups[seat], game.orders[seat], steps)


def test_every_game_can_be_played_sealed() -> None:
    assert all(sealed_rules(game) for game in GAMES)
    with pytest.raises(KeyError):
        sealed_rules("chess")


def test_letters_have_a_section_for_each_step_of_each_game() -> None:
    steps = {step for game in GAMES if (found := sealed_rules(game)) for step in found.papers}
    assert SECTIONS["step"].keys() == {COMMIT, "note", *steps}


@pytest.mark.parametrize(
    ("game", "case", "aimed"),
    [(*each, False) for each in CASES] + [(game, case, True) for game, case in CASES if game == "spaceships"],
)
def test_owners_tell_what_a_referee_reports(game: str, case: int, *, aimed: bool) -> None:
    whole = played(game, case, seed=case, aimed=aimed)
    table = whole.tables[-1]
    refereed = list(sealed_players.refereed(whole))
    assert len(refereed) > 1
    for number, (_, reports) in enumerate(refereed[:-1]):
        assert [list(report) for report in table.played[number]] == [list(report) for report in reports]
        assert table.played[number] == reports
    last = refereed[-1][0]
    outcome = settled(rules(game), whole.options, whole.setups, whole.orders)
    assert len(outcome.orders) == len(refereed) - 1
    assert outcome.result == last.result
    assert outcome.scores == last.scores
    if table.result and len(outcome.orders) == len(table.played):
        assert outcome.result
        assert table.result.winners in (outcome.result.winners, (1, 2))
        assert not table.due
    assert len(table.played) == MOST or table.result


@pytest.mark.parametrize(("game", "case"), CASES)
def test_an_owner_sees_what_a_referee_shows(game: str, case: int) -> None:
    whole = played(game, case, seed=case)
    judge = sealed(game)
    states = [state for state, _ in sealed_players.refereed(whole)]
    for table in whole.tables[:: max(1, len(whole.tables) // 12)]:
        number = len(table.played)
        if number >= len(states) or not table.turn:
            continue
        for seat in whole.setups:
            own = judge.own(whole.options, seat, whole.setups[seat], whole.orders[seat], table)
            assert own.seat == seat
            assert judge.own_view(own, table) == parts.view(rules(game), states[number], seat, table.played)
        public = judge.view(table, None)
        assert public == parts.view(rules(game), states[number], None, table.played)


@pytest.mark.parametrize("game", GAMES)
def test_the_honest_are_found_honest(game: str) -> None:
    for whole in games(game):
        for seat in whole.setups:
            assert first_false(whole, seat, whole.steps) is None


def lies(game: str, lines: tuple[str, ...], random: Random) -> Iterator[str]:
    """Other texts for a step: each line left out, said twice or anew, and each word left out or exchanged."""
    words = VOCABULARY[game]
    for place, line in enumerate(lines):
        before, after = lines[:place], lines[place + 1 :]
        yield " ".join((*before, *after))
        yield " ".join((*before, line, line, *after))
        for other in OTHERWISE[game]:
            yield " ".join((*before, other.format(line=line, cell=random.choice(words["cells"])), *after))
        head, _, lost = line.partition(" destroyed ")
        yield " ".join((*before, head, *after))
        yield " ".join((*before, head.partition(" explodes ")[0], *(("destroyed", lost) if lost else ()), *after))
        said = line.split()
        for at, word in enumerate(said):
            for instead in ("", *alternatives(words, word, random)):
                yield " ".join((*before, *said[:at], instead, *said[at + 1 :], *after))
        more = random.sample(words["cells"], 1)[0]
        yield " ".join((*before, line, more, *after))
    if len(lines) > 1:
        yield " ".join((lines[1], lines[0], *lines[2:]))
    yield " ".join((*lines, "over fleet"))
    yield " ".join((*lines, "over idle"))
    yield " ".join((*lines, "nonsense"))
    yield "nonsense"
    yield ""


def alternatives(words: dict[str, list[str]], word: str, random: Random) -> list[str]:
    """Some words of the same kind."""
    return [
        other
        for kind in words.values()
        if word in kind
        for other in random.sample(kind, min(4, len(kind)))
        if other != word
    ]


CELLS = [colour + letter + number for colour in "ROYGB" for letter in "vwxyz" for number in "12345"]
VOCABULARY: dict[str, dict[str, list[str]]] = {
    "spaceships": {
        "kinds": ["beam", "strike", "scan", "death", "flash"],
        "cells": CELLS,
        "struck": ["miss", "hit", "duplicate"],
        "scanned": ["none", "ship", "destroyed"],
        "ships": ["DS", "KC", "FS", "PC", "MD", "HS", "LS", "AG", "LG", "LG1", "LG2", "DS1", "none"],
        "over": ["fleet", "idle"],
    },
    "dueling-masters": {
        "cells": [f"{row}{column}" for row in "ABCDEFGHIJ" for column in range(1, 11)],
        "pieces": ["W", "B", "X1", "X2", "Y1", "Y2", "Z1", "Z2", "Z3", "Z4", "H", "*", "H1", "H2"],
    },
}
OTHERWISE = {
    "spaceships": (
        "{line} explodes {cell}",
        "{line} destroyed LG {cell}",
        "{line} destroyed DS {cell}",
        "strike {cell} miss",
        "scan {cell} none",
        "flash {cell} none",
    ),
    "dueling-masters": ("{line} {cell} *", "{line} {cell} Z1", "pass", "check Z1 none", "Z1 {cell}"),
}


@pytest.mark.parametrize("game", SECRET)
def test_other_secrets_than_those_played_are_convicted(game: str) -> None:
    """Another setup, other orders of any turn, orders that are not there."""
    for whole in games(game):
        for seat in whole.setups:
            setup = rules(game).setup(
                whole.options, seat, random_players.PLAYERS[game].setup(Random(99), whole.options, seat)
            )
            assert first_false(whole, seat, whole.steps, setups={**whole.setups, seat: setup.text})
            assert first_false(whole, seat, whole.steps, setups={**whole.setups, seat: "nothing"}) == Falsehood(
                0, "setup", {"spaceships": "10", "dueling-masters": "34"}[game]
            )
            bound = {
                step.turn: step for step in whole.steps if step.seat == seat and step.step in ("open", "departs")
            }
            for turn, step in bound.items():
                mine = dict(whole.orders[seat])
                if mine.pop(turn) == "" and game == "dueling-masters":
                    continue  # a forced pass is as good unwritten
                found = first_false(whole, seat, whole.steps, orders={**whole.orders, seat: mine})
                assert found
                assert found[:2] == (turn, step.step)
                mine[turn] = "nonsense"
                found = first_false(whole, seat, whole.steps, orders={**whole.orders, seat: mine})
                assert found
                assert found[:2] == (turn, step.step)


@pytest.mark.parametrize("game", GAMES)
def test_the_worked_cases_of_the_rulings_come_out_alike(game: str) -> None:
    """Each record of a case that is legal, played by owners."""
    found = 0
    for path in sorted((Path(__file__).parent / game.replace("-", "_") / "cases").glob("*.pbem.toml")):
        if "error" in json.loads(path.with_suffix("").with_suffix(".json").read_text("utf-8")):
            continue
        read = record.read(path.read_text("utf-8"))
        whole = sealed_players.followed(game, read)
        reports = [reports for _, reports in sealed_players.refereed(whole)][:-1]
        assert list(whole.tables[-1].played[: len(reports)]) == reports, path.name
        assert all(first_false(whole, seat, whole.steps) is None for seat in whole.setups)
        found += len(reports) > 0
    assert found > 10


@pytest.mark.parametrize(("game", "most"), [("spaceships", 3.4), ("dueling-masters", 1.16), ("shoot-em-up", 2.1)])
def test_letters_a_turn(game: str, most: float) -> None:
    found = [played(game, 0, seed=seed, aimed=game == "spaceships") for seed in range(6)]
    letters, turns = sum(one.letters for one in found), sum(len(one.tables[-1].played) for one in found)
    assert letters / turns < most + 6 * 2 / turns  # each game has its first letters


@pytest.mark.parametrize("game", GAMES)
def test_orders_that_are_not_known_cannot_be_laid_open(game: str) -> None:
    whole = played(game, 0, seed=0)
    judge = sealed(game)
    asked = 0
    for step, table in zip(whole.steps[:40], whole.tables, strict=False):
        own = judge.own(whole.options, step.seat, whole.setups[step.seat], whole.orders[step.seat], table)
        known = {turn: text for turn, text in whole.orders[step.seat].items() if turn < table.turn}
        before = judge.own(whole.options, step.seat, whole.setups[step.seat], known, table)
        assert not judge.asks(own, table)
        if step.step in ("open", "departs"):
            assert judge.lines(own, table, step.step) == step.lines
            with pytest.raises(Refused, match="missing"):
                judge.lines(before, table, step.step)
            with pytest.raises(KeyError):
                judge.orders(before, table.turn)
        asked += judge.asks(before, table)
    assert asked > 5
