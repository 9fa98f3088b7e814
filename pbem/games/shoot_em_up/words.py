"""The words of letters beside the boards of Shoot 'em up: the ships, a turn's hits, what may be ordered.

Here live phrases and rows, made only from views and reports; no layout, and no language but the catalogue's.
Implements ruling 6: every reader is told the same, apart from what is theirs to order.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games.shoot_em_up.board import LETTERS
from pbem.games.shoot_em_up.board import board as board_of
from pbem.games.shoot_em_up.boards import boards as boards_of
from pbem.games.shoot_em_up.boards import happened, marked
from pbem.games.shoot_em_up.notation import EDGES
from pbem.games.squares import Glance, Line, Square
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pbem.games import Report
    from pbem.games.shoot_em_up.knowledge import Destroyed, Placed, View
    from pbem.games.squares import Board, Panel

FACINGS: Final = {"N": Phrase("north"), "E": Phrase("east"), "S": Phrase("south"), "W": Phrase("west")}
ARROWS: Final = Phrase("A^ faces north, A> east, Av south, A< west")
HEADS: Final = (Phrase("whose"), Phrase("ship"), Phrase("where"))
THE_BOARD: Final = Phrase("The board")


class Ship(NamedTuple):
    """A ship that is left: its square, facing and shields, and its last orders."""

    ship: str
    square: str
    state: Phrase
    ordered: str
    turn: str


class Lost(NamedTuple):
    """A ship that was destroyed: how, and its last orders."""

    ship: str
    end: Phrase
    ordered: str
    line: Phrase


class Side(NamedTuple):
    """A seat: whose it is, beside a text and in it; how many ships are left, and all of them."""

    title: str
    whose: str
    left: Phrase
    ships: Sequence[Ship]
    lost: Sequence[Lost]


class Position(NamedTuple):
    """The board with its legend, the seats, what the column of the last orders is called, and the ships left."""

    board: Board
    key: Sequence[tuple[Square, str]]
    sides: Sequence[Side]
    ordered: Phrase
    left: Line


def position(view: View, names: Mapping[int, str], boards: Sequence[Board] | None = None) -> Position:
    """The position."""
    (board,) = boards or boards_of(view)
    tints = {square.tint for square in board.told}
    whose = {seat: Phrase("you") if seat == view["seat"] else name for seat, name in names.items()}
    seats = [(seat, name, f"seat {seat}") for seat, name in whose.items()]
    key = [(Square(LETTERS[seat * 3 - 3], tint), name) for seat, name, tint in seats if tint in tints]
    if "hit" in tints:
        key.append((Square("*", "hit"), Phrase("destroyed there last turn")))
    last = view["last"]
    ordered = Phrase("ordered in turn {turn}", turn=last["turn"]) if last else Phrase("ordered")
    left = [Phrase("{name} {score}", name=name, score=view["scores"][seat - 1]) for seat, name in whose.items()]
    sides = [_side(view, seat, name, whose[seat]) for seat, name in names.items()]
    return Position(board, key, sides, ordered, Line(Phrase("Ships left"), left))


def glance(view: View, names: Mapping[int, str]) -> Glance:
    """The position in a few lines."""
    where, due = position(view, names), entitled(view)
    sides = [Phrase("{name}: {left}", name=side.title, left=side.left) for side in where.sides]
    actions = [Phrase("{sign} {meaning}", sign=letter, meaning=action) for letter, action in ACTIONS.items()]
    return Glance(
        [("", "", where.board)],
        [*sides, ARROWS],
        Line(Phrase("Three actions for each ship"), actions) if due else None,
        due.examples.splitlines() if due else (),
    )


def end_at_a_glance(views: Mapping[int, View], names: Mapping[int, str], seat: int) -> Glance:
    """The board as it was: nothing was hidden."""
    return glance(views[seat], names)._replace(due=None, example=())


def _side(view: View, seat: int, name: str, whose: str) -> Side:
    title = Phrase("You") if seat == view["seat"] else name
    count = view["scores"][seat - 1]
    left = Phrase("{count} ship left", count=count) if count == 1 else Phrase("{count} ships left", count=count)
    ships = [_ship(view, ship) for ship in view["ships"] if ship["seat"] == seat]
    return Side(title, whose, left, ships, [_lost(view, ship) for ship in view["destroyed"] if ship["seat"] == seat])


def _ship(view: View, ship: Placed) -> Ship:
    facing = FACINGS[ship["facing"]]
    state = (
        Phrase("{facing}, {shields}", facing=facing, shields=_shields(ship["shields"])) if ship["shields"] else facing
    )
    ordered = _ordered(view, ship["ship"])
    last = view["last"]
    turn = Phrase("turn {turn}: {actions}", turn=last["turn"], actions=ordered) if last and ordered else ""
    return Ship(ship["ship"], ship["square"], state, ordered, turn)


def _lost(view: View, ship: Destroyed) -> Lost:
    end = Phrase(
        "destroyed at {where} in turn {turn}, action {action}, by {by}",
        where=ship["where"],
        turn=ship["turn"],
        action=ship["action"],
        by=" ".join(ship["by"]),
    )
    ordered = _ordered(view, ship["ship"])
    return Lost(
        ship["ship"], end, ordered, Phrase("{end}, ordered {actions}", end=end, actions=ordered) if ordered else end
    )


def _ordered(view: View, ship: str) -> str:
    return str(view["last"]["orders"].get(ship, "")) if view["last"] else ""


def _shields(count: int) -> Phrase:
    return Phrase("{count} shield", count=count) if count == 1 else Phrase("{count} shields", count=count)


# Reports.

NOBODY: Final = Phrase("nobody was hit")
AFTER: Final = Phrase("After action")
SIGNS: Final = Phrase(
    "At the corner of a board: after which action. A number after the arrow: shields. A star: hit there."
)


class Hit(NamedTuple):
    """A hit: where, and whose ship was hit by whose."""

    where: str
    parts: tuple[Phrase]
    destroyed: bool


class Action(NamedTuple):
    """One of a turn's actions: its title, the hits, the board after it, and the shields there."""

    title: Phrase
    hits: Sequence[Hit]
    board: Panel
    shields: Line
    ships: Line
    """The ships on the board."""


def actions(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Iterator[Action]:
    """The events of each action of a turn."""
    states = [report for report in reports if report["kind"] == "state"]
    for state, board in zip(states, happened(reports).panels, strict=True):
        hits = [
            _hit(report, seat, names)
            for report in reports
            if report["kind"] == "hit" and report["action"] == state["action"]
        ]
        counts = {letter: text.rpartition(" ")[2] for letter, text in state["ships"].items()}
        shields = [f"{letter} {count}" for letter, count in counts.items() if count != "0"]
        title = Phrase("Action {action}", action=state["action"])
        ships = [f"{letter} {text.rpartition(' ')[0]}" for letter, text in state["ships"].items()]
        yield Action(
            title, hits, replace(board, name=""), Line(Phrase("Shields"), shields), Line(Phrase("Ships"), ships)
        )


def in_brief(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Iterator[Line]:
    """The hits of each action in which there were any."""
    for action in actions(reports, seat, names):
        if action.hits:
            yield Line(action.title, [part for hit in action.hits for part in hit.parts])


def summary(reports: Sequence[Report], seat: int | None) -> Phrase:
    """The outcome of a turn for its reader, in one line; for the public, who lost what."""
    hits = [report for report in reports if report["kind"] == "hit"]
    lost = _destroyed(hits)
    if not hits:
        return Phrase("Nobody was hit")
    if seat is None:
        return Phrase("Lost: {ships}", ships=" ".join(lost)) if lost else Phrase("No ship was lost")
    own = set(LETTERS[seat * 3 - 3 : seat * 3])
    struck = [report for report in hits if report["ship"] not in own and own.intersection(report["by"])]
    count, sunk = len({report["ship"] for report in struck}), _destroyed(struck)
    gone = [ship for ship in lost if ship in own]
    deed = Phrase("You hit {count}", count=count) if count else Phrase("You hit nothing")
    if sunk:
        deed = Phrase("You hit {count} and sank {ships}", count=count, ships=", ".join(sunk))
    loss = Phrase("you lost {ships}", ships=", ".join(gone)) if gone else Phrase("you lost nothing")
    return Phrase("{one}; {two}", one=deed, two=loss)


def _destroyed(hits: Iterable[Report]) -> list[str]:
    """The ships that these hits destroyed."""
    return [report["ship"] for report in hits if report["destroyed"]]


def _hit(report: Report, seat: int | None, names: Mapping[int, str]) -> Hit:
    left = Phrase("{shields} left", shields=_shields(report["shields"]))
    fate = Phrase("destroyed") if report["destroyed"] else left
    several = (_named(letter, seat, names) for letter in report["by"])
    by = reduce(lambda first, last: Phrase("{first} and {last}", first=first, last=last), several)
    words = Phrase("{ship}, hit by {by}: {fate}", ship=_named(report["ship"], seat, names), by=by, fate=fate)
    return Hit(report["where"], (words,), report["destroyed"])


def _named(letter: str, seat: int | None, names: Mapping[int, str]) -> Phrase:
    owner = LETTERS.index(letter) // 3 + 1
    if owner == seat:
        return Phrase("your {what}", what=letter)
    return Phrase("{name}'s {what}", name=names[owner], what=letter)


# Orders.


class Entitled(NamedTuple):
    """The ships that want orders, and an example."""

    ships: str
    several: bool
    examples: str


def entitled(view: View) -> Entitled | None:
    """The ships that the reader has to order in the coming turn; None if there are none."""
    if not view["entitled"]:
        return None
    *ships, last = view["entitled"]
    named = Phrase("{first} and {last}", first=", ".join(ships), last=last) if ships else last
    examples = zip(view["entitled"], ("FMS", "LRF", "MMS"), strict=False)
    return Entitled(named, bool(ships), "\n".join(f"{letter}: {ordered}" for letter, ordered in examples))


ACTIONS: Final[Mapping[str, Phrase]] = {
    "L": Phrase("turn left"),
    "R": Phrase("turn right"),
    "F": Phrase("fire"),
    "M": Phrase("move"),
    "S": Phrase("raise a shield"),
}


def said(text: str) -> list[Phrase]:
    """Judged orders in words, a phrase for each ship: read back to the player before they are signed."""
    found = []
    for line in text.splitlines():
        ship, _, actions = line.partition(": ")
        one, two, three = (ACTIONS[action] for action in actions)
        found.append(Phrase("{ship}: {one}, {two}, {three}", ship=ship, one=one, two=two, three=three))
    return found


# Record sheets, and what is asked for before a game.

ROWS: Final = 24
"""The turns for which a record sheet has room."""


def sheet_rows(mine: Sequence[Sequence[str]]) -> list[str]:
    """A sheet's turns with the reader's orders (in a long game only the last ones), and room for six more."""
    first = max(0, len(mine) - ROWS + 6)
    rows = []
    for row in range(first, first + ROWS):
        ordered = {line[0]: line[3:] for line in (mine[row] if row < len(mine) else ()) if line}
        rows.append("\t".join([f"{row + 1:2}", *(f"{ship} {ordered.get(ship, '_____')}" for ship in LETTERS)]))
    return rows


class Zone(NamedTuple):
    """A seat's ships, its home zone, marked on the board, and a legal setup."""

    ships: str
    edge: Phrase
    board: Board
    examples: str


def zone(options: Mapping[str, object], seat: int) -> Zone:
    """The demands of these options (those that differ from the default) on a seat's setup."""
    columns, rows = map(int, str(options.get("board", "9x9")).split("x"))
    board = board_of(columns, rows)
    squares = [board.names[square] for square in sorted(board.homes[seat - 1])]
    ships = LETTERS[seat * 3 - 3 : seat * 3]
    lines = [f"{ship} {square} {'NSEW'[seat - 1]}" for ship, square in zip(ships, squares, strict=False)]
    named = Phrase("{first} and {last}", first=", ".join(ships[:2]), last=ships[2])
    zone = marked((columns, rows), dict.fromkeys(squares, "#"))
    return Zone(named, EDGES[seat - 1], zone, "\n".join(lines))
