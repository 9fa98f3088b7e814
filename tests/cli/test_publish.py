"""`pbem publish`: a page made from a bundle alone, the same each time, and nothing for what is none."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING

from click.testing import CliRunner
from referee import Referee, attachment

from pbem.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def published(path: Path) -> dict[str, object]:
    done = CliRunner().invoke(main, ["publish", str(path)])
    assert done.exit_code == 0, done.stderr
    assert CliRunner().invoke(main, ["publish", str(path)]).stdout == done.stdout
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', done.stdout, re.DOTALL)
    assert found is not None
    data: dict[str, object] = json.loads(found[1])
    assert base64.b64decode(str(data["bundle"])) == path.read_bytes()
    return data


def test_a_match_becomes_a_page(tmp_path: Path) -> None:
    referee = Referee(tmp_path)
    setups = ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5")
    ann, bob = referee.begun("fleet: cost:3\nsettle: 0\nkind: scored\ngames: 2", setups)
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    path = tmp_path / "m1.pbem.zip"
    path.write_bytes(attachment(ann.find("what was secret"), ".zip"))
    (game,) = published(path)["games"]  # type: ignore[misc,attr-defined]
    assert [step["scores"] for step in game["steps"]] == [[3, 3], [3, 2], [3, 1], [3, 0]]
    assert game["result"] == {"winner": 1, "scores": [3, 0], "reason": "rules"}
    assert [board["seat"] for board in game["steps"][1]["boards"]] == [1, 2]
    lost = [square for panel in game["steps"][1]["boards"][1]["panels"] for square in panel["squares"] if square[4]]
    assert lost == [[0, 0, "g1", "lost", 1]]
    assert "Rv1  hit" in game["steps"][1]["events"]

    # A game that is not revealed is not there, whatever the bundle of a running match holds for its reader.
    for person, setup in zip((ann, bob), setups, strict=True):
        referee.send(person, person.filled("setup", setup))
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.send(ann, "transcript m1\n", sign=False)
    path.write_bytes(attachment(ann.last, ".zip"))
    assert len(published(path)["games"]) == 1  # type: ignore[arg-type]
    referee.close()


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(b"PK")
    done = CliRunner().invoke(main, ["publish", str(path)])
    assert done.exit_code == 1
    assert "not a bundle" in done.stderr
