"""Games that differ only in what one reader cannot have learned: the other seats' secrets, varied at random.

`vary` takes a game that was played and a reader (a seat, or None for the public), changes setups and orders of the
other seats one by one, and keeps each change after which the rules show the reader exactly what they showed before.
In such a pair of worlds, everything that the reader is told must be the same: that is non-interference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Refused, parts
from pbem.testing.subject import World, play, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

    from pbem.games import Rules, State
    from pbem.testing.subject import Change, RandomPlayers


def world(judge: Rules, players: RandomPlayers, random: Random, case: int, most: int) -> World:
    """A game between random players, in canonical text."""
    played = play(judge, players, random, *players.options[case], most)
    orders = [
        {seat: judge.order(state, seat, text).text for seat, text in texts.items()}
        for state, texts in zip(played.states, played.orders, strict=False)
    ]
    return World(judge, played.options, played.setups, orders, played.chance)


def vary(random: Random, first: World, reader: int | None, changes: Iterable[Change], tries: int = 100) -> World:
    """A world in which the reader is shown the same, with as many secrets changed as could be in so many tries.

    No change leads back to the game itself, with which the world is compared.
    """
    original, before, kinds = first, first.told(reader), list(changes)
    others = [seat for seat in range(1, len(first.setups) + 1) if seat != reader]
    for _ in range(tries if kinds else 0):
        change, changed = random.choice(kinds), first.copy()
        change(random, changed, random.choice(others))
        if changed not in (original, first) and changed.told(reader) == before:
            changed.changes[getattr(change, "__name__", "change")] += 1
            first = changed
    return first


def whole(judge: Rules, players: RandomPlayers) -> list[Change]:
    """The changes that any game has: another setup of a seat, other orders in one turn, or other hidden cards."""

    def another_setup(random: Random, world: World, seat: int) -> None:
        text = players.setup(random, world.options, seat)
        world.setups[seat - 1] = world.judge.setup(world.options, seat, text).text

    def other_orders(random: Random, world: World, seat: int) -> None:
        turns = [number for number, texts in enumerate(world.orders) if seat in texts]
        if not turns:
            return
        number, told = random.choice(turns), []
        for at, (state, reports) in enumerate(world.positions()):
            if at:
                told.append(shown(world.judge, reports, seat))
            if at == number:
                if state.due[seat] is not None:
                    return
                text = players.orders(random, dict(parts.view(world.judge, state, seat, told)))
                world.orders[at][seat] = world.judge.order(state, seat, text).text
                return

    def another_chance(random: Random, world: World, _seat: int) -> None:
        world.chance[random.randrange(len(world.chance))] = random.randbytes(32).hex()

    dealt = [another_chance] if judge.secret_chance else []  # otherwise everybody can compute it
    return [another_setup, other_orders, *dealt]


def seen(found: World, reader: int | None, texts: Iterable[str] = ()) -> Iterator[tuple[str, object]]:
    """All that a reader gets to see in the course of a game, each with what it is; `texts` are what it sends."""
    told = []
    for number, (state, reports) in enumerate(found.positions()):
        if number:
            told.append(shown(found.judge, reports, reader))
            yield f"show, turn {number}", list(told[-1])
        yield f"view, after turn {number}", parts.view(found.judge, state, reader, told)
        yield f"due, after turn {number}", {seat: forced is None for seat, forced in state.due.items()}
        if reader is not None and reader in state.due:
            own = found.orders[number][reader] if number < len(found.orders) else ""
            yield f"answers to orders, turn {number + 1}", [*answers(found.judge, state, reader, [own, *texts])]


def answers(judge: Rules, state: State, reader: int, texts: Iterable[str]) -> Iterator[object]:
    """The words that a seat gets when these orders are sent or previewed."""
    for text in texts:
        try:
            orders = judge.order(state, reader, text)
        except Refused as refused:
            yield refused.faults
        else:
            yield orders.text, parts.unused(judge, state, reader, orders)
