"""Conditional orders: branches of which the first counts whose condition holds, and no other.

Here live their words, which are the same in every game, and the choice. A game says what its atoms are and when they
hold: by the reports that the seat itself was shown, and by what it may order; so the choice tells nothing about the
other side. Implements rulings 38 and 39 of Dueling Masters, 41 and 42 of Spaceships.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from pbem.games import Fault, Game, Refused, TheOptions, TheOrders, TheSetup, TheView, faults
from pbem.games.player_text import WORDS, blanked
from pbem.games.two_sides import TwoSides
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import Report

MOST_BRANCHES: Final = 8
MOST_ATOMS: Final = 16

Atom = tuple[str, ...]
"""The words of an atom."""

_BEGINS: Final = re.compile(r"(?:[\s,;]|#[^\n\r]*+)*+if(?=[\s,;]|\Z)", re.I)
_RESERVED: Final = frozenset({"if", "then", "else", "and", "or", "not"})


class Branch(NamedTuple):
    """A branch: its condition, as alternatives of atoms that all must hold (True) or not hold, and its orders."""

    condition: tuple[tuple[tuple[bool, Atom], ...], ...]
    orders: str


ALWAYS: Final[tuple[tuple[tuple[bool, Atom], ...], ...]] = ((),)
"""The condition of `else`."""


def is_conditional(text: str) -> bool:
    """True if orders begin with `if`."""
    return _BEGINS.match(text) is not None


class _Reading:
    """The reading of conditional orders, word by word: lines mean nothing, as mail breaks them."""

    def __init__(self, text: str, rule: str) -> None:
        self.text = blanked(text)
        self.words = list(WORDS.finditer(self.text))
        self.rule = rule
        self.at = 0
        self.atoms = 0

    def refused(self, message: Phrase, at: int | None = None) -> Refused:
        """The one fault, at a word: what follows it would be misread."""
        found = self.words[self.at if at is None else at :][:1]
        line = self.text.count("\n", 0, found[0].start()) + 1 if found else None
        return Refused(Fault(self.rule, found[0][0] if found else None, message, line))

    def peek(self) -> str:
        """The next word, in lower case if it is reserved; empty at the end."""
        if self.at == len(self.words):
            return ""
        word = self.words[self.at][0]
        return word.lower() if word.lower() in _RESERVED else word

    def taken(self, word: str) -> bool:
        """Take this word, if it is next."""
        found = self.peek() == word
        self.at += found
        return found

    def branches(self) -> tuple[Branch, ...]:
        """All branches; raises `Refused`."""
        found = []
        self.at += 1
        while True:
            condition = self.condition()
            if not self.taken("then"):
                raise self.refused(Phrase("`then` is missing behind the condition"))
            found.append(Branch(condition, self.orders()))
            if not self.taken("else"):
                break
            if not self.taken("if"):
                found.append(Branch(ALWAYS, self.orders()))
                break
        if self.peek():
            raise self.refused(Phrase("`else` without `if` is the last branch"))
        if len(found) > MOST_BRANCHES:
            raise self.refused(Phrase("there are at most {most} branches", most=MOST_BRANCHES))
        return tuple(found)

    def condition(self) -> tuple[tuple[tuple[bool, Atom], ...], ...]:
        """Alternatives, between which `or` stands; `and` binds closer, and `not` closest."""
        found = [[self.atom()]]
        while True:
            if self.taken("and"):
                found[-1].append(self.atom())
            elif self.taken("or"):
                found.append([self.atom()])
            else:
                return tuple(map(tuple, found))

    def atom(self) -> tuple[bool, Atom]:
        """The words of an atom, and whether it is to hold."""
        holds = not self.taken("not")
        begins = self.at
        while self.peek() and self.peek() not in _RESERVED:
            self.at += 1
        self.atoms += 1
        if self.at == begins:
            raise self.refused(Phrase("a condition is missing here"))
        if self.atoms > MOST_ATOMS:
            raise self.refused(Phrase("there are at most {most} conditions", most=MOST_ATOMS), begins)
        return holds, tuple(word[0] for word in self.words[begins : self.at])

    def orders(self) -> str:
        """The orders up to `else` or the end, where they stand in the text, so that their faults name its lines."""
        begins = self.at
        while self.peek() and self.peek() not in _RESERVED:
            self.at += 1
        if self.at == begins:
            raise self.refused(Phrase("orders are missing here"))
        if self.peek() not in {"", "else"}:
            raise self.refused(Phrase("`{word}` cannot stand in orders", word=self.peek()))
        start, end = self.words[begins].start(), self.words[self.at - 1].end()
        return re.sub(r"[^\n]", " ", self.text[:start]) + self.text[start:end]


TheTwoSides = TypeVar("TheTwoSides", bound=TwoSides[Any, Any])


class Conditional(Game[TheOptions, TheSetup, TheOrders, TheTwoSides, TheView], Protocol):
    """A game for two whose orders may have conditions."""

    form: str
    """The ruling about their form."""
    choice: str
    """The ruling about the choice among the branches."""

    def plain(self, state: TheTwoSides, seat: int, text: str) -> TheOrders:
        """Parse and judge orders without a condition; raises `Refused`."""

    def lasting(self, state: TheTwoSides, seat: int, text: str) -> tuple[Fault, ...]:
        """The faults in orders without a condition that no later position can mend."""

    def no_atom(self, state: TheTwoSides, seat: int, atom: Atom) -> Phrase | None:
        """The reason why these words are no atom of the game; None if they are."""

    def holds(self, state: TheTwoSides, seat: int, atom: Atom, told: Sequence[Report]) -> bool:
        """True if an atom holds, by the reports that the seat was shown and by its own side."""

    def order(self, state: TheTwoSides, seat: int, text: str) -> TheOrders:
        """Parse and judge one seat's orders, of conditional ones the branch that counts; raises `Refused`."""
        if not is_conditional(text):
            return self.plain(state, seat, text)
        number, orders = self._chosen(state, seat, text)
        try:
            return self.plain(state, seat, orders)
        except Refused as refused:
            alone = Phrase("branch {number} counts, and no other; its orders are not legal", number=number)
            raise Refused(Fault(self.choice, None, alone), *refused.faults) from refused

    def branch(self, state: TheTwoSides, seat: int, text: str) -> int:
        """The number of the branch that counts in legal orders, from 1; 0 if they have no condition."""
        return self._chosen(state, seat, text)[0] if is_conditional(text) else 0

    def depends(self, text: str) -> bool:
        """True if the orders have a condition."""
        return is_conditional(text)

    def unmendable(self, state: TheTwoSides, seat: int, text: str) -> tuple[Fault, ...]:
        """The faults in orders that no later position can mend, those of all branches."""
        if not is_conditional(text):
            return self.lasting(state, seat, text)
        try:
            branches = self._branches(state, seat, text)
        except Refused as refused:
            return refused.faults
        return tuple(chain.from_iterable(self.lasting(state, seat, branch.orders) for branch in branches))

    def may(self, state: TheTwoSides, seat: int, words: Sequence[str]) -> bool:
        """True if the seat may order this in the turn: for the atom `can`."""
        return not faults(self.plain, state, seat, " ".join(words))

    def _branches(self, state: TheTwoSides, seat: int, text: str) -> tuple[Branch, ...]:
        """The branches of conditional orders, all of whose atoms are some; raises `Refused`."""
        branches = _Reading(text, self.form).branches()
        for branch in branches:
            for _, atom in chain.from_iterable(branch.condition):
                if message := self.no_atom(state, seat, atom):
                    raise Refused(Fault(self.form, " ".join(atom), message))
        return branches

    def _chosen(self, state: TheTwoSides, seat: int, text: str) -> tuple[int, str]:
        """The branch that counts, by its number, and its orders; raises `Refused`."""
        branches = self._branches(state, seat, text)
        if state.told is None:
            message = Phrase("orders for the turn that is due have no conditions: the report is here")
            raise Refused(Fault(self.choice, None, message))
        told = [shown for report in chain.from_iterable(state.told) if (shown := self.show(report, seat))]
        for number, branch in enumerate(branches, start=1):
            if any(
                all(self.holds(state, seat, atom, told) == wanted for wanted, atom in atoms)
                for atoms in branch.condition
            ):
                return number, branch.orders
        raise Refused(Fault(self.choice, None, Phrase("none of the conditions holds")))
