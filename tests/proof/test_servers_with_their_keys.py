"""A server that cheats with its own key: which lies the bundle shows, and which the letters that players kept."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import (
    against,
    fails,
    fails_for_both,
    holds,
    proof,
    saying,
    with_entry,
    with_papers,
)
from in_a_box.inquiries import sentence_of
from in_a_box.referee import Mailbox, Referee, body, placed, whole_sentence
from vectors.make import asked, home, keyless, reply
from world.mutations import rewritten, signed_again, with_body

from pbem.match.changed import replace
from pbem.match.documents import Withdrawal
from pbem.match.terms import Terms
from pbem.match.transcript import sha256_hex
from pbem.proof import bundle
from pbem.proof.kept_letters import kept
from pbem.store.inbox import Envelope
from verifier import verified

if TYPE_CHECKING:
    from email.message import EmailMessage

    from pbem.proof.bundle import Bundle

SMALL = "fleet: cost:3\nsettle: 0"
SETUPS = ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5")
DAY = timedelta(days=1)


def standings(found: Bundle, *letters: EmailMessage) -> dict[str, str]:
    """How kept letters stand to a bundle that holds: what was found that does not agree."""
    bench = against(found)
    findings = [one for letter in letters for one in bench.judge(kept("", letter.as_bytes())).findings]
    return {one.found: one.standing for one in findings if one.standing not in {"agrees", "later"}}


def beside(letter: str) -> str:
    """The evidence for a letter."""
    return letter.replace("letters/", "evidence/").replace(".eml", ".txt")


class TestReplayedSentences:
    def test_and_by_the_verifier(self, referee: Referee) -> None:
        """The letter of game 1, put into game 2 by the server: its head is another game's."""
        ann, bob = referee.begun(f"{SMALL}\nkind: scored\ngames: 3", SETUPS)
        for number in (1, 2):
            referee.send(ann, "draw m1 offer\n")
            referee.send(bob, "draw m1 accept\n")
            if number == 1:
                referee.send(ann, ann.filled("setup", SETUPS[0]))
                referee.send(bob, bob.filled("setup", SETUPS[1]))
        found = proof(referee, bob)
        holds(found)
        first, second = (entry for entry in found.entries if entry.type == "draw" and entry.body["word"] == "offer")
        old = found.papers[f"letters/draw-{first.seq}-seat-1.eml"]
        path = f"letters/draw-{second.seq}-seat-1.eml"
        forged = with_entry(found, second.seq - 1, lambda body: body.update(mail=sha256_hex(old)))
        forged = signed_again(with_papers(forged, {path: old}), second.seq - 1)
        fails(forged, f"entry {second.seq}", path)

    @pytest.mark.parametrize("text", ["extend m1 2d", "draw m1 offer", "clear m1 turn 1"])
    def test_a_sentence_without_a_key_and_a_revision_is_obeyed_once(self, referee: Referee, text: str) -> None:
        """The letter of the first sentence is said to have brought the second one, too."""
        domain = home()
        ann, bob = keyless(referee, SETUPS)
        where = asked(bob, "orders")
        for number in (1, 2):
            if text.startswith("clear"):
                reply(referee, domain, bob, bob.filled("orders", "", rev=2 * number - 1), where)
                where = str(bob.last["Reply-To"])
            reply(referee, domain, bob, f"{text}\n{placed(bob)}prev {referee.match().prev}\nend\n")
            where = str(bob.last["Reply-To"])
            assert "Refused" not in bob.text, bob.text
            if text.startswith("draw"):
                referee.send(ann, "draw m1 decline\n")
        referee.send(ann, "resign m1 match\n")
        found = proof(referee, ann)
        holds(found)
        verified(bundle.write(found))
        what = "-withdrawn-" if text.startswith("clear") else f"letters/{text.split(maxsplit=1)[0]}-"
        letters = [path for path in found.papers if what in path and path.endswith("eml") and "seat-2" in path]
        first, second = sorted(letters)
        forged = rewritten(found, beside(second), found.papers[beside(first)])
        forged = rewritten(forged, second, found.papers[first])
        if text.startswith("clear"):  # a withdrawal names the time itself
            withdrawals = [one.replace("letters/", "withdrawals/").replace("eml", "txt") for one in (first, second)]
            path = withdrawals[1]
            before, paper = (Withdrawal.read(forged.papers[one].decode()) for one in withdrawals)
            forged = rewritten(forged, path, replace(paper, received=before.received).text().encode())
        else:
            received = forged.entries[int(first.split("-")[1]) - 1].body["received"]
            forged = with_entry(forged, int(second.split("-")[1]) - 1, saying(received=received))
            forged = signed_again(forged)
        fails_for_both(forged, second, "had this effect before")

    @pytest.mark.parametrize(
        "text",
        ["draw m1 offer", "annul m1 offer", "resign m1 game 1", "resign m1 match", "extend m1 3d", "clear m1"],
    )
    def test_a_sentence_without_its_place_changes_nothing(self, referee: Referee, text: str) -> None:
        ann, bob = referee.begun(SMALL, SETUPS)
        referee.send(ann, ann.filled("orders", "Rv1"))
        whole = sentence_of(referee, ann, f"{text}\n")
        before, told = referee.match(), len(bob.letters)
        lines = whole.split("\n")
        for left_out in ("server", "player", "turn", "prev", "rev"):
            part = "\n".join(line for line in lines if not line.startswith(f"{left_out} "))
            referee.send(ann, part, follow=False)
            assert whole_sentence(ann.text) is not None, (left_out, ann.text)
            wrong = "\n".join(f"{left_out} 99999" if line.startswith(f"{left_out} ") else line for line in lines)
            if left_out != "rev":
                referee.send(ann, wrong, follow=False)
                assert "Refused" in ann.text, left_out
        assert referee.match() == before
        assert len(bob.letters) == told


class TestOtherTerms:
    def test_other_terms_than_were_agreed(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, SETUPS)
        found = proof(referee, bob)
        holds(found)

        def change(body: dict[str, Any]) -> None:
            body["terms"]["grace"] = 0
            body["rules"] = Terms.read(body["terms"]).hash(body["server"], body["match"])

        forged = signed_again(with_entry(found, 0, change))
        fails(forged, "entry 1", "letters/agreed-seat-")
        referee.send(ann, "resign m1 match\n")

    def test_the_proposal_and_each_acceptance_are_in_the_bundle(self, referee: Referee) -> None:
        _, bob = referee.begun(SMALL, SETUPS)
        found = proof(referee, bob)
        for seat, words in ((1, b"new spaceships with bob"), (2, b"accept m1")):
            path = f"letters/agreed-seat-{seat}.eml"
            assert words in found.papers[path]
            without = {name: paper for name, paper in found.papers.items() if name != path}
            fails(replace(found, papers=without), path, "is missing")
            fails(with_papers(found, {path: found.papers["letters/agreed-seat-1.eml"] + b"x"}), path)

    def test_kept_letters_tell_the_terms_from_the_first_on(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, SETUPS)
        proposal = bob.find("proposes a match")
        told = kept("", proposal.as_bytes())
        assert told.terms == (("m1", referee.match().rules_hash),)
        assert [paper.sha256 for paper in told.papers] == [referee.match().rules_hash]
        assert any(kept("", letter.as_bytes()).terms for letter in ann.letters[:4])
        other = proposal.as_bytes().replace(referee.match().rules_hash.encode(), b"ab" * 32)
        found = proof(referee, bob)
        assert "contradicts" in {finding.standing for finding in against(found).judge(kept("", other)).findings}

    def test_who_has_other_keys_by_then_is_asked_again(self, referee: Referee) -> None:
        ann, bob, cy = (referee.registered(name) for name in ("ann", "bob", "cy"))
        referee.send(ann, "new shoot-em-up with bob cy\nserver play.example\nplayer ann\nend\n")
        accept = f"accept m1 {referee.match().rules_hash}\n"
        referee.send(bob, accept)
        with referee.database.transaction():
            referee.database.execute("UPDATE keys SET fingerprint = 'SHA256:other' WHERE player = 'bob'")
        referee.open_desk()
        before = len(bob.letters)
        referee.send(cy, accept)
        assert "We wait for the others" in cy.text
        assert referee.match().phase == "proposed"
        assert "proposes a match" in str(bob.letters[before]["Subject"])


class TestNoOrderDisappears:
    def played(self, referee: Referee) -> tuple[Mailbox, Mailbox, Bundle]:
        """Ann orders, withdraws, and orders otherwise in the turn that ends the game."""
        ann, bob = referee.begun(SMALL, SETUPS)
        for cell in ("Rv1", "Rv3"):
            referee.turn((ann, cell), (bob, ""))
        referee.send(ann, ann.filled("orders", "Rv5"))
        referee.send(ann, "clear m1\n")
        referee.send(ann, ann.filled("orders", "final\nBz5", rev=3))
        referee.send(bob, bob.filled("orders", "final\n"))
        return ann, bob, proof(referee, bob)

    def test_what_was_withdrawn_stands_in_the_bundle_and_nobody_is_accused(self, referee: Referee) -> None:
        ann, bob, found = self.played(referee)
        holds(found)
        path = "withdrawals/game-1-turn-3-withdrawn-seat-1-rev-2.txt"
        assert path in found.papers
        assert standings(found, *ann.letters, *bob.letters) == {}
        without = {name: paper for name, paper in found.papers.items() if name != path}
        fails(replace(found, papers=without), path, "is missing")


class TestReceipts:
    def test_what_came_in_time_is_no_miss_however_long_the_desk_took(self, referee: Referee) -> None:
        ann, bob = referee.begun(f"{SMALL}\nmiss: forfeit\npace: 2d\ngrace: 1d", SETUPS)
        referee.send(bob, bob.filled("orders", "final\n"))
        raw = referee.raw(ann, referee.signed(ann, ann.filled("orders", "final\nRv1")))
        referee.wait(3 * DAY - timedelta(minutes=30))
        referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), raw, referee.now)
        for _ in range(40):  # the clock is looked at again and again, and the letter is not handled yet
            referee.now += timedelta(minutes=1)
            referee.alive()
            referee.running.tick(referee.now)
        assert not referee.match().missed
        referee.work()
        assert (referee.match().phase, referee.match().turn) == ("playing", 2)
        holds(proof(referee, bob))

    def test_a_letter_dated_far_from_its_receipt_is_refused(self, referee: Referee) -> None:
        ann, _ = referee.begun(SMALL, SETUPS)
        text = referee.signed(ann, ann.filled("orders", "Rv1"))
        for date, fine in (
            ("Sun, 01 Mar 2026 11:00:00 +0000", True),
            ("Fri, 06 Mar 2026 12:00:00 +0000", False),
            ("Tue, 03 Feb 2026 12:00:00 +0000", False),
            ("Wed, 99 Foo 2026", True),
        ):
            referee.deliver(referee.raw(ann, text, headers=f"Date: {date}\n"), ann.address)
            assert ("the date of your letter cannot be right" in " ".join(ann.text.split())) != fine, date


class TestBodies:
    def test_no_body_has_more_or_less_than_its_type_says(self, referee: Referee) -> None:
        ann, bob = referee.begun(f"{SMALL}\nkind: scored\ngames: 2", SETUPS)
        referee.send(ann, "extend m1 3d\n")
        referee.send(ann, "draw m1 offer\n")
        referee.turn((ann, "Rv1"), (bob, ""))
        referee.send(bob, "vacation 2026-03-20 to 2026-03-22\n")
        referee.send(bob, "resign m1 match\n")
        found = proof(referee, bob)
        holds(found)
        for at, entry in enumerate(found.entries):
            needed = {"commitments", "game"} if entry.type == "commitments" else set()  # else it is not to be written
            for key in entry.body.keys() - needed:
                less = {name: value for name, value in entry.body.items() if name != key}
                fails(with_body(found, at, less), f"entry {at + 1}")
                change = with_entry(found, at, saying(**{key: []}))
                if change.entries[at].body != entry.body:
                    fails(signed_again(change), f"entry {at + 1}")
            more = with_entry(found, at, lambda body: body.update(remark="nothing"))
            fails(signed_again(more), f"entry {at + 1}", "form")

    def test_an_order_and_its_own_clear_in_one_letter_are_refused(self, referee: Referee) -> None:
        ann, _ = referee.begun(SMALL, SETUPS)
        orders = ann.filled("orders", "Rv1")
        clear = orders.replace("orders m1 turn 1", "clear m1 turn 1").replace("rev 1", "rev 2").replace("Rv1\n", "")
        referee.send(ann, orders + clear)
        said = " ".join(ann.text.split())
        assert "this letter also withdraws what it submits" in said
        assert "this letter also submits what it withdraws" in said
        assert not referee.match().orders


def test_press_that_quotes_the_server_accuses_nobody(referee: Referee) -> None:
    """Press may hold anything: heads of other matches, broken ones, commitments, terms."""
    ann, bob = referee.begun(SMALL, SETUPS)
    lines = body(bob.find("game 1 begins")).split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("Transcript of"))
    head = "\n".join(lines[at : at + 5])
    lies = (
        head.replace("entry 2", "entry 7"),
        head[: len(head) // 2],
        f"The commitments to them:\n\n  ann:\n  {'ab' * 32}\n  bob:\n  {'cd' * 32}\n",
        f"  match     m1\n  hash      {'ab' * 32}\n",
        f"orders m1x\nsetup  m1 game 1\nserver play.example\nplayer bob\nprev {'ab' * 32}\n",
    )
    for lie in lies:
        referee.send(ann, f"press m1 public\nserver play.example\nplayer ann\n{lie}\nend\n")
    referee.send(bob, "resign m1 match\n")
    assert sum("writes to you" in str(letter["Subject"]) for letter in bob.letters) >= 4
    assert standings(proof(referee, bob), *ann.letters, *bob.letters) == {}
