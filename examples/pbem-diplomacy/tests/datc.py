"""The cases of the DATC, as objects: each step of a case is run alone."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pbem_diplomacy.geography import Unit
from pbem_diplomacy.movement import Dislodged
from pbem_diplomacy.orders import CONVOY, MOVE, RETREAT, SUPPORT, Order

if TYPE_CHECKING:
    from collections.abc import Iterator


class Step(NamedTuple):
    """One phase of a case: its number, such as `6.A.1`, and its facts."""

    id: str
    facts: dict[str, Any]

    @property
    def units(self) -> list[Unit]:
        """The units on the board."""
        return [Unit.read(text) for text in self.facts["units"]]

    @property
    def orders(self) -> list[Order]:
        """The orders, as the case gives them."""
        return [read(text) for text in self.facts["orders"]]

    @property
    def dislodged(self) -> list[Dislodged]:
        """The dislodged units."""
        found = self.facts.get("dislodged", [])
        return [Dislodged(Unit.read(one["unit"]), one["from"], one.get("by_convoy", False)) for one in found]


def steps(phase: str) -> Iterator[Step]:
    """All steps of this phase."""
    cases = tomllib.loads((Path(__file__).parent / "cases.toml").read_text("utf-8"))["case"]
    for case in cases:
        for facts in case.get("step", [case]):
            if facts["phase"] == phase:
                yield Step(case["id"], facts)


def read(text: str) -> Order:
    """The order of a text in the notation of the cases, such as `ENGLAND F NTH C A LON - BEL`."""
    power, kind, place, verb, *rest = text.split()
    order = Order(power, kind, place, verb)
    if verb in {SUPPORT, CONVOY}:
        of_kind, of_place, *to = rest
        return order._replace(of_kind=of_kind, of_place=of_place, to=to[-1] if to else "")
    return order._replace(to=rest[0], via="VIA" in rest) if verb in {MOVE, RETREAT} else order
