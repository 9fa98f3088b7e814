"""The way in from an invitation's page: one letter that its button writes, two answers, and the match begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from desk.test_keyless import Phones
from in_a_box.referee import body, confirming

from pbem.identity import ssh

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox, Referee


@pytest.fixture
def phones(referee: Referee) -> Phones:
    return Phones(referee)


def invited(phones: Phones, options: str = "settle: 0") -> tuple[Mailbox, Mailbox]:
    ann = phones.registered("ann")
    phones.reply(ann, f"new spaceships\n{options}\nend")
    return ann, phones.referee.person("carl")


def test_three_letters_lead_from_the_page_into_the_match(phones: Phones) -> None:
    _, carl = invited(phones)
    phones.reply(carl, "register carl m1")
    assert "\nregister carl m1\n" in body(carl.last)
    told = phones.reply(carl, "register carl m1")
    assert "You are registered as carl" in told
    assert "You have a seat in m1." in told
    phones.reply(carl, "yes", carl.find("m1"))
    assert phones.phase == "setup"
    assert phones.referee.match().names == ("ann", "carl")


def test_a_seat_that_is_gone_leaves_the_account(phones: Phones) -> None:
    ann, carl = invited(phones)
    phones.reply(carl, "register carl m1")
    phones.reply(ann, "withdraw m1")
    told = phones.reply(carl, "register carl m1")
    assert "You did not get the seat in m1" in told
    assert "not on the open list" in told
    assert phones.referee.desk.players.level("carl") == "mailbox"


def test_with_a_key_the_seat_comes_with_the_proof_of_it(referee: Referee) -> None:
    ann, dora = referee.registered("ann"), referee.person("dora")
    referee.send(ann, "new spaceships\nend\n")
    referee.send(dora, f"register dora m1\n{ssh.public(dora.key)}\n", sign=False)
    assert referee.match().names != ("ann", "dora")
    referee.send(dora, confirming(dora))
    assert any("You have a seat in m1." in dora.letters.text(at) for at in range(len(dora.letters)))
    assert referee.match().names == ("ann", "dora")
