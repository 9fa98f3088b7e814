"""Letters that a player's side does not believe: none of them changes anything, and each is reported."""

from __future__ import annotations

import base64
import email
import re
import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.bulletins import FIELD
from in_a_box.referee import POLICY, SERVER, Referee, attachment
from in_a_box.table import Side
from player.conftest import begin
from signing.decryptors import by_openpgp

from pbem.match.transcript import canonical, sha256_hex, statement
from pbem.player import mail_in
from pbem.player.known import AccountKnown
from pbem.player.mail_in import fetch
from pbem.player.play_table import Verified
from pbem.player.server_letter import LIMITS
from pbem.store.database import to_db
from pbem.store.players import KeyRow, Players

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


from player.changed_letters import bob_of, forged, last, memory_of, rewritten, with_bulletin


def tell_another_head(referee: Referee, found: dict[str, Any]) -> None:
    """A bulletin tells of another turn, under another head that the server signed."""
    (item,) = (item for item in found["items"] if item["about"] == "match")
    seq, head = item["head"]["seq"], "f" * 64
    signature = referee.signing_key.sign(statement(SERVER, "m1", seq, head)).hex()
    item.update(turn=2, head={"seq": seq, "head": head, "signature": signature})


def with_another_position(raw: bytes, old: bytes = b'"turn":1', new: bytes = b'"turn":9') -> bytes:
    """The letter with a file that says another turn, or the same in another form of JSON."""
    start = raw.index(b"\r\n\r\n", raw.index(b'position.json"')) + 4
    end = raw.index(b"\r\n--=_", start)
    content = base64.b64decode(raw[start:end])
    assert old in content
    return raw[:start] + base64.encodebytes(content.replace(old, new)) + raw[end:]


def with_position_written_as(side: Side, key: Ed25519PrivateKey, old: bytes, new: bytes) -> bytes:
    """The letter with the same position in another form of JSON, which the server signed."""
    raw = with_another_position(last(side), old, new)
    content = attachment(email.message_from_bytes(raw, policy=POLICY), "position.json")

    def sign(found: dict[str, Any]) -> None:
        found["files"] = {name: sha256_hex(content) for name in found["files"] if name.endswith("position.json")}

    return rewritten(side, sign, key=key, raw=raw)


OTHER = Ed25519PrivateKey.generate()
ITEMS: list[dict[str, Any]] = [{"about": "match", "match": "m1", "phase": "closed"}]
NAMELESS = {"server": "", "to": "x", "key": "0" * 64, "signature": "0" * 128, "pbem": "bulletin 1"}


def rewritten_by_another(side: Side) -> bytes:
    return rewritten(side, lambda found: found.update(key=OTHER.public_key().public_bytes_raw().hex()), key=OTHER)


def in_utf_16(raw: bytes) -> bytes:
    """The letter with its bulletin in another encoding, which changes nothing that is signed."""
    packed = next(line for line in raw.split(b"\r\n") if line.startswith(FIELD.encode())).split(b" ")[1]
    return raw.replace(packed, base64.b64encode(base64.b64decode(packed).decode().encode("utf-16")))


LETTERS: dict[str, tuple[str, Callable[[Side, Ed25519PrivateKey], bytes]]] = {
    "no bulletin": (
        "forged",
        lambda *_: b"From: pbem@play.example\r\nSubject: [pbem m1] turn 9\r\n\r\nYou have won.\r\n",
    ),
    "another word": ("forged", lambda side, _: rewritten(side, lambda found: found["items"][0].update(turn=7))),
    "no signature": ("forged", lambda side, _: rewritten(side, lambda found: found.pop("signature"))),
    "another key": ("forged", lambda side, _: rewritten_by_another(side)),
    "another server": ("forged", lambda *_: forged(OTHER, ITEMS, server="other.example")),
    "another server's name with our key": ("forged", lambda _, key: forged(key, ITEMS, server="other.example")),
    "another player's letter": ("forged", lambda _, key: forged(key, ITEMS, to="bob@mail.example")),
    "two bulletins": ("forged", lambda side, _: f"{FIELD}: e30=\r\n".encode() + last(side)),
    "no base64": ("forged", lambda *_: with_bulletin(b"{}").replace(b"e30=", b"e30=!")),
    "no JSON": ("forged", lambda *_: with_bulletin(b"{")),
    "deep JSON": ("forged", lambda *_: with_bulletin(b"[" * 20_000)),
    "half a character": ("forged", lambda *_: with_bulletin(b'{"pbem":"bulletin 1","to":"\\ud800"}')),
    "half a character in the server's name": (
        "forged",
        lambda *_: with_bulletin(canonical(NAMELESS).replace(b'"server":""', b'"server":"\\ud800"')),
    ),
    "a server's name of two lines": ("forged", lambda *_: forged(OTHER, ITEMS, server="other\nALARM")),
    "a list": ("forged", lambda *_: with_bulletin(b"[1]")),
    "a file taken away": ("forged", lambda side, _: last(side).replace(b"position.json", b"positron.json")),
    "a file changed": ("forged", lambda side, _: with_another_position(last(side))),
    "a file that nobody finds": (
        "forged",
        lambda side, key: with_position_written_as(side, key, b'"position 1"', b'"position\\u00201"'),
    ),
    "a file that nobody reads": (
        "forged",
        lambda side, key: with_position_written_as(side, key, b'"events":""', b'"events":"%s"' % (b"x" * (1 << 20))),
    ),
    "a part that cannot be read": (
        "forged",
        lambda side, _: re.sub(
            rb"(\r\n--=_\w+)--", rb"\1\r\nContent-Type: application/pgp-encrypted\r\n\r\n\1--", last(side)
        ),
    ),
    "files that look like letters": (
        "forged",
        lambda side, _: last(side).replace(b"Content-Type: application/json", b"Content-Type: message/rfc822"),
    ),
    "a bulletin that nobody finds": (
        "forged",
        lambda side, key: in_utf_16(rewritten(side, lambda found: found["items"][0].update(turn=7), key=key)),
    ),
    "a number that proofs read as another": (
        "forged",
        lambda side, key: rewritten(side, lambda found: found["items"][0].update(turn=7, other=2**53 + 1), key=key),
    ),
    "items of no form": (
        "news",
        lambda _, key: forged(key, [*ITEMS, {"about": "match"}, {"about": 3}, {"match": "m1"}, {}]),
    ),
    "doubled": ("doubled", lambda side, _: last(side)),
    "oversized": ("foreign", lambda side, _: last(side) + b"x" * LIMITS.message_bytes),
    "other mail": ("foreign", lambda *_: b"From: eve@mail.example\r\nSubject: hello\r\n\r\nHello\r\n"),
    "headers without an end": ("foreign", lambda side, _: b"X: y\r\n" * 9000 + last(side)),
    "no mail": ("foreign", lambda *_: b"\xff\x00" * 500),
}
"""Lies, by name: the fate of a letter, and the way it is made of the last one, or with the server's key."""


class TestBadInput:
    """None of these letters changes anything, and each is reported."""

    @pytest.mark.parametrize("name", LETTERS)
    def test_changes_nothing(self, playing: Side, referee: Referee, name: str) -> None:
        before = memory_of(playing)
        kind, make = LETTERS[name]
        events = playing.letters.inbox.receive(make(playing, referee.signing_key), referee.now)
        assert memory_of(playing) == before
        if name != "items of no form":
            (event,) = events
            assert event.kind == kind
            assert kind != "forged" or (event.subject and event.said)
            assert not re.search(r"\{|None", event.said), "a fact is missing"

    @pytest.mark.parametrize(
        "lie",
        [
            {"prev": "f" * 64 + "\nrev 1\nGx4"},
            {"prev": ""},
            {"hash": "x"},
            {"address": "pbem@play.example\r\nBcc: eve@mail.example"},
            {"address": "-x"},
            {"phase": "closed\x1b[2J"},
            {"players": ["ann", "bob\nALARM"]},
            {"players": []},
            {"seat": 3},
            {"rev": 2**70},
            {"game": -1},
            {"deadline": "soon"},
            {"head": {"seq": 2**70, "head": "f" * 64, "signature": "0" * 128}},
            {"head": {"seq": 2, "head": "\n", "signature": "0" * 128}},
            {"said": {"resign": "often"}},
        ],
    )
    def test_what_a_server_signs_has_the_form_of_it_or_changes_nothing(
        self, playing: Side, referee: Referee, lie: dict[str, Any]
    ) -> None:
        """These values go into forms that the player signs: nobody else may write a line of them."""
        before = memory_of(playing)

        def change(found: dict[str, Any]) -> None:
            next(item for item in found["items"] if item["about"] == "match").update(lie)

        events = playing.letters.inbox.receive(rewritten(playing, change, key=referee.signing_key), referee.now)
        assert [event.kind for event in events] == ["forged"]
        assert memory_of(playing) == before
        sent = playing.letters.order("m1", "Gx3", referee.now)
        prev = playing.letters.matches.standing("m1").prev
        assert sent.form.splitlines()[3:] == [f"prev {prev}", "rev 1", "Gx3", "end"]

    def test_what_is_about_another_player_is_not_kept(self, playing: Side, referee: Referee) -> None:
        """Its files are not kept either, and it is not shown among the letters of the match."""
        playing.memory._database.execute("DELETE FROM papers")
        letters, text = playing.memory.letters("m1"), playing.memory.texts("m1")

        def change(found: dict[str, Any]) -> None:
            next(item for item in found["items"] if item["about"] == "match").update(player="bob")

        events = playing.letters.inbox.receive(rewritten(playing, change, key=referee.signing_key), referee.now)
        assert [(event.kind, event.said) for event in events] == [("forged", "it is about another player")]
        assert playing.letters.matches.position("m1") is None
        assert (playing.memory.letters("m1"), playing.memory.texts("m1")) == (letters, text)

    def test_no_letter_keeps_those_behind_it_from_being_read(
        self, playing: Side, referee: Referee, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whatever is still wrong in what reads letters."""

        def trip(_letter: object) -> None:
            raise RuntimeError

        with monkeypatch.context() as patched:
            patched.setattr("pbem.player.correspondence.incoming.hear", trip)
            (event,) = playing.letters.inbox.receive(last(playing), referee.now)
        assert (event.kind, event.said) == ("forged", "it cannot be taken in: RuntimeError")

    def test_a_full_disk_is_no_fault_of_the_letter(self, playing: Side, referee: Referee) -> None:
        before = memory_of(playing)
        (pages,) = playing.memory._database.execute("PRAGMA page_count").fetchone()
        playing.memory._database.execute(f"PRAGMA max_page_count = {pages}")
        raw = rewritten(playing, lambda found: found["items"][0].update(rev=5), key=referee.signing_key)
        raw += b"\r\n" * 20_000
        with pytest.raises(sqlite3.OperationalError, match="full"):
            playing.letters.inbox.receive(raw, referee.now)
        assert memory_of(playing) == before
        playing.memory._database.execute("PRAGMA max_page_count = 100000")
        assert [event.kind for event in playing.letters.inbox.receive(raw, referee.now)] == ["news"]

    def test_the_truth_comes_through_by_the_same_ways(self, playing: Side, referee: Referee) -> None:
        """A bulletin rewritten without a lie, and signed by the server, counts: so the tests above can fail."""
        again = rewritten(playing, lambda found: found["items"][0].update(rev=5), key=referee.signing_key)
        assert [event.kind for event in playing.letters.inbox.receive(again, referee.now)] == ["news"]
        assert playing.letters.matches.standing("m1").rev == 5

    def test_letters_out_of_order_come_to_the_same(self, referee: Referee, tmp_path: Path) -> None:
        """A second reader with all the letters backwards believes what the first does."""
        ann = begin(referee, None)
        for cell in ("Rv1", "Rv3"):
            referee.turn((bob_of(referee), ""))
            ann.post(ann.letters.order("m1", cell, referee.now, final=True))
        other = Side(referee, ann.person, tmp_path / "other" / "memory.sqlite")
        key = ann.memory.account().server_key
        assert key is not None
        other.memory.keep(AccountKnown(server_key=key, name="ann"))
        for raw in reversed(ann.person.letters.came):
            assert "forged" not in {event.kind for event in other.letters.inbox.receive(raw, referee.now)}
        assert memory_of(other) == memory_of(ann)
        for side in (ann, other):
            side.close()

    def test_what_looked_forged_is_read_again_with_the_key_of_its_server(
        self, referee: Referee, tmp_path: Path
    ) -> None:
        """The server changed its key, and wrote before the player gave the new one."""
        ann = begin(referee, None)
        maildir, box = tmp_path / "Maildir", mail_in.OwnMaildir(tmp_path / "Maildir")
        (maildir / "new").mkdir(parents=True)
        for number, raw in enumerate([b"From: spam@mail.example\n\n", *ann.person.letters.came]):
            (maildir / "new" / f"{number:03}").write_bytes(raw)
        other = Side(referee, ann.person, tmp_path / "other" / "memory.sqlite")
        other.memory.keep(AccountKnown(name="ann"))

        def kinds(key: str) -> list[str]:
            other.letters.inbox.pin_key(key)
            return [event.kind for event in fetch(other.letters, box, lambda: referee.now)]

        assert {*kinds("0" * 64)} == {"foreign", "forged"}
        assert kinds("0" * 64) == []
        box = mail_in.OwnMaildir(maildir)  # as a new command has it
        assert not {*kinds(referee.desk.archive.key)} & {"foreign", "forged"}
        assert other.letters.matches.standings == ann.letters.matches.standings
        assert kinds(referee.desk.archive.key) == []
        for side in (ann, other):
            side.close()

    def test_an_encrypted_letter_changes_nothing_and_is_called_so(self, playing: Side, referee: Referee) -> None:
        before = memory_of(playing)
        person = playing.person
        with referee.database.transaction():
            key = by_openpgp().key
            row = KeyRow(key.format, key.fingerprint, key.public)
            Players(referee.database).add_key(person.name, row, to_db(referee.now))
        referee.send(person, "set encrypted yes\n")
        playing.receive()
        referee.send(person, "whoami\n", sign=False)
        (event,) = playing.receive()
        assert event.kind == "forged"
        assert "it is encrypted" in event.said
        assert memory_of(playing) == before

    def test_two_stories_are_an_alarm_for_ever_and_are_not_believed(self, playing: Side, referee: Referee) -> None:
        before = memory_of(playing)

        forged = rewritten(playing, partial(tell_another_head, referee), key=referee.signing_key)
        events = playing.letters.inbox.receive(forged, referee.now)
        assert [event.kind for event in events] == ["contradiction"]
        assert memory_of(playing) == before
        playing.restart()
        (alarm,) = playing.memory.alarms()
        assert "two heads" in alarm.said

    def test_another_head_for_programs_than_for_people_convicts(self, playing: Side, referee: Referee) -> None:
        """The text shows the true chain, the bulletin another: both are signed, and the letter was kept."""

        forged = rewritten(playing, partial(tell_another_head, referee), key=referee.signing_key)
        playing.post(playing.letters.say("m1", "resign m1 match", referee.now))
        assert playing.proof.holds
        number = playing.memory.keep_letter("0" * 64, "", "", "", forged)
        playing.memory.file(number, "m1")
        proof = playing.proof
        (letter,) = proof.accusing
        assert letter.standing == "two stories"
        *told, whole = Verified("m1", proof).told(str)
        said = [f"m1: {letter.kept.subject}: {one.standing}: {one.found}" for one in letter.findings]
        assert told == [(one, True) for one in said]
        assert whole == ("m1: your letters contradict the bundle.", True)

    @pytest.mark.parametrize("head", [{"signature": "0" * 128}, None])
    def test_a_head_that_is_not_signed_is_an_alarm(
        self, playing: Side, referee: Referee, head: dict[str, str] | None
    ) -> None:
        """A story without one could be another than the bundle's, and no proof would be left of it."""

        def lie(found: dict[str, Any]) -> None:
            item = found["items"][0]
            item["head"] = head and item["head"] | head

        events = playing.letters.inbox.receive(rewritten(playing, lie, key=referee.signing_key), referee.now)
        assert [event.kind for event in events] == ["contradiction"]

    def test_a_bundle_of_another_key_than_the_letters_does_not_hold(self, playing: Side, referee: Referee) -> None:
        bob = bob_of(referee)
        playing.post(playing.letters.order("m1", "Rv1", referee.now))
        referee.send(bob, "resign m1 match\n")
        playing.receive()
        assert playing.proof.holds
        playing.memory.keep(AccountKnown(server_key="0" * 64))
        assert not playing.proof.holds
