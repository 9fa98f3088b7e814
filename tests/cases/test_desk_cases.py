"""Cases 16 to 24, 27, 28 and 30 of reliability.md: reading letters, and what becomes of them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from in_a_box.referee import SERVER, Mailbox, Referee, body, sent_from
from in_a_box.small_games import FLEETS, SMALL

from pbem import identity
from pbem.config.limits import Limits
from pbem.config.server import Config
from pbem.desk.reading import InProcess, Question
from pbem.identity import ssh
from pbem.letters.render import Templates
from pbem.mail.compose import Composer, Content
from pbem.proof.normal_form import VOCABULARY
from pbem.server.sandbox import Worker
from pbem.smtp.delivery import Permanent, Smarthost
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

judge = partial(identity.judge, words=VOCABULARY)

RECEIVED = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    referee = Referee(tmp_path)
    yield referee
    referee.close()
    structlog.reset_defaults()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with closing(Worker(Limits())) as worker:
        yield worker


def status(referee: Referee, person: Mailbox) -> str:
    referee.send(person, "status m1", sign=False)
    return person.text


def bomb(kind: str) -> bytes:
    if kind == "deep":
        inner = b"text"
        for level in range(1000):
            inner = b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n%b" % (level, level, inner)
        return inner
    if kind == "wide":
        return b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nx\r\n" * 1200 + b"--b--\r\n"
    return b"".join(b"X-%d: x\r\n" % number for number in range(1000)) + b"\r\n"


@pytest.mark.parametrize(("kind", "words"), [("deep", "nested deeper than 10"), ("wide", "more than 50 parts")])
def test_case_16_a_mime_bomb_is_refused_at_little_cost(referee: Referee, kind: str, words: str) -> None:
    ann = referee.person("ann")
    raw = b"From: ann@mail.example\r\nMessage-ID: <1@mail.example>\r\n" + bomb(kind)
    referee.deliver(raw, ann.address)
    assert words in " ".join(ann.text.split())
    assert len(ann.letters) == 1
    assert referee.inbox.raw(1) == raw


def test_case_16_headers_beyond_reading_are_answered(referee: Referee) -> None:
    ann = referee.person("ann")
    raw = b"From: ann@mail.example\r\n" + bomb("headers")
    referee.deliver(raw, ann.address)
    assert "could not be read" in ann.text
    assert referee.inbox.outcome(1) == ("done", "unreadable, answered")
    assert referee.inbox.raw(1) == raw


ODD = {
    "a lying charset": b"Content-Type: text/plain; charset=utf-16\r\n\r\nhelp\r\n",
    "an unknown charset": b"Content-Type: text/plain; charset=klingon\r\n\r\nh\xe9lp\r\n",
    "NUL": b"\r\nhe\x00lp\r\n",
    "bad base64": b"Content-Transfer-Encoding: base64\r\n\r\naGV!scA\xff=b\r\n",
    "an absurd Date": b"Date: Fri, 99 Foo 99999 99:99:99 +9999\r\n\r\nhelp\r\n",
    "two From": b"From: bob@mail.example\r\n\r\nhelp\r\n",
    "no body": b"",
    "no blank line": b"Subject: x",
    "Message-ID of nonsense": b"Message-ID: <<<>\x00>\r\n\r\nhelp\r\n",
    "utf-7": b"Content-Type: text/plain; charset=utf-7\r\n\r\n+AGgAZQBsAHA-\r\n",
    "quoted-printable that ends in the middle": b"Content-Transfer-Encoding: quoted-printable\r\n\r\nhelp=",
    "surrogates": b"Subject: =?utf-8?q?=ED=A0=80?=\r\n\r\nhelp\r\n",
    "RFC 2231 in pieces": b"Content-Type: text/plain; charset*1=8; charset*0=utf-; charset*9999999=x\r\n\r\nhelp\r\n",
}


@pytest.mark.parametrize("trait", ODD)
def test_case_17_odd_letters_are_answered_and_end_nothing(referee: Referee, worker: Worker, trait: str) -> None:
    raw = b"From: ann@mail.example\r\n" + ODD[trait]
    found = []
    for reader in (here := InProcess(Limits()), worker, here):
        found += reader.read([Question(raw, referee.now, "play.example", [])])
    assert found[0] == found[1] == found[2]
    assert len(set(map(repr, found))) == 1
    ann = referee.person("ann")
    referee.deliver(raw, ann.address)
    assert referee.inbox.count("done") == 1
    assert len(ann.letters) == 1
    assert ("could not be read" in ann.text) == (trait == "two From")


def orders_as(referee: Referee, ann: Mailbox, text: str, head: str = "") -> str:
    """The answer to a letter with these headers and this text."""
    raw = (
        sent_from(ann.address).replace("\n", "\r\n").encode()
        + f"From: ann <{ann.address}>\r\nMessage-ID: <{next(referee.sent)}@mail.example>\r\n{head}\r\n".encode()
        + text.replace("\n", "\r\n").encode()
    )
    referee.deliver(raw, ann.address)
    return ann.text


def test_case_18_what_programs_make_of_a_text(referee: Referee) -> None:
    """Signed forms survive what mail programs do; letters of other shapes are refused and shown escaped."""
    ann, _ = referee.begun(SMALL, FLEETS)
    form = ann.filled("orders", "Rv5")
    armor = ssh.sign(ann.key, form.encode(), "pbem@play.example")
    flowed = form.replace("orders m1 turn 1\n", "orders m1 \nturn 1\n")
    mangled = "\ufeff" + flowed.replace("player ann", "player\u00a0ann").replace("\nend\n", "  \n\nend\n") + armor
    told = orders_as(referee, ann, mangled, "Content-Type: text/plain; charset=utf-8; format=flowed\r\n")
    assert "Your orders for turn 1 stand, revision 1:\n\n  Rv5" in told
    referee.send(ann, ann.filled("orders", "R\u200bv4", rev=2))
    assert "Your orders for turn 1 stand, revision 2:\n\n  Rv4" in ann.text
    for looks, is_shown in (
        ("\u041ev5", "\\u041ev5"),
        ("\u201cRv5\u201d", "\\u201cRv5\\u201d"),
        ("R\u202ev5", "R\\u202ev5"),
    ):
        referee.send(ann, ann.filled("orders", looks, rev=3))
        refusal = ann.text.partition("nothing was changed")[2]
        assert f"line 6: `{is_shown}`" in refusal
        assert refusal.isascii()
    assert "Your orders stand, revision 2:\n\n  Rv4" in status(referee, ann)


def test_case_19_quotes_signatures_and_footers_are_no_orders(referee: Referee) -> None:
    ann, _ = referee.begun(SMALL, FLEETS)
    signed = referee.signed(ann, ann.filled("orders", "Rv5"))
    footer = "-- \nresign m1 match\n______\nlist footer: resign m1 match\n"
    told = orders_as(referee, ann, f"> resign m1 match\n\nresign m1 match\n\n{signed}\n{footer}")
    assert "Your orders for turn 1 stand" in told
    assert "You resigned" not in told
    assert "No orders" not in status(referee, ann)
    inside = ann.filled("orders", "Rv4", rev=2) + "\nHello there!\n-- \nresign m1 match\n"
    referee.send(ann, inside)
    assert "Your orders for turn 1 stand, revision 2" in ann.text
    assert "Not understood, and ignored" in ann.text
    assert "Hello there!" in ann.text
    assert "Turn 1" in status(referee, ann) or "turn 1" in status(referee, ann)


def test_case_20_half_valid_orders_change_nothing(referee: Referee) -> None:
    ann, _ = referee.begun(SMALL, FLEETS)
    referee.send(ann, ann.filled("orders", "Rv5"))
    referee.send(ann, ann.filled("orders", "Gv1 gx3 sRv1", rev=2))
    refusal = ann.text.partition("nothing was changed")[2]
    assert "`gx3`" in refusal
    assert "`sRv1`" in refusal
    assert "Gv1" not in refusal
    assert "Your orders stand, revision 1:\n\n  Rv5" in status(referee, ann)


def test_case_21_forged_letters_change_nothing(referee: Referee) -> None:
    ann, _bob = referee.begun(SMALL, FLEETS)
    orders = ann.filled("orders", "Rv5")
    mallory = referee.person("mallory")
    before = len(ann.letters)
    referee.deliver(referee.raw(ann, referee.signed(mallory, orders)), mallory.address)
    referee.deliver(referee.raw(ann, referee.signed(ann, orders).replace("Rv5", "Rv4")), mallory.address)
    assert not mallory.letters
    assert [str(letter["Subject"]) for letter in ann.letters[before:]] == [
        "[pbem] A letter in your name was not accepted"
    ] * 2
    assert not any("Rv" in body(letter) for letter in ann.letters[before:])
    for _ in range(20):
        referee.deliver(referee.raw(ann, referee.signed(mallory, orders)), mallory.address)
    assert len(ann.letters) == before + 3
    same_provider = sent_from(ann.address)
    for _ in range(20):
        referee.deliver(referee.raw(ann, referee.signed(mallory, orders), headers=same_provider), ann.address)
    assert len(ann.letters) == before + 10
    referee.wait(timedelta(days=1))
    referee.deliver(referee.raw(ann, referee.signed(mallory, orders)), mallory.address)
    assert len(ann.letters) == before + 11
    referee.deliver(referee.raw(ann, orders, headers=same_provider), ann.address)
    assert "must be signed" in ann.text
    assert "You have submitted no orders" in status(referee, ann)
    assert not mallory.letters


def test_case_22_another_players_key_proves_nothing(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    structlog.reset_defaults()
    referee.open_desk()
    with structlog.testing.capture_logs() as logs:
        referee.deliver(referee.raw(ann, referee.signed(bob, ann.filled("orders", "Rv5"))), ann.address)
    assert "signature: unknown key, noticed" in [entry.get("outcome") for entry in logs]
    assert "You have submitted no orders" in status(referee, ann)
    assert "You have submitted no orders" in status(referee, bob)


def test_case_23_a_replayed_letter_changes_nothing(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    old = referee.raw(ann, referee.signed(ann, ann.filled("orders", "final\nRv5")))
    referee.deliver(old, ann.address)
    referee.send(bob, bob.filled("orders", "final"))
    assert "turn 2" in status(referee, ann).lower()
    for sender in (ann.address, bob.address):
        referee.wait(timedelta(seconds=1))  # the same octets in the same second are one letter
        before = status(referee, ann)
        referee.deliver(old.replace(b"Message-ID: <", b"Message-ID: <again."), sender)
        assert "Refused; nothing was changed" in ann.text
        assert status(referee, ann) == before
    text = ann.filled("orders", "Rv4")
    for old_text, new_text in (
        *(("turn 2", "turn 1"), ("turn 2", "turn 99"), ("prev ", "prev 0"), ("rev 1", "rev 0"), ("m1", "m2")),
        *(("server play", "server other"), ("player ann", "player bob")),
    ):
        referee.send(ann, text.replace(old_text, new_text, 1))
        assert "Refused; nothing was changed" in ann.text, new_text
    referee.send(ann, text)
    stands = status(referee, ann)
    referee.send(ann, text)
    assert "Your orders for turn 2 stand, revision 1" in ann.text
    assert status(referee, ann) == stands
    higher = text.replace("rev 1", "rev 3").replace("Rv4", "Rv3")
    referee.send(ann, higher)
    stands = status(referee, ann)
    referee.send(ann, text.replace("\nrev 1", "\nrev 2").replace("Rv4", "Rv2"))
    assert "Refused; nothing was changed" in ann.text
    assert status(referee, ann) == stands


@pytest.mark.parametrize(
    "head",
    [
        "Authentication-Results: play.example; dkim=pass header.d=mail.example; spf=pass\n",
        "Authentication-Results: mx.evil.example; dkim=pass header.d=mail.example\n",
        "ARC-Authentication-Results: i=1; play.example; dkim=pass header.d=mail.example\n",
        "DKIM-Signature: v=1; a=rsa-sha256; d=mail.example; s=x; l=10; h=from; bh=AA==; b=AA==\n",
        "Received-SPF: pass\nX-Pgp-Verified: yes\nX-Signature-Status: good\n",
    ],
)
def test_case_24_what_headers_say_of_themselves(referee: Referee, head: str) -> None:
    ann, _ = referee.begun(SMALL, FLEETS)
    referee.deliver(referee.raw(ann, ann.filled("orders", "Rv5"), headers=head), ann.address)
    assert "Nothing shows that this letter came from you" in ann.text
    referee.deliver(referee.raw(ann, ann.filled("orders", "Rv5"), headers=sent_from(ann.address) + head), ann.address)
    assert "must be signed" in ann.text
    assert "You have submitted no orders" in status(referee, ann)


HOSTILE = ("a\r\nBcc: evil@x.example", "a\nBcc: evil@x.example", "a\rb", "a\x00b", "a\x0bb\x0c\x85\u2028\u2029c")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_case_27_what_strangers_write_into_headers(referee: Referee, hostile: str) -> None:
    ann = referee.person("ann")
    encoded = "".join(f"={octet:02X}" for octet in hostile.encode())
    head = (
        f"From: =?utf-8?q?{encoded}?= <ann@mail.example>\r\nSubject: =?utf-8?q?{encoded}?=\r\n"
        f"Message-ID: <x\x00y@mail.example>\r\nReferences: <a\x0b@b> <c@d>\r\n\r\nhelp\r\n"
    )
    referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), head.encode(), referee.now)
    referee.handle_waiting()
    row = referee.outbox.lease(referee.now)
    assert row is not None
    lines = row.raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
    names = [line.partition(b":")[0].lower() for line in lines if line[:1] not in b" \t"]
    assert b"bcc" not in names
    assert len(names) == len(set(names))
    assert not any(octet < 32 for line in lines for octet in line.lstrip(b" "))
    assert row.recipient == "ann@mail.example"
    composer = Composer("play.example", "pbem", Templates())
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says of the address
        composer.compose(
            f"ann@mail.example{hostile}", "x", Content("x"), message_id="<1@play.example>", date=RECEIVED
        )


@pytest.mark.parametrize("hostile", HOSTILE)
def test_case_27_what_reaches_an_smtp_command(hostile: str) -> None:
    smarthost = Smarthost(Config(server="play.example").smarthost, server="play.example")
    with pytest.raises(Permanent, match="no plain address"):
        asyncio.run(smarthost.send("pbem@play.example", f"ann@mail.example{hostile}", b"x"))


@pytest.mark.parametrize(
    ("head", "sender"),
    [
        ("", ""),
        ("Auto-Submitted: auto-replied\n", "ann@mail.example"),
        ("Precedence: bulk\n", "ann@mail.example"),
        ("List-Id: <l.example>\n", "ann@mail.example"),
        ("X-Loop: pbem@play.example\n", "ann@mail.example"),
        ("Received: x\n" * 51, "ann@mail.example"),
        ("Content-Type: multipart/report; report-type=delivery-status; boundary=b\n", "ann@mail.example"),
        ("Subject: Out of office: away\n", "ann@mail.example"),
        ("In-Reply-To: <1@play.example>\nX-Autoreply: yes\n", "ann@mail.example"),
    ],
    ids=["null sender", "auto", "bulk", "list", "loop", "hops", "DSN", "vacation", "autoreply"],
)
def test_case_28_automatic_mail_is_not_answered(referee: Referee, head: str, sender: str) -> None:
    """Without a proof it is neither obeyed nor answered; a first letter signed by a player's key is obeyed."""
    ann, _ = referee.begun(SMALL, FLEETS)
    before = len(ann.letters)
    for text in ("I am away.\n", referee.signed(ann, "resign m1 match\n").replace("m1", "m2")):
        raw = referee.raw(ann, text, headers=head)
        raw = raw.replace(b"Subject: orders\r\n", b"") if "Subject" in head else raw
        referee.deliver(raw, sender)
        number = referee.database.scalar("SELECT max(id) FROM inbox")
        assert referee.inbox.raw(number) == raw
        if "Subject" not in head or "away" in text:
            assert str(referee.inbox.outcome(number)[1]).startswith("automatic: ")
            assert len(ann.letters) == before
    if "report" in head:
        return  # it has no text that a key could sign
    sentence = referee.match().place | {"server": SERVER, "player": "ann", "prev": referee.match().prev, "rev": "1"}
    fields = "".join(f"{name} {value}\n" for name, value in sentence.items())
    referee.deliver(referee.raw(ann, referee.signed(ann, f"resign m1 match\n{fields}end\n"), headers=head), sender)
    assert referee.match().phase == "closed"


def test_case_30_the_deadline_race(referee: Referee) -> None:
    """Whichever is committed first counts: the replacement, or the turn that the clock resolves."""
    ann, bob = referee.begun("fleet: cost:3", FLEETS)
    referee.send(ann, ann.filled("orders", "Rv5"))
    referee.send(bob, bob.filled("orders", "final"))
    late = referee.raw(ann, referee.signed(ann, ann.filled("orders", "Rv4", rev=2)))
    referee.now += timedelta(minutes=10)
    referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), late, referee.now)
    referee.running.tick(referee.now)
    referee.work()
    assert "strike    Rv5  miss" in body(ann.find("turn 1"))
    assert "nothing was changed" in ann.text
    referee.send(ann, ann.filled("orders", "Rv4"))
    referee.send(bob, bob.filled("orders", "final"))
    early = referee.raw(ann, referee.signed(ann, ann.filled("orders", "Rv3", rev=2)))
    referee.now += timedelta(minutes=10)
    referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), early, referee.now)
    assert referee.running.handle_next(referee.now)
    referee.wait(timedelta(minutes=10))
    assert "strike    Rv3  hit" in body(ann.find("turn 2"))


def test_case_30_a_step_of_the_clock(referee: Referee) -> None:
    ann, bob = referee.begun("fleet: cost:3", FLEETS)
    referee.send(ann, ann.filled("orders", "Rv5"))
    referee.send(bob, bob.filled("orders", "final"))
    referee.wait(-timedelta(days=1))
    assert "turn 1" not in str(bob.last["Subject"])
    referee.wait(timedelta(days=1, minutes=10))
    assert [str(letter["Subject"]) for letter in bob.letters].count("[pbem m1] Spaceships, game 1, turn 1") == 1
    referee.wait(-timedelta(days=1))
    referee.wait(timedelta(days=2))
    assert [str(letter["Subject"]) for letter in bob.letters].count("[pbem m1] Spaceships, game 1, turn 1") == 1


def test_case_30_a_crash_in_a_turn(referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    """Result and reports in one transaction: a report that cannot be written leaves the turn unresolved."""
    ann, bob = referee.begun("fleet: cost:3", FLEETS)
    referee.send(ann, ann.filled("orders", "Rv5"))
    referee.send(bob, bob.filled("orders", "final"))
    entries = referee.database.scalar("SELECT count(*) FROM entries")
    send = referee.desk.letters.send
    left = [send]
    with monkeypatch.context() as patched:
        # The first report is written, the second breaks.

        def send_one(*given: Any) -> None:
            left.pop()(*given)

        patched.setattr(referee.desk.letters, "send", send_one)
        referee.now += timedelta(minutes=10)
        referee.running.tick(referee.now)
        assert not left
    assert referee.database.scalar("SELECT count(*) FROM entries") == entries
    assert referee.outbox.count("waiting") == 0
    referee.open_desk()
    referee.wait(timedelta(hours=1))
    assert referee.database.scalar("SELECT count(*) FROM entries") > entries
    for person in (ann, bob):
        assert "turn 1" in str(person.last["Subject"])
