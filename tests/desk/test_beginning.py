"""Newcomers ask for help, in whatever words come to mind, and are told how to begin."""

from __future__ import annotations

import pytest
from in_a_box.referee import Mailbox, Referee, sent_from

from pbem.games import GAMES, titles

BEGIN = "To play, write these lines"


def ask(referee: Referee, person: Mailbox, text: str, subject: str = "hello") -> str:
    """The answer to a letter for whose sender its provider vouches."""
    del person.letters[:]
    referee.deliver(referee.raw(person, text, subject=subject, headers=sent_from(person.address)), person.address)
    return person.text


@pytest.fixture
def eve(referee: Referee) -> Mailbox:
    return referee.person("eve")


@pytest.mark.parametrize("subject", ["help", "Help", " HELP! "])
def test_the_subject_alone_asks_for_help(referee: Referee, eve: Mailbox, subject: str) -> None:
    text = ask(referee, eve, "", subject)
    assert BEGIN in text
    assert "* orders m17 turn 5" in text


@pytest.mark.parametrize(
    "text", ["Help!\n", "help?\n\nSent from my iPhone\n", "HELP.\n\nOn Sunday pbem wrote:\n> hello\n"]
)
def test_a_cry_for_help_is_heard(referee: Referee, eve: Mailbox, text: str) -> None:
    found = ask(referee, eve, text)
    assert "* orders m17 turn 5" in found
    assert "Not understood" not in found


@pytest.mark.parametrize("text", ["Unsubscribe\n", "UNSUBSCRIBE!\n\nSent from my iPhone\n"])
def test_who_wants_no_mail_need_not_know_our_word_for_it(referee: Referee, eve: Mailbox, text: str) -> None:
    assert "no more mail from play.example" in " ".join(ask(referee, eve, text).split())
    bob = referee.registered("bob")
    assert "no more mail from play.example" not in ask(referee, bob, f"status\n\n{text}")
    assert "no more mail from play.example" in " ".join(ask(referee, bob, text).split())


def test_a_line_of_ours_that_is_sent_as_it_stands_registers_nobody(referee: Referee, eve: Mailbox) -> None:
    """A link on our pages writes it, and so it is in the invitation."""
    assert "`NAME`: write a name of your choice in its place" in ask(referee, eve, "register NAME\n")
    assert "`Jürgen`: `register`: give a name: a letter a to z" in ask(referee, eve, "register Jürgen\n")


def test_a_letter_without_a_command_is_told_how_to_begin(referee: Referee, eve: Mailbox) -> None:
    text = ask(referee, eve, "Hi, I would like to play!\n")
    assert "Your letter has no command" in text
    assert BEGIN in text
    assert all(title in text for title in titles().values())


def test_a_player_is_told_what_is_due_instead(referee: Referee) -> None:
    ann, bob = referee.begun()
    text = ask(referee, bob, "What now?\n")
    assert "Your move: orders are due by" in text
    assert "`status m1` shows m1 in full, with what to send" in text
    assert BEGIN not in text
    assert "no running or proposed match" in ask(referee, referee.registered("carl"), "What now?\n")
    referee.send(ann, "resign m1 match\n")
    assert "One match is over" in ask(referee, bob, "")


@pytest.mark.parametrize("subject", ["register eve", "new spaceships"])
def test_a_command_in_the_subject_is_said_to_belong_into_the_text(
    referee: Referee, eve: Mailbox, subject: str
) -> None:
    assert "commands go into its text, not into the subject" in " ".join(ask(referee, eve, "", subject).split())


def test_the_status_of_a_proposal_has_what_agrees_to_it(referee: Referee) -> None:
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, "new spaceships with bob\nend\n")
    proposal = bob.text
    agreeing = next(line for line in proposal.splitlines() if line.startswith("accept m1 "))
    referee.send(bob, "status m1\n", sign=False)
    assert f"\n{agreeing}\n" in bob.text
    assert "`decline m1`" in bob.text
    assert "Not accepted yet by" not in bob.text
    referee.send(ann, "status m1\n", sign=False)
    assert "Not accepted yet by: bob" in ann.text
    assert "accept m1" not in ann.text


@pytest.mark.parametrize("game", GAMES)
def test_help_on_a_game(referee: Referee, eve: Mailbox, game: str) -> None:
    text = ask(referee, eve, f"help {game}\n")
    assert titles()[game].upper() in text
    assert f"new {game} with bob" in text
    assert f"`rules {game}`" in text


def test_the_page_is_named_where_it_is_served(referee: Referee, eve: Mailbox) -> None:
    assert "click" not in ask(referee, eve, "help\n")
    referee.configure(pages="https://play.example/pbem/")
    assert "https://play.example/pbem/" in ask(referee, eve, "help\n")
    assert "https://play.example/pbem/spaceships.html" in ask(referee, eve, "help spaceships\n")
