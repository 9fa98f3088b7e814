"""A match played by hand, without desk or mail: events go in, and what they led to is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from in_a_box.referee import Die
from msgspec.structs import replace

from pbem.match import progress, submissions
from pbem.match.events import begun, endings, substituted
from pbem.match.modes import proposed
from pbem.match.pinned_keys import Player
from pbem.match.state import Match, seated
from pbem.match.step import Environment, Signed, Step
from pbem.match.step import here as at_present
from pbem.match.terms import Terms
from pbem.requests import Clear, Draw, Resign, SignedForm, SubmitOrders, SubmitSetup, Substitute

if TYPE_CHECKING:
    from pbem.match.state import Submission
    from pbem.match.step import Document
    from pbem.match.transcript import Entry
    from pbem.requests import AnyRequest

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ANN = "MD Rv1 Rv2 Rv3"
BOB = "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"
SHOTS = ("Rv1", "Rv3", "Bz5")


RECEIVED = "2026-03-01T12:00:00Z"


def here(match: Match, seat: int, rev: int, request: AnyRequest | None = None) -> SignedForm[Any]:
    """The form of a request, if it matters, at the present place of the match."""
    return at_present(match, seat, rev, request or Clear())


def signed(letter: bytes) -> Signed:
    """A letter that a key signed."""
    return Signed(letter, "key", "k", received=RECEIVED)


class Table:
    """A match played by hand: events go in, and what they led to is kept."""

    def __init__(self, game: str = "spaceships", *players: Player, **lines: str) -> None:
        lines = {**({"fleet": "cost:3"} if game == "spaceships" else {}), "settle": "0", **lines}
        self.players = players or (Player("ann", ()), Player("bob", ()))
        terms = Terms.propose(game, lines, [player.name for player in self.players], timedelta(minutes=10))
        self.match = proposed("m1", "play.example", terms)
        self.now = START
        self.die = Die()
        self.entries: list[Entry] = []
        self.papers: list[Document] = []
        self.kinds: list[tuple[str, int]] = []

    def step(self) -> Step:
        return Step(self.match, Environment(self.now, self.die, "pbem 0", "00" * 32))

    def done(self, step: Step) -> None:
        progress.advance(step)
        self.match = step.match
        self.entries += step.entries
        self.papers += step.papers
        self.kinds = [(notice.kind, notice.seat) for notice in step.notices]

    def agree(self) -> Table:
        step = self.step()
        begun.agree(step, self.players, [signed(player.name.encode()) for player in self.players])
        self.done(step)
        return self

    def form(self, seat: int, text: str, **changes: Any) -> SignedForm[Any]:
        match = self.match
        place: dict[str, Any] = {"game": match.game} if match.phase == "setup" else {"turn": match.turn}
        request: Any = (SubmitSetup if match.phase == "setup" else SubmitOrders)(match=match.id, text=text)
        if "final" in changes:
            request = replace(request, final=changes.pop("final"))
        return replace(SignedForm(request, match.server, match.name(seat), match.prev, 1, **place), **changes)

    def setup(self, seat: int, text: str, **changes: Any) -> Submission:
        step = self.step()
        submission = submissions.setup(step, seat, self.form(seat, text, **changes), signed(text.encode()))
        self.done(step)
        return submission

    def order(self, seat: int, text: str, **changes: Any) -> Submission:
        step = self.step()
        submission = submissions.order(step, seat, self.form(seat, text, **changes), signed(text.encode()))
        self.done(step)
        return submission

    def clear(self, seat: int) -> Submission:
        step = self.step()
        sent = self.match.submissions.get(seat)
        rev = sent.rev + 1 if sent else 1
        submission = submissions.clear(step, seat, here(self.match, seat, rev), signed(b"clear"))
        self.done(step)
        return submission

    def resign(self, seat: int, *, match: bool = False) -> None:
        step = self.step()
        form = here(self.match, seat, self.rev(seat, "resign"), Resign(whole=match))
        endings.resign(step, seat, form, signed(b"resign"))
        self.done(step)

    def rev(self, seat: int, word: str) -> int:
        """The next revision of what a seat says with this word."""
        return self.match.sentence_revs.get((seat, word), 0) + 1

    def nominate(self, by: int, seat: int, name: str = "carl") -> None:
        step = self.step()
        form = here(self.match, by, self.rev(by, "substitute"), Substitute(name=name))
        substituted.nominate(step, by, seat, form, signed(b"substitute"))
        self.done(step)

    def draw(self, seat: int, word: str) -> None:
        step = self.step()
        form = here(self.match, seat, self.rev(seat, "draw"), Draw(word=word))
        endings.agree(step, seat, form, signed(word.encode()))
        self.done(step)

    def take(self, seat: int) -> None:
        """Carl takes this seat."""
        step, carl = self.step(), Player("carl", ())
        substituted.take_over(step, seat, carl, here(seated(self.match, seat, carl), seat, 1), signed(b"take"))
        self.done(step)

    def begin(self, ann: str = ANN, bob: str = BOB) -> Table:
        self.setup(1, ann)
        self.setup(2, bob)
        return self

    def win(self, seat: int) -> None:
        """A game in which this seat shoots the other's three gunboats."""
        self.begin(*((ANN, BOB) if seat == 1 else (BOB, ANN)))
        for shot in SHOTS:
            self.order(seat, shot)
            self.order(3 - seat, "")

    @property
    def types(self) -> list[str]:
        return [entry.type for entry in self.entries]
