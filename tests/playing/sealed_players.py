"""Whole sealed games, played by two or more truthful owners: for each step the table alone, and one's own secrets.

As in life nobody's secrets meet: a seat's steps come from `own` and the table. The refereed game is played beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from playing import random_players

from pbem.games import rules
from pbem.games.sealed import SealedStep, sealed_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pbem.match.record import Record


@dataclass
class Sealed:
    """A sealed game, whole: what P's page and anybody's replay need."""

    game: str
    options: Any
    setups: dict[int, str]
    orders: dict[int, dict[int, str]]
    """By seat and turn, canonical."""
    steps: list[SealedStep] = field(default_factory=list)
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
    player, judge = random_players.PLAYERS[game], rules(game)
    options = judge.options(raw, seats)
    setups = {seat: player.setup(random, options, seat) for seat in range(1, seats + 1)}
    make_orders = orders or player.orders

    def ordered(_seat: int, turn: int, view: Mapping[str, Any]) -> str | None:
        return make_orders(random, dict(view)) if turn <= most else None

    return _played(game, options, setups, ordered, random)


def followed(game: str, read: Record) -> Sealed:
    """Play the game of a record, as far as its orders go."""
    options = rules(game).options(read.options, len(read.seats))
    setups = {seat: setup for seat, (_, setup) in enumerate(read.seats, start=1)}
    given = _settled(game, options, setups, [turn.orders for turn in read.turns])

    def ordered(seat: int, turn: int, _view: Mapping[str, Any]) -> str | None:
        return given[turn - 1].get(seat) if turn <= len(given) else None

    return _played(game, options, setups, ordered, Random(0))


def _settled(
    game: str, options: Any, setups: Mapping[int, str], turns: Sequence[Mapping[int, str]]
) -> list[dict[int, str]]:
    """The orders of each turn in canonical text: what is committed to has no conditions and no target list."""
    judge = rules(game)
    state = judge.begin(options, [judge.setup(options, *each) for each in setups.items()])
    found: list[dict[int, str]] = []
    for texts in turns:
        if not state.due or not all(seat in texts for seat in state.due):
            return [*found, *map(dict, turns[len(found) :])]
        orders = {seat: forced or judge.order(state, seat, texts[seat]) for seat, forced in state.due.items()}
        found.append({seat: one.text for seat, one in orders.items()})
        state, _ = judge.turn(state, orders)
    return found


def _played(
    game: str,
    options: Any,
    setups: Mapping[int, str],
    ordered: Callable[[int, int, Mapping[str, Any]], str | None],
    random: Random,
) -> Sealed:
    """A game whose seats order so by seat, turn and own view, until one orders no more."""
    judge, sealed = rules(game), sealed_rules(game)
    assert sealed is not None
    written = {seat: judge.setup(options, seat, setup).text for seat, setup in setups.items()}
    played = Sealed(game, options, written, {seat: {} for seat in setups})
    table = sealed.begin(options)
    writer = 0
    while table.result is None:
        seat = writer if sealed.owed(table, writer) else random.choice(list(table.due))
        step = sealed.owed(table, seat)[0]
        mine = played.orders[seat]
        own = sealed.own(options, seat, written[seat], mine, table)
        if sealed.asks(own, table):
            text = ordered(seat, table.turn, sealed.own_view(own, table))
            if text is None:
                break
            mine[table.turn] = sealed.order(own, text)
            own = sealed.own(options, seat, written[seat], mine, table)
        if seat != writer:
            writer = seat
            played.letters += 1
        lines = sealed.lines(own, table, step)
        assert sealed.judge(table, seat, step, "\n ".join(" ".join(lines).split(" "))) == lines
        if step in ("open", "departs"):
            mine.setdefault(table.turn, sealed.orders(own, table.turn))
        played.tables.append(table)
        played.steps.append(SealedStep(table.turn, seat, step, lines))
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
