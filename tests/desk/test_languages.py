"""Languages and formats: each letter in the language and in the form that its reader has chosen."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import ANN, BOB, Mailbox, Referee, attachment, body, form_in, html, sent_from
from in_a_box.small_games import FLEETS, SMALL
from judges.golden import reads_like

from pbem.identity import ssh

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pair(referee: Referee) -> tuple[Mailbox, Mailbox]:
    """Ann, who reads German, and Bob, who reads English, in a match: their setups are due."""
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, "set language de\nset timezone Europe/Berlin\n")
    referee.send(ann, f"new spaceships with bob\n{SMALL}\npace: 2d\ngrace: 1d\nmiss: wait\nend\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    return ann, bob


def test_a_whole_game_reads_well(referee: Referee, pair: tuple[Mailbox, Mailbox]) -> None:
    ann, bob = pair
    reads_like(ann.last, "de/letters/setup")
    assert bob.find("send your setup")
    referee.send(ann, ann.filled("setup", FLEETS[0]))
    reads_like(ann.last, "de/letters/setup-answer")
    referee.send(bob, bob.filled("setup", FLEETS[1]))
    reads_like(ann.find("beginnt"), "de/letters/begin")
    calendar = attachment(ann.find("beginnt"), ".ics").decode().replace("\r\n ", "")
    assert "SUMMARY:Spaceships m1\\, Spiel 1\\, Zug 1" in calendar
    assert "DESCRIPTION:Zu schicken an pbem+m1@" in calendar
    referee.send(ann, ann.filled("orders", "Rv1 Rv9 sRv3"))
    reads_like(ann.last, "de/letters/refused")
    referee.send(ann, ann.filled("orders", "Rv1"))
    reads_like(ann.last, "de/letters/orders-answer")
    referee.send(bob, bob.filled("orders", "final\n"))
    referee.wait(timedelta(0))
    reads_like(ann.find("Zug 1"), "de/letters/turn")
    assert bob.find("turn 1")
    referee.send(ann, "status m1\n")
    reads_like(ann.last, "de/letters/status")
    referee.wait(timedelta(days=1, hours=1))
    reads_like(ann.find("Erinnerung"), "de/letters/reminder")
    referee.send(bob, "extend m1 3d\n")
    reads_like(ann.find("mehr Zeit"), "de/letters/extended")
    referee.send(ann, "vacation 2026-03-10 to 2026-03-12\n")
    reads_like(ann.last, "de/letters/vacation-answer")
    referee.send(bob, "press m1\nHallo!\nend\n")
    reads_like(ann.last, "de/letters/press")
    referee.send(bob, "draw m1 offer\n")
    reads_like(ann.find("Remis?"), "de/letters/draw")
    referee.send(ann, form_in(ann.text, "draw"))
    reads_like(ann.find("das Ende"), "de/letters/ended")
    assert "Spaceships game 1 is a draw" in body(bob.find("the end"))
    assert all("Spiel" not in str(letter["Subject"]) for letter in bob.letters)


def test_html_and_text_are_in_one_language(referee: Referee, pair: tuple[Mailbox, Mailbox]) -> None:
    ann, bob = pair
    for person, setup in zip((ann, bob), FLEETS, strict=True):
        referee.send(person, person.filled("setup", setup))
    page = html(ann.find("beginnt"))
    assert '<html lang="de">' in page
    assert "Dein Raum: 3 heile Zellen" in page


def test_a_stranger_is_answered_in_the_language_of_the_letter(referee: Referee) -> None:
    cy = referee.person("cy")
    for header in ("Accept-Language: de-AT, en;q=0.5\n", "Content-Language: de\n"):
        referee.deliver(referee.raw(cy, "help\n", headers=header + sent_from(cy.address)), cy.address)
        assert "Schreib Kommandos untereinander" in cy.text
    reads_like(cy.last, "de/letters/help")
    referee.deliver(
        referee.raw(cy, "help new\n", headers="Accept-Language: fr\n" + sent_from(cy.address)), cy.address
    )
    assert "Options of every match" in cy.text


def test_who_registers_in_german_goes_on_in_german(referee: Referee) -> None:
    cy = referee.person("cy")
    german = "Content-Language: de-DE\n" + sent_from(cy.address)
    referee.deliver(referee.raw(cy, "register cy\n", headers=german), cy.address)
    reads_like(cy.last, "de/letters/register-mailbox")
    referee.deliver(referee.raw(cy, f"register cy\n{ssh.public(cy.key)}\n", headers=german), cy.address)
    reads_like(cy.last, "de/letters/register")
    form = referee.signed(cy, form_in(cy.text, "confirm"))
    referee.deliver(referee.raw(cy, form, headers=german), cy.address)
    reads_like(cy.last, "de/letters/confirm")
    referee.send(cy, "whoami\n")  # this letter names no language
    assert "  language de\n" in cy.text


def test_the_servers_own_language_is_for_those_who_chose_none(referee: Referee) -> None:
    referee.configure(language="de")
    cy = referee.person("cy")
    referee.send(cy, "help\n", sign=False)
    assert "Schreib Kommandos untereinander" in cy.text
    referee.deliver(referee.raw(cy, "help\n", headers="Accept-Language: en\n" + sent_from(cy.address)), cy.address)
    assert "Write commands one below the other" in cy.text
    referee.send(cy, "new chess\nend\n", sign=False)
    assert "deine Adresse ist hier nicht angemeldet" in cy.text


def test_what_only_looks_like_a_letter_is_told_from_it_and_umlauts_are_left_alone(referee: Referee) -> None:
    ann = referee.registered("ann")
    referee.send(ann, "set language de\n")
    referee.send(ann, "new spaceships with b\u043eb\nend\n")
    assert "niemand heißt hier b\\u043eb" in ann.text


# The formats of letters.


def test_who_wants_text_alone_gets_the_same_text_alone(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    referee.send(ann, "set format text\n")
    assert "as plain text" in ann.text
    referee.turn((ann, "Rv5"), (bob, ""))
    text_alone = ann.find("turn 1")
    assert text_alone.get_body(("html",)) is None
    assert html(bob.find("turn 1"))
    referee.send(ann, "set format both\nwhoami\n")
    assert "format both" in ann.text
    referee.turn((ann, "Rv5"), (bob, ""))
    assert html(ann.find("turn 2"))
    assert "strike    Rv5  miss" in body(text_alone)
    assert "strike    Rv5  miss" in body(ann.find("turn 2"))


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
