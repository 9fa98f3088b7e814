"""A turn: each side's entitlement, and the resolution of both sides' orders.

Here live the state of a game and the step from one state to the next, with the reports made on the way. No
text of players. Implements rulings 13-34 of Spaceships, rules/spaceships.md "A turn".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import Result
from pbem.games.spaceships.fleet import Options, setup_of
from pbem.games.spaceships.notation import Entitled
from pbem.games.spaceships.ships import lines_of_fire, pairs
from pbem.games.spaceships.space import ADJACENT, NAMES, cells, names
from pbem.games.two_sides import TwoSides

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report
    from pbem.games.spaceships.fleet import Setup
    from pbem.games.spaceships.notation import Orders


class Side(NamedTuple):
    """One player's ships at the start of a turn."""

    setup: Setup
    destroyed: int
    fired: int
    burnt_out: int
    """Death stars without a beam, as bits by their place in the fleet."""
    entitled: Entitled
    empty: int | None = 0
    """Cells without a ship of which reports told so; None if it is not known what was told."""

    @property
    def score(self) -> int:
        """Undamaged cells (ruling 32)."""
        return (self.setup.cells & ~self.destroyed).bit_count()


class State(TwoSides[Options, Side]):
    """A position: both sides at the start of the turn that is due; `told` are the reports of the last turn."""


def begin(options: Options, setups: Sequence[Setup]) -> State:
    """The position before turn 1."""
    one, two = (Side(setup, 0, 0, 0, entitle(setup, setup.cells, 0, 0, 1)) for setup in setups)
    return State(options, 1, (one, two), told=())


def entitle(setup: Setup, undamaged: int, fired: int, burnt_out: int, scans: int) -> Entitled:
    """A side's entitlement in a turn that starts like this; `scans` if it has a scanner (rulings 14-18)."""
    live = setup.missiles & undamaged & ~fired
    conventional = kamikazes = 0
    beams = []
    for place, (_, code, mask) in enumerate(setup.ships):
        left = mask & undamaged
        if not left:
            continue
        if code == "DS":
            conventional += 1
            if not burnt_out >> place & 1:
                beams.append((place, lines_of_fire(left)))
        elif given := pairs(left):
            conventional += given
        elif not left & live and code != "LS":
            kamikazes |= left
    return Entitled(conventional, live, kamikazes, tuple(beams), scans if setup.scanners & undamaged else 0)


NOBODY: Final = Side(setup_of(()), 0, 0, 0, Entitled(0, 0, 0, (), 0), None)
"""The placeholder for the other side, of which its opponent knows no secret."""


def first_to_report(options: Options, turn: int) -> int:
    """The seat that reports first in a turn (ruling 33)."""
    return 2 - turn % 2 if options.first == "alternate" else int(options.first)


class _Field:
    """One side while a turn is resolved."""

    __slots__ = (
        *("burnt_out", "empty", "exploding", "fired", "owner", "seat", "setup", "ships", "told"),
        *("undamaged", "undamaged_before"),
    )

    def __init__(self, seat: int, side: Side, orders: Orders) -> None:
        self.seat = seat
        self.setup = setup = side.setup
        self.owner = setup.owner
        self.ships = setup.ships
        self.undamaged_before = undamaged = setup.cells & ~side.destroyed
        for launch in orders.launches:
            undamaged &= ~(1 << launch)
        self.undamaged = undamaged
        self.fired = fired = side.fired | orders.fired
        self.burnt_out = side.burnt_out
        # Ruling 20: the unfired missiles, noted for both sides before anything is reported. They explode if struck.
        self.exploding = setup.missiles & undamaged & ~fired
        # Ships whose destruction was reported in this turn, as bits by their place in the fleet.
        self.told = 0
        # Cells that reports told of, and which have no ship if none of the setup's is there.
        self.empty = side.empty or 0


def resolve(state: State, orders: Mapping[int, Orders]) -> tuple[State, list[Report]]:
    """Play one turn; total on judged orders of both seats."""
    options, number, sides = state.options, state.turn, state.sides
    fields = [_Field(seat, sides[seat - 1], orders[seat]) for seat in (1, 2)]
    reports: list[Report] = []
    first = first_to_report(options, number)
    for seat in (first, 3 - first):
        _report_all(fields[seat - 1], fields[2 - seat], orders[seat], reports)
    one, two = fields
    after = _next_side(one), _next_side(two)
    # The end of the game: rulings 30 and 31.
    gave_up = any(gives_up(side.entitled, orders[seat]) for seat, side in enumerate(sides, start=1))
    if one.undamaged and two.undamaged and not gave_up:
        return State(options, number + 1, after, told=(tuple(reports),)), reports
    scores = one.undamaged.bit_count(), two.undamaged.bit_count()
    return State(options, number, after, Result.of(scores)), reports


_EMPTY = {
    (seat, kind): [{"seat": seat, "kind": kind, "cell": name, "result": result} for name in NAMES]
    for seat in (1, 2)
    for kind, result in (("beam", "miss"), ("strike", "miss"), ("scan", "none"))
}
"""The reports that a cell is empty, by seat and kind, then by cell. Every report begins as a copy."""


def _report_all(own: _Field, other: _Field, orders: Orders, reports: list[Report]) -> None:
    """One side's reports in their order (ruling 21)."""
    _, beams, targets, scans, launches, _ = orders
    for line, ship in beams:
        _beam(own, other, line, ship, reports)
    for cell in (*targets, *scans, *(cell for line, _ in beams for cell in line)):
        other.empty |= 1 << cell
    owner = other.owner
    strike, scan = _EMPTY[own.seat, "strike"], _EMPTY[own.seat, "scan"]
    reports += [
        strike[target].copy() if owner[target] < 0 else _hit(own, other, strike[target], target) for target in targets
    ]
    for target in scans:
        report = scan[target].copy()
        if owner[target] >= 0:
            report["result"] = "ship" if other.undamaged >> target & 1 else "destroyed"
        reports.append(report)
    for launch in launches:
        report = {"seat": own.seat, "kind": "kamikaze death", "cell": NAMES[launch]}
        place = own.owner[launch]
        if not own.told >> place & 1 and not own.ships[place].mask & own.undamaged:
            _tell_destruction(report, other, own, place)
        reports.append(report)


def _beam(own: _Field, other: _Field, targets: tuple[int, int, int], ship: int, reports: list[Report]) -> None:
    beam = _EMPTY[own.seat, "beam"]
    first, middle, last = [
        beam[target].copy() if other.owner[target] < 0 else _hit(own, other, beam[target], target)
        for target in targets
    ]
    reports += (first, middle, last)
    # Ruling 29: a duplicate hit is no hit here.
    if first["result"] == "hit" and last["result"] == "hit":
        own.burnt_out |= 1 << ship


def _hit(own: _Field, other: _Field, empty: Report, target: int) -> Report:
    """A strike of one side on a ship of the other, and its results (rulings 22-24, 27)."""
    owner = other.owner[target]
    struck = 1 << target
    undamaged = other.undamaged
    report = empty.copy()
    report["result"] = "hit" if undamaged & struck else "duplicate hit"
    ship = other.ships[owner].mask
    # Ruling 23: a missile explodes even when it was destroyed this turn, on cells undamaged at the turn's start.
    if other.exploding & struck:
        struck |= ADJACENT[target] & ship & other.undamaged_before
        report["explosions"] = names(struck)
    fresh = undamaged & struck
    if fresh:
        other.undamaged = undamaged ^ fresh
        if not ship & other.undamaged:
            _tell_destruction(report, own, other, owner)
    return report


def _tell_destruction(report: Report, own: _Field, other: _Field, place: int) -> None:
    """Add the destruction of the other side's ship, and the own side's flashcube data for it."""
    ship = other.ships[place]
    other.told |= 1 << place
    own.empty |= ship.mask
    report["destroyed"] = {"ship": ship.name, "cells": names(ship.mask)}
    report["flashcube"] = [_flash(own, cell) for cell in cells(ship.mask)]


def _flash(side: _Field, cell: int) -> Report:
    """Flashcube data for one cell (ruling 28)."""
    owner = side.owner[cell]
    if owner < 0:
        return {"cell": NAMES[cell], "ship": None}
    return {"cell": NAMES[cell], "ship": side.ships[owner].name, "destroyed": not side.undamaged >> cell & 1}


def _next_side(field: _Field) -> Side:
    setup, undamaged, fired, burnt_out = field.setup, field.undamaged, field.fired, field.burnt_out
    scans = max(1, (field.undamaged_before ^ undamaged).bit_count())
    entitled = entitle(setup, undamaged, fired, burnt_out, scans)
    return Side(setup, setup.cells ^ undamaged, fired, burnt_out, entitled, field.empty & ~setup.cells)


def gives_up(entitled: Entitled, orders: Orders) -> bool:
    """True if a player who cannot strike orders nothing but scans (ruling 31)."""
    could_strike = entitled.conventional or entitled.missiles
    return not could_strike and not orders.beams and not orders.strikes
