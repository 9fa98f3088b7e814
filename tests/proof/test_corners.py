"""Corners of the proof: what a server could slip in, and what must not be held against an honest one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import Store, against, fails, holds, proof, saying, with_entry
from in_a_box.referee import Mailbox, Referee, form_in
from judges.honest import accused
from vectors.matches import SETUPS, SMALL, THREE, good, key
from world.mutations import rewritten, signed_again

from pbem.desk import dispatch
from pbem.identity import parse_key, ssh
from pbem.pages.match_page import revealed
from pbem.proof import bundle
from pbem.proof.kept_letters import kept
from pbem.proof.verification import Proved, verify

if TYPE_CHECKING:
    from email.message import EmailMessage

    from pbem.proof.bundle import Bundle

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def standings(found: Bundle, letter: EmailMessage) -> dict[str, str]:
    """The standing of each finding in a kept letter, against a bundle that holds."""
    return {one.found: one.standing for one in against(found).judge(kept("", letter.as_bytes())).findings}


class TestWhatIsNotUsed:
    def test_orders_beside_their_own_withdrawal(self, referee: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
        """They were never stored, and so they are nothing `unused`."""
        ann, bob = referee.begun(SMALL, SETUPS)
        monkeypatch.setattr(dispatch, "unfit_together", lambda *_: None)
        orders = ann.filled("orders", "mRv1 Rv5").replace("turn 1", "turn 2", 1)
        clear = orders.replace("orders m1", "clear m1").replace("mRv1 Rv5\n", "").replace("rev 1", "rev 2")
        referee.send(ann, clear + orders, follow=False)
        referee.turn((ann, "mRv1 Rv5"), (bob, ""))
        referee.turn((ann, ""), (bob, ""))
        referee.send(bob, "resign m1 match\n")
        fails(proof(referee, bob), "letters/game-1-turn-2-unused-seat-1-rev-1.eml", "its own `clear`")


def test_orders_that_came_in_time_and_were_played_are_no_miss(referee: Referee) -> None:
    """Everybody sees it: the receipt of the orders that were played after the miss says when they had come."""
    ann, bob = referee.begun(f"{SMALL}\npace: 2d\ngrace: 1d", SETUPS)
    referee.turn((bob, ""))
    referee.wait(4 * DAY)
    referee.turn((ann, "Rv1"))
    referee.send(bob, "resign m1 match\n")
    found = proof(referee, bob)
    holds(found)
    path = "receipts/game-1-turn-1-seat-1.txt"
    paper = found.papers[path].replace(b"received 2026-03-05", b"received 2026-03-03")
    assert paper != found.papers[path]
    fails(rewritten(found, path, paper), "letters/game-1-turn-1-seat-1.eml", "came in time")


def test_a_bundle_that_does_not_hold_proves_no_match() -> None:
    *_, last = verify(b"no bundle", None, proved := Proved())
    assert last.holds is False
    with pytest.raises(ValueError, match="does not hold"):
        _ = proved.whole


class TestWhoIsOutOfTheGame:
    def claimed(self, referee: Referee, *, late: bool) -> tuple[Mailbox, EmailMessage | None, Referee]:
        """Cem is out; Ann and Bob miss the turn, and Cem claims: nobody is left, and the match is abandoned."""
        people = referee.table("shoot-em-up", "board: 5x5\nsettle: 0\nmiss: wait\npace: 2d\ngrace: 1d", THREE)
        ann, _, cem = people
        out = "A: SSL\nB: LRL\nC: LRL", "D: LRL\nE: LRL\nF: LRL", "G: MFF\nH: LFF\nI: MFF"
        referee.turn(*zip(people, out, strict=True))
        position = referee.match().position
        assert position is not None
        assert 3 not in position.remaining
        referee.wait(4 * DAY)
        assert referee.match().missed == {1, 2}
        receipt = None
        liar = referee
        if late:
            store = Store(referee)
            referee.send(ann, ann.filled("orders", "A: RRR\nB: LLL\nC: LRL"))
            receipt = ann.last
            liar = store.again()
            liar.now += HOUR
            liar.alive()
        liar.send(cem, "claim m1\n")
        assert (liar.match().outcome or {})["reason"] == "abandoned"
        return cem, receipt, liar

    def test_a_claim_from_all_who_remain_passes_over_no_orders(self, referee: Referee) -> None:
        cem, receipt, liar = self.claimed(referee, late=True)
        assert receipt is not None
        lies = standings(proof(liar, cem), receipt)
        assert any(one == "two stories" and "silence of this seat" in lie for lie, one in lies.items()), lies

    def test_nor_accuses_a_server_that_had_none(self, referee: Referee) -> None:
        self.claimed(referee, late=False)
        assert accused(referee) == []


class TestPagesOfRunningMatches:
    def of(self, found: Bundle) -> Bundle:
        """The bundle that goes into the page; it holds, as the whole one does."""
        holds(found)
        shown = revealed(found)
        holds(shown)
        return shown

    def test_a_key_change_before_and_in_the_game_that_runs(self, referee: Referee) -> None:
        ann, bob = referee.agreed(SMALL)
        new = key("ann")
        referee.send(ann, f"key add\n{ssh.public(new)}\n")
        referee.send(ann, form_in(ann.text, "confirm"), key=new)
        for person, setup in zip((ann, bob), SETUPS, strict=True):
            referee.send(person, person.filled("setup", setup))
        referee.send(ann, f"key revoke {parse_key(ssh.public(ann.key)).fingerprint}\n", key=new)
        shown = self.of(proof(referee, bob))
        assert [path for path in shown.papers if path.startswith("letters/keys-")] == [
            *("letters/keys-2-seat-1-new.eml", "letters/keys-2-seat-1-old.eml", "letters/keys-4-seat-1-old.eml")
        ]

    def test_what_was_said_between_two_games(self, referee: Referee) -> None:
        ann, bob = referee.begun(f"{SMALL}\nkind: scored\ngames: 3", SETUPS)
        referee.send(ann, "draw m1 offer\n")
        referee.send(bob, "draw m1 accept\n")
        referee.send(ann, "annul m1 offer\n")
        for person, setup in zip((ann, bob), SETUPS, strict=True):
            referee.send(person, person.filled("setup", setup))
        referee.send(ann, "annul m1 offer\n")
        shown = self.of(proof(referee, bob))
        assert "letters/annul-7-seat-1.eml" in shown.papers
        assert not [path for path in shown.papers if "game-2" in path]


class TestForms:
    @pytest.mark.parametrize("path", ["reports/game-1-turn-1-seat-2.json", "reports/game-1-turn-1.json"])
    @pytest.mark.parametrize("salt", ["", "0" * 63, "A" * 64, "0" * 65])
    def test_a_salt_of_reports_is_64_digits(self, path: str, salt: str) -> None:
        found = good("ssh")
        report = found.papers[path].decode()
        old = report.partition('"salt":"')[2][:64]
        fails(rewritten(found, path, report.replace(old, salt).encode()), path)

    def test_of_another_version_nothing_is_said(self) -> None:
        for version in (0, 2, 10**20):
            forged = bundle.write(signed_again(with_entry(good("ssh"), 0, saying(bundle=version))))
            (check,) = verify(forged)
            assert (check.holds, check.what) == (None, "version")
            assert check.found == f"it has version {version}, and this pbem reads version 1"
        for nothing in (True, "1", None):
            fails(signed_again(with_entry(good("ssh"), 0, saying(bundle=nothing))), "entry 1: agreed")
