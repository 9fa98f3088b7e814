"""A turn: what each side is entitled to, and the resolution of both sides' orders.

Here live the state of a game and the step from one state to the next, with the reports made on the way. No
text of players. Implements rulings 13-34 of Spaceships, rules/spaceships.md "A turn".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pbem.games import Result
from pbem.games.spaceships.notation import Entitled
from pbem.games.spaceships.ships import TYPES, lines_of_fire, strikes
from pbem.games.spaceships.space import ADJACENT, NAMES, cells, names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.games import Report
    from pbem.games.spaceships.fleet import Options, Setup
    from pbem.games.spaceships.notation import Orders
    from pbem.games.spaceships.ships import Ship


class Side(NamedTuple):
    """One player's ships at the start of a turn."""

    setup: Setup
    destroyed: int
    fired: int
    burnt_out: int
    """Death stars without a beam, as bits by their place in the fleet."""
    entitled: Entitled

    @property
    def score(self) -> int:
        """Undamaged cells."""
        return (self.setup.cells & ~self.destroyed).bit_count()


@dataclass(frozen=True, slots=True)
class State:
    """A position: both sides at the start of the turn that is due."""

    options: Options
    turn: int
    sides: tuple[Side, Side]
    result: Result | None = None

    @property
    def due(self) -> dict[int, None]:
        """Both seats order in every turn."""
        return {} if self.result else {1: None, 2: None}

    @property
    def remaining(self) -> tuple[int, int]:
        """Both seats: the game is over when one has nothing left."""
        return 1, 2

    @property
    def scores(self) -> tuple[int, int]:
        """Undamaged cells of seats 1 and 2 (ruling 32)."""
        return self.sides[0].score, self.sides[1].score


def begin(options: Options, setups: tuple[Setup, Setup]) -> State:
    """The position before turn 1."""
    one, two = (Side(setup, 0, 0, 0, entitle(setup, 0, 0, 0, 1)) for setup in setups)
    return State(options, 1, (one, two))


def entitle(setup: Setup, destroyed: int, fired: int, burnt_out: int, scans: int) -> Entitled:
    """What a side may do in a turn that starts like this; `scans` if it has a scanner (rulings 14-18)."""
    undamaged = ~destroyed
    live = setup.missiles & undamaged & ~fired
    conventional = kamikazes = 0
    beams = []
    scanner = False
    for place, ship in enumerate(setup.ships):
        left = ship.mask & undamaged
        if not left:
            continue
        code = ship.code
        given = strikes(code, left)
        conventional += given
        if code == "DS" and not burnt_out >> place & 1:
            beams.append((place, lines_of_fire(left)))
        if code in _SCANNERS:
            scanner = True
        if not given and not left & live and code != "LS":
            kamikazes |= left
    return Entitled(conventional, live, kamikazes, tuple(beams), scans if scanner else 0)


_SCANNERS = frozenset(kind.code for kind in TYPES.values() if kind.scanner)


def first_to_report(options: Options, turn: int) -> int:
    """The seat that reports first in a turn (ruling 33)."""
    return 2 - turn % 2 if options.first == "alternate" else int(options.first)


class _Field:
    """One side while a turn is resolved."""

    __slots__ = ("before", "burnt_out", "destroyed", "fired", "seat", "setup", "snapshot", "told")

    def __init__(self, seat: int, side: Side, orders: Orders) -> None:
        self.seat = seat
        self.setup = side.setup
        self.before = side.destroyed
        self.destroyed = side.destroyed
        for launch in orders.launches:
            self.destroyed |= 1 << launch
        self.fired = side.fired | orders.fired
        self.burnt_out = side.burnt_out
        # Ruling 20: noted for both sides before anything is reported.
        self.snapshot = self.setup.missiles & ~self.destroyed & ~self.fired
        # Ships whose destruction was reported in this turn, as bits by their place in the fleet.
        self.told = 0


def resolve(state: State, orders: Mapping[int, Orders]) -> tuple[State, list[Report]]:
    """Play one turn; total on judged orders of both seats."""
    fields = [_Field(seat, state.sides[seat - 1], orders[seat]) for seat in (1, 2)]
    reports: list[Report] = []
    first = first_to_report(state.options, state.turn)
    for seat in (first, 3 - first):
        _report_all(fields[seat - 1], fields[2 - seat], orders[seat], reports)
    one, two = (_next_side(field) for field in fields)
    after = State(state.options, state.turn + 1, (one, two))
    if _is_over(state, after, orders):
        scores = after.scores
        winner = 0 if scores[0] == scores[1] else 1 if scores[0] > scores[1] else 2
        after = State(state.options, state.turn, (one, two), Result(winner, scores))
    return after, reports


def _report_all(own: _Field, other: _Field, orders: Orders, reports: list[Report]) -> None:
    """One side's reports in their order (ruling 21)."""
    for targets, ship in orders.beams:
        _beam(own, other, targets, ship, reports)
    seat = own.seat
    ships = other.setup.cells
    for target in orders.strikes:
        if ships >> target & 1:
            reports.append(_strike(own, other, "strike", target))
        else:
            reports.append({"seat": seat, "kind": "strike", "cell": NAMES[target], "result": "miss"})
    for target in orders.scans:
        result = _scan(other, target)
        reports.append({"seat": seat, "kind": "scan", "cell": NAMES[target], "result": result})
    reports.extend(_kamikaze_death(own, other, launch) for launch in orders.launches)


def _beam(own: _Field, other: _Field, targets: tuple[int, int, int], ship: int, reports: list[Report]) -> None:
    first, middle, last = (_strike(own, other, "beam", target) for target in targets)
    reports += (first, middle, last)
    # Ruling 29: a duplicate hit is no hit here.
    if first["result"] == "hit" and last["result"] == "hit":
        own.burnt_out |= 1 << ship


def _strike(own: _Field, other: _Field, kind: str, target: int) -> dict[str, Any]:
    """A strike of one side on a cell of the other, and what comes of it (rulings 22-24, 27)."""
    report: dict[str, Any] = {"seat": own.seat, "kind": kind, "cell": NAMES[target], "result": "miss"}
    setup = other.setup
    owner = setup.owner[target]
    if owner < 0:
        return report
    ship = setup.ships[owner]
    struck = 1 << target
    report["result"] = "duplicate hit" if other.destroyed & struck else "hit"
    if other.snapshot & struck:
        struck |= ADJACENT[target] & ship.mask & ~other.before
        report["explosions"] = names(struck)
    fresh = struck & ~other.destroyed
    other.destroyed |= struck
    if fresh and not ship.mask & ~other.destroyed:
        _tell_destruction(report, own, other, owner)
    return report


def _tell_destruction(report: dict[str, Any], own: _Field, other: _Field, place: int) -> None:
    """Add the destruction of the other side's ship, and the own side's flashcube data for it."""
    ship = other.setup.ships[place]
    other.told |= 1 << place
    report["destroyed"] = {"ship": ship.name, "cells": names(ship.mask)}
    report["flashcube"] = [_flash(own, cell) for cell in cells(ship.mask)]


def _flash(side: _Field, cell: int) -> dict[str, Any]:
    """Flashcube data for one cell (ruling 28)."""
    owner = side.setup.owner[cell]
    if owner < 0:
        return {"cell": NAMES[cell], "ship": None}
    destroyed = bool(side.destroyed >> cell & 1)
    return {"cell": NAMES[cell], "ship": side.setup.ships[owner].name, "destroyed": destroyed}


def _scan(other: _Field, target: int) -> str:
    if not other.setup.cells >> target & 1:
        return "none"
    return "destroyed" if other.destroyed >> target & 1 else "ship"


def _kamikaze_death(own: _Field, other: _Field, launch: int) -> dict[str, Any]:
    report: dict[str, Any] = {"seat": own.seat, "kind": "kamikaze death", "cell": NAMES[launch]}
    place = own.setup.owner[launch]
    if not own.told >> place & 1 and not own.setup.ships[place].mask & ~own.destroyed:
        _tell_destruction(report, other, own, place)
    return report


def _next_side(field: _Field) -> Side:
    setup, destroyed, fired, burnt_out = field.setup, field.destroyed, field.fired, field.burnt_out
    scans = max(1, (destroyed & ~field.before).bit_count())
    return Side(setup, destroyed, fired, burnt_out, entitle(setup, destroyed, fired, burnt_out, scans))


def _is_over(before: State, after: State, orders: Mapping[int, Orders]) -> bool:
    """Rulings 30 and 31."""
    return not all(after.scores) or any(_gives_up(before.sides[seat - 1].entitled, orders[seat]) for seat in (1, 2))


def _gives_up(entitled: Entitled, orders: Orders) -> bool:
    could_strike = entitled.conventional or entitled.missiles
    return not could_strike and not orders.beams and not orders.strikes


def launch_cells(ship: Ship, entitled: Entitled) -> tuple[list[str], list[str]]:
    """The cells of a ship that can be launched as missiles and as kamikazes, named."""
    return names(ship.mask & entitled.missiles), names(ship.mask & entitled.kamikazes)
