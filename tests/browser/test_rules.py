"""The page's rules and the referee's: thousands of setups and orders, legal and mangled, judged by both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from page_scripts.rules import compare_orders, compare_setups

from pbem.games import GAMES
from pbem.pages import composer

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page


@pytest.mark.parametrize("game", GAMES)
def test_setups_are_judged_alike(game: str, opened: Callable[[str], Page]) -> None:
    compare_setups(game, opened(composer(game)).evaluate, 4000)


@pytest.mark.parametrize("game", GAMES)
def test_orders_are_judged_alike(game: str, opened: Callable[[str], Page]) -> None:
    compare_orders(game, opened(composer(game)).evaluate, 3000)
