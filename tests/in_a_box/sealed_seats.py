"""Players of sealed matches as the desk knows them: they write from their own secrets and from what letters brought.

Nothing here looks at the desk's match: the table is played again from the signed texts that letters brought.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from in_a_box.bulletins import FIELD, bulletin
from in_a_box.referee import Mailbox, attachment
from playing import random_players
from playing.sealed_writer import Known, SealedWriter

from pbem.games import rules
from pbem.games.sealed import sealed_rules
from pbem.mail.commands.sections import written
from pbem.match.sealed_game import PaperPlace, SealedGameState, SealedMoment, hashed
from pbem.player.memory import SignedText
from pbem.player.signed_texts import fold
from pbem.requests import Section

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import EmailMessage

    from in_a_box.referee import Referee


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

    box: Mailbox
    random: Random
    orders: dict[int, str] = field(default_factory=dict)
    setup: str = ""
    note: str = ""
    read: int = 0
    told: dict[str, Any] = field(default_factory=dict)
    stands: dict[str, Any] = field(default_factory=dict)
    """The match by the last bulletin."""
    texts: dict[str, bytes] = field(default_factory=dict)
    replayed: tuple[Any, Any] = (None, None)
    """The texts that letters had brought when it was replayed, and the moment that it came to."""
    letters: int = 0
    commitment: str = ""
    plan: dict[int, str] = field(default_factory=dict)
    """The orders of some turns; those of the others are decided."""
    lie: Callable[[str, tuple[str, ...]], tuple[str, ...]] = lambda _, lines: lines
    """Makes lies from the truth: given a step and its lines, returns the lines to send."""
    hide: Callable[[str], str] = hashed
    after: dict[int, str] = field(default_factory=dict)
    stops_at_lies: ClassVar[bool] = False

    @property
    def salting(self) -> bytes:
        return hashed(self.box.name).encode()[:32]

    def tell(self, _turn: int, step: str, lines: tuple[str, ...]) -> tuple[str, ...]:
        return self.lie(step, lines)

    def open(self, _turn: int, lines: tuple[str, ...]) -> tuple[str, ...]:
        return lines

    def order(self, known: Known, view: dict[str, Any]) -> str:
        planned = self.plan.get(known.table.turn)
        return super().order(known, view) if planned is None else planned

    def look(self) -> dict[str, Any]:
        for letter in self.box.letters[self.read :]:
            for item in bulletin(letter)["items"] if letter[FIELD] else ():
                if item["about"] == "match" and "sealed" in item:
                    self.stands = item
            self.texts |= signed_texts(letter)
            found = document(letter)
            if found is not None:
                if found["game"] != self.told.get("game"):
                    self.orders, self.after, self.setup = {}, {}, ""
                self.told = found
        self.read = len(self.box.letters)
        return self.told

    @property
    def place(self) -> PaperPlace:
        told = self.told
        return PaperPlace(told["server"], told["match"], told["game"], told["seat"], told["player"])

    def play(self) -> SealedMoment:
        """Replay what was signed, once for what letters brought."""
        told, stands, texts = brought = self.told, self.stands, {**self.texts}
        if brought != self.replayed[0]:
            sealed = sealed_rules(told["rules"])
            assert sealed is not None
            where = told["server"], told["match"], told["game"], tuple(told["names"]), stands["hash"]
            restored = bool(stands["restored"])
            begun = SealedMoment(sealed, *where, SealedGameState({}, {}), sealed.begin(self.options), restored)
            signed = [SignedText(text) for text in texts.values()]
            self.replayed = brought, fold(begun, told["sealed"]["keys"], {}, signed, {}).play
        moment: SealedMoment = self.replayed[1]
        return moment

    @property
    def owes(self) -> list[str]:
        """The steps that are due from this seat."""
        stands, asked = self.stands, {"setup": "seal", "playing": "reveal"}
        if stands["phase"] == "setup" or stands.get("revealing"):
            return [asked[stands["phase"]]] if stands["asked"] else []
        if stands["phase"] != "playing":
            return []
        play = self.play()
        return [*play.rules.owed(play.table, stands["seat"])]

    @property
    def options(self) -> Any:
        return rules(self.told["rules"]).options(self.told["options"], len(self.told["names"]))

    def head(self, command: str, *, rev: int | None = None) -> str:
        told = self.told
        turn = f" turn {told['turn']}" if command == "step" else ""
        lines = [f"{command} {told['match']} game {told['game']}{turn}", f"server {told['server']}"]
        lines += [f"player {told['player']}", f"prev {told['prev']}"]
        return "\n".join(lines + ([f"rev {rev}"] if rev else []))

    def sections(self) -> list[Section]:
        owes = self.owes
        if owes == ["seal"]:
            return [Section("commitment", (self.commit_to_setup(),), "")]
        if owes == ["reveal"]:
            return self.reveals()
        play = self.play()
        papers = [(one.turn, one.seat, one.step, one.paper) for one in play.game.steps]
        place = self.place, play.terms, self.told["prev"]
        known = Known(self.told["rules"], self.options, *place, play.table, papers)
        return list(self.owed(known))

    def commit_to_setup(self) -> str:
        player, judge = random_players.PLAYERS[self.told["rules"]], rules(self.told["rules"])
        if not self.setup:
            text = player.setup(self.random, self.options, self.told["seat"])
            self.setup = judge.setup(self.options, self.told["seat"], text).text
        self.commitment = self.commitment_to(self.place, self.stands["hash"])
        return self.commitment

    def letter(self) -> str | None:
        """The letter that is due, unsigned; None where nothing is."""
        self.look()
        owes = self.owes
        if not owes:
            return None
        command = owes[0] if owes[0] in ("seal", "reveal") else "step"
        found = self.sections()
        if self.note and command != "reveal":
            found.append(Section("note", (), self.note))
        head = self.head(command, rev=self.told["rev"] if command == "seal" else None)
        return f"{head}\n{written(found)}\nend\n"

    def write(self, referee: Referee) -> bool:
        """Send what is due; whether anything was."""
        text = self.letter()
        if text is None:
            return False
        before = len(self.box.letters)
        referee.send(self.box, text, follow=False)
        self.letters += 1
        answer = referee.people[self.box.address].letters[before]
        assert "refused" not in str(answer.get_body(("plain",))).lower(), text + str(answer.get_body(("plain",)))
        return True


def agreed(referee: Referee, *names: str, game: str = "spaceships", options: str = "") -> list[SealedSeat]:
    """A sealed match that everybody has accepted."""
    boxes = [referee.registered(name) for name in names]
    with_ = ", ".join(names[1:])
    referee.send(boxes[0], f"new {game} with {with_}\nsealed: yes\n{options}end\n")
    for box in boxes[1:]:
        line = next(line for line in box.text.split("\n") if line.startswith("accept m"))
        referee.send(box, line + "\n")
    return [SealedSeat(box, Random(name)) for box, name in zip(boxes, names, strict=True)]


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


__all__ = ["SealedSeat", "agreed", "attachment", "document", "play", "signed_texts"]
