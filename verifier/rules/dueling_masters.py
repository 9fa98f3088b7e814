"""Dueling Masters of Space-Time, from its rules page alone."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from verifier import rules
from verifier.rules import Conditional, Options, Paper, Refused, Report, Result, best, demand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

EDITIONS, SEATS = range(1, 2), range(2, 3)
LETTERS = "ABCDEFGHIJ"
KINDS = ("*", "W", "B", "X", "Y", "Z", "H")
NUMBERS = {"W": 1, "B": 1, "X": 2, "Y": 2, "Z": 4}
DEFAULTS = {"homes": 1, "mobile_home": False, "max_turns": 400}
Square = tuple[str, int]
BOARD = [(row, column) for row in LETTERS for column in range(1, 11)]
SQUARES = {f"{row}{column}": (row, column) for row, column in BOARD}
HALVES = {1: LETTERS[:5], 2: LETTERS[5:]}


def name_of(square: Square) -> str:
    return f"{square[0]}{square[1]}"


def options(given: Mapping[str, Any], seats: int) -> Options:
    made = DEFAULTS | dict(given)
    demand(seats == 2 and set(made) == set(DEFAULTS), 28, "no such options")
    demand(type(made["homes"]) is int and made["homes"] in {1, 3}, 30, "homes")
    demand(type(made["mobile_home"]) is bool, 31, "mobile_home")
    demand(type(made["max_turns"]) is int and 1 <= made["max_turns"] <= 9999, 28, "max_turns")
    return {key: made[key] for key, default in DEFAULTS.items() if made[key] != default}


def carry(options: Options, _scores: Sequence[int]) -> Options:
    return options


def pieces(options: Options) -> list[str]:
    """The names of all pieces but asteroids, in order."""
    found = ((kind, number) for kind, number in [*NUMBERS.items(), ("H", options.get("homes", 1))])
    return [f"{kind}{n if most > 1 else ''}" for kind, most in found for n in range(1, most + 1)]


def called(options: Options, word: str) -> str:
    """The name of a piece as it is written in orders or setups: a lone one may have its number."""
    name = word.removesuffix("1") if word in {"W1", "B1"} or (word == "H1" and options.get("homes") != 3) else word
    return name if name in pieces(options) else ""


def words(text: str) -> str:
    return re.sub(r"[,;]", " ", re.sub(r"#[^\n\r]*", "", text))


def placed(options: Options, seat: int, text: str) -> list[tuple[str, Square]]:
    """The pieces of a setup, in order."""
    found: list[tuple[str, Square]] = []
    claimed: set[str] = set()
    piece, left = "", list[str]()
    for line in re.split(r"[\n\r]", words(text)):
        for at, word in enumerate(line.split()):
            named = called(options, word) if len(word) > 1 else ""
            if word in KINDS or (named and at == 0):
                piece = word
                left = [named] if word not in KINDS else [one for one in pieces(options) if one[0] == word]
                demand(not claimed & set(left), 34, f"{word} twice")
                claimed |= set(left)
            elif word in SQUARES and piece:
                square, alone = SQUARES[word], piece[0] in "*H"
                demand(square[0] in HALVES[seat], 2, "not in the own half")
                there = [one for one, other in found if other == square]
                demand(not there or not (alone or there[0][0] in "*H"), 3, "not alone on its square")
                demand(left or (piece == "*" and len([one for one, _ in found if one == "*"]) < 7), 2, "too many")
                found.append((left.pop(0) if left else "*", square))
            else:
                numbered = re.fullmatch("[WBXYZH][1-9][0-9]{0,2}", word) is not None and word not in SQUARES
                raise Refused(35 if named and word not in SQUARES else 36 if numbered else 34, "no line of a setup")
    wanted = Counter({"*": 7}) + Counter(pieces(options))
    demand(Counter(name for name, _ in found) == wanted, 2, "not each piece once")
    return sorted(found, key=lambda one: (KINDS.index(one[0][0]), one[0], BOARD.index(one[1])))


def setup(options: Options, seat: int, text: str) -> str:
    found = placed(options, seat, text)
    lines = {kind: [name_of(square) for name, square in found if name[0] == kind] for kind in KINDS}
    return "\n".join(" ".join([kind, *squares]) for kind, squares in lines.items())


def begin(options: Options, setups: Sequence[str]) -> Game:
    game = Game(options, {seat: placed(options, seat, text) for seat, text in enumerate(setups, 1)})
    game.told = []
    return game


def bare(text: str) -> str:
    """An order without comments, and without separators around it."""
    found = re.search(r"[^\s,;](?:.*[^\s,;])?", re.sub(r"#[^\n\r]*", " ", text), re.S)
    return found[0] if found else ""


def apart(start: Square, end: Square) -> tuple[int, int]:
    return LETTERS.index(end[0]) - LETTERS.index(start[0]), end[1] - start[1]


@cache
def moves_so(kind: str, start: Square, end: Square) -> bool:
    """True if a piece of this kind moves like this on an empty board."""
    down, right = map(abs, apart(start, end))
    straight = (down == 0) != (right == 0)
    diagonal = down == right != 0
    return {
        "W": {down, right} == {1, 2},
        "B": straight or diagonal,
        "X": straight,
        "Y": diagonal,
        "Z": straight or diagonal,
        "H": max(down, right) == 1,
        "*": False,
    }[kind]


@cache
def way(kind: str, start: Square, end: Square) -> list[Square]:
    """The squares after the start up to and including the end."""
    if kind == "W":
        return [end]
    down, right = apart(start, end)
    steps = max(abs(down), abs(right))
    row, column = LETTERS.index(start[0]), start[1]
    return [(LETTERS[row + down * n // steps], column + right * n // steps) for n in range(1, steps + 1)]


def rank(name: str) -> tuple[int, str]:
    return KINDS.index(name[0]), name


def stronger(one: str, other: str) -> bool:
    """True if the first destroys the second."""
    return "*" in (one[0], other[0]) or rank(one)[0] <= rank(other)[0]


class Piece:
    def __init__(self, seat: int, name: str, at: Square) -> None:
        self.seat, self.name, self.kind = seat, name, name[0]
        self.at = at
        self.left: Square | None = None  # where its transit began


Met = tuple[Square, str, str]
"""A collision: its square, and the pieces of both seats."""


def checked(seat: int, name: str, start: Square, end: Square) -> Report:
    return {"seat": seat, "kind": "check", "piece": name, "from": name_of(start), "to": name_of(end)}


Fallen = tuple[int, str, Square | None]
"""The destroyed pieces: seat, name, and of an asteroid, which has no number, its square."""


def known(seat: int, name: str, square: Square) -> Fallen:
    return seat, name, square if name == "*" else None


def collided(met: Sequence[Met]) -> tuple[list[Report], set[Fallen]]:
    """The reports of the collisions of a turn, and what was destroyed."""
    reports: list[Report] = []
    gone: set[Fallen] = set()
    for square, one, two in sorted(set(met), key=lambda pair: (BOARD.index(pair[0]), rank(pair[1]), rank(pair[2]))):
        lost = {"1": stronger(two, one), "2": stronger(one, two)}
        gone |= {known(seat, name, square) for seat, name in ((1, one), (2, two)) if lost[str(seat)]}
        pieces = {"1": one, "2": two}
        reports.append({"kind": "collision", "square": name_of(square), "pieces": pieces, "destroyed": lost})
    return reports, gone


def by_planets(one: int, two: int) -> Result | None:
    if one and two:
        return None
    return best((one, two))


class Game(Conditional):
    """A game; with the pieces of one seat alone, what that seat may order."""

    RULING = 38

    def __init__(self, options: Options, setups: Mapping[int, Sequence[tuple[str, Square]]]) -> None:
        self.options = options
        self.alive = [Piece(seat, name, at) for seat, placed in setups.items() for name, at in placed]
        self.mobile, self.most = options.get("mobile_home", False), options.get("max_turns", 400)

    def of(self, seat: int, kinds: Sequence[str] = KINDS) -> list[Piece]:
        return sorted((p for p in self.alive if p.seat == seat and p.kind in kinds), key=lambda p: rank(p.name))

    def standing(self, seat: int, square: Square) -> list[Piece]:
        return sorted((p for p in self.alive if p.seat == seat and p.at == square), key=lambda p: rank(p.name))

    def fault(self, piece: Piece, end: Square) -> int:
        """The ruling that bars this move, or 0."""
        if not moves_so(piece.kind, piece.at, end) or (piece.kind == "H" and not self.mobile):
            return 4
        path = way(piece.kind, piece.at, end)
        mine = {other.at: other.kind for other in self.alive if other.seat == piece.seat and other.kind in "*H"}
        for square in path:
            if mine.get(square) == "H":
                return 5
            if mine.get(square) == "*" and square != end:
                return 6
        return 32 if piece.kind == "H" and mine.get(end) == "*" else 0

    def legal(self, piece: Piece, end: Square) -> bool:
        return not self.fault(piece, end)

    def choices(self, seat: int) -> Iterator[tuple[Piece, Square]]:
        return ((piece, end) for piece in self.of(seat) for end in BOARD if self.legal(piece, end))

    def score(self, seat: int) -> int:
        return len(self.of(seat, "H"))

    @property
    def scores(self) -> tuple[int, ...]:
        return self.score(1), self.score(2)

    @property
    def due(self) -> dict[int, str | None]:
        if self.result:
            return {}
        seat = 2 - self.turn % 2
        return {seat: None if any(self.choices(seat)) else ""}

    def store(self, seat: int, turn: int, text: str) -> None:
        demand(turn in (0, *range(seat, turn + 1, 2)), 8, "the turn of the other")
        for said in map(bare, self.branches(seat, text)):
            if said:
                name, start, end = self.named(said)
                left = any(piece.name == name for piece in self.of(seat))
                moves = moves_so(name[0], start, end) and (name[0] != "H" or self.mobile)
                demand(moves or not left, 4, "no move")

    def holds(self, seat: int, atom: Sequence[str]) -> bool:
        """True if an atom holds (38)."""
        verb, *rest = atom
        told = [report for turn in self.told or [] for report in turn]
        met = [report for report in told if report["kind"] == "collision"]
        if verb == "can":
            demand(rest, 38, "no order")
            return self.may(seat, " ".join(rest))
        demand(verb in ("lost", "took", "met", "left") and len(rest) == 1, 38, "no atom")
        word = rest[0]
        if verb in ("met", "left"):
            demand(word in SQUARES, 38, "no square")
            left = [one for one in told if one["kind"] == "departure" and one["seat"] != seat]
            return any(one["square"] == word for one in (met if verb == "met" else left))
        name = word if word in ("any", "*") else called(self.options, word)
        demand(name, 38, "no piece")
        of = str(seat if verb == "lost" else 3 - seat)
        return any(one["destroyed"][of] and name in ("any", one["pieces"][of]) for one in met)

    def may(self, seat: int, text: str) -> bool:
        try:
            return self.plain(seat, text) != ""
        except Refused as refused:
            demand(refused.ruling not in ("8", "36", "37"), 38, "no order")
            return False

    def plain(self, seat: int, text: str) -> str:
        said = bare(text)
        if not said:
            demand(not any(self.choices(seat)), 25, "there is a legal move")
            return ""
        piece, end = self.ordered(seat, said)
        return f"{piece.name} {name_of(piece.at)}-{name_of(end)}"

    def named(self, text: str) -> tuple[str, Square, Square]:
        """The piece of an order, where it starts and where it ends."""
        found = re.match(r"([^\s,;]+)[\s,;]+([A-J](?:10|[1-9]))[\s,;]*-[\s,;]*([A-J](?:10|[1-9]))", text)
        if not found or found.end() < len(text):
            several = found and len(re.findall(r"[^\s,;]+", text)) > 2
            raise Refused(8 if several else 37, "no order")
        demand(found[1] != "*", 4, "asteroids do not move")
        name = called(self.options, found[1])
        demand(name, 36, "no such piece")
        return name, SQUARES[found[2]], SQUARES[found[3]]

    def ordered(self, seat: int, text: str) -> tuple[Piece, Square]:
        name, start, end = self.named(text)
        piece = next((piece for piece in self.of(seat) if piece.name == name), None)
        if piece is None:
            raise Refused(10, "destroyed")
        demand(piece.at == start, 9, "another square")
        fault = self.fault(piece, end)
        demand(not fault, fault, "no legal move")
        return piece, end

    def play(self, orders: Mapping[int, str]) -> list[Report]:
        ((seat, text),) = orders.items()
        reports: list[Report] = []
        if not text:
            reports.append({"seat": seat, "kind": "pass"})
        else:
            piece, end = self.ordered(seat, text)
            if piece.left is not None:
                self.check(piece, reports)
            if piece in self.alive and self.score(1) and self.score(2):
                report = {"seat": seat, "kind": "departure", "piece": piece.name, "square": name_of(piece.at)}
                reports.append(report)
                self.depart(piece, end)
        self.result = by_planets(*self.scores)
        stuck = not self.result and not self.mobile and not self.reaches(1) and not self.reaches(2)
        if stuck or (not self.result and self.turn == self.most):
            self.result = Result((1, 2), self.scores)
        self.turn += self.result is None
        self.told = [*(self.told or [])[-1:], reports]
        return reports

    def depart(self, piece: Piece, end: Square) -> None:
        rammed = [other for other in self.standing(piece.seat, end) if other.kind == "*"]
        if rammed:
            self.alive = [other for other in self.alive if other not in (piece, *rammed)]
        else:
            piece.left, piece.at = piece.at, end

    def check(self, first: Piece, reports: list[Report]) -> None:
        queue = [first]
        met: list[Met] = []
        for piece in queue:  # it grows
            assert piece.left is not None
            reports.append(checked(piece.seat, piece.name, piece.left, piece.at))
            for square in way(piece.kind, piece.left, piece.at):
                for other in self.standing(3 - piece.seat, square):
                    one, two = (piece, other) if piece.seat == 1 else (other, piece)
                    met.append((square, one.name, two.name))
                    if other.left is not None and other not in queue:
                        queue.append(other)
        more, gone = collided(met)
        reports += more
        for piece in queue:
            piece.left = None
        self.lose(gone)

    def lose(self, gone: set[Fallen]) -> None:
        self.alive = [piece for piece in self.alive if known(piece.seat, piece.name, piece.at) not in gone]

    def reaches(self, seat: int) -> bool:
        homes = {piece.at for piece in self.of(3 - seat, "H")}
        asteroids = {piece.at for piece in self.of(seat, "*")}
        for piece in self.of(seat, "WBXYZ"):
            seen, edge = {piece.at}, [piece.at]
            while edge:
                scout = Piece(seat, piece.kind, edge.pop())
                if scout.at in homes:
                    return True
                ends = [end for end in BOARD if end not in seen and end not in asteroids and self.legal(scout, end)]
                seen.update(ends)
                edge += ends
        return False


class Told:
    """The reports of a piece: where it is known to stand, and where its transit began."""

    def __init__(self) -> None:
        self.at: Square | None = None
        self.left: Square | None = None


class Table(rules.Table):
    """A sealed game: the mover departs; whoever is asked answers, until nothing in transit is met."""

    papers: ClassVar[Mapping[str, Paper]] = {
        "departs": Paper("departs", ("after", "orders")),
        "answers": Paper("answers", ("to",), ("departs", "answers")),
    }

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.alive = {seat: {name: Told() for name in pieces(options)} for seat in (1, 2)}
        self.asteroids: dict[int, set[Square]] = {1: set(), 2: set()}
        self.seen: dict[int, set[Square]] = {1: set(), 2: set()}
        """By seat the squares that were ever looked at for its pieces, and its asteroids that were met."""
        self.passes = 0
        self.gone: set[Fallen] = set()
        self.departed = False
        self.again()

    def again(self) -> None:
        """A turn begins."""
        self.departing: tuple[str, Square] | None = None
        self.queue: list[tuple[int, str]] = []
        self.answered = 0
        self.reports: list[Report] = []
        self.met: list[Met] = []
        self.told: dict[tuple[int, Square], list[str]] = {}

    @property
    def scores(self) -> tuple[int, ...]:
        one, two = (sum(name[0] == "H" for name in self.alive[seat]) for seat in (1, 2))
        return one, two

    @property
    def asked(self) -> list[tuple[str, list[Square]]]:
        """The transits that are to be checked now: the pieces, and their paths."""
        found = []
        for seat, name in self.queue[self.answered :]:
            piece = self.alive[seat][name]
            assert piece.left
            assert piece.at
            found.append((name, way(name[0], piece.left, piece.at)))
        return found

    @property
    def due(self) -> dict[int, str]:
        if self.result:
            return {}
        if self.answered < len(self.queue):
            return {3 - self.queue[self.answered][0]: "answers"}
        return {2 - self.turn % 2: "departs"}

    def can_be(self, seat: int, name: str, square: Square) -> bool:
        piece = self.alive[seat].get(name)
        if piece is None:
            return False
        if piece.at:
            return piece.at == square
        if piece.left:
            return moves_so(name[0], piece.left, square)
        return square[0] in HALVES[seat] and square not in self.seen[seat]

    def judge(self, seat: int, step: str, text: str) -> tuple[str, ...]:
        said = text.split()
        if step == "departs":
            if said != ["pass"]:
                demand(len(said) == 2 and said[1] in SQUARES, 37, "no departure")
                demand(said[0][0] != "H" or self.options.get("mobile_home"), 4, "home planets do not move")
                demand(self.can_be(seat, said[0], SQUARES[said[1]]), 9, "it cannot stand there")
            return (" ".join(said),)
        lines = re.sub(r" (?=check )", "\n", " ".join(said)).split("\n")
        demand(len(lines) == len(self.asked), 15, "not a line for each transit")
        told = dict(self.told)
        for line, (name, path) in zip(lines, self.asked, strict=True):
            self.judge_answer(seat, line, name, path, told)
        named = [(square, name) for (owner, square), names in told.items() if owner == seat for name in names]
        found = Counter(name for _, name in named if name != "*")
        demand(max(found.values(), default=0) <= 1, 15, "a piece on two squares")
        met = {square for square, name in named if name == "*"}
        demand(len(self.asteroids[seat] | met) <= 7, 2, "more than seven asteroids")
        return tuple(lines)

    def judge_answer(
        self, seat: int, line: str, name: str, path: Sequence[Square], told: dict[tuple[int, Square], list[str]]
    ) -> None:
        found = things(line, name)
        order = [(path.index(square) if square in path else -1, rank(one)) for square, one in found]
        demand(all(at >= 0 for at, _ in order) and order == sorted(set(order)), 14, "not as the path goes")
        for square, one in found:
            before = told.get((seat, square))
            fresh = square[0] in HALVES[seat] and square not in self.seen[seat]
            able = (fresh or before is not None) if one == "*" else self.can_be(seat, one, square)
            demand(able or one in (before or []), 15, "it cannot stand there")
        for square in path:
            here = [one for at, one in found if at == square]
            resting = {one for one, piece in self.alive[seat].items() if piece.at == square}
            demand(resting <= set(here), 15, "what rests there is not named")
            demand(told.setdefault((seat, square), here) == here, 15, "told otherwise before")

    def enter(self, seat: int, step: str, lines: Sequence[str]) -> None:
        if step == "departs":
            if lines[0] == "pass":
                self.passes += 1
                self.reports.append({"seat": seat, "kind": "pass"})
            else:
                self.passes = 0
                name, square = lines[0].split()
                piece = self.alive[seat][name]
                piece.at = SQUARES[square]
                self.departing = (name, piece.at)
                if piece.left:
                    self.queue.append((seat, name))
        else:
            self.answer(seat, lines)
        if self.answered == len(self.queue):
            self.complete()

    def answer(self, seat: int, lines: Sequence[str]) -> None:
        looked = []
        for line, (name, path) in zip(lines, self.asked, strict=True):
            for square, one in things(line, name):
                self.met.append((square, one, name) if seat == 1 else (square, name, one))
                piece = self.alive[seat].get(one)
                if piece is None:
                    self.asteroids[seat].add(square)
                    continue
                piece.at = square
                if piece.left and (seat, one) not in self.queue:
                    self.queue.append((seat, one))
            for square in path:
                self.told[seat, square] = [one for at, one in things(line, name) if at == square]
            looked += path
        self.answered += len(lines)
        self.seen[seat].update(looked)

    def complete(self) -> None:
        """Nothing more is asked: the turn is resolved."""
        mover = 2 - self.turn % 2
        for seat, name in self.queue:
            piece = self.alive[seat][name]
            assert piece.left
            assert piece.at
            self.reports.append(checked(seat, name, piece.left, piece.at))
            piece.left = None
        more, self.gone = collided(self.met)
        self.reports += more
        for seat, name, _ in self.gone:
            self.alive[seat].pop(name, None)
        self.result = by_planets(*self.scores)
        self.departed = bool(self.departing and not self.result and self.departing[0] in self.alive[mover])
        if self.departing and self.departed:
            name, square = self.departing
            self.reports.append({"seat": mover, "kind": "departure", "piece": name, "square": name_of(square)})
            self.alive[mover][name].at, self.alive[mover][name].left = None, square
        fighters = any(name[0] != "H" for seat in (1, 2) for name in self.alive[seat])
        still = self.passes == 2 or not (fighters or self.options.get("mobile_home"))
        if not self.result and (still or self.turn == self.options.get("max_turns", 400)):
            self.result = Result((1, 2), self.scores)
        self.played.append(self.reports)
        if not self.result:
            self.turn += 1
            self.again()


def things(line: str, name: str) -> list[tuple[Square, str]]:
    """The part that an answer names on the path of a piece: squares and names."""
    said = line.split()
    demand(said[:2] == ["check", name] and len(said) > 2, 15, "no answer to this check")
    if said[2:] == ["none"]:
        return []
    squares, names = said[2::2], said[3::2]
    demand(len(squares) == len(names) and set(squares) <= set(SQUARES), 15, "no answer")
    demand(all(re.fullmatch(r"\*|[WBXYZH][1-4]?", one) for one in names), 15, "no pieces")
    return list(zip(map(SQUARES.__getitem__, squares), names, strict=True))


class Owner:
    """One seat of a sealed game with its secrets, beside the table as it was told."""

    def __init__(self, table: Table, seat: int, setup: str) -> None:
        self.table, self.seat = table, seat
        self.own = Game(table.options, {seat: placed(table.options, seat, setup)})
        self.ordered: tuple[Piece, Square] | None = None

    def lines(self, step: str, orders: str) -> tuple[str, ...]:
        if step == "departs":
            text = self.own.order(self.seat, orders)
            self.ordered = self.own.ordered(self.seat, text) if text else None
            return (" ".join(text.split("-")[0].split()) or "pass",)
        made = []
        for name, path in self.table.asked:
            met = [f"{name_of(square)} {one.name}" for square in path for one in self.own.standing(self.seat, square)]
            made.append(" ".join(["check", name, *(met or ["none"])]))
        return tuple(made)

    def follow(self, _seat: int, _step: str) -> None:
        if self.table.answered < len(self.table.queue) or len(self.table.played) == self.own.turn - 1:
            return
        self.own.turn += 1
        resting = self.table.alive[self.seat]
        self.own.lose(self.table.gone)
        if self.ordered and self.table.departed:
            self.own.depart(*self.ordered)
        self.ordered = None
        for piece in self.own.of(self.seat):
            piece.left = None if piece.name in resting and resting[piece.name].at else piece.left

    def ruling(self, step: str, _right: Sequence[str], _told: Sequence[str]) -> int:
        return 9 if step == "departs" else 15
