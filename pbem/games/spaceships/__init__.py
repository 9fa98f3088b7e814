"""Spaceships 2.6.1 as one object of rules: `RULES`, edition 1 of the rulings.

Here the parts are put together behind the interface of `pbem.games`: `space` (cells and lines), `ships` (types
and shapes), `fleet` (options and fleets), `notation` (text), `turn` (resolution), `knowledge` (what is shown); and
the conditions of orders. Implements rules/spaceships.md.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from pbem.games import Game, faults
from pbem.games.conditional_orders import Conditional, is_conditional
from pbem.games.spaceships import fleet, knowledge, notation, turn
from pbem.games.spaceships.fleet import Options, Setup
from pbem.games.spaceships.notation import Orders
from pbem.games.spaceships.space import CELLS
from pbem.games.spaceships.turn import State
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import Fault, Report
    from pbem.games.conditional_orders import Atom

__all__ = ["RULES", "Options", "Orders", "Setup", "Spaceships", "State"]

_ANY: Final = "any"
"""The word for whichever ship, in a condition."""

_STRUCK: Final = frozenset({"beam", "strike"})
_RESULTS: Final = {
    "hit": (_STRUCK, "hit"),
    "miss": (_STRUCK, "miss"),
    "duplicate": (_STRUCK, "duplicate hit"),
    "ship": ({"scan"}, "ship"),
    "none": ({"scan"}, "none"),
}
"""The kinds of own reports, and their result, by the word behind a cell in a condition."""


class Conditions(Conditional[State, Orders]):
    """The conditions of orders: which atoms there are, when they hold, and which ask in vain (rulings 41 and 42)."""

    form, choice = "41", "42"
    asked_about = 1

    show = staticmethod(knowledge.show)

    def plain(self, state: State, seat: int, text: str) -> Orders:
        """Parse and judge one seat's orders; raises `Refused` with all faults."""
        side, other = state.sides[seat - 1], state.sides[2 - seat]
        known = None if other.empty is None else other.destroyed | other.empty
        return notation.read_orders(side.setup, side.entitled, text, known)

    def lasting(self, state: State, seat: int, text: str) -> tuple[Fault, ...]:
        """The faults in one seat's orders, whatever it will be entitled to then.

        Nor does it matter what is known by now: a verifier judges this again at a later position, which knows more.
        """
        side, known = state.sides[seat - 1], None if state.sides[2 - seat].empty is None else 0
        found = faults(notation.read_orders, side.setup, side.entitled, text, known)
        return tuple(fault for fault in found if fault.rule in notation.WRITING)

    def no_atom(self, state: State, seat: int, atom: Atom) -> Phrase | None:
        """The reason why these words are no atom; None if they are one (ruling 41)."""
        first, *words = atom
        word = " ".join(words)
        if first == "can" and words:
            found = faults(self.plain, state, seat, word)
            return next((fault.message for fault in found if fault.rule == notation.FORM), None)
        if first in CELLS and word in _RESULTS:
            return None
        if first == "struck":
            return None if word in CELLS else Phrase("behind `struck`, one cell is named, not `{word}`", word=word)
        if first in {"sunk", "lost"}:
            if word == _ANY or notation.is_ship(word):
                return None
            return Phrase("behind `{verb}`, one ship or type is named, or `any`, not `{word}`", verb=first, word=word)
        return Phrase(
            "`{words}` is no condition; write for example `Gx3 hit`, `Gx3 ship`, `sunk KC`, `lost any` or"
            " `can bRv1Rv3`",
            words=" ".join(atom),
        )

    def holds(self, state: State, seat: int, atom: Atom, told: Sequence[Report]) -> bool:
        """True if an atom holds, by what the seat was told of the last turn, and by what it may order."""
        first, *words = atom
        if first == "can":
            return self.may(state, seat, words)
        (word,) = words
        if first in CELLS:
            kinds, result = _RESULTS[word]
            return any(
                (report["seat"], report["cell"], report.get("result")) == (seat, first, result)
                and report["kind"] in kinds
                for report in told
            )
        if first == "struck":
            return any(
                report["seat"] != seat and report["cell"] == word and report["kind"] in _STRUCK for report in told
            )
        # A kamikaze destroys the ship of the seat that reports it, everything else the other's.
        gone = [
            report["destroyed"]["ship"]
            for report in told
            if "destroyed" in report
            and ((report["seat"] == seat) == (report["kind"] == "kamikaze death")) == (first == "lost")
        ]
        return any(word in {_ANY, ship, ship[:2]} or (word, ship) == (f"{ship[:2]}1", ship[:2]) for ship in gone)

    def unasked(self, state: State, seat: int, text: str, before: str) -> tuple[Phrase, ...]:
        """The cells that conditions ask about, and that the orders of the turn before do not strike or scan."""
        if not is_conditional(text) or self.depends(before) or faults(self.plain, state, seat, before):
            return ()
        orders = self.plain(state, seat, before)
        looked = {*orders.strikes, *orders.scans, *chain.from_iterable(cells for cells, _ in orders.beams)}
        asked = chain.from_iterable(
            chain.from_iterable(branch.condition) for branch in self.branches(state, seat, text)
        )
        cells = {atom[0]: None for _, atom in asked if atom[0] in CELLS and CELLS[atom[0]] not in looked}
        return tuple(
            Phrase("nothing of yours strikes or scans {cell} in the turn before", cell=cell) for cell in cells
        )

    def depends(self, text: str) -> bool:
        """True if there is a condition or a target list in these orders."""
        return is_conditional(text) or notation.has_target_list(text)


# The optional parts.
recall = knowledge
slips = notation.meant
conditions: Final = Conditions()
ahead = conditions.ahead


class Spaceships(Game[Options, Setup, Orders, State]):
    """The rules of Spaceships; stateless."""

    name = "spaceships"
    title = "Spaceships"
    editions = (1,)
    seats = (2,)
    empty_orders = True

    options = staticmethod(fleet.options)
    setup = staticmethod(notation.read_setup)
    begin = staticmethod(turn.begin)
    order = staticmethod(conditions.order)
    turn = staticmethod(turn.resolve)
    show = staticmethod(knowledge.show)
    carry = staticmethod(fleet.carry)


RULES: Final = Spaceships()
