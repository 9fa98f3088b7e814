"""Letters that somebody makes the server send to people who never wrote to it: few, short, with no word of theirs."""

from __future__ import annotations

import email.utils
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
import pytest
from in_a_box.referee import SERVER, Mailbox, Referee, form_in, new, sent_from

from pbem.desk.daily_limits import WITHOUT_COMMAND
from pbem.desk.strangers import EACH
from pbem.identity import ssh
from pbem.mail.mail_addresses import without_tags
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from email.message import EmailMessage


SPAM = "BUY-MY-PILLS"


def forged(referee: Referee, victim: Mailbox, text: str, sender: str = "eve@elsewhere.example") -> None:
    """A letter with somebody's address above it."""
    referee.deliver(referee.raw(victim, text, subject=SPAM, headers=f"X-{SPAM}: {SPAM}\n"), sender)


def plain(letter: EmailMessage) -> str:
    return " ".join(str(letter.get_body(("plain",)).get_content()).split())  # type: ignore[union-attr]  # each has a text


@pytest.mark.parametrize(
    "text",
    [
        "help",
        "rules spaceships",
        f"register {SPAM}",
        "sheet spaceships",
        f"{SPAM}\nhelp",
        f"new {SPAM}",
        "help\n" * 500,
        "stop",
    ],
)
@pytest.mark.parametrize("sender", ["", "eve@elsewhere.example", "victim@mail.example"])
def test_case_35_an_address_gets_three_short_letters_a_day(referee: Referee, text: str, sender: str) -> None:
    victim = referee.person("victim")
    for _ in range(8):
        forged(referee, victim, text, sender or "x@elsewhere.example")
    most = 3 + text.startswith("register")
    assert 0 < len(victim.letters) <= most
    for letter in victim.letters:
        assert SPAM not in letter.as_string().upper()
        assert not list(letter.iter_attachments())
    referee.wait(timedelta(days=1))
    forged(referee, victim, text)
    assert len(victim.letters) <= most + 1


def under_many_addresses(referee: Referee, count: int) -> list[Mailbox]:
    """A mailbox, and others whose letters it gets as well."""
    found = [referee.person("victim")]
    for number in range(1, count):
        one = referee.person(f"victim{number}")
        one.address = f"{'Victim' if number % 2 else 'victim'}+{number}@mail.example"
        referee.people[one.address] = one
        found.append(one)
    return found


@pytest.mark.parametrize("text", ["help\n", "stop\n"])
def test_case_35_what_goes_to_one_mailbox_under_many_addresses_is_counted_together(
    referee: Referee, text: str
) -> None:
    victims = under_many_addresses(referee, 9)
    dotted = ("vic.tim@gmail.com", "victim@googlemail.com", "victim+1@gmail.com", "v.ictim@gmail.com")
    for one, address in zip(victims[:4], dotted, strict=True):
        one.address = address
        referee.people[one.address] = one
    for one in victims:
        forged(referee, one, text)
    assert [sum(len(one.letters) for one in some) for some in (victims[:4], victims[4:])] == [EACH, EACH]


def test_case_35_all_such_answers_together_are_limited(referee: Referee) -> None:
    limits = msgspec.structs.replace(referee.config.limits, answers_to_strangers=5)
    referee.configure(limits=limits)
    victims = [referee.person(f"victim{number}") for number in range(9)]
    for one in victims:
        forged(referee, one, "help\n")
    assert sum(len(one.letters) for one in victims) == 5
    # Who is vouched for is answered all the same, and so is a player.
    honest = referee.person("honest")
    referee.send(honest, "help\n", sign=False)
    assert "Write commands one below the other" in honest.text


def test_letters_beyond_the_limits_are_answered_no_more_often(referee: Referee) -> None:
    victim = referee.person("victim")
    parts = "".join(f"--b\n\n{number}\n" for number in range(60))
    for number in range(8):
        raw = (
            f"From: {victim.address}\nSubject: {SPAM} {number}\nMIME-Version: 1.0\n"
            f"Content-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n"
        )
        referee.deliver(raw.replace("\n", "\r\n").encode(), victim.address)
    assert len(victim.letters) == EACH
    assert "could not be read" in victim.text
    assert f"at most {EACH} such answers a day" in plain(victim.last)
    assert all(SPAM not in letter.as_string().upper() for letter in victim.letters)


def test_words_that_changed_nothing_yet_are_obeyed_though_no_answer_is_left(referee: Referee) -> None:
    """Somebody read them on their way, had a copy refused by a date above it, and used up the short answers."""
    ann, bob = referee.begun()
    said = referee.raw(ann, referee.signed(ann, ann.filled("orders", "Gx3")))
    referee.deliver(b"Date: Mon, 1 Jan 2001 00:00:00 +0000\r\n" + said, "eve@elsewhere.example")
    assert "cannot be right" in plain(ann.last)
    for _ in range(EACH):
        forged(referee, ann, "help")
    referee.deliver(said, ann.address)
    assert "Your orders for turn 1 stand" in ann.text
    before = len(ann.letters), len(bob.letters)
    for number in range(3):
        referee.deliver(b"X-Number: %d\r\n" % number + said, "eve@elsewhere.example")
    assert (len(ann.letters), len(bob.letters)) == before


@pytest.mark.parametrize("text", ["status\n", "resign m9 match\n", "address add other@mail.example\n"])
def test_copies_of_words_without_effect_bring_few_letters(referee: Referee, text: str) -> None:
    ann, other = referee.registered("ann"), referee.person("other")
    said = referee.raw(ann, referee.signed(ann, text))
    for number in range(EACH + 4):
        if number == EACH + 1:
            before = len(ann.letters), len(other.letters)
        referee.deliver(b"X-Number: %d\r\n" % number + said, "eve@elsewhere.example")
    assert (len(ann.letters), len(other.letters)) == before


@pytest.mark.parametrize("text", [f"help {SPAM}", f"rules {SPAM}", "register help"])
def test_what_is_refused_says_why_without_the_words(referee: Referee, text: str) -> None:
    victim = referee.person("victim")
    number = referee.inbox.put(
        Envelope("eve@elsewhere.example", (f"pbem@{SERVER}",)), referee.raw(victim, f"{text}\n"), referee.now
    )
    referee.work()
    assert referee.inbox.outcome(number)[0] == "done"
    (letter,) = victim.letters
    assert SPAM not in letter.as_string().upper()
    assert "Refused" in plain(letter)


def test_a_newcomer_who_looked_around_first_can_still_register(referee: Referee) -> None:
    zoe = referee.person("zoe")
    for text in ("help", "games", "rules spaceships", "help", "games"):
        referee.deliver(referee.raw(zoe, f"{text}\n"), zoe.address)
    assert len(zoe.letters) == EACH
    for _ in range(3):
        referee.deliver(referee.raw(zoe, f"register zoe\n{ssh.public(zoe.key)}\n"), zoe.address)
    assert len(zoe.letters) == EACH + 1
    referee.deliver(
        referee.raw(zoe, referee.signed(zoe, form_in(zoe.text, "confirm").replace("NAME", "zoe"))), zoe.address
    )
    assert "You are registered as zoe" in plain(zoe.last)


@pytest.mark.parametrize("path", ["dora+games@mail.example", "Dora@mail.example", "prvs=0129c1a5=dora@mail.example"])
def test_a_return_path_of_its_senders_mailbox_is_vouched_for_however_it_is_written(
    referee: Referee, path: str
) -> None:
    dora = referee.person("dora")
    for text in ("help", "games", "rules spaceships", f"register dora\n{ssh.public(dora.key)}"):
        referee.deliver(referee.raw(dora, f"{text}\n", headers=sent_from(path)), without_tags(path))
    assert all("Nothing shows that this letter" not in plain(letter) for letter in dora.letters)
    assert "> games" in "".join(map(plain, dora.letters))
    assert form_in(dora.text, "confirm")


@pytest.mark.parametrize(
    ("named", "path"),
    [
        *((path, path) for path in ("victim-1@mail.example", "victim@elsewhere.example", "eve@elsewhere.example")),
        *((f"{tag}=victim@elsewhere.example",) * 2 for tag in ("SRS0=HHHH=TT=mail.example", "prvs=0129c1a5")),
        ("victim+mail=example@elsewhere.example", "victim+mail=example@elsewhere.example"),
        ("victim@mail.example", "eve@elsewhere.example"),
    ],
)
def test_the_word_of_our_server_is_about_the_domain_that_it_names(referee: Referee, named: str, path: str) -> None:
    """Whoever may send for a domain writes any return path under it, with any tags."""
    victim = referee.person("victim")
    raw = referee.raw(victim, f"games\n{SPAM}\n", headers=sent_from(named))
    for number in range(8):
        referee.deliver(b"X-Number: %d\r\n" % number + raw, without_tags(path))
    assert len(victim.letters) == EACH
    assert all("Nothing shows that this letter" in plain(letter) for letter in victim.letters)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("transcript m1\nThank you {number}\n", 5),
        ("press m1\nHi {number}.\nend\n", 50),
        ("new spaceships\npace: {number} d\nend\n", 30),
    ],
)
def test_what_makes_letters_is_limited_by_the_day(referee: Referee, text: str, most: int) -> None:
    ann, _ = referee.agreed()
    refused = 0
    for number in range(1, most + 4):
        referee.send(ann, text.format(number=number))
        if "times a day; try again tomorrow" in plain(ann.last):
            refused += 1
        elif text.startswith("new"):
            referee.send(ann, f"decline m{number + 1}\n")
    assert refused == 3 + text.startswith("new")  # the match that was agreed on was one
    # Nobody else can use them up: unsigned ones count for themselves.
    referee.wait(timedelta(days=1))
    if text.startswith("transcript"):
        for _ in range(most + 1):
            referee.send(ann, text, sign=False)
        assert "try again tomorrow" in plain(ann.last)
        referee.send(ann, text.format(number="once more"))
        assert "try again tomorrow" not in plain(ann.last)


def test_case_35_bounces_of_answers_to_strangers_are_told_to_nobody(referee: Referee, operator: Mailbox) -> None:
    victim = referee.person("victim")
    envelope = Envelope("eve@elsewhere.example", (f"pbem@{SERVER}",))
    referee.inbox.put(envelope, referee.raw(victim, "help\n"), referee.now)
    referee.handle_waiting()
    row = referee.outbox.lease(referee.now)
    assert row is not None
    with referee.database.transaction():
        referee.outbox.failed(row.id, "550 unknown", referee.now, None)
    referee.work()
    assert len(operator.letters) == 0


@pytest.mark.parametrize(
    ("text", "signed", "most", "last"),
    [
        (
            "I am away.\n",
            False,
            WITHOUT_COMMAND.most,
            "This is the last answer today (UTC) to a letter from you without a command",
        ),
        ("help\n", False, 110, "Until tomorrow (UTC) such letters are read, but not answered"),
        ("I am away.\n", True, 110, ""),
    ],
)
@pytest.mark.parametrize("registered", [False, True])
def test_case_28_a_machine_that_answers_all_our_letters_is_answered_only_so_often(
    referee: Referee, registered: bool, text: str, signed: bool, most: int, last: str
) -> None:
    """It marks its letters in no way, and answers to each Reply-To; perhaps it signs, by a key of its own."""
    away, machine = referee.registered("away") if registered else referee.person("away"), referee.person("machine")
    text, before = referee.signed(machine, text) if signed else text, len(away.letters)

    def answer() -> int:
        to = email.utils.parseaddr(str(away.last["Reply-To"] or ""))[1] if away.letters else ""
        raw = referee.raw(away, text, headers=sent_from(away.address)).replace(
            b"To: pbem@play.example", f"To: {to or f'pbem@{SERVER}'}".encode()
        )
        referee.deliver(raw, away.address, to or f"pbem@{SERVER}")
        return len(away.letters)

    count = 0
    while count != (count := answer()):
        assert count - before <= most
    assert last in plain(away.last)
    referee.wait(timedelta(days=1))
    assert answer() == count + 1


def test_case_35_a_mailbox_is_invited_once_under_all_its_addresses(referee: Referee) -> None:
    victims, mallory = under_many_addresses(referee, 6), referee.registered("mallory")
    for first in (0, 3):
        invited = [one.address for one in victims[first : first + 3]]
        referee.send(mallory, new(mallory, "shoot-em-up", *invited, options="seats: 4"))
    assert "No invitation was sent" in plain(mallory.last)
    assert sum(len(one.letters) for one in victims) == 1


def test_case_35_who_wants_no_mail_or_plays_here_is_invited_under_no_other_address(referee: Referee) -> None:
    victims, mallory = under_many_addresses(referee, 3), referee.registered("mallory")
    silent = referee.registered("silent")
    referee.send(silent, f"stop\nserver {SERVER}\nplayer silent\nend\n")
    other = referee.person("other")
    other.address = "silent+1@mail.example"
    referee.people[other.address] = other
    referee.send(mallory, new(mallory, "spaceships", other.address))
    referee.send(mallory, f"address add {other.address}\n")
    assert not other.letters
    player = referee.registered("victim")
    referee.send(mallory, new(mallory, "spaceships", victims[1].address))
    assert not victims[1].letters
    assert "mallory" not in player.text


def test_case_35_players_who_say_that_a_mailbox_is_theirs_write_three_letters_there_a_day(referee: Referee) -> None:
    victims = under_many_addresses(referee, 6)
    for number, one in enumerate(victims):
        mallory = referee.registered(f"mallory{number}")
        referee.send(mallory, f"address add {one.address}\n")
    assert "enough letters went there today" in plain(mallory.last)
    assert sum(len(one.letters) for one in victims) == EACH


def test_case_35_what_players_have_written_to_others_is_limited_in_all(referee: Referee) -> None:
    limits = msgspec.structs.replace(referee.config.limits, answers_to_strangers=5)
    referee.configure(limits=limits)
    victims = [referee.person(f"victim{number}") for number in range(9)]
    for first in range(0, 9, 3):
        mallory = referee.registered(f"mallory{first}")
        invited = [one.address for one in victims[first : first + 3]]
        referee.send(mallory, new(mallory, "shoot-em-up", *invited, options="seats: 4"))
    assert sum(len(one.letters) for one in victims) == 5
