"""The steps of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import Report

    from . import State


def view(state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> dict[str, Any]:
    del turns
    now = {"scores": list(state.scores), "turn": state.turn, "seat": seat}
    return {**now, "entitled": "walk" if seat in state.due else None}
