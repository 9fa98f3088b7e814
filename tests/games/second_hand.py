"""Texts of players before two judges, the rules and the second verifier's: what one accepts, the other accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Refused
from verifier.rules import Refused as SecondRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    Judge = Callable[[str], str | None]
    """Gives orders in their canonical form, or None if it refuses them."""


def accepted(order: Callable[[str], str]) -> Judge:
    """A judge that refuses what this function does."""

    def judged(text: str) -> str | None:
        try:
            return order(text)
        except (Refused, SecondRefused):
            return None

    return judged


def agreed(judges: tuple[Judge, Judge], text: str) -> str | None:
    """The verdict on a text, which is that of both judges."""
    first, second = (judge(text) for judge in judges)
    assert first == second, text
    return first
