"""The words of letters beside the boards of Spaceships: a space, a turn's reports, what may be ordered.

Here live phrases and rows, made only from views and reports; no layout, and no language but the catalogue's.
Implements ruling 34: nothing is told that the view does not hold.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import cycle, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pbem.games.spaceships.boards import LETTERS
from pbem.games.spaceships.boards import boards as boards_of
from pbem.games.spaceships.boards import truth as true_boards
from pbem.games.spaceships.ships import TYPES
from pbem.games.spaceships.space import CELLS, LINES, NAMES, PLACES, directions, mask_of
from pbem.games.squares import PLAIN, Glance, Line, Square
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pbem.games import Report
    from pbem.games.conditional_orders import Atom
    from pbem.games.spaceships.knowledge import Known, OwnCells, OwnSpace, ShipCells, View
    from pbem.games.squares import Board

TINTS: Final = (
    (Square("K", "own"), Phrase("your ship")),
    (Square("M-", "fired"), Phrase("missile, fired")),
    (Square("k", "lost"), Phrase("destroyed")),
    (Square("#", "seen"), Phrase("ship, undamaged")),
    (Square("x", "sunk"), Phrase("{what}, destroyed cell", what=Phrase("ship"))),
)
FRESH: Final = Square("", "empty", fresh=True)
STRUCK: Final = Phrase("{what} last turn", what=Phrase("struck"))
SHOT_AT: Final = Phrase("{what} last turn", what=Phrase("shot at"))
"""The full meanings of fresh squares, for a legend with room; in a text, three signs share a line."""
SMALL: Final = Phrase("small letters: destroyed")
CELL: Final = Phrase("Gx3: layer G, row x, column 3")
NO_SHIP: Final = Phrase("no ship")
NOT_SEARCHED: Final = Phrase("not searched")
OWN_SIGNS: Final = {
    "-": Phrase("after it: fired"),
    "o": Phrase("searched, empty"),
    ".": NO_SHIP,
    "!": Phrase("struck last turn"),
}
KNOWN_SIGNS: Final = {
    "#": Phrase("ship, undamaged"),
    "X": Phrase("ship, destroyed cell"),
    "o": NO_SHIP,
    ".": NOT_SEARCHED,
    "!": Phrase("shot at last turn"),
}


class Space(NamedTuple):
    """A space: its board, its titles, its legend in symbols and in tints, and the known facts about its ships."""

    board: Board
    title: Phrase
    cells: Phrase
    heading: Phrase
    caption: Phrase
    plain: Phrase
    """The meaning of a plain cell."""
    symbols: Sequence[str]
    tints: Sequence[tuple[Square, Phrase]]
    types: Sequence[Phrase]
    own: bool
    """True if every ship in it is known to the reader."""
    ships: Sequence[Line]


def spaces(view: View, names: Mapping[int, str], boards: Sequence[Board] | None = None) -> Iterator[Space]:
    """Each space in a view, the reader's own first."""
    own, known = view["own"], view["known"]
    for board in boards or boards_of(view):
        if own is not None and str(board.seat) not in known:
            yield _own(own, board, Phrase("Your space"), Phrase("Your space, layer"))
        else:
            yield _known(view, known[str(board.seat)], board, names[board.seat])


def truth(views: Mapping[int, View], names: Mapping[int, str], seat: int, boards: Sequence[Board]) -> Iterator[Space]:
    """Each space as it was, the reader's own first, once everything is revealed."""
    for board in boards:
        own = views[board.seat]["own"]
        assert own is not None
        title = Phrase("Your space, as it was")
        if board.seat != seat:
            title = Phrase("{name}'s space, as it was", name=names[board.seat])
        yield _own(own, board, title, Phrase("{title}, layer", title=title))


def glance(view: View, names: Mapping[int, str]) -> Glance:
    """The position in a few lines."""
    due = entitled(view)
    kinds = [Phrase("{count} {what}", count=kind.number, what=kind.what) for kind in due.kinds] if due else []
    may = Line(Phrase("You may order"), kinds) if kinds else None
    return _at_a_glance(list(spaces(view, names)), names, may, list(_examples(view, due)) if due else [])


def end_at_a_glance(views: Mapping[int, View], names: Mapping[int, str], seat: int) -> Glance:
    """Both spaces as they were, in a few lines."""
    return _at_a_glance(list(truth(views, names, seat, true_boards(views, seat))), names)


def _at_a_glance(
    spaces: Sequence[Space], names: Mapping[int, str], due: Line | None = None, example: Sequence[str] = ()
) -> Glance:
    own, *others = spaces
    titles = [own.title, *(Phrase("{name}'s space", name=names[space.board.seat]) for space in others)]
    boards = [(title, space.cells, space.board) for title, space in zip(titles, spaces, strict=True)]
    told = [sign for space in spaces for sign in space.symbols if not sign.startswith(".")]
    # One sign for a type of ship, however much of it is left; the signs that ships leave behind are new to most.
    signs = {sign[:2].lower(): sign for sign in sorted(told, key=lambda sign: not sign[0].islower())}
    marks = [sign for sign in signs.values() if sign[1] != " " or not sign[0].isupper()]
    ships = [sign for sign in signs.values() if sign not in marks]
    cells = [CELL] if due else []
    return Glance(boards, [*marks, *ships, *cells], due, [word for order in example for word in order.split()])


def _examples(view: View, due: Entitled) -> Iterator[str]:
    """An order of each kind, each at another cell where a ship is known to be or may be, outwards from Gx3."""
    (known,) = view["known"].values()
    searched = {*known["empty"], *known["destroyed"]}
    left = sorted(set(NAMES) - searched, key=lambda cell: (cell not in known["ship"], _from_gx3(CELLS[cell])))
    targets = cycle(left or NAMES)
    for kind in due.kinds:
        if not kind.example.startswith("b"):
            yield kind.example.removesuffix("Gx3") + next(targets)
        else:
            yield kind.example.replace("Gx1Gx3", _beam(view, mask_of(searched)))


def _from_gx3(cell: int) -> tuple[int, int]:
    """The distance of a cell from the cell of the examples in letters; of equal ones, their order."""
    return sum(abs(one - other) for one, other in zip(PLACES[cell], PLACES[CELLS["Gx3"]], strict=True)), cell


def _beam(view: View, searched: int) -> str:
    """The ends of a beam by the first death star that has one, through cells that are not searched, if possible."""
    own, due = view["own"], view["entitled"]
    assert own is not None  # whoever may order has both
    assert due is not None
    (star,) = (ship for ship in own["ships"] if ship["ship"] == due["beams"][0]["ship"])
    able = directions(mask_of(set(star["cells"]) - set(star["destroyed"])))
    lines = [(ends, cells) for ends, (cells, direction) in LINES.items() if able >> direction & 1]
    ends, _ = min(lines, key=lambda line: (sum(searched >> cell & 1 for cell in line[1]), _from_gx3(line[1][1])))
    return ends


def _own(own: OwnSpace, board: Board, title: Phrase, caption: Phrase) -> Space:
    score = own["score"]
    several = Phrase("{count} undamaged cells", count=score)
    count = Phrase("{count} undamaged cell", count=score) if score == 1 else several
    heading = Phrase("{title}: {count}", title=title, count=count)
    legend = _legend(board, OWN_SIGNS, STRUCK)
    ships = [_own_ship(ship) for ship in own["ships"]]
    return Space(board, title, count, heading, caption, NO_SHIP, *legend, own=True, ships=ships)


def _known(view: View, known: Known, board: Board, name: str) -> Space:
    public = Phrase("{name}'s space, as everybody knows it", name=name)
    title = Phrase("{name}'s space, as you know it", name=name) if view["own"] else public
    legend = _legend(board, KNOWN_SIGNS, SHOT_AT)
    destroyed, unknown = len(known["destroyed"]), _plain(board)
    several = Phrase("{count} cells destroyed, {unknown} not searched", count=destroyed, unknown=unknown)
    one = Phrase("{count} cell destroyed, {unknown} not searched", count=destroyed, unknown=unknown)
    count = one if destroyed == 1 else several
    caption = Phrase("{name}'s space, layer", name=name)
    return Space(
        board, title, count, title, caption, NOT_SEARCHED, *legend, own=False, ships=list(_known_ships(known))
    )


COLOURS: Final = {
    "R": Phrase("Red"),
    "O": Phrase("Orange"),
    "Y": Phrase("Yellow"),
    "G": Phrase("Green"),
    "B": Phrase("Blue"),
}
CODES: Final = {letter: code for code, letter in LETTERS.items()}


def in_words(space: Space) -> Iterator[Line]:
    """A board for readers who cannot see it: each layer that is not all plain."""
    for panel in space.board.panels:
        told = [
            Phrase("{cells}: {what}", cells=cells, what=_named(square, own=space.own))
            for row, squares in zip(panel.rows, panel.squares, strict=True)
            for cells, square in _runs(row, panel.columns, squares)
        ]
        if told:
            yield Line(COLOURS[panel.name], told)


def _runs(row: str, columns: Sequence[str], squares: Sequence[Square]) -> Iterator[tuple[str, Square]]:
    """The cells of a row about which there is something to say; equal neighbours are combined."""
    for square, group in groupby(zip(columns, squares, strict=True), key=itemgetter(1)):
        cells = [row + column for column, _ in group]
        if square != PLAIN:
            first, last = cells[0], cells[-1]
            yield Phrase("{first} to {last}", first=first, last=last) if first != last else first, square


def _named(square: Square, *, own: bool) -> Phrase:
    """The meaning of a square."""
    symbol = square.symbol.rstrip("-")
    ship: str = Phrase("ship") if symbol in {"#", "X"} else CODES.get(symbol[0].upper(), "") + symbol[1:]
    what = {
        "empty": OWN_SIGNS["o"] if own else NO_SHIP,
        "fired": Phrase("{ship}, fired", ship=ship),
        "lost": Phrase("{ship}, destroyed", ship=ship),
        "sunk": Phrase("{ship}, destroyed", ship=ship),
    }.get(square.tint, Phrase("{ship}", ship=ship))
    if not square.fresh:
        return what
    return Phrase("{what}, struck last turn", what=what) if own else Phrase("{what}, shot at last turn", what=what)


def _plain(board: Board) -> int:
    """The number of plain cells."""
    return sum(row.count(PLAIN) for panel in board.panels for row in panel.squares)


def _legend(
    board: Board, signs: Mapping[str, Phrase], fresh: Phrase
) -> tuple[list[str], list[tuple[Square, Phrase]], list[Phrase]]:
    """The legend of the symbols of a text, of the tints of a table, and of the types of ships by letter."""
    squares = board.told
    drawn = set("".join([square.text for square in squares]) + (PLAIN.text if _plain(board) else ""))
    types = [
        (letter, letter in drawn, letter.lower() in drawn, TYPES[code].title)
        for code, letter in LETTERS.items()
        if letter in drawn or letter.lower() in drawn
    ]
    named = [(letter if large else letter.lower(), name) for letter, large, _, name in types]
    symbols: list[str] = [_sign(*one) for one in named]
    if any(small for _, _, small, _ in types):
        symbols.append(Phrase("small letter: destroyed"))
    symbols += [_sign(sign, meaning) for sign, meaning in signs.items() if sign in drawn]
    return symbols, _tints(squares, signs, fresh), [_sign(letter, name) for letter, _, _, name in types]


def _tints(squares: Iterable[Square], signs: Mapping[str, Phrase], fresh: Phrase) -> list[tuple[Square, Phrase]]:
    found = {square.tint for square in squares}
    tints = [(square, meaning) for square, meaning in TINTS if square.tint in found]
    if "empty" in found:
        tints.append((Square("o", "empty"), signs["o"]))
    tints.append((PLAIN, signs["."]))
    if any(square.fresh for square in squares):
        tints.append((FRESH, fresh))
    return tints


@cache  # a letter has some sixty, of few kinds
def _sign(sign: str, meaning: Phrase) -> Phrase:
    return Phrase("{sign} {meaning}", sign=sign, meaning=meaning)


def _own_ship(ship: OwnCells) -> Line:
    left = [cell for cell in ship["cells"] if cell not in ship["destroyed"]]
    fired = [cell for cell in ship["fired"] if cell not in ship["destroyed"]]
    lost = " ".join(ship["destroyed"])
    count = Phrase("{left} of {size}", left=len(left), size=len(ship["cells"]))
    more: list[str] = [Phrase("fired {cells}", cells=" ".join(fired))] if fired else []
    if left and ship["burnt_out"]:
        more.append(Phrase("beam burnt out"))
    if left:
        first = Phrase("{count}  {cells}", count=count, cells=" ".join(left))
        parts = [first, *([Phrase("lost {cells}", cells=lost)] if lost else []), *more]
    else:
        parts = [Phrase("{count}  destroyed: {cells}", count=count, cells=" ".join(ship["cells"]))]
    return Line(ship["ship"], parts)


def _known_ships(known: Known) -> Iterator[Line]:
    """The ships of which a cell is named, then the cells of others, then those that are sunk."""
    # The ship of each cell: sunk ships have a line of their own, and "?" is one that is not named.
    ship_of = known["named"] | {cell: "" for ship in known["ships"] for cell in ship["cells"]}
    hit = dict.fromkeys(known["destroyed"])
    cells: dict[str, tuple[list[str], list[str]]] = {ship: ([], []) for ship in ship_of.values()}
    cells |= {"?": ([], [])}
    for cell in (*(standing for standing in known["ship"] if standing not in hit), *hit):
        cells[ship_of.get(cell, "?")][cell in hit].append(cell)
    for ship, (standing, destroyed) in cells.items():
        if ship and (standing or destroyed):
            yield _wounded(ship, 0 if ship == "?" else TYPES[ship[:2]].size, standing, destroyed)
    for lost in known["ships"]:
        yield Line(lost["ship"], [Phrase("all destroyed: {cells}", cells=" ".join(lost["cells"]))])


def _wounded(label: str, size: int, standing: Sequence[str], destroyed: Sequence[str]) -> Line:
    """The cells of one ship not yet sunk, or (size 0) of ships whose type is not known."""
    missing = size - len(standing) - len(destroyed)
    parts = []
    if standing:
        parts.append(Phrase("standing {cells}", cells=" ".join(standing)))
    if destroyed:
        parts.append(Phrase("destroyed {cells}", cells=" ".join(destroyed)))
    if missing > 0:
        parts.append(Phrase("{missing} of {size} cells not found", missing=missing, size=size))
    return Line(label, parts)


# Reports.

NOTHING: Final = Phrase("nothing")
LABELS: Final = {
    "beam": Phrase("beam"),
    "strike": Phrase("strike"),
    "scan": Phrase("scan"),
    "kamikaze death": Phrase("kamikaze"),
}
SCANNED: Final = {"none": NO_SHIP, "ship": Phrase("ship"), "destroyed": Phrase("ship, that cell destroyed")}
RESULTS: Final = {"miss": Phrase("miss"), "hit": Phrase("hit"), "duplicate hit": Phrase("duplicate hit")}


class Shot(NamedTuple):
    """A report: what was done, where, with what result; below that, what was lost and what flashcubes showed."""

    label: Phrase
    cell: str
    result: str
    exploded: str
    sunk: str
    flashcube: Line | None


class ShotLine(NamedTuple):
    """A line of a shot in a text; those after the first have no labels."""

    label: str
    cell: str
    parts: Sequence[str]


def shot_lines(shots: Iterable[Shot]) -> Iterator[ShotLine]:
    """The lines of shots in a text: each result, then the ship that was sunk, then what flashcubes showed."""
    for shot in shots:
        yield ShotLine(shot.label, shot.cell, [shot.result, *([shot.exploded] if shot.exploded else [])])
        if shot.sunk:
            yield ShotLine("", "", [shot.sunk])
        if shot.flashcube:
            first, *others = shot.flashcube.parts
            named = Phrase("{cells}: {what}", cells=shot.flashcube.label, what=first)
            yield ShotLine("", "", [named, *others])


def actions(
    reports: Sequence[Report], seat: int | None, names: Mapping[int, str]
) -> Iterator[tuple[str, list[Shot]]]:
    """The actions of each side, in the order in which they report; a side without any comes last."""
    for actor in dict.fromkeys([*(report["seat"] for report in reports), *sorted(names)]):
        shots = [_shot(report, seat, names) for report in reports if report["seat"] == actor]
        yield Phrase("You") if actor == seat else names[actor], shots


def in_brief(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Iterator[Line]:
    """The actions of each side in a line: equal results of one kind together, then what they cost and showed."""
    for whose, shots in actions(reports, seat, names):
        cells: dict[tuple[str, str], list[str]] = {}
        for shot in shots:
            cells.setdefault((shot.label, shot.result), []).append(shot.cell)
        done: list[str] = [
            Phrase("{what} {cells}: {result}", what=what, cells=" ".join(where), result=result)
            for (what, result), where in cells.items()
        ]
        done += [said for shot in shots for said in (shot.exploded, shot.sunk) if said]
        done += [
            Phrase("{cells}: {what}", cells=shot.flashcube.label, what=" ".join(shot.flashcube.parts))
            for shot in shots
            if shot.flashcube
        ]
        yield Line(whose, done or [NOTHING])


def summary(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Phrase:
    """The outcome of a turn for its reader, in one line; for the public, what each side did."""
    hit: dict[int, set[str]] = {one: set() for one in names}
    thrown = dict.fromkeys(names, 0)
    sunk: dict[int, list[str]] = {one: [] for one in names}
    gone: dict[int, list[str]] = {one: [] for one in names}  # by whose ships they were, lost to kamikazes among them
    for report in reports:
        by, own = report["seat"], report["kind"] == "kamikaze death"
        thrown[by] += own
        if report.get("result") == "hit":
            hit[by].add(report["cell"])
        hit[by].update(report.get("explosions", ()))
        if "destroyed" in report:
            gone[by if own else 3 - by].append(report["destroyed"]["ship"])
            sunk[by] += [] if own else [report["destroyed"]["ship"]]
    if seat is None:
        one, two = (_deed(len(hit[by]), sunk[by], names[by]) for by in sorted(names))
        return Phrase("{one}; {two}", one=one, two=two)
    deed = _own_deed(len(hit[seat]), sunk[seat])
    loss = _loss(len(hit[3 - seat]) + thrown[seat], gone[seat])
    return Phrase("{one}; {two}", one=deed, two=loss)


def _deed(count: int, sunk: Sequence[str], name: str) -> Phrase:
    if sunk:
        return Phrase("{name} hit {count} and sank {ships}", name=name, count=count, ships=", ".join(sunk))
    return Phrase("{name} hit {count}", name=name, count=count) if count else Phrase("{name} hit nothing", name=name)


def _own_deed(count: int, sunk: Sequence[str]) -> Phrase:
    if sunk:
        return Phrase("You hit {count} and sank {ships}", count=count, ships=", ".join(sunk))
    return Phrase("You hit {count}", count=count) if count else Phrase("You hit nothing")


def _loss(count: int, sunk: Sequence[str]) -> Phrase:
    if sunk:
        return Phrase("you lost {count}, and with them {ships}", count=count, ships=", ".join(sunk))
    return Phrase("you lost {count}", count=count) if count else Phrase("you lost nothing")


def _shot(report: Report, seat: int | None, names: Mapping[int, str]) -> Shot:
    kind = report["kind"]
    if kind == "kamikaze death":
        result = Phrase("launched from here, cell destroyed")
    else:
        result = (SCANNED if kind == "scan" else RESULTS)[report["result"]]
    exploded = Phrase("exploded in {cells}", cells=" ".join(report["explosions"])) if "explosions" in report else ""
    return Shot(
        LABELS[kind],
        report["cell"],
        result,
        exploded,
        _sunk(report, seat) if "destroyed" in report else "",
        _flashcube(report, seat, names) if "flashcube" in report else None,
    )


def _sunk(report: Report, seat: int | None) -> Phrase:
    """A kamikaze destroys the actor's own ship, a strike the other's."""
    lost = report["destroyed"]
    ship, cells = lost["ship"], " ".join(lost["cells"])
    if seat is not None and (report["kind"] == "kamikaze death") == (report["seat"] == seat):
        return Phrase("destroyed your {ship} ({cells})", ship=ship, cells=cells)
    return Phrase("destroyed {ship} ({cells})", ship=ship, cells=cells)


def _flashcube(report: Report, seat: int | None, names: Mapping[int, str]) -> Line:
    """The side that did not lose the ship gives it, for the same cells in its own space."""
    owner = 3 - report["seat"] if report["kind"] == "kamikaze death" else report["seat"]
    whose = Phrase("flashcube, {name}'s space", name=names[owner])
    label = Phrase("flashcube, your space") if owner == seat else whose
    parts = []
    for part in report["flashcube"]:
        cell, ship = part["cell"], part["ship"]
        if not ship:
            parts.append(Phrase("{cell} empty", cell=cell))
        elif part["destroyed"]:
            parts.append(Phrase("{cell} {ship} destroyed", cell=cell, ship=ship))
        else:
            parts.append(Phrase("{cell} {ship}", cell=cell, ship=ship))
    return Line(label, parts)


# Orders.


class Due(NamedTuple):
    """The orders of one kind: their number, their sources, and an example of the notation."""

    number: int
    what: Phrase
    parts: Sequence[str]
    example: str


class Entitled(NamedTuple):
    """The possible orders, and whether the game ends with this turn: `unless` a kamikaze strike is ordered."""

    kinds: Sequence[Due]
    ends: bool
    unless: bool

    @property
    def examples(self) -> str:
        """An example of each notation."""
        return "   ".join(kind.example for kind in self.kinds)


def entitled(view: View) -> Entitled | None:
    """The reader's possible orders in the coming turn; None for the public, and once the game is over."""
    due = view["entitled"]
    if not due:
        return None
    beams, missiles, kamikazes = due["beams"], due["missiles"], due["kamikazes"]
    strikes = sum(one["strikes"] for one in due["conventional"])
    named = f" ({beams[0]['ship']})" if len(beams) > 1 else ""
    several = [f"{one['ship']} {one['strikes']}" for one in due["conventional"]]
    where = [Phrase("{ship} in {count} of 13 directions", ship=one["ship"], count=one["directions"]) for one in beams]
    kinds = (
        _due(strikes, Phrase("conventional strike"), Phrase("conventional strikes"), [", ".join(several)], "Gx3"),
        _due(len(beams), Phrase("beam"), Phrase("beams"), where, f"bGx1Gx3{named}"),
        _launched(missiles, Phrase("missile strike"), Phrase("missile strikes"), "m"),
        _launched(kamikazes, Phrase("kamikaze strike"), Phrase("kamikaze strikes"), "k"),
        _due(due["scans"], Phrase("scan"), Phrase("scans"), (), "sGx3"),
    )
    ends = not strikes and not missiles
    return Entitled([kind for kind in kinds if kind.number], ends and not kamikazes, ends and bool(kamikazes))


def _due(number: int, one: Phrase, several: Phrase, parts: Sequence[str], example: str) -> Due:
    return Due(number, one if number == 1 else several, parts, example)


def _launched(ships: Sequence[ShipCells], one: Phrase, several: Phrase, word: str) -> Due:
    parts = []
    for ship in ships:
        *several_cells, last = ship["cells"]
        either = Phrase("{first} or {last}", first=", ".join(several_cells), last=last) if several_cells else last
        parts.append(Phrase("{ship} from {cells}", ship=ship["ship"], cells=either))
    return _due(len(ships), one, several, parts, f"{word}{ships[0]['cells'][0]} Gx3" if ships else "")


def said(text: str) -> list[Phrase]:
    """Judged orders in words, a phrase for each kind: read back to the player before they are signed."""
    strikes: list[str] = []
    scans: list[str] = []
    others: list[Phrase] = []
    words = iter(text.split())
    for word in words:
        verb, rest = word[0], word[1:]
        if verb == "m":
            others.append(Phrase("missile {part} at {cell}", part=rest, cell=next(words)))
        elif verb == "k":
            others.append(Phrase("kamikaze from {start} at {cell}", start=rest, cell=next(words)))
        elif verb == "b":
            others.append(Phrase("beam along {line}", line=rest))
        elif verb == "s":
            scans.append(rest)
        else:
            strikes.append(word)
    found = [Phrase("conventional strikes at {cells}", cells=", ".join(strikes))] if strikes else []
    found += others
    if scans:
        found.append(Phrase("scans of {cells}", cells=", ".join(scans)))
    if repeated := [cell for cell, number in Counter(strikes).items() if number > 1]:
        found.append(Phrase("more than one strike at {cells}, where one is enough", cells=", ".join(repeated)))
    return found


_REPORTED: Final[Mapping[str, Phrase]] = {
    "hit": Phrase("you hit {cell}"),
    "miss": Phrase("you missed at {cell}"),
    "duplicate": Phrase("you hit {cell}, which was destroyed before"),
    "ship": Phrase("your scan of {cell} found a ship"),
    "none": Phrase("your scan of {cell} found nothing"),
}


CONDITIONS: Final = ("… hit", "… miss", "… ship", "… none", "sunk …", "lost …", "struck …", "can …")
"""The atoms of conditional orders, to choose from."""


def atom_said(atom: Atom) -> Phrase:
    """An atom of conditional orders in words, behind `if`."""
    verb, *words = atom
    word = " ".join(words)
    match verb:
        case "sunk":
            return Phrase("you destroyed {ship}", ship=Phrase("a ship") if word == "any" else word)
        case "lost":
            return Phrase("you lost {lost}", lost=Phrase("a ship") if word == "any" else word)
        case "struck":
            return Phrase("your opponent struck {cell}", cell=word)
        case "can":
            return Phrase("you can order {orders}", orders=word)
    return _REPORTED[word].given(cell=verb)


# Record sheets, and what is asked for before a game.

ROWS: Final = 30
"""The turns for which a record sheet has room."""


def sheet_rows(mine: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """The numbers of a sheet's turns with the reader's orders (in a long game the last), and room for six more."""
    first = max(0, len(mine) - ROWS + 6)
    for row in range(first, first + ROWS):
        orders = " ".join(mine[row]) if row < len(mine) else "_" * 88
        cut = orders[:97] + "..." if len(orders) > 105 else orders
        yield f"{row + 1:2}", cut or NOTHING


SHAPES: Final[Mapping[str, Phrase]] = {
    "DS": Phrase("2x2x2, or as described below"),
    "KC": Phrase("rectangle 3x2x1"),
    "FS": Phrase("square 2x2x1"),
    "PC": Phrase("line of four"),
    "MD": Phrase("line of three"),
    "HS": Phrase("two adjacent cells"),
    "LS": Phrase("one cell"),
    "AG": Phrase("two adjacent cells"),
    "LG": Phrase("one cell"),
}
EXAMPLE: Final = """\
DS Rv1-Ow2
KC Gx1-Gy3
FS Bv4-Bw5
MD Yz1 Yz2 Yz3
HS Rz5 Oz5"""
"""A setup of the standard fleet, as rules and letters show it."""

FURTHER_EXAMPLE: Final = """\
PC By1-By4
LS Ox5
AG Bz3 Bz4
LG1 Oz1
LG2 Gv5"""
"""More examples for letters if other ships may be chosen: they show the notation, not a legal fleet."""


def example(_options: Mapping[str, object], _seat: int) -> str:
    """The example in the request for a setup."""
    return EXAMPLE


STANDARD: Final = ("DS", "KC", "FS", "PC", "MD", "HS", "LS")


class Fleet(NamedTuple):
    """The demands on a fleet: standard or of a cost, with additional ships; and the types that it can pay for."""

    standard: bool
    cost: str
    allowed: str | None
    additional: int
    additional_allowed: str | None
    codes: Sequence[str]
    types: Sequence[tuple[object, ...]]


def fleet(options: Mapping[str, Any], seat: int) -> Fleet:
    """The demands of these options (those that differ from the default) on a seat's setup."""
    kind, additional = options.get("fleet", "standard"), options.get("additional", [0, 0])[seat - 1]
    cost = kind.partition(":")[2]
    base = {code for code in options.get("allowed", TYPES) if TYPES[code].cost <= int(cost)} if cost else STANDARD
    more = {code for code in options.get("additional_allowed", TYPES) if TYPES[code].cost <= additional}
    codes = [code for code in TYPES if code in base or code in more]
    types = [(code, TYPES[code].title, TYPES[code].size, TYPES[code].cost, SHAPES[code]) for code in codes]
    return Fleet(
        not cost,
        cost,
        _at_most(options.get("allowed")),
        additional,
        _at_most(options.get("additional_allowed")),
        codes,
        types,
    )


def _at_most(allowed: Mapping[str, int] | None) -> str | None:
    if allowed is None:
        return None
    return ", ".join(f"{count} {code}" for code, count in allowed.items()) or Phrase("none at all")
