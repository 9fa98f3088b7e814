"""A server that drops what it acknowledged, with its own key, and pretends for it each end that there is.

Bob's letters are dropped. A lie is told in any of three games, with his key or without, of orders in their turn, in
advance or with conditions, of default orders, setups and withdrawals.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from attackers.forgers import against, checked
from in_a_box.referee import Mailbox, Referee, form_in, new
from in_a_box.sealed_seats import seated
from msgspec.structs import replace
from vectors.matches import MASTERS, SETUPS, SMALL, THREE, TURNS, home, proof, reply

from pbem.match.documents import Opening, Receipt, SetAside, Withdrawal
from pbem.match.state import Submission
from pbem.match.step import Signed, Step
from pbem.match.transcript import Entry, sha256_hex, written
from pbem.proof.compare.fates import Fates
from pbem.proof.kept_letters import kept
from pbem.requests import DEFAULT
from verifier import Wrong, verified
from verifier.acknowledged import end

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from in_a_box.sealed_seats import SealedSeat

    from pbem.match.state import Match
    from pbem.proof.compare.ends import Sent

SEAT = 2
"""Bob's seat."""
OVER = timedelta(days=11)
BOB = "D: LRL\nE: LRL\nF: LRL"


class Game(NamedTuple):
    """A game of few turns, in one of which, or the last, Bob's orders are dropped."""

    name: str
    options: str
    setups: dict[str, str]
    other_setup: str
    turns: tuple[dict[str, str], ...]
    """The orders of each turn, by player; the rules end the game with the last."""
    other: str
    """Other orders of Bob's that are legal in either turn."""
    refused: str
    """Orders of his that can be stored, and are legal in neither."""
    conditional: str = ""
    """Orders with conditions that are legal in either, and there not the same as the other ones."""
    at: int = 2
    """The turn that is not the last."""


GAMES = {
    game.name: game
    for game in (
        Game(
            "spaceships",
            SMALL.replace("settle: 0", "settle: 1h"),
            {"ann": SETUPS[1], "bob": SETUPS[0]},
            "MD Gv1 Gv2 Gv3",
            ({"ann": "", "bob": "Rv1"}, {"ann": "", "bob": "Rv3"}, {"ann": "", "bob": "Bz5"}),
            "Gx3",
            "Gx1 Gx2 Gx3 Gx4 Gx5",
            "if can Gx2 then Gx2 else Gx3",
        ),
        Game(
            "dueling-masters",
            "settle: 1h\nmax_turns: 6",
            {"ann": MASTERS[0], "bob": MASTERS[1]},
            MASTERS[1].replace("Z G2 G4", "Z G4 G2"),
            tuple(
                {"ann": one} if number % 2 == 0 else {"bob": one}
                for number, one in enumerate(("Z1 D1-D2", "Z1 G2-G3", "Z1 D2-D3", "Z1 G3-G2", "Z1 D3-D2", "Z1 G2-G3"))
            ),
            "Z2 G4-G5",
            "Z3 G5-G3",
            "if can Z3 G6-G7 then Z3 G6-G7 else Z2 G4-G5",
            at=4,
        ),
        Game(
            "shoot-em-up",
            "board: 5x5\nsettle: 1h\nmax_turns: 3",
            THREE,
            "D c5 S\nE b5 S\nF d5 S",
            tuple({"ann": TURNS[0], "bob": BOB, "cem": TURNS[2]} for _ in range(3)),
            "D: LRL\nE: LLL\nF: LRL",
            "D: LRL",
        ),
    )
}


class Dropper:
    """A match on a server that lies about Bob's letters, which he signs or not; `way` is how he orders."""

    def __init__(
        self,
        referee: Referee,
        patch: pytest.MonkeyPatch,
        game: Game,
        *,
        by_key: bool = True,
        sealed: bool = False,
        way: str = "in its turn",
    ) -> None:
        self.referee, self.game, self.by_key, self.is_sealed, self.way = referee, game, by_key, sealed, way
        self.names = ("ann", "bob") if sealed else tuple(game.setups)
        self.domain = home()
        self.unused: dict[bool, list[Submission]] = {False: [], True: []}
        """Claim that orders were unused, in the trace of the turn (False), or of the end."""
        self.at = game.at
        """The turn in which something is dropped."""
        self.people: dict[str, Mailbox] = {}
        self.seats: dict[str, SealedSeat] = {}
        honest = Step.file_trace

        def lying(step: Step, what: str, game: int) -> dict[str, str]:
            match = step.match
            made = self.unused[what == "end"] if what == "end" or match.turn == self.at else []
            if made:
                sent = match.orders.get(SEAT) or replace(made[0], standing=False)
                aside = tuple(SetAside(one.paper, one.letter, one.evidence) for one in made)
                sent = replace(sent, aside=(*sent.aside, *aside))
                step.match = replace(match, orders={**match.orders, SEAT: sent})
            named = honest(step, what, game)
            step.match = match
            return named

        patch.setattr(Step, "file_trace", lying)

    @property
    def match(self) -> Match:
        return self.referee.match()

    @property
    def bob(self) -> Mailbox:
        return self.people["bob"]

    # The match.

    def agree(self, miss: str = "wait") -> None:
        self._open("agreed", miss, lambda: self._agree(miss))

    def begin(self, miss: str = "wait") -> None:
        def play() -> None:
            self._agree(miss)
            for name, text in self.game.setups.items():
                self.say(name, "setup", text)

        self._open("begun", miss, play)

    def _open(self, what: str, miss: str, play: Callable[[], None]) -> None:
        def played() -> list[Mailbox]:
            play()
            return [self.people[name] for name in self.names]

        self.referee.records[self.domain.where] = self.domain.record
        place = (what, self.game.name, miss, self.by_key, self.is_sealed)
        self.people = dict(zip(self.names, self.referee.opened(place, played), strict=True))
        self.seats = dict(zip(self.names, seated(self.match, [*self.people.values()]), strict=True))

    def _agree(self, miss: str) -> None:
        referee, options = self.referee, f"{self.game.options}\nmiss: {miss}"
        people = {name: referee.registered(name) for name in self.names if name != "bob" or self.by_key}
        if not self.by_key:
            people["bob"] = referee.person("bob")
            referee.send(people["bob"], "register bob\n", sign=False)
            reply(referee, self.domain, people["bob"], "register bob\n")
        if self.is_sealed:
            options = (
                "\n".join(line for line in options.split("\n") if not line.startswith("settle")) + "\nsealed: yes"
            )
        first, *others = [people[name] for name in self.names]
        self.people = people
        referee.send(first, new(first, self.game.name, *(one.name for one in others), options=options))
        for one in others:
            self.write(one.name, form_in(one.text, "accept", lines=1))
        self.seats = dict(zip(self.names, seated(self.match, [first, *others]), strict=True))

    def write(self, name: str, text: str) -> None:
        """A player without a key answers the latest letter: an address is good for one answer."""
        person = self.people[name]
        if name == "bob" and not self.by_key:
            reply(self.referee, self.domain, person, text)
        else:
            self.referee.send(person, text)

    def say(self, name: str, kind: str, text: str, rev: int = 1, place: str = "") -> None:
        """A setup or orders of this revision, or without it if that is 0; `place` names another turn."""
        if self.is_sealed:
            seat = self.seats[name]
            seat.setup = ""
            self.write(name, seat.sealing(self.match, rev))
            assert "Refused" not in self.people[name].text, self.people[name].text
            return
        form = self.people[name].filled(kind, text, rev=rev)
        form = form if rev else form.replace("\nrev 0\n", "\n")
        if place:
            form = form.replace(form.partition("\n")[0], f"orders m1 {place}", 1)
            form = re.sub("(?m)^prev .*", f"prev {self.match.prev}", form)
        self.write(name, form)
        assert "Refused" not in self.people[name].text, self.people[name].text

    def others_set_up(self) -> None:
        for name in self.names:
            if name != "bob":
                self.say(name, "setup", self.game.setups[name])

    def turn(self, number: int, *, without: str = "") -> None:
        """All order, but this one."""
        for name, text in self.game.turns[number - 1].items():
            if name != without:
                self.say(name, "orders", f"final\n{text}" if text else "final", 9)

    def reach(self) -> None:
        """Play up to the turn in which something is dropped."""
        for number in range(self.match.turn, self.at):
            self.turn(number)
        assert self.match.turn == self.at

    def others_move(self) -> None:
        """All but Bob order in that turn."""
        self.reach()
        self.turn(self.at, without="bob")

    def miss(self) -> None:
        """Bob's time for that turn goes by."""
        self.others_move()
        self.referee.wait(OVER)

    def until_asked(self) -> None:
        """Play until Bob has a form for orders."""
        while not self.match.asked(SEAT):
            self.turn(self.match.turn)

    def right(self) -> str:
        """Bob's orders for that turn."""
        return self.game.turns[self.at - 1]["bob"]

    def text(self) -> str:
        """The orders of Bob's that will be dropped."""
        return self.game.conditional if self.way == "conditional" else self.right()

    def entries(self) -> list[Entry]:
        return [Entry.read(row.entry) for row in self.referee.desk.archive.matches.entries(1)]

    def hand_over(self, *, gone: bool = False) -> Mailbox:
        """All agree that Carl takes Bob's seat (but for Bob, if he is gone), and he does."""
        carl = self.referee.registered("carl")
        for name in (*(() if gone else ("bob",)), *(name for name in self.names if name != "bob")):
            self.write(name, "substitute m1 carl for bob\n")
        self.referee.send(carl, carl.form("substitute"))
        self.people["carl"] = carl
        return carl

    def set_up(self) -> Submission:
        """All agree, and Bob sends his setup."""
        self.agree()
        self.say("bob", "setup", self.game.setups["bob"])
        return self.match.setups[SEAT]

    def withdraw(self, *, default: bool = False) -> Submission:
        """Bob withdraws what he sent, or his default orders; what is left of it."""
        self.write("bob", "clear m1 default\n" if default else "clear m1\n")
        match = self.match
        left = match.stored[SEAT, DEFAULT] if default else match.submissions[SEAT]
        assert not left.standing, self.bob.text
        return left

    def leave(self) -> bytes:
        """Bob resigns in the turn after: that excuses nothing of the turn before."""
        assert self.match.turn == self.at + 1
        self.write("bob", "resign m1 game 1\n")
        return self.over()

    def order(self, *texts: str, keep: int | None = None, revs: bool = True) -> list[Submission]:
        """Bob's orders for the turn, one revision after the other; the server keeps one, or none, if it lies.

        Then the turn is due. `keep` is the number of the revision that it keeps; `revs` is False if no letter names
        its own.
        """
        sent = []
        if self.way == "in advance":
            self.until_asked()
            for rev, text in enumerate(texts, 1):
                self.say("bob", "orders", text, rev if revs else 0, f"turn {self.at}")
                sent.append(self.match.stored[SEAT, self.at])
            self.forget(self.at, by=sent[keep - 1] if keep else None)
            self.reach()
            return sent
        self.reach()
        for rev, text in enumerate(texts, 1):
            self.say("bob", "orders", text, rev if revs else 0)
            sent.append(self.match.orders[SEAT])
        assert [one.rev for one in sent] == list(range(1, len(texts) + 1)), self.bob.text
        self.forget(self.at, by=sent[keep - 1] if keep else None)
        return sent

    def by_default(self, *texts: str, keep: int | None = None, revs: bool = True) -> list[Submission]:
        """Bob's default orders, of which the server keeps one, or none."""
        self.until_asked()
        sent = []
        for rev, text in enumerate(texts, 1):
            self.say("bob", "orders", text, rev if revs else 0, "default")
            sent.append(self.match.stored[SEAT, DEFAULT])
        assert [one.rev for one in sent] == list(range(1, len(texts) + 1)), self.bob.text
        self.forget(DEFAULT, by=sent[keep - 1] if keep else None)
        return sent

    def play_on(self) -> bytes:
        """The turn is played with what the server kept; that may end the game."""
        self.turn(self.at, without="bob")
        self.referee.wait(timedelta(days=6))
        assert self.match.phase == "closed" or self.match.turn == self.at + 1
        return self.over()

    def over(self) -> bytes:
        """The bundle when all is over."""
        for name in self.names:
            if self.match.phase != "closed" and name != "bob":
                self.write(name, "resign m1 match\n")
        if self.match.phase != "closed":
            self.referee.wait(4 * OVER)
        assert self.match.phase == "closed", self.people["ann"].text
        return proof(self.referee, self.people["ann"])

    def claim(self) -> bytes:
        """Bob is said to have been silent, and Ann claims the game from him."""
        for _ in range(3):
            if not self.match.missed and self.match.phase in {"setup", "playing"}:
                self.referee.wait(OVER)
        self.write("ann", "claim m1\n")
        return self.over()

    # What the server does.

    def put(self, **changes: Any) -> None:
        version, match, octets = self.referee.desk.archive._warm[1]
        self.referee.desk.archive._put(1, version, replace(match, **changes), octets)

    def forget(self, turn: int, by: Submission | None = None) -> None:
        """Bob's orders for a turn, or default orders, are forgotten, or replaced by these."""
        orders, stored = dict(self.match.orders), dict(self.match.stored)
        if turn == self.match.turn:
            orders.pop(SEAT, None)
            orders |= {SEAT: by} if by else {}
        else:
            stored.pop((SEAT, turn), None)
            stored |= {(SEAT, turn): by} if by else {}
        self.put(orders=orders, stored=stored, resolve_at=None, clocks=self.unanswered())

    def forget_setup(self, by: Submission | None = None) -> None:
        setups = dict(self.match.setups)
        setups.pop(SEAT, None)
        setups |= {SEAT: by} if by else {}
        self.put(setups=setups, clocks=self.unanswered())

    def obey(self, raw: bytes, rev: int, *, unused: bool = False) -> Submission:
        """A letter of Bob's that was refused or asked about, with a receipt as if it had been obeyed."""
        match = self.match
        (key,) = match.players[SEAT - 1].keys
        signed = Signed(raw, "key", key["fingerprint"], written(self.referee.now))
        receipt = Receipt.of(match, SEAT, match.turn, rev, signed, "5e" * 32)
        made = Submission(rev, "", receipt.text(), raw)
        if unused:
            self.unused[True].append(made)
        return made

    def unanswered(self) -> dict[int, Any]:
        """The clocks of a server that knows of no answer of Bob's."""
        clocks = dict(self.match.clocks)
        if SEAT in clocks:
            clocks[SEAT] = replace(clocks[SEAT], answered=None)
        return clocks


def convicted(content: bytes, *people: Mailbox) -> str:
    """The evidence against the server: a bundle that does not hold, or a kept letter; both verifiers agree."""
    last = checked(content)[-1]
    try:
        verified(content)
        second = ""
    except Wrong as wrong:
        second = str(wrong)
    assert last.holds == (not second), f"{last.found} | {second}"
    if not last.holds:
        return last.found
    bench = against(content)
    letters = [kept("", raw) for person in people for raw in person.letters.came]
    attached = {way for letter in letters for one in letter.attached for way in one.ways}
    for content_of in (one for one in attached if one.endswith(b"\n") and b"\r" not in one):
        if (paper := acknowledged(content_of)) is not None:
            standing = Fates(bench.bundle).of(paper, sha256_hex(content_of)).standing
            assert second_standing(content, content_of) == standing, paper
    findings = [one for letter in letters for one in bench.judge(letter).findings]
    return next((one.found for one in findings if one.standing == "two stories"), "")


def second_standing(content: bytes, paper: bytes) -> str:
    """The standing of a paper by the second verifier, which names the end."""
    found = end(content, paper)
    return found if found in {"dropped", "open", "later"} else "agrees"


def acknowledged(content: bytes) -> Sent | None:
    """The opening, receipt or withdrawal in a file; None if it holds something else."""
    for kind in (Opening, Receipt, Withdrawal):
        if content.startswith(f"pbem {kind.TITLE}\n".encode()):
            return kind.read(content.decode())
    return None
