"""The data that a letter brings to programs and to the page on which its answer is composed: a position, or a setup.

Views come only through `Match.view`, so the data cannot say more than the game lets its reader know. Implements
docs/attachments.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pbem.desk import sealed_state
from pbem.desk.match_facts import standing_orders, time_of
from pbem.games import BUILT_IN
from pbem.letters.draft import Composing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.desk.letter_writer import LetterWriter
    from pbem.json_object import JsonObject
    from pbem.letters.draft import Facts, OutgoingLetter
    from pbem.mail.compose import Composer
    from pbem.match.state import Match, Submission
    from pbem.store.matches import Matches, MatchRow


@dataclass(eq=False, repr=False)
class PositionFiles:
    """Gives letters the position or the setup that is asked for, as data; the composers are at `pages`."""

    _writer: LetterWriter
    _composer: Composer
    _matches: Matches
    _pages: str

    def _compose_with(
        self, match: Match, seat: int, what: str, content: JsonObject, words: Facts, out: OutgoingLetter
    ) -> None:
        """Give a letter the data for the page on which its answer is composed."""
        name = f"{match.id}-game-{match.game}-{what}.json"
        deadline = time_of(match, seat)["deadline"]
        words = {**words, "deadline": deadline} if deadline else words
        paged = match.terms.game in BUILT_IN and not match.terms.sealed
        pages = self._pages if paged else ""
        wanted = paged and self._writer.setting(match.name(seat), "composer") == "on"
        once = what == "setup" and match.game == 1  # it is the same page all through a match
        told, place = {**content, "deadline": None}, len(out.attachments)
        out.composing = Composing(name, told, words, pages, match.terms.game, wanted and once, place)

    def position(
        self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter, reports: Sequence[Mapping[str, Any]] = ()
    ) -> Facts | None:
        """The position and its form, for programs: docs/attachments.md; returns the seat's view."""
        content = self.position_document(match, row, seat, out)
        names = dict(enumerate(match.names, start=1))
        happened = {"game_name": match.terms.game, "reports": reports, "seat": seat, "names": names}
        words = {"events": self._writer.draft("letters/events.txt", **happened)} if reports else {}
        self._compose_with(match, seat, "position", content, words, out)
        view: Facts | None = content["view"]
        return view

    def position_document(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The state of a game for a seat; to a letter about a sealed match, adds what the others signed."""
        submission = match.orders.get(seat)
        return self._document("position 1", match, row, seat, submission, out) | {
            "turn": match.turn,
            "events": "",
            "asked": match.asked(seat),
            "standing": standing_orders(submission),
            "view": match.view(seat),
        }

    def _document(
        self, kind: str, match: Match, row: MatchRow, seat: int, submission: Submission | None, out: OutgoingLetter
    ) -> JsonObject:
        """The data of a match for the answer to a letter, with the last revision; of a sealed match, everything."""
        content: JsonObject = {
            "pbem": kind,
            "rules": match.terms.game,
            "address": out.reply_to if self._composer.delimiter else self._composer.address,
            "server": match.server,
            "match": match.id,
            "game": match.game,
            "seat": seat,
            "player": match.name(seat),
            "names": list(match.names),
            "prev": match.prev,
            "rev": submission.rev + 1 if submission else 1,
        }
        return content | self._sealed(match, row, seat, out) if match.terms.sealed else content

    def _sealed(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The additional data of a sealed match; what the others signed comes as files."""
        assert match.options is not None
        texts = sealed_state.signed_texts(match, seat, row.number, self._matches)
        out.attachments += texts
        note = self._matches.note(row.number, match.game, seat)
        sealed = sealed_state.of_seat(match, seat, note, texts)
        return {"options": dict(match.options.changed), "sealed": sealed}

    def setup(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> None:
        """The requested setup, for programs: docs/attachments.md."""
        self._compose_with(match, seat, "setup", self.setup_document(match, row, seat, out), {}, out)

    def setup_document(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The setup that a seat is asked for; to a letter about a sealed match, adds what the others signed."""
        assert match.options is not None
        submission = match.setups.get(seat) if match.terms.sealed else None
        content = self._document("setup 1", match, row, seat, submission, out)
        return content | {"options": dict(match.options.changed)}
