"""The mode of a match: how its games are played, whether somebody knows all secrets, and how they end.

`Match.play` is one of the modes that `modes` lists. Here lives what the rest of the house may ask of each, with what
holds, where a referee knows all, unless it says otherwise. A mode holds the state of the game that only it has.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

import msgspec

from pbem.games import parts
from pbem.match.state import standing
from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from fractions import Fraction
    from typing import Any

    from pbem.games import Report, Result, ShownReports, State
    from pbem.json_object import JsonObject
    from pbem.match.events.ended import Closing
    from pbem.match.state import Match, Reports
    from pbem.match.step import Step
    from pbem.phrase import Phrase


class Play(msgspec.Struct, frozen=True):
    """The play of a match in one mode. Its match is handed in; only the last three methods change anything."""

    entries: ClassVar[frozenset[str]]
    """The types of entries that only matches in this mode have."""
    hides: ClassVar[bool] = True
    """True if the papers of a game are secret until it is revealed."""
    position_files: ClassVar[Sequence[str]] = ("position 1",)
    """The kinds of files for programs that tell how a game stands."""
    read_by_others: ClassVar[frozenset[str]] = frozenset()
    """The commands whose signed text the other players' programs read."""
    stays: ClassVar[Phrase | None] = None
    """The reason why nobody can take over a seat, if nobody can."""

    def anew(self) -> Self:
        """The same mode before a game begins."""
        return self

    # What is due.

    def due(self, match: Match, seat: int) -> str | None:
        """The command that is due from a seat, or may replace an earlier one, if players write it by hand."""
        if match.phase == "setup":
            return "setup"
        if match.phase == "playing" and seat in match.choosing:
            return "orders"
        return None

    def asked(self, match: Match, seat: int) -> bool:
        """True if the game that is being played still waits for something from this seat."""
        return seat in match.choosing and not standing(match.orders, seat)

    def owes(self, match: Match, seat: int) -> tuple[str, ...]:
        """The steps due from a seat, in order, in a mode in which turns have steps."""
        return ()

    def pace(self, match: Match, position: State) -> Fraction:
        """The fraction of the agreed pace for what is due."""
        return parts.pace(match.rules, position)

    def period(self, match: Match, position: State) -> Phrase | None:
        """The name that the game gives to the turn that is due."""
        return parts.period(match.rules, position)

    def side(self, match: Match, position: State, seat: int) -> Sequence[str]:
        """The words, beside its player's name, for what a seat plays."""
        return parts.side(match.rules, position, seat)

    def awaits(self, match: Match) -> Phrase | None:
        """The word for the letters that a game over by its rules still waits for; None if it is not over."""
        return None

    def refuse_secrets(self, match: Match, what: str) -> None:
        """Refuse a setup or orders of a seat, where its player must keep them secret."""

    def counted_as_received(self, match: Match, seat: int, received: datetime, *, default: bool) -> datetime:
        """The time at which this seat's submission or withdrawal counts as received.

        What is handled after a miss came too late for what was missed, because all that had come in time was handled
        by then. `default` orders are for any turn.
        """
        missed = match.default_late_from.get(seat, received) if default else received
        return max(received, match.late_from.get(seat, received), missed)

    # What is known.

    def view(self, match: Match, position: State, seat: int | None) -> Mapping[str, object]:
        """Everything that the seat (None: the public) knows about the position."""
        return parts.view(match.rules, position, seat, match.shown(seat))

    def show(self, match: Match, seat: int | None, reports: Reports) -> Sequence[Report | None]:
        """The reports of a turn as the seat may read them, with None for one that the game does not show."""
        rules = match.rules
        return [rules.show(report, seat) for report in reports]

    def latest(self, match: Match, seat: int | None) -> ShownReports:
        """The reports of the latest turn, as a reader may read them: the view is kept with them."""
        return match.shown(seat)[-1]

    def keeps_views(self, match: Match) -> bool:
        """True if the latest turn holds all that each reader knows, and reports of earlier turns are not needed."""
        return all(match.keep_view(reader) for reader in (*match.seats, None))

    def truth(self, match: Match) -> dict[int, Mapping[str, Any]] | None:
        """The true views of all owners, after a game; None unless everybody told the truth."""
        return {owner: match.view(owner) or {} for owner in match.seats}

    def setups(self, match: Match) -> dict[int, str]:
        """The setups, once none of them is secret any more."""
        return {seat: submission.text for seat, submission in sorted(match.setups.items())}

    def commitments(self, match: Match) -> dict[int, str]:
        """The hash to which each seat is committed."""
        return {seat: sha256_hex(submission.paper.encode()) for seat, submission in sorted(match.setups.items())}

    def levels(self, match: Match) -> dict[int, str]:
        """The level at which each setup came."""
        return {seat: submission.level for seat, submission in sorted(match.setups.items())}

    def without(self, match: Match, position: State, seat: int) -> State | None:
        """The position in which the others play on after a seat left; None if they do not."""
        return parts.without(match.rules, position, seat, match.terms.edition)

    def keys_in(self, document: JsonObject) -> set[tuple[str, str]]:
        """The seats and public keys that such a file names."""
        return set()

    # What happens.

    @abstractmethod
    def begin(self, step: Step) -> None:
        """All setups are in: the game begins."""

    @abstractmethod
    def proceed(self, step: Step) -> None:
        """Do what is due by now in the game that is being played."""

    @abstractmethod
    def end(self, step: Step, result: Result, closes: Closing | None, by: str, resignation: str) -> None:
        """The game is over with this result; see `ended.end_game`."""
