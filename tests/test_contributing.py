"""CONTRIBUTING.md is true: its examples, followed word by word in a copy of the project, work."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

_PLACE = re.compile(
    r"^(?:In `(?P<file>[^`]+)`, (?P<where>after|before) `(?P<line>[^\n]+)`|The new file `(?P<new>[^`]+)`):\n\n"
    r"```\w+\n(?P<text>.*?)```\n",
    re.MULTILINE | re.DOTALL,
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project after all examples."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("pbem", "templates", "tests", "verifier"):
        ignored = shutil.ignore_patterns("__pycache__", "vectors", "data", "browser")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    followed = 0
    for found in _PLACE.finditer((ROOT / "CONTRIBUTING.md").read_text("utf-8")):
        followed += 1
        if found["new"]:
            path = folder / found["new"]
            path.parent.mkdir(exist_ok=True)
            assert not path.exists()
            path.write_text(found["text"], "utf-8")
            continue
        path = folder / found["file"]
        text = path.read_text("utf-8")
        line = found["line"].strip()
        (whole,) = re.findall(rf"^ *{re.escape(line)}\n", text, re.MULTILINE)
        parts = (whole, found["text"]) if found["where"] == "after" else (found["text"], whole)
        path.write_text(text.replace(whole, "".join(parts)), "utf-8")
    assert followed == 16
    return folder


def run(copy: Path, script: str) -> str:
    """Run a script in the copy; returns its output."""
    begin = f"import sys; sys.path[:0] = [{str(copy)!r}, {str(copy / 'tests')!r}]\nimport pbem\n"
    assert_it = f"assert pbem.__file__.startswith({str(copy)!r})\n"
    done = subprocess.run(
        [sys.executable, "-P", "-c", begin + assert_it + script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


REFEREE = """
import tempfile
from datetime import timedelta
from pathlib import Path
from in_a_box.referee import Referee, body
referee = Referee(Path(tempfile.mkdtemp()))
"""


def test_a_command(copy: Path) -> None:
    told = run(
        copy,
        REFEREE + "ann = referee.registered('ann')\nreferee.send(ann, 'ping\\n')\nprint(body(ann.last))\n"
        "referee.send(ann, 'help ping\\n')\nprint(body(ann.last))\n",
    )
    assert "The server is there. It is " in told
    assert "Ask whether the server is there." in told


def test_a_notice(copy: Path) -> None:
    told = run(
        copy,
        REFEREE + "ann, bob = referee.begun('pace: 1d\\ngrace: 1d\\nmiss: wait')\n"
        "referee.send(ann, ann.filled('orders', 'final\\n'))\nreferee.wait(timedelta(days=3))\n"
        "referee.send(ann, 'claim m1\\n')\n"
        "print(*(body(letter) for letter in bob.letters))\n",
    )
    assert "ann claims what others lost by their silence." in told


def test_a_type_of_entry(copy: Path) -> None:
    told = run(
        copy,
        "from match.by_hand import Table\nfrom pbem.match import events\nfrom pbem.match.events import greeted\n"
        "table = Table().agree()\nstep = table.step()\ngreeted.greet(step, 2)\n(entry,) = step.entries\n"
        "events.check(entry, 2)\nprint(entry.type, events.TYPES['greeted'].sentence(entry, {}))\n"
        "from letters.test_catalogues import test_the_diary_has_words_for_every_type_of_entry as diary\ndiary()\n"
        "from verifier.entries import BEGIN, FOLLOW\nfrom verifier.forms import FORMS, SEALED_FORMS\n"
        "print({*events.TYPES} - {*FORMS, *SEALED_FORMS}, {*events.TYPES} - {*BEGIN, *FOLLOW})\n",
    )
    assert told == "greeted seat 2 greets\nset() {'agreed'}\n"


def test_a_language(copy: Path) -> None:
    told = run(
        copy,
        "from pbem.i18n import LANGUAGES\nfrom pbem.letters.render import Templates\n"
        "print(LANGUAGES, Templates(language='eo').render('answers/press.txt'), end='')\n",
    )
    assert told == "('en', 'de', 'eo') Plusendita.\n"
