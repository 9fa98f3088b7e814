"""Nobody is unheard: odd headers, subjects and MIME shapes decide at most that nothing is answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from in_a_box.keyless import HOME, PBEM, answer, craft, registered, reply_to
from in_a_box.referee import SERVER, Referee
from signing import cms_maker
from signing.domains import Domain, rsa_key
from signing.dresses import clear_signed_file, part

from pbem.desk import outcomes
from pbem.desk.daily_limits import NEW_MAILBOX, WITHOUT_COMMAND
from pbem.desk.outcomes import Silence

if TYPE_CHECKING:
    from collections.abc import Callable

SILENCES = [one for one in vars(outcomes).values() if isinstance(one, Silence)]


def outcome(referee: Referee) -> str:
    number = referee.database.scalar("SELECT max(id) FROM inbox")
    return str(referee.inbox.outcome(int(str(number)))[1])


def mixed(*texts: str) -> tuple[str, str]:
    """A letter of several texts with a picture between them: the header, and the body."""
    picture = "Content-Type: image/png; name=board.png\nContent-Disposition: inline\n\nx"
    parts = [piece for text in texts for piece in (f"Content-Type: text/plain\n\n{text}", picture)]
    return 'Content-Type: multipart/mixed; boundary="P"', "".join(f"--P\n{part}\n" for part in parts) + "--P--\n"


PERSONS = [
    "Subject: On vacation from Monday",
    "Subject: Out of the office",
    "Subject: Undeliverable orders, second try",
    "Subject: Abwesenheit im Dezember",
    "List-Unsubscribe: <https://relay.example/u/1>",
    "Precedence: bulk",
    "List-Id: <club.example>",
    "Auto-Submitted:",
    f"Message-ID: <1@{SERVER}>",
    "From: ann@mail.example <ann@mail.example>",
    "From: Ann@Mail.example <ann@mail.example>",
    "From: 'ann@mail.example' <ann@mail.example>",
    "From: Mueller, Ann <ann@mail.example>",
    "From: Ann @ Home <ann@mail.example>",
    "From: Ann <ann@mail.example >",
    "From: Ann :( <ann@mail.example>",
    "From: mailto:ann@mail.example",
    "From: ann <ann@mail.example>,",
]


@pytest.mark.parametrize("head", PERSONS)
def test_what_a_key_signed_is_obeyed_and_answered(referee: Referee, head: str) -> None:
    ann = referee.registered("ann")
    referee.deliver(craft(referee.signed(ann, "set timezone Europe/Berlin\n"), head), ann.address)
    before = len(ann.letters)
    sentence = f"vacation 2031-12-20 to 2031-12-24\nserver {SERVER}\nplayer ann\nrev 7\n"
    referee.deliver(craft(referee.signed(ann, sentence), head), ann.address)
    assert "2031-12-20" in ann.text or "20 December 2031" in ann.text, outcome(referee)
    assert len(ann.letters) == before + 1


QUOTE = "On 3 May 2026, 10:15, pbem wrote:\n> Your orders\n\n"


@pytest.mark.parametrize("above", ["press m1\nI shall be late.\nend\n\n", "Hello,\nI shall be late.\n\n", QUOTE, ""])
def test_words_above_a_signed_form_are_told_to_be_left_out(referee: Referee, above: str) -> None:
    ann, bob = referee.begun()
    referee.deliver(referee.raw(ann, above + referee.signed(ann, ann.filled("orders", "Gx3"))), ann.address)
    assert "Your orders for turn 1 stand" in ann.text
    assert ("above the signed text of your letter does not count" in ann.text) is ("late" in above)
    assert "late" not in bob.text


@pytest.mark.parametrize(("old", "new"), [("accept m1 ", "accept m1\n"), (" ", "\u00a0"), ("accept", "ac\u200bcept")])
def test_a_signed_form_that_mail_programs_changed_stands_below_nothing(referee: Referee, old: str, new: str) -> None:
    """Many break the line that accepts a match, which has 74 characters."""
    ann, bob = map(referee.registered, ("ann", "bob"))
    referee.send(ann, "new spaceships with bob\nend\n")
    signed = referee.signed(bob, f"accept m1 {referee.match().rules_hash}\nserver {SERVER}\nplayer bob\nrev 1\n")
    referee.deliver(referee.raw(bob, signed.replace(old, new, 1)), bob.address)
    assert "Accepted" in bob.text
    assert "above the signed text" not in bob.text


MACHINES = [
    "Auto-Submitted: auto-replied",
    "X-Autoreply: yes",
    f"X-Loop: {PBEM}",
    "\r\n".join(["Received: x"] * 51),
]


@pytest.mark.parametrize("head", MACHINES)
def test_words_that_were_signed_before_are_a_machines(referee: Referee, head: str) -> None:
    ann = referee.registered("ann")
    text = referee.signed(ann, "set timezone Europe/Berlin\n")
    referee.deliver(craft(text), ann.address)
    before = len(ann.letters)
    referee.deliver(craft(text, head), ann.address)
    assert outcome(referee).startswith("automatic: ")
    assert len(ann.letters) == before


@pytest.mark.parametrize("head", PERSONS[9:])
def test_a_malformed_from_gets_an_answer_without_a_key(referee: Referee, head: str) -> None:
    ann = referee.person("ann")
    referee.deliver(HOME.sign(craft("help\n", head), referee.now), ann.address)
    assert "register" in ann.text


def test_a_malformed_from_proves_no_mailbox(referee: Referee) -> None:
    cy = registered(referee, "cy")
    answer(referee, cy, "set timezone Europe/Berlin\n", "From: Cy, home <cy@mail.example>")
    assert referee.desk.players.setting("cy", "timezone", "") == ""
    assert "From" in cy.text
    answer(referee, cy, "set timezone Europe/Berlin\n")
    assert referee.desk.players.setting("cy", "timezone", "") == "Europe/Berlin"


def test_the_mailbox_speaks_through_an_empty_envelope(referee: Referee) -> None:
    cy = registered(referee, "cy")
    answer(referee, cy, "set timezone Europe/Berlin\n", envelope="")
    assert referee.desk.players.setting("cy", "timezone", "") == "Europe/Berlin"
    assert outcome(referee).startswith("obeyed: ")


def test_a_letter_of_ours_that_comes_round_is_known_by_its_keyed_mark(referee: Referee) -> None:
    ann = referee.registered("ann")
    own = str(ann.last["Message-ID"])
    before = len(ann.letters)
    referee.deliver(craft(referee.signed(ann, "whoami\n"), f"Message-ID: {own}"), ann.address)
    assert outcome(referee) == "our own letter"
    mark, _, rest = own.partition(".")
    referee.deliver(
        craft(referee.signed(ann, "whoami\n"), f"Message-ID: <{'0' * (len(mark) - 1)}.{rest}"), ann.address
    )
    assert len(ann.letters) == before + 1


@pytest.mark.parametrize(
    "head",
    [
        "From: ann <ann@mail.example>, bob <bob@mail.example>",
        "From: bob@mail.example <ann@mail.example>",
        "From:",
        "From: ann <ann@mail.example>\r\nFrom: ann <ann@mail.example>",
    ],
)
def test_an_unclear_sender_brings_one_short_answer_to_the_envelopes(referee: Referee, head: str) -> None:
    ann = referee.registered("ann")
    before = len(ann.letters)
    for _ in range(5):
        referee.deliver(craft(referee.signed(ann, "whoami\n"), head), ann.address)
    assert len(ann.letters) == before + 3, "within the day's limit"
    assert "From" in ann.text
    assert "whoami" not in ann.text


def test_several_texts_with_commands_count_for_nothing_and_the_answer_says_so(referee: Referee) -> None:
    cy = registered(referee, "cy")
    head, text = mixed("set timezone Europe/Berlin", "set timezone Asia/Tokyo")
    before = len(cy.letters)
    for _ in range(WITHOUT_COMMAND.most + 1):
        answer(referee, cy, text, head)
    assert referee.desk.players.setting("cy", "timezone", "") == ""
    assert "more than one of its texts" in " ".join(cy.text.split())
    assert len(cy.letters) == before + WITHOUT_COMMAND.most + 1, "they are no letters without a command"


def test_a_bad_signature_that_nobody_vouches_for_brings_an_address_by_which_its_writer_is_heard(
    referee: Referee,
) -> None:
    """The provider signs nothing: after three notices there would be silence, which nothing announced."""
    ann = referee.registered("ann")
    before = len(ann.letters)
    for number in range(6):
        to = reply_to(ann.last) if number else PBEM
        text = referee.signed(ann, "whoami\n").replace("whoami", f"status m{number}")
        referee.deliver(craft(text, to=to), ann.address, to)
        assert number or "at most 3 such answers a day" in " ".join(ann.text.split())
    assert len(ann.letters) == before + 6


def test_forged_signatures_use_up_no_domain(referee: Referee) -> None:
    eve = referee.registered("eve")
    for number in range(NEW_MAILBOX.most + 1):
        sender = f"forged-{number}@gmail.example"
        referee.deliver(craft(referee.signed(eve, f"help {number}\n"), sender=sender), "eve@elsewhere.example")
    home = Domain("gmail.example", key=rsa_key(1024))
    referee.records[home.where] = home.record
    ann = referee.person("ann")
    ann.address = "ann@gmail.example"
    referee.people[ann.address] = ann
    referee.deliver(home.sign(craft("help\n", sender=ann.address), referee.now), ann.address)
    assert len(ann.letters) == 1


@pytest.mark.parametrize("mark", [f"x{PBEM}", f"{PBEM}.org", f"my-{PBEM}"])
def test_a_loop_mark_of_another_mailbox_is_not_ours(referee: Referee, mark: str) -> None:
    ann = referee.person("ann")
    referee.deliver(HOME.sign(craft("help\n", f"X-Loop: {mark}"), referee.now), ann.address)
    assert len(ann.letters) == 1


@pytest.mark.parametrize(
    "mark", [PBEM.upper(), f"<{PBEM}>", f"{PBEM}.", f"club@x.example, {PBEM}", f"club@x.example {PBEM}"]
)
def test_our_loop_mark_is_ours_however_it_is_written(referee: Referee, mark: str) -> None:
    ann = referee.person("ann")
    referee.deliver(HOME.sign(craft("help\n", f"X-Loop: {mark}"), referee.now), ann.address)
    assert outcome(referee) == "automatic: own loop mark"


HIDDEN = {
    "encrypted": part(b"-----BEGIN PGP MESSAGE-----\r\n\r\nabcd\r\n-----END PGP MESSAGE-----\r\n"),
    "opaque": part(b"?", "smime.p7m", "application/pkcs7-mime; smime-type=signed-data"),
    "in a file": clear_signed_file(b"whoami\n"),
}


@pytest.mark.parametrize("content", HIDDEN.values(), ids=HIDDEN)
def test_notices_about_hidden_commands_have_no_daily_limit(referee: Referee, content: bytes) -> None:
    """Somebody tries again and again to get a signature right."""
    ann = referee.registered("ann")
    before = len(ann.letters)
    for number in range(6):
        head = f"From: ann <{ann.address}>\r\nTo: {PBEM}\r\nSubject: x\r\nMessage-ID: <{number}@mua.example>\r\n"
        referee.deliver(HOME.sign(head.encode() + content, referee.now), ann.address)
        assert outcome(referee).endswith("noticed")
    assert len(ann.letters) == before + 6


# The table of outcomes.


def _kept(referee: Referee) -> None:
    referee.deliver(craft("Hello\n"), PBEM, f"postmaster@{SERVER}")


def _passed_on(referee: Referee) -> None:
    for _ in range(21):
        referee.deliver(craft("Hello\n"), "ann@mail.example", f"postmaster@{SERVER}")


def _own(referee: Referee) -> None:
    ann = referee.registered("ann")
    referee.deliver(craft("help\n", f"Message-ID: {ann.last['Message-ID']}"), ann.address)


def _bounce(referee: Referee) -> None:
    referee.registered("ann")
    token = referee.database.scalar("SELECT max(token) FROM outbox")
    referee.deliver(craft("No such user\n"), "", f"pbem+b{token}@{SERVER}")


def _automatic(referee: Referee) -> None:
    referee.deliver(craft("help\n", "Auto-Submitted: auto-replied"), "ann@mail.example")


def _unreadable(referee: Referee) -> None:
    for _ in range(4):
        referee.deliver(craft("help\n" * 6000), "ann@mail.example")


def _unattributed(referee: Referee) -> None:
    for _ in range(4):
        referee.deliver(craft("help\n", "From: a@b.example, b@c.example"), "ann@mail.example")


def _bad_signature(referee: Referee) -> None:
    ann = referee.registered("ann")
    for _ in range(4):
        referee.deliver(craft(referee.signed(ann, "whoami\n").replace("whoami", "games")), ann.address)


def _unvouched(referee: Referee) -> None:
    for _ in range(4):
        referee.deliver(craft("help\n"), "ann@mail.example")


def _new_mailbox(referee: Referee) -> None:
    for number in range(51):
        sender = f"ticket-{number}@mail.example"
        referee.deliver(HOME.sign(craft("help\n", sender=sender), referee.now), sender)


def _too_many(referee: Referee) -> None:
    for _ in range(53):
        referee.deliver(HOME.sign(craft("help\n"), referee.now), "ann@mail.example")


def _said_before(referee: Referee) -> None:
    ann = referee.registered("ann")
    text = referee.signed(ann, "set timezone Europe/Berlin\n")
    for _ in range(5):
        referee.deliver(craft(text), ann.address)


def _came_twice(referee: Referee) -> None:
    ann = referee.registered("ann")
    raw = craft(referee.signed(ann, "whoami\n"))
    for to in (PBEM, f"pbem+m1@{SERVER}"):
        referee.deliver(raw, ann.address, to)


def _stop(referee: Referee) -> None:
    for _ in range(2):
        referee.deliver(craft("stop\n"), "ann@mail.example")


def _changes_nothing(referee: Referee) -> None:
    cy = registered(referee, "cy")
    for number in range(52):
        answer(referee, cy, f"help word{number}\n")


def _same_words(referee: Referee) -> None:
    cy = registered(referee, "cy")
    for _ in range(32):
        answer(referee, cy, "games\n")


def _quiet(referee: Referee) -> None:
    ann = referee.registered("ann")
    referee.deliver(craft(referee.signed(ann, "games\n"), "X-Autoreply: yes"), ann.address)


REACHED: dict[Silence, Callable[[Referee], None]] = {
    outcomes.KEPT: _kept,
    outcomes.ENOUGH_PASSED_ON: _passed_on,
    outcomes.OWN: _own,
    outcomes.BOUNCE: _bounce,
    outcomes.AUTOMATIC: _automatic,
    outcomes.UNREADABLE: _unreadable,
    outcomes.UNATTRIBUTED: _unattributed,
    outcomes.BAD_SIGNATURE: _bad_signature,
    outcomes.UNVOUCHED: _unvouched,
    outcomes.NEW_MAILBOX: _new_mailbox,
    outcomes.TOO_MANY: _too_many,
    outcomes.SAID_BEFORE: _said_before,
    outcomes.CAME_TWICE: _came_twice,
    outcomes.STOP: _stop,
    outcomes.CHANGES_NOTHING: _changes_nothing,
    outcomes.SAME_WORDS: _same_words,
    outcomes.QUIET: _quiet,
}


@pytest.mark.parametrize("silence", SILENCES, ids=lambda silence: silence.outcome)
def test_each_silence_is_reached(referee: Referee, silence: Silence) -> None:
    """A letter with this outcome was not answered, and all letters that were not answered have such an outcome."""
    REACHED[silence](referee)
    assert outcome(referee).startswith(silence.outcome)
    for row in referee.database.rows("SELECT outcome FROM inbox"):
        ended = str(row["outcome"])
        answered = ended.startswith(("commands: ", "passed on")) or ended.endswith(("answered", "noticed"))
        assert answered or any(ended.startswith(one.outcome) for one in SILENCES), ended


def test_the_operators_document_shows_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
    for silence in SILENCES:
        assert f"| `{silence.outcome}` | {silence.why} | {silence.informed} |" in page


def test_a_text_within_an_unknown_signature_is_not_taken_for_none(referee: Referee) -> None:
    """Some mail programs put all that they sign into it (RFC 8551 3.5.2): its writer is told so."""
    bob = registered(referee, "bob")
    content = cms_maker.signed_data(cms_maker.signer())
    opaque = part(content, "smime.p7m", "application/pkcs7-mime; smime-type=signed-data")
    head = f"From: bob <{bob.address}>\r\nTo: {PBEM}\r\nSubject: x\r\nMessage-ID: <o@mua.example>\r\n"
    referee.deliver(HOME.sign(head.encode() + opaque, referee.now), bob.address)
    told = " ".join(bob.text.split())
    assert "which is not one of your keys here" in told
    assert "without one, send it unsigned" in told
