"""The first hour of somebody without a key, on a phone: from the invitation to the third turn, by replies of a line.

The phone writes as phones do: plain text that flows, the same in HTML beside it, the reply above a quote of the whole
letter, and a line that nobody asked for. What it gets back as a form goes back as it stands.
"""

from __future__ import annotations

import html
import re
import textwrap
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import held
from in_a_box.keyless import HOME, reply_to
from in_a_box.referee import ANN, BOB, Mailbox, Referee, body, form_in
from in_a_box.small_games import PIECES

if TYPE_CHECKING:
    from email.message import EmailMessage

WIDE = 66  # columns, beyond which it lets a line flow (RFC 3676)
WRITES = {
    "en": "On Sun, 1 Mar 2026, 12:00 pbem <{}> wrote:",
    "de": "Am So., 1. März 2026 um 12:00 Uhr schrieb pbem <{}>:",
}
FOOT = {"en": "Sent from my iPhone", "de": "Von meinem iPhone gesendet"}
ACCEPTS = {"en": "Yes, gladly!", "de": "Ja, gerne!"}
GERMAN = re.compile(r"\b(du|dein|der|die|das|ist)\b")
MENDED = {"en": "did you mean Gx5?", "de": "meinst du Gx5?"}


FEET = [
    "Sent from my iPhone",
    "Von meinem iPhone gesendet",
    "Get Outlook for iOS<https://aka.ms/o0ukef>",
    "Outlook für Android beziehen<https://aka.ms/AAb9ysg>",
    "Holen Sie sich Outlook für Android<https://aka.ms/ghei36>",
    "Sent from Outlook for Android",
    "Get BlueMail for Android",
    "Yahoo Mail: Search, Organize, Conquer",
    "Gesendet via Android",
    "Gesendet von Outlook für iOS",
    "Sent from Gmail Mobile",
    "Von Gmail Mobile gesendet",
    "Sent with Proton Mail secure email.",
    "Gesendet mit der GMX Mail App",
    "Von meinem Samsung Galaxy Smartphone gesendet.",
    "Diese Nachricht wurde von meinem Android-Gerät mit K-9 Mail gesendet.",
]


class Phone:
    """Bob's phone, whose words are in one language."""

    marks = True

    def __init__(self, referee: Referee, bob: Mailbox, language: str, breaks: int = 1000) -> None:
        self.referee, self.bob, self.language = referee, bob, language
        self.breaks = breaks  # columns at which it breaks a quote, and leaves the rest of the line without a mark
        self.replies = 0

    def reply(self, written: str, letter: EmailMessage | None = None) -> bytes:
        """Answer a letter, the latest by default, above its quote; returns the answer."""
        self.replies += 1
        letter = letter or self.bob.last
        to = reply_to(letter)
        says = WRITES[self.language].format(to)
        mark = "> " if self.marks else ""
        quoted = "\n".join(textwrap.fill(f"{mark}{line}", self.breaks) for line in body(letter).split("\n"))
        plain = f"{flowing(written)}\n\n{FOOT[self.language]}\n\n{says}\n\n{quoted}\n"
        shown = html.escape(written).replace("\n", "<br>")
        page = (
            f'<html><body dir="auto">{shown}<br><div dir="ltr">{FOOT[self.language]}</div><div class="gmail_quote">'
            f'{html.escape(says)}<br><blockquote class="gmail_quote">{html.escape(body(letter))}</blockquote></div>'
        )
        raw = (
            f"From: Bob <{self.bob.address}>\nTo: {to}\nSubject: Re: {letter['Subject']}\n"
            f"Message-ID: <{next(self.referee.sent)}.bob@mail.example>\nIn-Reply-To: {letter['Message-ID']}\n"
            f'MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary="Apple-Mail-1"\n'
            f"Content-Language: {self.language}\n\n--Apple-Mail-1\n"
            f"Content-Type: text/plain; charset=utf-8; format=flowed\nContent-Transfer-Encoding: 8bit\n\n{plain}"
            f"\n--Apple-Mail-1\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{page}\n"
            "--Apple-Mail-1--\n"
        )
        signed = HOME.sign(raw.encode().replace(b"\n", b"\r\n"), self.referee.now)
        self.referee.deliver(signed, self.bob.address, to)
        return signed


def flowing(text: str) -> str:
    """Long lines flow on, with a blank at the break."""
    return "\n".join(
        re.sub(rf"(.{{1,{WIDE}}}) (?=\S)", "\\1 \n", line) if len(line) > WIDE else line for line in text.split("\n")
    )


def standing(referee: Referee) -> str:
    """Bob's orders that stand."""
    return referee.match().orders[2].text


def invited(
    referee: Referee, breaks: int = 1000, language: str = "en", game: str = "spaceships with"
) -> tuple[Mailbox, Phone]:
    """Ann, and Bob's phone, who has registered; the letter before the latest invites him."""
    ann, phone = referee.registered("ann"), Phone(referee, referee.person("bob"), language, breaks)
    referee.send(ann, f"new {game} bob@mail.example\nsettle: 0\nend\n")
    phone.reply("register bob")
    phone.reply("register bob")
    assert referee.desk.players.level("bob") == "mailbox"
    return ann, phone


def playing(referee: Referee, breaks: int = 1000, language: str = "en") -> tuple[Mailbox, Phone]:
    """Ann, and Bob's phone, in the first turn of m1."""

    def begin() -> list[Mailbox]:
        ann, phone = invited(referee, breaks, language)
        phone.reply("accept" if breaks < 78 else ACCEPTS[language], phone.bob.letters[-2])
        assert referee.match().phase == "setup"
        phone.reply(BOB)
        referee.send(ann, ann.filled("setup", ANN))
        return [ann, phone.bob]

    ann, bob = referee.opened(f"a phone, {language}, lines of {breaks}", begin)
    assert referee.match().phase == "playing"
    return ann, Phone(referee, bob, language, breaks)


@pytest.mark.parametrize("language", ["en", "de"])
def test_from_the_invitation_to_the_third_turn(referee: Referee, language: str) -> None:
    ann, phone = playing(referee, language=language)
    bob = phone.bob
    for turn, line in enumerate(("Gx3", "Gx4.", "gx5"), start=1):
        phone.reply(line)
        if not referee.match().orders.get(2):
            phone.reply("yes")
        assert standing(referee) == line.rstrip(".").capitalize()
        referee.turn((ann, ""))
        assert referee.match().turn == turn + 1
    assert phone.replies == 5, "after four that led here"
    assert not [text for text in map(body, bob.letters) if re.search(r"^  (>|On Sun|Am So)", text, re.MULTILINE)]
    texts = [bob.letters.text(number) for number in range(3, len(bob.letters))]
    assert any(MENDED[language] in text for text in texts)
    assert all(GERMAN.search(text) is not None for text in texts if language == "de"), texts
    referee.send(ann, "resign m1 game 1\n")
    held(ann.find(", the end"))


@pytest.mark.parametrize("breaks", [72, 78])
@pytest.mark.parametrize("words", ["resign m1 game 1", "orders m1 turn 1 Gx3 end"])
def test_what_an_opponent_writes_is_never_obeyed_out_of_the_quote(referee: Referee, breaks: int, words: str) -> None:
    """Many clients break long lines of a quote, and mark but the first part: each part must leave marked."""
    ann, phone = playing(referee, breaks)
    for length in range(breaks - 12, breaks):
        referee.send(ann, f"press m1\n{'x' * length} {words}\nend\n")
        phone.reply("Thanks, I like that!")
        assert not referee.match().orders.get(2)
    assert referee.match().phase == "playing"


def test_a_form_in_a_quote_without_marks_is_not_obeyed(referee: Referee) -> None:
    """Some clients quote the letter below the answer so: after few lines that are no commands, reading ends."""
    ann, phone = playing(referee)
    referee.send(ann, "draw m1 offer\n")
    offer = phone.bob.last
    phone.reply("gx3")
    form = phone.bob.last
    phone.marks = False
    phone.reply("No, never!", offer)
    phone.reply("No wait, that is wrong", form)
    assert referee.match().phase == "playing"
    assert not referee.match().orders.get(2)
    phone.reply(form_in(body(form), "orders"), form)
    assert standing(referee) == "Gx3"


@pytest.mark.parametrize("foot", FEET)
def test_what_a_phone_writes_beneath_is_not_told_as_not_understood(referee: Referee, foot: str) -> None:
    ann = referee.registered("ann")
    referee.send(ann, f"status\n\n{foot}\n", sign=False)
    assert "Not understood" not in ann.text
    referee.send(ann, f"status\n\nSent them all away, and {foot}\n", sign=False)
    assert f"Not understood, and ignored:\n\n  Sent them all away, and {foot}"[:90] in ann.text


# What people write without being told how: an answer to a message, and a closing beneath an answer.

SAID = "Sunday is good for me, at 5 pm.\n\nI hit your Gx3 then, fine?"


def talked(referee: Referee) -> tuple[Mailbox, Phone]:
    """The first turn of m1, in which Ann has written to Bob."""
    ann, phone = playing(referee)
    referee.send(ann, "press m1\nShall we talk on Sunday?\nend\n")
    return ann, phone


BEGIN_AS_COMMANDS = ("Stop it, you bully!", "Resign already!", "Accept my congratulations", "Hi\nClear as day!")


@pytest.mark.parametrize("words", [SAID, "Fine, thanks!", "Yes!", *BEGIN_AS_COMMANDS])
def test_plain_words_in_answer_to_a_message_are_a_message(referee: Referee, words: str) -> None:
    ann, phone = talked(referee)
    turn = phone.bob.find("begins")
    assert "it goes to all others in the match" in body(phone.bob.last)
    phone.reply(words)
    told = body(ann.last)
    assert "bob writes to you" in told
    assert all(f"  : {line}" in told for line in words.split("\n") if line)
    assert "iPhone" not in told
    assert "play.example wrote" not in told
    phone.reply("Gx3", turn)
    assert standing(referee) == "Gx3"


@pytest.mark.parametrize(
    "words",
    [
        *("Gx3 Gx4", "Gx3 sRv1\n\nHave fun", "Hello\n\nGx3 Gx4", "gx3", "resign", BOB),
        *("Here are my orders: please shoot Gx3", "Meine Befehle: bitte Gx3 treffen"),
        *("block ann", "Stop it!\n\nresign m1 match", "All right\nresign"),
        *("Set notify https://ntfy.example/my.topic", "orders turn 1 shoot Gx3, and then all the others please"),
    ],
)
def test_orders_in_answer_to_a_message_are_shown_to_nobody(referee: Referee, words: str) -> None:
    ann, phone = talked(referee)
    came = len(ann.letters)
    phone.reply(words)
    assert not [letter for letter in ann.letters[came:] if "writes to you" in body(letter)]


def test_a_phone_blocks_a_player(referee: Referee) -> None:
    """Its own line below, and that which introduces the quote, make no prose of the command."""
    ann, phone = talked(referee)
    phone.reply("Block ann")
    referee.send(ann, "press m1\nYou coward!\nend\n")
    assert "coward" not in body(phone.bob.last)
    phone.reply("unblock ann")
    referee.send(ann, "press m1\nAre you there?\nend\n")
    assert "Are you there?" in body(phone.bob.last)


def test_an_afterthought_to_a_message_is_passed_on_as_well(referee: Referee) -> None:
    """Only a copy of a letter is not, nor does the used address let anything else count."""
    ann, phone = talked(referee)
    asked = phone.bob.last
    phone.reply("Sunday is good.", asked)
    second = phone.reply("At 5 pm, I mean.", asked)
    assert "  : At 5 pm, I mean." in body(ann.last)
    came = len(ann.letters)
    referee.deliver(b"X-Copy: yes\r\n" + second, phone.bob.address, reply_to(asked))
    phone.reply("resign m1 match", asked)
    assert "was good for one letter" in " ".join(body(phone.bob.last).split())
    assert len(ann.letters) == came
    phone.reply("See you!", asked)
    assert "  : See you!" in body(ann.last)


@pytest.mark.parametrize("words", ["Z1 G2-G3", "z1 g2g3\nFine?", "Fine\n\nZ1: G2-G3", "Fine, Z1 G2-G3."])
def test_orders_for_a_later_turn_in_answer_to_a_message_are_shown_to_nobody(referee: Referee, words: str) -> None:
    """On the opponent's move nothing is due from Bob: what he writes may still be his next one."""
    ann, phone = invited(referee, game="dueling-masters with")
    phone.reply(ACCEPTS["en"], phone.bob.letters[-2])
    phone.reply(PIECES["bob"])
    referee.send(ann, ann.filled("setup", PIECES["ann"]))
    referee.send(ann, "press m1\nA nice day!\nend\n")
    asked, came = phone.bob.last, len(ann.letters)
    phone.reply(words, asked)
    assert len(ann.letters) == came
    told = " ".join(body(phone.bob.last).split())
    assert ("nothing is due from you now; `status m1` brings the form" in told) is words.lower().startswith("z1")
    assert "`press m1`" in told
    phone.reply("Fine, thanks!", asked)
    assert "  : Fine, thanks!" in body(ann.last)


@pytest.mark.parametrize(
    "words", ["W J10", "W J10\nB J8\n\nA nice day to you, too", "* I2 I4 I6 I8 I10 G1 F1\nW J10"]
)
def test_a_part_of_a_setup_in_answer_to_a_message_is_shown_to_nobody(referee: Referee, words: str) -> None:
    """There are more faults than words, as all other pieces are missing."""
    ann, phone = invited(referee, game="dueling-masters with")
    phone.reply(ACCEPTS["en"], phone.bob.letters[-2])
    referee.send(ann, "press m1\nA nice day!\nend\n")
    asked, came = phone.bob.last, len(ann.letters)
    phone.reply(words, asked)
    assert len(ann.letters) == came
    phone.reply("Fine, thanks!", asked)
    assert "  : Fine, thanks!" in body(ann.last)


def test_orders_for_one_of_several_ships_are_shown_to_nobody(referee: Referee) -> None:
    """Half of them are faults, as two ships have no line; but in some turn to come they could be orders."""
    ann, phone = invited(referee, game="shoot-em-up with")
    phone.reply(ACCEPTS["en"], phone.bob.letters[-2])
    phone.reply("D b9 S\nE c9 S\nF d9 S")
    referee.send(ann, ann.filled("setup", "A b1 N\nB c1 N\nC d1 N"))
    assert referee.match().phase == "playing"
    referee.send(ann, "press m1\nA nice day!\nend\n")
    came = len(ann.letters)
    phone.reply("D: FFR")
    assert len(ann.letters) == came
    assert "E has no line" in body(phone.bob.last)


@pytest.mark.parametrize(
    "words",
    [
        "press to ann Take cem",
        "Press to ann:\n\nTake cem",
        "`press m1 to ann`\nTake cem",
        "press ann Take cem",
        "Hi\npress to ann\nTake cem\nend",
        "To ann: take cem",
        "An ann: nimm cem",
        "Nur an ann: nimm cem",
        "An die ann: nimm cem",
        "An Jörg: nimm cem",
    ],
)
def test_what_is_meant_for_one_of_several_never_goes_to_all(referee: Referee, words: str) -> None:
    cem, joerg = referee.registered("cem"), referee.registered("joerg")
    ann, phone = invited(referee, game="shoot-em-up with cem joerg")
    phone.reply(ACCEPTS["en"], phone.bob.letters[-2])
    for other in (cem, joerg):
        referee.send(other, form_in(body(other.last), "accept", lines=1))
    assert referee.match().phase == "setup"
    referee.send(ann, "press m1\nHello to you all.\nend\n")
    came = len(cem.letters)
    phone.reply(words)
    assert len(cem.letters) == came
    for said in ("To be honest, ann lies", "To ann, cem, Jörg: no", "Only ann knows, but press on"):
        referee.send(ann, f"press m1\nHello again, {said}.\nend\n")
        phone.reply(said)
        assert f"  : {said}" in body(cem.last)


@pytest.mark.parametrize(
    "closing",
    [
        "Kind regards,\nBob",
        "Best,\nBob",
        "Viele Grüße\nBob",
        "LG Bob",
        "Mit freundlichen Grüßen\n\nBob van der",
        "Cheers",
    ],
)
def test_a_closing_beneath_an_answer_says_no_more(referee: Referee, closing: str) -> None:
    _, phone = invited(referee)
    phone.reply(f"Yes, gladly!\n\n{closing}", phone.bob.letters[-2])
    assert referee.match().phase == "setup"
    phone.reply(f"{BOB}\n\n{closing}")
    assert "Not understood" not in body(phone.bob.last)


@pytest.mark.parametrize(
    "letter", ["Hi,\n\n{}\n\nBob", "Hello Ann! {}", "Guten Tag\n{}", "Liebe Ann,\n\n{}\n\nViele Grüße\nBob"]
)
def test_what_stands_below_a_salutation_comes_back_to_be_confirmed(referee: Referee, letter: str) -> None:
    """Whoever writes a letter begins so."""
    ann, phone = invited(referee)
    phone.reply(letter.format("Yes, gladly!"), phone.bob.letters[-2])
    phone.reply("yes")
    assert referee.match().phase == "setup"
    if "\nBob" not in letter or "Grüße" in letter:  # which shows where the last line ends
        phone.reply(letter.format(BOB.replace("\n", "\n\n")))
        assert "Not understood" not in body(phone.bob.last)
        phone.reply("yes")
    else:
        phone.reply(BOB)
    referee.send(ann, ann.filled("setup", ANN))
    phone.reply(letter.format("Gx3"))
    assert not referee.match().orders.get(2)
    phone.reply("yes")
    assert standing(referee) == "Gx3"


@pytest.mark.parametrize("more", ["Regards, but not before May", "Cheers\nBob\nOnly with two games", "Not now\nBob"])
def test_what_is_more_than_a_closing_is_asked_about(referee: Referee, more: str) -> None:
    _, phone = invited(referee)
    phone.reply(f"Yes, gladly!\n\n{more}", phone.bob.letters[-2])
    assert referee.match().phase == "proposed"


@pytest.mark.parametrize("words", ["Thanks!", "Bis bald"])
def test_a_closing_alone_in_answer_to_a_message_is_a_message(referee: Referee, words: str) -> None:
    ann, phone = talked(referee)
    phone.reply(words)
    assert all(f"  : {line}" in body(ann.last) for line in words.split("\n") if line)
    assert "iPhone" not in body(ann.last)


@pytest.mark.parametrize("words", ["Yes!", "I accept.", "Ja, gerne!"])
@pytest.mark.parametrize("what", ["draw", "annul"])
def test_yes_to_an_offer_brings_the_line_that_accepts_it(referee: Referee, what: str, words: str) -> None:
    """And nothing about orders, which are due as well."""
    ann, phone = playing(referee)
    referee.send(ann, f"{what} m1 offer\n")
    for _ in range(2):
        phone.reply(words)
        assert f"\n\n{what} m1 accept\n" in body(phone.bob.last)
        assert "orders" not in body(phone.bob.last)
    phone.reply(f"{what} m1 accept")
    assert referee.match().phase == "closed"


@pytest.mark.parametrize("words", ["No!", "decline", "Nein, danke."])
@pytest.mark.parametrize("what", ["draw", "annul"])
def test_no_to_an_offer_brings_the_line_that_declines_it(referee: Referee, what: str, words: str) -> None:
    ann, phone = playing(referee)
    referee.send(ann, f"{what} m1 offer\n")
    phone.reply(words)
    assert f"\n\n{what} m1 decline\n" in body(phone.bob.last)
    phone.reply(f"{what} m1 decline")
    assert not referee.match().offers[what]


@pytest.mark.parametrize("more", ["", "\n\nKind regards,\nBob"])
def test_a_setup_whose_lines_became_paragraphs_comes_back_whole(referee: Referee, more: str) -> None:
    """As by mail programs that turn HTML into text."""
    _, phone = invited(referee)
    phone.reply(ACCEPTS["en"], phone.bob.letters[-2])
    phone.reply(BOB.replace("\n", "\n\n") + more)
    told = body(phone.bob.last)
    assert f"\n{BOB}\nend\n" in told
    assert "Not understood" not in told
    phone.reply("yes")
    assert referee.match().setups[2].standing


def test_orders_whose_lines_became_paragraphs_come_back_whole(referee: Referee) -> None:
    ann, phone = invited(referee, game="shoot-em-up with")
    phone.reply(ACCEPTS["en"], phone.bob.letters[-2])
    phone.reply("D b9 S\nE c9 S\nF d9 S")
    referee.send(ann, ann.filled("setup", "A b1 N\nB c1 N\nC d1 N"))
    phone.reply("D: FFR\n\nE: FFR\n\nF: FFR")
    assert "\nD: FFR\nE: FFR\nF: FFR\nend\n" in body(phone.bob.last)
    phone.reply("yes")
    assert standing(referee).split("\n") == ["D: FFR", "E: FFR", "F: FFR"]


def test_a_sign_that_is_no_word_is_a_message_and_no_orders(referee: Referee) -> None:
    ann, phone = talked(referee)
    phone.reply("\N{THUMBS UP SIGN}")
    assert "  : \N{THUMBS UP SIGN}" in body(ann.last)
    phone.reply("\N{THUMBS UP SIGN}", phone.bob.find("begins"))
    assert "Not understood, and ignored:\n\n  \N{THUMBS UP SIGN}" in body(phone.bob.last)
    phone.reply("Gx3\n\n\N{THUMBS UP SIGN}", phone.bob.find("begins"))
    assert standing(referee) == "Gx3"
