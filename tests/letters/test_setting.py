"""How boards and the words beside them are set: what fits, where lines end, and what stands out."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from pbem.boards.html_tables import BoardTable
from pbem.boards.text_boards import TextSetter, columns
from pbem.games.squares import PLAIN, Line, Panel, Square
from pbem.i18n import say
from pbem.letters.render import Templates
from pbem.phrase import Phrase

ENGLISH, GERMAN = Templates(), Templates(language="de")
TEXT = TextSetter(partial(say, known=GERMAN._known))


def grid(width: int) -> Panel:
    names = "abcdefghijklmnopqrstuvwxyz"[:width]
    return Panel("", names, ["2", "1"], [(PLAIN,) * width, (*(PLAIN,) * (width - 1), Square("A^2", brief="A^"))])


def test_columns_are_narrower_where_the_page_has_no_room() -> None:
    assert [len(columns([grid(width)], 3, label=2).split("\n")[2]) for width in (23, 24)] == [5 + 68, 5 + 48]


def test_words_are_set_in_the_language_of_the_reader() -> None:
    assert TEXT.heading(Phrase("Your space"), "9") == "Dein Raum".ljust(73) + "9"
    assert TEXT.heading("a" * 70, "nine") == "a" * 70 + "\n" + " " * 70 + "nine"
    assert TEXT.legend([Phrase("no ship")] * 4) == "  kein Schiff".ljust(26) + "kein Schiff".ljust(24) + (
        "kein Schiff\n  kein Schiff"
    )
    assert TEXT.sentence(Line(Phrase("Shields"), ["A 1", "B 2"])) == "Schilde: A 1, B 2"


def test_lines_end_between_words_or_between_parts() -> None:
    line = Line("KC", ["one two", "three four"])
    assert TEXT.lines([line], "  {label:3} ", page=18) == "  KC  one two;\n      three four"
    assert TEXT.pieces([line, Line("DS", [])], "  {label:3} ", page=17) == "  KC  one two,\n      three four"
    assert TEXT.lines([line], "  {label:3} ", page=15) == "  KC  one two;\n      three\n      four"


class Said(NamedTuple):
    label: str
    parts: list[str]


def test_columns_have_room_for_the_longest_words() -> None:
    two = [Said("hit", ["A"]), Said("conventional", ["B"])]
    assert TEXT.lines(two, "  {label:4} ") == "  hit          A\n  conventional B"
    assert TEXT.pieces(two, "  {label:4} ") == "  hit          A\n  conventional B"
    assert TEXT.lines(two[:1], "  {label:4} ") == "  hit  A"
    assert TEXT.legend(["a" * 23] * 3) == "  " + " ".join(["a" * 23] * 3)
    assert TEXT.legend(["a" * 24] * 3) == "  " + "a" * 24 + " " * 12 + "a" * 24 + "\n  " + "a" * 24
    assert TEXT.legend(["a" * 36] * 2) == "\n".join(["  " + "a" * 36] * 2)


def test_what_is_bold_is_in_the_language_and_nothing_of_it_becomes_markup() -> None:
    words = Phrase("{ship}, hit by {by}: {fate}", ship="<A>", by="{ship}", fate=Phrase("destroyed"))
    assert (
        BoardTable(partial(say, known=GERMAN._known)).bold(words, "fate")
        == "&lt;A&gt;, getroffen von {ship}: <b>zerstört</b>"
    )
    assert (
        BoardTable(partial(say, known=ENGLISH._known)).bold(words, "ship")
        == "<b>&lt;A&gt;</b>, hit by {ship}: destroyed"
    )
    assert "&lt;i&gt;" in BoardTable(partial(say, known=ENGLISH._known)).key([(PLAIN, "<i>")])
