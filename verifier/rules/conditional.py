"""8.5 Conditional orders: their form, and the branch that counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verifier.rules import Refused, demand

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEYWORDS = {"if", "then", "else", "and", "or", "not"}


def words_of(text: str) -> list[str]:
    found = re.sub(r"[,;]", " ", re.sub(r"#[^\n\r]*", " ", text)).split()
    return [word.lower() if word.lower() in KEYWORDS else word for word in found]


def is_conditional(text: str) -> bool:
    return words_of(text)[:1] == ["if"]


def split(words: Sequence[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == at:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def chosen(text: str, ruling: int, holds: Callable[[Sequence[str]], bool]) -> tuple[int, str]:
    """The number and the orders of the branch that counts; the ruling after this one is about having none."""
    rest, branches, atoms = words_of(text), list[tuple[bool, str]](), 0
    while rest:
        last = rest[0] != "if"
        fits = last
        if not last:
            demand("then" in rest, ruling, "no `then`")
            condition, rest = rest[1 : rest.index("then")], rest[rest.index("then") + 1 :]
            for joint in split(condition, "or"):
                whole = True
                for one in split(joint, "and"):
                    atom = one[1:] if one[:1] == ["not"] else one
                    demand(atom and not KEYWORDS & set(atom), ruling, "no atom")
                    whole &= holds(atom) == (atom == one)
                    atoms += 1
                fits |= whole
        orders, rest = (rest[: rest.index("else")], rest[rest.index("else") :]) if "else" in rest else (rest, [])
        demand(orders and not KEYWORDS & set(orders), ruling, "no orders")
        demand(not rest or (len(rest) > 1 and not last), ruling, "no branch behind `else`")
        branches.append((fits, " ".join(orders)))
        rest = rest[1:]
    demand(atoms <= 16 and len(branches) <= 8, ruling, "too many")
    number = next((at for at, (counts, _) in enumerate(branches, 1) if counts), 0)
    if not number:
        raise Refused(ruling + 1, "no condition holds")
    return number, branches[number - 1][1]
