"""The words beside the boards of Battleship: legends, what happened, orders read back. No layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pbem.games.squares import Glance, Line, Square
from pbem.phrase import Phrase
from pbem_battleship import FLEET, SHIPS, SQUARES
from pbem_battleship.boards import LETTERS, boards, truth

__all__ = ["boards"]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pbem.games import Report
    from pbem.games.squares import Board

HIT: Final = Phrase("ship, hit")
MISS: Final = Phrase("shot, no ship")
LAST: Final = Phrase("last turn")
KEY: Final = (
    (Square("C", "own"), Phrase("your ship; small: hit")),
    (Square("X", "sunk"), HIT),
    (Square("o", "empty"), MISS),
    (Square("", "empty", fresh=True), LAST),
)
"""The meaning of the squares, for a legend of pictures."""
SIGNS: Final = (
    *(Phrase("{sign} {meaning}", sign=LETTERS[name], meaning=ship) for name, ship in SHIPS.items()),
    Phrase("small letter: hit"),
    *(
        Phrase("{sign} {meaning}", sign=sign, meaning=meaning)
        for sign, meaning in (("X", HIT), ("o", MISS), ("!", LAST))
    ),
)
"""The same for a text."""


class Sea(NamedTuple):
    """The known part of one player's sea, in words."""

    whose: Phrase
    sunk: Line | None
    squares: tuple[Line, ...]
    """The squares of which something is known: what boards show."""


def seas(view: Mapping[str, Any], names: Mapping[int, str]) -> Iterator[Sea]:
    """The known part of each sea: the reader's own first."""
    for owner in sorted((1, 2), key=lambda owner: owner != view["seat"]):
        own = view["own"] if owner == view["seat"] else None
        whose = Phrase("Your sea") if own else Phrase("The sea of {name}", name=names[owner])
        shots, sunk = view["seas"][str(owner)], view["sunk"][str(owner)]
        found = {result: [square for square, told in shots.items() if told == result] for result in ("hit", "miss")}
        lines = [Line(SHIPS[name], [" ".join(cells)]) for name, cells in (own or {}).items()]
        lines += [Line(what, [" ".join(found[result])]) for what, result in ((HIT, "hit"), (MISS, "miss"))]
        named = Line(Phrase("sunk"), [SHIPS[name] for name in sunk]) if sunk else None
        yield Sea(whose, named, tuple(line for line in lines if any(line.parts)))


def true_seas(views: Mapping[int, Mapping[str, Any]], names: Mapping[int, str], seat: int) -> Iterator[Sea]:
    """The seas as they were, once everything is revealed: each as its owner knew it, the reader's own first."""
    for owner in (seat, 3 - seat):
        sea = next(seas(views[owner], names))
        yield sea if owner == seat else sea._replace(whose=Phrase("The sea of {name}", name=names[owner]))


def glance(view: Mapping[str, Any], names: Mapping[int, str]) -> Glance:
    """The position in a terminal's few lines; the example shoots at the first squares that are left."""
    due, other = view["entitled"], view["seas"][str(3 - view["seat"])]
    left = [square for square in SQUARES if square not in other]
    may = Line(Phrase("Shots in this turn"), [str(due["shots"])]) if due else None
    return _at_a_glance(seas(view, names), boards(view), may, left[: due["shots"]] if due else [])


def end_at_a_glance(views: Mapping[int, Mapping[str, Any]], names: Mapping[int, str], seat: int) -> Glance:
    """The seas as they were, in a terminal's few lines."""
    return _at_a_glance(true_seas(views, names, seat), truth(views, seat))


def _at_a_glance(
    told: Iterable[Sea], drawn: Sequence[Board], due: Line | None = None, example: Sequence[str] = ()
) -> Glance:
    both = [(sea.whose, "", board) for sea, board in zip(told, drawn, strict=True)]
    return Glance(both, SIGNS, due, example)


def in_brief(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Iterator[Line]:
    """The shots of a turn."""
    return shots(reports, seat, names)


def shots(reports: Sequence[Report], seat: int | None, names: Mapping[int, str]) -> Iterator[Line]:
    """The shots of each player in a turn, with what was called to them."""
    for shooter in (1, 2):
        called = [_called(report) for report in reports if report["seat"] == shooter]
        who = Phrase("You shoot") if shooter == seat else Phrase("{name} shoots", name=names[shooter])
        if called:
            yield Line(who, called)


def _called(report: Report) -> Phrase:
    if "sunk" in report:
        return Phrase("{square} hit, {ship} sunk", square=report["square"], ship=SHIPS[report["sunk"]])
    hit = report["result"] == "hit"
    return (
        Phrase("{square} hit", square=report["square"]) if hit else Phrase("{square} miss", square=report["square"])
    )


def summary(reports: Sequence[Report], seat: int | None) -> Phrase:
    """The outcome of a turn, in one line: the hits of the reader, and those of the others."""
    mine = [report["result"] for report in reports if report["seat"] == seat]
    others = [report["result"] for report in reports if report["seat"] != seat]
    if not mine:
        return Phrase("Shots: {count}, hits: {hits}", count=len(others), hits=others.count("hit"))
    own = Phrase("Your shots: {count}, hits: {hits}", count=len(mine), hits=mine.count("hit"))
    if not others:
        return own
    return Phrase("{own}; you were hit: {hits}", own=own, hits=others.count("hit"))


def said(text: str) -> list[Phrase]:
    """A setup or orders in words."""
    words = text.split()
    if words[:1] and words[0] in FLEET:
        each = zip(words[::3], words[1::3], words[2::3], strict=True)
        return [Phrase("{ship} from {one} to {end}", ship=SHIPS[name], one=one, end=end) for name, one, end in each]
    return [Phrase("shoot at {squares}", squares=", ".join(words))]


def example(options: Mapping[str, Any], seat: int) -> str:
    """The example of a setup in letters: whoever sends it is warned."""
    del options, seat
    return "carrier A1 A5\nbattleship C2 F2\ncruiser H4 H6\nsubmarine B8 D8\ndestroyer J9 J10"


def sheet_rows(mine: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a record sheet, three turns in each: the player's shots, then empty places for turns to come."""
    turns = [f"{turn}. {' '.join(mine[turn - 1]) if turn <= len(mine) else ''}" for turn in range(1, len(mine) + 46)]
    last = turns[max(0, len(mine) - 15) // 3 * 3 :][:45]
    return ["\t".join(last[at : at + 3]) for at in range(0, len(last), 3)]
