"""The part `recall` of Diplomacy: what a seat knows, which is all, and the position by which its program judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.games import Result
from pbem.phrase import Phrase
from pbem_diplomacy.geography import Unit
from pbem_diplomacy.movement import Dislodged
from pbem_diplomacy.notation import spelled
from pbem_diplomacy.state import ADJUSTMENT, RETREATS, Options, State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report
    from pbem_diplomacy.state import Written


def view(state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> dict[str, Any]:
    """The view of a seat, or of the public: the board, the orders of the last turn, and what is due."""
    return {
        "turn": state.turn,
        "phase": state.phase,
        "year": state.year,
        "until": state.options.until,
        "seat": seat,
        "seats": state.options.seats,
        "powers": list(state.powers),
        "units": [str(unit) for unit in state.units],
        "owned": dict(state.owned),
        "dislodged": [
            {
                "unit": str(each.unit),
                "from": each.origin,
                "by_convoy": each.by_convoy,
                "open": [*state.open_to(each.unit)],
            }
            for each in state.dislodged
        ],
        "last": [
            {"power": report["power"], "order": report["order"], "done": report["outcome"] == "ok"}
            for report in (turns[-1] if turns else ())
            if report["kind"] == "order"
        ],
        "contested": sorted(state.contested),
        "gone": sorted(state.gone),
        "over": state.result is not None,
        "winners": list(state.result.winners) if state.result else [],
        "adjustments": dict(state.adjustments) if state.phase == "winter" else {},
        "entitled": state.kind if seat in state.due else None,
    }


def recalled(view: Mapping[str, Any], seat: int) -> State:
    """The position that a view shows."""
    if view["seat"] != seat:
        raise ValueError("this is not what this seat sees")
    powers = tuple(view["powers"])
    agreed = " ".join(power.capitalize() for power in powers) or Options().powers
    return State(
        Options(agreed, view["until"], view["seats"]),
        view["phase"],
        view["year"],
        powers,
        tuple(map(Unit.read, view["units"])),
        dict(view["owned"]),
        tuple(Dislodged(Unit.read(each["unit"]), each["from"], each["by_convoy"]) for each in view["dislodged"]),
        frozenset(view["contested"]),
        frozenset(view["gone"]),
        view["turn"],
        Result(tuple(view["winners"]), ()) if view["over"] else None,
    )


def unused(state: State, seat: int, orders: Written) -> tuple[Phrase, ...]:
    """The units without an order, and the number of builds that are neither made nor waived."""
    if not state.powers:
        return ()
    power = state.powers[seat - 1]
    if state.kind == ADJUSTMENT:
        left = state.adjustments.get(power, 0) - len(orders.orders)
        return (Phrase("{count} of your builds", count=left),) if left > 0 else ()
    says = Phrase("{unit} (no order: disbands)") if state.kind == RETREATS else Phrase("{unit} (no order: holds)")
    ordered = {order.province for order in orders.orders}
    idle = [unit for unit in state.orderable if unit.power == power and unit.province not in ordered]
    return tuple(says.given(unit=f"{unit.kind} {spelled(unit.place)}") for unit in sorted(idle))
