"""Orders before their turn by mail: stored, used or not used, replaced, withdrawn, and told to their player alone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import early, held, proved
from in_a_box.referee import Mailbox, Referee, attachment, body
from in_a_box.small_games import FLEETS, PIECES, SMALL
from judges.golden import reads_like

if TYPE_CHECKING:
    from email.message import EmailMessage


DAY = timedelta(days=1)
OVER = 11 * DAY
"""Pace and grace, and a day."""


def begun(referee: Referee, options: str = "") -> tuple[Mailbox, Mailbox]:
    return referee.begun(f"{SMALL}\n{options}", FLEETS)


def reports(person: Mailbox) -> list[EmailMessage]:
    return [letter for letter in person.letters if ", turn " in str(letter["Subject"])]


class TestInAdvance:
    def test_used_when_the_turn_comes(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        early(referee, ann, "turn 2", "Rv3")
        reads_like(ann.last, "ahead/stored")
        referee.read_cold()
        before = len(ann.letters)
        referee.turn((ann, "Rv1"), (bob, ""))
        assert len(reports(bob)) == 1
        reads_like(ann.letters[before + 1], "ahead/stands")
        referee.read_cold()
        referee.turn((bob, ""))
        assert len(reports(bob)) == 2
        assert "You\n  strike    Rv3  hit" in body(reports(ann)[1])
        referee.read_cold()
        referee.turn((ann, "Bz5"), (bob, ""))
        assert any(
            "turn 2: orders signed (ann: key, bob: key) and legal" in line for line in held(bob.find(", the end"))
        )

    def test_several_turns_at_once(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        for turn, cell in ((2, "Rv3"), (3, "Bz5"), (4, "Gx1")):
            early(referee, ann, f"turn {turn}", f"final\n{cell}")
            early(referee, bob, f"turn {turn}", "final\n")
        referee.turn((ann, "Rv1"), (bob, ""))
        subject = str(ann.find(", the end")["Subject"])
        assert subject == "[pbem m1] Spaceships, game 1, the end: you won; the match is closed"
        told = body(ann.find(", the end"))
        assert -1 < told.find(": turn 1\n") < told.find(": turn 2\n") < told.find(": turn 3\n")
        assert told.startswith("You won"), "all of it comes in one letter"
        held(ann.find(", the end"))
        referee.read_cold()

    def test_orders_that_became_illegal_are_set_aside(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        early(referee, ann, "turn 2", "Rv5 Rv4 sRv1")
        echo = [line.removeprefix("> ") for line in ann.text.split("\n") if line.startswith("> ")]
        referee.turn((ann, "Rv1"), (bob, ""))
        reads_like(ann.find("turn 1"), "ahead/unused")
        referee.read_cold()
        assert referee.match().asked(1)
        assert "\nrev 2\n" in ann.form("orders")
        referee.send(ann, "\n".join([*echo, ""]), follow=False)
        assert "Refused" in ann.text
        referee.turn((ann, "Rv3"), (bob, ""))
        assert len(reports(ann)) == 2

    def test_withdrawn(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        early(referee, ann, "turn 2", "Rv5", rev=2)
        referee.send(ann, "clear m1 turn 2\n")
        assert "Withdrawn: orders for turn 2\n\n  Rv5\n\nTo store new ones, send the form with `rev 4`." in ann.text
        referee.read_cold()
        early(referee, ann, "turn 2", "Rv4", rev=1)
        assert "rev 3 was used before" in ann.text  # the withdrawal took it
        referee.send(ann, "# again\nclear m1 turn 2\n")
        assert "you have stored nothing for turn 2" in ann.text
        referee.turn((ann, "Rv1"), (bob, ""))
        assert "in advance" not in body(reports(ann)[0])
        assert "\nrev 4\n" in ann.form("orders")
        referee.read_cold()
        referee.turn((bob, ""))
        assert len(reports(ann)) == 1

    def test_status_shows_them_to_their_player(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        early(referee, ann, "turn 5", "final\nGx1 # a comment")
        referee.send(ann, "status m1\n", sign=False)
        assert "Stored for turn 5, revision 1, final:\n\n  Gx1 # a comment\n" in ann.text
        referee.turn((ann, "Rv1"), (bob, ""))
        assert "You have also stored: orders for turn 5." in body(reports(ann)[0])
        referee.send(bob, "status m1\n", sign=False)
        assert "Stored" not in bob.text
        assert "Stored" not in body(reports(bob)[0])

    @pytest.mark.parametrize(
        ("place", "text", "word"),
        [
            ("turn 32", "Rv1", "more than 30 turns ahead"),
            ("turn 2", "Rv1 x", "`x` is not an order"),
            ("turn 2", "bRv1Gx3", "not the ends of a line of three cells"),
            ("default", "Rv1", "you agreed on `miss: wait`"),
        ],
    )
    def test_refused_at_once(self, referee: Referee, place: str, text: str, word: str) -> None:
        ann, _ = begun(referee)
        early(referee, ann, place, text)
        assert "Refused; nothing was changed" in ann.text
        assert word in " ".join(ann.text.split())
        assert not referee.match().stored

    def test_a_letter_that_comes_after_its_turn_has_come(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        form = ann.filled("orders", "final\nRv3").replace("turn 1", "turn 2")
        referee.turn((ann, "Rv1"), (bob, ""))
        referee.send(ann, form)
        assert "Your orders for turn 2 stand, revision 1, final" in ann.text
        referee.turn((bob, ""))
        proved(referee, ann)
        referee.send(ann, form)
        assert "turn 2 is over; turn 3 is being played" in ann.text

    def test_they_end_with_the_game(self, referee: Referee) -> None:
        """The head that they cite is of no letter of the next game."""
        ann, bob = begun(referee, "kind: scored\ngames: 2")
        form = ann.filled("orders", "final\nRv3").replace("turn 1", "turn 4")
        referee.send(ann, form)
        for cell in ("Rv1", "Rv3", "Bz5"):
            referee.turn((ann, cell), (bob, ""))
        assert not referee.match().stored
        referee.read_cold()
        for person, text in ((ann, FLEETS[0]), (bob, FLEETS[1])):
            referee.send(person, person.filled("setup", text))
        assert not referee.match().stored
        referee.send(ann, form)
        assert "wrong `prev`" in " ".join(ann.text.split())
        assert not referee.match().stored
        referee.read_cold()


def test_an_alternating_game_asks_every_other_turn(referee: Referee) -> None:
    ann, bob = referee.table("dueling-masters", "", PIECES)
    early(referee, ann, "turn 2", "Z1 D1-D2")
    assert "that turn is your opponent's" in ann.text
    early(referee, ann, "turn 3", "Z1 D2-B9")
    assert "Z1 does not move from D2 to B9" in " ".join(ann.text.split())
    early(referee, ann, "turn 3", "Z1 D2-D3")
    told = " ".join(body(bob.find("begins")).split())
    assert "in turn 1. You may send orders for a later turn in advance: `status m1` sends you the form." in told
    referee.send(bob, "status m1\n", sign=False)
    referee.send(bob, bob.filled("orders", "final\nZ1 G2-G3"))
    assert "your orders for turn 2" in bob.text
    referee.send(bob, "status m1 # again\n", sign=False)
    assert "\nrev 2\n" in bob.form("orders")
    referee.turn((ann, "Z1 D1-D2"))
    assert len(reports(ann)) == len(reports(bob)) == 1
    assert str(reports(ann)[0]["Subject"]).endswith("game 1, turn 1; turn 2")
    assert "We already have your orders for turn 3" in body(reports(ann)[0])


class TestDefaults:
    def test_played_for_each_turn_that_is_missed(self, referee: Referee) -> None:
        ann, bob = begun(referee, "miss: default")
        early(referee, ann, "default", "final\nRv5")
        reads_like(ann.last, "ahead/default-stored")
        referee.read_cold()
        before = len(bob.letters)
        for turn in (1, 2, 3):
            referee.turn((bob, ""))
            referee.wait(OVER)
            assert len(reports(ann)) > turn
            referee.read_cold()
        assert referee.match().turn == 4
        letters = [letter for letter in ann.letters if "turn 1" in str(letter["Subject"])]
        reads_like(letters[-1], "ahead/default-played")
        others = [letter for letter in bob.letters[before:] if "turn 1" in str(letter["Subject"])]
        reads_like(others[0], "ahead/default-played-by-the-other")
        referee.turn((ann, "Gx1"), (bob, ""))
        referee.send(bob, "resign m1 game 1\n")
        lines = [line for line in held(ann.find(", the end")) if "orders signed" in line]
        assert ["ann: key, by default" in line for line in lines] == [True, True, True, False]

    def test_a_target_list_goes_on_where_it_was(self, referee: Referee) -> None:
        ann, bob = begun(referee, "miss: default")
        early(referee, ann, "default", "next Rv5 Rv1, Rv4 Rv1\nRv3 # the rest")
        assert "In turn 1, by what you know now, they would stand for:\n\n  Rv5\n" in ann.text
        for turn, cell in ((1, "Rv5"), (2, "Rv1")):
            referee.turn((bob, ""))
            referee.wait(OVER)
            assert f"your default orders were played:\n\n  {cell}\n" in body(ann.find(f"turn {turn}"))
            referee.read_cold()
        early(referee, ann, "turn 4", "next Rv1 Rv4 Rv3", rev=1)
        referee.turn((ann, "next Rv1 Rv4 Rv3"), (bob, ""))
        assert "in advance, and they\nare legal. They stand, revision 1:\n\n  Rv3\n" in body(ann.find("turn 3"))
        referee.turn((bob, ""))
        referee.turn((ann, "Bz5"), (bob, ""))
        bundle = attachment(ann.find(", the end"), ".zip")
        held(ann.find(", the end"))
        assert b'\n1 = "Rv3"\n2 = ""\n' in bundle, "the record has what was played"

    def test_a_target_list_of_which_nothing_is_left_is_not_played(self, referee: Referee) -> None:
        ann, bob = begun(referee, "miss: default")
        early(referee, ann, "default", "next Rv5")
        early(referee, ann, "turn 2", "next Rv5")
        referee.turn((ann, "Rv5"), (bob, ""))
        assert "no cell of the target list is left" in body(ann.find("turn 1"))
        referee.turn((bob, ""))
        referee.wait(OVER)
        assert referee.match().turn == 2
        referee.turn((ann, "Rv4"))
        referee.send(bob, "resign m1 game 1\n")
        bundle = attachment(ann.find(", the end"), ".zip")
        held(ann.find(", the end"))
        assert b"/game-1-turn-2-unused-seat-1-rev-1.txt" in bundle

    def test_what_is_sent_goes_before(self, referee: Referee) -> None:
        ann, bob = begun(referee, "miss: default")
        early(referee, ann, "default", "Rv5")
        referee.wait(OVER)
        referee.send(ann, ann.filled("orders", "Rv1"))
        assert "Your orders for turn 1 stand" in ann.text
        referee.turn((bob, ""))
        assert "You\n  strike    Rv1  hit" in body(reports(ann)[-1])
        assert all("by default" not in line for line in proved(referee, bob))

    def test_illegal_default_orders_leave_the_match_waiting_for_a_claim(self, referee: Referee) -> None:
        ann, bob = begun(referee, "miss: default")
        early(referee, bob, "default", "Gx3")
        assert "In this turn they would not be legal" in bob.text
        referee.turn((ann, "Rv1"))
        referee.wait(OVER)
        assert referee.match().turn == 1
        reads_like(bob.last, "ahead/default-not-legal")
        referee.send(ann, "claim m1\n")
        assert "You won" in body(ann.find(", the end"))
        held(ann.find(", the end"))

    def test_another_default_later(self, referee: Referee) -> None:
        """The orders of an earlier turn stay as they were played."""
        ann, bob = begun(referee, "miss: default")
        early(referee, ann, "default", "Rv5")
        referee.turn((bob, ""))
        referee.wait(OVER)
        early(referee, ann, "default", "Rv4", rev=2)
        referee.turn((bob, ""))
        referee.wait(OVER)
        assert referee.match().turn == 3
        referee.read_cold()
        proved(referee, ann)

    def test_no_claim_against_default_orders(self, referee: Referee) -> None:
        ann, bob = referee.begun("fleet: cost:3\nsettle: 2d\nmiss: default", FLEETS)
        early(referee, bob, "default", "")
        referee.send(ann, ann.filled("orders", "Rv1"))
        referee.wait(10 * DAY + timedelta(hours=1))
        referee.send(ann, "claim m1\n")
        assert "Refused" in ann.text
        referee.wait(3 * DAY)
        assert referee.match().turn == 2


def test_default_orders_for_a_missed_turn_may_end_the_game(referee: Referee) -> None:
    """They are played at once, and the answer to them tells of the turn for which they came."""
    ann, bob = begun(referee, "kind: scored\ngames: 2\nmiss: default")
    for cell in ("Rv1", "Rv3"):
        referee.turn((ann, cell), (bob, ""))
    referee.turn((ann, "Bz5"))
    referee.wait(OVER)
    early(referee, bob, "default", "")
    answer = body(bob.find("Re: "))
    assert "your default orders" in answer
    assert "In this turn they would be legal" in answer
    assert attachment(bob.find("Re: "), "m1-game-1-default-rev-1.receipt.txt")
    assert (referee.match().phase, referee.match().game) == ("setup", 2)
    proved(referee, bob)
