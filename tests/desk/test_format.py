"""HTML beside the text, and the setting that leaves it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from in_a_box.referee import ANN, BOB, Referee, attachment, body
from in_a_box.small_games import FLEETS, SMALL

if TYPE_CHECKING:
    from email.message import EmailMessage
    from pathlib import Path


def html(letter: EmailMessage) -> str | None:
    part = letter.get_body(("html",))
    return None if part is None else str(part.get_content())


def test_reports_come_as_html_too(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    for subject, words in (
        ("game 1 begins", "Your space: 3 undamaged cells"),
        ("turn 1", "</b>: strike Rv1: hit"),
        (", the end", "LG3 Bz5"),
    ):
        letter = bob.find(subject) if subject != "turn 1" else ann.find(subject)
        assert words in (html(letter) or "")
        assert letter.get_content_type() == "multipart/mixed"
        kinds = [part.get_content_type() for part in letter.walk()]
        assert kinds[1:4] == ["multipart/alternative", "text/plain", "text/html"]
    assert "You have won the match" in (html(ann.find("the match is closed")) or ""), "they came together"


def test_who_wants_text_alone_gets_the_same_text_alone(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    referee.send(ann, "set format text\n")
    assert "as plain text" in ann.text
    referee.turn((ann, "Rv5"), (bob, ""))
    text_alone = ann.find("turn 1")
    assert html(text_alone) is None
    assert html(bob.find("turn 1"))
    referee.send(ann, "set format both\nwhoami\n")
    assert "format both" in ann.text
    referee.turn((ann, "Rv5"), (bob, ""))
    assert html(ann.find("turn 2"))
    assert "strike    Rv5  miss" in body(text_alone)
    assert "strike    Rv5  miss" in body(ann.find("turn 2"))


def test_a_record_sheet_comes_for_the_asking(referee: Referee) -> None:
    ann = referee.person("ann")
    referee.send(ann, "sheet dueling-masters\nsheet chess\n", sign=False)
    assert "no such game" in ann.text
    assert attachment(ann.last, "dueling-masters-sheet.pdf").startswith(b"%PDF")


def sheet_of(folder: Path, bob: str) -> tuple[bytes, bytes]:
    """Ann's record sheets before and after a turn, bob having this setup."""
    folder.mkdir()
    referee = Referee(folder)
    ann, other = referee.begun("settle: 0", (ANN, bob))
    found = []
    for turn in (1, 2):
        referee.send(ann, "sheet m1\n", sign=False)
        assert "filled in with what you know of m1" in ann.text
        found.append(attachment(ann.last, "m1-game-1-sheet.pdf"))
        if turn == 1:
            referee.turn((ann, "Rv2 Gx3"), (other, "Ov1 Bz5"))
    referee.close()
    return found[0], found[1]


def test_a_record_sheet_is_filled_in_with_what_its_player_knows(tmp_path: Path) -> None:
    before, after = sheet_of(tmp_path / "one", BOB)
    assert before.startswith(b"%PDF")
    assert before != after
    # A ship that nobody has looked at yet is on no sheet but its owner's, wherever it is.
    moved = BOB.replace("LS Rv1", "LS Bz4")
    assert sheet_of(tmp_path / "two", moved) == (before, after)


def test_record_sheets_of_matches_are_for_their_players(referee: Referee) -> None:
    ann, _ = referee.agreed("settle: 0")
    referee.send(ann, "sheet m1\n", sign=False)
    assert "the game has not begun" in ann.text
    cy, stranger = referee.registered("cy"), referee.person("dee")
    for person, words in ((cy, "you have no such match"), (stranger, "your address is not registered here")):
        referee.send(person, "sheet m1\n", sign=False)
        assert words in person.text
        assert not list(person.last.iter_attachments())
