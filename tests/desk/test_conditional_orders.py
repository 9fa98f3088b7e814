"""Conditional orders by mail: the branch that counts, what its player is told, and servers that play another."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.inquiries import early, held
from in_a_box.referee import SERVER, Mailbox, Referee, attachment, body
from in_a_box.small_games import FLEETS, PIECES, SMALL
from judges.honest import accused
from playing import random_players
from playing.conditions import CONDITIONAL, with_conditions

from pbem.games import Fault, Refused
from pbem.games.conditional_orders import Conditional, is_conditional
from pbem.phrase import Phrase
from pbem.proof.bundle import read
from pbem.proof.verification import verify
from verifier import Wrong, verified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


OPTIONS = "miss: default\nsettle: 0"
PLAN = "If left G2 then Z1 D2-D3,\nelse if lost Z1 or lost any then Z2 D4-D5\nelse X1 A6-B6"


@pytest.fixture
def people(referee: Referee) -> tuple[Mailbox, Mailbox]:
    return begun(referee)


def begun(referee: Referee) -> tuple[Mailbox, Mailbox]:
    """Ann has moved; her plan for turn 3 waits, and Bob is to move."""
    ann, bob = referee.table("dueling-masters", OPTIONS, PIECES)
    early(referee, ann, "turn 3", PLAN)
    referee.turn((ann, "Z1 D1-D2"))
    return ann, bob


def ended(referee: Referee, ann: Mailbox, bob: Mailbox) -> bytes:
    referee.send(bob, "resign m1 game 1\n")
    return attachment(ann.find(", the end"), ".zip")


def faults(bundle: bytes) -> Iterator[str]:
    """The faults that both verifiers find."""
    check = next(check for check in verify(bundle) if not check.holds)
    yield check.found
    with pytest.raises(Wrong) as wrong:
        verified(bundle)
    yield str(wrong.value)


@pytest.mark.parametrize(
    ("move", "branch", "played", "why"),
    [
        (
            "Z1 G2-G3",
            1,
            "Z1 D2-D3",
            "the first whose condition holds, as a piece of your opponent's left G2.",
        ),
        ("Z2 G4-G5", 3, "X1 A6-B6", "no other condition holds."),
    ],
)
def test_the_branch_that_holds_counts(
    referee: Referee, people: tuple[Mailbox, Mailbox], move: str, branch: int, played: str, why: str
) -> None:
    ann, bob = people
    referee.read_cold()
    referee.turn((bob, move))
    told = body(ann.find("turn 2"))
    assert f"They stand, revision 1:\n\n  {played}\n" in told
    assert f"Of your conditional orders, these are branch {branch}: {why}" in " ".join(told.split())
    assert "branch" not in body(bob.find("turn 2"))
    referee.read_cold()
    bundle = ended(referee, ann, bob)
    assert f"orders signed (ann: key, branch {branch}) and legal" in "\n".join(held(ann.find(", the end")))
    assert f"\nbranch {branch}\n".encode() in bundle
    assert accused(referee) == [], "the receipt in the mailbox, without a branch, is that of these orders"


def test_what_is_stored_is_read_back_branch_by_branch(referee: Referee, people: tuple[Mailbox, Mailbox]) -> None:
    ann, _ = people
    early(referee, ann, "turn 5", PLAN)
    told = " ".join(ann.text.split())
    assert (
        "branch 1, if a piece of your opponent's left G2: Z1 goes from D2 to D3"
        " branch 2, if you lost Z1, or you lost a piece: Z2 goes from D4 to D5"
        " branch 3, otherwise: X1 goes from A6 to B6"
    ) in told
    referee.send(ann, "status m1\n")
    assert "branch 3, otherwise: X1 goes from A6 to B6" in " ".join(ann.text.split())


def test_that_none_holds_is_said_and_orders_are_asked_for(referee: Referee) -> None:
    ann, bob = referee.table("dueling-masters", OPTIONS, PIECES)
    early(referee, ann, "turn 3", "if left G2 then Z1 D2-D3")
    early(referee, ann, "turn 5", "if not lost any then Z1 D3-D9")
    referee.turn((ann, "Z1 D1-D2"), (bob, "Z2 G4-G5"))
    assert "none of the conditions holds" in body(ann.find("turn 2"))
    referee.read_cold()
    referee.turn((ann, "Z2 D4-D5"), (bob, "Z2 G5-G6"))
    told = " ".join(body(ann.find("turn 4")).split())
    assert "branch 1 counts, and no other; its orders are not legal" in told
    assert "Z1 does not stand on D3" in told
    held_bundle = ended(referee, ann, bob)
    held(ann.find(", the end"))
    unused = [paper for name, paper in read(held_bundle).papers.items() if "receipts" in name and "-unused-" in name]
    assert [b"\nbranch " in paper for paper in unused] == [False, False]


def test_spaceships_with_a_target_list_in_a_branch(referee: Referee) -> None:
    ann, bob = referee.begun(f"{SMALL}\n{OPTIONS.splitlines()[0]}", FLEETS)
    early(referee, ann, "turn 2", "if Rv1 hit and sunk LG then next Rv1 Gx3 Rv3 else Rv2")
    referee.turn((ann, "Rv1"), (bob, ""))
    assert "They stand, revision 1:\n\n  Gx3\n" in body(ann.find("turn 1"))
    referee.read_cold()
    referee.turn((bob, ""))
    assert "ann: key, branch 1" in "\n".join(held_at_end(referee, ann, bob))


def held_at_end(referee: Referee, ann: Mailbox, bob: Mailbox) -> list[str]:
    ended(referee, ann, bob)
    return held(ann.find(", the end"))


def test_they_may_come_late(referee: Referee, people: tuple[Mailbox, Mailbox]) -> None:
    """A letter that was on its way while the turn was resolved is taken as it was meant."""
    ann, bob = people
    referee.send(ann, "clear m1 turn 3\n")
    referee.turn((bob, "Z1 G2-G3"))
    referee.send(ann, ann.filled("orders", PLAN, rev=3))
    assert "\n  Z1 D2-D3\n" in ann.text
    assert "Of your conditional orders, these are branch 1" in ann.text


@pytest.mark.parametrize(
    "text", ["if lost Z1 then", "if lost Z9 then Z1 D2-D3", "if met Z1 then Z1 D2-D3", "if then W"]
)
def test_what_is_malformed_is_refused_at_once(referee: Referee, text: str) -> None:
    ann, _ = referee.table("dueling-masters", OPTIONS, PIECES)
    early(referee, ann, "turn 3", text)
    assert "Refused" in ann.text
    said = " ".join(ann.text.split())
    assert "(ruling 38)" in said
    assert ("not `Z9`" in said) == ("Z9" in text), "a terminal shows the sentence alone"


@pytest.mark.parametrize(
    ("word", "stored"), [("iF", True), ("if# so\n", True), ("\u0131f", False), ("\u0130f", False)]
)
def test_an_i_of_another_alphabet_begins_nothing(referee: Referee, word: str, stored: bool) -> None:
    """One reader took it for `if`, and others refused the orders that had been played."""
    ann, bob = referee.table("dueling-masters", OPTIONS, PIECES)
    early(referee, ann, "turn 3", f"{word} can Z1 D2-D3 then Z1 D2-D3")
    assert ("Refused" not in ann.text) == stored
    referee.turn((ann, "Z1 D1-D2"), (bob, "Z1 G2-G3"))
    held_at_end(referee, ann, bob)


def none_holds(*_: object) -> object:
    raise Refused(Fault("39", None, Phrase("none of the conditions holds")))


@pytest.mark.parametrize(
    ("part", "lie", "fault"),
    [
        ("_chosen", lambda *_: (3, "X1 A6-B6"), ""),
        ("branch", lambda *of: 2 * is_conditional(of[-1]), "another branch"),
        ("_chosen", none_holds, "legal, and were not used"),
    ],
)
def test_a_server_that_plays_or_names_another_branch_or_drops_the_plan_is_convicted(
    liar: Referee, part: str, lie: Callable[..., object], fault: str
) -> None:
    """Both verifiers convict, for anybody who has the bundle."""
    ann, bob = begun(liar)
    with pytest.MonkeyPatch.context() as server:
        server.setattr(Conditional, part, lie)
        liar.turn((bob, "Z1 G2-G3"))
        bundle = ended(liar, ann, bob)
    assert any(fault in found for found in faults(bundle))


# Players who plan at random: the bundle holds for both verifiers, and no kept letter accuses the server.


TURNS = 8
OVER = timedelta(days=11)
"""Pace and grace, and a day."""
LIST = "next " + " ".join(a + b + c for a in "RO" for b in "vwxyz" for c in "12345")


class Planner:
    def __init__(self, referee: Referee, game: str, dice: Random) -> None:
        self.referee, self.dice, self.game = referee, dice, game
        self.players = random_players.PLAYERS[game]
        at = dice.randrange(len(self.players.options))
        self.raw, _ = self.players.options[at]
        self.revs: dict[tuple[int, str], int] = {}

    def begin(self) -> None:
        referee = self.referee
        options = [f"{name}: {_written(value)}" for name, value in self.raw.items()]
        settle = self.dice.choice(("settle: 0", "settle: 2h"))
        ann, bob = referee.agreed("\n".join(["miss: default", settle, *options]), self.game)
        self.people = {1: ann, 2: bob}
        match = referee.match()
        assert match.options is not None
        for seat, person in self.people.items():
            written = self.players.setup(self.dice, match.options, seat)
            setup = match.rules.setup(match.options, seat, written).text
            referee.send(person, person.filled("setup", setup))

    def view(self, seat: int) -> dict[str, Any]:
        found = self.referee.match().view(seat)
        assert found is not None
        return dict(found)

    def text(self, seat: int) -> str:
        """Orders that were legal now, with conditions mostly, or a target list."""
        view = self.view(seat)
        now = [self.players.orders(self.dice, view) for _ in range(2)] if view.get("entitled") else ["Z1 D1-D2"] * 2
        if self.game == "spaceships" and self.dice.random() < 0.4:
            now[0] = LIST if self.dice.random() < 0.8 else "next Rv1"
        if self.dice.random() < 0.75:
            return with_conditions(self.dice, self.game, now[0] or "next Rv1", now[1] or "Rv1")
        return now[0]

    def plan(self, seat: int) -> None:
        turn = self.referee.match().turn
        place = self.dice.choice(("default", *(f"turn {turn + ahead}" for ahead in (0, 1, 2, 3))))
        rev = self.revs[seat, place] = self.revs.get((seat, place), 0) + self.dice.choice((0, 1, 1, 1))
        if self.dice.random() < 0.15:
            self.send(seat, f"clear m1 {place}", max(rev, 1))
        else:
            self.send(seat, f"orders m1 {place}", max(rev, 1), self.text(seat))

    def send(self, seat: int, command: str, rev: int, text: str = "") -> None:
        person, prev = self.people[seat], self.referee.match().prev
        block = f"{text or '# none'}\nend\n" if command.startswith("orders") else ""
        form = f"{command}\nserver {SERVER}\nplayer {person.name}\nprev {prev}\nrev {rev}\n{block}"
        self.referee.send(person, form, follow=False)

    def play(self) -> None:
        referee, dice = self.referee, self.dice
        for _ in range(60):
            match = referee.match()
            if match.phase != "playing" or match.turn > TURNS or match.position is None:
                break
            for seat in self.people:
                for _ in range(dice.choice((0, 0, 1, 2))):
                    if referee.match().phase == "playing":
                        self.plan(seat)
            if dice.random() < 0.3:
                referee.read_cold()
            if dice.random() < 0.3:
                referee.wait(dice.choice((timedelta(hours=3), OVER)))
            match = referee.match()
            if match.phase != "playing" or match.position is None:
                break
            for seat, forced in match.position.due.items():
                if forced is None and dice.random() < 0.6 and referee.match().turn == match.turn:
                    text = self.players.orders(dice, self.view(seat))
                    place = f"turn {match.turn}"
                    rev = self.revs[seat, place] = self.revs.get((seat, place), 0) + 1
                    self.send(seat, f"orders m1 {place}", rev, text)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {number}" for name, number in value.items()) + "}"
    return str(value)


def test_random_plans_hold(referee: Referee) -> None:
    assert b"\nbranch 2\n" in check(referee, "spaceships", 0), "there was something to tell"


@pytest.mark.long
@pytest.mark.parametrize("game", CONDITIONAL)
@pytest.mark.parametrize("seed", range(30))
def test_random_plans_hold_at_length(referee: Referee, game: str, seed: int) -> None:
    check(referee, game, seed)


def check(referee: Referee, game: str, seed: int) -> bytes:
    dice = Random(f"plans {game} {seed}")
    planner = Planner(referee, game, dice)
    planner.begin()
    planner.play()
    if referee.match().phase != "closed":
        loser = dice.choice((1, 2))
        referee.send(planner.people[loser], "resign m1 game 1\n")
        if referee.match().phase != "closed":
            referee.send(planner.people[loser], "resign m1 match\n")
        assert referee.match().phase == "closed", (referee.match().phase, planner.people[loser].text)
    for person in planner.people.values():
        letter = person.find(", the end")
        held(letter)
    assert accused(referee) == []
    return attachment(letter, ".zip")
