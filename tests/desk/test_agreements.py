"""Ends that players agree on, and each reason for which a game or match ends: letters, transcript, record, proof."""

from __future__ import annotations

from datetime import timedelta

import pytest
from in_a_box.inquiries import held, proved, types
from in_a_box.referee import Mailbox, Referee, attachment, body, form_in
from in_a_box.small_games import FLEETS, SMALL
from judges.golden import reads_like

from pbem.match.record import read, replay
from pbem.proof import bundle

DAY = timedelta(days=1)


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
        assert "All agree to a draw" in bob.text
        reads_like(ann.find("the end"), "agreements/draw-end")
        said_once = body(ann.find("the end")).partition("the match is closed")[0]
        assert said_once.count("ann 3") == 1
        assert "Scores:" not in said_once
        assert types(referee)[-5:] == ["draw", "draw", "ended", "revealed", "closed"]
        found = proved(referee, ann)
        assert "seat 2, of a draw: accept, signed" in found
        assert "game 1 ended: winners [1, 2], scores [3, 2], agreement" in found

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


class TestReasons:
    """Each reason for which a game ends: told in its letter, the transcript, the record and the proof."""

    @pytest.mark.parametrize(
        ("reason", "said", "winner"),
        [
            ("rules", "You won Spaceships game 1 after 3 turns.", 1),
            ("agreement", "Spaceships game 1 is a draw after 0 turns, as you agreed.", 0),
            ("resignation", "You lost Spaceships game 1 after 0 turns, because you resigned.", 2),
            (
                "forfeit",
                "You lost Spaceships game 1 after 0 turns, because you missed the deadline and the grace period.",
                2,
            ),
            ("abandoned", "Spaceships game 1 ends without a winner after 0 turns, because nobody played on.", 0),
        ],
    )
    def test_of_a_game(self, referee: Referee, reason: str, said: str, winner: int) -> None:
        ann, bob = begun(referee, "kind: scored\nmiss: forfeit\nvictory: last game\ngames: 1")
        if reason == "rules":
            for shot in ("Rv1", "Rv3", "Bz5"):
                referee.turn((ann, shot), (bob, ""))
        elif reason == "agreement":
            referee.send(ann, "draw m1 offer\n")
            referee.send(bob, "draw m1 accept\n")
        elif reason == "resignation":
            referee.send(ann, "resign m1 game 1\n")
        else:
            if reason == "forfeit":
                referee.turn((bob, ""))
            referee.wait(11 * DAY)
        reveal = ann.find(", the end")
        assert said in " ".join(body(reveal).split())
        found = bundle.read(attachment(reveal, ".zip"))
        ended = next(entry for entry in found.entries if entry.type == "ended")
        assert (ended.body["reason"], ended.body["winners"]) == (
            reason,
            [winner] if winner else [1, 2] if reason == "agreement" else [],
        )
        record = read(found.papers["records/game-1.pbem.toml"].decode())
        assert record.result is not None
        assert (record.result.reason, record.result.winner) == (reason, winner)
        assert replay(record).result["reason"] == reason
        held(reveal)
        closed = body(ann.find("the match is closed"))
        assert ("You have won the match" in closed, "You have lost the match" in closed) == (
            winner == 1,
            winner == 2,
        )
