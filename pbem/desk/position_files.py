"""The data that a letter brings to programs and to the page on which its answer is composed: a position, or a setup.

Views come only through `Match.view`, so the data cannot say more than the game lets its reader know. In a sealed
match, everything in it is public among the players, except the reader's own note. Implements docs/attachments.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pbem.desk.bulletin import SIGNED_TEXT
from pbem.desk.match_facts import standing_orders, time_of
from pbem.games import BUILT_IN
from pbem.letters.draft import Composing, Facts, OutgoingLetter
from pbem.match.transcript import sha256_hex
from pbem.match.view import submitted, view

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.desk.letter_writer import LetterWriter
    from pbem.json_object import JsonObject
    from pbem.mail.compose import Attachment, Composer
    from pbem.match.pinned_keys import Player
    from pbem.match.sealed_game import Filed
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
    ) -> Facts | None:
        """The position and its form, for programs: docs/attachments.md; returns the seat's view."""
        content = self.position_document(match, row, seat, out)
        names = dict(enumerate(match.names, start=1))
        happened = {"game_name": match.terms.game, "reports": reports, "seat": seat, "names": names}
        words = {"events": self._writer.draft("letters/events.txt", **happened)} if reports else {}
        self._compose_with(match, seat, "position", content, words, out)
        shown: Facts | None = content["view"]
        return shown

    def position_document(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The state of a game for a seat; to a letter about a sealed match, adds what the others signed."""
        stands = view(match, seat)
        return self._document("position 1", match, row, stands, out) | {
            "turn": stands.turn,
            "events": "",
            "asked": stands.asked,
            "standing": standing_orders(submitted(match, seat)),
            "view": match.view(seat),
        }

    def _document(self, kind: str, match: Match, row: MatchRow, stands: MatchView, out: OutgoingLetter) -> JsonObject:
        """The data of a match for the answer to a letter, with the last revision; of a sealed match, everything."""
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
        if stands.sealed is None:
            return content
        assert match.options is not None
        seat = stands.seat
        # What the others signed comes as files.
        texts = signed_texts(match, seat, row.number, self._matches)
        out.attachments += texts
        note = self._matches.note(row.number, match.game, seat)
        sealed = of_seat(match, stands, note, texts)
        return content | {"options": dict(match.options.changed), "sealed": sealed}

    def setup(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> None:
        """The requested setup, for programs: docs/attachments.md."""
        self._compose_with(match, seat, "setup", self.setup_document(match, row, seat, out), {}, out)

    def setup_document(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The setup that a seat is asked for; to a letter about a sealed match, adds what the others signed."""
        assert match.options is not None
        content = self._document("setup 1", match, row, view(match, seat), out)
        return content | {"options": dict(match.options.changed)}


def of_seat(match: Match, stands: MatchView, note: str | None, texts: Sequence[Attachment]) -> JsonObject:
    """The state of a sealed match for a seat: what it owes, and everything that was told in this game."""
    attached = {name for name, _, _ in texts}
    found: JsonObject = {
        "owes": stands.sealed.owes[stands.seat] if stands.sealed else [],
        "terms": stands.hash,
        "note": note,
        "keys": {str(one): keys_of(match.players[one - 1]) for one in match.seats},
    }
    game = match.sealed_game
    if game is None:
        return found
    seals = {str(one): _seal_name(match, one) for one in match.seats if _seal_name(match, one) in attached}
    steps = [_step(match, filed, attached) for filed in game.steps]
    commitments = {str(one): commitment for one, commitment in sorted(game.commitments.items())}
    name = _resignation_name(match)
    resigned = name if name in attached else None
    return found | {"commitments": commitments, "seals": seals, "steps": steps, "resigned": resigned}


def keys_of(player: Player) -> list[str]:
    """The keys that letters told here may be signed with: a revoked one signed what was entered before."""
    return [key["public"] for key in (*player.keys, *(key for _, key in player.former))]


def _step(match: Match, filed: Filed, attached: set[str]) -> JsonObject:
    told: JsonObject = {
        "turn": filed.turn,
        "seat": filed.seat,
        "step": filed.step,
        "lines": list(filed.lines),
        "seq": filed.seq,
        "head": filed.head,
    }
    if filed.turn < match.turn - 2:  # a letter with a step of the last turn may begin with one of the turn before
        return told
    name = _text_name(match, filed)
    proved: JsonObject = {"values": dict(filed.values), "paper": filed.paper, "mail": filed.mail}
    return told | proved | {"letter": name if name in attached else None}


def signed_texts(match: Match, seat: int, number: int, matches: Matches) -> list[Attachment]:
    """The texts that the others signed in this turn and the last, for the reader at this seat."""
    return [
        (name, "text/plain", text.encode())
        for name, mail in dict(_signed_letters(match, seat, number, matches)).items()
        if (text := matches.text(number, mail)) is not None
    ]


def _signed_letters(match: Match, seat: int, number: int, matches: Matches) -> Iterator[tuple[str, str]]:
    """The others' letters that count here: the name of each file, and the SHA-256; steps may share a letter."""
    game = match.sealed_game
    if game is None:
        return
    for other, path in sorted(game.seals.items()) if match.turn <= 1 else ():
        letter = matches.paper(number, path) if other != seat else None
        if letter is not None:
            yield _seal_name(match, other), sha256_hex(letter)
    for filed in game.steps:
        if filed.seat != seat and filed.turn >= match.turn - 1:  # of this turn or the last one
            yield _text_name(match, filed), filed.mail
    if name := _resignation_name(match):
        assert game.ending is not None
        letter = matches.paper(number, game.ending.resignation)
        if letter is not None:
            yield name, sha256_hex(letter)


def _text_name(match: Match, filed: Filed) -> str:
    return f"{match.id}-{PurePosixPath(filed.letter).stem}{SIGNED_TEXT}"


def _resignation_name(match: Match) -> str:
    """The file of the signed resignation that ended the game; empty if none did."""
    ending = match.sealed_game.ending if match.sealed_game else None
    return (
        f"{match.id}-{PurePosixPath(ending.resignation).stem}{SIGNED_TEXT}" if ending and ending.resignation else ""
    )


def _seal_name(match: Match, seat: int) -> str:
    return f"{match.id}-game-{match.game}-seal-seat-{seat}{SIGNED_TEXT}"
