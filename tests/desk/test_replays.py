"""Letters sent a second time, by whomever, whenever and wherever to: they change nothing."""

from __future__ import annotations

import base64
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from data.material import IN_FORCE, KEYS
from in_a_box.bulletins import bulletin
from in_a_box.referee import SERVER, Mailbox, Referee, body, confirming, form_in, new, placed, whole_sentence
from in_a_box.small_games import FLEETS, SMALL
from judges.honest import accused
from signing.openpgp_maker import Signer
from signing.signers import WAYS, head, pasted

from pbem.store.matches import Matches


def standing(referee: Referee) -> list[Any]:
    """All that letters about matches can change."""
    tables = ("entries", "papers", "matches", "seats", "players", "keys")
    rows = [[row | {"version": 0} for row in referee.database.rows(f"SELECT * FROM {table}")] for table in tables]
    numbers = [number for (number,) in referee.database.execute("SELECT number FROM matches")]
    matches = Matches(referee.database, referee.vault)  # what is submitted again is sealed anew
    return [rows, [matches.submitted(number) for number in numbers]]


class Recorder:
    """Sends letters, the whole sentence where one did not say its place, and every earlier one again after each."""

    def __init__(self, referee: Referee) -> None:
        self.referee = referee
        self.sent: list[tuple[bytes, str]] = []

    def send(self, person: Mailbox, text: str) -> None:
        raw = self.referee.raw(person, self.referee.signed(person, text))
        whole = self.deliver(raw, person)
        if whole is not None:
            self.send(person, whole)

    def deliver(self, raw: bytes, person: Mailbox) -> str | None:
        """Deliver a letter; returns the sentence to sign instead, if there is one."""
        self.referee.deliver(raw, person.address)
        whole = whole_sentence(person.text) if person.letters else None
        self.sent.append((raw, person.address))
        self.again()
        return whole

    def again(self) -> None:
        before = standing(self.referee)
        for raw, _ in [*self.sent, *reversed(self.sent)]:
            self.referee.deliver(raw, "evil@elsewhere.example")
            assert standing(self.referee) == before, raw.decode()


def test_every_letter_of_a_match_again_after_each_other(referee: Referee) -> None:
    """Proposal, agreement, setups, revisions, a withdrawal, turns, a resignation, the next game."""
    post = Recorder(referee)
    ann, bob = referee.registered("ann"), referee.registered("bob")
    post.send(ann, new(ann, "spaceships", "bob", options=f"{SMALL}\nkind: scored\ngames: 2"))
    post.send(bob, form_in(body(bob.find("proposes")), "accept", lines=1))
    post.send(ann, ann.filled("setup", "MD Gv1 Gv2 Gv3"))
    post.send(ann, ann.filled("setup", FLEETS[0], rev=2))
    post.send(bob, bob.filled("setup", FLEETS[1]))
    post.send(ann, ann.filled("orders", "Yx1"))
    post.send(ann, ann.filled("orders", "Yx2", rev=2))
    post.send(ann, "clear m1 turn 1\n")
    post.send(ann, ann.filled("orders", "final\nRv1", rev=3))
    post.send(bob, bob.filled("orders", "final\n"))
    post.send(ann, ann.filled("orders", "final\nRv3"))
    post.send(bob, "resign m1 game 1\n")
    for person, setup in ((ann, FLEETS[0]), (bob, FLEETS[1])):
        post.send(person, person.filled("setup", setup))
    post.send(ann, ann.filled("orders", "final\nRv1"))
    post.send(bob, bob.filled("orders", "final\n"))
    assert "orders m1 turn 2" in ann.form("orders")


def test_only_where_new_words_came_from_is_their_writers_home(referee: Referee) -> None:
    """A network counts as a player's by a letter that nobody else could have sent, and by no other."""
    ann, bob = referee.registered("ann"), referee.registered("bob")
    said = referee.raw(ann, referee.signed(ann, "status\n"))
    before = referee.database.scalar("SELECT count(*) FROM inbox")
    for number, (raw, sender) in enumerate(
        [
            (said, ann.address),
            (said.replace(b"Message-ID: <", b"Message-ID: <again."), ann.address),
            (referee.raw(ann, "status\n"), ann.address),
            (referee.raw(ann, referee.signed(ann, "help\n").replace("help", "rules")), ann.address),
            (referee.raw(ann, referee.signed(ann, "# of Ann\nstatus\n")), bob.address),
            (referee.raw(ann, referee.signed(bob, "status\n")), ann.address),
        ]
    ):
        referee.deliver(raw, sender, network=f"network {number}")
    proved = [row["proved"] for row in referee.database.rows("SELECT proved FROM inbox ORDER BY id")][before:]
    assert proved == [1, 0, 0, 0, 0, 0]
    known = "SELECT rank FROM inbox ORDER BY id DESC LIMIT 1"
    for number, rank in ((0, 2), (1, 1)):
        referee.deliver(referee.raw(ann, f"rules {number}\n"), ann.address.upper(), network=f"network {number}")
        assert referee.database.scalar(known) == rank


class TestOtherPlaces:
    def test_case_42_another_match_of_the_same_players(self, referee: Referee) -> None:
        """m2 is just like m1, and its orders, signed, reach it by every address: those of m1 are not taken."""
        ann, bob = referee.begun(SMALL, FLEETS)
        orders = referee.raw(ann, referee.signed(ann, ann.filled("orders", "final\nRv1")))
        referee.send(ann, f"# once more\nnew spaceships with bob\n{SMALL}\nend\n")
        referee.send(bob, form_in(body(bob.find("proposes")), "accept", lines=1))
        referee.send(ann, ann.filled("setup", FLEETS[0]))
        referee.send(bob, bob.filled("setup", FLEETS[1]))
        token = str(ann.last["Reply-To"])
        assert "m2" in token, [str(letter["Subject"]) for letter in ann.letters]
        referee.deliver(orders, ann.address, token)
        assert "Your orders for turn 1 stand" in ann.text  # of m1, where they belong
        for number, wanted in ((1, "Your orders stand, revision 1, final"), (2, "You have submitted no orders")):
            referee.send(ann, f"status m{number}\n", sign=False)
            assert wanted in ann.text

    @pytest.mark.parametrize("way", [way for way in WAYS if way != "ssh"])
    def test_case_42_another_server(self, referee: Referee, way: str) -> None:
        """Formats without a namespace: the line `server` is signed, and says where the orders belong."""
        referee.now = IN_FORCE
        _, file, sign = WAYS[way]
        ann = referee.person("ann")
        referee.deliver(pasted(ann, f"register ann\n{(KEYS / file).read_text()}"), ann.address)
        referee.deliver(sign(ann, confirming(ann)), ann.address)
        bob = referee.registered("bob")
        referee.send(bob, f"new spaceships with ann\n{SMALL}\nend\n")
        referee.deliver(sign(ann, form_in(body(ann.find("proposes")), "accept", lines=1)), ann.address)
        referee.deliver(sign(ann, ann.filled("setup", FLEETS[1])), ann.address)
        referee.send(bob, bob.filled("setup", FLEETS[0]))
        before = standing(referee)
        form = ann.filled("orders", "final\n").replace("server play.example", "server other.example")
        referee.deliver(sign(ann, form), ann.address)
        assert "Refused" in ann.text
        assert standing(referee) == before
        referee.deliver(sign(ann, ann.filled("orders", "final\n")), ann.address)
        assert standing(referee) != before


class TestOtherDress:
    """One signature holds for texts that differ in octets, in letters that differ more: the words are known again."""

    def added(self, referee: Referee) -> tuple[Mailbox, str, str]:
        """A player who asked for a second key, and the signature of the letter."""
        referee.now = IN_FORCE
        ann, signer = referee.person("ann"), Signer()

        def send(text: str) -> str:
            signature = signer.over(text.encode())
            referee.deliver(pasted(ann, text + signature), ann.address)
            return signature

        referee.deliver(pasted(ann, f"register ann\n{signer.certificate()}"), ann.address)
        send(confirming(ann))
        assert "You are registered" in ann.text, ann.text
        text = f"key add\n{(KEYS / 'ssh-rsa.pub').read_text()}{placed(ann)}end\n"
        return ann, text, send(text)

    @pytest.mark.parametrize("dress", ["attached", "CRLF", "trailing blanks"])
    def test_case_42_the_same_words_are_handled_once(self, referee: Referee, dress: str) -> None:
        ann, text, signature = self.added(referee)
        assert "challenge" in ann.text
        before, count = standing(referee), len(ann.letters)
        other = {"CRLF": text.replace("\n", "\r\n"), "trailing blanks": text.replace("\n", " \n")}.get(dress, text)
        raw = attached(ann, other, signature) if dress in {"attached", "CRLF"} else pasted(ann, other + signature)
        referee.deliver(raw, ann.address)
        assert (standing(referee), len(ann.letters)) == (before, count + 1)
        assert "not obeyed twice" in ann.text, ann.text

    def test_a_lone_cr_is_refused(self, referee: Referee) -> None:
        ann, text, signature = self.added(referee)
        before = standing(referee)
        referee.deliver(attached(ann, text.replace("\n", "\r"), signature), ann.address)
        assert "U+000D" in ann.text
        assert standing(referee) == before


def attached(person: Mailbox, text: str, signature: str) -> bytes:
    """A text and its signature, each a file."""
    parts = "".join(
        f"--b\nContent-Disposition: attachment; filename={name}\nContent-Transfer-Encoding: base64\n\n"
        + base64.encodebytes(content.encode()).decode()
        for name, content in (("key.txt", text), ("key.txt.asc", signature))
    )
    return f"{head(person)}Content-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n".encode()


# Copies of a letter, sent in other envelopes: none of their answers accuses the server.


def outcomes(person: Mailbox) -> list[str]:
    """The outcomes of the commands that the latest letter answers."""
    return [str(item["outcome"]) for item in bulletin(person.last)["items"] if item["about"] == "command"]


def copied(referee: Referee, raw: bytes, number: int) -> None:
    referee.deliver(raw, f"other-{number}@mail.example", f"pbem+m{number}@{SERVER}")


def test_what_was_refused_is_not_obeyed_in_the_same_second(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    place = f"turn 1\nprev {referee.match().prev}\nrev 1\n"
    raw = referee.raw(bob, referee.signed(bob, f"draw m1 accept\n{placed(bob)}{place}"))
    referee.deliver(raw, bob.address)
    assert outcomes(bob) == ["refused"]
    referee.send(ann, f"draw m1 offer\n{placed(ann)}{place}")
    before = len(bob.letters)
    copied(referee, raw, 1)
    assert len(bob.letters) == before
    assert accused(referee) == []
    referee.now += timedelta(seconds=1)
    copied(referee, raw, 2)
    assert referee.match().phase == "closed"
    assert accused(referee) == []


@pytest.mark.parametrize("days", [0, 1, 12])
def test_what_was_played_is_refused_when_it_comes_again(referee: Referee, days: int) -> None:
    """Its turn is over, or its date is too long ago."""
    ann, bob = referee.begun(f"{SMALL}\npace: none", FLEETS)
    date = f"Date: {format_datetime(referee.now)}\n"
    raw = referee.raw(bob, referee.signed(bob, bob.filled("orders", "final")), headers=date)
    referee.deliver(raw, bob.address)
    assert outcomes(bob) == ["done"]
    referee.turn((ann, ""))
    for number in range(2):
        referee.wait(timedelta(days=days, seconds=1))
        copied(referee, raw, number)
        assert outcomes(bob) == ["refused"]
    assert accused(referee) == []
