"""Quotes that mail programs leave without marks: where they begin, what is no quote, and what that costs."""

from __future__ import annotations

import time

import pytest
from in_a_box.replies import REPLIES

from pbem.mail.commands import parse
from pbem.mail.quotes import marked
from verifier.text import marked as in_second

TO = "pbem+m1.abcdefghijklmnopqrst@play.example"
FORM = f"orders m1 turn 1\nserver play.example\nplayer bob\nprev {'0' * 64}\nrev 1\nGx3\nend"
LETTER = f"Nothing has changed yet.\n\n{FORM}\n\n: On Sunday, 12:00 you wrote:\n-- \npbem"


MARKING = (
    "Apple Mail, broken",
    "Gmail, German",
    "Proton",
    "Proton for phones",
    "K-9, German",
    "GMX",
    "Outlook on the web",
)


@pytest.mark.parametrize("program", MARKING)
def test_where_marks_follow_they_say_what_is_quoted(program: str) -> None:
    """An answer below them is read, and words above them are not the writer's."""
    quoted = "".join(f"> {line}\n" for line in LETTER.split("\n"))
    text = REPLIES[program].format(said="", to=TO, text=f"{quoted}\nGx3")
    assert parse(text.replace("Sent with Proton Mail secure email.", ""), signed=False).short == "Gx3"
    assert "> " + FORM.replace("\n", "\n> ") + "\n" in marked(text)


@pytest.mark.parametrize(
    "words",
    [
        "Gx3\n\nFrom: the corner, and then we shall see",
        "To: the corner\nFrom: the middle",
        "Gx3\n----------\nGy3",
        "On turn 3 you wrote: what now?\nGx3",
        "Am Rand steht noch eins.\nGx3",
        "Original Message",
        "LS: Rv1\nMD: Gx3 Gx4 Gx5\nHS: Bv5 12:00",
        "Gx3\n\nMail: bob@mail.example\nWeb: https://bob.example",
        "Gx3\n---\nMail: bob@mail.example",
        "who@home: 12:00\nwhen: 12:00\nwhere: here",
        "wrote:",
        "> quoted\nGx3",
    ],
)
def test_other_words_are_no_quote(words: str) -> None:
    assert marked(words) == in_second(words) == words


def test_an_introduction_alone_hides_nothing_below() -> None:
    """The words below may take back those above."""
    text = "Gx3\n\nYou wrote:\n> something\n\nNo wait, Gx4"
    assert marked(text) == in_second(text) == text.replace("You wrote", "> You wrote")


def test_each_quote_within_a_quote_has_one_mark_more() -> None:
    above = "On Sun, 1 Mar 2026, 12:00, pbem <x@y.example> wrote:"
    assert marked(f"{above}\na\n\n{above}\nb\n\n> c").split("\n")[-4:] == [f">> {above}", ">> b", ">> ", ">> > c"]


@pytest.mark.parametrize(
    "line",
    [
        "On 12:00 schrieb ",
        "On 12:00\n",
        "From:\n",
        "_____\n\n",
        "x:\n",
        "a <b@c> schrieb 1:00",
        "a: @1234\n",
        "a: @\n",
        "---\n",
        "-" * 60,
    ],
)
def test_much_of_it_is_soon_read(line: str) -> None:
    """A letter of as many lines as it may have."""
    text = "\n".join([line * (3 if "\n" not in line else 1)] * 5000)[: 256 << 10]
    begun = time.process_time()
    marked(text)
    assert time.process_time() - begun < 2
