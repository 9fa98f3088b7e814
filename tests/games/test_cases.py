"""The case books of the games: short records, each named by the ruling that it proves, with the exact answer.

`<game>/cases/NN-name.pbem.toml` is the record, `NN-name.json` what `pbem replay --json` answers, worked out by hand.
Of a refused one turn, seat, order and the rule of the first fault are binding, and the rules of all if listed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pbem.games import Refused, rules
from pbem.match import record
from verifier.rules import Refused as SecondRefused
from verifier.rules import rules as second_rules

FOLDERS = {path.parent.name.replace("_", "-"): path for path in sorted(Path(__file__).parent.glob("*/cases"))}
TEMPLATES = Path(__file__).parents[2] / "templates"
NAME = re.compile(r"(\d\d)[a-z]?-[a-z0-9-]+")


def name_of(path: Path) -> str:
    return path.name.removesuffix(".pbem.toml")


def game_of(path: Path) -> str:
    return path.parents[1].name.replace("_", "-")


def named(path: Path) -> str:
    return f"{game_of(path)}/{name_of(path)}"


def load(path: Path) -> tuple[str, dict[str, Any]]:
    answer = json.loads(path.with_name(f"{name_of(path)}.json").read_text(encoding="utf-8"))
    return path.read_text(encoding="utf-8"), answer


RECORDS = {game: sorted(folder.glob("*.pbem.toml")) for game, folder in FOLDERS.items()}
EVERY = [path for found in RECORDS.values() for path in found]
LEGAL = [path for path in EVERY if "turns" in load(path)[1]]
REFUSED = [path for path in EVERY if "error" in load(path)[1]]


def by_a_ruling(path: Path) -> bool:
    """True if a player's text breaks a ruling; false if the record breaks its form."""
    error = load(path)[1]["error"]
    return error["seat"] is not None and error["rule"] is not None


def test_every_game_has_a_book() -> None:
    assert set(RECORDS) == {"dueling-masters", "shoot-em-up", "spaceships"}
    assert all(RECORDS.values())


@pytest.mark.parametrize("game", RECORDS)
def test_every_ruling_has_a_case_and_every_case_a_ruling(game: str) -> None:
    text = (TEMPLATES / game / "rulings.txt").read_text(encoding="utf-8")
    rulings = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]
    matches = {path: NAME.fullmatch(name_of(path)) for path in RECORDS[game]}
    assert all(matches.values()), [path.name for path, match in matches.items() if not match]
    assert rulings == list(range(1, len(rulings) + 1))
    assert {int(match[1]) for match in matches.values() if match} == set(rulings)


@pytest.mark.parametrize("game", RECORDS)
def test_every_record_has_its_answer_and_a_comment(game: str) -> None:
    assert {name_of(path) for path in RECORDS[game]} == {path.stem for path in FOLDERS[game].glob("*.json")}
    for path in RECORDS[game]:
        assert (path in LEGAL) != (path in REFUSED), path.name
        assert path.read_text(encoding="utf-8").startswith("# "), path.name


@pytest.mark.parametrize("path", LEGAL, ids=named)
def test_legal(path: Path) -> None:
    text, expected = load(path)
    replay = record.replay(record.read(text))
    turns = [{"turn": turn, "reports": list(reports)} for turn, reports in enumerate(replay.turns, start=1)]
    answer = {"game": game_of(path), "turns": turns, "result": replay.result}
    assert json.loads(json.dumps(answer)) == expected


def by_second_hand(game: record.Record) -> tuple[str, int, int] | list[tuple[int, list[dict[str, Any]]]]:
    """The reports of the second verifier's rules, or the ruling, turn and seat of the first fault."""
    judge = second_rules(game.game)
    options = judge.options(game.options, len(game.seats))
    turn = seat = 0
    try:
        setups = []
        for seat, (_, text) in enumerate(game.seats, start=1):
            setups.append(judge.setup(options, seat, text))
        position = judge.begin(options, setups)
        found = []
        for turn, ordered in enumerate(game.turns, start=1):
            for seat in [one for one, due in game.left.items() if due == turn]:
                assert position.leaves(seat)
            orders = {}
            for seat, text in sorted(ordered.orders.items()):
                orders[seat] = position.order(seat, text)
            found.append((turn, position.play(orders)))
    except SecondRefused as refused:
        return refused.ruling, turn, seat
    return found


@pytest.mark.parametrize("path", LEGAL, ids=named)
def test_legal_by_second_hand(path: Path) -> None:
    text, expected = load(path)
    turns = [(turn["turn"], turn["reports"]) for turn in expected["turns"]]
    assert by_second_hand(record.read(text)) == turns


@pytest.mark.parametrize("path", [path for path in REFUSED if by_a_ruling(path)], ids=named)
def test_refused_by_second_hand(path: Path) -> None:
    text, expected = load(path)
    error = expected["error"]
    assert by_second_hand(record.read(text)) == (error["rule"], error["turn"], error["seat"])


@pytest.mark.parametrize("path", REFUSED, ids=named)
def test_refused(path: Path) -> None:
    text, expected = load(path)
    error = dict(expected["error"])
    error.pop("rules", None)
    with pytest.raises(record.Illegal) as caught:
        record.replay(record.read(text))
    illegal = caught.value
    found = {"turn": illegal.turn, "seat": illegal.seat, "order": illegal.order, "rule": illegal.rule}
    assert {"game": illegal.game, "error": found} == {"game": game_of(path), "error": error}


@pytest.mark.parametrize("path", [path for path in REFUSED if "rules" in load(path)[1]["error"]], ids=named)
def test_all_faults_are_named(path: Path) -> None:
    text, expected = load(path)
    with pytest.raises(Refused) as caught:
        play_on(game_of(path), record.read(text))
    assert [fault.rule for fault in caught.value.faults] == expected["error"]["rules"]


def play_on(name: str, game: record.Record) -> None:
    """Feed the rules themselves, seat by seat, until they refuse."""
    judge = rules(name)
    options = judge.options(game.options, len(game.seats))
    setups = [judge.setup(options, seat, text) for seat, (_, text) in enumerate(game.seats, start=1)]
    state = judge.begin(options, setups)
    for turn in game.turns:
        orders = {seat: judge.order(state, seat, text) for seat, text in sorted(turn.orders.items())}
        state, _ = judge.turn(state, orders)
