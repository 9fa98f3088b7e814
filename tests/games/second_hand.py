"""Texts of players before two judges, the rules and the second verifier's: what one accepts, the other accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Refused, State, rules
from verifier.rules import Refused as SecondRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    Judge = Callable[[str], str | None]
    """Gives orders in their canonical form, or None if it refuses them."""


def judges(name: str, state: State, order: Callable[[int, str], str], seat: int) -> tuple[Judge, Judge]:
    """The two judges of a seat's text in a game: its rules, and what the second verifier makes of an order."""
    real = rules(name)
    return _refusing(lambda text: real.order(state, seat, text).text), _refusing(lambda text: order(seat, text))


def agreed(both: tuple[Judge, Judge], text: str) -> str | None:
    """The verdict on a text, which is that of both judges."""
    first, second = (judge(text) for judge in both)
    assert first == second, text
    return first


def _refusing(order: Callable[[str], str]) -> Judge:
    def judged(text: str) -> str | None:
        try:
            return order(text)
        except (Refused, SecondRefused):
            return None

    return judged
