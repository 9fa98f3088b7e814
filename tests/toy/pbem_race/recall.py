"""The score, and the own cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import Report

    from . import State


def view(state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> dict[str, Any]:
    cards = [report["number"] for turn in turns for report in turn if report["kind"] == "card"]
    now = {"scores": list(state.scores), "turn": state.turn, "seat": seat, "cards": cards if seat else []}
    return {**now, "entitled": "throw" if seat in state.due else None}
