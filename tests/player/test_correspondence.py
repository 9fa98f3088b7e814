"""A player's correspondence: a match is played from letters alone, and only the server's own letters change it."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from datetime import timedelta
from email.message import EmailMessage
from email.policy import SMTP
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.bulletins import FIELD, unpacked
from in_a_box.referee import SERVER, Mailbox, Referee, new, placed, sent_from
from in_a_box.table import ANN, SMALL, TO, Side
from player.conftest import begin
from signing.decryptors import by_openpgp

from pbem.desk.strangers import EACH
from pbem.games import Refused
from pbem.letters.render import Templates
from pbem.match.transcript import announcement, canonical, sha256_hex, statement
from pbem.player import mail_in
from pbem.player.correspondence import Correspondence
from pbem.player.correspondence.standings import Impossible
from pbem.player.forms import Unfit
from pbem.player.known import AccountKnown
from pbem.player.mail_in import fetch
from pbem.player.play_facts import tournament_terms
from pbem.player.play_table import prove
from pbem.player.server_letter import LIMITS
from pbem.store.database import to_db
from pbem.store.players import KeyRow, Players

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pbem.player.memory import SentForm


def bob_of(referee: Referee) -> Mailbox:
    return referee.people["bob@mail.example"]


def memory_of(side: Side) -> list[object]:
    """All that a side believes: how matches stand, what is due, whose key it is."""
    papers = [side.memory.latest("m1", kind) for kind in ("setup", "position", "reports")]
    return [side.letters.matches.standings, papers, side.memory.account().server_key, side.memory.account().name]


class TestAMatch:
    def test_is_played_to_its_proof(self, referee: Referee, playing: Side) -> None:
        bob = bob_of(referee)
        assert playing.letters.matches.standing("m1").asked
        for cell in ("Rv1", "Rv3", "Bz5"):
            referee.turn((bob, ""))
            events = playing.post(playing.letters.order("m1", cell, referee.now, final=True))
            assert [event.said for event in events if event.kind == "answer"] == ["done"]
        standing = playing.letters.matches.standing("m1")
        assert (standing.phase, standing.outcome and standing.outcome.winners) == ("closed", (standing.seat,))
        proof = playing.proof
        assert proof.holds
        assert sum(letter.standing == "agrees" for letter in proof.letters) >= 5
        assert not playing.memory.alarms()
        assert {event.kind for event in playing.events} <= {"news", "answer", "challenge", "account"}

    def test_what_stands_is_withdrawn_and_given_anew(self, playing: Side, referee: Referee) -> None:
        for cell in ("Rv1", "Rv3", "Rv3"):
            events = playing.post(playing.letters.order("m1", cell, referee.now))
            assert [event.said for event in events if event.kind == "answer"] == ["done"]
            events = playing.post(playing.letters.say("m1", "clear m1", referee.now))
            assert [event.said for event in events if event.kind == "answer"] == ["done"]
            assert playing.letters.matches.standing("m1").asked
            assert playing.letters.matches.pending("m1") is None

    def test_the_same_again_is_the_same_letter_and_others_are_a_new_one(
        self, playing: Side, referee: Referee
    ) -> None:
        first = playing.letters.order("m1", "Gx3", referee.now)
        again = playing.letters.order("m1", " Gx3 # the same", referee.now)
        assert again == first
        other = playing.letters.order("m1", "Gx4", referee.now)
        assert (first.rev, other.rev) == (1, 2)
        playing.flush()
        assert playing.sent[-2:] == [first.raw, other.raw]
        playing.receive()
        assert playing.letters.order("m1", "Gx4", referee.now).raw == other.raw
        assert playing.letters.outbox.unsent() == []

    def test_nobody_orders_out_of_turn(self, playing: Side, referee: Referee) -> None:
        with pytest.raises(Impossible, match="m2"):
            playing.letters.order("m2", "Gx3", referee.now)
        with pytest.raises(Impossible, match="setup"):
            playing.letters.set_up("m1", ANN, referee.now)
        playing.post(playing.letters.say("m1", "resign m1 match", referee.now))
        assert playing.letters.matches.standing("m1").phase == "closed"
        with pytest.raises(Impossible, match="closed"):
            playing.letters.order("m1", "Gx3", referee.now)
        with pytest.raises(Impossible, match="closed"):
            playing.letters.say("m1", "draw m1 offer", referee.now)

    @pytest.mark.parametrize("odd", ["\x1b[31m", "a\0b", "\x7f", "caf\udce9"])
    def test_characters_that_the_server_refuses_are_not_signed(
        self, playing: Side, referee: Referee, odd: str
    ) -> None:
        before = playing.memory.count()
        with pytest.raises(Unfit, match="a character that programs read in different ways, U"):
            playing.letters.tell("press m1", referee.now, match="m1", text=odd)
        with pytest.raises(Unfit, match="a character that programs read in different ways, U"):
            playing.letters.ask(f"list {odd}", referee.now)
        assert playing.memory.count() == before

    def test_what_another_player_writes_is_kept_as_it_was_written(self, playing: Side, referee: Referee) -> None:
        referee.send(bob_of(referee), "press m1\nGood luck!\n\nYou will need it.\nend\n")
        referee.send(bob_of(referee), "press m1 to ann\nThis is for you.\nend\n")
        playing.receive()
        assert playing.memory.talk("m1") == [
            ("bob", "Good luck!\n\nYou will need it.", 0),
            ("bob", "This is for you.", 1),
        ]

    def test_press_that_would_be_a_command_is_not_signed(self, playing: Side, referee: Referee) -> None:
        before = playing.memory.count()
        with pytest.raises(Unfit, match="command"):
            playing.letters.tell("press m1", referee.now, match="m1", text="so\nend\nresign m1")
        assert playing.memory.count() == before

    @pytest.mark.parametrize("end", ["\r", "\v", "\f", "\x1c", "\x85", "\u2028"])
    def test_press_is_signed_with_the_line_ends_of_its_letter(
        self, playing: Side, referee: Referee, end: str
    ) -> None:
        """With others its signature would not hold."""
        sent = playing.letters.tell("press m1", referee.now, match="m1", text=f"One line{end}and another.")
        assert [event.said for event in playing.post(sent) if event.kind == "answer"] == ["done"]

    def test_a_question_is_answered_each_time_that_it_is_asked(self, playing: Side, referee: Referee) -> None:
        """The same signed words again would be answered three times a day, and then no more."""
        for _ in range(EACH + 3):
            events = playing.post(playing.letters.ask("list open", referee.now))
            assert [event.said for event in events if event.kind == "answer"] == ["done"]
            assert "ignored" not in playing.person.text

    def test_the_rules_come_in_a_letter_that_is_believed(self, playing: Side, referee: Referee) -> None:
        events = playing.post(playing.letters.ask("rules spaceships", referee.now))
        assert [(event.kind, event.said) for event in events] == [("answer", "done")]

    def test_what_was_obeyed_is_not_refused_since(self, playing: Side, referee: Referee) -> None:
        """The opponent has seen the letter by which she accepted, and writes in her name under its Message-ID."""
        (accepted,) = playing.memory.prepared("accept", "m1")
        assert accepted.state == "done"
        ann = playing.person
        lines = f"From: {ann.address}\nTo: {TO}\nMessage-ID: {accepted.message_id}\n\n{accepted.form}"
        referee.deliver((sent_from(ann.address) + lines).replace("\n", "\r\n").encode(), ann.address)
        assert "must be signed" in ann.text
        assert "answer" not in [event.kind for event in playing.receive()]
        assert playing.memory.prepared("accept", "m1") == [accepted]

    def test_another_game_of_three(self, referee: Referee, ann: Side) -> None:
        """Setups are judged by how many sit there, which no letter's file says but the bulletin does."""
        bob, cem = referee.registered("bob"), referee.registered("cem")
        referee.send(bob, new(bob, "shoot-em-up", "ann", "cem", options="board: 7x7"))
        ann.receive()
        ann.post(ann.letters.accept("m1", referee.now))
        referee.send(cem, f"accept m1 {ann.letters.matches.standing('m1').hash}\n")
        ann.receive()
        with pytest.raises(Refused):
            ann.letters.judge.setup("m1", "A c1 N\nB d1 N\nC e1 N")
        events = ann.post(ann.letters.set_up("m1", "D c7 S\nE d7 S\nF e7 S", referee.now))
        assert [event.said for event in events if event.kind == "answer"] == ["done"]


class TestAnswered:
    """The letter that an answer is about. Others can read our letters on their way, and write their own."""

    def test_by_a_copy_that_came_first_under_another_name(self, playing: Side, referee: Referee) -> None:
        """The copy was obeyed. The letter itself may get no answer, as others have used up the daily number."""
        sent = posted(playing, playing.letters.order("m1", "Gx3", referee.now))
        referee.deliver(copied(sent, b"<again@mail.example>"), "eve@evil.example", sent.to)
        for number in range(EACH):
            write(playing, f"<{number}@evil.example>", "help")
        referee.deliver(sent.raw, playing.person.address, sent.to)
        assert [event.said for event in playing.receive() if event.kind == "answer"] == ["done"]
        assert not playing.memory.in_state("ready", "sent")

    @pytest.mark.parametrize("state", ["sent", "bounced"])
    def test_outside_its_thread_where_its_words_were_refused_before(
        self, playing: Side, referee: Referee, state: str
    ) -> None:
        """The bulletin alone names the letter then."""
        sent = posted(playing, playing.letters.tell("new spaceships with nobody-here", referee.now))
        referee.deliver(copied(sent, b"<again@mail.example>"), "eve@evil.example", sent.to)
        assert not [event for event in playing.receive() if event.kind == "answer"]
        playing.memory.settle(sent.id, state)
        referee.deliver(sent.raw, playing.person.address, sent.to)
        assert b"In-Reply-To" not in playing.person.letters.came[-1]
        assert [event.said for event in playing.receive() if event.kind == "answer"] == ["refused"]

    @pytest.mark.parametrize("words", ["help", "register bobby"])
    @pytest.mark.parametrize("thread", ["none", "added", "vouched for"])
    def test_not_by_other_words_under_its_message_id(
        self, playing: Side, referee: Referee, words: str, thread: str
    ) -> None:
        """The letter itself may still come, or be lost. A mail provider can add a header, or vouch for them."""
        sent = posted(playing, playing.letters.order("m1", "Gx3", referee.now))
        write(playing, sent.message_id, words, vouched=thread == "vouched for")
        answer = playing.person.letters.came[-1]
        assert (b"In-Reply-To" in answer) is (thread == "vouched for")
        if thread == "added":
            playing.person.letters.came[-1] = f"In-Reply-To: {sent.message_id}\r\n".encode() + answer
        assert not [event for event in playing.receive() if event.kind == "answer"]
        assert [waits.id for waits in playing.memory.in_state("sent")] == [sent.id]

    def test_not_by_older_words_of_ours_under_its_message_id(self, playing: Side, referee: Referee) -> None:
        first = playing.letters.order("m1", "Gx3", referee.now)
        playing.post(first)
        second = posted(playing, playing.letters.order("m1", "Gx4", referee.now))
        referee.deliver(copied(first, second.message_id.encode()), "eve@evil.example")
        assert not [event for event in playing.receive() if event.kind == "answer"]
        assert [waits.id for waits in playing.memory.in_state("sent")] == [second.id]

    @pytest.mark.parametrize(
        "lie",
        [
            {"match": None},
            {"match": "m2"},
            {"command": "whoami"},
            {"mail": "0" * 64},
            "cGJlbSByZWNlaXB0",
            "Paper of m1",
        ],
    )
    def test_not_without_a_proof_of_it(self, playing: Side, referee: Referee, lie: str | dict[str, Any]) -> None:
        """A server that says that orders are in could drop them, and nobody could convict it."""
        sent = posted(playing, playing.letters.order("m1", "Gx3", referee.now))
        came = playing.person.letters.came
        referee.deliver(sent.raw, playing.person.address, sent.to)

        def change(found: dict[str, Any]) -> None:
            next(item for item in found["items"] if item["about"] == "command").update(lie)

        true = came[-1]
        if isinstance(lie, dict):
            came[-1] = rewritten(playing, change, key=referee.signing_key, raw=true)
        else:
            came[-1] = true.replace(lie.encode(), b"SomethingElse123")
        assert came[-1] != true
        events = playing.receive()
        assert not [event for event in events if event.kind == "answer"]
        assert [waits.id for waits in playing.memory.in_state("sent")] == [sent.id]
        assert playing.memory.alarms()

    @pytest.mark.parametrize("how", ["not signed", "misdated"])
    def test_a_copy_that_is_refused_does_not_refuse_it_for_good(
        self, playing: Side, referee: Referee, how: str
    ) -> None:
        sent = posted(playing, playing.letters.order("m1", "Gx3", referee.now))
        if how == "misdated":
            referee.deliver(misdated(sent), "eve@evil.example", sent.to)
        else:
            write(playing, sent.message_id, sent.form, vouched=True)
        assert [event.said for event in playing.receive() if event.kind == "answer"] == ["refused"]
        referee.deliver(sent.raw, playing.person.address, sent.to)
        assert [event.said for event in playing.receive() if event.kind == "answer"] == ["done"]

    @pytest.mark.parametrize("confirmed", [False, True])
    def test_neither_are_the_letters_that_open_an_account(
        self, referee: Referee, tmp_path: Path, confirmed: bool
    ) -> None:
        side = Side(referee, referee.person("ann"), tmp_path / "ann" / "memory.sqlite")
        sent: SentForm | None = side.letters.registration.register(side.key, side.fingerprint, referee.now)
        if confirmed and sent is not None:
            side.post(sent)
            sent = side.letters.registration.confirm(referee.now)
        assert sent is not None
        posted(side, sent)
        write(side, sent.message_id, "help")
        assert not [event for event in side.receive() if event.kind == "answer"]
        assert [waits.id for waits in side.memory.in_state("sent")] == [sent.id]
        side.close()

    @pytest.mark.parametrize(
        "text",
        [
            "My seed: 00112233445566778899aabbccddeeff",
            "a soft\u00adhyphen, a \u200b, a \ufeff",
            "cafe\u0301 \u00a0caf\u00e9",
        ],
    )
    def test_by_the_words_as_the_server_reads_them(self, playing: Side, referee: Referee, text: str) -> None:
        """Recovery codes are masked where words are repeated, and a program's seed looks like one."""
        sent = posted(playing, playing.letters.tell("press m1", referee.now, match="m1", text=text))
        referee.deliver(sent.raw, playing.person.address, sent.to)
        assert [event.said for event in playing.receive() if event.kind == "answer"] == ["done"]


def posted(side: Side, sent: SentForm) -> SentForm:
    """A letter that left, and may be anywhere."""
    side.letters.outbox.has_left(sent)
    return sent


def copied(sent: SentForm, message_id: bytes) -> bytes:
    return sent.raw.replace(sent.message_id.encode(), message_id)


def misdated(sent: SentForm) -> bytes:
    return re.sub(rb"(?m)^Date: [^\r]*", b"Date: Mon, 1 Jan 2001 00:00:00 +0000", sent.raw)


def write(side: Side, message_id: str, words: str, *, vouched: bool = False) -> None:
    """Deliver a letter that somebody else writes in a player's name."""
    head = f"From: {side.person.address}\nTo: {TO}\nSubject: x\nMessage-ID: {message_id}\n\n{words}\n"
    above = sent_from(side.person.address) if vouched else ""
    sender = side.person.address if vouched else "eve@evil.example"
    side.referee.deliver((above + head).replace("\n", "\r\n").encode(), sender)


class TestRegistering:
    def test_a_challenge_from_elsewhere_pins_no_key(self, referee: Referee) -> None:
        """Only the server knows the letter: knowing address and public key is not enough, and shuts nobody out."""
        side = Side(referee, referee.person("ann"), None)
        asked = side.letters.registration.register(side.key, side.fingerprint, referee.now)
        evil = Ed25519PrivateKey.generate()
        challenge = {"about": "challenge", "fingerprint": side.fingerprint, "challenge": "0" * 64}
        answer: dict[str, object] = {"about": "command", "command": "register", "match": None, "outcome": "asked"}
        words = f"register ann {side.key} ann@home"
        for answers in (None, "0" * 64, sha256_hex(b"<guess@mail.example>"), sha256_hex(words.encode())):
            raw = forged(evil, [answer | {"answers": answers}, challenge | {"asked": answers}])
            assert [event.kind for event in side.letters.inbox.receive(raw, referee.now)] == ["unpinned"]
        assert side.memory.account().server_key is None
        side.post(asked)
        assert side.memory.account().server_key == referee.desk.archive.key
        side.close()

    @pytest.mark.parametrize("vouched", [False, True])
    def test_the_first_answer_names_the_letter(self, referee: Referee, vouched: bool) -> None:
        side = Side(referee, referee.person("ann"), None)
        asked = side.letters.registration.register(side.key, side.fingerprint, referee.now)
        above = sent_from("ann@mail.example").replace("\n", "\r\n").encode() if vouched else b""
        referee.deliver(above + asked.raw, "ann@mail.example")
        assert bool(side.person.last["In-Reply-To"]) is vouched
        assert [event.kind for event in side.receive()] == ["challenge", "answer"]
        side.close()


def forged(key: Ed25519PrivateKey, items: list[dict[str, Any]], **other: Any) -> bytes:
    """A letter as a server with this key would write it."""
    document = {
        "pbem": "bulletin 1",
        "server": SERVER,
        "to": "ann@mail.example",
        "time": "2026-03-01T12:00:00Z",
        "generation": 1,
        "forgotten": {},
        "items": items,
        "files": {},
        "key": key.public_key().public_bytes_raw().hex(),
    } | other
    said = announcement(str(document["server"]), sha256_hex(canonical(document)))
    return with_bulletin(canonical(document | {"signature": key.sign(said).hex()}))


def with_bulletin(content: bytes) -> bytes:
    letter = EmailMessage(SMTP)
    letter["From"] = f"pbem <{TO}>"
    letter["To"] = "ann@mail.example"
    letter["Subject"] = "[pbem m1] a letter"
    letter.set_content("Words.\n")
    packed = base64.b64encode(content).decode()
    return f"{FIELD}: {packed}\r\n".encode() + letter.as_bytes()


def last(side: Side) -> bytes:
    """The last letter about the match, as it came."""
    return next(raw for raw in reversed(side.person.letters.came) if b"position.json" in raw)


def rewritten(
    side: Side,
    change: Callable[[dict[str, Any]], object],
    *,
    key: Ed25519PrivateKey | None = None,
    raw: bytes = b"",
) -> bytes:
    """The last letter, or this one, with its bulletin changed, and signed anew where a key is given."""
    raw = raw or last(side)
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.replace(b"\r\n ", b"").split(b"\r\n")
    at = next(number for number, line in enumerate(lines) if line.startswith(FIELD.encode()))
    document = json.loads(unpacked(lines[at].decode().partition(":")[2]))
    document.pop("signature") if key else None
    change(document)
    if key:
        said = announcement(str(document["server"]), sha256_hex(canonical(document)))
        document["signature"] = key.sign(said).hex()
    lines[at] = FIELD.encode() + b": " + base64.b64encode(canonical(document))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def tell_another_head(referee: Referee, found: dict[str, Any]) -> None:
    """A bulletin tells of another turn, under another head that the server signed."""
    (item,) = (item for item in found["items"] if item["about"] == "match")
    seq, head = item["head"]["seq"], "f" * 64
    signature = referee.signing_key.sign(statement(SERVER, "m1", seq, head)).hex()
    item.update(turn=2, head={"seq": seq, "head": head, "signature": signature})


def with_another_position(raw: bytes) -> bytes:
    """The letter with a file that says another turn: JSON as before, and as long."""
    start = raw.index(b"\r\n\r\n", raw.index(b'position.json"')) + 4
    end = raw.index(b"\r\n--=_", start)
    content = base64.b64decode(raw[start:end])
    assert b'"turn":1' in content
    return raw[:start] + base64.encodebytes(content.replace(b'"turn":1', b'"turn":9')) + raw[end:]


class TestBadInput:
    """None of these letters changes anything, and each is reported."""

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("no bulletin", "forged"),
            ("another word", "forged"),
            ("no signature", "forged"),
            ("another key", "forged"),
            ("another server", "forged"),
            ("another server's name with our key", "forged"),
            ("another player's letter", "forged"),
            ("two bulletins", "forged"),
            ("no base64", "forged"),
            ("no JSON", "forged"),
            ("deep JSON", "forged"),
            ("half a character", "forged"),
            ("half a character in the server's name", "forged"),
            ("a server's name of two lines", "forged"),
            ("a list", "forged"),
            ("a file taken away", "forged"),
            ("a file changed", "forged"),
            ("items of no form", "news"),
            ("doubled", "doubled"),
            ("oversized", "foreign"),
            ("other mail", "foreign"),
            ("no mail", "foreign"),
        ],
    )
    def test_changes_nothing(self, playing: Side, referee: Referee, name: str, kind: str) -> None:
        before = memory_of(playing)
        other = Ed25519PrivateKey.generate()
        true = last(playing)
        items: list[dict[str, Any]] = [{"about": "match", "match": "m1", "phase": "closed"}]
        made: dict[str, Callable[[], bytes]] = {
            "no bulletin": lambda: b"From: pbem@play.example\r\nSubject: [pbem m1] turn 9\r\n\r\nYou have won.\r\n",
            "another word": lambda: rewritten(playing, lambda found: found["items"][0].update(turn=7)),
            "no signature": lambda: rewritten(playing, lambda found: found.pop("signature")),
            "another key": lambda: rewritten(
                playing, lambda found: found.update(key=other.public_key().public_bytes_raw().hex()), key=other
            ),
            "another server": lambda: forged(other, items, server="other.example"),
            "another server's name with our key": lambda: forged(referee.signing_key, items, server="other.example"),
            "another player's letter": lambda: forged(referee.signing_key, items, to="bob@mail.example"),
            "two bulletins": lambda: f"{FIELD}: e30=\r\n".encode() + true,
            "no base64": lambda: with_bulletin(b"{}").replace(b"e30=", b"e30=!"),
            "no JSON": lambda: with_bulletin(b"{"),
            "deep JSON": lambda: with_bulletin(b"[" * 20_000),
            "half a character": lambda: with_bulletin(b'{"pbem":"bulletin 1","to":"\\ud800"}'),
            "half a character in the server's name": lambda: with_bulletin(
                canonical(
                    {"server": "", "to": "x", "key": "0" * 64, "signature": "0" * 128, "pbem": "bulletin 1"}
                ).replace(b'"server":""', b'"server":"\\ud800"')
            ),
            "a server's name of two lines": lambda: forged(other, items, server="other\nALARM"),
            "a list": lambda: with_bulletin(b"[1]"),
            "a file taken away": lambda: true.replace(b"position.json", b"positron.json"),
            "a file changed": lambda: with_another_position(true),
            "items of no form": lambda: forged(
                referee.signing_key, [*items, {"about": "match"}, {"about": 3}, {"match": "m1"}, {}]
            ),
            "doubled": lambda: true,
            "oversized": lambda: true + b"x" * LIMITS.message_bytes,
            "other mail": lambda: b"From: eve@mail.example\r\nSubject: hello\r\n\r\nHello\r\n",
            "no mail": lambda: b"\xff\x00" * 500,
        }
        events = playing.letters.inbox.receive(made[name](), referee.now)
        assert memory_of(playing) == before
        if name != "items of no form":
            assert [event.kind for event in events] == [kind]
            assert kind == "doubled" or events[0].said or kind == "foreign"

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
            {"turn": True},
            {"deadline": "soon"},
            {"ended": None},
            {"offers": [["draw"]]},
            {"outcome": {"winners": ["bob"]}},
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
        assert [letter.standing for letter in proof.accusing] == ["two stories"]

    def test_a_head_that_is_not_signed_is_an_alarm(self, playing: Side, referee: Referee) -> None:
        def lie(found: dict[str, Any]) -> None:
            found["items"][0]["head"]["signature"] = "0" * 128

        events = playing.letters.inbox.receive(rewritten(playing, lie, key=referee.signing_key), referee.now)
        assert [event.kind for event in events] == ["contradiction"]

    def test_a_bundle_that_the_letters_contradict_convicts(self, playing: Side, referee: Referee) -> None:
        bob = bob_of(referee)
        playing.post(playing.letters.order("m1", "Rv1", referee.now))
        referee.send(bob, "resign m1 match\n")
        playing.receive()
        assert playing.proof.holds
        playing.memory.keep(AccountKnown(server_key="0" * 64))
        assert not playing.proof.holds


def test_a_true_bundle_of_another_match_proves_nothing(playing: Side, referee: Referee) -> None:
    """A server that has something to hide could mail one under this one's name."""
    playing.post(playing.letters.say("m1", "resign m1 match", referee.now))
    bundle = playing.memory.bundle("m1")
    assert bundle is not None
    playing.memory.put_bundle("m2", "m2-game-1.pbem.zip", 9, bundle)
    proof = prove(playing.memory, "m2")
    assert proof is not None
    assert not proof.holds
    assert proof.checks[-1].found == "the bundle is that of m1"
    assert playing.proof.holds


def test_two_at_once_send_one_letter(playing: Side, referee: Referee) -> None:
    """Two commands look at the same standing, and both sign, for one place and revision."""
    account, sign, random = playing.letters.account, playing._sign, playing.random
    other = Correspondence(account, playing.memory, sign, random)
    for mine, theirs in (("Gx3", "Gx4"), ("Gx5", "Gx5")):

        def signing(text: bytes, namespace: str, theirs: str = theirs) -> str:
            other.order("m1", theirs, referee.now)  # while the key's owner is asked for a passphrase
            return sign(text, namespace)

        slow = Correspondence(account, playing.memory, signing, random)
        if mine == theirs:
            assert slow.order("m1", mine, referee.now) == other.order("m1", theirs, referee.now)
        else:
            with pytest.raises(Impossible, match="quicker"):
                slow.order("m1", mine, referee.now)
    sent = playing.memory.sent("orders", "m1", "game 1 turn 1")
    assert [(one.rev, one.form.splitlines()[5]) for one in sent] == [(1, "Gx4"), (2, "Gx5")]


def test_terms_are_accepted_by_their_own_hash_alone(referee: Referee, ann: Side) -> None:
    """A server could show one pace, and have another one signed."""
    bob = referee.registered("bob")
    referee.send(bob, new(bob, "spaceships", "ann", options=SMALL))
    ann.receive()
    standing = ann.letters.matches.standing("m1")
    assert ann.letters.matches.terms("m1").pace
    assert standing.agreement is not None
    lies: tuple[dict[str, Any], ...] = (
        {"hash": "0" * 64},
        {"agreement": {**standing.agreement, "pace": 60}},
        {"agreement": {}},
    )
    for lie in lies:
        ann.memory.stand("2026-03-01T12:00:00Z", msgspec.structs.replace(standing, **lie))
        with pytest.raises(Impossible, match="terms"):
            ann.letters.accept("m1", referee.now)
    assert not ann.letters.outbox.unsent()


def test_tournaments_are_entered_by_the_hash_of_their_own_terms_alone(referee: Referee, ann: Side) -> None:
    """A server could show one pace, and have another one signed for all matches."""
    bob = referee.registered("bob")
    referee.send(bob, f"tournament new spaceships\n{placed(bob)}closes: 2026-03-10\n{SMALL}\nend\n")
    ann.post(ann.letters.ask("tournament t1", referee.now))
    ann.receive()
    told = ann.memory.tournament("t1")
    assert told is not None
    assert tournament_terms(ann.letters, "t1", Templates())[1] == told.hash
    paced = {**told.agreement, "match": {**told.agreement["match"], "pace": 60}}
    for lie in ({"hash": "0" * 64}, {"agreement": paced}, {"agreement": {**told.agreement, "match": {}}}):
        ann.memory.stand_in(msgspec.structs.replace(told, **lie))
        with pytest.raises(Impossible, match="terms"):
            tournament_terms(ann.letters, "t1", Templates())


class TestBounces:
    DSN = (
        "From: MAILER-DAEMON@mail.example\r\nTo: ann@mail.example\r\nSubject: Undelivered\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n'
        "--b\r\n\r\nSorry.\r\n--b\r\n"
        "Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx\r\n\r\nFinal-Recipient: rfc822; x\r\n"
        "Action: {action}\r\nStatus: 5.1.1\r\n--b\r\nContent-Type: text/rfc822-headers\r\n\r\n"
        "Message-ID: {message_id}\r\n--b--\r\n"
    )

    def test_a_letter_that_came_back_is_told_and_sent_again_as_it_was(self, playing: Side, referee: Referee) -> None:
        sent = playing.letters.order("m1", "Gx3", referee.now)
        playing.letters.outbox.has_left(sent)
        for action, kinds in (("delayed", ["foreign"]), ("failed", ["bounced"]), ("failed", ["foreign"])):
            raw = self.DSN.format(action=action, message_id=sent.message_id).encode()
            assert [event.kind for event in playing.letters.inbox.receive(raw, referee.now)] == kinds
        assert playing.letters.outbox.unsent() == []
        again = playing.letters.order("m1", "Gx3", referee.now)
        assert again.raw == sent.raw
        assert [ready.raw for ready in playing.letters.outbox.unsent()] == [sent.raw]

    def test_nobody_else_can_say_so(self, playing: Side, referee: Referee) -> None:
        playing.letters.outbox.has_left(playing.letters.order("m1", "Gx3", referee.now))
        raw = self.DSN.format(action="failed", message_id="<guess@mail.example>").encode()
        assert [event.kind for event in playing.letters.inbox.receive(raw, referee.now)] == ["foreign"]


def test_what_is_not_answered_is_sent_again_when_the_server_writes_about_its_match(
    playing: Side, referee: Referee
) -> None:
    """Its mail system took it and lost it, or its server was restored since."""
    lost = posted(playing, playing.letters.order("m1", "Gx3", referee.now))
    referee.send(bob_of(referee), "draw m1 offer\n")
    playing.receive()
    assert not playing.letters.outbox.unsent(), "an answer may be on its way"
    referee.wait(timedelta(days=4))  # there is a reminder after half of the time
    playing.receive()
    assert [sent.raw for sent in playing.letters.outbox.unsent()] == [lost.raw]
    playing.flush()
    playing.receive()
    assert not playing.memory.in_state("ready", "sent")


def test_what_was_not_sent_before_its_turn_was_over_is_given_up(playing: Side, referee: Referee) -> None:
    """The miss is played by default at the deadline; a late letter would only be refused."""
    sent = playing.letters.order("m1", "Gx3", referee.now)
    other = playing.letters.order("m1", "Gx4", referee.now)
    referee.deliver(other.raw, playing.person.address, other.to)
    bob = bob_of(referee)
    referee.turn((bob, ""))
    playing.receive()
    assert playing.letters.matches.standing("m1").turn == 2
    assert playing.letters.outbox.unsent() == []
    found = playing.memory.by_message_id(sent.message_id)
    assert found is not None
    assert found.state == "refused"


def test_what_is_for_a_later_turn_is_not_late(playing: Side, referee: Referee) -> None:
    early = [playing.letters.order("m1", "Gx3", referee.now, turn=turn) for turn in (2, 3)]
    bob = bob_of(referee)
    for _ in range(2):
        assert playing.letters.outbox.unsent() == early
        other = playing.letters.order("m1", "Gx4", referee.now)
        referee.deliver(other.raw, playing.person.address, other.to)
        referee.turn((bob, ""))
        playing.receive()
    assert playing.letters.matches.standing("m1").turn == 3
    assert playing.letters.outbox.unsent() == early[1:], "it is for the turn that is due by now"
    assert playing.letters.matches.pending("m1") == early[1]
