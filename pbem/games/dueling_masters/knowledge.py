"""The knowledge of a seat, or of the public: the reports that may be shown, and the view that they add up to.

Knowledge of an opponent comes from shown reports and from nothing else; only the seat's own side is read from the
state. Implements ruling 33 of Dueling Masters; docs/attachments.md describes a view.

Only the owner is told the destination of a check. The square where a survivor rests follows from what both were
told: the ordered piece departs from there, and a piece met on the way met something at its destination, so the
destination is the one of its collisions that is farthest from where it departed. No report shows a ram.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypedDict

from pbem.games import Result
from pbem.games.audience import Pictures, audience, cut, everybody, followed, owner
from pbem.games.dueling_masters.board import ASTEROID, ASTEROIDS, NAMES, PATHS, RANK, SQUARES, names
from pbem.games.dueling_masters.notation import SEATS, Options, Setup, Side
from pbem.games.dueling_masters.transit import State
from pbem.games.masks import mask_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report
    from pbem.games.audience import Shown

Piece = TypedDict("Piece", {"piece": str, "square": str, "from": str | None})
"""A piece of the reader's where it counts as standing, and where it came from; null for what rests."""


class Own(TypedDict):
    """The reader's own side."""

    pieces: list[Piece]
    asteroids: list[str]
    destroyed: list[str]
    asteroids_destroyed: list[str]
    """Their squares, rams included."""
    explored: dict[str, int]
    """The last turn in which the opponent found none of these pieces on a square."""


class Heard(TypedDict):
    """The last that was heard of a piece: where, and in which turn."""

    piece: str
    state: Literal["in transit", "resting", "destroyed"]
    square: str
    turn: int


class Known(TypedDict):
    """Another's side as far as it is known."""

    pieces: list[Heard]
    asteroids: int
    """The number that may be left."""
    asteroids_destroyed: dict[str, int]
    """The turn in which it was destroyed, by square."""
    empty: dict[str, int]
    """The last turn in which it was proved empty, by square."""


class Able(TypedDict):
    """A piece that can move, and its legal destinations: `rams` are asteroids."""

    piece: str
    square: str
    to: list[str]
    rams: list[str]


class Agreed(TypedDict):
    """The options of the game, defaults filled in."""

    homes: int
    mobile_home: bool
    max_turns: int


class View(TypedDict):
    """All that a reader knows; `known` by the number of the other's seat."""

    turn: int
    over: bool
    seat: int | None
    moves: int | None
    """The seat whose move it is."""
    scores: list[int]
    options: Agreed
    own: Own | None
    known: dict[str, Known]
    entitled: list[Able] | None


SHOWN: Final[Shown] = {
    "check": {**everybody("seat", "kind", "piece", "from"), **owner("to")},
    "collision": {
        **everybody("kind", "square"),
        "pieces": everybody("1", "2"),
        "destroyed": everybody("1", "2"),
    },
    "departure": everybody("seat", "kind", "piece", "square"),
    "pass": everybody("seat", "kind"),
}
"""The readers of each field of a report (ruling 33). A field that is not in this table is not sent to anybody."""


def show(report: Report, seat: int | None) -> Report | None:
    """The part of a report that a seat (None: the public) may read; None for nothing."""
    return cut(report, SHOWN, audience(report.get("seat"), seat, range(1, SEATS + 1)))


class _Picture:
    """One seat's pieces as far as reports have shown them."""

    def __init__(self) -> None:
        self.pieces: dict[str, Heard] = {}
        """The last that was heard of each piece."""
        self.asteroids: dict[str, int] = {}
        """The turn in which the asteroid of a square was destroyed."""
        self.empty: dict[str, int] = {}
        """The last turn in which a check proved a square empty of this seat's pieces."""

    def heard(self, piece: str, what: Literal["in transit", "resting", "destroyed"], square: str, turn: int) -> None:
        if piece == ASTEROID:
            self.asteroids[square] = turn
        else:
            self.pieces[piece] = {"piece": piece, "state": what, "square": square, "turn": turn}

    def known(self) -> Known:
        return {
            "pieces": sorted(self.pieces.values(), key=lambda known: (RANK.index(known["piece"][0]), known["piece"])),
            "asteroids": ASTEROIDS - len(self.asteroids),
            "asteroids_destroyed": _by_square(self.asteroids),
            "empty": _by_square(self.empty),
        }


def _by_square(turns: Mapping[str, int]) -> dict[str, int]:
    return {square: turns[square] for square in sorted(turns, key=SQUARES.__getitem__)}


def _follow(pictures: dict[int, _Picture], reports: Sequence[Report], turn: int) -> None:
    checks = [report for report in reports if report["kind"] == "check"]
    collisions = [report for report in reports if report["kind"] == "collision"]
    # A piece that stood still and was met rests there; a destroyed piece is gone, after a single collision.
    checked = {(report["seat"], report["piece"]) for report in checks}
    destroyed = set()
    for report in collisions:
        for seat, picture in pictures.items():
            piece = report["pieces"][str(seat)]
            if report["destroyed"][str(seat)]:
                picture.heard(piece, "destroyed", report["square"], turn)
                destroyed.add((seat, piece))
            elif (seat, piece) not in destroyed and (seat, piece) not in checked:
                picture.heard(piece, "resting", report["square"], turn)
    for check in checks:
        _arrive(pictures, check, reports, turn)
    for report in reports:
        if report["kind"] == "departure":
            pictures[report["seat"]].heard(report["piece"], "in transit", report["square"], turn)


def _arrive(pictures: Mapping[int, _Picture], check: Report, reports: Sequence[Report], turn: int) -> None:
    """Note the end of a checked transit, if it can be known, and the squares that it proved empty on its way."""
    seat, piece, start = check["seat"], check["piece"], check["from"]
    met = [
        report["square"]
        for report in reports
        if report["kind"] == "collision" and report["pieces"][str(seat)] == piece
    ]
    left = (
        report["square"]
        for report in reports
        if report["kind"] == "departure" and (report["seat"], report["piece"]) == (seat, piece)
    )
    farthest = max(met, key=lambda square: len(_path(piece, start, square)), default=start)
    ordered = check is reports[0]
    end = check.get("to") or next(left, None if ordered else farthest)
    own = pictures[seat]
    heard = own.pieces.get(piece)
    if end and (heard is None or heard["state"] != "destroyed"):
        own.heard(piece, "resting", end, turn)
    passed = {NAMES[square] for square in _path(piece, start, end or farthest)}
    pictures[3 - seat].empty.update(dict.fromkeys(passed.difference(met), turn))


def _path(piece: str, start: str, end: str) -> tuple[int, ...]:
    return PATHS[piece[0]][SQUARES[start], SQUARES[end]]


def view(state: State, seat: int | None, turns: Sequence[Sequence[Report]]) -> View:
    """Everything that a seat (None: the public) knows about a position, as a JSON object for its letters."""
    pictures = followed(turns, lambda: Pictures({1: _Picture(), 2: _Picture()}), _follow)
    side = None if seat is None else state.sides[seat - 1]
    over = state.result is not None
    options = state.options
    return {
        "turn": state.turn,
        "over": over,
        "seat": seat,
        "moves": None if over else state.seat,
        "scores": list(state.scores),
        "options": {"homes": options.homes, "mobile_home": options.mobile_home, "max_turns": options.max_turns},
        "own": None if side is None or seat is None else _own(options.pieces, side, pictures[seat]),
        "known": {str(other): pictures[other].known() for other in (1, 2) if other != seat},
        "entitled": None if side is None or over or seat != state.seat else _entitled(state, side),
    }


def recalled(view: View, seat: int) -> State:
    """The position with this seat's pieces as its view shows them, and none of the other's."""
    own, agreed = view["own"], view["options"]
    if own is None:
        raise ValueError("the public has no pieces")
    options = Options(agreed["homes"], agreed["mobile_home"], agreed["max_turns"])
    squares, starts = [-1] * len(options.pieces), [-1] * len(options.pieces)
    for piece in own["pieces"]:
        slot = options.pieces.index(piece["piece"])
        squares[slot] = SQUARES[piece["square"]]
        starts[slot] = SQUARES[piece["from"]] if piece["from"] else -1
    asteroids = mask_of(SQUARES[square] for square in own["asteroids"])
    nowhere = (-1,) * len(options.pieces)
    own_side = Side(Setup("", asteroids, tuple(squares)), asteroids, tuple(squares), tuple(starts))
    other = Side(Setup("", 0, nowhere), 0, nowhere, nowhere)
    sides = (own_side, other) if seat == 1 else (other, own_side)
    return State(options, view["turn"], sides, Result((), tuple(view["scores"])) if view["over"] else None)


def _own(named: Sequence[str], side: Side, picture: _Picture) -> Own:
    placed = list(zip(named, side.squares, side.starts, strict=True))
    return {
        "pieces": [
            {"piece": piece, "square": NAMES[square], "from": NAMES[start] if start >= 0 else None}
            for piece, square, start in placed
            if square >= 0
        ],
        "asteroids": names(side.asteroids),
        "destroyed": [piece for piece, square, _ in placed if square < 0],
        "asteroids_destroyed": names(side.setup.asteroids & ~side.asteroids),
        "explored": _by_square(picture.empty),
    }


def _entitled(state: State, side: Side) -> list[Able]:
    found: list[Able] = []
    for slot, piece in enumerate(state.options.pieces):
        if ends := side.destinations(state.options, slot):
            rams = ends & side.asteroids
            square = NAMES[side.squares[slot]]
            found.append({"piece": piece, "square": square, "to": names(ends & ~rams), "rams": names(rams)})
    return found
