"""The atoms of conditional orders: what a seat's reports of the last turn say, and what it may order.

Implements ruling 41 of Spaceships.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pbem.games.spaceships.notation import is_ship
from pbem.games.spaceships.space import CELLS
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import Report
    from pbem.games.conditional_orders import Atom

ANY: Final = "any"
STRUCK: Final = frozenset({"beam", "strike"})
RESULTS: Final = {
    "hit": (STRUCK, "hit"),
    "miss": (STRUCK, "miss"),
    "duplicate": (STRUCK, "duplicate hit"),
    "ship": ({"scan"}, "ship"),
    "none": ({"scan"}, "none"),
}
"""The kinds of own reports, and their result, by the word behind a cell."""


def no_atom(atom: Atom) -> Phrase | None:
    """The reason why these words are no atom, `can` apart; None if they are one."""
    first, *words = atom
    word = " ".join(words)
    if first in CELLS and word in RESULTS:
        return None
    if first == "struck":
        return None if word in CELLS else Phrase("behind `struck`, one cell is named, not `{word}`", word=word)
    if first in {"sunk", "lost"}:
        if word == ANY or is_ship(word):
            return None
        return Phrase("behind `{verb}`, one ship or type is named, or `any`, not `{word}`", verb=first, word=word)
    return Phrase(
        "`{words}` is no condition; write for example `Gx3 hit`, `Gx3 ship`, `sunk KC`, `lost any` or `can bRv1Rv3`",
        words=" ".join(atom),
    )


def holds(seat: int, atom: Atom, told: Sequence[Report]) -> bool:
    """True if an atom other than `can` holds, by the reports that the seat was shown."""
    first, word = atom
    if first in CELLS:
        kinds, result = RESULTS[word]
        return any(
            (report["seat"], report["cell"], report.get("result")) == (seat, first, result)
            and report["kind"] in kinds
            for report in told
        )
    if first == "struck":
        return any(report["seat"] != seat and report["cell"] == word and report["kind"] in STRUCK for report in told)
    gone = [
        report["destroyed"]["ship"]
        for report in told
        if "destroyed" in report and _is_own(report, seat) == (first == "lost")
    ]
    return any(word in {ANY, ship, ship[:2]} or (word, ship) == (f"{ship[:2]}1", ship[:2]) for ship in gone)


def _is_own(report: Report, seat: int) -> bool:
    """True if the ship that a report says is destroyed was the seat's: a kamikaze destroys its own."""
    return bool((report["seat"] == seat) == (report["kind"] == "kamikaze death"))
