"""What the sandbox is asked about a letter: once, before anything is decided on it; and when it is asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import SERVER, Referee, confirming, sent_from

from pbem.desk.reading import InProcess
from pbem.identity import ssh
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from in_a_box.referee import Mailbox

    from pbem.desk.reading import Question


class Listening(InProcess):
    """A reader that remembers what it was asked."""

    asked: list[Sequence[Question]]

    def ask(self, questions: Sequence[Question]) -> None:
        self.asked.append(questions)
        super().ask(questions)


@pytest.fixture
def asked(referee: Referee) -> list[Sequence[Question]]:
    """The questions that are asked together from now on."""
    reader = Listening(referee.config.limits)
    reader.asked = []
    referee.desk.reader = reader
    return reader.asked


def put(
    referee: Referee, person: Mailbox, text: str, key: Ed25519PrivateKey | None = None, *, sender: str = ""
) -> int:
    signed = text + ssh.sign(key or person.key, text.encode(), f"pbem@{SERVER}")
    return referee.inbox.put(
        Envelope(sender or person.address, (f"pbem@{SERVER}",)), referee.raw(person, signed), referee.now
    )


def chosen(rev: int, value: str = "digest") -> str:
    return f"set mail {value}\nserver {SERVER}\nplayer ann\nrev {rev}\n"


def test_a_letter_is_asked_about_once(referee: Referee, asked: list[Sequence[Question]]) -> None:
    """By the keys of whom the envelope names."""
    ann = referee.registered("ann")
    asked.clear()
    numbers = [put(referee, ann, chosen(1)), put(referee, ann, chosen(2, "each"))]
    referee.work()
    assert [len(questions) for questions in asked] == [2]
    assert [[key.public for key in one.keys or ()] for one in asked[0]] == [[ssh.public(ann.key)]] * 2
    assert [referee.inbox.outcome(number) for number in numbers] == [("done", "commands: set")] * 2


@pytest.mark.parametrize("sender", ["forwarder@list.example", "ANN@mail.example"])
def test_a_letter_by_another_than_its_envelope_names_is_read_by_that_ones_keys(
    referee: Referee, asked: list[Sequence[Question]], sender: str
) -> None:
    """Once more, before anything is decided, unless the keys are the same."""
    ann = referee.registered("ann")
    asked.clear()
    number = put(referee, ann, chosen(1), sender=sender)
    referee.work()
    assert [len(questions) for questions in asked] == [1] * (2 if "forwarder" in sender else 1)
    assert [key.public for key in asked[-1][0].keys or ()] == [ssh.public(ann.key)]
    assert referee.inbox.outcome(number) == ("done", "commands: set")
    assert referee.desk.players.setting("ann", "mail", "each") == "digest"


def test_a_machine_is_asked_nothing(referee: Referee, asked: list[Sequence[Question]]) -> None:
    ann = referee.person("ann")
    for envelope in (Envelope("", (f"pbem@{SERVER}",)), Envelope(ann.address, (f"postmaster@{SERVER}",))):
        referee.inbox.put(envelope, referee.raw(ann, "help\n"), referee.now)
    referee.work()
    ((first, second),) = asked
    assert [(first.keys, first.returned), (second.keys, second.returned)] == [(None, True), (None, False)]


def test_a_letter_whose_keys_were_changed_by_one_before_it_is_read_anew(
    referee: Referee, asked: list[Sequence[Question]]
) -> None:
    """It is decided on with the keys that count when its turn comes, and has failed at nothing.

    The key to be confirmed was not yet cached, either.
    """
    ann, bob = referee.registered("ann"), referee.registered("bob")
    new = referee.person("carl").key
    referee.send(ann, f"key add\n{ssh.public(new)}\n")
    form = confirming(ann)
    asked.clear()
    confirmed = put(referee, ann, form, new)
    later = put(referee, ann, chosen(1), new)
    last = put(referee, bob, f"set mail digest\nserver {SERVER}\nplayer bob\nrev 1\n")
    referee.work()
    assert [len(questions) for questions in asked] == [3, 2, 1]
    outcomes = [referee.inbox.outcome(number) for number in (confirmed, later, last)]
    assert outcomes == [("done", "commands: confirm"), ("done", "commands: set"), ("done", "commands: set")]
    assert referee.desk.players.setting("ann", "mail", "each") == "digest"


def test_what_the_dns_said_goes_with_the_question(referee: Referee, asked: list[Sequence[Question]]) -> None:
    ann = referee.person("ann")
    raw = referee.raw(ann, "register ann\n", headers=sent_from(ann.address))
    number = referee.inbox.put(Envelope(ann.address, (f"pbem@{SERVER}",)), raw, referee.now)
    with referee.database.transaction():
        referee.lookups.ask(number, ["s._domainkey.mail.example"], 1, referee.now)
    referee.records["s._domainkey.mail.example"] = "p="
    referee.work()
    assert [dict(one.records) for questions in asked for one in questions] == [{"s._domainkey.mail.example": "p="}]
