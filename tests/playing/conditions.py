"""Conditional orders by chance, most of them well formed, from the atoms and the orders of any game."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random


def some_conditions(dice: Random, atoms: Callable[[], str], orders: Sequence[str]) -> str:
    """Branches with these orders; now and then, a word is lost, doubled, or stands elsewhere."""
    words: list[str] = []
    for order in orders:
        words += ["else"] if words else []
        if order is not orders[-1] or dice.random() < 0.6:
            words += [dice.choice(("if", "if", "If")), *_condition(dice, atoms), "then"]
        words += order.split()
    if dice.random() < 0.2:
        at = dice.randrange(len(words))
        words[at : at + 1] = dice.choice(([], [words[at]] * 2, [dice.choice(words)], ["not", words[at]], ["else"]))
    between = dice.choice((" ", "\n", ", ", " # so\n"))
    return between.join(words)


def _condition(dice: Random, atoms: Callable[[], str]) -> list[str]:
    words: list[str] = []
    for _ in range(dice.choice((1, 1, 2, 3))):
        words += [dice.choice(("and", "or"))] if words else []
        words += ["not"] if dice.random() < 0.3 else []
        words += atoms().split()
    return words
