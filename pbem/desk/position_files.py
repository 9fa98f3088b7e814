"""The data that a letter brings to programs and to the page on which its answer is composed: a position, or a setup.

Views come only through `Match.view`, so the data cannot say more than the game lets its reader know. A mode with data
of its own has a subclass. Implements docs/attachments.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pbem.desk.match_facts import standing_orders, time_of
from pbem.games import BUILT_IN
from pbem.letters.draft import Composing, Facts, OutgoingLetter
from pbem.match.view import view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.desk.letter_writer import LetterWriter
    from pbem.desk.match_facts import LetterView
    from pbem.json_object import JsonObject
    from pbem.letters.draft import Enclosed
    from pbem.mail.compose import Composer
    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.phrase import Phrase
    from pbem.store.matches import Matches, MatchRow


_SHOWN = ("rules", "match", "game", "seat", "player", "prev", "rev")
"""The parts of a view that the answer's form names."""


class LetterMaker(Protocol):
    """The maker of matches' letters, as their files use it."""

    def thread(self, match: Match, row: MatchRow, seat: int, subject: Phrase) -> OutgoingLetter:
        """An empty letter in the thread of a match."""

    def view(self, match: Match, row: MatchRow, seat: int) -> LetterView:
        """The view of a match for a seat."""

    def vouched(self, match: Match, name: str, content: bytes) -> dict[str, str]:
        """The name and hash of an attached file, and the server's signature of the hash."""


@dataclass(eq=False, repr=False)
class PositionFiles:
    """Gives letters the position or the setup that is asked for, as data; the composers are at `pages`."""

    _writer: LetterWriter
    _composer: Composer
    _matches: Matches
    _pages: str
    paged: ClassVar[bool] = True
    """True if a page may compose the answers."""

    def latest_game(self, match: Match) -> int:
        """The last game of which something was told that can be told again."""
        return match.game if match.turns else len(match.games)

    def facts_of(self, letters: LetterMaker, notice: Notice, row: MatchRow, out: OutgoingLetter) -> Facts | None:
        """The facts of a notice that only letters of this mode bring, or bring otherwise; None for all others."""

    def again(
        self, letters: LetterMaker, match: Match, row: MatchRow, seat: int, game: int
    ) -> tuple[list[Enclosed], list[OutgoingLetter]]:
        """The files and letters, beside reports, that tell a player again what is known of a game."""
        return [], []

    def _compose_with(
        self, match: Match, seat: int, what: str, content: JsonObject, words: Facts, out: OutgoingLetter
    ) -> None:
        """Give a letter the data for the page on which its answer is composed."""
        name = f"{match.id}-game-{match.game}-{what}.json"
        deadline = time_of(match, seat)["deadline"]
        words = {**words, "deadline": deadline} if deadline else words
        paged = self.paged and match.terms.game in BUILT_IN
        pages = self._pages if paged else ""
        wanted = paged and self._writer.setting(match.name(seat), "composer") == "on"
        once = what == "setup" and match.game == 1  # it is the same page all through a match
        told, place = {**content, "deadline": None}, len(out.attachments)
        out.composing = Composing(name, told, words, pages, match.terms.game, wanted and once, place)

    def position(
        self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter, reports: Sequence[Mapping[str, Any]] = ()
    ) -> Mapping[str, Any] | None:
        """The position and its form, for programs: docs/attachments.md; returns the seat's view."""
        content = self.position_document(match, row, seat, out)
        names = dict(enumerate(match.names, start=1))
        happened = {"game_name": match.terms.game, "reports": reports, "seat": seat, "names": names}
        words = {"events": self._writer.template("letters/events.txt", **happened)} if reports else {}
        content = {**content, "reports": list(reports)} if "view" in content else content
        self._compose_with(match, seat, "position", content, words, out)
        return content["view"] if "view" in content else match.view(seat)

    def position_document(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The state of a game for a seat."""
        return self._document("position 1", match, row, seat, out) | {
            "turn": match.turn,
            "events": "",
            "asked": match.asked(seat),
            "standing": standing_orders(match.submissions.get(seat)),
            "view": match.view(seat),
        }

    def _document(self, kind: str, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The data of a match for the answer to a letter, with the last revision."""
        stands = view(match, seat)
        return {
            "pbem": kind,
            **{name: getattr(stands, name) for name in _SHOWN},
            "address": out.reply_to if self._composer.delimiter else self._composer.address,
            "server": match.server,
            "names": stands.players,
        }

    def setup(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> None:
        """The requested setup, for programs: docs/attachments.md."""
        self._compose_with(match, seat, "setup", self.setup_document(match, row, seat, out), {}, out)

    def setup_document(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The setup that a seat is asked for."""
        content = self._document("setup 1", match, row, seat, out)
        return content | {"options": dict(match.options.changed)}
