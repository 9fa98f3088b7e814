"""The atoms of conditional orders: what a seat's reports since its last turn say, and what it may order.

Implements ruling 38 of Dueling Masters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games.dueling_masters.board import ASTEROID, SQUARES
from pbem.games.dueling_masters.notation import slot_of
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import Report
    from pbem.games.conditional_orders import Atom
    from pbem.games.dueling_masters.notation import Options

ANY = "any"


def no_atom(agreed: Options, atom: Atom) -> Phrase | None:
    """The reason why these words are no atom, `can` apart; None if they are one."""
    verb, *words = atom
    word = " ".join(words)
    if verb in {"lost", "took"}:
        if word in {ANY, ASTEROID} or slot_of(agreed, word) >= 0:
            return None
        return Phrase("behind `{verb}`, one piece is named, `*` or `any`, not `{word}`", verb=verb, word=word)
    if verb in {"met", "left"}:
        return (
            None
            if word in SQUARES
            else Phrase("behind `{verb}`, one square is named, not `{word}`", verb=verb, word=word)
        )
    return Phrase(
        "`{words}` is no condition; write for example `lost Z2`, `took any`, `met C3`, `left G7` or `can Z2 A1-C3`",
        words=" ".join(atom),
    )


def holds(agreed: Options, seat: int, atom: Atom, told: Sequence[Report]) -> bool:
    """True if an atom other than `can` holds, by the reports that the seat was shown."""
    verb, word = atom
    own, other = str(seat), str(3 - seat)
    collisions = [report for report in told if report["kind"] == "collision"]
    if verb == "met":
        return any(report["square"] == word for report in collisions)
    if verb == "left":
        departures = [report for report in told if report["kind"] == "departure" and report["seat"] != seat]
        return any(report["square"] == word for report in departures)
    of = own if verb == "lost" else other
    gone = [report["pieces"][of] for report in collisions if report["destroyed"][of]]
    if word == ANY:
        return bool(gone)
    return (ASTEROID if word == ASTEROID else agreed.pieces[slot_of(agreed, word)]) in gone
