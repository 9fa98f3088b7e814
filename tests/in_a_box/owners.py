"""Owners in sealed matches: sides whose agent answers, and who decide by chance on what it asks for."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

from in_a_box.referee import new
from in_a_box.table import Side
from playing import random_players

from pbem.failpoints import passing
from pbem.match.events.sealed_events import sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from in_a_box.machine import Machine
    from in_a_box.referee import Mailbox, Referee

    from pbem.failpoints import Failpoints
    from pbem.match.state import Match
    from pbem.player.server_letter import Event

RAW: dict[str, dict[str, Any]] = {
    "spaceships": {"fleet": "cost:4"},
    "dueling-masters": {"max_turns": 30},
    "shoot-em-up": {"board": "7x7", "max_turns": 8},
}
"""Short games."""
ORDERS = {"spaceships": random_players.sensible_orders}


class Owner(Side):
    """A side with an agent, whose player follows chance."""

    def __init__(self, referee: Referee, person: Mailbox, path: Path, failpoint: Failpoints = passing) -> None:
        super().__init__(referee, person, path, failpoint)
        self.chance = ""
        self.decided = 0
        self.heard: list[Event] = []

    def look(self) -> list[Event]:
        """Run one pass of `pbem agent`, and answer as its player."""
        events = self.receive()
        events += self.agent.hear(events, self.referee.now)
        self.heard += events
        self.flush()
        self.agent.act(self.referee.now)
        for standing in self.letters.matches.standings:
            if standing.phase == "proposed" and not standing.accepted:
                self.letters.accept(standing.match, self.referee.now)
            elif standing.sealed and self.agent.asks(standing.match):
                self.decide(standing.match)
        self.flush()
        return events

    def decide(self, match: str) -> None:
        """Choose a setup, or orders: always the same at one place."""
        standing = self.letters.matches.standing(match)
        self.decided += 1
        game, where = standing.rules, (standing.game, standing.turn, standing.seat)
        if standing.revealing:
            self.agent.reveal(match, self.referee.now)
            return
        if standing.phase == "setup":
            options = self.letters.judge.options(match)
            rnd = Random(f"{self.person.name} {self.chance} {where}")
            text = random_players.PLAYERS[game].setup(rnd, options, standing.seat)
            self.agent.set_up(match, text, self.referee.now)
            return
        shown = self.agent.shown(match)
        give = ORDERS.get(game) or random_players.PLAYERS[game].orders
        rnd = Random(f"{self.person.name} {self.chance} {standing.game} {shown.turn}")
        self.agent.order(match, give(rnd, dict(shown.view)), self.referee.now)

    @property
    def texts(self) -> list[str]:
        return [self.person.letters.text(at) for at in range(len(self.person.letters))]

    @property
    def accusations(self) -> list[str]:
        """The faults that it found."""
        return [event.said for event in self.heard if event.kind in {"contradiction", "forged"}] + [
            alarm.said for alarm in self.memory.alarms()
        ]

    @property
    def refusals(self) -> list[tuple[str, ...]]:
        """The faults for which the server refused its letters."""
        return [event.faults for event in self.heard if event.kind == "answer" and event.said == "refused"]


@contextmanager
def seated(referee: Referee, folder: Path, *kinds: type[Owner]) -> Iterator[list[Owner]]:
    """Ann and Bob, registered, as owners of these kinds."""
    with ExitStack() as stack:
        found = [
            stack.enter_context(closing(kind(referee, referee.person(name), folder / name / "memory.sqlite")))
            for name, kind in zip(("ann", "bob"), kinds, strict=True)
        ]
        for owner in found:
            owner.register()
        yield found


def steps_of(match: Match, seat: int) -> int:
    """The number of a seat's steps in the sealed game."""
    return sum(step.seat == seat for step in sealed(match).game.steps)


def propose(referee: Referee, players: Sequence[Side | Mailbox], game: str, options: str = "") -> None:
    """A sealed match that is proposed by the first."""
    first, *others = (player.person if isinstance(player, Side) else player for player in players)
    raw = "\n".join(f"{name}: {value}" for name, value in RAW[game].items())
    form = new(first, game, *(other.name for other in others), options=f"sealed: yes\n{raw}{options}")
    referee.send(first, form)


def live(owners: Sequence[Owner | Machine]) -> Iterator[Owner | Machine]:
    """Pass after pass, each owner in turn, until nothing comes; each whose pass brought something."""
    for _ in range(4000):
        moved = False
        for owner in owners:
            before = len(owner.sent)
            if owner.look() or len(owner.sent) > before:
                moved = True
                yield owner
        if not moved:
            return
    raise AssertionError("it goes on for ever")


def live_out(owners: Sequence[Owner | Machine]) -> None:
    for _ in live(owners):
        pass


def live_until(owners: Sequence[Owner | Machine], condition: Callable[[], object]) -> None:
    """Until then, or until nothing comes any more."""
    for _ in live(owners):
        if condition():
            return


def in_second_turn(referee: Referee, owners: Sequence[Owner]) -> None:
    """Begin a sealed game of Spaceships, and stop in its second turn or later, when the second owner has moved."""
    propose(referee, owners, "spaceships")
    for owner in live(owners):
        if owner is owners[1] and referee.match().turn > 1:
            break
