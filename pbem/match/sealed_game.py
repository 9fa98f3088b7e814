"""The state of a sealed game: what the players committed to, what they told, and why they have to reveal.

Everything here is public: all players were told it, and their programs have the same. Nothing is judged here;
`match.sealed` and the events `sealed`, `step`, `reveal` and `verdict` advance it. Implements docs/bundle.md, "Sealed
matches".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from pbem.games.sealed import Falsehood, SealedStep
from pbem.grown import Grown
from pbem.match.sealed_documents import PaperPlace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.games import Result
    from pbem.games.sealed import SealedRules, Table

HONEST, SILENT = "honest", "not revealed"

Verdict = Mapping[int, str | Falsehood]
"""The verdict on each seat: `honest`, `not revealed`, or the falsehood that it told."""


class Filed(msgspec.Struct, frozen=True):
    """A step as it is in the transcript, and the paper that it brought."""

    turn: int
    seat: int
    step: str
    lines: tuple[str, ...]
    values: Mapping[str, str]
    """The hashes and the salt of the paper's head, by name; none of a commitment."""
    paper: str
    """SHA-256 of the paper; of a commitment, of that to which it commits. Empty if it was not told."""
    path: str
    """The path of the paper in the bundle; empty for a commitment."""
    mail: str
    """SHA-256 of the letter."""
    letter: str
    """The path of the letter in the bundle."""
    prev: str
    """The head that the letter cites; empty if it was not told."""
    seq: int = 0
    head: str = ""
    """The number of its entry, and the head of the transcript after it."""


class Revealed(msgspec.Struct, frozen=True):
    """A seat's reveal after the game: it opens all the seat's commitments."""

    setup: str
    orders: Mapping[int, str]
    """The orders of each turn."""


class Ending(msgspec.Struct, frozen=True):
    """The end of the game by what everybody was told, and what follows."""

    result: Result
    closes: tuple[int, str] | None = None
    """The winner of the match and the reason, where it closes with this game whatever was agreed on its length."""
    by: str = ""
    """The cause, as the letters say it."""
    resignation: str = ""
    """The path of the letter by which a seat gave up the game, if one did."""

    @property
    def given_up(self) -> bool:
        """True if the loser resigned or was silent: then the loser has no way left to win."""
        return self.result.reason in {"resignation", "forfeit"}


class ToldGame(msgspec.Struct, frozen=True):
    """All commitments and everything told in a game so far."""

    commitments: Mapping[int, str]
    """The hashes of the papers of the setups, by seat."""
    seals: Mapping[int, str]
    """The paths of the letters by which the seats committed to these."""
    steps: Grown[Filed] = msgspec.field(default_factory=Grown)
    """In the order of the transcript."""
    printed: Mapping[int, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """The heads that letters printed since a seat owes something, by seat: a step may cite any of them."""
    ending: Ending | None = None
    reveals: Mapping[int, Revealed] = msgspec.field(default_factory=dict)

    def of(self, seat: int, turn: int) -> Iterator[Filed]:
        """The steps of a seat in the turn that is due, the latest first."""
        for filed in reversed(self.steps):
            if filed.turn < turn:
                return
            if filed.seat == seat:
                yield filed

    def committed(self, seat: int, turn: int) -> Filed | None:
        """The commitment that the next paper of this seat in this turn must open."""
        latest = next(self.of(seat, turn), None)
        return latest if latest and not latest.path else None

    def told(self) -> list[SealedStep]:
        """The steps as the rules know them."""
        return [SealedStep(filed.turn, filed.seat, filed.step, filed.lines) for filed in self.steps]


class SealedPlay(msgspec.Struct, frozen=True):
    """A sealed game at one moment: what a step is judged by, alike at the server, in a verifier, and by a player."""

    rules: SealedRules
    server: str
    match: str
    number: int
    """The number of the game in the match."""
    players: tuple[str, ...]
    terms: str
    """The hash of the agreed terms."""
    game: ToldGame
    table: Table
    restored: bool = False
    """True if the server was restored from a backup: papers may have been made after a head that it has forgotten."""

    def place(self, seat: int) -> PaperPlace:
        """The place of a seat's papers."""
        return PaperPlace(self.server, self.match, self.number, seat, self.players[seat - 1])
