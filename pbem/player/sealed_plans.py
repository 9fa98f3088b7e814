"""Orders in advance in sealed matches: they wait on their player's machine until their turn asks for orders.

No letter holds them, nor any note: they are a file in the vault, and what is committed to in the end are canonical
orders, as if their player had typed them. Of conditional ones, the agent chooses the branch by the reports that it
checked itself. Pure, except for the vault. Implements docs/playing.md, "Sealed matches".
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from pbem.games import Refused, parts, rules
from pbem.phrase import Phrase
from pbem.player.correspondence.judge import judged_ahead
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.results import PlayResult, ToldLine, indented
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pbem.games import Fault
    from pbem.match.view import MatchView
    from pbem.player.correspondence.judge import Judged
    from pbem.player.results import Say
    from pbem.player.sealed_view import OrdersAsked, SealedSide
    from pbem.player.secret_vault import Secrets, SecretVault


class Followed(PlayResult, frozen=True):
    """Orders in advance that count now."""

    match: str
    turn: int
    branch: int
    """The number of the branch that counts; 0 if they had no conditions."""
    orders: str
    """Canonical."""

    def told(self, say: Say) -> Iterator[ToldLine]:
        """Which orders count."""
        count = Phrase("{match}, turn {turn}: the orders that waited here count:")
        if self.branch:
            count = Phrase("{match}, turn {turn}: of the orders that waited here, branch {branch} counts:")
        yield ToldLine(count.given(match=self.match, turn=self.turn, branch=self.branch))
        yield ToldLine(indented(self.orders or say(Phrase("nothing"))).rstrip())


class Unused(NamedTuple):
    """Orders in advance for the turn that asks for orders, which do not count, and why."""

    text: str
    faults: tuple[Fault, ...]


class Plans(NamedTuple):
    """The orders in advance of a match, as its player sees them."""

    waiting: Mapping[int, str] = {}
    """The orders that may still count, by turn, and default orders at `DEFAULT`."""
    unused: Unused | None = None
    first: int = 0
    """The first turn that can be ordered in advance; 0 if none can."""


class Planning(NamedTuple):
    """A game of a player who may order in advance, and what it asks for now."""

    standing: MatchView
    game: SealedSide
    asked: OrdersAsked
    """Own side and table now, or as they will be when what is due has been answered."""
    due: bool
    """True if orders are asked for."""
    secrets: Secrets

    @property
    def setup(self) -> str:
        """The commitment to the own setup."""
        return self.game.commitment(self.secrets)

    @property
    def first(self) -> int:
        """The first turn that can be ordered in advance."""
        decided = [turn + 1 for turn in self.secrets.by_turn]
        return max([self.asked.table.turn + self.due, *decided])

    def judged(self, turn: int, text: str, plans: Mapping[int, str]) -> Judged:
        """Judge orders for a later turn, or default orders, by what nothing could mend.

        Raises `Refused`, `Impossible`.
        """
        match, seat = self.standing.match, self.standing.seat
        if turn != DEFAULT and turn < self.first:
            raise Impossible("It is too late to order turn {turn} of {match} in advance.", turn=turn, match=match)
        judge, state = rules(self.standing.rules), self.game.rules.recalled(self.asked.own, self.asked.table)
        before = self.secrets.by_turn.get(turn - 1, plans.get(turn - 1)) if turn != DEFAULT else None
        return judged_ahead(judge, state, seat, turn, text, "default", before)

    def waiting(self, plans: Mapping[int, str]) -> dict[int, str]:
        """The orders in advance that may still count, by turn: of a stopped match, also those that are due."""
        first = self.asked.table.turn if self.due else self.first
        return {turn: text for turn, text in sorted(plans.items()) if turn == DEFAULT or turn >= first}

    def chosen(self, plans: Mapping[int, str], now: datetime) -> str | None:
        """The orders in advance for the turn that asks for orders; by default, once its deadline is over."""
        if not self.due:
            return None
        deadline = self.standing.deadline
        missed = bool(deadline) and datetime.fromisoformat(str(deadline)) <= now
        return plans.get(self.asked.table.turn, plans.get(DEFAULT) if missed else None)

    def followed(self, text: str) -> Followed:
        """The orders for which those in advance stand in the turn that asks for some; raises `Refused`."""
        orders, branch = canonical(self.standing, self.game, self.asked, text, planned=True)
        return Followed(self.standing.match, self.asked.table.turn, branch, orders)

    def unused(self, plans: Mapping[int, str], now: datetime) -> Unused | None:
        """The orders in advance that do not count in the turn that asks for orders."""
        text = self.chosen(plans, now)
        if text is None:
            return None
        try:
            self.followed(text)
        except Refused as refused:
            return Unused(text, refused.faults)
        return None


class OrdersInAdvance:
    """The orders in advance of an account's sealed matches; `planning` gives a match's game, where they may wait."""

    def __init__(self, vault: SecretVault, planning: Callable[[str], Planning]) -> None:
        self._vault = vault
        self._planning = planning

    def _kept(self, planning: Planning) -> dict[int, str]:
        return self._vault.plans(planning.standing.match, planning.standing.game, planning.setup)

    def _keep(self, planning: Planning, plans: Mapping[int, str]) -> None:
        self._vault.keep_plans(planning.standing.match, planning.standing.game, planning.setup, plans)

    def followed(self, planning: Planning, now: datetime) -> Followed | None:
        """The orders for which those in advance stand in the turn that asks for some; None if they are not legal."""
        text = planning.chosen(self._kept(planning), now)
        try:
            return None if text is None else planning.followed(text)
        except Refused:
            return None  # `unused` says why

    def judge(self, match: str, turn: int, text: str) -> Judged:
        """Judge orders for a later turn, or default orders; raises `Refused`, `Impossible`, `Contradiction`."""
        planning = self._planning(match)
        return planning.judged(turn, text, self._kept(planning))

    def store(self, match: str, turn: int, text: str) -> None:
        """Keep orders for a later turn, or default orders, until they count. Raises as `judge`."""
        with self._vault.alone():
            planning = self._planning(match)
            plans = self._kept(planning)
            planning.judged(turn, text, plans)
            self._keep(planning, planning.waiting(plans) | {turn: text})

    def forget(self, match: str, turn: int) -> None:
        """Forget orders for a later turn, or default orders; raises `Impossible` if there are none."""
        with self._vault.alone():
            planning = self._planning(match)
            plans = self._kept(planning)
            if turn not in planning.waiting(plans):
                raise Impossible("Nothing waits in {match} that could be taken back.", match=match)
            del plans[turn]
            self._keep(planning, plans)

    def plans(self, match: str, now: datetime) -> Plans:
        """The orders in advance that wait here, and those for the turn that is due which do not count."""
        try:
            planning = self._planning(match)
            plans = self._kept(planning)
            waiting, unused = planning.waiting(plans), planning.unused(plans, now)
            if unused is not None:
                waiting.pop(planning.asked.table.turn, None)
            return Plans(waiting, unused, planning.first)
        except (Contradiction, Impossible, Refused):
            return Plans()


def canonical(
    standing: MatchView, game: SealedSide, asked: OrdersAsked, text: str, *, planned: bool = False
) -> tuple[str, int]:
    """The orders that are committed to, canonical and by what the player knows now, and their branch, if any.

    Only orders in advance (`planned`) may have conditions. Raises `Refused`.
    """
    judge, branch = rules(standing.rules), 0
    if parts.depends(judge, text):
        state = game.rules.recalled(asked.own, asked.table)
        if planned:
            state = parts.with_reports(judge, state, asked.table.played)
        orders = judge.order(state, standing.seat, text).text
        branch = parts.branch(judge, state, standing.seat, text)
        text = orders
    return game.rules.order(asked.own, text), branch
