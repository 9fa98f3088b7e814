"""Whole sealed games, played by two or more truthful owners: for each step the table alone, and one's own secrets.

As in life nobody's secrets meet: a seat's steps come from `own` and the table. The refereed game is played beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import random_players

from pbem.games import rules
from pbem.games.sealed import Step, sealed_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from random import Random


@dataclass
class Sealed:
    """A sealed game, whole: what P's page and anybody's replay need."""

    game: str
    options: Any
    setups: dict[int, str]
    orders: dict[int, dict[int, str]]
    """By seat and turn, canonical."""
    steps: list[Step] = field(default_factory=list)
    letters: int = 0
    tables: list[Any] = field(default_factory=list)
    """The table before each step, and after the last."""


def play(
    game: str,
    random: Random,
    raw: Mapping[str, Any],
    seats: int,
    most: int = 1000,
    orders: Callable[[Random, dict[str, Any]], str] | None = None,
) -> Sealed:
    """Play a sealed game to its end as told, or to a number of turns; each seat orders from its own view."""
    player, judge, sealed = random_players.PLAYERS[game], rules(game), sealed_rules(game)
    assert sealed is not None
    options = judge.options(raw, seats)
    setups = {
        seat: judge.setup(options, seat, player.setup(random, options, seat)).text for seat in range(1, seats + 1)
    }
    played = Sealed(game, options, setups, {seat: {} for seat in setups})
    table = sealed.begin(options)
    make_orders = orders or player.orders
    writer = 0
    while table.result is None and len(table.played) < most:
        seat = writer if sealed.owed(table, writer) else random.choice(list(table.due))
        if seat != writer:
            writer = seat
            played.letters += 1
        step = sealed.owed(table, seat)[0]
        own = sealed.own(options, seat, setups[seat], played.orders[seat], table)
        if sealed.asks(own, table):
            text = sealed.order(own, make_orders(random, dict(sealed.own_view(own, table))))
            played.orders[seat][table.turn] = text
            own = sealed.own(options, seat, setups[seat], played.orders[seat], table)
        lines = sealed.lines(own, table, step)
        assert sealed.judge(table, seat, step, "\n ".join(" ".join(lines).split(" "))) == lines
        if step in ("open", "departs"):
            played.orders[seat].setdefault(table.turn, sealed.orders(own, table.turn))
        played.tables.append(table)
        played.steps.append(Step(table.turn, seat, step, lines))
        table = sealed.enter(table, seat, step, lines)
    played.tables.append(table)
    return played


def refereed(played: Sealed) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """The states and reports of the same game by the referee's rules."""
    judge = rules(played.game)
    state = judge.begin(played.options, [judge.setup(played.options, *each) for each in played.setups.items()])
    for _ in played.tables[-1].played:
        if not state.due:
            break  # by ruling 27 of Dueling Masters, of which the table cannot know
        given = {
            seat: forced or judge.order(state, seat, played.orders[seat][state.turn])
            for seat, forced in state.due.items()
        }
        before = state
        state, reports = judge.turn(state, given)
        yield before, reports
    yield state, []
