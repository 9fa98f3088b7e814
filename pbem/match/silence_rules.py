"""The words of the option `miss`: what is played for a missed turn, and what follows after how many misses in a row.

Each word is a row of one table, which terms, events and letters read. Implements protocol.md, "A match" (`miss`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class SilenceRule(NamedTuple):
    """The consequences of silence, by one word of `miss`."""

    plays: Literal["", "empty", "default"] = ""
    """The orders that are played for a missed turn; where it is none, the turn waits, or the game is lost."""
    turns: int = 0
    """The number of turns missed in a row by which the game is lost; 0: by none."""
    setups: int = 0
    """The number of misses in a row by which a missed setup loses; until then, it is asked for again."""
    leaves: bool = False
    """True if only the silent seat leaves the game that it would lose, where the rules let the others play on."""

    @property
    def claimable(self) -> bool:
        """True if the match keeps waiting for a player who missed the time, until the others claim it."""
        return not self.setups


SILENCE: Mapping[str, SilenceRule] = {
    "wait": SilenceRule(leaves=True),
    "pass": SilenceRule("empty", turns=2, setups=2),
    "pass always": SilenceRule("empty", setups=2),
    "leave": SilenceRule("empty", turns=2, setups=2, leaves=True),
    "forfeit": SilenceRule(turns=1, setups=1, leaves=True),
    "default": SilenceRule("default", leaves=True),
}
"""The rows by their words; the first is the default."""
