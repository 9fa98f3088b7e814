"""Players of sealed matches at a referee in a box, and the files that letters bring them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from playing.sealed_writer import SealedWriter

from pbem.mail.commands.sections import written
from pbem.match.sealed_game import hashed
from pbem.requests import Section

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import EmailMessage

    from in_a_box.referee import Mailbox, Referee

    from pbem.match.state import Match


def document(letter: EmailMessage) -> dict[str, Any] | None:
    """The position, or the requested setup, in a letter; the last one, as it may tell of several."""
    found = None
    for part in letter.iter_attachments():
        if str(part.get_filename()).endswith(("-position.json", "-setup.json")):
            content = part.get_content()
            found = json.loads(content if isinstance(content, bytes) else content.encode())
    return found


def signed_texts(letter: EmailMessage) -> dict[str, bytes]:
    """The texts that players signed, by the names of the files."""
    return {
        str(part.get_filename()): str(part.get_content()).replace("\r\n", "\n").encode()
        for part in letter.iter_attachments()
        if str(part.get_filename()).endswith(".signed.txt")
    }


@dataclass
class SealedSeat(SealedWriter):
    """A player's secrets of one game, and the letters that follow from them."""

    box: Mailbox = field(kw_only=True)
    note: str = ""
    game: int = 1
    plan: dict[int, str] = field(default_factory=dict)
    """The orders of some turns; those of the others are decided."""
    lie: Callable[[str, tuple[str, ...]], tuple[str, ...]] = lambda _, lines: lines
    """Makes lies from the truth: given a step and its lines, returns the lines to send."""
    stops_at_lies: ClassVar[bool] = False

    @property
    def salting(self) -> bytes:
        return hashed(self.box.name).encode()[:32]

    def tell(self, _turn: int, step: str, lines: tuple[str, ...]) -> tuple[str, ...]:
        return self.lie(step, lines)

    def open(self, _turn: int, lines: tuple[str, ...]) -> tuple[str, ...]:
        return lines

    def order(self, match: Match, view: dict[str, Any]) -> str:
        planned = self.plan.get(match.turn)
        return super().order(match, view) if planned is None else planned

    def begin(self, match: Match) -> Section:
        if match.game != self.game:
            self.game, self.orders, self.after, self.setup = match.game, {}, {}, ""
        return super().begin(match)

    def sealing(self, match: Match, rev: int) -> str:
        """The letter that commits to a setup; without its revision if that is 0."""
        section = self.begin(match)
        return self._written(match, f"seal {match.id} game {match.game}", [section], f"rev {rev}\n" if rev else "")

    def letter(self, match: Match) -> str | None:
        """The letter that is due, unsigned; None where nothing is."""
        owes = match.owes(self.seat)
        if not owes:
            return None
        if owes == ("seal",):
            before = match.setups.get(self.seat)
            return self.sealing(match, before.rev + 1 if before else 1)
        place = f"{match.id} game {match.game}"
        if owes == ("reveal",):
            return self._written(match, f"reveal {place}", self.reveals())
        note = [Section("note", (), self.note)] if self.note else []
        return self._written(match, f"step {place} turn {match.turn}", [*self.owed(match), *note])

    def _written(self, match: Match, command: str, found: list[Section], rev: str = "") -> str:
        head = f"{command}\nserver {match.server}\nplayer {self.box.name}\nprev {match.prev}\n{rev}"
        return f"{head}{written(found)}\nend\n"

    def write(self, referee: Referee) -> bool:
        """Send what is due; whether anything was."""
        text = self.letter(referee.match())
        if text is None:
            return False
        before = len(self.box.letters)
        referee.send(self.box, text, follow=False)
        answer = referee.people[self.box.address].letters.text(before)
        assert "refused" not in answer.lower(), text + answer
        return True


def agreed(referee: Referee, *names: str, game: str = "spaceships", options: str = "") -> list[SealedSeat]:
    """A sealed match that everybody has accepted."""
    boxes = [referee.registered(name) for name in names]
    with_ = ", ".join(names[1:])
    referee.send(boxes[0], f"new {game} with {with_}\nsealed: yes\n{options}end\n")
    for box in boxes[1:]:
        line = next(line for line in box.text.split("\n") if line.startswith("accept m"))
        referee.send(box, line + "\n")
    return seated(referee.match(), boxes)


def seated(match: Match, boxes: list[Mailbox]) -> list[SealedSeat]:
    """The players of a match, with secrets of their own."""
    return [SealedSeat(match.names.index(box.name) + 1, Random(box.name), box=box) for box in boxes]


def play(referee: Referee, seats: list[SealedSeat], most: int = 1000) -> int:
    """Let everybody send what is due, until nothing is or so many letters were sent; how many."""
    sent = 0
    while sent < most:
        before = sent
        for seat in seats:
            sent += seat.write(referee)
        if sent == before:
            break
    return sent
