"""`pbem replay`: exit status, one JSON object a file, an account for people, and a quick start."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from data.material import EXAMPLES

from pbem.cli.group import group

if TYPE_CHECKING:
    from pathlib import Path

GAMES = ("dueling-masters", "shoot-em-up", "spaceships")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(group, ["replay", *map(str, arguments)])


SPACESHIPS = EXAMPLES / "spaceships"


def test_example(example: Path) -> None:
    expected = json.loads(example.with_name(example.name.replace(".pbem.toml", ".json")).read_text(encoding="utf-8"))
    done = run(example, "--json")
    (line,) = done.stdout.splitlines()
    found = json.loads(line)
    assert done.exit_code == (2 if expected["game"] is None else 1 if "error" in expected else 0)
    if "error" not in expected:
        assert found == expected
        assert list(found) == list(expected)
        return
    assert list(found["error"]) == ["turn", "seat", "order", "message"]
    assert found["game"] == expected["game"]
    if expected["game"] is not None:
        assert [found["error"][key] for key in ("turn", "seat")] == [
            expected["error"][key] for key in ("turn", "seat")
        ]


def test_one_object_a_file_in_the_order_of_the_files(tmp_path: Path) -> None:
    files = ["kamikaze", "bad-cell-twice", "bad-no-record", "flashcube"]
    done = run("--json", *(SPACESHIPS / f"{file}.pbem.toml" for file in files), tmp_path / "missing", tmp_path)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert ["error" in answer for answer in found] == [False, True, True, False, True, True]
    assert [answer["game"] for answer in found[2:]] == [None, "spaceships", None, None]
    assert done.exit_code == 2


def test_status() -> None:
    legal, bad = SPACESHIPS / "kamikaze.pbem.toml", SPACESHIPS / "bad-cell-twice.pbem.toml"
    assert run(legal, legal).exit_code == 0
    assert run(legal, bad, legal).exit_code == 1
    assert run(SPACESHIPS / "bad-no-record.pbem.toml", bad).exit_code == 2
    assert run().exit_code == 2
    assert run("--colour", legal).exit_code == 2


def test_the_account_for_people() -> None:
    done = run(SPACESHIPS / "both-destroyed.pbem.toml")
    assert done.stdout.splitlines()[1:] == [
        "Turn 1",
        "  Ann: mR Bz5",
        "  Bob: m5 Rv1",
        "    Ann strike Bz5 hit destroyed: LG Bz5 flashcube: Bz5 nothing",
        "    Bob strike Rv1 hit destroyed: LG Rv1 flashcube: Rv1 nothing",
        "A draw (rules). Ann 0, Bob 0",
    ]
    refused = run(SPACESHIPS / "bad-same-ship-twice.pbem.toml")
    assert "refused, turn 2, seat 2, `m4 Rz2`" in refused.stdout


def test_the_account_names_ships_and_pieces() -> None:
    done = run(EXAMPLES / "shoot-em-up" / "draw.pbem.toml")
    assert "    state action: 1 ships: A b2 N 0, B c2 N 0, C d2 N 0, D b4 S 0, E c4 S 0, F d4 S 0" in done.stdout
    assert "    state action: 2 ships: nothing\n" in done.stdout
    done = run(EXAMPLES / "dueling-masters" / "three-way-collision.pbem.toml")
    assert "    collision B7 pieces: Z1 Y1 destroyed: destroyed undamaged\n" in done.stdout


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\0", b"record = 1 \xc3(", b"[" * 100_000, b""])
def test_hostile_files(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "x.pbem.toml"
    file.write_bytes(data)
    done = run("--json", file)
    assert done.exit_code == 2
    assert json.loads(done.stdout)["game"] is None
    assert run(file).exit_code == 2


def test_huge_files_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge"
    with file.open("wb") as hole:
        hole.truncate(1 << 34)
    assert run(file, "--json").exit_code == 2


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    text = (SPACESHIPS / "both-destroyed.pbem.toml").read_text(encoding="utf-8")
    file = tmp_path / "x.pbem.toml"
    file.write_text(text.replace('"Ann"', '"\\u001b[31mAnn\\nBob"'), encoding="utf-8")
    done = run(file)
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert len(done.stdout.splitlines()) == 7
