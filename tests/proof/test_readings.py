"""The reading of signed and kept letters, one sentence at a time: forms, agreements, keys, kept letters."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import fails, holds, proof, with_entry, with_papers
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import SERVER, Referee
from judges.honest import accused
from msgspec.structs import replace
from vectors.matches import SETUPS, SMALL, good
from world.mutations import signed_again

from pbem.identity import BadKey, Verdict, parse_key, ssh
from pbem.mail import commands
from pbem.mail.message import read_letter
from pbem.match.pinned_keys import KeyChange, Player
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase
from pbem.proof import key_changes
from pbem.proof.kept import SignedHead
from pbem.proof.kept_letters import kept
from pbem.proof.normal_form import normal_text
from pbem.proof.signed_letters import signed_agreement
from pbem.requests import AddKey

if TYPE_CHECKING:
    from pbem.mail.message import Letter


class TestForms:
    def test_what_was_signed_when_the_match_was_agreed(self) -> None:
        found = good("ssh")
        assert signed_agreement(found, 1).startswith("new spaceships with bob\n")
        assert signed_agreement(found, 2).startswith("accept m1 ")
        assert signed_agreement(good("mailbox"), 2) == "", "nothing is signed without a key"

    def test_bytes_that_are_no_text(self) -> None:
        assert normal_text(Verdict("valid", Phrase("x"), signed=b"\xff  \r\nend\r\n")) == "\ufffd\nend\n"

    def test_an_entity_without_a_text(self) -> None:
        entity = b"Content-Type: application/octet-stream\r\n\r\n\x00"
        assert normal_text(Verdict("valid", Phrase("x"), signed=entity, entity=True)) == ""


def letter(*files: tuple[str, bytes]) -> Letter:
    """A letter with these files."""
    parts = b"".join(
        b'--b\r\nContent-Type: %s\r\nContent-Disposition: attachment; filename="%s"\r\n'
        b"Content-Transfer-Encoding: 8bit\r\n\r\n%s\r\n" % (b"text/plain", name.encode(), content)
        for name, content in files
    )
    head = b"From: ann@mail.example\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    return read_letter(head + b"--b\r\nContent-Type: text/plain\r\n\r\nkey add\r\n" + parts + b"--b--\r\n")


NEW = f"new spaceships with bob\nserver {SERVER}\nplayer ann\n{SMALL}\nend\n"


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("", "", True),
        ("end\n", "seats: 2\nend\n", True),
        ("with bob", "with bob@mail.example", True),
        ("end\n", "seats: 3\nend\n", False),
        ("player ann\n", "player carl\n", False),
        (f"server {SERVER}\n", "", False),
        ("player ann\n", "", False),
        (SERVER, "other.example", False),
        ("with bob", "with carl", False),
        (SMALL, f"{SMALL}\npace: 3d", False),
    ],
)
def test_a_proposal_agrees_to_these_terms_between_these_players_alone(old: str, new: str, same: bool) -> None:
    """Ann signed it in her own words, and the match has nothing but its first entry."""
    found = good("ssh")
    ann = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"ann").digest())
    text = NEW.replace(old, new, 1)
    raw = f"From: ann@mail.example\r\n\r\n{text + ssh.sign(ann, text.encode(), f'pbem@{SERVER}')}".encode()
    paths = [f"letters/agreed-seat-{seat}.eml" for seat in (1, 2)]
    begun = replace(found, entries=found.entries[:1], papers={path: found.papers[path] for path in paths})
    told = with_entry(begun, 0, lambda body: body["letters"]["1"].update(mail=sha256_hex(raw)))
    told = signed_again(with_papers(told, {paths[0]: raw}))
    if same:
        holds(told)
    else:
        fails(told, paths[0], "holds no `agreed` for this place")


@pytest.mark.parametrize(("old", "new"), [("play.example", "other.example"), ("player ann", "player bob")])
def test_of_two_forms_in_a_letter_the_one_counts_that_says_its_place(referee: Referee, old: str, new: str) -> None:
    ann, bob = referee.begun(SMALL, SETUPS)
    other = ann.filled("orders", "final\nRv3").replace(old, new, 1)
    assert new in other
    referee.send(ann, other + ann.filled("orders", "final\nRv1"), follow=False)
    referee.turn((bob, ""))
    assert referee.match().turn == 2
    referee.send(bob, "resign m1 match\n")
    holds(proof(referee, bob))
    assert accused(referee) == []


OLD = dict(good("ssh").entries[0].body["players"]["1"]["keys"][0])
ADDED = KeyChange("added", "signed", (OLD,), letters={"old": b"x", "new": b"x"})


class TestKeys:
    KEY = str(good("ssh").entries[0].body["players"]["1"]["keys"][0]["public"])

    def asked(self, *files: tuple[str, bytes]) -> str | None:
        found = key_changes.asked(AddKey(), Verdict("none", Phrase("x")), letter(*files))
        return found.fingerprint if found else None

    def test_the_only_file_of_a_key_is_faulty(self) -> None:
        with pytest.raises(BadKey):
            self.asked(("key.pub", b"ssh-ed25519 AAAA"))

    def test_a_faulty_file_beside_a_key(self) -> None:
        files = ("a.pub", b"ssh-ed25519 AAAA"), ("b.pub", self.KEY.encode())
        assert self.asked(*files) == parse_key(self.KEY).fingerprint

    @pytest.mark.parametrize("form", ["{}", "{}=", "sha256:{}"])
    def test_a_fingerprint_however_it_is_written(self, form: str) -> None:
        """Some programs fill up base64 to its full length."""
        fingerprint = parse_key(self.KEY).fingerprint
        assert key_changes.named([fingerprint], form.format(fingerprint.removeprefix("SHA256:"))) == [fingerprint]

    @pytest.mark.parametrize(("words", "known"), [(0, []), (5, []), (6, ["SHA256:ab:cdeF="]), (7, [])])
    def test_a_fingerprint_is_given_with_six_characters_at_least(self, words: int, known: list[str]) -> None:
        keys = ["SHA256:ab:cdeF=", "SHA256:xyzuvwx"]
        assert key_changes.named(keys, "sha256:" + "abcdef7"[:words]) == known

    def says(self, text: str, who: str, change: KeyChange) -> bool:
        """True if a letter of Ann's, who has two keys, says what a change of keys requires."""
        reading = commands.parse(f"{text}\nend\n").commands
        spoken = key_changes.Spoken(letter(), Verdict("valid", Phrase("x"), signed=b""), reading)
        ann = Player("ann", (OLD, {**OLD, "fingerprint": "SHA256:another"}))
        return key_changes.says(spoken, who, change, ann, SERVER)

    PLACE = f"server {SERVER}\nplayer ann"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("{key}\n{place}", True),
            ("{key}", True),
            ("{other}\n{place}", False),
            ("{place}", False),
            ("{key}\nserver other.example\nplayer ann", False),
            (f"{{key}}\nserver {SERVER}\nplayer bob", False),
        ],
    )
    def test_the_old_key_adds_what_it_signed(self, text: str, *, said: bool) -> None:
        other = ssh.public(Ed25519PrivateKey.from_private_bytes(bytes(32)))
        text = "key add\n" + text.format(key=OLD["public"], other=other, place=self.PLACE)
        assert self.says(text, "old", ADDED) is said
        assert not self.says(text, "old", replace(ADDED, added=({**OLD, "format": "openpgp"},)))
        assert not self.says(text, "new", ADDED)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("key revoke {key}\n{place}", True),
            ("key revoke {key}", False),
            ("key revoke {key}\nplayer ann", False),
            ("key revoke {key}\nserver other.example\nplayer ann", False),
            ("key revoke SHA256:another\n{place}", False),
            ("key revoke SHA256:\n{place}", False),
            ("key add {key}\n{place}", False),
        ],
    )
    def test_a_key_revokes_the_one_that_it_names(self, text: str, *, said: bool) -> None:
        change = KeyChange("revoked", "signed", revoked=(OLD["fingerprint"],), letters={"old": b"x"})
        text = text.format(key=OLD["fingerprint"], place=self.PLACE)
        assert self.says(text, "old", change) is said

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ("", "", True),
            ("confirm ann", "confirm bob", False),
            (f"server {SERVER}\n", "", False),
            (SERVER, "other.example", False),
            ("fingerprint SHA256:", "fingerprint SHA256:x", False),
            ("proof old-key", "proof mailbox", False),
            ("\nproof old-key", "", False),
        ],
    )
    def test_the_new_key_confirms_itself_and_how_it_comes(self, old: str, new: str, *, said: bool) -> None:
        text = f"confirm ann\nserver {SERVER}\nchallenge {'0' * 64}\nfingerprint {OLD['fingerprint']}\nproof old-key"
        assert old in text
        assert self.says(text.replace(old, new, 1) if old else text, "new", ADDED) is said
        assert not self.says(text, "old", ADDED)

    def test_what_is_shown_to_others_is_read_in_any_character_set(self) -> None:
        assert key_changes.unfit(letter(("a.txt", b"gr\xfc\xdfe\r\n"))) is None
        assert key_changes.unfit(letter(("a.txt", b"gr\xfc\xdfe\r\norders m1"))) == "it holds orders or a setup"
        head = b"From: a@b.example\r\nContent-Type: text/plain; charset=utf-16\r\n"
        head += b"Content-Transfer-Encoding: base64\r\n\r\n"
        for text, fault in (("key add", None), ("key add\norders m1", "it holds orders or a setup")):
            assert key_changes.unfit(read_letter(head + base64.encodebytes(text.encode("utf-16")))) == fault


class TestKeptLetters:
    def of_parts(self, *parts: str) -> bytes:
        """A letter of the server with these texts, one after the other."""
        texts = "".join(f"--b\r\nContent-Type: text/plain\r\n\r\n{part}\r\n" for part in parts)
        head = f"From: pbem@{SERVER}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
        return f"{head}{texts}--b--\r\n".encode()

    def test_terms_below_what_a_list_put_before_them(self) -> None:
        terms = f"  match     m1\n  hash      {'ab' * 32}\n"
        assert kept("letter", self.of_parts("A list for games.", terms)).terms == (("m1", "ab" * 32),)
        page = f"  match     <b>m1</b><br>\r\n  hash      <i>{'ab' * 32}</i>\r\n"
        raw = f"From: pbem@{SERVER}\r\nContent-Type: text/html\r\n\r\n{page}".encode()
        assert kept("letter", raw).terms == (("m1", "ab" * 32),)

    @pytest.mark.parametrize(("times", "told"), [(0, True), (1, True), (5, True), (6, False)])
    def test_letters_within_letters(self, times: int, *, told: bool) -> None:
        """Forwarded as attachments, one in the other, up to five times."""
        raw = self.of_parts(f"  match     m1\n  hash      {'ab' * 32}\n")
        for number in range(times):
            head = (
                f"From: bob@mail.example\r\nContent-Type: multipart/mixed; boundary=x{number}\r\n\r\n--x{number}\r\n"
            )
            raw = f"{head}Content-Type: message/rfc822\r\n\r\n".encode() + raw + f"\r\n--x{number}--\r\n".encode()
        assert bool(kept("letter", raw).terms) is told

    def test_commitments(self) -> None:
        begins = "All setups for game 2 of m7 are in. The commitments to them:"
        told = f"{begins}\n\n  ann: {'ab' * 32}\n  bob: {'cd' * 32}\n"
        listed = {"ann": "ab" * 32, "bob": "cd" * 32}
        assert kept("letter", self.of_parts(told)).commitments == (("m7", 2, listed),)

    def test_an_attachment_loses_no_more_than_the_ends_of_its_lines(self) -> None:
        part = (
            "--b\r\nContent-Type: application/octet-stream\r\n"
            'Content-Disposition: attachment; filename="a.txt"\r\n\r\n a \r\n\r\n'
        )
        raw = self.of_parts("Hello").replace(b"--b--\r\n", part.encode() + b"--b--\r\n")
        (attached,) = kept("letter", raw).attached
        assert set(attached.ways) == {b" a \r\n", b" a \n", b" a "}

    def test_the_head_that_programs_read(self) -> None:
        head, signature, key = "ab" * 32, "0c" * 64, "de" * 32
        item = {"match": "m7", "head": {"seq": 12, "head": head, "signature": signature}}
        whole = {"server": SERVER, "key": key, "items": [3, item]}
        damaged = (b"!", b"[" * 999, b'{"items": NaN}', b'{"items": 7}')
        before = b"".join(b"X-Pbem-Bulletin: %b\r\n" % base64.b64encode(said) for said in damaged)
        for document, expected in ((whole, (SignedHead(SERVER, "m7", 12, head, signature, key),)), ([item], ())):
            packed = base64.b64encode(json.dumps(document).encode())
            raw = b"From: pbem@play.example\r\nX-Pbem-Bulletin: =\r\n" + before + b"X-Pbem-Bulletin: " + packed
            assert kept("letter", raw + b"\r\n\r\nHello\r\n").for_programs == expected

    def test_what_cannot_be_read_keeps_nothing_else_from_being_read(self) -> None:
        """A letter that was forwarded, and has more headers than any."""
        terms = f"  match     m1\n  hash      {'ab' * 32}\n"
        inner = b"--b\r\nContent-Type: message/rfc822\r\n\r\n" + b"X: y\r\n" * 9000 + b"\r\nHello\r\n"
        raw = self.of_parts(terms).replace(b"--b\r\n", inner + b"--b\r\n", 1)
        assert kept("letter", raw).terms == (("m1", "ab" * 32),)

    def test_an_encrypted_letter(self) -> None:
        raw = b"Subject: [m1] turn 2\r\nMessage-ID: <1@play.example>\r\n" + self.of_parts("Version: 1")
        raw = raw.replace(b"text/plain", b"application/pgp-encrypted")
        found = kept("letter", raw)
        assert (found.source, found.message_id, found.subject) == ("letter", "<1@play.example>", "[m1] turn 2")
        unread = kept("letter", b"X: y\r\n" * 9000 + raw)
        assert (unread.source, unread.message_id, unread.subject) == ("letter", None, "")
        assert found.unread.startswith("it is encrypted: keep what `gpg --decrypt`")
