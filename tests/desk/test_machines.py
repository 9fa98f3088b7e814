"""Answering machines without any mark: few answers a day, and nothing done in their owner's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.keyless import answer, registered
from in_a_box.referee import ANN, BOB, Mailbox, Referee, body

from pbem.desk.daily_limits import NEW_MAILBOX, SAME_WORDS, SIGNED_FOR_NOTHING, WITHOUT_COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable

ENOUGH = SAME_WORDS.most + 1


def quote(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.split("\n"))


def proposed(referee: Referee) -> tuple[Mailbox, Mailbox]:
    """Ann has proposed m1 to Bob."""

    def propose() -> list[Mailbox]:
        ann, bob = registered(referee, "ann"), registered(referee, "bob")
        answer(referee, ann, "new spaceships with bob\nsettle: 0\nend\n")
        return [ann, bob]

    ann, bob = referee.opened("two without keys, proposed", propose)
    return ann, bob


def playing(referee: Referee) -> tuple[Mailbox, Mailbox]:
    """Both in the first turn of m1."""

    def begin() -> list[Mailbox]:
        ann, bob = proposed(referee)
        answer(referee, bob, "accept\n")
        answer(referee, ann, ANN)
        answer(referee, bob, BOB)
        return [ann, bob]

    ann, bob = referee.opened("two without keys, playing", begin)
    assert referee.match().phase == "playing"
    return ann, bob


def loop(referee: Referee, person: Mailbox, say: Callable[[str, int], str], most: int = 40) -> int:
    """A machine answers each letter that comes, within a day; the number that came."""
    at = first = len(person.letters)
    answer(referee, person, say(body(person.last), 0))
    while at < len(person.letters) and at - first < most:
        at = len(person.letters)
        answer(referee, person, say(body(person.last), at))
    return len(person.letters) - first


HELP_DESKS = {
    "reply above": "##- Please type your reply above this line -##\n\nYour request ({}) has been received.\n",
    "reply above, one paragraph": "##- Please type your reply above this line -##\nYour request ({}) was received.\n",
    "number": "# {}\n\nWe have received your message.\n",
    "number alone": "#{} opened\n",
    "rule": ",,,\n\nTicket {}\n",
}


@pytest.mark.parametrize("said", HELP_DESKS.values(), ids=HELP_DESKS)
@pytest.mark.parametrize("quotes", [False, True])
def test_a_comment_of_a_help_desk_orders_nothing(referee: Referee, said: str, quotes: bool) -> None:
    """To order nothing, a player says `final`; comments alone say nothing, or a machine's would be orders."""
    _, bob = playing(referee)
    came = loop(referee, bob, lambda text, number: said.format(number) + (quote(text) if quotes else ""))
    assert came <= WITHOUT_COMMAND.most
    assert not referee.match().orders


SAME = {
    "ok": lambda text, _: f"OK\n\n{quote(text)}",
    "yes": lambda text, _: f"yes\n\n{quote(text)}",
    "accept": lambda _text, _number: "accept\n",
    "help": lambda text, number: f"help\n\nTicket {number}\n\n{text}",
    "stop": lambda _text, _number: "stop\n",
    "unsubscribe": lambda _text, _number: "unsubscribe\n",
    "a setting": lambda _text, number: f"set timezone Europe/Berlin\n\nTicket {number}\n",
    "an echo": lambda text, _: text,
    "a quote without marks": lambda text, number: f"Ticket {number}:\n\n{text}",
}


@pytest.mark.parametrize("say", SAME.values(), ids=SAME)
def test_a_machine_that_says_the_same_is_answered_only_so_often(
    referee: Referee, say: Callable[[str, int], str]
) -> None:
    _, bob = playing(referee)
    assert loop(referee, bob, say) <= ENOUGH
    assert "looks like a machine" in " ".join(bob.text.split()) or "last answer today" in " ".join(bob.text.split())


def test_a_machine_whose_gateway_signs_is_answered_only_so_often(referee: Referee) -> None:
    """The gateway's key is the player's, so that nothing but the text shows a machine."""
    ann = referee.registered("ann")
    for said in ("I am away.", "games"):

        def say(_: str, number: int, words: str = said) -> str:
            return referee.signed(ann, f"{words}\n\n# {number}\n")

        assert loop(referee, ann, say) == SAME_WORDS.most
    answer(referee, ann, referee.signed(ann, "whoami\n"))
    assert "> whoami" in ann.text


@pytest.mark.parametrize("said", ["Report {} was received.", "Rules {} apply.", "confirm {}"])
def test_a_machine_whose_gateway_signs_what_is_refused_is_answered_only_so_often(referee: Referee, said: str) -> None:
    """Each begins like a command, and is another one."""
    ann = referee.registered("ann")
    most = SIGNED_FOR_NOTHING.most
    came = loop(referee, ann, lambda _, number: referee.signed(ann, said.format(number) + "\n"), most + 5)
    assert came == most
    answer(referee, ann, referee.signed(ann, "set timezone Europe/Berlin\n"))
    assert "> set timezone" in ann.text, "what has effect is answered"


def test_the_same_words_about_another_turn_are_answered(referee: Referee) -> None:
    ann, bob = playing(referee)
    for _ in range(SAME_WORDS.most + 1):
        answer(referee, bob, "help\n")
    before = len(bob.letters)
    answer(referee, bob, "Rv5 final\n")
    answer(referee, ann, "Gx3 final\n")
    assert len(bob.letters) == before + 2
    answer(referee, bob, "help\n")
    assert "> help" in bob.text


WEAK = ["Subject: Out of the office from Monday", "List-Unsubscribe: <https://relay.example/1>", "Precedence: bulk"]


@pytest.mark.parametrize("head", [*WEAK, "List-Id: <club.example>"])
def test_doubtful_words_at_a_live_reply_address_are_answered_under_weak_marks(referee: Referee, head: str) -> None:
    """A relay marks all that some people write; who hears nothing believes that the orders stand."""
    _, bob = proposed(referee)
    before = len(bob.letters)
    answer(referee, bob, "Yes. But three days, please.\n", head)
    assert len(bob.letters) == before + 1
    answer(referee, bob, "accept\n", head)
    before = len(bob.letters)
    answer(referee, bob, BOB.replace("Rv1", "Rv1 Rv9"), head)
    assert len(bob.letters) == before + 1
    assert "Rv9" in bob.text
    answer(referee, bob, "I am away until Monday.\n", head)
    assert len(bob.letters) == before + 1


AUTOMATIC = [
    "Precedence: auto_reply",
    "X-Precedence: auto_reply",
    "Preference: auto_reply",
    "X-Autogenerated: Reply",
    "X-AutoReply-From: bob@mail.example",
    "X-Mail-Autoreply: yes",
    "X-FC-MachineGenerated: true",
    "Auto-Submitted: auto-replied (vacation)",
]


@pytest.mark.parametrize("head", AUTOMATIC)
def test_an_answering_machine_with_a_mark_consents_to_nothing(referee: Referee, head: str) -> None:
    _, bob = proposed(referee)
    before = len(bob.letters)
    answer(referee, bob, f"Yes\n\n{quote(body(bob.last))}", head)
    answer(referee, bob, "accept\n", head)
    assert referee.match().phase == "proposed"
    assert len(bob.letters) == before
    answer(referee, bob, "accept\n", "X-Autogenerated: Redirect")
    assert referee.match().phase == "setup"


@pytest.mark.parametrize("registered", [True, False])
def test_a_machine_whose_gateway_signs_by_another_key_gets_few_notices(referee: Referee, registered: bool) -> None:
    """Or whose gateway breaks its signatures."""
    ann = referee.registered("ann") if registered else referee.person("ann")
    if not registered:
        answer(referee, ann, "help\n")
    came = loop(referee, ann, lambda _, number: referee.signed(ann, "I am here.\n").replace("here", f"away {number}"))
    assert came == WITHOUT_COMMAND.most
    assert "last answer today" in " ".join(ann.text.split())
    broken = referee.signed(ann, "games\n").replace("games", "whoami")
    assert loop(referee, ann, lambda _text, _number: broken) <= 20
    assert "was not accepted" in str(ann.last["Subject"])


@pytest.mark.parametrize(("local", "heard"), [("pbem-fan", True), ("pbem.fan", True), ("pbem+fan", False)])
def test_a_member_at_our_host_is_not_our_mailbox(referee: Referee, local: str, heard: bool) -> None:
    """However the address begins: only what stands behind our own delimiter is a sub-address of ours."""
    fan = referee.person("fan")
    fan.address = f"{local}@play.example"
    referee.people[fan.address] = fan
    lines = f"From: fan <{fan.address}>\nTo: pbem@play.example\nMessage-ID: <1@fan.example>\n\nregister fan\n"
    referee.deliver(lines.encode().replace(b"\n", b"\r\n"), fan.address)
    assert len(fan.letters) == heard


def from_many_addresses(referee: Referee, address: str, text: Callable[[Mailbox], str], most: int) -> int:
    """A help desk answers each letter from an address of its own; the number of letters that it got."""
    desk = referee.person("desk")
    answer(referee, desk, "help\n")
    for number in range(most + 5):
        before = len(desk.letters)
        desk.address = address.format(number)
        referee.people[desk.address] = desk
        answer(referee, desk, text(desk))
        if len(desk.letters) == before:
            break
    return len(desk.letters)


HELP_DESK: dict[str, Callable[[Referee], Callable[[Mailbox], str]]] = {
    "says nothing": lambda _: lambda _: "We have received your message.\n",
    "begins with a command": lambda _: lambda _: "Help desk\n\nWe have received your message.\n",
    "quotes": lambda _: lambda desk: f"Ticket\n\n{body(desk.last)}",
    "signs": lambda referee: lambda desk: referee.signed(desk, "We have received your message.\n"),
}


@pytest.mark.parametrize("says", HELP_DESK.values(), ids=HELP_DESK)
@pytest.mark.parametrize(
    ("address", "most"), [("ticket-{}@mail.example", NEW_MAILBOX.most), ("t+{}@mail.example", 40)]
)
def test_a_help_desk_that_answers_each_time_from_another_address_is_answered_only_so_often(
    referee: Referee, says: Callable[[Referee], Callable[[Mailbox], str]], address: str, most: int
) -> None:
    assert from_many_addresses(referee, address, says(referee), most) <= most + 1
    zoe = referee.person("zoe")
    for text in ("games\n", "games\n"):
        answer(referee, zoe, text)
    assert "> games" in zoe.text, "who writes again is answered"
    newcomer = referee.person("newcomer")
    answer(referee, newcomer, "register newcomer\n")
    assert newcomer.letters, "who registers is heard at the first letter"
