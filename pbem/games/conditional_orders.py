"""Conditional orders: branches of which the first counts whose condition holds, and no other.

Here live their words, which are the same in every game, and the choice. A game says what its atoms are and when they
hold: by the reports that the seat itself was shown, and by what it may order; so the choice tells nothing about the
other side. Implements rulings 38 and 39 of Dueling Masters, 41 and 42 of Spaceships.
"""

from __future__ import annotations

import re
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from pbem.games import Fault, Orders_co, Refused, faults, part_of
from pbem.games.player_text import WORDS, blanked
from pbem.games.two_sides import TwoSides
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.games import Report

MOST_BRANCHES: Final = 8
MOST_ATOMS: Final = 16

Atom = tuple[str, ...]
"""The words of an atom."""
Condition = tuple[tuple[tuple[bool, Atom], ...], ...]
"""Alternatives of atoms that all must hold (True) or not hold."""

# No re.I: it would take a dotless i for an i, and `str.lower` would not.
_BEGINS: Final = re.compile(r"(?:[\s,;]|#[^\n\r]*+)*+[Ii][Ff](?=[\s,;#]|\Z)")
_RESERVED: Final = frozenset({"if", "then", "else", "and", "or", "not"})


class Branch(NamedTuple):
    """A branch of conditional orders as it would be judged now, to be shown to its player."""

    number: int
    condition: Condition
    """Alternatives of atoms that all must hold (True) or not hold; that of `else` is ((),)."""
    text: str
    """Canonical if the orders would be legal now, and stand for nothing else by then; otherwise as written."""
    as_written: bool = False
    faults: tuple[Fault, ...] = ()


class _Branch(NamedTuple):
    condition: Condition
    orders: str


ALWAYS: Final[Condition] = ((),)
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

    def branches(self) -> tuple[_Branch, ...]:
        """All branches; raises `Refused`."""
        found = []
        self.at += 1
        while True:
            condition = self.condition()
            if not self.taken("then"):
                raise self.refused(Phrase("`then` is missing behind the condition"))
            found.append(_Branch(condition, self.orders()))
            if not self.taken("else"):
                break
            if not self.taken("if"):
                found.append(_Branch(ALWAYS, self.orders()))
                break
        if self.peek():
            raise self.refused(Phrase("`else` without `if` is the last branch"))
        if len(found) > MOST_BRANCHES:
            raise self.refused(Phrase("there are at most {most} branches", most=MOST_BRANCHES))
        return tuple(found)

    def condition(self) -> Condition:
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


def condition_of(game: str, text: str, number: int) -> Phrase | str | None:
    """The condition of a branch of judged conditional orders, in words; None for `else`."""
    return condition_said(game, _Reading(text, "").branches()[number - 1].condition)


def condition_said(game: str, condition: Condition) -> Phrase | str | None:
    """A condition in words, in the second person; None for that of `else`, which always holds."""
    say: Callable[[Atom], Phrase | str] = getattr(part_of(game, "words"), "atom_said", " ".join)
    alternatives: list[Phrase | str] = []
    for atoms in filter(None, condition):
        said = [say(atom) if holds else Phrase("not ({what})", what=say(atom)) for holds, atom in atoms]
        alternatives.append(reduce(lambda one, other: Phrase("{one} and {other}", one=one, other=other), said))
    if not alternatives:
        return None
    return reduce(lambda one, other: Phrase("{one}, or {other}", one=one, other=other), alternatives)


def branch_said(game: str, branch: Branch) -> Phrase:
    """A branch in words: when it counts, and what it orders."""
    say = getattr(part_of(game, "words"), "said", str.splitlines)
    said: Sequence[Phrase | str] = [branch.text] if branch.as_written else say(branch.text)
    orders = reduce(lambda one, other: Phrase("{one}, {other}", one=one, other=other), said)
    condition = condition_said(game, branch.condition)
    if condition is None:
        return Phrase("branch {number}, otherwise: {orders}", number=branch.number, orders=orders)
    return Phrase(
        "branch {number}, if {condition}: {orders}", number=branch.number, condition=condition, orders=orders
    )


TheTwoSides = TypeVar("TheTwoSides", bound=TwoSides[Any, Any])


class Conditional(Protocol[TheTwoSides, Orders_co]):
    """The conditions of orders in a game for two: its part `conditions`, with its `order` and `ahead`."""

    form: str
    """The ruling about their form."""
    choice: str
    """The ruling about the choice among the branches."""
    asked_about: int
    """The number of turns whose reports conditions ask about."""

    def plain(self, state: TheTwoSides, seat: int, text: str) -> Orders_co:
        """Parse and judge orders without a condition; raises `Refused`."""

    def lasting(self, state: TheTwoSides, seat: int, text: str) -> tuple[Fault, ...]:
        """The faults in orders without a condition that no later position can mend."""

    def no_atom(self, state: TheTwoSides, seat: int, atom: Atom) -> Phrase | None:
        """The reason why these words are no atom of the game; None if they are."""

    def holds(self, state: TheTwoSides, seat: int, atom: Atom, told: Sequence[Report]) -> bool:
        """True if an atom holds, by the reports that the seat was shown and by its own side."""

    def show(self, report: Report, seat: int | None) -> Report | None:
        """The part of a report that the seat may read."""

    def order(self, state: TheTwoSides, seat: int, text: str) -> Orders_co:
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

    def branches(self, state: TheTwoSides, seat: int, text: str) -> tuple[Branch, ...]:
        """The branches of conditional orders, each as it would be judged now."""
        if not is_conditional(text):
            return ()
        return tuple(
            self._shown(state, seat, number, branch)
            for number, branch in enumerate(self._branches(state, seat, text), start=1)
        )

    def _shown(self, state: TheTwoSides, seat: int, number: int, branch: _Branch) -> Branch:
        written = " ".join(branch.orders.split())
        found = faults(self.plain, state, seat, branch.orders)
        if found or self.depends(branch.orders):
            return Branch(number, branch.condition, written, as_written=True, faults=found)
        return Branch(number, branch.condition, self.plain(state, seat, branch.orders).text)

    def depends(self, text: str) -> bool:
        """True if the orders have a condition."""
        return is_conditional(text)

    def with_reports(self, state: TheTwoSides, turns: Sequence[Sequence[Report]]) -> TheTwoSides:
        """The same, with the reports on which conditions rest."""
        return state._replace(told=tuple(tuple(reports) for reports in turns[-self.asked_about :]))

    def ahead(self, state: TheTwoSides, seat: int, _turn: int, text: str) -> tuple[Fault, ...]:
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

    def _branches(self, state: TheTwoSides, seat: int, text: str) -> tuple[_Branch, ...]:
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
