"""Dueling Masters as a program plays it: a scout, interception, and likely setups.

Level 1 flies where most squares may hold a home planet. Level 2 also weighs what a flight will cost, where it leads
and whom it meets, and sets up so that every column costs a scout. Level 3 weighs squares by how people set up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from pbem.games.dueling_masters.board import (
    ASTEROIDS,
    BEATS,
    FIGHTERS,
    HALVES,
    HOME,
    NAMES,
    PATHS,
    RAYS,
    SQUARES,
    destinations,
    reach,
    squares,
)
from pbem.games.masks import mask_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem import games
    from pbem.games.dueling_masters import Options
    from pbem.player.opponent import Chance, Position, Wish


_ONE: Final = 1 << 16
"""Certainty: whole numbers stand for chances."""
_NEXT, _AFTER = 80, 50
"""Per cent that a flight counts which is yet to be shown, and the one behind it."""
_KILL: Final = 4
"""The value of destroying a fighter that searches for our planet, in squares that may hold a home planet."""
HIDDEN: Final = {2: (0,), 3: (1, 2, 3)}
"""By level the rows of its half, from the edge of the board, in which a home planet is: level 3 knows that those
who think of hiding hide at the back."""
FRONT: Final = (3, 4)
_HIDING: Final = 10
"""The added weight of a square at the back for level 3, which knows that many hide their home planet there."""
_BACK: Final = ((1 << 20) - 1, (1 << 20) - 1 << 80)
"""The two rows at the edge, by seat."""


# Setups


class _Setup(NamedTuple):
    """A setup: the mask of the asteroids, the squares of home planets, and of fighters by their slot."""

    asteroids: int
    homes: Sequence[int]
    fighters: Sequence[int]


def setup(level: int, chance: Chance, options: games.Options, seat: int) -> str:
    """Anywhere at level 1; above, an asteroid or a strong fighter in every column."""
    homes = cast("Options", options).homes
    made = _anywhere(chance, homes, seat) if level == 1 else _spread(chance, homes, seat, HIDDEN[level])
    kinds: dict[str, list[int]] = {"*": list(squares(made.asteroids))}
    for name, square in zip(FIGHTERS, made.fighters, strict=True):
        kinds.setdefault(name[0], []).append(square)
    kinds[HOME] = list(made.homes)
    return "\n".join(" ".join([kind, *(NAMES[square] for square in found)]) for kind, found in kinds.items())


def _anywhere(chance: Chance, homes: int, seat: int) -> _Setup:
    half = chance.shuffled(squares(HALVES[seat - 1]))
    alone = ASTEROIDS + homes
    fighters = [chance.choice(half[alone:]) for _ in FIGHTERS]
    return _Setup(mask_of(half[:ASTEROIDS]), half[ASTEROIDS:alone], fighters)


def _spread(chance: Chance, homes: int, seat: int, hidden: Sequence[int]) -> _Setup:
    """Each of the ten columns is lethal to scouts: in seven is an asteroid, in three W, B and X1."""
    columns = chance.shuffled(range(10))
    places = [
        *[_deep(hidden, range(10))] * homes,
        *[_deep(range(5), [column]) for column in columns],
        *[_deep(FRONT, range(10))] * (len(FIGHTERS) - len(columns) + ASTEROIDS),
    ]
    taken: list[int] = []
    for able in places:
        square = chance.choice([square for square in able if square not in taken])
        taken.append(square)
    found = [square if seat == 1 else 90 - square // 10 * 10 + square % 10 for square in taken]
    first = homes + ASTEROIDS
    return _Setup(mask_of(found[homes:first]), found[:homes], found[first:])


def _deep(rows: Sequence[int], columns: Sequence[int]) -> list[int]:
    """Squares of seat 1's half."""
    return [row * 10 + column for row in rows for column in columns]


# What is known


class _Known:
    """The conclusions of a seat about the other side."""

    def __init__(self, position: Position) -> None:
        view = position.view
        self.seat = position.seat
        self.other = 3 - position.seat
        self.view = view
        half = HALVES[self.other - 1]
        known: Mapping[str, Any] = view["known"][str(self.other)]
        self.pieces: dict[str, Mapping[str, Any]] = {piece["piece"]: piece for piece in known["pieces"]}
        self.empty = mask_of([SQUARES[square] for square in known["empty"]])
        self.burst = mask_of([SQUARES[square] for square in known["asteroids_destroyed"]])
        self.asteroids_left: int = known["asteroids"]
        self.free = self.empty | self.burst | _ways(position)
        """Squares that hold neither an asteroid nor a home planet that never moved."""
        heard: dict[str, list[int]] = {"destroyed": [], "resting": [], "in transit": []}
        for name, piece in self.pieces.items():
            if name[0] == HOME:
                heard[piece["state"]].append(SQUARES[piece["square"]])
        self.homes_left = view["options"]["homes"] - len(heard["destroyed"])
        self.certain = mask_of(heard["resting"])
        alive = len(heard["resting"]) + len(heard["in transit"])
        self.possible = half & ~self.free if alive < self.homes_left else 0
        for square in heard["in transit"]:
            self.possible |= mask_of([ray[0] for ray in RAYS[HOME][square] if ray])
        self.unseen = [name for name in FIGHTERS if name not in self.pieces]
        """Fighters of which nothing was ever heard: they are where they were set up."""

    def homes(self, hiding: int = 0) -> list[int]:
        """The likelihood of a home planet on each square: all the same, or those at the back likelier by this factor.

        It is the limit of sampled setups, without the noise of samples.
        """
        weights = [1 if self.possible >> square & 1 else 0 for square in range(100)]
        for square in squares(self.possible & _BACK[self.other - 1]):
            weights[square] += hiding
        left = self.homes_left - self.certain.bit_count()
        total = max(1, sum(weights))
        return [
            _ONE if self.certain >> square & 1 else left * _ONE * weight // total
            for square, weight in enumerate(weights)
        ]

    def asteroids(self) -> list[int]:
        """The likelihood of an asteroid on each square."""
        half = HALVES[self.other - 1] & ~self.free
        count = max(self.asteroids_left, half.bit_count(), 1)
        return [self.asteroids_left * _ONE // count if half >> square & 1 else 0 for square in range(100)]

    def fighters(self) -> dict[str, list[int]]:
        """The expected number of fighters of each kind on each square."""
        found: dict[str, list[int]] = {}
        half = HALVES[self.other - 1] & ~self.empty & ~self.burst
        for name in self.unseen:
            self._spread(found, name[0], half)
        for name, piece in self.pieces.items():
            square = SQUARES[piece["square"]]
            if piece["state"] == "resting":
                self._spread(found, name[0], 1 << square)
            elif piece["state"] == "in transit":
                self._spread(found, name[0], destinations(name[0], square, 0, 0) & ~self.empty)
        return found

    def _spread(self, found: dict[str, list[int]], kind: str, where: int) -> None:
        counts = found.setdefault(kind, [0] * 100)
        share = _ONE // max(1, where.bit_count())
        for square in squares(where):
            counts[square] += share


def _ways(position: Position) -> int:
    """Squares that the other's fighters left, and those they passed on a path that is known by now."""
    other = 3 - position.seat
    found = 0
    for reports in position.turns:
        starts = {
            report["piece"]: SQUARES[report["from"]]
            for report in reports
            if report["kind"] == "check" and report["seat"] == other
        }
        for report in reports:
            if report["kind"] == "departure" and report["seat"] == other and report["piece"][0] != HOME:
                square = SQUARES[report["square"]]
                found |= 1 << square
                if report["piece"] in starts:
                    found |= mask_of(PATHS[report["piece"][0]].get((starts[report["piece"]], square), ()))
    return found


# Orders


def orders(level: int, chance: Chance, position: Position) -> str:
    """The move that promises most, or a ram if there is no other."""
    able = position.view["entitled"] or ()
    moves = [
        (piece["piece"], SQUARES[piece["square"]], SQUARES[end])
        for piece in able
        if piece["piece"][0] != HOME
        for end in piece["to"]
    ]
    if not moves:
        return _anything(chance, able)
    known = _Known(position)
    flights = _Flights(known, known.homes(_HIDING if level == 3 else 0))
    value = flights.scouted if level == 1 else flights.weighed
    best = max(moves, key=lambda move: (value(*move), chance.below(_ONE)))
    piece, start, end = best
    return f"{piece} {NAMES[start]}-{NAMES[end]}"


def _anything(chance: Chance, able: Sequence[Mapping[str, Any]]) -> str:
    ends = [(piece, end) for piece in able for end in piece["to"]] or [
        (piece, end) for piece in able for end in piece["rams"]
    ]
    if not ends:
        return ""
    piece, end = chance.choice(ends)
    return f"{piece['piece']} {piece['square']}-{end}"


class _Flights:
    """The values of flights."""

    def __init__(self, known: _Known, homes: Sequence[int]) -> None:
        self.known = known
        self.homes = homes
        self.asteroids = known.asteroids()
        self.fighters = known.fighters()
        self.starts = {
            piece["piece"]: SQUARES[piece["from"]] for piece in known.view["own"]["pieces"] if piece["from"]
        }
        self.obstacles = mask_of([SQUARES[square] for square in known.view["own"]["asteroids"]])
        self.own_homes = mask_of(
            [SQUARES[piece["square"]] for piece in known.view["own"]["pieces"] if piece["piece"][0] == HOME]
        )
        self.now: dict[str, tuple[int, int, frozenset[int]]] = {}
        self.lethal = {kind: [min(one, _ONE) for one in self._lost(kind, 0, self.asteroids)] for kind in "WBXYZ"}
        """The likelihood on each square that a fighter of a kind is destroyed there."""
        half = HALVES[known.seat - 1]
        self.prey = {
            kind: [one if half >> square & 1 else 0 for square, one in enumerate(self._lost(kind, 1, [0] * 100))]
            for kind in "WBXYZ"
        }
        """The number of fighters on each square of our half that a fighter of a kind destroys."""

    def _lost(self, kind: str, loser: int, other_things: Sequence[int]) -> list[int]:
        """These numbers by square, plus the fighters there that destroy one of this kind (loser 0) or lose (1)."""
        found = list(other_things)
        for other, counts in self.fighters.items():
            if BEATS[kind, other][loser]:
                found = [one + count for one, count in zip(found, counts, strict=True)]
        return found

    def _shown(self, piece: str) -> tuple[int, int, frozenset[int]]:
        """The value that a piece's current flight will show, its likelihood to survive, and the squares."""
        if piece not in self.now:
            start = self.starts.get(piece)
            here = next(own for own in self.known.view["own"]["pieces"] if own["piece"] == piece)
            path = () if start is None else PATHS[piece[0]][start, SQUARES[here["square"]]]
            self.now[piece] = self._covered(path), self._survival(piece[0], path), frozenset(path)
        return self.now[piece]

    def _covered(self, path: Sequence[int], but: frozenset[int] = frozenset()) -> int:
        return sum(self.homes[square] for square in path if square not in but)

    def _survival(self, kind: str, path: Sequence[int]) -> int:
        left, lethal = _ONE, self.lethal[kind]
        for square in path:
            left = left * (_ONE - lethal[square]) >> 16
        return left

    def scouted(self, piece: str, start: int, end: int) -> int:
        """Level 1: squares that may hold a home planet, those of the flight under way twice."""
        return 2 * self._shown(piece)[0] + self._covered(PATHS[piece[0]][start, end])

    def weighed(self, piece: str, start: int, end: int) -> int:
        """Level 2: what the flight under way shows, then this one if the piece survives, then the best after it."""
        kind = piece[0]
        shown, survives, passed = self._shown(piece)
        path = PATHS[kind][start, end]
        gain = self._covered(path, passed)
        unit = max(self.homes, default=0)
        prey = self.prey[kind]
        gain += _KILL * unit * sum(prey[square] for square in path) >> 16
        onward = self._survival(kind, path) * self._behind(kind, end, path) >> 16
        later = (gain * _NEXT + onward * _AFTER) * survives >> 16
        return 100 * shown + later

    def _behind(self, kind: str, square: int, passed: Sequence[int]) -> int:
        """The most that a flight from a square can show."""
        best = 0
        for ray in RAYS[kind][square]:
            shown = 0
            for end in ray:
                if (self.obstacles | self.own_homes) >> end & 1:
                    break
                if end not in passed:
                    shown += self.homes[end]
            best = max(best, shown)
        return best


def wish(_level: int, position: Position) -> Wish:
    """A draw, once no fighter of the seat can reach a square where a home planet may be."""
    known = _Known(position)
    if position.view["options"]["mobile_home"]:
        return None
    flights = _Flights(known, known.homes())
    targets = known.possible | known.certain
    for piece in position.view["own"]["pieces"]:
        if piece["piece"][0] != HOME and targets & reach(
            piece["piece"][0], SQUARES[piece["square"]], flights.obstacles, flights.own_homes
        ):
            return None
    return "draw"
