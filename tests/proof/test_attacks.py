"""Attacks with fresh eyes: what a server with its key, an opponent or an odd but honest player can bring about."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import against, fails, fails_for_both, holds, index, proof, renamed, with_entry, with_papers
from in_a_box.inquiries import early, sentence_of
from in_a_box.referee import Mailbox, Referee, attachment, body, form_in
from vectors.make import asked, proposed, reply
from world.mutations import signed_again

from pbem.desk.commands import proposals
from pbem.games import Refused
from pbem.match import submissions
from pbem.match.changed import replace
from pbem.match.documents import Evidence, Receipt, SetAside
from pbem.match.transcript import Entry, sha256_hex
from pbem.proof import bundle
from pbem.proof.kept_letters import kept
from pbem.store.inbox import Envelope
from pbem.store.operator import Instructions

if TYPE_CHECKING:
    from pbem.match.state import Submission
    from pbem.match.step import Signed, Step
    from pbem.proof.bundle import Bundle
    from pbem.requests import SignedForm, SubmitOrders

SMALL = "fleet: cost:3\nsettle: 0"
SETUPS = ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5")
DAY = timedelta(days=1)

DEFAULT = f"{SMALL}\nmiss: default\npace: 2d\ngrace: 1d"
"""Terms in which default orders are played."""

BAD = {"open", "broken", "contradicts", "two stories"}


def standings(found: Bundle, *people: Mailbox) -> dict[str, str]:
    """How the kept letters of these people stand to a bundle that holds."""
    bench = against(found)
    letters = [bench.judge(kept(one.name, raw.as_bytes())) for one in people for raw in one.letters]
    return {finding.found: finding.standing for letter in letters for finding in letter.findings}


def accused(referee: Referee, *people: Mailbox) -> dict[str, str]:
    """What the letters of honest players find against the honest bundle."""
    found = proof(referee, people[0])
    holds(found)
    return {told: standing for told, standing in standings(found, *people).items() if standing in BAD}


class TestServerWithItsKey:
    def test_refused_orders_are_no_excuse_to_drop_those_that_stand(
        self, referee: Referee, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Orders that cite the head of their own turn did not come in advance, and are nothing `unused`."""
        honest = submissions.order

        def lying(step: Step, seat: int, form: SignedForm[SubmitOrders], signed: Signed) -> Submission:
            try:
                return honest(step, seat, form, signed)
            except Refused:
                match, before = step.match, step.match.orders[seat]
                found = submissions.receipted(step, seat, match.turn, form, signed, form.request.text, before)
                unused = SetAside(found.paper, found.letter, found.evidence)
                gone = replace(found, standing=False, aside=(*before.aside, unused))
                step.match = replace(match, orders={**match.orders, seat: gone})
                return gone

        monkeypatch.setattr(submissions, "order", lying)
        ann, bob = referee.begun(f"{SMALL}\nmiss: pass\npace: 2d\ngrace: 1d", SETUPS)
        referee.send(ann, ann.filled("orders", "Rv1"))
        receipt = ann.last
        assert "stand, revision 1" in body(receipt)
        referee.send(ann, ann.filled("orders", "mGx3 Gx4", rev=2))  # not legal: the honest server refuses it
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(4 * DAY)
        assert referee.match().turn == 2, "the server passed for Ann, whose legal orders it had"
        referee.send(bob, "resign m1 match\n")
        found = proof(referee, bob)
        letter = "letters/game-1-turn-1-unused-seat-1-rev-2.eml"
        fails_for_both(found, letter, "that could be stored")

    def test_refused_default_orders_are_no_excuse_either(
        self, referee: Referee, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What no position can make good was never stored: it is nothing `unused`, and excuses no claim."""
        honest = submissions.store

        def lying(step: Step, seat: int, form: SignedForm[SubmitOrders], signed: Signed) -> Submission:
            try:
                return honest(step, seat, form, signed)
            except Refused:
                match, before = step.match, step.match.stored[seat, 0]
                found = submissions.receipted(step, seat, 0, form, signed, form.request.text, before)
                step.match = replace(match, stored={**match.stored, (seat, 0): found})
                return found

        monkeypatch.setattr(submissions, "store", lying)
        ann, bob = referee.begun(DEFAULT, SETUPS)
        early(referee, ann, "default", "Rv1")
        receipt = ann.last
        assert "Stored, revision 1" in body(receipt)
        early(referee, ann, "default", "Bz9 nonsense", rev=2)  # the honest server refuses it at once
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(9 * DAY)
        referee.send(bob, "claim m1\n")
        assert "Your claim is granted" in bob.text
        found = proof(referee, bob)
        monkeypatch.undo()
        letter = "letters/game-1-default-unused-seat-1-rev-2.eml"
        fails_for_both(found, letter, "that could be stored")

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

    def test_a_match_is_not_missed_while_it_is_paused(self, referee: Referee) -> None:
        """While the match is paused nobody's time runs, so that no `missed` (and no `forfeited`) stands."""
        _, bob = referee.begun(f"{SMALL}\nmiss: forfeit\npace: 2d\ngrace: 1d", SETUPS)
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(9 * DAY)
        found = proof(referee, bob)
        at = index(found, "missed", 1, 1)
        time = found.entries[at - 1].time
        pause = Entry(0, "", time, "paused", {"by": "operator", "reason": "the weekend"})
        entries = (*found.entries[:at], pause, *found.entries[at:])
        forged = signed_again(replace(found, entries=entries), at)
        fails(forged, "missed")

    def test_the_time_of_a_pause_does_not_count(self, referee: Referee) -> None:
        """The deadline of a miss is later by the pauses that the transcript itself shows."""
        _, bob = referee.begun(f"{SMALL}\nmiss: forfeit\npace: 2d\ngrace: 1d", SETUPS)
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.wait(9 * DAY)
        found = proof(referee, bob)
        at = index(found, "missed", 1, 1)
        first, last = found.entries[at - 1].time, found.entries[at].time
        pause = Entry(0, "", first, "paused", {"by": "operator", "reason": "a week off"})
        resume = Entry(0, "", last, "resumed", {"by": "operator", "reason": "we go on"})
        entries = (*found.entries[:at], pause, resume, *found.entries[at:])
        fails(signed_again(replace(found, entries=entries), at), "deadline")

    def test_a_letter_of_one_place_is_not_used_at_another(self, referee: Referee) -> None:
        """One reply token was given out for one place: the same letter does not count in two games."""
        domain, ann, bob = proposed(referee, f"{SMALL}\nkind: scored\ngames: 2")
        reply(referee, domain, bob, form_in(bob.text, "accept", lines=1))
        for game in (1, 2):
            referee.send(ann, ann.filled("setup", SETUPS[0]))
            reply(referee, domain, bob, bob.filled("setup", SETUPS[1]), asked(bob, "setup"))
            assert (referee.match().game, referee.match().turn) == (game, 1)
            reply(referee, domain, bob, "orders m1 turn 1\nfinal\nend\n")
            referee.send(ann, ann.filled("orders", "Rv1"))
            assert referee.match().turn == 2
            if game == 1:
                referee.send(ann, "resign m1 game 1\n")
        with referee.database.transaction():
            Instructions(referee.database).give("end", "m1", "x", "me", referee.now)
        referee.work()
        found = bundle.read(attachment(ann.find(", the end"), ".pbem.zip"))
        holds(found)
        first, second = (f"game-{game}-turn-1-seat-2" for game in (1, 2))
        letter = found.papers[f"letters/{first}.eml"]
        evidence = Evidence.read(found.papers[f"evidence/{first}.txt"].decode())
        assert evidence.place == "game 1 turn 1"
        moved = replace(evidence, place="game 2 turn 1").text().encode()
        old = found.papers[f"receipts/{second}.txt"]
        receipt = Receipt.read(old.decode())
        receipt = replace(receipt, mail=sha256_hex(letter), evidence=sha256_hex(moved), received=evidence.received)
        papers = {
            f"letters/{second}.eml": letter,
            f"evidence/{second}.txt": moved,
            f"receipts/{second}.txt": receipt.text().encode(),
        }
        at = index(found, "turn", 2, 1)
        forged = with_entry(
            with_papers(found, papers),
            at,
            lambda b: renamed(b, sha256_hex(old), sha256_hex(papers[f"receipts/{second}.txt"])),
        )
        fails(signed_again(forged, at), f"evidence/{second}.txt")


class TestHonestButOdd:
    def test_a_withdrawn_setup_while_the_game_is_played(self, referee: Referee) -> None:
        """Be `open` (or agree): the trace of the setups is shown with the reveal; now it convicts at once."""
        ann, bob = referee.agreed(SMALL)
        referee.send(ann, ann.filled("setup", SETUPS[0]))
        referee.send(ann, "clear m1\n")
        referee.send(ann, ann.filled("setup", SETUPS[0], 3))
        referee.send(bob, bob.filled("setup", SETUPS[1]))
        assert referee.match().turn == 1
        assert set(accused(referee, ann, bob).values()) <= {"open"}

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
        assert accused(referee, bob, ann) == {}

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
