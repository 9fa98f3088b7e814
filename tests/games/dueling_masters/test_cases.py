"""The case book of Dueling Masters: short records, each named by the ruling that it proves, with the exact answer.

`cases/NN-name.pbem.toml` is the record, `cases/NN-name.json` what `pbem replay --json` answers. Of a refused one
turn, seat, order and the rule of the first fault are binding.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pbem.match import record

CASES = Path(__file__).parent / "cases"
RULINGS = Path(__file__).parents[3] / "templates" / "dueling-masters" / "rulings.txt"
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
    answer = {"game": "dueling-masters", "turns": turns, "result": replay.result}
    assert json.loads(json.dumps(answer)) == expected


@pytest.mark.parametrize("path", REFUSED, ids=name_of)
def test_refused(path: Path) -> None:
    text, expected = load(path)
    with pytest.raises(record.Illegal) as caught:
        record.replay(record.read(text))
    illegal = caught.value
    found = {"turn": illegal.turn, "seat": illegal.seat, "order": illegal.order, "rule": illegal.rule}
    assert {"game": illegal.game, "error": found} == expected
