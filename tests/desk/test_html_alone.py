"""Letters in HTML alone: what they ask is answered; what they say comes back as a form, and never counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.keyless import answer
from in_a_box.referee import ANN, BOB, Mailbox, Referee, body, form_in
from judges.golden import reads_like

if TYPE_CHECKING:
    from email.message import EmailMessage

OUTLOOK = (
    "<html><head><style>p.MsoNormal {{margin:0cm}}</style></head><body><p class=MsoNormal>{}</p><div style='border:"
    "none;border-top:solid #E1E1E1 1.0pt'><p class=MsoNormal><b>From:</b> pbem</p></div><p>{}</p></body></html>"
)
HTML = "MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n"


def reply(referee: Referee, person: Mailbox, written: str, letter: EmailMessage | None = None) -> None:
    """Answer a letter, the latest by default, in HTML above its quote."""
    letter = letter or person.last
    lines = written.replace("\n", "</p><p class=MsoNormal>")
    page = OUTLOOK.format(lines, body(letter).replace("\n", "<br>"))
    answer(referee, person, page, *HTML.splitlines(), letter=letter)


def invited(referee: Referee) -> tuple[Mailbox, Mailbox, EmailMessage]:
    """Ann; Bob, who has no key and is asked to play; and what asks him."""
    ann, bob = referee.registered("ann"), referee.person("bob")
    referee.send(ann, "new spaceships with bob@mail.example\nsettle: 0\nend\n")
    for _ in range(2):
        answer(referee, bob, "register bob")
    return ann, bob, bob.letters[-2]


def playing(referee: Referee, language: str = "en") -> tuple[Mailbox, Mailbox]:
    """Both, in the first turn."""

    def begin() -> list[Mailbox]:
        ann, bob, offer = invited(referee)
        answer(referee, bob, f"set language {language}")
        answer(referee, bob, f"accept m1 {referee.match().rules_hash}", letter=offer)
        answer(referee, bob, f"setup m1 game 1\n{BOB}\nend")
        referee.send(ann, ann.filled("setup", ANN))
        return [ann, bob]

    ann, bob = referee.opened(f"one without a key, {language}", begin)
    assert referee.match().phase == "playing"
    return ann, bob


@pytest.mark.parametrize("language", ["en", "de"])
def test_orders_come_back_as_the_form_and_count_as_text(referee: Referee, language: str) -> None:
    _, bob = playing(referee, language)
    asked = bob.last
    reply(referee, bob, "Gx3 gy3")
    assert not referee.match().orders
    reads_like(bob.last, f"html/short-{language}")
    form = form_in(bob.text, "orders").rstrip()
    reply(referee, bob, form)
    assert not referee.match().orders, "not even the form, as it is HTML again"
    reads_like(bob.last, f"html/form-{language}")
    answer(referee, bob, form)
    assert referee.match().orders[2].text == "Gx3 Gy3"
    reply(referee, bob, "resign m1 match", asked)
    assert referee.match().phase == "playing"


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_changes_nothing_is_answered(referee: Referee, language: str) -> None:
    _, bob = playing(referee, language)
    reply(referee, bob, "games\npress m1 hello end")
    reads_like(bob.last, f"html/games-{language}")
    reply(referee, bob, "Lovely weather today, is it not?")
    reads_like(bob.last, f"html/prose-{language}")


@pytest.mark.parametrize("words", ["Yes, gladly!", "accept m1"])
def test_terms_are_accepted_one_reply_away(referee: Referee, words: str) -> None:
    _, bob, offer = invited(referee)
    reply(referee, bob, words, offer)
    assert referee.match().phase == "proposed"
    answer(referee, bob, form_in(bob.text, "accept", 1).rstrip())
    assert referee.match().phase == "setup"


def test_who_registers_in_html_is_asked_to_answer_as_text(referee: Referee) -> None:
    ann, bob = referee.registered("ann"), referee.person("bob")
    referee.send(ann, "new spaceships with bob@mail.example\nend\n")
    for _ in range(2):
        reply(referee, bob, "register bob")
        assert referee.desk.players.by_name("bob") is None
    answer(referee, bob, "register bob")
    assert referee.desk.players.by_name("bob") is not None


@pytest.mark.parametrize(
    "words", ["resign m1 match", "draw m1 offer", "vacation 1 mar to 3 mar", "set language de", "stop", "decline m1"]
)
def test_html_alone_has_no_effect(referee: Referee, words: str) -> None:
    _, bob = playing(referee)
    before = referee.match()
    reply(referee, bob, words)
    assert referee.match() == before
    assert referee.desk.players.setting("bob", "language", "en") == "en"
    assert "HTML only" in bob.text
    count = len(bob.letters)
    referee.turn()
    assert referee.desk.players.unreachable("bob") is None
    reply(referee, bob, "status")
    assert len(bob.letters) > count


def test_who_answers_no_letter_of_ours_gets_no_form(referee: Referee) -> None:
    """Anybody can write in this name, and the answer goes to whose name it is."""
    _, bob = playing(referee)
    page = OUTLOOK.format("orders m1 turn 1 Gx9 end", "")
    raw = f"From: {bob.address}\nTo: pbem@play.example\nSubject: m1\nMessage-ID: <x@y.example>\n{HTML}\n{page}\n"
    before = len(bob.letters)
    referee.deliver(raw.encode().replace(b"\n", b"\r\n"), bob.address)
    assert not any("prev " in body(letter) or "Gx9" in body(letter) for letter in bob.letters[before:])


def test_what_is_signed_within_html_is_not_taken(referee: Referee) -> None:
    ann, _ = playing(referee)
    signed = referee.signed(ann, ann.filled("orders", "Rv5"))
    shown = f"<pre>{signed}</pre>"
    raw = f"From: {ann.address}\nTo: pbem@play.example\nSubject: m1\nMessage-ID: <x@y.example>\n{HTML}\n{shown}\n"
    referee.deliver(raw.encode().replace(b"\n", b"\r\n"), ann.address)
    assert not referee.match().orders
    assert "HTML only" in " ".join(ann.text.split())
    assert "in answer to our latest letter about m1" in " ".join(ann.text.split())
    lines = shown.replace("\n", "<br>\n")
    referee.deliver(raw.replace(shown, lines).encode().replace(b"\n", b"\r\n"), ann.address)
    assert not referee.match().orders
