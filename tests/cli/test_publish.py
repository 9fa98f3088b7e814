"""`pbem publish`: a page made from a bundle alone, the same each time, and nothing for what is none."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import with_entry
from click.testing import CliRunner
from in_a_box.referee import Referee, attachment
from msgspec.structs import replace
from vectors.matches import good

from pbem.cli.group import group
from pbem.pages.match_page import revealed
from pbem.proof import bundle

if TYPE_CHECKING:
    from pathlib import Path


def published(path: Path, *more: str) -> tuple[dict[str, object], bundle.Bundle]:
    """The data that the page of a bundle gives its script, and the bundle in it."""
    done = CliRunner().invoke(group, ["publish", str(path), *more])
    assert done.exit_code == 0, done.stderr
    assert CliRunner().invoke(group, ["publish", str(path), *more]).stdout == done.stdout
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', done.stdout, re.DOTALL)
    assert found is not None
    data: dict[str, object] = json.loads(found[1])
    return data, bundle.read(zlib.decompress(base64.b64decode(str(data["bundle"])), wbits=-15))


def test_a_match_becomes_a_page(tmp_path: Path) -> None:
    referee = Referee(tmp_path)
    setups = ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5")
    ann, bob = referee.begun("fleet: cost:3\nsettle: 0\nkind: scored\ngames: 2", setups)
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    path = tmp_path / "m1.pbem.zip"
    path.write_bytes(attachment(ann.find(", the end"), ".zip"))
    data, carried = published(path)
    assert (data["title"], data["press"], data["forms"]) == ("Spaceships", [], None)
    assert bundle.write(carried) == path.read_bytes()

    # A game that is not revealed is not there, whatever the bundle of a running match holds for its reader.
    for person, setup in zip((ann, bob), setups, strict=True):
        referee.send(person, person.filled("setup", setup))
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.send(ann, "transcript m1\n", sign=False)
    path.write_bytes(attachment(ann.last, ".zip"))
    held = set(bundle.read(path.read_bytes()).papers)
    _, running = published(path)
    assert {path for path in held if "game-2" in path} >= {
        "openings/game-2-seat-1.txt",
        "letters/game-2-turn-1-seat-1.eml",
    }
    assert set(running.papers) == {path for path in held if "game-2" not in path} == set(carried.papers)

    # Once the match is closed all of it is there.
    referee.send(bob, "resign m1 match\n")
    path.write_bytes(attachment(ann.find(", the end"), ".zip"))
    assert bundle.write(published(path)[1]) == path.read_bytes()
    referee.close()


def test_letters_of_a_running_game_are_not_shown_but_those_that_all_got_at_once() -> None:
    """A draw that was offered in it, say: entries 3 and 4 are of the game before, which began with entry 2."""
    found = good("running")
    more = {"letters/draw-8-seat-1.eml": b"", "letters/keys-9-seat-1.eml": b""}
    shown = revealed(replace(found, papers={**found.papers, **more})).papers.keys()
    assert {"letters/draw-3-seat-1.eml", "letters/draw-4-seat-2.eml", "letters/keys-9-seat-1.eml"} <= shown
    assert "letters/draw-8-seat-1.eml" not in shown


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(b"PK")
    done = CliRunner().invoke(group, ["publish", str(path)])
    assert done.exit_code == 2
    assert "not a bundle" in done.stderr


@pytest.mark.parametrize("name", ["terms", "bundle", "server", "players"])
def test_a_hostile_bundle_moves_no_cursor(tmp_path: Path, name: str) -> None:
    path, escape = tmp_path / "m1.pbem.zip", "\x1b[31mred"
    found = good("ssh")
    said = {"terms": {**found.entries[0].body["terms"], "game": escape}}.get(name, escape)
    path.write_bytes(bundle.write(with_entry(found, 0, lambda body: body.update({name: said}))))
    done = CliRunner().invoke(group, ["publish", str(path)], color=True)
    assert done.exit_code in {0, 1, 2}
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert "\x1b" not in done.output
