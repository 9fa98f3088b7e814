"""The part `recall` of Liar's Dice: what a seat knows, and the position that its own program judges orders by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.games import Result
from pbem_liars_dice import Bid, Options, State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report


def view(state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> dict[str, Any]:
    """The view of a seat, or of the public: its own dice, and all that is open."""
    del turns  # nothing that was shown before is still under a cup
    return {
        "turn": state.turn,
        "ones": state.options.ones,
        "dice": state.options.dice,
        "over": state.result is not None,
        "seat": seat,
        "own": list(state.hands[seat - 1]) if seat and state.seat else [],
        "counts": {str(owner): count for owner, count in enumerate(state.scores, start=1)},
        "bid": state.bid._asdict() if state.bid else None,
        "due": state.seat,
        "entitled": list(state.entitled) if seat in state.due else None,
    }


def recalled(view: Mapping[str, Any], seat: int) -> State:
    """The position as far as a view shows it: enough to judge the orders of its seat."""
    if view["seat"] != seat:
        raise ValueError("these are not the dice of this seat")
    hands = [(0,) * view["counts"][str(owner)] for owner in range(1, len(view["counts"]) + 1)]
    hands[seat - 1] = tuple(view["own"]) or hands[seat - 1]
    bid = Bid(**view["bid"]) if view["bid"] else None
    result = Result((), (0,) * len(hands)) if view["over"] else None
    options = Options(view["dice"], view["ones"], len(hands))
    return State(options, tuple(hands), view["due"], bid, view["turn"], result)
