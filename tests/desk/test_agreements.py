"""Ends that all players agree on: letters, transcript, record, proof.

A draw of some of them alone is in `test_leaving.py`; two ends of one match, in `test_endings.py`.
"""

from __future__ import annotations

import pytest
from in_a_box.inquiries import proved, types
from in_a_box.referee import Mailbox, Referee, body, form_in
from in_a_box.small_games import FLEETS, SMALL
from judges.golden import reads_like


def begun(referee: Referee, options: str = "") -> tuple[Mailbox, Mailbox]:
    return referee.begun(f"{SMALL}\n{options}", FLEETS)


class TestDraws:
    def test_offered_and_accepted(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.turn((ann, "Rv1"), (bob, ""))
        referee.send(ann, "draw m1 offer\n")
        assert "Offered: a draw." in ann.text
        reads_like(bob.last, "agreements/draw-offered")
        form = form_in(bob.text, "draw")
        referee.send(bob, form.replace("prev ", "prev 0"))
        assert "Refused; nothing was changed" in bob.text
        referee.send(bob, form)
        assert "All agree: a draw" in bob.text
        reads_like(ann.find("the end"), "agreements/draw-end")
        assert types(referee)[-5:] == ["draw", "draw", "ended", "revealed", "closed"]
        found = proved(referee, ann)
        assert "seat 2, of a draw: accept, signed" in found
        assert "game 1 ended: winners [1, 2], scores [3, 2], agreement" in found

    def test_offers_that_cross_agree_and_ask_for_nothing_more(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.send(ann, "draw m1 offer\n")
        referee.send(bob, "draw m1 offer\n")
        told = body(ann.find("a draw?"))
        assert "bob agrees: a draw." in told
        assert "To accept" not in told
        assert types(referee)[-5:] == ["draw", "draw", "ended", "revealed", "closed"]
        proved(referee, ann)

    def test_declined(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.send(ann, "draw m1 offer\n")
        referee.send(bob, "draw m1 decline\n")
        reads_like(ann.last, "agreements/draw-declined")
        referee.send(bob, "draw m1 accept\n")
        assert "there is no such offer" in bob.text
        referee.turn((ann, "Rv1"), (bob, ""))
        assert types(referee)[-1] == "turn"

    def test_an_offer_lapses_when_the_turn_is_resolved(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.send(ann, "draw m1 offer\n")
        referee.turn((ann, "Rv1"), (bob, ""))
        referee.send(bob, "draw m1 accept\n")
        assert "there is no such offer" in bob.text
        referee.send(ann, "draw m1 offer # again\n")
        referee.read_cold()
        referee.send(bob, "draw m1 accept # now\n")
        assert types(referee)[-1] == "closed"
        proved(referee, bob)

    def test_whose_orders_are_in_is_not_told_that_they_are_due(self, referee: Referee) -> None:
        ann, bob = begun(referee)
        referee.turn((bob, ""))
        referee.send(ann, "draw m1 offer\n")
        assert "the offer lapses when turn 1 is resolved" in bob.text
        assert "still due" not in bob.text


class TestAnnulment:
    @pytest.mark.parametrize("playing", [True, False])
    def test_by_agreement(self, referee: Referee, *, playing: bool) -> None:
        ann, bob = begun(referee, "kind: scored\ngames: 3") if playing else referee.agreed(SMALL)
        referee.send(ann, "annul m1 offer\n")
        reads_like(bob.last, f"agreements/annul-{'playing' if playing else 'setup'}")
        referee.send(bob, "annul m1 accept\n")
        assert types(referee)[-1] == "closed"
        letter = body(ann.find("the match is closed"))
        assert "The match ends without a winner, because you agreed to annul it." in letter
        assert proved(referee, bob)[-1].endswith("annulled")
        referee.send(ann, "standings\n", sign=False)
        assert "bob" not in ann.text, "what was annulled counts for nothing"
