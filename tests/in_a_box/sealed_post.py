"""A server of sealed matches in twenty lines, for tests of what players do: it enters what comes, and tells of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from in_a_box.referee import Die

from pbem.games import rules
from pbem.games.sealed import COMMIT, sealed_rules
from pbem.match.sealed_game import PaperPlace, hashed, paper
from pbem.match.view import MatchView
from pbem.player.sealed_view import NextLetter, SealedSide, commitment
from pbem.player.secret_vault import Secrets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TERMS = hashlib.sha256(b"the agreed terms").hexdigest()
PLAYERS = ("ann", "bob", "cid", "dot")


def head(number: int) -> str:
    return hashlib.sha256(f"head {number}".encode()).hexdigest()


def standing(place: PaperPlace, rules: str, players: Sequence[str], prev: str) -> MatchView:
    """How a sealed game that is being played stands for one of its players."""
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
        hash=TERMS,
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
    """One sealed game between owners who are told of it by `document`, and say what `take` takes."""

    game: str
    raw: Mapping[str, Any]
    setups: Mapping[int, str]
    secrets: dict[int, Secrets] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    letters: int = 0

    def __post_init__(self) -> None:
        found = sealed_rules(self.game)
        assert found is not None
        self.rules = found
        self.options = rules(self.game).options(self.raw, len(self.setups))
        self.table = found.begin(self.options)
        for seat, setup in self.setups.items():
            self.secrets[seat] = Secrets.begun(self.place(seat), setup, Die(f"seed {seat}"))

    @property
    def prev(self) -> str:
        return head(len(self.steps))

    def place(self, seat: int) -> PaperPlace:
        return PaperPlace("play.example", "m1", 1, seat, PLAYERS[seat - 1])

    def standing(self, seat: int) -> MatchView:
        return standing(self.place(seat), self.game, PLAYERS[: len(self.setups)], self.prev)

    def document(self, seat: int) -> dict[str, Any]:
        """The position as it is told to a seat."""
        told = {
            "owes": list(self.rules.owed(self.table, seat)),
            "terms": TERMS,
            "commitments": {str(seat): commitment(TERMS, secrets) for seat, secrets in self.secrets.items()},
            "steps": [dict(step) for step in self.steps],
        }
        return {"game": 1, "options": dict(self.raw), "prev": self.prev, "sealed": told}

    def side(self, seat: int) -> SealedSide:
        """The game as this seat knows it."""
        return SealedSide.of(self.standing(seat), "play.example", self.document(seat))

    def take(self, seat: int, letter: NextLetter) -> None:
        """Enter the steps of a letter."""
        self.letters += 1
        self.secrets[seat] = letter.secrets
        for name, words, text in letter.sections:
            turn, value = self.table.turn, words[0]
            lines: tuple[str, ...] = ()
            values: dict[str, str] = {}
            if name != COMMIT:
                kind = self.rules.papers[name]
                lines = self.rules.judge(self.table, seat, name, text)
                values = dict(zip(kind.values, words, strict=True))
                commitments = self.document(seat)["sealed"]["commitments"]
                known = {**values, "rules": TERMS, "setup": commitments[str(seat)]}
                place = PaperPlace("play.example", "m1", 1, seat, PLAYERS[seat - 1])
                value = hashed(paper(kind.name, place, turn, {at: known[at] for at in kind.heads}, lines))
            told = {"turn": turn, "seat": seat, "step": name, "lines": list(lines), "values": values, "paper": value}
            number = len(self.steps) + 1
            told |= {"seq": number, "head": head(number), "mail": head(self.letters), "letter": None}
            self.steps.append(told)
            self.table = self.rules.enter(self.table, seat, name, lines)
