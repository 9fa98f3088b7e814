"""Encrypted letters by mail: who may have them, that all of them are, and what comes where none can be."""

from __future__ import annotations

import email
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import POLICY, SERVER, Letters, Mailbox, Referee, another, body, form_in
from in_a_box.small_games import FLEETS, SMALL
from signing.decryptors import BORN, Reader, by_openpgp, by_smime, opened

from pbem.identity import Key, ssh
from pbem.mail.compose import LETTER, STEP
from pbem.proof.kept_letters import kept
from pbem.store.database import to_db
from pbem.store.players import KeyRow, Players

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import EmailMessage


OUTSIDE = {
    *("From", "To", "Subject", "Date", "Message-ID", "Reply-To", "In-Reply-To", "References"),
    *("Auto-Submitted", "X-Auto-Response-Suppress", "X-Loop", "X-Pbem-Return", "MIME-Version"),
    *("Content-Type", "Content-Transfer-Encoding", "Content-Disposition"),
}
"""The headers that an encrypted letter may have for everybody."""


def give(referee: Referee, person: Mailbox, key: Key) -> None:
    with referee.database.transaction():
        row = KeyRow(key.format, key.fingerprint, key.public)
        Players(referee.database).add_key(person.name, row, to_db(referee.now))


def encrypted(referee: Referee, person: Mailbox, reader: Reader | None = None) -> Reader:
    """The player has a key that decrypts, and wants encrypted letters."""
    reader = reader or by_openpgp()
    give(referee, person, reader.key)
    person.letters = Decrypted(reader, person.letters)
    referee.send(person, "set encrypted yes\n")
    assert "all that you get from here is encrypted" in person.text
    assert reader.key.fingerprint in person.text
    return reader


class Decrypted(Letters):
    """Letters that their reader has decrypted, with the attached text as their own."""

    def __init__(self, reader: Reader, letters: Letters) -> None:
        super().__init__(letters.came, [number for number in letters.numbers if number is not None])
        self.reader = reader

    def bring(self, raw: bytes) -> None:
        super().bring(raw)
        if self[-1].get_content_type() in {"multipart/encrypted", "application/pkcs7-mime"}:
            inner = opened(self.reader, self[-1])
            inner.get_body(("plain",)).set_content(text_of(inner))  # type: ignore[union-attr]
            self._all[-1] = inner


def text_of(letter: EmailMessage) -> str:
    """The text of an opened letter, in its file."""
    found = [part for part in letter.iter_attachments() if part.get_filename() == LETTER]
    assert len(found) == 1
    return str(found[0].get_content()).replace("\r\n", "\n")


def came(person: Mailbox, first: int = -1) -> list[EmailMessage]:
    """The letters from this one on, as everybody on the way sees them."""
    raws = person.letters.came[first:]
    return [email.message_from_bytes(raw, policy=POLICY) for raw in raws]


READERS: dict[str, Callable[[], Reader]] = {"openpgp": by_openpgp, "smime": by_smime}


class TestOn:
    @pytest.mark.parametrize("kind", READERS)
    def test_a_letter_says_outside_no_more_than_mail_needs(self, referee: Referee, kind: str) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        reader = encrypted(referee, ann, READERS[kind]())
        referee.turn((bob, ""))
        before = len(ann.letters.came)
        referee.turn((ann, "Rv1"))
        for letter in came(ann, before):
            assert set(letter.keys()) <= OUTSIDE
            assert letter["Subject"] in {"[pbem m1]", "Re: [pbem]", "[pbem]"}
            inner = opened(reader, letter)
            assert inner["Content-Type"].params["hp"] == "cipher"
            assert inner["Content-Type"].params["protected-headers"] == "v1"
            assert inner["Message-ID"] == letter["Message-ID"]
            told = {name: str(value) for name, value in letter.items()}
            outer = dict(str(value).partition(": ")[::2] for value in inner.get_all("HP-Outer", []))
            assert outer.keys() <= {*inner.keys()}
            for name, value in outer.items():
                assert " ".join(told[name].split()) == " ".join(value.split())
            assert "X-Pbem-Bulletin" in inner
            assert len(reader.entity(letter)) % STEP == 0
        assert "orders m1 turn 2" in body(ann.find("turn 1"))

    def test_what_programs_quote_in_an_answer_holds_nothing(self, referee: Referee) -> None:
        ann, _ = referee.begun(SMALL, FLEETS)
        reader = encrypted(referee, ann)
        referee.send(ann, "status m1\n", sign=False)
        inner = opened(reader, came(ann)[0])
        assert f"it is the attached file {LETTER}" in " ".join(body(inner).split())
        assert "m1" not in body(inner)
        assert "Rv1" in text_of(inner)
        assert not [part for part in inner.walk() if part.get_content_type() == "text/html"]

    def test_every_letter_of_a_match_is_encrypted_to_its_end(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        carl = referee.registered("carl")
        readers = {"ann": encrypted(referee, ann), "carl": encrypted(referee, carl, by_smime())}
        referee.send(carl, "set mail digest\n")
        before = {person.name: len(person.letters.came) for person in (ann, carl)}
        referee.send(bob, "press m1\nHello, Ann.\nend\n")
        referee.send(bob, "extend m1 1d\n")
        referee.send(carl, "list mine\n", sign=False)
        for cell in ("Rv1", "Rv3", "Bz5"):
            referee.turn((ann, cell), (bob, ""))
        assert referee.match().phase == "closed"
        for person in (ann, carl):
            reader = readers[person.name]
            assert len(came(person, before[person.name])) > (5 if person is ann else 0)
            for letter in came(person, before[person.name]):
                assert text_of(opened(reader, letter))
        closing = [opened(readers["ann"], letter) for letter in came(ann, before["ann"])]
        assert any((part.get_filename() or "").endswith(".pbem.zip") for one in closing for part in one.walk())

    def test_the_length_of_a_report_does_not_tell_how_much_happened(self, referee: Referee) -> None:
        ann, bob = referee.begun()
        reader = encrypted(referee, ann)
        lengths = set()
        for cells in ("Yw5", "Gx3 Gx4", "Ry3 Bv1"):  # nothing is hit, two missiles, two ships
            referee.turn((bob, ""))
            before = len(ann.letters.came)
            referee.turn((ann, cells))
            (report,) = (letter for letter in came(ann, before) if letter["Subject"] == "[pbem m1]")
            lengths.add(len(reader.entity(report)))
        assert len(lengths) == 1

    def test_kept_letters_are_compared_once_they_are_decrypted(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        reader = encrypted(referee, ann)
        referee.send(bob, "extend m1 1d\n")
        raw = ann.letters.came[-1]
        assert "it is encrypted" in kept("a letter", raw).unread
        found = kept("a letter", reader.entity(came(ann)[0]))
        assert not found.unread
        assert {head.match for head in found.heads} == {"m1"}
        assert LETTER not in [file.name for file in found.attached]

    @pytest.mark.parametrize("kind", READERS)
    def test_an_encrypted_letter_to_the_server_is_told_why_it_does_not_count(
        self, referee: Referee, kind: str
    ) -> None:
        ann = referee.registered("ann")
        reader = encrypted(referee, ann, READERS[kind]())
        referee.send(ann, "whoami\n", sign=False)
        head, _, rest = ann.letters.came[-1].partition(b"MIME-Version: 1.0\r\n")
        assert head
        theirs = f"From: {ann.address}\r\nTo: pbem@{SERVER}\r\nMessage-ID: <1@mail.example>\r\n".encode() + rest
        referee.deliver(theirs, ann.address)
        assert came(ann)[0].get_content_type() == "text/plain"
        assert "this server has no key to read them" in " ".join(ann.text.split())
        assert reader.key.fingerprint in ann.text


class TestRefused:
    def refused(self, referee: Referee, reader: Reader | None, reason: str) -> None:
        ann = referee.registered("ann")
        if reader:
            give(referee, ann, reader.key)
        referee.send(ann, "set encrypted yes\n")
        assert reason in " ".join(ann.text.split())
        referee.send(ann, "whoami\n", sign=False)
        assert "encrypted no" in ann.text

    def test_with_an_ssh_key_alone(self, referee: Referee) -> None:
        self.refused(referee, None, "no mail program decrypts with such a key")

    def test_with_a_certificate_that_is_not_for_it(self, referee: Referee) -> None:
        self.refused(referee, by_smime(usage=False), "it is not meant for encryption")

    def test_with_a_certificate_that_has_expired(self, referee: Referee) -> None:
        self.refused(referee, by_smime(until=BORN + timedelta(days=1)), "it expired on 2024-01-02")

    def test_a_program(self, referee: Referee) -> None:
        robo = referee.registered("robo")
        give(referee, robo, by_openpgp().key)
        referee.send(robo, "set program yes\n")
        referee.send(robo, "set encrypted yes\n")
        assert "programs read no encrypted letters" in " ".join(robo.text.split())
        ann = referee.registered("ann")
        encrypted(referee, ann)
        referee.send(ann, "set program yes\n")
        assert "programs read no encrypted letters" in " ".join(ann.text.split())


class TestKeysThatEnd:
    def test_a_letter_says_so_if_no_key_can_decrypt_any_more(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, FLEETS)
        until = referee.now + timedelta(days=2)
        reader = encrypted(referee, ann, by_smime(until=until))
        referee.wait(timedelta(days=2, hours=1))
        before = len(ann.letters.came)
        referee.send(bob, "press m1\nThe secret of Bob.\nend\n")
        referee.send(ann, "status m1\n", sign=False)
        told = came(ann, before)
        assert len(told) == 2
        for letter in told:
            assert "none of your keys can decrypt it any more" in " ".join(body(letter).split())
            assert reader.key.fingerprint in body(letter)
            assert f"it expired on {until.date().isoformat()}" in body(letter)
            assert "X-Pbem-Bulletin" not in letter
            assert not list(letter.iter_attachments())
            raw = letter.as_string()
            assert "secret of Bob" not in raw
            assert "Rv1" not in raw
        assert told[0]["Subject"] == "[pbem m1] " + "A letter that cannot be encrypted"
        referee.send(ann, "set encrypted no\n")
        assert "Your letters come unencrypted" in ann.text
        referee.send(ann, "status m1\n", sign=False)
        assert "Rv1" in ann.text

    def test_an_openpgp_key_that_expires(self, referee: Referee) -> None:
        ann = referee.registered("ann")
        left = max(datetime.now(UTC), referee.now) + timedelta(days=30)
        encrypted(referee, ann, by_openpgp(days=30))
        referee.now = left + timedelta(days=1)
        referee.send(ann, "whoami\n", sign=False)
        assert "none of your keys can decrypt it any more" in " ".join(ann.text.split())

    def test_without_the_last_key_that_decrypts_letters_come_in_the_clear_and_say_so(self, referee: Referee) -> None:
        ann = referee.registered("ann")
        reader = encrypted(referee, ann)
        before = len(ann.letters.came)
        referee.send(ann, f"key revoke {reader.key.fingerprint}\n")
        told = [body(letter) for letter in came(ann, before)]
        assert any("from now on yours come unencrypted" in " ".join(text.split()) for text in told)
        assert all(letter.get_content_type() != "multipart/encrypted" for letter in came(ann, before))
        referee.send(ann, "whoami\n", sign=False)
        assert "encrypted no" in ann.text

    def test_who_lost_all_keys_can_read_what_recovers_the_account(self, referee: Referee) -> None:
        ann = referee.registered("ann")
        encrypted(referee, ann)
        before, new = len(ann.letters.came), another("ann")
        referee.send(ann, f"recover\n{ssh.public(new)}\n", sign=False)
        ann.key = new
        referee.send(
            ann, next(form_in(body(one), "confirm") for one in came(ann, before) if "challenge" in body(one))
        )
        assert "replaces all your others on" in ann.text
        assert all(one.get_content_type() == "text/plain" for one in came(ann, before))
        referee.wait(referee.config.recovery.delay + timedelta(hours=1))
        referee.send(ann, "whoami\n", sign=False)
        assert "encrypted no" in ann.text
        told = [" ".join(body(letter).split()) for letter in came(ann, before)]
        assert any("from now on yours come unencrypted" in text for text in told)
