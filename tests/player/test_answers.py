"""Which letter an answer is about, and what becomes of letters that get none, or that come back."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.referee import SERVER, Referee, attachment, sent_from
from in_a_box.table import SMALL, TO, Side
from player.changed_letters import bob_of, posted, rewritten
from player.conftest import begin

from pbem.desk.strangers import EACH
from pbem.match.transcript import voucher
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from pathlib import Path

    from pbem.player.memory import SentForm


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


def with_other_words(raw: bytes, lie: str) -> bytes:
    """The letter with other words for these, or with those behind the arrow."""
    old, _, new = lie.partition(" -> ")
    return raw.replace(old.encode(), (new or "SomethingElse123").encode())


def bring_another(side: Side, other: bytes) -> bool:
    """Let the last letter bring another paper for its own, signed as well; true if that changed it."""
    came, own = side.person.letters.came, attachment(side.person.last, ".txt")
    hashes = [hashlib.sha256(paper).hexdigest() for paper in (own, other)]
    signatures = [side.referee.signing_key.sign(voucher(SERVER, "m1", one)).hex() for one in hashes]
    raw = before = came[-1]
    old_part, new_part = (base64.encodebytes(paper).replace(b"\n", b"\r\n") for paper in (own, other))
    raw = raw.replace(old_part, new_part)
    for old, new in (hashes, signatures):
        for at in range(0, len(old), 64):
            raw = raw.replace(old[at : at + 64].encode(), new[at : at + 64].encode())
    came[-1] = raw
    return raw != before


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
            {"mail": None},
            {"received": "yesterday"},
            "cGJlbSByZWNlaXB0",
            "Paper of m1",
            "Paper of m1 -> Paper of m9",
        ],
    )
    @pytest.mark.parametrize("outcome", ["done", "again"])
    def test_not_without_a_proof_of_it(
        self, playing: Side, referee: Referee, lie: str | dict[str, Any], outcome: str
    ) -> None:
        """A server that says that orders are in, or were before, could drop them, and nobody could convict it."""
        sent = posted(playing, playing.letters.order("m1", "Gx3", referee.now))
        came = playing.person.letters.came
        referee.deliver(sent.raw, playing.person.address, sent.to)

        def change(found: dict[str, Any]) -> None:
            next(item for item in found["items"] if item["about"] == "command").update(lies)

        true = came[-1] if isinstance(lie, dict) else with_other_words(came[-1], lie)
        lies = {"outcome": outcome} | (lie if isinstance(lie, dict) else {})
        assert came[-1] != true or isinstance(lie, dict)
        came[-1] = rewritten(playing, change, key=referee.signing_key, raw=true)
        events = playing.receive()
        assert not [event for event in events if event.kind == "answer"]
        assert [waits.id for waits in playing.memory.in_state("sent")] == [sent.id]
        assert playing.memory.alarms()

    @pytest.mark.parametrize("first", ["ours", "a copy"])
    def test_by_a_receipt_that_names_a_copy(self, playing: Side, referee: Referee, first: str) -> None:
        """The server answers both letters with one receipt, and an answer may be lost."""
        sent = posted(playing, playing.letters.order("m1", "Gx3", referee.now))
        both = [sent.raw, sent.raw.replace(b"Message-ID: <", b"Message-ID: <again.")]
        assert both[0] != both[1]
        for raw in both if first == "ours" else reversed(both):
            referee.deliver(raw, playing.person.address, sent.to)
        del playing.person.letters.came[-2]
        assert playing.receive()[-1].kind == "answer"
        assert not playing.memory.alarms()

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("player ann\n", "player ann\n"),
            ("player ann\n", "player bob\n"),
            ("\nreceived", "\norders default\nreceived"),
            ("pbem receipt 1\n", "pbem withdrawal 1\n"),
            ("server play.example\n", "server other.example\n"),
            ("rev 1\n", "rev 1\nrev 1\n"),
        ],
    )
    def test_not_by_the_receipt_of_something_else(self, playing: Side, referee: Referee, old: str, new: str) -> None:
        """A server could drop these orders, and its bundle would hold."""
        sent = posted(playing, playing.letters.order("m1", "Gx3", referee.now))
        referee.deliver(sent.raw, playing.person.address, sent.to)
        other = attachment(playing.person.last, ".receipt.txt").replace(old.encode(), new.encode())
        assert bring_another(playing, other) is (old != new)
        assert bool([event for event in playing.receive() if event.kind == "answer"]) is (old == new)
        assert bool(playing.memory.alarms()) is (old != new)

    @pytest.mark.parametrize("command", ["orders", "clear"])
    def test_default_orders_not_by_the_receipt_of_a_turn(
        self, referee: Referee, tmp_path: Path, command: str
    ) -> None:
        """Its revision is the same, and the turn was played by it: nobody could prove that a miss ignores them."""
        side = begin(referee, tmp_path / "ann" / "memory.sqlite", f"{SMALL}\nmiss: default")
        texts = ["Gx3"] if command == "orders" else ["Gx3", "Gx4"]
        for text in texts:
            side.post(said := side.letters.order("m1", text, referee.now))
        other = attachment(side.person.last, ".receipt.txt")
        default = side.letters.order("m1", "", referee.now, turn=DEFAULT)
        if command == "clear":
            side.post(default)
            default = side.letters.withdraw("m1", DEFAULT, referee.now)
        assert default.rev == said.rev
        posted(side, default)
        referee.deliver(default.raw, side.person.address, default.to)
        assert bring_another(side, other)
        assert not [event for event in side.receive() if event.kind == "answer"]
        assert side.memory.alarms()
        side.close()

    def test_it_is_compared_with_the_bundle_whatever_else_its_letter_tells(
        self, playing: Side, referee: Referee
    ) -> None:
        """A server could leave out how the match stands, and so have no proof compare its receipt."""
        sent = posted(playing, playing.letters.order("m1", "Gx3", referee.now))
        referee.deliver(sent.raw, playing.person.address, sent.to)

        def change(found: dict[str, Any]) -> None:
            found["items"] = [item for item in found["items"] if item["about"] == "command"]

        came = playing.person.letters.came
        came[-1] = rewritten(playing, change, key=referee.signing_key, raw=came[-1])
        assert [event.said for event in playing.receive() if event.kind == "answer"] == ["done"]
        assert playing.memory.letters("m1")[-1][1] == came[-1]

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
            events = playing.letters.inbox.receive(raw, referee.now)
            assert [event.kind for event in events] == kinds
            said = "".join(line.text for event in events for line in event.told(str))
            assert ("CAME BACK: orders m1 game 1 turn 1 did not reach" in said) == (kinds == ["bounced"])
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


def test_what_was_written_while_our_clock_was_ahead_is_sent_again_too(playing: Side, referee: Referee) -> None:
    lost = playing.letters.order("m1", "Gx3", referee.now + timedelta(days=10))
    playing.letters.outbox.has_left(lost)
    referee.wait(timedelta(days=4))
    playing.receive()
    assert [sent.raw for sent in playing.letters.outbox.unsent()] == [lost.raw]
