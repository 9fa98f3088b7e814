"""8.5 Conditional orders: their form, and the branch that counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from verifier.rules import Refused, demand

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEYWORDS = {"if", "then", "else", "and", "or", "not"}


class Word(NamedTuple):
    said: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """The words of a text without comments; keywords in small letters."""
    words = [Word(found[0], *found.span()) for found in re.finditer(r"[^\s,;]+", text)]
    return [word._replace(said=word.said.lower()) if word.said.lower() in KEYWORDS else word for word in words]


def bare(text: str) -> str:
    return re.sub(r"#[^\n\r]*", " ", text)


def is_conditional(text: str) -> bool:
    return [word.said for word in words_of(bare(text))[:1]] == ["if"]


def split(words: Sequence[Word], at: str) -> list[list[Word]]:
    parts: list[list[Word]] = [[]]
    for word in words:
        if word.said == at:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def until(words: list[Word], end: str) -> list[Word]:
    """The words before the next one that is `end`, which are taken."""
    at = next((at for at, word in enumerate(words) if word.said == end), len(words))
    taken, words[:] = words[:at], words[at:]
    return taken


def are_plain(words: Sequence[Word]) -> bool:
    return bool(words) and not any(word.said in KEYWORDS for word in words)


def branches_of(text: str, ruling: int, holds: Callable[[Sequence[str]], bool]) -> list[tuple[bool, str]]:
    """The orders of each branch, and whether its condition holds."""
    text = bare(text)
    rest, branches, atoms = words_of(text), list[tuple[bool, str]](), 0
    while rest:
        last = rest[0].said != "if"
        fits = last
        if not last:
            condition = until(rest, "then")[1:]
            demand(rest, ruling, "no `then`")
            del rest[0]
            for joint in split(condition, "or"):
                whole = True
                for one in split(joint, "and"):
                    negated = bool(one) and one[0].said == "not"
                    atom = one[1:] if negated else one
                    demand(are_plain(atom), ruling, "no atom")
                    whole &= holds([word.said for word in atom]) != negated
                    atoms += 1
                fits |= whole
        orders = until(rest, "else")
        demand(are_plain(orders), ruling, "no orders")
        demand(not rest or (len(rest) > 1 and not last), ruling, "no branch behind `else`")
        branches.append((fits, text[orders[0].start : orders[-1].end]))
        del rest[:1]
    demand(atoms <= 16 and len(branches) <= 8, ruling, "too many")
    return branches


def chosen(text: str, ruling: int, holds: Callable[[Sequence[str]], bool]) -> tuple[int, str]:
    """The number and the orders of the branch that counts; the ruling after this one is about having none."""
    branches = branches_of(text, ruling, holds)
    number = next((at for at, (counts, _) in enumerate(branches, 1) if counts), 0)
    if not number:
        raise Refused(ruling + 1, "no condition holds")
    return number, branches[number - 1][1]
