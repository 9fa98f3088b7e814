"""Letters sent a second time, by whomever, whenever and wherever to: they change nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from referee import Referee, body, form_in
from signers import KEYS, WAYS, pasted

from pbem.identity import ssh
from pbem.store.matches import Matches

if TYPE_CHECKING:
    from referee import Mailbox

SMALL = "fleet: cost:3\nsettle: 0"
ANN, BOB = "MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"


def standing(referee: Referee) -> list[Any]:
    """All that letters about matches can change."""
    tables = ("entries", "papers", "matches", "seats", "players", "keys")
    rows = [sorted(map(repr, referee.database.execute(f"SELECT * FROM {table}"))) for table in tables]
    numbers = [number for (number,) in referee.database.execute("SELECT number FROM matches")]
    matches = Matches(referee.database, referee.vault)  # what is submitted again is sealed anew
    return [rows, [matches.submissions(number) for number in numbers]]


class Recorder:
    """Sends letters, and sends every earlier one again after each."""

    def __init__(self, referee: Referee) -> None:
        self.referee = referee
        self.sent: list[tuple[bytes, str]] = []

    def send(self, person: Mailbox, text: str) -> None:
        raw = self.referee.raw(person, self.referee.signed(person, text))
        self.deliver(raw, person.address)

    def deliver(self, raw: bytes, sender: str) -> None:
        self.referee.deliver(raw, sender)
        self.sent.append((raw, sender))
        self.again()

    def again(self) -> None:
        before = standing(self.referee)
        for raw, _ in [*self.sent, *reversed(self.sent)]:
            self.referee.deliver(raw, "evil@elsewhere.example")
            assert standing(self.referee) == before, raw.decode()


def test_every_letter_of_a_match_again_after_each_other(referee: Referee) -> None:
    """Proposal, agreement, setups, revisions, a withdrawal, turns, a resignation, the next game."""
    post = Recorder(referee)
    ann, bob = referee.registered("ann"), referee.registered("bob")
    post.send(ann, f"new spaceships with bob\n{SMALL}\nkind: scored\ngames: 2\nend\n")
    post.send(bob, form_in(body(bob.find("proposes")), "accept", lines=1))
    post.send(ann, ann.filled("setup", "MD Gv1 Gv2 Gv3"))
    post.send(ann, ann.filled("setup", ANN, rev=2))
    post.send(bob, bob.filled("setup", BOB))
    post.send(ann, ann.filled("orders", "Yx1"))
    post.send(ann, ann.filled("orders", "Yx2", rev=2))
    post.send(ann, "clear m1 turn 1\n")
    post.send(ann, ann.filled("orders", "final\nRv1", rev=3))
    post.send(bob, bob.filled("orders", "final\n"))
    post.send(ann, ann.filled("orders", "final\nRv3"))
    post.send(bob, "resign m1 game 1\n")
    for person, setup in ((ann, ANN), (bob, BOB)):
        post.send(person, person.filled("setup", setup))
    post.send(ann, ann.filled("orders", "final\nRv1"))
    post.send(bob, bob.filled("orders", "final\n"))
    assert "orders m1 turn 2" in ann.form("orders")


class TestOtherPlaces:
    def test_another_match_of_the_same_players(self, referee: Referee) -> None:
        """m2 is just like m1, and its orders, signed, reach it by every address: those of m1 are not taken."""
        ann, bob = referee.begun(SMALL, (ANN, BOB))
        orders = referee.raw(ann, referee.signed(ann, ann.filled("orders", "final\nRv1")))
        referee.send(ann, f"# once more\nnew spaceships with bob\n{SMALL}\nend\n")
        referee.send(bob, form_in(body(bob.find("proposes")), "accept", lines=1))
        referee.send(ann, ann.filled("setup", ANN))
        referee.send(bob, bob.filled("setup", BOB))
        token = str(ann.last["Reply-To"])
        assert "m2" in token, [str(letter["Subject"]) for letter in ann.letters]
        referee.deliver(orders, ann.address, token)
        assert "Your orders for turn 1 stand" in ann.text  # of m1, where they belong
        for number, wanted in ((1, "Your orders stand, revision 1, final"), (2, "No orders of yours stand")):
            referee.send(ann, f"status m{number}\n", sign=False)
            assert wanted in ann.text

    @pytest.mark.parametrize("way", [way for way in WAYS if way != "ssh"])
    def test_another_server(self, referee: Referee, way: str) -> None:
        """Formats without a namespace: the line `server` is signed, and says where the orders belong."""
        referee.now = datetime(2026, 11, 21, 12, tzinfo=UTC)
        _, file, sign = WAYS[way]
        ann = referee.person("ann")
        referee.deliver(pasted(ann, f"register ann\n{(KEYS / file).read_text()}"), ann.address)
        referee.deliver(sign(ann, form_in(ann.text, "confirm")), ann.address)
        bob = referee.registered("bob")
        referee.send(bob, f"new spaceships with ann\n{SMALL}\nend\n")
        referee.deliver(sign(ann, form_in(body(ann.find("proposes")), "accept", lines=1)), ann.address)
        referee.deliver(sign(ann, ann.filled("setup", BOB)), ann.address)
        referee.send(bob, bob.filled("setup", ANN))
        before = standing(referee)
        form = ann.filled("orders", "final\n").replace("server play.example", "server other.example")
        referee.deliver(sign(ann, form), ann.address)
        assert "Refused" in ann.text
        assert standing(referee) == before
        referee.deliver(sign(ann, ann.filled("orders", "final\n")), ann.address)
        assert standing(referee) != before

    def test_an_ssh_signature_made_for_another_server(self, referee: Referee) -> None:
        ann, _ = referee.begun(SMALL, (ANN, BOB))
        before = standing(referee)
        form = ann.filled("orders", "final\nRv1")
        raw = referee.raw(ann, form + ssh.sign(ann.key, form.encode(), "pbem@other.example"))
        referee.deliver(raw, ann.address)
        assert "pbem@other.example" in ann.text
        assert standing(referee) == before

    def test_anothers_letter_in_ones_own_name(self, referee: Referee) -> None:
        """Bob's signed orders under Ann's From, and Ann's under Bob's."""
        ann, bob = referee.begun(SMALL, (ANN, BOB))
        before = standing(referee)
        for one, other in ((ann, bob), (bob, ann)):
            referee.deliver(referee.raw(one, referee.signed(other, other.filled("orders", "final\n"))), one.address)
            assert standing(referee) == before
