"""A player's matches in a mode: what is asked, how orders are judged, prepared and withdrawn, and what is shown.

Here with what holds where a referee knows all; `sealed_matches` has the other mode, and `player_modes` both.
Implements docs/playing.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

from pbem.phrase import Phrase
from pbem.player.results import PlayResult, ToldLine
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from pbem.games import Report
    from pbem.json_object import JsonObject
    from pbem.match.view import MatchView
    from pbem.player.correspondence import Correspondence
    from pbem.player.correspondence.judge import Judged
    from pbem.player.memory import SentForm
    from pbem.player.results import Say


SIX_WORDS = Phrase("""\
Your six words, to be kept somewhere other than on this machine:

    {words}

Setup and orders of sealed matches stay here, and the server keeps a copy that only these words open. If this
machine is lost, another goes on with them: pbem play words WORD WORD ...""")


class Prepared(PlayResult, frozen=True):
    """A setup or orders, signed and kept; with the six words that seal a player's secrets, if they are new."""

    form: SentForm
    words: str = ""

    def told(self, _: Say) -> Iterator[ToldLine]:
        """The six words: of the letter, sending tells."""
        if self.words:
            yield ToldLine(SIX_WORDS.given(words=self.words))


class KeptHere(PlayResult, frozen=True):
    """Orders in advance of a sealed match: they wait on this machine alone."""

    def told(self, _: Say) -> Iterator[ToldLine]:
        """The sentence about the program that commits to them when they are due."""
        yield ToldLine(
            Phrase("It waits on this machine alone: leave `pbem agent` running, or look with `pbem play`.")
        )


class RefereedMatches(msgspec.Struct, frozen=True):
    """The refereed matches of an account."""

    letters: Correspondence

    keeps_secrets: ClassVar[bool] = False
    """True if setups and orders stay on the player's machine until all is revealed."""

    def asks(self, standing: MatchView) -> bool:
        """True if a match waits for this player to decide on something."""
        return standing.asked and self.letters.matches.pending(standing.match) is None

    def turn(self, standing: MatchView) -> int:
        """The turn that is being played."""
        return standing.turn

    def is_later(self, standing: MatchView, turn: int) -> bool:
        """True if this turn is not the one for which orders are due, so that they would wait."""
        return turn == DEFAULT or turn != standing.turn

    # Setups and orders.

    def judge(self, match: str, text: str, turn: int | None) -> Judged:
        """Judge orders for the turn that is due (None), or for another one; raises `Refused`, `Impossible`."""
        judge = self.letters.judge
        return judge.orders(match, text) if turn is None else judge.ahead(match, turn, text)

    def set_up(self, match: str, text: str, now: datetime) -> Prepared:
        """Prepare the setup that is due."""
        return Prepared(self.letters.set_up(match, text, now))

    def order(self, match: str, text: str, now: datetime, *, final: bool, turn: int | None) -> Prepared | KeptHere:
        """Prepare orders for the turn that is due (None), or for another one."""
        return Prepared(self.letters.order(match, text, now, final=final, turn=turn))

    def clear(self, match: str, now: datetime, turn: int | None) -> SentForm | None:
        """Prepare the withdrawal of what is due, or of orders for another turn; None: they waited here alone."""
        return self.letters.withdraw(match, turn, now)

    # What is known.

    def in_advance(self, standing: MatchView, now: datetime) -> JsonObject:
        """The orders in advance that wait, and those for the turn that is due which do not count."""
        matches = self.letters.matches
        stored, unused = matches.stored(standing.match), matches.unused(standing.match)
        return {
            "unused": unused.form if unused else "",
            "refused": [],
            "stored": [{"turn": turn, "state": sent.state, "form": sent.form} for turn, sent in stored.items()],
            "default": standing.miss == "default",
            "next": standing.turn + 1,
        }

    def to_compose(self, standing: MatchView) -> JsonObject:
        """The composer's facts for a setup or orders; none, or `Impossible`, if neither is due or may be replaced."""
        match, matches = standing.match, self.letters.matches
        if standing.phase == "setup":
            return matches.setup_asked(match) if standing.asked or matches.pending(match) else {}
        return matches.position_asked(match)

    def seen(self, standing: MatchView) -> JsonObject | None:
        """The latest position that the player knows, with the reports of the turn before; None if there is none."""
        position = self.letters.matches.position(standing.match)
        if position is None:
            return None
        latest = self.letters.memory.latest(standing.match, "reports")
        reports = latest["reports"] if latest and latest["game"] == position["game"] else None
        over = standing.phase == "closed"  # after a resignation the last position still has something to order
        return {"view": position["view"] | ({"entitled": None} if over else {}), "reports": reports}

    def told(self, standing: MatchView) -> tuple[Mapping[str, Any], Sequence[Sequence[Report]]] | None:
        """The view of the turn that is due, and the reports of all turns before; None if a letter is missing."""
        match, game, memory = standing.match, standing.game, self.letters.memory
        position = memory.paper(match, game, standing.turn, "position")
        turns = [memory.paper(match, game, turn, "reports") for turn in range(1, standing.turn)]
        reports = [paper["reports"] for paper in turns if paper is not None]
        return (position["view"], reports) if position is not None and len(reports) == len(turns) else None

    def is_unrevealed(self, standing: MatchView) -> bool:
        """True if something that was committed to is not revealed, though it is to be in the end."""
        return False
