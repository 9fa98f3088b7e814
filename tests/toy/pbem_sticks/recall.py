"""The sticks that are left, as each knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import Options, State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report


def view(state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> dict[str, Any]:
    del turns
    now = {"left": state.left, "turn": state.turn, "seats": state.options.seats, "seat": seat}
    return {**now, "entitled": min(state.left, 3) if seat in state.due else None}


def recalled(view: Mapping[str, Any], seat: int) -> State:
    if view["seat"] != seat:
        raise ValueError("not this seat's")
    return State(Options(seats=view["seats"]), view["left"], view["turn"])
