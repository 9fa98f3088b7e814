"""The words of letters beside the boards of Dueling Masters: the pieces, a turn's reports, what may be ordered.

Here live phrases and rows, made only from views and reports; no layout, and no language but the catalogue's.
Implements ruling 33: nothing is told that the view does not hold.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games.dueling_masters.board import ASTEROID, HOME, pieces
from pbem.games.dueling_masters.boards import boards as boards_of
from pbem.games.dueling_masters.boards import truth as true_boards
from pbem.games.squares import Glance, Line, Square
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.games import Report
    from pbem.games.conditional_orders import Atom
    from pbem.games.dueling_masters.knowledge import Known, Own, View
    from pbem.games.squares import Board, Panel

OWN: Final = (
    (Square("Z1", "own"), Phrase("your piece, resting")),
    (Square("z1", "fired"), Phrase("in transit to there")),
    (Square("*", "rock"), Phrase("asteroid")),
    (Square("x", "lost"), Phrase("asteroid, destroyed")),
    (Square("o", "empty"), Phrase("found empty by the other side")),
)
KNOWN: Final = (
    (Square("Z1", "seen"), Phrase("rests there")),
    (Square("z1", "rock"), Phrase("in transit from there")),
    (Square("x", "sunk"), Phrase("asteroid, destroyed")),
    (Square("o", "empty"), Phrase("found empty")),
)
SEVERAL: Final = (Square("W+"), Phrase("more than one, the strongest named"))
FRESH: Final = (Square("", "empty", fresh=True), Phrase("last turn"))
RESTING: Final = Phrase("resting")
IN_TRANSIT: Final = Phrase("in transit")
DESTROYED: Final = Phrase("destroyed")
FOUND_EMPTY: Final = Phrase("found empty")
TITLE: Final = Phrase("Your pieces")
HOMES: Final = Phrase("Home planets left")


class Pieces(NamedTuple):
    """One side's pieces: its board and legend, its titles (`heading`: beside its own board), and the pieces."""

    board: Board
    title: Phrase
    heading: Phrase
    key: Sequence[tuple[Square, Phrase]]
    lines: Sequence[Line]
    empty: Line
    """The squares that were found empty, which boards show, too."""


class Position(NamedTuple):
    """Both sides, the words above and below their boards in a text, and the home planets that are left."""

    title: Phrase
    signs: Sequence[Phrase]
    sides: Sequence[Pieces]
    homes: Line

    @property
    def panels(self) -> list[Panel]:
        """The boards, side by side."""
        return [panel for side in self.sides for panel in side.board.panels]


OWN_SIGNS: Final = (
    Phrase("Z1 stands there, z1 in transit: yours to there, the other's from there"),
    Phrase("W+ more pieces there, W the strongest   * asteroid   x one destroyed"),
    Phrase("o  found empty, left by the other side, right by you   .  nothing known"),
)
TRUE_SIGNS: Final = (
    Phrase("Z1 stands there   z1 in transit to there   W+ more pieces there"),
    Phrase("*  asteroid   o  found empty by the other side   .  nothing"),
)
PUBLIC_SIGNS: Final = (
    Phrase("Z1 rests there   z1 in transit from there   W+ more pieces there"),
    Phrase("x  asteroid destroyed   o  found empty   .  nothing known"),
)


def position(view: View, names: Mapping[int, str], boards: Sequence[Board] | None = None) -> Position:
    """The position, the reader's own side first."""
    drawn, own, known = boards or boards_of(view), view["own"], view["known"]
    sides = [
        _own(own, board, TITLE)
        if own is not None and str(board.seat) not in known
        else _known(view, known[str(board.seat)], board, names[board.seat])
        for board in drawn
    ]
    left, right = (names[board.seat] for board in drawn)
    both = Phrase("Left {left}'s pieces, right {right}'s, as both know them", left=left, right=right)
    title = Phrase("Left your pieces, right {name}'s as you know them", name=right) if view["own"] else both
    signs = OWN_SIGNS if view["own"] else PUBLIC_SIGNS
    return Position(title, signs, sides, _homes(view, names))


def truth(views: Mapping[int, View], names: Mapping[int, str], seat: int, boards: Sequence[Board]) -> Position:
    """The position as it was, the reader's own side first, once everything is revealed."""
    sides = []
    for board in boards:
        own = views[board.seat]["own"]
        assert own is not None
        mine = board.seat == seat
        sides.append(_own(own, board, TITLE if mine else Phrase("{name}'s pieces", name=names[board.seat])))
    title = Phrase("Left your pieces, right {name}'s, as they were", name=names[3 - seat])
    return Position(title, TRUE_SIGNS, sides, _homes(views[seat], names))


def glance(view: View, names: Mapping[int, str]) -> Glance:
    """The position in a few lines."""
    where, due = position(view, names), entitled(view)
    pieces = [Phrase("{piece} {square}", piece=move.piece, square=move.square) for move in due.moves]
    may = Line(Phrase("Move one of"), pieces) if pieces else None
    return _at_a_glance(where, may, due.example)


def end_at_a_glance(views: Mapping[int, View], names: Mapping[int, str], seat: int) -> Glance:
    """Both sides as they were, in a few lines."""
    return _at_a_glance(truth(views, names, seat, true_boards(views, seat)))


def _at_a_glance(where: Position, due: Line | None = None, example: str = "") -> Glance:
    boards = [(side.title, "", side.board) for side in where.sides]
    return Glance(boards, [*where.homes.parts, *where.signs], due, example.split())


def _homes(view: View, names: Mapping[int, str]) -> Line:
    scores = enumerate(view["scores"], start=1)
    return Line(HOMES, [Phrase("{name} {score}", name=names[seat], score=score) for seat, score in scores])


def _own(own: Own, board: Board, title: Phrase) -> Pieces:
    resting = [f"{one['piece']} {one['square']}" for one in own["pieces"] if one["from"] is None]
    moving = [f"{one['piece']} {one['from']}-{one['square']}" for one in own["pieces"] if one["from"] is not None]
    lost = [*own["destroyed"], *(f"{ASTEROID} {square}" for square in own["asteroids_destroyed"])]
    lines = [
        Line(RESTING, resting),
        Line(IN_TRANSIT, moving),
        Line(Phrase("asteroids"), [" ".join(own["asteroids"])] if own["asteroids"] else []),
        Line(DESTROYED, lost),
    ]
    searched = list(own["explored"])
    return Pieces(board, title, title, _key(board, OWN), lines, Line(FOUND_EMPTY, searched))


def _known(view: View, known: Known, board: Board, name: str) -> Pieces:
    heard: dict[str, list[str]] = {"resting": [], "in transit": [], "destroyed": []}
    for one in known["pieces"]:
        piece, square, turn = one["piece"], one["square"], one["turn"]
        left = Phrase("{piece} left {square} (turn {turn})", piece=piece, square=square, turn=turn)
        there = Phrase("{piece} {square} (turn {turn})", piece=piece, square=square, turn=turn)
        heard[one["state"]].append(left if one["state"] == "in transit" else there)
    heard["destroyed"] += [
        Phrase("{piece} {square} (turn {turn})", piece=ASTEROID, square=square, turn=turn)
        for square, turn in known["asteroids_destroyed"].items()
    ]
    named = {one["piece"] for one in known["pieces"]}
    unheard = [piece for piece in pieces(view["options"]["homes"]) if piece not in named]
    if known["asteroids"]:
        unheard.append(f"{known['asteroids']} {ASTEROID}")
    lines = [
        Line(RESTING, heard["resting"]),
        Line(IN_TRANSIT, heard["in transit"]),
        Line(Phrase("not yet seen"), unheard),
        Line(DESTROYED, heard["destroyed"]),
    ]
    both = Phrase("{name}'s pieces, as both know them", name=name)
    heading = Phrase("{name}'s pieces, as you know them", name=name) if view["own"] else both
    title = Phrase("{name}'s pieces", name=name)
    return Pieces(board, title, heading, _key(board, KNOWN), lines, Line(FOUND_EMPTY, list(known["empty"])))


def _key(board: Board, meanings: Sequence[tuple[Square, Phrase]]) -> list[tuple[Square, Phrase]]:
    """The legend of the symbols that occur."""
    found = board.told
    tints = {square.tint for square in found}
    entries = [(square, meaning) for square, meaning in meanings if square.tint in tints]
    if any(square.symbol.endswith("+") for square in found):
        entries.append(SEVERAL)
    return [*entries, FRESH] if any(square.fresh for square in found) else entries


# Reports.

NOTHING: Final = Phrase("nothing")


class Event(NamedTuple):
    """A report: its label, the words beside that, and the same as a separate sentence."""

    label: Phrase
    parts: Sequence[Phrase]
    sentence: Phrase


def events(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Iterator[Event]:
    """The events of a turn."""
    for report in reports:
        match report["kind"]:
            case "check":
                words = _check(report, seat, names)
                yield Event(Phrase("check"), (words,), Phrase("check of {words}", words=words))
            case "collision":
                label, words = Phrase("collision"), _collision(report, seat, names)
                yield Event(label, (words,), Phrase("{label} {words}", label=label, words=words))
            case "departure":
                piece = _piece(report["seat"], report["piece"], seat, names)
                words = Phrase("{piece} departs from {square}", piece=piece, square=report["square"])
                yield Event(Phrase("departure"), (words,), words)
            case _ if report["seat"] == seat:
                told = Phrase("you have no legal move, so you pass")
                yield Event(Phrase("pass"), (Phrase("you have no legal move"),), told)
            case _:
                name = names[report["seat"]]
                told = Phrase("{name} has no legal move, so {name} passes", name=name)
                yield Event(Phrase("pass"), (Phrase("{name} has no legal move", name=name),), told)


def in_brief(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Iterator[Line]:
    """The events of a turn, each in a line."""
    yield from (Line(event.label, event.parts) for event in events(reports, seat, names))


def summary(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Phrase:
    """The outcome of a turn for its reader, in one line: who moved what, and what was lost."""
    if not reports:
        return Phrase("Nothing happened")
    told = _moved(reports, seat, names)
    for owner in sorted(names):
        lost = [
            report["pieces"][str(owner)]
            for report in reports
            if report["kind"] == "collision" and report["destroyed"][str(owner)]
        ]
        pieces = [piece for piece in dict.fromkeys(lost) if piece != ASTEROID]
        if asteroids := lost.count(ASTEROID):
            several = Phrase("{count} asteroids", count=asteroids)
            pieces.append(Phrase("an asteroid") if asteroids == 1 else several)
        if pieces:
            whole = reduce(lambda first, last: Phrase("{first}, {last}", first=first, last=last), pieces)
            loss = Phrase("{name} lost {piece}", name=names[owner], piece=whole)
            loss = Phrase("you lost {piece}", piece=whole) if owner == seat else loss
            told = Phrase("{one}; {two}", one=told, two=loss)
    return told


def _moved(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Phrase:
    """The outcome of the order: the first piece that is checked is the one that was ordered."""
    last, first = reports[-1], reports[0]
    if last["kind"] == "departure":
        piece, square = last["piece"], last["square"]
        if last["seat"] == seat:
            return Phrase("You moved {piece} from {square}", piece=piece, square=square)
        return Phrase("{name} moved {piece} from {square}", name=names[last["seat"]], piece=piece, square=square)
    name = names[first["seat"]]
    if first["kind"] == "check":
        if first["seat"] == seat:
            return Phrase("You could not move {piece}", piece=first["piece"])
        return Phrase("{name} could not move {piece}", name=name, piece=first["piece"])
    if first["seat"] == seat:
        return Phrase("You had no legal move")
    return Phrase("{name} had no legal move", name=name)


def _piece(owner: int, piece: str, seat: int | None, names: Mapping[int, str]) -> Phrase:
    what = Phrase("asteroid") if piece == ASTEROID else piece
    if owner == seat:
        return Phrase("your {what}", what=what)
    return Phrase("{name}'s {what}", name=names[owner], what=what)


def _check(report: Report, seat: int | None, names: Mapping[int, str]) -> Phrase:
    piece, start = _piece(report["seat"], report["piece"], seat, names), report["from"]
    if "to" in report:
        return Phrase("{piece}, in transit {start} to {end}", piece=piece, start=start, end=report["to"])
    return Phrase("{piece}, in transit from {start}", piece=piece, start=start)


def _collision(report: Report, seat: int | None, names: Mapping[int, str]) -> Phrase:
    one, two = (_piece(owner, report["pieces"][str(owner)], seat, names) for owner in (1, 2))
    square = report["square"]
    if all(report["destroyed"].values()):
        return Phrase("{square}, {one} and {two}: both are destroyed", square=square, one=one, two=two)
    lost = one if report["destroyed"]["1"] else two
    return Phrase("{square}, {one} and {two}: {lost} is destroyed", square=square, one=one, two=two, lost=lost)


# Orders.


class Move(NamedTuple):
    """A piece that may be ordered, and to where, by moving or by ramming."""

    piece: str
    square: str
    to: str
    rams: str

    @property
    def parts(self) -> list[str]:
        """To where."""
        return [*([self.to] if self.to else []), *([Phrase("ram {squares}", squares=self.rams)] if self.rams else [])]


class Entitled(NamedTuple):
    """The pieces that may be ordered, and an example."""

    moves: Sequence[Move]
    example: str


def entitled(view: View) -> Entitled:
    """The pieces that the reader may order in the coming turn; the example rams an asteroid only if it must."""
    able = view["entitled"] or []
    moves = [Move(one["piece"], one["square"], " ".join(one["to"]), " ".join(one["rams"])) for one in able]
    goals = [(one, goal) for kind in ("to", "rams") for one in able for goal in one[kind]]
    written = [f"{one['piece']} {one['square']}-{goal}" for one, goal in goals[:1]]
    return Entitled(moves, "".join(written))


def said(text: str) -> list[Phrase]:
    """A judged order in words: read back to the player before it is signed."""
    if not text:
        return [Phrase("pass")]
    piece, way = text.split(" ")
    start, _, end = way.partition("-")
    return [Phrase("{piece} goes from {start} to {end}", piece=piece, start=start, end=end)]


_ALL: Final[Mapping[str, Phrase]] = {"any": Phrase("a piece"), ASTEROID: Phrase("an asteroid")}


CONDITIONS: Final = ("lost …", "took …", "met …", "left …", "can …")
"""The atoms of conditional orders, to choose from."""


def atom_said(atom: Atom) -> Phrase:
    """An atom of conditional orders in words, behind `if`."""
    verb, *words = atom
    word = " ".join(words)
    match verb:
        case "lost":
            return Phrase("you lost {lost}", lost=_ALL.get(word, word))
        case "took":
            return Phrase("your opponent lost {lost}", lost=_ALL.get(word, word))
        case "met":
            return Phrase("pieces met on {square}", square=word)
        case "left":
            return Phrase("a piece of your opponent's left {square}", square=word)
    return Phrase("you can order {orders}", orders=word)


# Record sheets, and what is asked for before a game.

ROWS: Final = 8
COLUMNS: Final = 5


def sheet_rows(mine: Sequence[Sequence[str]]) -> list[str]:
    """Moves in columns (in a long game only the last ones), with room for five more."""
    moves = [lines[0].replace(" ", "  ") for lines in mine if lines[0]]
    shown = moves[max(0, len(moves) - ROWS * COLUMNS + 5) :]
    shown += ["____ ____________"] * (ROWS * COLUMNS - len(shown))
    return ["\t".join(shown[row::ROWS]) for row in range(ROWS)]


EXAMPLE: Final = """\
* B1 B3 B5 B7 B9 D10 E10
W A10
B A8
X A6 A7
Y C8 C10
Z D2 D4 D6 D8
H A1"""
"""A setup of seat 1, as rules and letters show it."""


def example(options: Mapping[str, object], seat: int) -> str:
    """The example for a seat under these options: mirrored, with more home planets."""
    rows = "ABCDE" if seat == 1 else "JIHGF"
    lines = [line.split() for line in EXAMPLE.splitlines()]
    if options.get("homes") == 3:
        lines = [[*line, "A2", "A3"] if line[0] == HOME else line for line in lines]
    return "\n".join(
        " ".join([kind, *(rows["ABCDE".index(square[0])] + square[1:] for square in squares)])
        for kind, *squares in lines
    )
