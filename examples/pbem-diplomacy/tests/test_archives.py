"""Games of an archive are replayed: here a short one of our own, whose positions were written by hand.

`python tests/test_archives.py folder` replays an archive of yours, and prints where positions differ.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from archives import replayed

HOMES = {
    "AUSTRIA": "A VIE, A BUD, F TRI",
    "ENGLAND": "F EDI, F LON, A LVP",
    "FRANCE": "F BRE, A PAR, A MAR",
    "GERMANY": "A BER, A MUN, F KIE",
    "ITALY": "A ROM, A VEN, F NAP",
    "RUSSIA": "F STP/SC, A MOS, A WAR, F SEV",
    "TURKEY": "F ANK, A CON, A SMY",
}
"""The units of 1901, each in a centre of its own."""


def phase(name: str, orders: dict[str, list[str]], centres: dict[str, str], **units: str) -> dict[str, Any]:
    """A phase; only the powers whose units or centres are no longer those of 1901 are given."""
    on_board = {power: here.split(", ") for power, here in {**HOMES, **units}.items()}
    owned = {power: [unit[2:5] for unit in here.split(", ")] for power, here in HOMES.items()}
    owned |= {power: here.split() for power, here in centres.items()}
    retreats = {"ITALY": {"A VEN": ["APU", "PIE", "TUS"]}} if name.endswith("R") else {}
    return {"name": name, "orders": orders, "state": {"units": on_board, "centers": owned, "retreats": retreats}}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A folder with one game: Austria takes Venice, and builds nothing."""
    taken = {"AUSTRIA": "VIE BUD TRI VEN", "ITALY": "ROM NAP"}
    moved = {"AUSTRIA": "A TYR, A BUD, F VEN", "GERMANY": "A BOH, A BER, F KIE"}
    phases = [
        phase("S1901M", {"AUSTRIA": ["A VIE - TYR"], "GERMANY": ["A MUN - BOH"]}, {}),
        phase(
            "F1901M",
            {"AUSTRIA": ["A TYR S F TRI - VEN", "F TRI - VEN"]},
            {},
            AUSTRIA="A TYR, A BUD, F TRI",
            GERMANY="A BOH, A BER, F KIE",
        ),
        phase("F1901R", {"ITALY": ["A VEN R APU"]}, {}, **moved, ITALY="A ROM, F NAP, *A VEN"),
        phase("W1901A", {"AUSTRIA": ["WAIVE"], "ITALY": ["A APU D"]}, taken, **moved, ITALY="A ROM, F NAP, A APU"),
        phase("S1902M", {}, taken, **moved, ITALY="A ROM, F NAP"),
    ]
    (tmp_path / "venice.json").write_text(json.dumps({"phases": phases}), "utf-8")
    return tmp_path


def differences(archive: Path) -> dict[str, list[str]]:
    return {each.phase: each.differences for each in replayed(archive / "venice.json")}


def test_positions_are_the_same(archive: Path) -> None:
    assert differences(archive) == {"S1901M": [], "F1901M": [], "F1901R": [], "W1901A": []}


@pytest.mark.parametrize(
    ("theirs", "altered", "found"),
    [
        ('"A ROM", "F NAP", "A APU"', '"A ROM", "F NAP", "A PIE"', {"F1901R": ["ITALY A APU", "ITALY A PIE"]}),
        ('"APU", "PIE", "TUS"', '"PIE", "TUS"', {"F1901M": ["ITALY A VEN R"]}),
        ('"*A VEN"', '"A VEN"', {"F1901M": ["ITALY A VEN"]}),
        ('"TRI", "VEN"', '"TRI"', {"F1901R": ["VEN"]}),
    ],
)
def test_a_difference_is_named(archive: Path, theirs: str, altered: str, found: dict[str, list[str]]) -> None:
    file = archive / "venice.json"
    file.write_text(file.read_text("utf-8").replace(theirs, altered, 1), "utf-8")
    assert differences(archive).items() >= found.items()


if __name__ == "__main__":
    phases = [each for file in sorted(Path(sys.argv[1]).glob("*.json")) for each in replayed(file)]
    for each in phases:
        if each.differences:
            print(each.game, each.phase, *each.differences, sep=", ")
    kinds = Counter(each.phase[-1] for each in phases)
    print(len(phases), "phases, of these movements:", kinds["M"], "retreats:", kinds["R"], "adjustments:", kinds["A"])
