"""Dueling Masters without a referee: the departure is announced, and the opponent checks the path.

The square from which a piece departs ends its last transit, so the opponent knows its path and says what stands
on it; the mover then checks what was met in transit. Strength decides, so no collision needs a secret.
Only the destination stays secret, in the orders to which the mover is bound. Here live the public table, the owner's
side and the verdict. Implements docs/sealed.md; rulings 8-33 of Dueling Masters.

A draw by ruling 27 needs both secrets. Unless fighters are lacking, it is found only at the reveal, and ends the game
in the turn in which it first held. Two passes in a row end the game at once: nothing could change any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import Fault, Refused, Result, ShownReports, refuse
from pbem.games.dueling_masters import RULES
from pbem.games.dueling_masters.board import (
    ASTEROID,
    ASTEROIDS,
    FIRST_HOME,
    HALVES,
    NAMES,
    PATHS,
    SQUARES,
)
from pbem.games.dueling_masters.notation import Options, Orders, Setup, Side
from pbem.games.dueling_masters.transit import AN_ASTEROID, Field, State, check, collision, depart, moves
from pbem.games.masks import mask_of
from pbem.games.sealed import Answering, Own, Paper, misplaced
from pbem.grown import Grown
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pbem.games import Report
    from pbem.games.sealed import SealedStep


_UNTOLD: Final = -1

# The table


class Pieces(NamedTuple):
    """The public facts about one seat's pieces, by slot except for the asteroids; sets are masks."""

    squares: tuple[int, ...]
    """The square on which a piece rests or, in transit, from which it departed; -1 while that is not public."""
    transit: int = 0
    """The slots in transit."""
    destroyed: int = 0
    """The slots destroyed; one that rammed is not known to be."""
    asteroids: int = 0
    """The squares of asteroids destroyed in collisions."""
    checked: int = 0
    """The squares that were ever checked: on them is nothing unheard of that never moved, and no asteroid."""

    @property
    def homes(self) -> int:
        """The number of home planets left."""
        return len(self.squares) - FIRST_HOME - (self.destroyed >> FIRST_HOME).bit_count()

    def at(self, slot: int, square: int, *, transit: bool = False) -> Pieces:
        """The same once a piece is known to rest on a square, or to be in transit from there."""
        squares = (*self.squares[:slot], square, *self.squares[slot + 1 :])
        return self._replace(squares=squares, transit=self.transit & ~(1 << slot) | transit << slot)

    def losing(self, slot: int, square: int) -> Pieces:
        """The same without a piece, or the asteroid of a square."""
        if slot == AN_ASTEROID:
            return self._replace(asteroids=self.asteroids | 1 << square)
        return self._replace(destroyed=self.destroyed | 1 << slot, transit=self.transit & ~(1 << slot))


class Transit(NamedTuple):
    """A transit that is checked in this turn."""

    seat: int
    slot: int
    start: int
    end: int

    def path(self, named: tuple[str, ...]) -> tuple[int, ...]:
        """The squares that are looked at, in order (ruling 14)."""
        return PATHS[named[self.slot][0]][self.start, self.end]


Met = tuple[tuple[int, int], ...]
"""Square and slot, -1 for an asteroid, of what a checked piece meets."""


class Table(NamedTuple):
    """The public facts of a sealed game of Dueling Masters."""

    options: Options
    pieces: tuple[Pieces, Pieces]
    """At the start of the turn."""
    turn: int = 1
    departing: tuple[int, int] | None = None
    """Slot and square of what is to depart when its transit has been checked."""
    queue: tuple[Transit, ...] = ()
    """The transits checked in this turn, first met first."""
    met: tuple[Met, ...] = ()
    """The pieces met by each transit that the opponent has checked; the others in the queue are all of one side."""
    played: Grown[ShownReports] = Grown()
    result: Result | None = None

    @property
    def asked(self) -> tuple[Transit, ...]:
        """The transits that the opponent has to check."""
        return self.queue[len(self.met) :]

    @property
    def collisions(self) -> list[tuple[int, int, int]]:
        """Square, and the slots of seat 1's and seat 2's pieces, in the order of reports (rulings 15 and 18)."""
        return sorted(
            {
                (square, checked.slot, slot) if checked.seat == 1 else (square, slot, checked.slot)
                for checked, met in zip(self.queue, self.met, strict=False)
                for square, slot in met
            }
        )

    @property
    def due(self) -> dict[int, None]:
        """The one seat that owes a step."""
        return {} if self.result else {_due(self): None}

    @property
    def remaining(self) -> tuple[int, int]:
        """Both seats: the game is over when one has nothing left."""
        return 1, 2

    @property
    def scores(self) -> tuple[int, int]:
        """Home planets left: none can be lost secretly."""
        return self.pieces[0].homes, self.pieces[1].homes

    @property
    def position(self) -> State:
        """The position with stand-ins for both sides."""
        one, two = map(_stand_in, self.pieces)
        return State(self.options, self.turn, (one, two), self.result)


def _stand_in(pieces: Pieces) -> Side:
    """A stand-in for a side whose secrets are unknown: as many home planets, and nothing else."""
    homes = len(pieces.squares) - FIRST_HOME
    left = tuple(-1 if pieces.destroyed >> FIRST_HOME + home & 1 else 0 for home in range(homes))
    where = (-1,) * FIRST_HOME + left
    return Side(Setup("", 0, where), 0, where, (-1,) * len(where))


def _due(table: Table) -> int:
    return 3 - table.asked[0].seat if table.asked else moves(table.turn)


def _place(table: Table, seat: int, slot: int) -> int:
    """The square on which a piece counts as standing in this turn, if it is public; otherwise -1."""
    pieces = table.pieces[seat - 1]
    for checked in table.queue:
        if (checked.seat, checked.slot) == (seat, slot):
            return checked.end
    if (pieces.transit | pieces.destroyed) >> slot & 1:
        return _UNTOLD
    return pieces.squares[slot]


def _may_stand(table: Table, seat: int, slot: int, square: int) -> bool:
    """True if the public facts allow a piece, or an asteroid, to stand on a square."""
    pieces = table.pieces[seat - 1]
    unheard = (HALVES[seat - 1] & ~pieces.checked) >> square & 1
    if slot == AN_ASTEROID:
        return bool(unheard) and pieces.asteroids.bit_count() < ASTEROIDS
    if pieces.destroyed >> slot & 1:
        return False
    known = _place(table, seat, slot)
    if known != _UNTOLD:
        return known == square
    if pieces.transit >> slot & 1:
        return (pieces.squares[slot], square) in PATHS[table.options.pieces[slot][0]]
    return bool(unheard)


# What is said of a departure, and of what stands on a path


def _departure(options: Options, line: str) -> tuple[int, int] | None:
    """Slot and square of what departs, None for a pass; raises ValueError on anything else."""
    if line == "pass":
        return None
    name, square = line.split()
    if square not in SQUARES:
        raise ValueError(line)
    return options.pieces.index(name), SQUARES[square]


def _met(options: Options, line: str) -> Met:
    """The pieces met, from a line `check PIECE SQUARE PIECE ...`; raises ValueError and KeyError."""
    words = line.split()[2:]
    if words == ["none"]:
        return ()
    pairs = tuple(zip(words[::2], words[1::2], strict=True))
    if not pairs:
        raise ValueError(line)
    return tuple(
        (SQUARES[square], AN_ASTEROID if piece == ASTEROID else options.pieces.index(piece))
        for square, piece in pairs
    )


def _judge_departure(table: Table, seat: int, line: str) -> None:
    """Judge whether a piece may depart from a square, given what was told; raises `Refused`."""
    options, pieces = table.options, table.pieces[seat - 1]
    try:
        departing = _departure(options, line)
    except ValueError as error:
        message = Phrase("a departure is a piece and the square that it leaves, or `pass`")
        raise Refused(Fault("sealed", line, message)) from error
    if departing is None:
        return
    slot, square = departing
    name = options.pieces[slot]
    if pieces.destroyed >> slot & 1:
        raise Refused(Fault("10", line, Phrase("{name} is destroyed", name=name)))
    if slot >= FIRST_HOME and not options.mobile_home:
        raise Refused(Fault("4", line, Phrase("{name} does not move", name=name)))
    if not _may_stand(table, seat, slot, square):
        raise Refused(Fault("9", line, Phrase("{name} cannot stand on {square}", name=name, square=NAMES[square])))


def _is_answer(options: Options, line: str) -> bool:
    """True if a line can be read."""
    try:
        _met(options, line)
    except (ValueError, LookupError):
        return False
    return line.startswith("check ")


def _contradictions(table: Table, seat: int, found: list[tuple[str, Transit, Met]]) -> Iterator[Fault]:
    """Contradictions in answers: pieces elsewhere, left out or too many, one square told in two ways."""
    named, told = table.options.pieces, _told_of(table, seat)
    places = {slot: square for square, here in told.items() for slot in here}
    for line, checked, met in found:
        path = checked.path(named)
        order = [(path.index(square) if square in path else len(path), slot) for square, slot in met]
        if order != sorted(set(order)) or max(order, default=(0, 0))[0] == len(path):
            yield Fault("14", line, Phrase("name each piece on the path once, in the order of its squares"))
            continue
        for square in path:
            here = [slot for place, slot in met if place == square]
            if not _fits(table, seat, square, here, places) or told.setdefault(square, here) != here:
                what = NAMES[square]
                yield Fault("15", line, Phrase("{cell}: an earlier answer said something else", cell=what))
    asteroids = sum(AN_ASTEROID in here for here in told.values())
    if asteroids > ASTEROIDS - table.pieces[seat - 1].asteroids.bit_count():
        yield Fault(
            "2", None, Phrase("{word}: there are only {asteroids} asteroids", word=ASTEROID, asteroids=ASTEROIDS)
        )


def _fits(table: Table, seat: int, square: int, here: Sequence[int], places: dict[int, int]) -> bool:
    """True if just these pieces may stand on a square; notes that they do."""
    pieces = range(len(table.options.pieces))
    missing = [slot for slot in pieces if _place(table, seat, slot) == square and slot not in here]
    odd = [
        slot
        for slot in here
        if not _may_stand(table, seat, slot, square)
        or (slot != AN_ASTEROID and places.setdefault(slot, square) != square)
    ]
    return not (missing or odd)


def _told_of(table: Table, seat: int) -> dict[int, list[int]]:
    """A seat's answers in this turn: the pieces on each square of the paths that it has checked, in their order."""
    return {
        square: [slot for place, slot in met if place == square]
        for checked, met in zip(table.queue, table.met, strict=False)
        if checked.seat != seat
        for square in checked.path(table.options.pieces)
    }


def _finished(table: Table) -> Table:
    """The table of the next turn: all collisions are judged, survivors rest, and the piece departs or does not."""
    options, seat = table.options, moves(table.turn)
    reports = ShownReports(check(options.pieces, *checked) for checked in table.queue)
    told = list(table.pieces)
    for square, *slots in table.collisions:
        report = collision(options.pieces, square, *slots)
        reports.append(report)
        for side, (slot, lost) in enumerate(zip(slots, report["destroyed"].values(), strict=True)):
            # What stood still rests there (rulings 19-21); no asteroid survives.
            told[side] = told[side].losing(slot, square) if lost else told[side].at(slot, square)
    for checked in table.queue:  # where it rests is its destination, whatever it met on the way
        own, other = checked.seat - 1, 2 - checked.seat
        told[own] = told[own].at(checked.slot, checked.end)
        told[other] = told[other]._replace(checked=told[other].checked | mask_of(checked.path(options.pieces)))
    if table.departing is None:
        reports.append({"seat": seat, "kind": "pass"})
    elif not told[seat - 1].destroyed >> table.departing[0] & 1 and all(pieces.homes for pieces in told):
        slot, square = table.departing
        told[seat - 1] = told[seat - 1].at(slot, square, transit=True)
        reports.append({"seat": seat, "kind": "departure", "piece": options.pieces[slot], "square": NAMES[square]})
    one, two = told
    played = table.played.and_(reports)
    result = _result(options, table.turn, (one, two))
    if not result and [turn[0]["kind"] for turn in played[-2:]] == ["pass", "pass"]:
        result = Result((1, 2), (one.homes, two.homes))
    return Table(options, (one, two), table.turn + (result is None), played=played, result=result)


def _result(options: Options, turn: int, pieces: tuple[Pieces, Pieces]) -> Result | None:
    """Planets, reach as far as it is known, and max_turns, in this order (rulings 26-29)."""
    one, two = pieces
    scores = one.homes, two.homes
    if not all(scores):
        return Result.of(scores)
    fighters = (1 << FIRST_HOME) - 1
    none_left = not options.mobile_home and not fighters & ~(one.destroyed & two.destroyed)
    return Result((1, 2), scores) if none_left or turn >= options.max_turns else None


# The owner's side


OwnSide = Own[State, Orders]


class SealedDuelingMasters(Answering[Options, Table, State, Orders]):
    """The rules of Dueling Masters as played sealed; stateless."""

    game = RULES
    papers: Mapping[str, Paper] = {
        "departs": Paper("departs", ("after", "orders")),
        "answers": Paper("answers", ("to",), to=("departs", "answers")),
    }
    reveals = True

    def begin(self, options: Options) -> Table:
        """The table before turn 1."""
        untold = Pieces((_UNTOLD,) * len(options.pieces))
        return Table(options, (untold, untold))

    def ruling(self, step: SealedStep, _honest: tuple[str, ...]) -> str:
        """The ruling on pieces in the path, or on the piece that departs."""
        return "15" if step.step == "answers" else "9"

    def owed(self, table: Table, seat: int) -> tuple[str, ...]:
        """The steps that a seat owes: answers on the path of the other's piece, and its own departure."""
        if table.result or _due(table) != seat:
            return ()
        if not table.asked:
            return ("departs",)
        ends = table.turn >= table.options.max_turns
        return ("answers",) if ends or moves(table.turn) == seat else ("answers", "departs")

    def judge(self, table: Table, seat: int, step: str, text: str) -> tuple[str, ...]:
        """The canonical lines of a step; raises `Refused` with all faults of form, or all contradictions."""
        words = " ".join(text.split())  # however mail broke the lines
        if step == "departs":
            _judge_departure(table, seat, words)
            return (words,)
        lines = [line.strip() for line in words.replace("check ", "\ncheck ").strip().split("\n")]
        # Each transit must be answered, and nothing may contradict what was reported.
        named = table.options.pieces
        asked = table.asked
        wanted = [f"check {named[checked.slot]}" for checked in asked]
        faults = misplaced(lines, wanted, "end", lambda line: _is_answer(table.options, line))
        if not faults:
            found = [(line, checked, _met(table.options, line)) for line, checked in zip(lines, asked, strict=True)]
            faults = list(_contradictions(table, seat, found))
        refuse(faults)
        return tuple(lines)

    def enter(self, table: Table, seat: int, step: str, lines: Iterable[str]) -> Table:
        """The table after a step; total on judged lines."""
        pieces = table.pieces[seat - 1]
        if step == "answers":
            # The transits due from the seat are checked (rulings 14-18).
            queue = list(table.queue)
            found = tuple(_met(table.options, line) for line in lines)
            for square, slot in (each for met in found for each in met):
                in_transit = slot != AN_ASTEROID and pieces.transit >> slot & 1
                if in_transit and all((seat, slot) != checked[:2] for checked in queue):
                    queue.append(Transit(seat, slot, pieces.squares[slot], square))
            table = table._replace(queue=tuple(queue), met=(*table.met, *found))
        else:
            # What departs is announced, and its last transit, if it is in one, checked (rulings 12 and 13).
            (line,) = lines
            departing = _departure(table.options, line)
            table = table._replace(departing=departing)
            if departing is not None and pieces.transit >> departing[0] & 1:
                slot, square = departing
                table = table._replace(queue=(Transit(seat, slot, pieces.squares[slot], square),))
        return table if table.asked else _finished(table)

    def lines(self, own: OwnSide, table: Table, step: str) -> tuple[str, ...]:
        """The lines of a step, as an honest owner writes them; raises `Refused` if orders are missing."""
        side, named = own.state.sides[own.seat - 1], table.options.pieces
        if step == "departs":
            slot = own.orders("8").slot
            return (f"{named[slot]} {NAMES[side.squares[slot]]}" if slot >= 0 else "pass",)
        lines = []
        for checked in table.asked:
            said = []
            for square in checked.path(named):
                here = [ASTEROID] if side.asteroids >> square & 1 else []
                here += [piece for piece, stands in zip(named, side.squares, strict=True) if stands == square]
                said += [word for piece in here for word in (NAMES[square], piece)]
            lines.append(" ".join(["check", named[checked.slot], *(said or ["none"])]))
        return tuple(lines)

    def side_after(self, own: OwnSide, reports: list[Report]) -> Side:
        """The player's side after a turn with these reports."""
        named, seat = own.state.options.pieces, str(own.seat)
        field = Field(own.seat, own.state.sides[own.seat - 1])
        for report in reports:
            if report["kind"] == "collision" and report["destroyed"][seat]:
                piece = report["pieces"][seat]
                slot = AN_ASTEROID if piece == ASTEROID else named.index(piece)
                field.destroy(slot, SQUARES[report["square"]])
            elif report.get("seat") == own.seat and report["kind"] == "check":
                field.starts[named.index(report["piece"])] = -1
            elif report.get("seat") == own.seat and report["kind"] == "departure":
                depart(report["piece"], field, own.orders("8"), [])
        return field.side()


SEALED: Final = SealedDuelingMasters()
