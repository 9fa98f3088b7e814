"""Letters that meet people half way: what was nearly said comes back completed, and nothing is stored unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Referee, new, sent_from

if TYPE_CHECKING:
    from pbem.match.state import Submission

SHOOTING = {"ann": "A b1 E\nB c1 W\nC d1 N", "bob": "D b5 S\nE c5 S\nF d5 S"}


def standing(referee: Referee, seat: int = 1) -> Submission | None:
    """The orders that stand for a seat in the turn that is due."""
    submission = referee.match().orders.get(seat)
    return submission if submission and submission.standing else None


class TestUntouchedForms:
    def test_an_untouched_form_is_a_question_and_nothing_is_stored(self, referee: Referee) -> None:
        ann, _ = referee.begun()
        referee.send(ann, ann.form("orders").replace("\nend\n", "  \n \n\nend\n"))
        assert "There are no orders in your form, and nothing was stored" in ann.text
        assert standing(referee) is None

    @pytest.mark.parametrize("turn", ["turn 4", "default"])
    def test_an_untouched_form_is_not_stored_for_later(self, referee: Referee, turn: str) -> None:
        ann, _ = referee.begun("miss: default\n")
        referee.send(ann, ann.form("orders").replace("turn 1", turn))
        assert "nothing was stored" in ann.text
        assert not referee.match().stored

    def test_where_something_must_be_ordered_nothing_else_is_offered(self, referee: Referee) -> None:
        ann, _ = referee.table("shoot-em-up", "board: 5x5", SHOOTING)
        referee.send(ann, ann.form("orders"))
        assert "nothing was stored" in ann.text
        assert "Do you want to order nothing?" not in ann.text


class TestUnused:
    def test_the_receipt_names_what_stays_unused(self, referee: Referee) -> None:
        ann, _ = referee.begun()
        referee.send(ann, ann.filled("orders", "Gx3"))
        assert "\nUnused: 7 conventional strikes, 1 beam, and 1 scan.\n" in ann.text


class TestCompletedForms:
    @pytest.mark.parametrize(
        ("written", "told"),
        [
            ("orders m1\nfinal\nGx3\nend\n", "name the turn"),
            ("orders m1 turn 1 final\nGx3\n", "The final line `end` of `orders` is missing"),
            ("orders m1 final Gx3\n\nYours, Ann\n", "`end`"),
        ],
    )
    def test_a_form_without_turn_or_end_comes_back_completed(self, referee: Referee, written: str, told: str) -> None:
        ann, _ = referee.begun()
        referee.send(ann, written)
        assert told in " ".join(ann.text.split())
        form = ann.form("orders")
        assert form.endswith("\nrev 1\nfinal\nGx3\nend\n")
        referee.send(ann, form)
        assert "Your orders for turn 1 stand, revision 1, final:\n\n  Gx3\n" in ann.text

    @pytest.mark.parametrize("settle", ["0", "10m"])
    def test_what_final_means_is_told(self, referee: Referee, settle: str) -> None:
        ann, bob = referee.begun(f"settle: {settle}\n")
        referee.send(ann, ann.filled("orders", "final\nGx3"))
        told = " ".join(ann.text.split())
        assert "Yours are final: the turn does not wait in case you change them" in told
        assert "Until then you may send others" not in told
        assert ("at once if all of them are final, otherwise 10 minutes after the last" in told) == (settle != "0")
        referee.send(ann, ann.filled("orders", "Gx4", 2))
        kept = standing(referee)
        assert kept
        assert (kept.text, kept.final) == ("Gx4", False), "it can still be replaced, as the letter says"
        assert "Until then you may send others with a higher rev" in ann.text
        referee.send(ann, ann.filled("orders", "final\nGx4", 3))
        referee.send(bob, bob.filled("orders", "final\n"))
        assert referee.match().turn == 2

    def test_a_revision_that_is_used_up_is_replaced_by_the_next(self, referee: Referee) -> None:
        ann, _ = referee.begun()
        form = ann.filled("orders", "Rv5")
        referee.send(ann, form)
        referee.send(ann, form.replace("Rv5", "Rv4"))
        assert "use a higher one" in ann.text
        assert ann.form("orders").endswith("\nrev 2\nRv4\nend\n")

    def test_no_piece_is_moved_to_the_start_of_a_line_where_it_is_another(self, referee: Referee) -> None:
        ann, _ = referee.agreed(game="dueling-masters")
        written = "W A10 B A8 X A6, A7 Y C8, C10 Z D1 D4 D6 D8 H A1 * B3 B5 B7 B9 E10 D10 B1"
        referee.send(ann, f"setup m1 game 1\n{written}\nend\n")
        assert written in ann.form("setup").split("\n")

    @pytest.mark.parametrize(
        "written",
        [
            "orders m1 turn 2\nserver play.example\nplayer bob\nGx3\nend\n",
            "orders m1 turn 1\nserver play.example\nplayer bob\nGx3\nend\n",
            "orders m1 turn 1\nserver elsewhere.example\nGx3\nend\n",
            "orders m1 turn 3\nGx3\n",
            "orders m1 default\nGx3\n",
            "orders m1 turn 1\nhello\nend\n",
            "orders m1 turn 1\nRv1 Rv2 Rv3 Rv4 Rv5 Rw1 Rw2 Rw3 Rw4\nend\n",
        ],
    )
    def test_nothing_is_completed_that_would_be_refused_or_meant_for_another_place(
        self, referee: Referee, written: str
    ) -> None:
        ann, _ = referee.begun()
        referee.send(ann, written)
        assert "Refused; nothing was changed" in ann.text
        assert "the completed form" not in ann.text


class TestForgottenSignatures:
    """A player with a key answers without a signature, or with the orders alone: the form to be signed comes back."""

    @pytest.mark.parametrize("signed", [True, False])
    @pytest.mark.parametrize("written", ["Gx3", "orders m1\nGx3\n", "orders m1 turn 1\nGx3\nend\n", "gx3\n\nBob"])
    def test_the_completed_form_comes_back(self, referee: Referee, written: str, *, signed: bool) -> None:
        ann, _ = referee.begun()
        referee.send(ann, written, sign=signed, to="pbem+m1@play.example", follow=False)
        assert "To send it, sign these lines:" in ann.text
        assert standing(referee) is None
        referee.send(ann, ann.form("orders"))
        kept = standing(referee)
        assert kept
        assert kept.text == "Gx3"

    def test_the_subject_names_the_match_where_the_address_does_not(self, referee: Referee) -> None:
        ann, _ = referee.begun()
        headers = sent_from(ann.address)
        referee.deliver(referee.raw(ann, "Gx3", subject="Re: [pbem m1] Spaceships", headers=headers), ann.address)
        assert "sign these lines:\n\norders m1 turn 1" in ann.text


class TestSlips:
    @pytest.mark.parametrize(
        ("written", "meant", "told"),
        [
            ("gx3 GY3", "Gx3 Gy3", "`gx3 GY3`: did you mean Gx3 Gy3? Capitals matter"),
            ("Gx3 SYW3", "Gx3 sYw3", "`SYW3`: did you mean sYw3?"),
            ("bRx1\u2013Rx3", "bRx1-Rx3", "did you mean bRx1-Rx3?"),
            ("mBx1, Gx3", "mBx1 Gx3", "the completed form"),
        ],
    )
    def test_one_slip_away_is_asked_back(self, referee: Referee, written: str, meant: str, told: str) -> None:
        ann, _ = referee.begun()
        referee.send(ann, ann.filled("orders", written))
        assert told in " ".join(ann.text.split())
        assert standing(referee) is None
        form = ann.form("orders")
        assert f"\n{meant}\nend\n" in form
        referee.send(ann, form)
        assert "Your orders for turn 1 stand, revision 1" in ann.text


def test_an_example_names_a_match_of_the_writers_own(referee: Referee) -> None:
    ann, _ = referee.begun()
    referee.send(ann, "extend 3d\n")
    assert "name the match, such as m1" in ann.text
    referee.send(ann, new(ann, "spaceships", "bob", options="pace: 9d"))
    referee.send(ann, "extend 3d\n")
    assert "name the match, such as m2" in ann.text, "the latest"
    for subject, match in (("Re: [pbem m1] Spaceships, game 1 begins", "m1"), ("Re: [pbem m9] Spaceships", "m2")):
        words = referee.signed(ann, f"# {match}, {subject}\nextend 3d\n")
        referee.deliver(referee.raw(ann, words, subject=subject), ann.address)
        assert f"name the match, such as {match}." in ann.text, "the one that the letter answers, if it is theirs"
    referee.send(ann, "substitute m2 carl\n")
    assert "`substitute m2 carl for bob`" in ann.text
    carl = referee.registered("carl")
    referee.send(carl, "extend 3d\n")
    assert "name the match, such as m17" in carl.text
