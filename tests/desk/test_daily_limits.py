"""The counts of a day outlast the server that made them: one that is updated at noon goes on counting."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import SERVER, Mailbox, Referee, new, placed

from pbem.store.inbox import Envelope
from pbem.store.retention import count_today

if TYPE_CHECKING:
    from collections.abc import Callable


def stranger(referee: Referee, ann: Mailbox, _bob: Mailbox, _number: int) -> None:
    """A letter in Ann's name, from elsewhere."""
    referee.deliver(referee.raw(ann, "help\n"), "eve@elsewhere.example")


def unsigned(referee: Referee, ann: Mailbox, _bob: Mailbox, _number: int) -> None:
    """The letter by which she registered is counted already; the first that is too many is answered, too."""
    referee.send(ann, "help\n", sign=False)


def foreign_signature(referee: Referee, ann: Mailbox, _bob: Mailbox, _number: int) -> None:
    eve = referee.person("eve")
    referee.send(ann, referee.signed(eve, "whoami\n"), sign=False)


def proposal(referee: Referee, _ann: Mailbox, bob: Mailbox, number: int) -> None:
    referee.send(bob, new(bob, "spaceships", "ann", options=f"pace: {number}d"))


def outage(referee: Referee, _ann: Mailbox, _bob: Mailbox, _number: int) -> None:
    """Hours without the server, on the same day."""
    referee.now += timedelta(hours=5)
    referee.running.tick(referee.now)
    referee.collect()


def role(referee: Referee, _ann: Mailbox, _bob: Mailbox, _number: int) -> None:
    bytes_ = referee.raw(referee.person("eve"), "Your server writes to me.\n")
    referee.inbox.put(Envelope("eve@mail.example", (f"postmaster@{SERVER}",)), bytes_, referee.now)
    referee.work()


def new_address(referee: Referee, _ann: Mailbox, bob: Mailbox, number: int) -> None:
    """Bob says that Carl's mailbox is his."""
    referee.send(bob, f"address add carl@mail.example\n{placed(bob)}rev {number}\nend\n")


def question(referee: Referee, ann: Mailbox, _bob: Mailbox, number: int) -> None:
    """It is signed, and in words that no other has."""
    referee.send(ann, f"whoami\n{placed(ann)}rev {number}\nend\n")


@pytest.mark.parametrize(
    ("act", "mark", "most", "reader"),
    [
        (stranger, "answers to ann@mail.example", 3, "ann@mail.example"),
        (stranger, "answers to strangers", 200, "ann@mail.example"),
        (unsigned, "unsigned ann@mail.example", 50, "ann@mail.example"),
        (foreign_signature, "notices ann@mail.example", 10, "ann@mail.example"),
        (question, "signed for nothing key ann", 200, "ann@mail.example"),
        (proposal, "unasked ann", 3, "ann@mail.example"),
        (new_address, "address challenges bob", 5, "carl@mail.example"),
        (outage, "outages", 5, "operator@play.example"),
        (role, "letters passed on", 20, "operator@play.example"),
    ],
)
def test_what_was_counted_before_an_update_still_counts(
    referee: Referee, act: Callable[[Referee, Mailbox, Mailbox, int], None], mark: str, most: int, reader: str
) -> None:
    """By the marks in the store as version 0.6 wrote them."""
    referee.people["operator@play.example"] = referee.person("operator")
    referee.person("carl")
    ann, bob = referee.registered("ann"), referee.registered("bob")
    letters = referee.people[reader].letters
    with referee.database.transaction():
        for _ in range(most - 1):
            count_today(referee.database, mark, referee.now)
    before = len(letters)
    act(referee, ann, bob, 1)
    assert len(letters) == before + 1, "the last one of the day"
    act(referee, ann, bob, 2)
    assert len(letters) == before + 1
