"""`make night`: what fails or hangs is on the page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from night import __main__ as night
from night.parts import Part

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def ran(folder: Path, *lanes: list[Part]) -> str:
    """The page of a night of these parts."""
    asyncio.run(night.Night(folder, "A night", *lanes).run(hours=1))
    return (folder / "page.md").read_text("utf-8")


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
