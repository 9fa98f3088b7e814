"""Attacks of a stranger who can send any letters, from many addresses and in anybody's name."""

from __future__ import annotations

import base64
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from in_a_box.bounces import bounce, return_path
from in_a_box.keyless import HOME
from in_a_box.referee import SERVER, Referee, body
from machines.office import Office, serve
from signing.domains import Domain, rsa_key
from structlog.testing import capture_logs

from pbem.desk.strangers import EACH
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox

SPAM = "BUY-MY-PILLS"
EVE = "eve@elsewhere.example"


@pytest.fixture
def zoe(referee: Referee) -> Mailbox:
    """Somebody whose domain signs."""
    referee.records[HOME.where] = HOME.record
    return referee.person("zoe")


def forged(referee: Referee, victim: Mailbox, text: str, number: int = 0) -> None:
    """A letter with somebody's address above it, and words of Eve's in its headers."""
    raw = referee.raw(victim, text, subject=f"{SPAM} {number}", headers=f"X-{SPAM}: {SPAM}\n")
    referee.deliver(raw, EVE)


def test_signed_words_that_are_sent_again_bring_their_player_few_letters(referee: Referee) -> None:
    """Whatever a player signed is shown to others sooner or later."""
    ann = referee.registered("ann")
    words = referee.signed(ann, "games\n")
    referee.deliver(referee.raw(ann, words), ann.address)
    before = len(ann.letters)
    for number in range(8):
        forged(referee, ann, words, number)
    assert len(ann.letters) <= before + EACH
    assert all(SPAM not in letter.as_string() for letter in ann.letters[before:])


@pytest.mark.parametrize("added", ["", "To", "Cc", "Delivered-To", "DKIM-Signature"])
def test_a_letter_to_others_is_none_to_us_because_somebody_says_so_above_it(
    referee: Referee, zoe: Mailbox, added: str
) -> None:
    """Whoever got a letter of Zoe's, such as a mailing list, can send it here, and write more headers above it."""
    raw = HOME.sign(referee.raw(zoe, "help\n").replace(f"pbem@{SERVER}".encode(), b"list@example.org"), referee.now)
    more = f"{added}: pbem@{SERVER}\r\n" if added else ""
    if added == "DKIM-Signature":  # one that covers nothing but seems to cover much
        signature = HOME.craft(raw, headers=("from", "to", "to", "cc", "cc")).partition(b"\r\n")[0].decode()
        more = f"{signature[:-8]}AAAAAAA=\r\nTo: pbem@{SERVER}\r\n"
    for number in range(8):
        referee.deliver(f"X-{SPAM}: {number}\r\n{more}".encode() + raw, zoe.address)
    assert 0 < len(zoe.letters) <= EACH
    assert all("Nothing shows that this letter" in body(letter) for letter in zoe.letters)


@pytest.mark.parametrize(
    "to",
    [
        f'"pbem@{SERVER}" <eve@elsewhere.example>',
        f"pbem@{SERVER} <eve@elsewhere.example>",
        f"eve@elsewhere.example (pbem@{SERVER})",
        f'"<pbem@{SERVER}>, play" <eve@elsewhere.example>',
        f"pbem@{SERVER}: eve@elsewhere.example;",
    ],
)
def test_a_letter_to_others_is_none_to_us_because_they_are_called_like_us(
    referee: Referee, zoe: Mailbox, to: str
) -> None:
    """Whoever wrote to Zoe chose under which name she answers."""
    for number in range(8):
        letter = referee.raw(zoe, f"games\n# {number}\n").replace(f"To: pbem@{SERVER}".encode(), f"To: {to}".encode())
        referee.deliver(HOME.sign(letter, referee.now), zoe.address)
    assert len(zoe.letters) == EACH
    assert all("Nothing shows that this letter" in body(letter) for letter in zoe.letters)


@pytest.mark.parametrize(
    "to", [f"Pbem@{SERVER}", f'"a, b" <pbem+m1@{SERVER}>', f"x@y.example, <pbem@{SERVER}>", f"play: pbem@{SERVER};"]
)
def test_a_letter_to_us_is_known_however_it_says_so(referee: Referee, zoe: Mailbox, to: str) -> None:
    letter = referee.raw(zoe, "games\n").replace(f"To: pbem@{SERVER}".encode(), f"To: {to}".encode())
    referee.deliver(HOME.sign(letter, referee.now), zoe.address)
    assert "> games" in zoe.text


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("zoe@mail.example", ("from", "to", "subject")),
        ("zoe@mail.example", ("from", "subject")),
        (EVE, ("from", "to", "subject")),
        ("prvs=0129c1a5=zoe@mail.example", ("from", "to", "subject")),
        ("SRS0=HHHH=TT=mail.example=zoe@fwd.example", ("from", "to", "subject")),
    ],
)
def test_a_letter_to_us_that_its_domain_signed_is_answered_in_full_once(
    referee: Referee, zoe: Mailbox, path: str, headers: tuple[str, ...]
) -> None:
    """Forwarders and lists have their own return paths; whoever saw the letter can send it again for years."""
    raw = HOME.craft(referee.raw(zoe, "games\n"), headers=headers)
    for number in range(8):
        referee.deliver(f"X-{SPAM}: {number}\r\n".encode() + raw, path)
    assert "> games" in body(zoe.letters[0])
    assert len(zoe.letters) == 1 + EACH
    assert all("Nothing shows that this letter" in body(letter) for letter in zoe.letters[1:])
    assert all(SPAM not in letter.as_string() for letter in zoe.letters)
    # Another letter is another one.
    referee.deliver(HOME.craft(referee.raw(zoe, "games\n"), headers=("message-id", *headers)), path)
    assert "> games" in zoe.text


@pytest.mark.parametrize(
    ("to", "headers", "more"),
    [
        (f"pbem@{SERVER}", ("from", "subject"), ""),
        ("list@example.org", ("from", "subject"), f"To: pbem@{SERVER}\r\n"),
        ("list@example.org", ("from", "to", "subject"), f"To: pbem@{SERVER}\r\n"),
        ("list@example.org", ("from", "to", "subject"), f"Cc: pbem@{SERVER}\r\n"),
        ("list@example.org", ("from", "to", "subject"), f"Resent-To: pbem@{SERVER}\r\n"),
        ("list@example.org", ("from", "to", "to", "cc", "subject"), ""),
        (f"pbem@{SERVER}", ("from", "to", "subject"), f"To: pbem@{SERVER}\r\n"),
        (f"pbem@{SERVER}", ("from", "to", "subject"), "From: zoe@mail.example\r\n"),
        ("pbem@elsewhere.example", ("from", "to", "subject"), ""),
    ],
)
@pytest.mark.parametrize("path", [EVE, "postmaster@mail.example"])
def test_without_a_return_path_the_signature_must_cover_that_it_goes_to_us(
    referee: Referee, zoe: Mailbox, to: str, headers: tuple[str, ...], more: str, path: str
) -> None:
    letter = referee.raw(zoe, "games\n").replace(f"To: pbem@{SERVER}".encode(), f"To: {to}".encode())
    raw = more.encode() + HOME.craft(letter, headers=headers)
    for number in range(8):
        referee.deliver(f"X-{SPAM}: {number}\r\n".encode() + raw, path)
    assert len(zoe.letters) <= EACH
    assert all("Nothing shows that this letter" in body(letter) for letter in zoe.letters)


@pytest.mark.parametrize("change", ["another key", "no key", "no DNS", "l=", "expired", "body", "subdomain"])
def test_a_signature_that_fails_vouches_for_nobody_under_a_strangers_return_path(
    referee: Referee, zoe: Mailbox, change: str
) -> None:
    referee.records[HOME.where] = None if change == "no DNS" else "" if change == "no key" else HOME.record
    signer, tags = HOME, {}
    if change == "another key":
        signer = Domain("mail.example", key=rsa_key(1024, 1))
    elif change == "subdomain":
        signer = Domain("mail.example.evil.example", key=rsa_key(1024, 1))
        referee.records[signer.where] = signer.record
    elif change == "l=":
        tags = {"l": "4"}
    elif change == "expired":
        tags = {"x": str(int(referee.now.timestamp()) - 86_400)}
    raw = signer.craft(referee.raw(zoe, "games\n"), headers=("from", "to", "subject"), **tags)
    raw = raw.replace(b"games\r\n", b"games \r\nrules spaceships\r\n") if change in {"body", "l="} else raw
    for number in range(8):
        referee.deliver(f"X-{SPAM}: {number}\r\n".encode() + raw, EVE)
    for _ in range(4):  # the DNS is asked again
        referee.wait(timedelta(minutes=5))
    assert 0 < len(zoe.letters) <= EACH
    assert all("> games" not in body(letter) for letter in zoe.letters)


def test_an_rsa_signature_has_one_writing(referee: Referee, zoe: Mailbox) -> None:
    """Or the same letter would be a new one, again and again."""
    raw = HOME.craft(referee.raw(zoe, "games\n"))
    found = re.search(rb"; b=([A-Za-z0-9+/=]+)", raw)
    assert found is not None
    octets = base64.b64decode(found[1])
    modulus = HOME.key.public_key().public_numbers().n
    for number in (int.from_bytes(octets), int.from_bytes(octets) + modulus):
        other = base64.b64encode(number.to_bytes(132))
        referee.deliver(raw.replace(found[1], other), zoe.address)
    assert all("Nothing shows that this letter" in body(letter) for letter in zoe.letters)
    referee.deliver(raw.replace(found[1], b" ".join([found[1][:40], found[1][40:]])), zoe.address)
    assert "> games" in zoe.text


@pytest.mark.parametrize("domain", ["gmail.com", "googlemail.com"])
def test_dots_make_no_other_mailbox_where_their_provider_says_so(referee: Referee, domain: str) -> None:
    victims = []
    for number in range(1, 7):
        one = referee.person(f"victim{number}")
        one.address = f"{'victim'[:number]}.{'victim'[number:] or 'x'}@{domain}"
        one.address = one.address.replace(".x@", "@").upper() if number == 6 else one.address
        referee.people[one.address] = one
        victims.append(one)
        forged(referee, one, "help\n")
    assert sum(len(one.letters) for one in victims) == EACH


def test_letters_that_are_set_aside_reach_the_operator_in_few_letters(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = referee.person("operator")
    referee.people[f"operator@{SERVER}"] = operator
    eve = referee.person("eve")

    def fails(*_: Any) -> str:
        raise RuntimeError

    monkeypatch.setattr("pbem.desk.authenticate.Authentication.caller_of", fails)
    for number in range(30):
        referee.inbox.put(Envelope(EVE, (f"pbem@{SERVER}",)), referee.raw(eve, f"{number}\n"), referee.now)
    referee.work()
    assert referee.inbox.count("aside") == 30
    assert 0 < len(operator.letters) <= 10


def test_null_senders_do_not_fill_the_disk(referee: Referee) -> None:
    letters = [(Envelope("", (f"pbem@{SERVER}",), "192.0.2.0/24"), bytes([number])) for number in range(20)]
    kept = referee.inbox.put_all(letters, lambda: referee.now, 3)
    assert sum(row is not None for row in kept) <= 10


def test_browsers_do_not_fill_the_log() -> None:
    async def scene(office: Office) -> None:
        for _ in range(20):
            async with office.client() as client:
                await client.reply()
                assert (await client.say(b"GET / HTTP/1.1")).startswith("421")

    with capture_logs() as lines:
        serve(scene)
    assert 0 < len(lines) <= 3


def test_clients_that_err_on_purpose_do_not_fill_the_log() -> None:
    async def scene(office: Office) -> None:
        for _ in range(20):
            async with office.client() as client:
                await client.reply()
                await client.say(b"HELO x")
                for _ in range(20):
                    last = await client.say(b"DATA x")
                assert last.startswith("503")

    with capture_logs() as lines:
        serve(scene)
    assert 0 < len(lines) <= 3


def test_a_player_who_is_lost_and_found_all_day_fills_no_opponents_mailbox(referee: Referee) -> None:
    """Whoever got a letter knows its return path."""
    ann, bob = referee.begun()
    before = len(bob.letters)
    for number in range(10):
        referee.now += timedelta(minutes=1)
        bounce(referee, return_path(referee, ann), lost=ann.address)
        referee.now += timedelta(minutes=1)
        referee.send(ann, f"help\n# {number}\n")
    brought = [body(letter) for letter in bob.letters[before:]]
    assert 0 < len(brought) <= 6, len(brought)


@pytest.mark.parametrize(
    "texts",
    [
        ("extend m1 1d",),
        ("substitute m1 carl for ann", "substitute m1 none for ann"),
        ("vacation 2026-04-01 to 2026-04-03", "vacation off"),
    ],
)
def test_an_opponent_has_us_write_no_letters_without_end(referee: Referee, texts: tuple[str, ...]) -> None:
    ann, bob = referee.begun()
    referee.registered("carl")
    before = len(bob.letters)
    for number in range(24):
        for text in texts:
            referee.send(ann, f"{text}\n# {number}\n")
    assert 0 < len(bob.letters) - before <= 20
    assert "20 times a day; try again tomorrow" in " ".join(ann.text.split())
    # What decides the game is never refused for that.
    referee.send(ann, "resign m1 match\n")
    assert "Refused" not in ann.text


def test_letters_that_are_not_answered_use_up_no_answers_of_others(referee: Referee) -> None:
    limits = msgspec.structs.replace(referee.config.limits, answers_to_strangers=5)
    referee.configure(limits=limits)
    victim, zoe = referee.person("victim"), referee.person("zoe")
    for number in range(8):
        forged(referee, victim, "help\n", number)
    assert len(victim.letters) == EACH
    referee.deliver(referee.raw(zoe, "help\n"), zoe.address)
    assert len(zoe.letters) == 1


def test_one_letter_comes_back_once(referee: Referee) -> None:
    """Or a player makes the own clock stand since the turn began, whenever time runs out."""
    ann, _ = referee.begun()
    path = return_path(referee, ann)
    bounce(referee, path, lost=ann.address)
    referee.now += timedelta(days=1)
    referee.send(ann, "help\n")
    assert referee.desk.players.unreachable("ann") is None
    bounce(referee, path, status="5.1.2", lost=ann.address)
    assert referee.desk.players.unreachable("ann") is None
