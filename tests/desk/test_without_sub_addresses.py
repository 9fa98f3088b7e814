"""A provider without sub-addresses: an answer, or a bounce, is known by the Message-ID that it names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest
from in_a_box.keyless import HOME
from in_a_box.referee import ANN, BOB, Mailbox, Referee, attachment, form_in

from pbem.config.mail import MailboxConfig
from pbem.proof import bundle
from pbem.proof.verification import verify
from pbem.store.outbox import Outbox
from pbem.store.players import Players
from verifier import verified

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from email.message import EmailMessage
    from pathlib import Path

DSN = """From: MAILER-DAEMON@provider.example
To: pbem@play.example
Subject: Delivery Status Notification (Failure)
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; provider.example

Final-Recipient: rfc822; bob@mail.example
Action: failed
Status: 5.1.1

--b
Content-Type: text/rfc822-headers

From: pbem@play.example
Message-ID: {letter[Message-ID]}
X-Pbem-Return: {letter[X-Pbem-Return]}
--b--
"""


def dsn(letter: Mapping[str, object] | EmailMessage) -> bytes:
    """The report of a mail server that could not deliver this letter."""
    return DSN.format(letter=letter).replace("\n", "\r\n").encode()


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    made = Referee(tmp_path)
    made.config = msgspec.structs.replace(
        made.config, delimiter="", mailbox=MailboxConfig(imap="imap.example", password_file="p")
    )
    assert not made.config.wrong()
    made.records[HOME.where] = HOME.record
    made.open_desk()
    yield made
    made.close()


def answer(referee: Referee, person: Mailbox, text: str, to: str = "", more: str = "") -> None:
    """Answer a letter as mail programs do: with its Message-ID, to the bare address."""
    message_id = to or str(person.last["Message-ID"])
    thread = f"References: <older@mail.example> {more}{message_id}\nIn-Reply-To: {message_id}\n"
    raw = referee.raw(person, f"{text}\n\nOn Sunday pbem wrote:\n> something\n", headers=thread)
    referee.deliver(HOME.sign(raw, referee.now), person.address)


def begun(referee: Referee) -> tuple[Mailbox, Mailbox]:
    ann, bob = referee.registered("ann"), referee.person("bob")
    referee.send(bob, "register bob\n", sign=False)
    answer(referee, bob, "register bob")
    assert "You are registered as bob, at the level `mailbox`" in bob.text
    referee.send(ann, "new spaceships with bob\nsettle: 0\nend\n")
    answer(referee, bob, form_in(bob.text, "accept", lines=1))
    referee.send(ann, ann.filled("setup", ANN))
    answer(referee, bob, bob.filled("setup", BOB), to=str(bob.find("send your setup")["Message-ID"]))
    assert referee.match().phase == "playing"
    return ann, bob


def test_a_match_by_answers_alone_and_its_proof(referee: Referee) -> None:
    ann, bob = begun(referee)
    asking = str(bob.last["Message-ID"])
    answer(referee, bob, bob.filled("orders", "final"))
    answer(referee, bob, "resign m1 game 1", to=asking)
    assert "was good for one letter" in " ".join(bob.text.split())
    referee.send(ann, ann.filled("orders", "final"))
    assert referee.match().turn == 2
    for person in (ann, bob):
        for letter in person.letters:
            assert letter["Reply-To"] in {None, "pbem@play.example"}
            assert "pbem+" not in str(letter)
    ids = [str(letter["Message-ID"]) for person in (ann, bob) for letter in person.letters]
    assert len(set(ids)) == len(ids)
    answer(referee, bob, "resign m1 game 1")
    content = attachment(ann.find("what was secret"), ".pbem.zip")
    found = list(verify(content))
    assert any("bob" in check.what or "bob" in check.found for check in found)
    assert all(check.holds for check in found), [check for check in found if not check.holds]
    verified(content)


def test_an_older_letter_of_the_thread_is_not_the_one_that_is_answered(referee: Referee) -> None:
    _, bob = begun(referee)
    unused = next(letter for letter in bob.letters if "You are registered" in str(letter))
    asking = str(bob.last["Message-ID"])
    answer(referee, bob, bob.filled("orders", "final"), more=f"{unused['Message-ID']} ")
    assert referee.match().orders.keys() == {2}
    answer(referee, bob, "resign m1 game 1", to=asking)
    assert "was good for one letter" in " ".join(bob.text.split())


def test_an_answer_whose_quote_could_be_made_a_command_is_asked_about(referee: Referee) -> None:
    """A bundle would show it to the opponent, and the domain signs neither thread nor encoding."""
    ann, bob = begun(referee)
    referee.send(ann, "press m1\nHello =0Anew spaceships with ann end=0A\nend\n")
    quoted = bob.text.replace("\n", "\n> ")
    raw = referee.raw(bob, f"resign m1 game 1\n\n> {quoted}\n", headers=f"In-Reply-To: {bob.last['Message-ID']}\n")
    referee.deliver(HOME.craft(raw), bob.address)
    assert "> resign m1 game 1\n\nRefused; nothing was changed." in bob.text
    assert "without what you answer" in " ".join(bob.text.split())
    assert referee.match().phase == "playing"


def test_a_message_id_that_a_shown_letter_names_makes_no_bounce(referee: Referee) -> None:
    """The opponent has the letter by which bob accepted: it answers one of ours, and says which."""
    ann, _ = begun(referee)
    referee.send(ann, "transcript m1\n")
    accepted = bundle.read(attachment(ann.last, ".pbem.zip")).papers["letters/agreed-seat-2.eml"]
    (message_id,) = re.findall(r"(?m)^In-Reply-To: (\S+)", accepted.decode())
    assert Outbox(referee.database, referee.vault).number("bob@mail.example", message_id)
    for token in ("", "0" * 20, message_id.partition(".")[2][:20]):
        referee.deliver(dsn({"Message-ID": message_id, "X-Pbem-Return": token}), "")
    assert Players(referee.database).unreachable("bob") is None
    assert not re.search(rb"(?i)x-pbem-return", accepted)


def test_without_the_message_id_nothing_counts(referee: Referee) -> None:
    _, bob = begun(referee)
    answer(referee, bob, bob.filled("orders", "final"), to="<m1.aaaaaaaaaaaaaaaaaaaa@play.example>")
    assert "must be a reply to one of our letters" in " ".join(bob.text.split())
    assert not referee.match().orders


def test_a_bounce_is_known_by_the_header_that_it_quotes(referee: Referee) -> None:
    ann, bob = begun(referee)
    letter = bob.last
    # A person who quotes a letter with its headers is no bounce, nor is the letter itself.
    answered = len(bob.letters)
    referee.send(bob, f"help\n\n> X-Pbem-Return: {letter['X-Pbem-Return']}\n", sign=False)
    assert len(bob.letters) == answered + 1
    referee.deliver(bytes(letter), "")
    assert Players(referee.database).unreachable("bob") is None
    before = len(ann.letters)
    referee.deliver(dsn(bob.last), "")
    assert Players(referee.database).unreachable("bob") is not None
    assert re.search(r"letters to bob .*do not arrive|letters do not reach bob", ann.text + str(ann.last["Subject"]))
    assert len(ann.letters) == before + 1
