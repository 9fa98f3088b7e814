"""The sections that players of sealed matches write, from their own secrets and from what everybody knows of a match.

Written from docs/sealed.md with the rules alone, beside `pbem.player`, which writes the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from playing import random_players

from pbem.games.sealed import COMMIT, sealed_rules
from pbem.match.events.sealed_events import sealed, table_of
from pbem.match.sealed_game import NOTHING, ORDERS, SETUP, hashed, paper, salt
from pbem.match.sealed_letters import place
from pbem.requests import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from pbem.match.state import Match

_ORDERING = {"spaceships": random_players.sensible_orders}
"""How the orders are made of games that would else be long."""


@dataclass
class SealedWriter:
    """A player with own secrets: a seed, a setup, and orders by turn."""

    seat: int
    random: Random
    setup: str = ""
    orders: dict[int, str] = field(default_factory=dict)
    after: dict[int, str] = field(default_factory=dict)
    """By turn the head that a commitment was made after."""
    hide: Callable[[str], str] = hashed
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

    def set_up(self, match: Match) -> str:
        """The setup of a game, in any words."""
        return random_players.PLAYERS[match.terms.game].setup(self.random, match.options, self.seat)

    def order(self, match: Match, view: dict[str, Any]) -> str:
        """The orders of the turn that is asked for."""
        game = match.terms.game
        return (_ORDERING.get(game) or random_players.PLAYERS[game].orders)(self.random, view)

    def begin(self, match: Match) -> Section:
        """The commitment to the setup, which is made where there is none."""
        if not self.setup:
            assert match.options is not None
            self.setup = match.rules.setup(match.options, self.seat, self.set_up(match)).text
        return Section("commitment", (self.commitment(match),), "")

    def commitment(self, match: Match) -> str:
        where = place(match, self.seat)
        head = {"rules": match.rules_hash, "salt": salt(self.salting, where, 0, SETUP)}
        return self.hide(paper(SETUP, where, 0, head, self.setup.split("\n")))

    def owed(self, match: Match, most: int = 1000) -> Iterator[Section]:
        """All that is owed, or the first of it."""
        judge, table, seat = sealed_rules(match.terms.game), table_of(match), self.seat
        papers = [(one.turn, one.seat, one.step, one.paper) for one in sealed(match).game.steps]
        assert judge is not None
        while most and (owed := judge.owed(table, seat)):
            step, turn, most = owed[0], table.turn, most - 1
            own = judge.own(match.options, seat, self.setup, self.orders, table)
            if judge.asks(own, table):
                self.orders[turn] = judge.order(own, self.order(match, dict(judge.own_view(own, table))))
                own = judge.own(match.options, seat, self.setup, self.orders, table)
            if turn and (step == COMMIT or ORDERS in (*judge.papers[step].heads, judge.papers[step].name)):
                self.orders.setdefault(turn, judge.orders(own, turn))
            true = judge.lines(own, table, step)
            lines = self.tell(turn, step, true)
            if step == COMMIT:
                self.after[turn] = match.prev
                opened = self.open(turn, judge.lines(own, judge.enter(table, seat, COMMIT, ()), "open"))
                yield Section(step, (hashed(self._paper(match, turn, "open", opened, papers)[1]),), "")
            else:
                values, written = self._paper(match, turn, step, lines, papers)
                papers.append((turn, seat, step, hashed(written)))
                yield Section(step, tuple(values[name] for name in judge.papers[step].values), "\n".join(lines))
            if lines != true and self.stops_at_lies:
                return
            table = judge.enter(table, seat, step, lines)

    def _paper(
        self, match: Match, turn: int, step: str, lines: tuple[str, ...], papers: list[tuple[int, int, str, str]]
    ) -> tuple[dict[str, str], str]:
        """The head and the whole of a paper; `papers` are the steps so far: turn, seat, step, hash of the paper."""
        judge, where = sealed_rules(match.terms.game), place(match, self.seat)
        assert judge is not None
        kind, commitment = judge.papers[step], self.commitment(match)
        orders = ""
        if turn in self.orders:
            head = {"setup": commitment, "salt": salt(self.salting, where, turn, ORDERS)}
            orders = self.hide(
                paper(ORDERS, where, turn, head, self.orders[turn].split("\n") if self.orders[turn] else [])
            )
        this = [one for one in reversed(papers) if one[0] == turn]
        values = {
            "rules": match.rules_hash,
            "setup": commitment,
            "after": self.after.get(turn, match.prev),
            ORDERS: orders,
            "to": next((one[3] for one in this if one[1] != self.seat and one[2] in kind.to), NOTHING),
            "own": next((one[3] for one in this if one[1] == self.seat and one[2] == "open"), NOTHING),
            "salt": salt(self.salting, where, turn, kind.name),
        }
        values = {head: values[head] for head in kind.heads}
        return values, paper(kind.name, where, turn, values, lines)

    def reveals(self) -> list[Section]:
        """The papers to reveal at the end."""
        named = [Section(ORDERS, (str(turn),), text) for turn, text in sorted(self.orders.items())]
        return [Section("seed", (self.salting.hex(),), ""), Section(SETUP, (), self.setup), *named]
