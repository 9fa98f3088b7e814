"""Games of an archive, replayed phase by phase: our positions beside those that the archive has.

An archive is a folder of JSON files, each with one game as the package `diplomacy` writes it, and the research on the
game: `phases`, each with a `name` such as `S1901M`, the `state` before it, and its `orders`.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from datc import read
from pbem_diplomacy.geography import Unit, standard
from pbem_diplomacy.orders import WAIVE, Order
from pbem_diplomacy.state import Options, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PHASES: Final = {
    ("S", "M"): "spring",
    ("S", "R"): "spring retreats",
    ("F", "M"): "fall",
    ("F", "R"): "fall retreats",
    ("W", "A"): "winter",
}
"""Our name of each phase, by the first and the last letter of theirs."""


class Position(NamedTuple):
    """A position, as far as an archive tells it."""

    units: frozenset[Unit]
    """The units on the board, without the dislodged ones."""
    open: Mapping[Unit, frozenset[str]]
    """The places to which each dislodged unit may retreat; a unit that can retreat nowhere is left out."""
    owned: Mapping[str, str]
    """The power that owns each centre."""

    @classmethod
    def archived(cls, phase: Mapping[str, Any]) -> Position:
        """The position before a phase, by the archive; units that must retreat bear a `*` there."""
        state = phase["state"]
        units = [Unit.read(f"{power} {unit}") for power, all_of in state["units"].items() for unit in all_of]
        places = {
            Unit.read(f"{power} {unit}"): frozenset(places)
            for power, lost in state["retreats"].items()
            for unit, places in lost.items()
            if places
        }
        owned = {centre: power for power, centres in state["centers"].items() for centre in centres}
        return cls(frozenset(unit for unit in units if not unit.kind.startswith("*")), places, owned)

    @classmethod
    def ours(cls, state: State) -> Position:
        """The same of a state."""
        places = {each.unit: frozenset(state.open_to(each.unit)) for each in state.dislodged}
        return cls(frozenset(state.units), {unit: here for unit, here in places.items() if here}, state.owned)


class Replayed(NamedTuple):
    """A phase, with the position after it by the archive, and by us."""

    game: str
    phase: str
    theirs: Position
    ours: Position

    @property
    def differences(self) -> list[str]:
        """The units, retreats and centres that one side has, and the other has not or otherwise."""
        units = sorted(str(unit) for unit in self.theirs.units ^ self.ours.units)
        lost = self.theirs.open.keys() | self.ours.open.keys()
        retreats = [f"{unit} R" for unit in sorted(lost) if self.theirs.open.get(unit) != self.ours.open.get(unit)]
        centres = sorted({centre for centre, _ in self.theirs.owned.items() ^ self.ours.owned.items()})
        return units + retreats + centres


def replayed(file: Path) -> Iterator[Replayed]:
    """The phases of a game that have another after them.

    Each begins with the archive's position, so that a difference has no others in its wake; retreats begin with ours,
    since archives do not tell where attackers came from.
    """
    state = State.begin(Options(" ".join(standard().powers), until=2000))
    for phase, following in pairwise(json.loads(file.read_text("utf-8"))["phases"]):
        state = _until(state, phase["name"])
        if not state.dislodged:
            begun = Position.archived(phase)
            state = state._replace(units=tuple(sorted(begun.units)), owned=begun.owned)
        state, _ = state.phase_played([*_orders(phase["orders"])])
        state = _until(state, following["name"])
        yield Replayed(file.stem, phase["name"], Position.archived(following), Position.ours(state))


def _until(state: State, name: str) -> State:
    """The state in this phase: an archive leaves out those in which there was nothing to order."""
    while (state.phase, str(state.year)) != (PHASES[name[0], name[-1]], name[1:-1]):
        state, _ = state.phase_played(())
    return state


def _orders(texts: Mapping[str, list[str] | None]) -> Iterator[Order]:
    for power, orders in texts.items():
        for text in orders or ():
            yield Order(power, "", "", WAIVE) if text == "WAIVE" else read(f"{power} {text}")
