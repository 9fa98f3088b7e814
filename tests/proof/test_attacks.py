"""Attacks with fresh eyes: what a server with its key, an opponent or an odd but honest player can bring about."""

from __future__ import annotations

from datetime import timedelta

import pytest
from attackers.forgers import fails, fails_for_both, holds, nth, proof
from in_a_box.inquiries import early, sentence_of
from in_a_box.referee import Referee, body
from judges.honest import accused
from msgspec.structs import replace
from vectors.matches import SETUPS, SMALL, good
from world.mutations import signed_again

from pbem.desk.commands import proposals
from pbem.match.transcript import Entry
from pbem.store.inbox import Envelope
from pbem.store.operator import Instructions

DAY = timedelta(days=1)

DEFAULT = f"{SMALL}\nmiss: default\npace: 2d\ngrace: 1d"
"""Terms in which default orders are played."""


class TestServerWithItsKey:
    def test_nobody_is_added_to_those_who_were_named(self, referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
        """Fail: `new shoot-em-up with bob` proposes a game of two, and a third is the server's word alone."""
        monkeypatch.setattr(proposals, "_more_seats", lambda _game, taken, _wanted: (range(taken + 1, 4), []))
        ann, bob, eve = (referee.registered(name) for name in ("ann", "bob", "eve"))
        referee.send(ann, "new shoot-em-up with bob\nserver play.example\nplayer ann\nend\n")
        referee.send(eve, "join m1\nserver play.example\nplayer eve\n")
        assert referee.match().terms.players == ("ann", "bob", "eve")
        for other in (bob, eve):
            referee.send(other, f"accept m1 {referee.match().rules_hash}\n")
        with referee.database.transaction():
            Instructions(referee.database).give("end", "m1", "x", "me", referee.now)
        referee.work()
        fails(proof(referee, bob), "letters/agreed-seat-1.eml")

    @pytest.mark.parametrize(("resumed", "word"), [(False, "missed"), (True, "deadline")])
    def test_no_time_runs_while_a_match_is_paused(self, *, resumed: bool, word: str) -> None:
        """No turn is missed during a pause, and a deadline is later by each pause that the transcript shows."""
        found = good("claim")
        at = nth(found, "missed")
        first, last = found.entries[at - 1].time, found.entries[at].time
        pause = Entry(0, "", first, "paused", {"by": "operator", "reason": "a week off"})
        resume = Entry(0, "", last, "resumed", {"by": "operator", "reason": "we go on"})
        entries = (*found.entries[:at], pause, *([resume] if resumed else []), *found.entries[at:])
        fails_for_both(signed_again(replace(found, entries=entries), at), word)


class TestHonestButOdd:
    def test_a_withdrawn_setup_while_the_game_is_played(self, referee: Referee) -> None:
        """Be `open` (or agree): the trace of the setups is shown with the reveal; now it convicts at once."""
        ann, bob = referee.agreed(SMALL)
        referee.send(ann, ann.filled("setup", SETUPS[0]))
        referee.send(ann, "clear m1\n")
        referee.send(ann, ann.filled("setup", SETUPS[0], 3))
        referee.send(bob, bob.filled("setup", SETUPS[1]))
        assert referee.match().turn == 1
        assert accused(referee) == []

    def test_default_orders_that_came_while_the_time_ran_out(self, referee: Referee) -> None:
        """Not convict: they came after the grace, a minute before the server noted the miss."""
        ann, bob = referee.begun(DEFAULT, SETUPS)
        early(referee, ann, "default", "Rv1")
        form = ann.filled("orders", "Rv3", 2).replace("turn 1", "default", 1)
        referee.send(bob, bob.filled("orders", "final\n"))
        patience = referee.match().clocks[1].grace_ends
        assert patience is not None
        referee.wait(patience - referee.now - timedelta(seconds=1))
        assert not referee.match().missed
        referee.now += timedelta(minutes=1)
        referee.alive()
        raw = referee.raw(ann, referee.signed(ann, form))
        referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), raw, referee.now)
        referee.now += timedelta(minutes=1)
        referee.alive()
        referee.running.tick(referee.now)
        referee.work()
        assert referee.match().turn == 2
        assert "Stored, revision 2" in body(ann.find("orders"))
        referee.send(bob, "resign m1 match\n")
        assert accused(referee) == []

    @pytest.mark.parametrize("text", ["draw m1 offer", "annul m1 offer", "resign m1 match", "extend m1 3d"])
    def test_a_bare_sentence_above_the_whole_one(self, referee: Referee, text: str) -> None:
        """Hold: the bare sentence was not obeyed, the whole one beneath it was."""
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(ann, ann.filled("orders", "Rv1"))
        whole = sentence_of(referee, ann, f"{text}\n")
        entries = referee.match().seq
        referee.send(ann, f"{text}\n\n{whole}", follow=False)
        assert referee.match().seq > entries
        if referee.match().phase != "closed":
            referee.send(bob, "resign m1 match\n")
        holds(proof(referee, bob))

    def test_a_bare_claim_above_the_whole_one(self, referee: Referee) -> None:
        """Hold: the bare claim was not obeyed, the whole one beneath it was."""
        ann, bob = referee.begun(f"{SMALL}\npace: 2d\ngrace: 1d", SETUPS)
        referee.send(ann, ann.filled("orders", "final\nRv1"))
        referee.wait(9 * DAY)
        whole = sentence_of(referee, ann, "claim m1\n")
        referee.send(ann, f"claim m1\n\n{whole}", follow=False)
        assert referee.match().phase == "closed"
        holds(proof(referee, bob))
