"""Random turns: the order of orders does not matter, and another algorithm finds the same.

`python tests/test_random_turns.py 100000` compares as many as you like.
"""

from __future__ import annotations

import sys
from random import Random

from datc import steps
from pbem_diplomacy.geography import standard
from pbem_diplomacy.movement import DISLODGED, GIVEN, MOVES, Movement
from pbem_diplomacy.orders import CONVOY, SUPPORT, Position
from random_turns import changed_turn, random_turn
from second_adjudicator import SecondAdjudicator

CASES = [(step.units, step.orders) for step in steps("movement") if len(step.orders) > 3]


def compare(seed: int) -> str:
    """The knot that the turn of this seed has: `circle`, `paradox`, or none; raises AssertionError if two differ."""
    random = Random(seed)
    units, orders = changed_turn(random, *random.choice(CASES)) if seed % 2 else random_turn(random)
    position = Position.of(standard(), units)
    first = Movement(position, orders)
    result = first.result()
    knots = {answer.why for answer in first.known.values()} & {"circle", "paradox"}
    moved = {at for at in first.moves if first.ask(MOVES, at)}
    second = SecondAdjudicator(position, orders)
    if moved != second.moved():
        # By its guesses, the second may contradict itself where several circles meet; never the first.
        for at in first.moves:
            second.resolve(at)
        assert not second.confirms(dict(second.resolved)), f"seed {seed}"
        assert "paradox" in knots or second.confirms(_results(first)), f"seed {seed}"
        knots.add("second failed")
    shuffled = Movement(position, random.sample(orders, len(orders))).result()
    assert shuffled[1:] == result[1:], f"seed {seed}"
    assert sorted(shuffled.outcomes) == sorted(result.outcomes), f"seed {seed}"
    return max(knots, default="")


def _results(first: Movement) -> dict[str, bool]:
    """The result of each order: a fleet carries as long as it stays."""
    found = {at: bool(first.ask(MOVES, at)) for at in first.moves}
    found |= {at: bool(first.ask(GIVEN, at)) for at, order in first.orders.items() if order.verb == SUPPORT}
    return found | {at: not first.ask(DISLODGED, at) for at, order in first.orders.items() if order.verb == CONVOY}


def test_another_algorithm_finds_the_same() -> None:
    knots = [compare(seed) for seed in range(1500)]
    assert knots.count("circle") > 10
    assert knots.count("paradox") > 10


if __name__ == "__main__":
    found = [compare(seed) for seed in range(int(sys.argv[1]))]
    print(len(found), "turns alike, circles:", found.count("circle"), "paradoxes:", found.count("paradox"))
    print("turns in which the second contradicts itself:", found.count("second failed"))
