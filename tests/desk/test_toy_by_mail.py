"""No room knows a game by its name: the interface is one."""

from __future__ import annotations

import re
from pathlib import Path

import pbem
from pbem.games import GAMES
from pbem.i18n import template_folder


def test_nobody_else_knows_a_game_by_name() -> None:
    """Outside `games/`, a game's own templates, and how programs play it, no line names a game."""
    package = Path(pbem.__file__).parent
    own = {"games", "opponent"}
    places = [path for path in package.rglob("*.py") if own.isdisjoint(path.parts[len(package.parts) :])]
    places += [path for room in ("letters", "answers") for path in (template_folder() / room).iterdir()]
    assert len(places) > 50
    names = "|".join([*GAMES, *(name.replace("-", "[ _]") for name in GAMES)])
    for path in places:
        assert not re.search(names, path.read_text("utf-8"), re.IGNORECASE), path
