"""The files of letters about sealed matches alone: the texts that players signed, and what follows from their steps.

Each player's program reads them: the position is what they say together. So everything here is public among the
players, except the reader's own note. Implements docs/attachments.md.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from pbem.desk.match_facts import is_over, time_of
from pbem.desk.position_files import PositionFiles
from pbem.letters.draft import OutgoingLetter
from pbem.match.documents import text_name
from pbem.match.events.sealed_events import sealed
from pbem.match.state import RUNNING
from pbem.match.transcript import canonical, sha256_hex
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from pbem.desk.position_files import LetterMaker
    from pbem.json_object import JsonObject
    from pbem.letters.draft import Enclosed, Facts
    from pbem.mail.compose import Attachment
    from pbem.match.sealed_letters import Entered
    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.store.matches import Matches, MatchRow

_ROOM = 1 << 20
"""The most octets of signed texts in one letter, which any mail server takes."""


class SealedFiles(PositionFiles):
    """The files of sealed matches, and the facts of their letters."""

    paged = False

    def latest_game(self, match: Match) -> int:
        return match.game if match.phase in RUNNING else super().latest_game(match)

    def position_document(self, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        """The state of a game for a seat: everything else follows from what was signed."""
        return self._document("position 1", match, row, seat, out) | {"turn": match.turn}

    def _document(self, kind: str, match: Match, row: MatchRow, seat: int, out: OutgoingLetter) -> JsonObject:
        content = super()._document(kind, match, row, seat, out)
        out.attachments += signed_texts(match, row.number, self._matches, match.turn - 1)
        note = self._matches.note(row.number, match.game, seat)
        return content | {"options": dict(match.options.changed), "sealed": of_seat(match, note)}

    def for_program(self, letters: LetterMaker, match: Match, row: MatchRow, seat: int) -> list[Enclosed]:
        """The files that an answer brings to the player's program: how the match stands now."""
        out = letters.thread(match, row, seat, Phrase("your letter"))
        if match.phase == "setup":
            document, what = self.setup_document(match, row, seat, out), "setup"
        elif match.phase == "playing":
            document, what = self.position_document(match, row, seat, out), "position"
        else:
            return []
        whole = {**document, "deadline": time_of(match, seat)["deadline"]}
        name = f"{match.id}-game-{match.game}-{what}.json"
        return [*out.attachments, (name, "application/json", canonical(whole))]

    def again(
        self, letters: LetterMaker, match: Match, row: MatchRow, seat: int, game: int
    ) -> tuple[list[Enclosed], list[OutgoingLetter]]:
        """Everything for a player who lost a machine: all that was signed in the game, and the player's own note."""
        if match.phase not in RUNNING or game != match.game:
            return [], []
        files, before = self.for_program(letters, match, row, seat), list[OutgoingLetter]()
        left = deque(text for text in signed_texts(match, row.number, self._matches, 0) if text not in files)
        while left:
            out = letters.thread(match, row, seat, Phrase("game {game}, as it was signed", game=match.game))
            m = letters.view(match, row, seat)
            out.text = self._writer.template("letters/again.txt", m=m, game=match.game, again=())
            room = _ROOM
            while left and (not out.attachments or len(left[0][2]) <= room):
                room -= len(left[0][2])
                out.attachments.append(left.popleft())
            before.append(out)
        return files, before

    def facts_of(self, letters: LetterMaker, notice: Notice, row: MatchRow, out: OutgoingLetter) -> Facts | None:
        """The facts of new steps, the present position, or a reveal; letters that ask again bring the files again."""
        match, seat = notice.match, notice.seat
        if notice.kind == "revealed":
            return {"by": match.name(notice.facts["seat"])}
        if notice.kind not in {"step", "reveals", "reminder", "resumed"}:
            return None
        if match.phase == "setup":
            self.setup(match, row, seat, out)
            return {}
        if notice.kind != "step":
            return {"view": self.position(match, row, seat, out)}
        told, files = self.steps(letters, match, seat, notice.facts["told"])
        out.attachments += files
        reports = [report for turn in told["turns"] for report in turn["reports"]]
        return {**told, "reports": reports, "view": self.position(match, row, seat, out, reports)}

    def steps(self, letters: LetterMaker, match: Match, seat: int, told: Entered) -> tuple[Facts, list[Attachment]]:
        """The facts for a seat about a letter with steps, with the reports of each turn that the letter finished."""
        turns: list[dict[str, object]] = []
        files: list[Attachment] = []
        for turn, reports in told.reports.items():
            name, content = f"{match.id}-game-{match.game}-turn-{turn}.json", told.files[turn][seat]
            files.append((name, "application/json", content))
            vouched = letters.vouched(match, name, content)
            turns.append({"turn": turn, "reports": match.show(seat, reports), **vouched})
        facts = {"by": match.name(told.seat), "turn": told.turn, "steps": [entered.step for entered in told.steps]}
        return {**facts, "turns": turns, "over": is_over(match)}, files


def of_seat(match: Match, note: str | None) -> JsonObject:
    """The needs of a program beside the signed texts: the reader's note, the keys, and if reveals are asked for."""
    return {
        "note": note,
        "keys": {str(one): match.players[one - 1].public_keys for one in match.seats},
        "revealing": match.awaits is not None,
    }


def signed_texts(match: Match, number: int, matches: Matches, since: int) -> list[Attachment]:
    """The texts that the players signed in the turns since one, for their programs."""
    game = sealed(match).game
    paths = [path for path, turn in game.letters.items() if turn >= since]
    if game.ending and game.ending.resignation:
        paths.append(game.ending.resignation)
    return [
        (text_name(match.id, path), "text/plain", text.encode())
        for path in paths
        if (letter := matches.paper(number, path)) is not None
        and (text := matches.text(number, sha256_hex(letter))) is not None
    ]
