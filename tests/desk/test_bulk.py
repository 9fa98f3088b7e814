"""What one letter may ask for: few sheets, drawn once; the same thing once; an answer that ends somewhere."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import held
from in_a_box.referee import SERVER, Referee, body, placed

from pbem.boards.picture import sheet as boards_sheet
from pbem.desk import answer_letter, letter_writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games.squares import Board


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles of the sheets that are drawn."""
    titles: list[str] = []

    def sheet(title: str, boards: Sequence[Board], text: str) -> bytes:
        titles.append(title)
        return boards_sheet(title, boards, text)

    monkeypatch.setattr(letter_writer, "sheet", sheet)
    return titles


def test_the_same_in_other_spelling_is_answered_once(referee: Referee, drawn: list[str]) -> None:
    ann = referee.person("ann")
    text = "sheet spaceships\nSHEET Spaceships\nsheet   spaceships,\nSheet\nspaceships\nsheet spaceships.\n" * 4
    referee.send(ann, text, sign=False)
    assert len(list(ann.last.iter_attachments())) == 1
    assert len(drawn) == 1
    assert ann.text.count("> ") == 1


def test_what_only_looks_alike_is_not_the_same(referee: Referee) -> None:
    """Capitals of orders matter; so does what is wrong with a command."""
    ann, _ = referee.begun()
    orders = "preview m1 turn 1\nRw1 Rw2\nend\npreview m1 turn 1\nrw1 rw2\nend\npreview m1 turn 1\nRw1\n  Rw2\nend\n"
    referee.send(ann, orders + "press m2\nend\npress m2\nhello\nend\nsheet ?\nsheet !\n", sign=False)
    assert ann.text.count("> preview") == 2
    assert ann.text.count("> press") == 2
    assert ann.text.count("> sheet") == 2


def test_a_letter_brings_a_few_sheets_and_reports(referee: Referee, drawn: list[str]) -> None:
    ann, _ = referee.begun()
    games = "sheet spaceships\nsheet shoot-em-up\nsheet dueling-masters\n"
    referee.send(ann, games + "sheet m1\nhelp\nrules spaceships\nrules dueling-masters\ntranscript m1\n", sign=False)
    assert ann.text.count("one letter may ask for at most 5") == 2
    assert len(list(ann.last.iter_attachments())) == 4
    assert len(drawn) == 4


def test_orders_are_short(referee: Referee) -> None:
    """A game judges them while the store is locked: as many words as fit into a letter took it a second and more."""
    ann, _ = referee.begun()
    referee.send(ann, ann.filled("orders", "xx " * 20_000))
    assert "have at most 10000 characters together" in " ".join(ann.text.split())
    many = "".join(f"preview m1 turn 1\n{f'x{at} ' * 1000}\nend\n" for at in range(10))
    referee.send(ann, many, sign=False)
    assert " ".join(ann.text.split()).count("characters together") == 7
    referee.send(ann, ann.filled("orders", f"# {'x' * 9000}\nRw1 Rw2"))
    assert "characters together" not in " ".join(ann.text.split())


def test_an_answer_that_becomes_too_long_says_what_is_left_out(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_letter, "_ANSWER", 40_000)
    ann = referee.person("ann")
    referee.send(ann, "sheet spaceships\nsheet shoot-em-up\nsheet dueling-masters\n", sign=False)
    files = [part.get_filename() for part in ann.last.iter_attachments()]
    assert files == ["spaceships-sheet.pdf"]
    assert "too long: shoot-em-up-sheet.pdf, dueling-masters-sheet.pdf" in " ".join(ann.text.split())
    monkeypatch.setattr(answer_letter, "_ANSWER", 3000)
    referee.send(ann, "help\nhelp setup\nhelp orders\nhelp signing\n", sign=False)
    assert "the rest is left out" in " ".join(ann.text.split())
    assert len(ann.text) < 3300


@pytest.mark.parametrize("hidden", ["base64", "quoted-printable", "bare CR", "line separators"])
def test_lines_that_an_encoding_hides_are_counted(referee: Referee, hidden: str) -> None:
    ann = referee.person("ann")
    lines = b"help x\n" * 20_000
    head = f"From: ann@mail.example\r\nTo: pbem@{SERVER}\r\nMessage-ID: <{len(hidden)}@mail.example>\r\n"
    encoding, content = {
        "base64": ("base64", base64.encodebytes(lines).replace(b"\n", b"")[:60_000]),
        "quoted-printable": ("quoted-printable", lines.replace(b"\n", b"=0A")[:60_000]),
        "bare CR": ("8bit", lines.replace(b"\n", b"\r")[:60_000]),
        "line separators": ("8bit", lines.replace(b"\n", "\u2028".encode())[:60_000]),
    }[hidden]
    head += f"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    referee.deliver(head.encode() + content + b"\r\n", ann.address)
    assert referee.inbox.outcome(1) == ("done", "unreadable, answered")
    assert "more than 5000 lines" in ann.text


def test_what_is_hidden_in_few_lines_is_read(referee: Referee) -> None:
    ann = referee.person("ann")
    head = f"From: ann@mail.example\r\nTo: pbem@{SERVER}\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    referee.deliver(head.encode() + base64.encodebytes(b"help setup\n" + b"# x\n" * 3000), ann.address)
    assert referee.inbox.outcome(1) == ("done", "commands: help")


def test_a_bundle_that_an_opponent_makes_large_comes_in_a_letter_of_its_own(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many mail servers refuse large letters: the request for the next setup must not be in one."""
    monkeypatch.setattr("pbem.desk.match_letters._BESIDE", 1 << 19)
    ann, bob = referee.begun("kind: scored\ngames: 2")
    place = f"{placed(ann)}turn 1\nprev {referee.match().prev}\n"
    padding = "\n-- \n" + f"{'x' * 75}\n" * 3000
    for rev in range(1, 11, 2):  # each that is withdrawn stays in the bundle
        referee.send(ann, ann.filled("orders", "", rev) + padding)
        referee.send(ann, f"clear m1\n{place}rev {rev + 1}\nend\n{padding}")
    referee.send(ann, f"resign m1 game 1\n{place}rev 1\nend\n")
    *_, proof, end = bob.letters.came
    assert len(end) < 200_000 < 1 << 19 < len(proof)
    assert bob.form("setup")
    assert "which is so large that it comes in a letter of its own" in " ".join(bob.text.split())
    held(bob.letters[-2])
    referee.send(bob, "transcript m1\n", sign=False)
    told, answer = bob.letters[-2:]
    assert "a letter of its own about it" in " ".join(body(answer).split())
    held(told)
