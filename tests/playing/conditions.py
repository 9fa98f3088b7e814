"""Conditional orders by chance, most of them well formed, from the atoms and the orders of any game."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random


def some_conditions(dice: Random, atoms: Callable[[], str], orders: Sequence[str], *, mangled: bool = True) -> str:
    """Branches with these orders; `mangled`: now and then, a word is lost, doubled, or stands elsewhere."""
    words: list[str] = []
    for number, order in enumerate(orders, start=1):
        words += ["else"] if words else []
        if number < len(orders) or (mangled and dice.random() < 0.6):
            words += [dice.choice(("if", "if", "If")), *_condition(dice, atoms), "then"]
        words.append(order)
    if mangled and dice.random() < 0.2:
        at = dice.randrange(len(words))
        words[at : at + 1] = dice.choice(([], [words[at]] * 2, [dice.choice(words)], ["not", words[at]], ["else"]))
    between = dice.choice((" ", "\n", ", ", " # so\n" if mangled else " "))
    return between.join(words)


def _condition(dice: Random, atoms: Callable[[], str]) -> list[str]:
    words: list[str] = []
    for _ in range(dice.choice((1, 1, 2, 3))):
        words += [dice.choice(("and", "or"))] if words else []
        words += ["not"] if dice.random() < 0.3 else []
        words += atoms().split()
    return words


def some_atom(dice: Random, game: str) -> str:
    """An atom of a game, about anything."""
    if game == "spaceships":
        cell = "".join(map(dice.choice, ("ROYGB", "vwxyz", "12345")))
        verb = dice.choice(("struck", "hit", "miss", "duplicate", "ship", "none", "sunk", "lost", "can"))
        return {"struck": f"struck {cell}", "sunk": "sunk any", "lost": "lost any", "can": "can Gx3 Gx4"}.get(
            verb, f"{cell} {verb}"
        )
    square = f"{dice.choice('ABCDEFGHIJ')}{dice.randint(1, 10)}"
    piece = dice.choice(("any", "any", "*", "Z1", "X2", "W", "B"))  # H is none where there are three
    return dice.choice((f"lost {piece}", f"took {piece}", f"met {square}", f"left {square}", f"can Z1 {square}-A1"))


CONDITIONAL = ("dueling-masters", "spaceships")
"""The games whose orders may have conditions."""


def with_conditions(dice: Random, game: str, one: str, other: str) -> str:
    """Conditional orders with these in one branch and the others in another; those alone in games that have none."""
    if game not in CONDITIONAL:
        return one
    return some_conditions(dice, lambda: some_atom(dice, game), [one, other], mangled=False)
