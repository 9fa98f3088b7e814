"""A server that cheats with its own key: which lies the bundle shows, and which the letters that players kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
from attackers.forgers import against, fails, fails_for_both, holds, proof, retold, saying, with_entry
from in_a_box.inquiries import sentence_of
from in_a_box.referee import Referee, body, placed, whole_sentence
from judges.honest import accused
from msgspec.structs import replace
from vectors.matches import SETUPS, SMALL, asked, good, home, keyless, reply
from world.mutations import rewritten, signed_again, with_body

from pbem.match.documents import Withdrawal
from pbem.proof import bundle
from pbem.proof.kept_letters import kept
from pbem.store.inbox import Envelope
from verifier import verified

DAY = timedelta(days=1)


def beside(letter: str) -> str:
    """The evidence for a letter."""
    return letter.replace("letters/", "evidence/").replace(".eml", ".txt")


class TestReplayedSentences:
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
        assert "agree once more" in str(bob.letters[before]["Subject"])


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
    @pytest.mark.parametrize("name", ["draw", "claim", "keys", "substitute"])
    def test_no_body_has_more_or_less_than_its_type_says(self, name: str) -> None:
        found = good(name)
        for at, entry in enumerate(found.entries):
            needed = {"commitments", "game"} if entry.type == "commitments" else set()  # else it is not to be written
            for key in entry.body.keys() - needed:
                less = {name: value for name, value in entry.body.items() if name != key}
                fails(with_body(found, at, less), f"entry {at + 1}")
                if entry.body[key] != []:
                    fails(with_body(found, at, {**entry.body, key: []}), f"entry {at + 1}")
            fails(retold(found, at, remark="nothing"), f"entry {at + 1}", "form")

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
    begins = "All setups for game 1 of m1 are in. The commitments to them:"
    lies = (
        head.replace("entry 2", "entry 7"),
        head[: len(head) // 2],
        f"{begins}\n\n  ann:\n  {'ab' * 32}\n  bob:\n  {'cd' * 32}\n",
        f"  match     m1\n  hash      {'ab' * 32}\n",
        f"orders m1x\nsetup  m1 game 1\nserver play.example\nplayer bob\nprev {'ab' * 32}\n",
    )
    for lie in lies:
        referee.send(ann, f"press m1 public\nserver play.example\nplayer ann\n{lie}\nend\n")
    referee.send(bob, "resign m1 match\n")
    assert sum("writes to you" in str(letter["Subject"]) for letter in bob.letters) >= 4
    assert accused(referee) == []
