"""Why a letter does not count when a bundle is checked: at level `mailbox`, for its date, or because it was used."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import proved
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import SERVER
from msgspec.structs import replace
from signing.domains import Domain, rsa_key
from vectors.matches import VECTORS

from pbem.identity import parse_key, ssh
from pbem.mail import commands
from pbem.mail.message import read_letter
from pbem.match.documents import Evidence, NamedMailbox, Receipt, Withdrawal
from pbem.match.pinned_keys import KeyChange, Player
from pbem.match.remaking import Sentence
from pbem.match.step import Signed, here
from pbem.match.transcript import sha256_hex
from pbem.proof.mailbox_evidence import shown_tokens, vouched
from pbem.proof.signed_letters import BundleLetters, signed_text
from pbem.requests import Clear, Extend, SignedForm

if TYPE_CHECKING:
    from pbem.mail.commands import AnyCommand
    from pbem.match.state import Match

BOB = "bob@mail.example"
HOME = Domain("mail.example", key=rsa_key(1024))
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
RECEIVED = "2026-03-01T12:00:00Z"
TOKEN = "a2b3c4d5e6f7g2h3j4k5"
KEY = {"format": "ssh", "fingerprint": "SHA256:k", "public": "k"}


def written(to: str = f"pbem.{TOKEN}@{SERVER}", sender: str = "Bob@Mail.example", more: str = "") -> bytes:
    return (
        f"From: {sender}\r\nTo: {to}\r\nDate: Sun, 01 Mar 2026 11:59:00 +0000\r\n{more}\r\nresign m1 match\r\n"
    ).encode()


def evidence(letter: bytes = b"", **changes: Any) -> Evidence:
    """Evidence with the key record of the domain, as the DNS gave it."""
    token = sha256_hex(TOKEN.encode())
    whole = Evidence(
        server=SERVER,
        match="m1",
        player="bob",
        mail=sha256_hex(letter),
        received=RECEIVED,
        token=token,
        place="game 2 turn 5",
        by="dkim",
        name=HOME.where,
        record=HOME.record,
    )
    return replace(whole, **changes)


def match(**changes: Any) -> Any:
    """A match as these checks ask for it: its second game is in turn 5, and Bob, in seat 2, has no key."""
    named = NamedMailbox(server=SERVER, match="m1", seat=2, player="bob", address=BOB, salt="0" * 64)
    player = Player("bob", (), mailbox=sha256_hex(named.text().encode()), named=named)
    terms, players = SimpleNamespace(keys="accepted"), (Player("ann", (KEY,)), player)
    what: dict[str, Any] = {"server": SERVER, "id": "m1", "terms": terms, "players": players, "prev": "1" * 64}
    where = {"seq": 9, "game": 2, "turn": 5, "phase": "playing"}
    return SimpleNamespace(**{**what, **where, **changes})


def seated(**changes: Any) -> dict[str, Any]:
    """A match in which this is true of Bob."""
    first, second = match().players
    return {"players": (first, replace(second, **changes))}


class TestMailboxes:
    """The sender of a letter; its evidence is about another letter, so that nothing else is checked."""

    FINE = "it is not vouched for: the evidence is about another letter"

    def said(self, letter: bytes = b"", *, former: bool = False, by: Evidence | None = None, **facts: Any) -> str:
        content = (by or evidence(b"another")).text().encode()
        signed = Signed(letter or written(), "mailbox", "", RECEIVED, content)
        with pytest.raises(ValueError, match=r"\w") as caught:
            BundleLetters._vouched(match(**facts), 2, signed, waited=False, former=former)
        return str(caught.value)

    def test_of_this_player(self) -> None:
        assert self.said() == self.FINE
        assert self.said(written(sender="carl@mail.example")) == "does not come from the mailbox of bob"
        assert self.said(written(sender="")) == "does not come from the mailbox of bob"
        assert self.said(server="other.example").startswith("the evidence belongs to another server")
        assert self.said(id="m2") == "the evidence belongs to another match"

    def test_of_the_mailbox_that_is_named(self) -> None:
        """A paper names it, in whatever hash the transcript has."""
        for address, fault in ((BOB, self.FINE), ("carl@mail.example", "does not come from the mailbox of bob")):
            named = NamedMailbox(server=SERVER, match="m1", seat=2, player="bob", address=address, salt="0" * 64)
            assert self.said(**seated(named=named, mailbox="2" * 64)) == fault

    def test_of_the_match_that_was_proposed(self) -> None:
        """A proposal answers a letter of no match."""
        other = evidence(b"another", match="")
        assert self.said(by=other) == "the evidence belongs to another match"
        assert self.said(by=other, seq=0) == self.FINE

    @pytest.mark.parametrize("changes", [{"server": "other.example"}, {"player": "carl"}])
    def test_evidence_for_another(self, changes: dict[str, str]) -> None:
        said = self.said(by=evidence(b"another", **changes))
        assert said == "the evidence belongs to another server or player"

    def test_where_a_signature_is_demanded(self) -> None:
        said = "is not signed, and this match demands a signature by a key"
        assert self.said(terms=SimpleNamespace(keys="demanded")) == said

    @pytest.mark.parametrize(
        ("changes", "now", "before"),
        [
            ({"keyless": "1" * 64, "keys": (KEY,)}, True, True),
            ({"keyless": "2" * 64, "keys": (KEY,)}, False, True),
            ({"mailbox": "", "keys": (KEY,)}, False, False),
        ],
    )
    def test_of_a_player_who_has_a_key(self, changes: dict[str, Any], *, now: bool, before: bool) -> None:
        """It counts for what was asked before there was one; and where the question is why it counts no longer."""
        keyed = "bob has a key, and this letter is not signed with it"
        assert self.said(**seated(**changes)) == (self.FINE if now else keyed)
        assert self.said(former=True, **seated(**changes)) == (self.FINE if before else keyed)

    def test_a_letter_that_cannot_be_read(self) -> None:
        said = self.said(written(more="X: x\r\n" * 2000))
        assert said.startswith("cannot be read: ")
        assert "headers" in said


class TestEvidence:
    """The checks of a letter without a player's signature, years later."""

    SIGNED = HOME.sign(written(), AT)

    def fault(self, by: Evidence, letter: bytes = SIGNED, *, waited: bool = False, **facts: Any) -> str:
        return str(vouched(read_letter(letter), by, match(**facts), waited=waited))

    def test_a_letter_that_is_vouched_for(self) -> None:
        by = evidence(self.SIGNED)
        assert self.fault(by) == ""
        for changes, said in (
            ({"mail": "0" * 64}, "the evidence is about another letter"),
            ({"received": "noon"}, "the evidence does not say when the letter was received"),
            ({"token": "0" * 64}, "the letter does not show the reply address that the evidence names"),
            (
                {"name": "x._domainkey.mail.example"},
                "none of its DKIM signatures that may count is by the key x._domainkey.mail.example",
            ),
            ({"record": "v=DKIM1; p="}, "The DKIM key s1._domainkey.mail.example is revoked."),
        ):
            assert self.fault(replace(by, **changes)).startswith(said)

    def test_only_the_signature_that_the_evidence_names_is_judged(self) -> None:
        """Another one, whose key was not kept, hides nothing that is wrong with it."""
        other = Domain("mail.example", "s2", key=rsa_key(1024, 1))
        signed = HOME.sign(written(), AT)
        for letter in (other.sign(signed, AT), HOME.sign(other.sign(written(), AT), AT)):
            assert self.fault(evidence(letter), letter) == ""
            assert self.fault(evidence(letter, record="v=DKIM1; p="), letter).endswith(
                "s1._domainkey.mail.example is revoked."
            )
            assert self.fault(evidence(letter, record=other.record), letter).startswith(
                "The DKIM signature of mail.example"
            )

    def test_by_the_word_of_the_server(self) -> None:
        """It must have written so in the letter."""
        by = evidence(
            self.SIGNED, by="server", name="mx.example", record="mx.example; dkim=pass header.d=mail.example"
        )
        said = "the letter does not carry what mx.example is said to have written of a signature that counts"
        assert self.fault(by) == said
        told = b"Authentication-Results: " + by.record.encode() + b"\r\n" + self.SIGNED
        assert self.fault(replace(by, mail=sha256_hex(told)), told) == ""
        assert self.fault(replace(by, mail=sha256_hex(told), record="mx.example; dkim=fail"), told) == said

    @pytest.mark.parametrize(
        ("written", "at_once", "waited"),
        [
            ("game 2 turn 5", True, True),
            ("game 2 turn 4", False, True),
            ("game 2 turn 0", False, True),
            ("game 2 turn 6", False, False),
            ("game 1 turn 5", False, False),
            ("game 3 turn 5", False, False),
            ("turn 5", False, False),
        ],
    )
    def test_what_the_letter_was_about_that_it_answers(self, written: str, *, at_once: bool, waited: bool) -> None:
        by = evidence(self.SIGNED, place=written)
        fault = f"the letter that it answers was about {written}"
        assert self.fault(by) == ("" if at_once else fault)
        assert self.fault(by, waited=True) == ("" if waited else fault)
        assert self.fault(by, seq=0) == "", "before the match there is no place"

    @pytest.mark.parametrize(
        ("letter", "shown"),
        [
            (written(), True),
            (written(to=f"pbem@{SERVER}"), False),
            (written(to="x@y.example", more=f"In-Reply-To: <1.{TOKEN}@{SERVER}>\r\n"), True),
            (written(to="x@y.example", more=f"References: <0@x> <1.{TOKEN.upper()}@{SERVER}>\r\n"), True),
            (written(to="x@y.example") + f"On Sunday pbem.{TOKEN.upper()}@{SERVER} wrote:\r\n".encode(), True),
            (written(to="x@y.example") + b"x" * 19_900 + f"\r\n> pbem.{TOKEN}@{SERVER}\r\n".encode(), True),
            (written(to="x@y.example") + b"x" * 20_000 + f"\r\n> pbem.{TOKEN}@{SERVER}\r\n".encode(), False),
        ],
    )
    def test_where_a_letter_shows_its_reply_address(self, letter: bytes, *, shown: bool) -> None:
        assert shown_tokens(read_letter(letter)) == ({sha256_hex(TOKEN.encode())} if shown else set())


class TestKeyChanges:
    """The requirements for the letters of a key change."""

    ANN = Ed25519PrivateKey.from_private_bytes(b"a" * 32)

    def fault(self, text: str, *, key: Ed25519PrivateKey = ANN, more: str = "", **facts: Any) -> str:
        """The fault of a letter that revokes one of Ann's keys."""
        pinned = [
            {"format": "ssh", "fingerprint": parse_key(public).fingerprint, "public": public}
            for public in map(ssh.public, (self.ANN, Ed25519PrivateKey.from_private_bytes(b"b" * 32)))
        ]
        text = text.format(key=pinned[1]["fingerprint"])
        raw = f"From: a@b.example\r\n{more}\r\n{text}{ssh.sign(key, text.encode(), f'pbem@{SERVER}')}".encode()
        change = KeyChange("revoked", "signed", revoked=(pinned[1]["fingerprint"],), letters={"old": raw})
        try:
            BundleLetters({}).keys(match(players=(Player("ann", tuple(pinned)),), **facts), 1, change)
        except ValueError as error:
            return str(error)
        return ""

    @pytest.mark.parametrize("name", ["fingerprint", "format"])
    def test_a_key_stands_beside_its_own_fingerprint(self, name: str) -> None:
        """The transcript lists both; a letter is not even looked at otherwise."""
        public = ssh.public(self.ANN)
        key = {"format": "ssh", "fingerprint": parse_key(public).fingerprint, "public": public}
        raw = f"From: a@b.example\r\n\r\nhelp\n{ssh.sign(self.ANN, b'help', f'pbem@{SERVER}')}".encode()
        other = {**key, name: "x"}
        with pytest.raises(ValueError, match=r"\w") as caught:
            signed_text(raw, [other], "ann", SERVER)
        assert str(caught.value) == f"the key {other['fingerprint']} is not the one that stands beside it"

    def test_a_signed_letter_that_cannot_be_read(self) -> None:
        raw = b"From: a@b.example\r\n" + b"X: x\r\n" * 2000 + b"\r\nhelp\r\n"
        with pytest.raises(ValueError, match=r"cannot be read: more than .* headers"):
            signed_text(raw, [], "ann", SERVER)

    def test_it_is_signed_and_can_be_read(self) -> None:
        other = Ed25519PrivateKey.from_private_bytes(b"c" * 32)
        said = self.fault("key revoke {key}\n", key=other)
        assert said.startswith("the signature of ann's old key does not hold: ")
        said = self.fault("key revoke {key}\n", more="X: x\r\n" * 2000)
        assert said.startswith("the old key's letter cannot be read: ")


class TestSeveralForms:
    """The form that counts in a letter of several; its commands are passed in, as if all else were checked."""

    class Given(BundleLetters):
        text = ""

        def _read(self, *_: Any, **_how: Any) -> list[AnyCommand]:
            return commands.parse(self.text).commands

        def _judge_once(self, *_: Any) -> None:
            pass

    @staticmethod
    def gift(rev: int) -> SignedForm[Extend]:
        return here(turn_2(), 1, rev, Extend(match="m1", seconds=86400))

    @pytest.mark.parametrize("rev", [1, 2])
    def test_a_sentence_is_the_one_of_its_revision(self, rev: int) -> None:
        """Without a signature the letter need not say its place, but for that."""
        self.Given.text = "extend m1 1d\nrev 1\n\nextend m1 1d\nrev 2\n"
        said = self.Given({}).proved_form(turn_2(), self.gift(rev), 1, AT_MAILBOX, Sentence(rev))
        assert said.rev == rev

    def test_a_sentence_is_the_one_of_this_turn(self) -> None:
        self.Given.text = "\n".join(f"extend m1 1d\nturn {turn}\nrev 1\n" for turn in (3, 2, 1))
        assert self.Given({}).proved_form(turn_2(), self.gift(1), 1, AT_MAILBOX, Sentence(1)).turn == 2

    def test_a_withdrawal_is_the_one_of_this_place(self) -> None:
        self.Given.text = f"clear m1 turn 2\nrev 2\n\nclear m1 turn 2\nprev {'0' * 64}\nrev 2\n"
        paper = Withdrawal(**ANNS, rev=2, key="k")
        found = turn_2()
        assert (
            self.Given({}).proved_form(found, SignedForm(Clear(match="m1"), rev=2, turn=2), 1, AT_MAILBOX, paper).prev
            == found.prev
        )

    @pytest.mark.parametrize(
        ("revoked_now", "said"), [(True, "these orders are legal, and were not used"), (False, "")]
    )
    def test_orders_by_a_key_that_counts_this_turn_are_used(self, *, revoked_now: bool, said: str) -> None:
        """It was revoked after this turn was asked for, or before, in the turn in which they came."""
        found = turn_2()
        first = next(iter(found.turns)).prev
        ann = found.players[0]
        ann = replace(ann, keys=(), former=((found.prev if revoked_now else first, ann.keys[0]),))
        found = replace(found, players=(ann, *found.players[1:]))
        self.Given.text = f"orders m1 turn 2\nserver {SERVER}\nplayer ann\nprev {first}\nrev 7\nRv1\nend\n"
        key = ann.former[0][1]["fingerprint"]
        receipt = Receipt(**ANNS, rev=7, key=key)
        letters = self.Given({})
        if said:
            with pytest.raises(ValueError, match=said):
                letters.unused(found, 1, LETTER, receipt)
        else:
            letters.unused(found, 1, LETTER, receipt)


AFTERWARDS = "2028-06-01T12:00:00Z"
LETTER = Signed(b"From: ann@mail.example\r\n\r\norders\r\n", "key", "", AFTERWARDS)
AT_MAILBOX = Signed(b"", "mailbox", "", "", b"x")
ANNS: dict[str, Any] = {
    "server": SERVER,
    "match": "m1",
    "game": 1,
    "turn": 2,
    "seat": 1,
    "player": "ann",
    "level": "key",
    "mail": "0" * 64,
    "received": AFTERWARDS,
    "salt": "0" * 64,
}
"""A paper about what Ann sent for turn 2, without its revision and key."""


@cache
def turn_2() -> Match:
    """A match whose second turn is due."""
    told = proved((VECTORS / "good/ssh-rsa.pbem.zip").read_bytes()).notices
    return next(one.match for one in told if one.kind == "turn" and one.match.turn == 2)
