"""`make night`: what is interrupted goes on, and what fails or hangs is on the page."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from machines.waiting import until
from night import __main__ as night
from night.parts import Part

if TYPE_CHECKING:
    import pytest

TESTS = Path(__file__).parent


def ran(folder: Path, *lanes: list[Part]) -> str:
    """The page of a night of these parts."""
    asyncio.run(night.Night(folder, "A night", *lanes).run(hours=1))
    return (folder / "page.md").read_text("utf-8")


def test_a_night_that_is_interrupted_goes_on(tmp_path: Path) -> None:
    """Parts that are done are not run again; the one that was interrupted, and those after it, are."""
    note = f"echo %s >> {tmp_path}/noted"
    lane = [
        Part("first", note % "first", 1),
        Part("second", f"{note % 'second'}; sleep $(cat {tmp_path}/seconds)", 1),
        Part("third", note % "third", 1),
    ]
    for name, content in (("seconds", "9"), ("noted", "")):
        (tmp_path / name).write_text(content)
    code = f"import asyncio; from test_night import *; ran(Path({str(tmp_path)!r}), {lane!r})"
    for which in (signal.SIGTERM, signal.SIGKILL):
        in_background = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-c", code]
        with subprocess.Popen(in_background, cwd=TESTS, stderr=subprocess.DEVNULL) as process:
            until(lambda: "second" in (tmp_path / "noted").read_text().split()[-1:])
            process.send_signal(which)
        (tmp_path / "noted").write_text("")
    page = (tmp_path / "page.md").read_text()
    assert "| first | passed |" in page
    assert page.count("not run") == 2
    (tmp_path / "seconds").write_text("0")
    assert ran(tmp_path, lane).count("| passed |") == 3
    assert (tmp_path / "noted").read_text() == "second\nthird\n"


def test_a_part_that_is_too_slow_may_clean_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell that ran it dies at once; what it ran has time."""
    monkeypatch.setattr(night, "MOMENT", 0.0)
    cleans = f"bash -c 'trap \"sleep 0.5; touch {tmp_path}/cleaned\" EXIT; sleep 60'; true"
    assert "| cleans | too slow, and ended |" in ran(tmp_path, [Part("cleans", cleans, 0.25 / 60)])
    assert (tmp_path / "cleaned").exists()


def test_what_does_not_pass_is_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(night, "MOMENT", 0.0)
    page = ran(
        tmp_path,
        [Part("fails", "echo seed 17 broke; exit 3", 1), Part("hangs", "echo began; sleep 60", 0.1 / 60)],
        [
            Part("passes", "echo well; echo 'make[1]: Leaving'", 1),
            Part("missing", "exit 1", 1, "nothing is here"),
            Part("long", "exit 1", 90),
        ],
    )
    assert "| fails | FAILED, status 3 | 0.0 | seed 17 broke |" in page
    assert "## fails\n```\nseed 17 broke\n```" in page
    assert "- fails: `echo seed 17 broke; exit 3`" in page
    assert "| hangs | too slow, and ended |" in page
    assert "| passes | passed | 0.0 | well |" in page
    assert "| missing | not run: nothing is here |" in page
    assert "| long | not run |" in page, "it does not fit"
    assert page.startswith("# A night\n\n3 of 5 parts were run; 2 did not pass.")
    again = ran(tmp_path, [Part("fails", "exit 0", 1), Part("hangs", "echo quicker", 1)])
    assert "| fails | FAILED, status 3 |" in again
    assert "| hangs | passed | 0.0 | quicker |" in again, "what was too slow is tried again"
