"""The worked examples: every legal one report by report, of a refused one the turn and the seat."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pbem.match import record

if TYPE_CHECKING:
    from pathlib import Path

GAMES = ("dueling-masters",)


def test_example(example: Path) -> None:
    expected = json.loads(example.with_name(example.name.replace(".pbem.toml", ".json")).read_text(encoding="utf-8"))
    text = example.read_text(encoding="utf-8")
    if "error" not in expected:
        replay = record.replay(record.read(text))
        turns = [{"turn": turn, "reports": list(reports)} for turn, reports in enumerate(replay.turns, start=1)]
        found = {"game": "dueling-masters", "turns": turns, "result": replay.result}
        assert json.dumps(found) == json.dumps(expected)
        return
    with pytest.raises(record.Illegal) as caught:
        record.replay(record.read(text))
    assert (caught.value.turn, caught.value.seat) == (expected["error"]["turn"], expected["error"]["seat"])
    if caught.value.turn:
        assert caught.value.order == expected["error"]["order"]
