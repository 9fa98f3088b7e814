"""The letters of one game, made by its templates alone: the parts of a report, golden texts, and how they read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from judges.golden import FOLDER, is_kept

from pbem.letters.render import Templates

ENV = Templates().environment
TEMPLATES = Path(__file__).parents[2] / "templates"


class GameLetters:
    """The templates of a game."""

    def __init__(self, game: str) -> None:
        self.game = game

    def call(self, template: str, macro: str, *args: Any) -> str:
        """The text of a macro of a template with these arguments."""
        return str(getattr(ENV.get_template(f"{self.game}/{template}.txt").module, macro)(*args))

    def report(self, reports: list[dict[str, Any]], seat: int | None, view: Any, names: dict[int, str]) -> str:
        """The part of a report letter."""
        parts = (
            self.call("events", "events", reports, seat, names),
            self.call("position", "position", view, names),
            self.call("entitled", "entitled", view),
        )
        return "\n\n\n".join(part for part in parts if part) + "\n"

    def rules(self) -> str:
        return ENV.get_template(f"{self.game}/rules.txt").render()

    def rulings(self) -> str:
        """All rulings, as they are written down."""
        return (TEMPLATES / self.game / "rulings.txt").read_text("utf-8")


def reads_well(text: str) -> None:
    """Check that a text reads well in a terminal."""
    assert text.isascii()
    assert max(len(line) for line in text.split("\n")) <= 76
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
    assert not text.startswith("\n")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\n\n\n\n" not in text


def reads_as_written(game: str, name: str, text: str) -> None:
    is_kept(FOLDER / game / f"{name}.txt", text)
