"""The sections that players of sealed matches write, from their own secrets and from public knowledge.

Written from docs/sealed.md with the rules alone, beside `pbem.player`, which writes the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from playing import random_players

from pbem.games.sealed import COMMIT, sealed_rules
from pbem.match.sealed_game import NOTHING, ORDERS, SETUP, PaperPlace, hashed, paper, salt
from pbem.requests import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

_ORDERING = {"spaceships": random_players.sensible_orders}
"""How the orders are made of games that would else be long."""


class Known(NamedTuple):
    """The public knowledge of a game."""

    game: str
    options: Any
    place: PaperPlace
    terms: str
    prev: str
    table: Any
    papers: list[tuple[int, int, str, str]]
    """Of the steps so far: turn, seat, step, hash of the paper."""


class SealedWriter:
    """A player with own secrets: a seed, a setup, and orders by turn."""

    random: Random
    setup: str
    orders: dict[int, str]
    after: dict[int, str]
    """By turn the head that a commitment was made after."""
    hide: Callable[[str], str] = staticmethod(hashed)
    """What hides a secret paper."""
    stops_at_lies: ClassVar[bool] = True
    """Whether a letter ends with what is told falsely: it may be nothing that can be entered."""

    @property
    def salting(self) -> bytes:
        """The seed of all salts."""
        raise NotImplementedError

    def tell(self, _turn: int, _step: str, lines: tuple[str, ...]) -> tuple[str, ...]:
        """The lines to send in place of the true ones of a step."""
        return lines

    def open(self, turn: int, lines: tuple[str, ...]) -> tuple[str, ...]:
        """The lines to commit to in place of the true ones."""
        return self.tell(turn, "open", lines)

    def order(self, known: Known, view: dict[str, Any]) -> str:
        """The orders of the turn that is asked for."""
        return (_ORDERING.get(known.game) or random_players.PLAYERS[known.game].orders)(self.random, view)

    def commitment_to(self, place: PaperPlace, terms: str) -> str:
        """The commitment to the setup."""
        head = {"rules": terms, "salt": salt(self.salting, place, 0, SETUP)}
        return self.hide(paper(SETUP, place, 0, head, self.setup.split("\n")))

    def owed(self, known: Known, most: int = 1000) -> Iterator[Section]:
        """All that is owed, or the first of it."""
        sealed, table, seat, papers = sealed_rules(known.game), known.table, known.place.seat, [*known.papers]
        assert sealed is not None
        while most and (owed := sealed.owed(table, seat)):
            step, turn, most = owed[0], table.turn, most - 1
            own = sealed.own(known.options, seat, self.setup, self.orders, table)
            if sealed.asks(own, table):
                self.orders[turn] = sealed.order(own, self.order(known, dict(sealed.own_view(own, table))))
                own = sealed.own(known.options, seat, self.setup, self.orders, table)
            if turn and (step == COMMIT or ORDERS in (*sealed.papers[step].heads, sealed.papers[step].name)):
                self.orders.setdefault(turn, sealed.orders(own, turn))
            true = sealed.lines(own, table, step)
            lines = self.tell(turn, step, true)
            if step == COMMIT:
                self.after[turn] = known.prev
                opened = self.open(turn, sealed.lines(own, sealed.enter(table, seat, COMMIT, ()), "open"))
                yield Section(step, (hashed(self._paper(known, turn, "open", opened, papers)[1]),), "")
            else:
                values, written = self._paper(known, turn, step, lines, papers)
                papers.append((turn, seat, step, hashed(written)))
                yield Section(step, tuple(values[name] for name in sealed.papers[step].values), "\n".join(lines))
            if lines != true and self.stops_at_lies:
                return
            table = sealed.enter(table, seat, step, lines)

    def _paper(
        self, known: Known, turn: int, step: str, lines: tuple[str, ...], papers: list[tuple[int, int, str, str]]
    ) -> tuple[dict[str, str], str]:
        sealed, where = sealed_rules(known.game), known.place
        assert sealed is not None
        kind, commitment = sealed.papers[step], self.commitment_to(where, known.terms)
        orders = ""
        if turn in self.orders:
            head = {"setup": commitment, "salt": salt(self.salting, where, turn, ORDERS)}
            orders = self.hide(
                paper(ORDERS, where, turn, head, self.orders[turn].split("\n") if self.orders[turn] else [])
            )
        this = [one for one in reversed(papers) if one[0] == turn]
        values = {
            "rules": known.terms,
            "setup": commitment,
            "after": self.after.get(turn, known.prev),
            ORDERS: orders,
            "to": next((one[3] for one in this if one[1] != where.seat and one[2] in kind.to), NOTHING),
            "own": next((one[3] for one in this if one[1] == where.seat and one[2] == "open"), NOTHING),
            "salt": salt(self.salting, where, turn, kind.name),
        }
        values = {head: values[head] for head in kind.heads}
        return values, paper(kind.name, where, turn, values, lines)

    def reveals(self) -> list[Section]:
        """The papers to reveal at the end."""
        named = [Section(ORDERS, (str(turn),), text) for turn, text in sorted(self.orders.items())]
        return [Section("seed", (self.salting.hex(),), ""), Section(SETUP, (), self.setup), *named]
