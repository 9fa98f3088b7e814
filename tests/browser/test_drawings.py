"""What the page of a match draws from records and reports, against the boards and words of letters: random games."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from page_scripts.drawings import compare_drawings

from pbem.games import GAMES
from pbem.pages import page, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page


@pytest.mark.parametrize("game", GAMES)
def test_the_page_draws_what_the_letters_draw(game: str, opened: Callable[[str], Page]) -> None:
    tab = opened(page("page", "drawings", ("say.js", *told(game), "board.js", f"replay/{game}.js")))
    compare_drawings(game, tab.evaluate, 20)
