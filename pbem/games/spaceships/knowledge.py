"""The knowledge of a seat, or of the public: the reports that may be shown, and the view that they add up to.

Knowledge of an opponent comes from shown reports and from nothing else; only the seat's own side is read from the
state. Implements ruling 34 of Spaceships; docs/attachments.md describes a view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from pbem.games import Result
from pbem.games.audience import Pictures, audience, cut, everybody, followed
from pbem.games.spaceships.fleet import SEATS, Options, setup_of
from pbem.games.spaceships.ships import Ship, strikes
from pbem.games.spaceships.space import CELLS, mask_of, names
from pbem.games.spaceships.turn import NOBODY, Side, State, entitle, first_to_report
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pbem.games import Report
    from pbem.games.audience import Fields, Shown
    from pbem.games.spaceships.notation import Orders


class ShipCells(TypedDict):
    """A ship, and some or all of its cells."""

    ship: str
    cells: list[str]


class OwnCells(ShipCells):
    """A ship of the reader's, with all of its cells."""

    destroyed: list[str]
    fired: list[str]
    burnt_out: bool


class OwnSpace(TypedDict):
    """The reader's own space: `misses` were searched and empty, `fresh` were struck in the last turn."""

    ships: list[OwnCells]
    misses: list[str]
    fresh: list[str]
    score: int


class Known(TypedDict):
    """Another's space: `ship` are undamaged cells of ships, `fresh` those that were looked at in the last turn."""

    empty: list[str]
    ship: list[str]
    destroyed: list[str]
    named: dict[str, str]
    """The ship of a cell."""
    ships: list[ShipCells]
    """The destroyed ones."""
    fresh: list[str]


class Strikes(TypedDict):
    """The number of conventional strikes that a ship gives."""

    ship: str
    strikes: int


class Beam(TypedDict):
    """In how many directions a death star's beam can go."""

    ship: str
    directions: int


class Entitled(TypedDict):
    """The reader's possible orders; missiles and kamikazes by the cells from which they are launched."""

    conventional: list[Strikes]
    missiles: list[ShipCells]
    kamikazes: list[ShipCells]
    beams: list[Beam]
    scans: int


class View(TypedDict):
    """All that a reader knows; `known` by the number of the other's seat."""

    turn: int
    over: bool
    first: int
    """The seat that reports first."""
    own: OwnSpace | None
    known: dict[str, Known]
    entitled: Entitled | None


_LOSS: Final[Fields] = {
    "destroyed": everybody("ship", "cells"),
    "flashcube": everybody("cell", "ship", "destroyed"),
}
_STRIKE: Final[Fields] = {**everybody("seat", "kind", "cell", "result", "explosions"), **_LOSS}
SHOWN: Final[Shown] = {
    "beam": _STRIKE,
    "strike": _STRIKE,
    "scan": everybody("seat", "kind", "cell", "result"),
    "kamikaze death": {**everybody("seat", "kind", "cell"), **_LOSS},
}
"""The readers of each field of a report. A field that is not in this table is not sent to anybody.

All that the rules make known is known to both sides (ruling 34): the secrets are what no report holds.
"""


def show(report: Report, seat: int | None) -> Report | None:
    """The part of a report that a seat (None: the public) may read; None for nothing."""
    return cut(report, SHOWN, audience(report.get("seat"), seat, _SEATS))


_SEATS: Final = range(1, SEATS + 1)


class _Picture:
    """The known part of one seat's space, by the reports."""

    def __init__(self) -> None:
        self.cells: dict[str, str] = {}
        """The last known state of each cell: empty, ship or destroyed."""
        self.named: dict[str, str] = {}
        self.ships: list[ShipCells] = []
        self.misses: set[str] = set()
        self.struck: set[str] = set()
        self.learned: set[str] = set()
        """Struck and learned: in the last turn played."""

    def heard(self, cells: Iterable[str], what: str, *, struck: bool = True) -> None:
        self.cells.update(dict.fromkeys(cells, what))
        self.learned.update(cells)
        if struck:
            self.struck.update(cells)

    def lost(self, ship: ShipCells) -> None:
        self.ships.append({"ship": ship["ship"], "cells": list(ship["cells"])})
        self.named.update(dict.fromkeys(ship["cells"], ship["ship"]))
        self.cells.update(dict.fromkeys(ship["cells"], "destroyed"))

    def flashed(self, flashcube: Sequence[Report]) -> None:
        for flash in flashcube:
            cell = flash["cell"]
            self.learned.add(cell)
            if flash["ship"] is None:
                self.cells[cell] = "empty"
            else:
                self.named[cell] = flash["ship"]
                self.cells[cell] = "destroyed" if flash["destroyed"] else "ship"

    def known(self) -> Known:
        return {
            "empty": self._where("empty"),
            "ship": self._where("ship"),
            "destroyed": self._where("destroyed"),
            "named": {cell: self.named[cell] for cell in _sorted(self.named)},
            "ships": self.ships,
            "fresh": _sorted(self.learned),
        }

    def _where(self, heard: str) -> list[str]:
        return _sorted([cell for cell, last in self.cells.items() if last == heard])


def _sorted(wanted: Iterable[str]) -> list[str]:
    return sorted(wanted, key=CELLS.__getitem__)


def _follow(pictures: dict[int, _Picture], reports: Sequence[Report], _turn: int) -> None:
    for picture in pictures.values():
        picture.struck.clear()
        picture.learned.clear()
    for report in reports:
        own, other = pictures[report["seat"]], pictures[3 - report["seat"]]
        kind, cell, result = report["kind"], report["cell"], report.get("result")
        if kind == "kamikaze death":
            own.heard([cell], "destroyed")
            own, other = other, own  # the opponent gives the flashcube data
        elif result in ("none", "miss"):
            other.heard([cell], "empty", struck=kind != "scan")
            other.misses.add(cell)
        elif kind == "scan":
            other.heard([cell], report["result"], struck=False)
        else:
            other.heard([cell, *report.get("explosions", ())], "destroyed")
        if "destroyed" in report:
            other.lost(report["destroyed"])
            own.flashed(report.get("flashcube", ()))


def view(state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> View:
    """Everything that a seat (None: the public) knows about a position, as a JSON object for its letters."""
    pictures = followed(turns, lambda: Pictures({1: _Picture(), 2: _Picture()}), _follow)
    side = None if seat is None else state.sides[seat - 1]
    return {
        "turn": state.turn,
        "over": state.result is not None,
        "first": first_to_report(state.options, state.turn),
        "own": None if side is None or seat is None else _own(side, pictures[seat]),
        "known": {str(other): pictures[other].known() for other in (1, 2) if other != seat},
        "entitled": None if side is None or state.result else _entitled(side),
    }


def recalled(view: View, seat: int) -> State:
    """The position with this seat's side as its view shows it, and on the other the cells known to be done with."""
    own, entitled = view["own"], view["entitled"]
    if own is None:
        raise ValueError("the public has no side")
    found = own["ships"]
    setup = setup_of(tuple(Ship(ship["ship"], ship["ship"][:2], mask_of(ship["cells"])) for ship in found))
    destroyed = mask_of([cell for ship in found for cell in ship["destroyed"]])
    fired = mask_of([cell for ship in found for cell in ship["fired"]])
    burnt_out = sum(1 << place for place, ship in enumerate(found) if ship["burnt_out"])
    scans = entitled["scans"] if entitled else 0
    own_side = Side(
        setup, destroyed, fired, burnt_out, entitle(setup, setup.cells & ~destroyed, fired, burnt_out, scans)
    )
    known = view["known"][str(3 - seat)]
    other = NOBODY._replace(destroyed=mask_of(known["destroyed"]), empty=mask_of(known["empty"]))
    sides = (own_side, other) if seat == 1 else (other, own_side)
    result = Result((), (sides[0].score, sides[1].score)) if view["over"] else None
    return State(Options(), view["turn"], sides, result)


def unused(state: State, seat: int, orders: Orders) -> tuple[Phrase, ...]:
    """The strikes, beams and scans that a player did not order: unlike missiles, they are lost."""
    entitled = state.sides[seat - 1].entitled
    struck = len(orders.strikes) - orders.fired.bit_count() - len(orders.launches)
    left = (
        (entitled.conventional - struck, Phrase("conventional strike"), Phrase("conventional strikes")),
        (len(entitled.beams) - len(orders.beams), Phrase("beam"), Phrase("beams")),
        (entitled.scans - len(orders.scans), Phrase("scan"), Phrase("scans")),
    )
    return tuple(
        Phrase("{count} {what}", count=count, what=one if count == 1 else several)
        for count, one, several in left
        if count
    )


def _own(side: Side, picture: _Picture) -> OwnSpace:
    ships: list[OwnCells] = [
        {
            "ship": ship.name,
            "cells": names(ship.mask),
            "destroyed": names(ship.mask & side.destroyed),
            "fired": names(ship.mask & side.fired),
            "burnt_out": bool(side.burnt_out >> place & 1),
        }
        for place, ship in enumerate(side.setup.ships)
    ]
    misses, fresh = _sorted(picture.misses), _sorted(picture.struck)
    return {"ships": ships, "misses": misses, "fresh": fresh, "score": side.score}


def _entitled(side: Side) -> Entitled:
    ships, entitled = side.setup.ships, side.entitled
    given = {ship.name: strikes(ship.code, ship.mask & ~side.destroyed) for ship in ships}
    return {
        "conventional": [{"ship": name, "strikes": number} for name, number in given.items() if number],
        "missiles": _cells_of(ships, entitled.missiles),
        "kamikazes": _cells_of(ships, entitled.kamikazes),
        "beams": [
            {"ship": ships[place].name, "directions": able.bit_count()} for place, able in entitled.beams if able
        ],
        "scans": entitled.scans,
    }


def _cells_of(ships: Iterable[Ship], mask: int) -> list[ShipCells]:
    """The ships that have any of these cells, each with those it has."""
    return [{"ship": ship.name, "cells": names(ship.mask & mask)} for ship in ships if ship.mask & mask]
