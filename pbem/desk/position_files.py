"""The data that a letter brings to programs and to the page on which its answer is composed: a position, or a setup.

Views come only through `Match.view`, so the data cannot say more than the game lets its reader know. In a sealed
match, everything in it is public among the players, except the reader's own note. Implements docs/attachments.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pbem.desk.match_facts import standing_orders, time_of
from pbem.games import BUILT_IN
from pbem.letters.draft import Composing, Facts, OutgoingLetter
from pbem.match.sealed_game import text_name
from pbem.match.transcript import sha256_hex
from pbem.match.view import submitted, view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.desk.letter_writer import LetterWriter
    from pbem.json_object import JsonObject
    from pbem.mail.compose import Attachment, Composer
    from pbem.match.pinned_keys import Player
    from pbem.match.state import Match
    from pbem.match.view import MatchView
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
    ) -> Mapping[str, Any] | None:
        """The position and its form, for programs: docs/attachments.md; returns the seat's view."""
        content = self.position_document(match, row, seat, out)
        names = dict(enumerate(match.names, start=1))
        happened = {"game_name": match.terms.game, "reports": reports, "seat": seat, "names": names}
        words = {"events": self._writer.template("letters/events.txt", **happened)} if reports else {}
        self._compose_with(match, seat, "position", content, words, out)
        return content["view"] if "view" in content else match.view(seat)

    def position_document(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The state of a game for a seat; to a letter about a sealed match, adds what was signed."""
        stands = view(match, seat)
        content = self._document("position 1", match, row, stands, out) | {"turn": stands.turn}
        if stands.sealed:
            return content  # everything else follows from what was signed
        return content | {
            "events": "",
            "asked": stands.asked,
            "standing": standing_orders(submitted(match, seat)),
            "view": match.view(seat),
        }

    def _document(self, kind: str, match: Match, row: MatchRow, stands: MatchView, out: OutgoingLetter) -> JsonObject:
        """The data of a match for the answer to a letter, with the last revision; if sealed, with what was signed."""
        content: JsonObject = {
            "pbem": kind,
            "rules": stands.rules,
            "address": out.reply_to if self._composer.delimiter else self._composer.address,
            "server": match.server,
            "match": stands.match,
            "game": stands.game,
            "seat": stands.seat,
            "player": stands.player,
            "names": stands.players,
            "prev": stands.prev,
            "rev": stands.rev,
        }
        if not stands.sealed:
            return content
        assert match.options is not None
        out.attachments += self.signed(match, row, match.turn - 1)
        note = self._matches.note(row.number, match.game, stands.seat)
        return content | {"options": dict(match.options.changed), "sealed": of_seat(match, note)}

    def signed(self, match: Match, row: MatchRow, since: int = 0) -> list[Attachment]:
        """The texts that the players signed in a sealed game, from this turn on."""
        return signed_texts(match, row.number, self._matches, since)

    def setup(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> None:
        """The requested setup, for programs: docs/attachments.md."""
        self._compose_with(match, seat, "setup", self.setup_document(match, row, seat, out), {}, out)

    def setup_document(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The setup that a seat is asked for; to a letter about a sealed match, adds the keys that sign it."""
        assert match.options is not None
        content = self._document("setup 1", match, row, view(match, seat), out)
        return content | {"options": dict(match.options.changed)}


def of_seat(match: Match, note: str | None) -> JsonObject:
    """The needs of a program beside the signed texts: the reader's note, the keys, and the texts that count."""
    keys = {str(one): keys_of(match.players[one - 1]) for one in match.seats}
    letters, resigned = match.sealed_game.letters if match.sealed_game else {}, _resigned(match)
    return {
        "note": note,
        "keys": keys,
        "signed": [text_name(match.id, path) for path in letters],
        "resigned": text_name(match.id, resigned) if resigned else None,
        "revealing": match.revealing,
    }


def keys_of(player: Player) -> list[str]:
    """The keys that letters told here may be signed with: a revoked one signed what was entered before."""
    return [key["public"] for key in player.ever]


def signed_texts(match: Match, number: int, matches: Matches, since: int) -> list[Attachment]:
    """The texts that the players signed in the turns since one, for their programs."""
    letters = match.sealed_game.letters if match.sealed_game else {}
    paths = [path for path, turn in letters.items() if turn >= since] + [path for path in [_resigned(match)] if path]
    return [
        (text_name(match.id, path), "text/plain", text.encode())
        for path in paths
        if (letter := matches.paper(number, path)) is not None
        and (text := matches.text(number, sha256_hex(letter))) is not None
    ]


def _resigned(match: Match) -> str:
    """The letter of the resignation that ended the game; empty if none did."""
    ending = match.sealed_game.ending if match.sealed_game else None
    return ending.resignation if ending else ""
