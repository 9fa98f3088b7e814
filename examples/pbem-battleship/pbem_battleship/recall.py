"""The part `recall` of Battleship: what a seat knows, and the position that its own program judges orders by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.games import Result
from pbem_battleship import Options, Side, State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report


def view(state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> dict[str, Any]:
    """The view of a seat, or of the public: its own ships from the state, all else from what it was shown."""
    shots = [shot for reports in turns for shot in reports]
    of = {str(owner): [shot for shot in shots if shot["seat"] != owner] for owner in (1, 2)}
    last = turns[-1] if turns else ()
    return {
        "turn": state.turn,
        "shots": state.options.shots,
        "turns": state.options.turns,
        "over": state.result is not None,
        "seat": seat,
        "own": {name: list(cells) for name, cells in state.sides[seat - 1].ships.items()} if seat else None,
        "seas": {owner: {shot["square"]: shot["result"] for shot in of[owner]} for owner in of},
        "sunk": {owner: [shot["sunk"] for shot in of[owner] if "sunk" in shot] for owner in of},
        "last": {owner: [shot["square"] for shot in last if str(shot["seat"]) != owner] for owner in of},
        "entitled": {"shots": state.shots(seat)} if seat and seat in state.due else None,
    }


def recalled(view: Mapping[str, Any], seat: int) -> State:
    """The position as far as a view shows it: enough to judge the orders of its seat."""
    ships = {name: tuple(cells) for name, cells in dict(view["own"]).items()}
    own = Side(ships, frozenset(view["seas"][str(seat)]), frozenset(view["seas"][str(3 - seat)]))
    sides = (own, Side()) if seat == 1 else (Side(), own)
    result = Result((), (0, 0)) if view["over"] else None
    return State(Options(view["shots"], view["turns"]), view["turn"], sides, result)
