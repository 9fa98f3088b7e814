"""The case book of Spaceships: short records, each named by the ruling that it proves, with the exact answer.

`cases/NN-name.pbem.toml` is the record, `cases/NN-name.json` what `pbem replay --json` answers, worked out by hand.
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

CASES = Path(__file__).parent / "cases"
RULINGS = Path(__file__).parents[3] / "templates" / "spaceships" / "rulings.txt"
NAME = re.compile(r"(\d\d)[a-z]?-[a-z0-9-]+")


def name_of(path: Path) -> str:
    return path.name.removesuffix(".pbem.toml")


def load(path: Path) -> tuple[str, dict[str, Any]]:
    answer = json.loads((CASES / f"{name_of(path)}.json").read_text(encoding="utf-8"))
    return path.read_text(encoding="utf-8"), answer


RECORDS = sorted(CASES.glob("*.pbem.toml"))
LEGAL = [path for path in RECORDS if "turns" in load(path)[1]]
REFUSED = [path for path in RECORDS if "error" in load(path)[1]]


def test_every_ruling_has_a_case_and_every_case_a_ruling() -> None:
    rulings = [int(number) for number in re.findall(r"^(\d+)\. ", RULINGS.read_text(encoding="utf-8"), re.MULTILINE)]
    matches = {path: NAME.fullmatch(name_of(path)) for path in RECORDS}
    assert all(matches.values()), [path.name for path, match in matches.items() if not match]
    assert rulings == list(range(1, len(rulings) + 1))
    assert {int(match[1]) for match in matches.values() if match} == set(rulings)


def test_every_record_has_its_answer_and_a_comment() -> None:
    assert {name_of(path) for path in RECORDS} == {path.stem for path in CASES.glob("*.json")}
    assert len(LEGAL) + len(REFUSED) == len(RECORDS)
    for path in RECORDS:
        assert path.read_text(encoding="utf-8").startswith("# "), path.name


@pytest.mark.parametrize("path", LEGAL, ids=name_of)
def test_legal(path: Path) -> None:
    text, expected = load(path)
    replay = record.replay(record.read(text))
    turns = [{"turn": turn, "reports": list(reports)} for turn, reports in enumerate(replay.turns, start=1)]
    answer = {"game": "spaceships", "turns": turns, "result": replay.result}
    assert json.loads(json.dumps(answer)) == expected


@pytest.mark.parametrize("path", LEGAL, ids=name_of)
def test_all_reports_are_known_to_both(path: Path) -> None:
    game = rules("spaceships")
    for turn in load(path)[1]["turns"]:
        for report in turn["reports"]:
            assert [game.show(report, seat) for seat in (1, 2)] == [report, report]


@pytest.mark.parametrize("path", REFUSED, ids=name_of)
def test_refused(path: Path) -> None:
    text, expected = load(path)
    error = dict(expected["error"])
    error.pop("rules", None)
    with pytest.raises(record.Illegal) as caught:
        record.replay(record.read(text))
    illegal = caught.value
    found = {"turn": illegal.turn, "seat": illegal.seat, "order": illegal.order, "rule": illegal.rule}
    assert {"game": "spaceships", "error": found} == {"game": illegal.game, "error": error}


@pytest.mark.parametrize("path", [path for path in REFUSED if "rules" in load(path)[1]["error"]], ids=name_of)
def test_all_faults_are_named(path: Path) -> None:
    text, expected = load(path)
    with pytest.raises(Refused) as caught:
        play_on(record.read(text))
    assert [fault.rule for fault in caught.value.faults] == expected["error"]["rules"]


def play_on(game: record.Record) -> None:
    """Feed the rules themselves, seat by seat, until they refuse."""
    spaceships = rules("spaceships")
    options = spaceships.options(game.options, len(game.seats))
    setups = [spaceships.setup(options, seat, text) for seat, (_, text) in enumerate(game.seats, start=1)]
    state = spaceships.begin(options, setups)
    for turn in game.turns:
        orders = {seat: spaceships.order(state, seat, text) for seat, text in sorted(turn.orders.items())}
        state, _ = spaceships.turn(state, orders)
