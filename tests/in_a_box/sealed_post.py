"""A server of sealed matches in twenty lines, for tests of what players do: it enters what comes, and tells of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import Die

from pbem.games import rules
from pbem.games.sealed import COMMIT, sealed_rules
from pbem.identity import ssh
from pbem.mail.commands.sections import written
from pbem.match.sealed_game import PaperPlace
from pbem.match.view import MatchView
from pbem.player.memory import SignedText
from pbem.player.sealed_view import NextLetter, SealedSide, commitment
from pbem.player.secret_vault import Secrets
from pbem.requests import Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TERMS = hashlib.sha256(b"the agreed terms").hexdigest()
PLAYERS = ("ann", "bob", "cid", "dot")


def head(number: int) -> str:
    return hashlib.sha256(f"head {number}".encode()).hexdigest()


def standing(place: PaperPlace, rules: str, players: Sequence[str], prev: str, terms: str = TERMS) -> MatchView:
    """A sealed game under way, as one of its players knows it."""
    return MatchView(
        match=place.match,
        rules=rules,
        phase="playing",
        paused=False,
        game=place.game,
        turn=1,
        seat=place.seat,
        player=place.player,
        players=[*players],
        programs=[],
        claim=False,
        miss="wait",
        asked=True,
        deadline=None,
        accepted=True,
        agreement=None,
        hash=terms,
        prev=prev,
        rev=1,
        said={},
        offers=[],
        ended=[],
        outcome=None,
        head=None,
        generation=1,
        restored=0,
        address=f"play@{place.server}",
    )


@dataclass
class Post:
    """One sealed game between owners who are shown what both signed, and say what `take` takes."""

    game: str
    raw: Mapping[str, Any]
    setups: Mapping[int, str]
    secrets: dict[int, Secrets] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    """The signed texts, by the names of the files, in order."""
    letters: int = 0

    def __post_init__(self) -> None:
        found = sealed_rules(self.game)
        assert found is not None
        self.rules = found
        self.options = rules(self.game).options(self.raw, len(self.setups))
        self.table = found.begin(self.options)
        self.keys = {seat: Ed25519PrivateKey.from_private_bytes(Die(f"key {seat}")(32)) for seat in self.setups}
        for seat, setup in self.setups.items():
            self.secrets[seat] = Secrets.begun(self.place(seat), setup, Die(f"seed {seat}"))
            sealed = Section("commitment", (commitment(TERMS, self.secrets[seat]),), "")
            self.sign(seat, "seal m1 game 1", [sealed], rev="rev 1\n")

    @property
    def prev(self) -> str:
        return head(len(self.texts))

    def place(self, seat: int) -> PaperPlace:
        return PaperPlace("play.example", "m1", 1, seat, PLAYERS[seat - 1])

    def standing(self, seat: int) -> MatchView:
        return standing(self.place(seat), self.game, PLAYERS[: len(self.setups)], self.prev)

    def sign(self, seat: int, words: str, sections: Sequence[Section], rev: str = "") -> None:
        place = f"server play.example\nplayer {PLAYERS[seat - 1]}\nprev {self.prev}\n{rev}"
        text = f"{words}\n{place}{written(sections)}\nend\n"
        signature = ssh.sign(self.keys[seat], text.encode(), "pbem@play.example")
        self.texts[f"m1-{len(self.texts) + 1}-seat-{seat}.signed.txt"] = (text + signature).encode()

    @property
    def public(self) -> dict[str, list[str]]:
        return {str(seat): [ssh.public(key)] for seat, key in self.keys.items()}

    def document(self) -> dict[str, Any]:
        """The server's account beside the signed texts."""
        return {"game": 1, "options": dict(self.raw), "prev": self.prev, "sealed": {"keys": self.public}}

    def side(
        self, seat: int, texts: Iterable[bytes] | None = None, forgotten: Iterable[bytes] = (), **other: Any
    ) -> SealedSide:
        """The game as this seat knows it, if these texts came, and the server says this of it."""
        heads = {number: head(number) for number in range(len(self.texts))}
        signed = [SignedText(text) for text in (self.texts.values() if texts is None else texts)]
        signed += [SignedText(text, counts=False) for text in forgotten]
        document = self.document() | other
        return SealedSide.of(self.standing(seat), "play.example", document, self.public, signed, heads)

    def take(self, seat: int, letter: NextLetter) -> None:
        self.letters += 1
        self.secrets[seat] = letter.secrets
        self.sign(seat, f"step m1 game 1 turn {self.table.turn}", letter.sections)
        for name, _, text in letter.sections:
            lines = () if name == COMMIT else self.rules.judge(self.table, seat, name, text)
            self.table = self.rules.enter(self.table, seat, name, lines)
