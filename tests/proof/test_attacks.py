"""Attacks with fresh eyes: what a server with its key, an opponent or an odd but honest player can bring about."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
import pytest
from attackers.forgers import against, both, fails, fails_for_both, holds, nth, proof
from in_a_box.inquiries import early, sentence_of
from in_a_box.referee import Referee, body
from judges.honest import accused
from msgspec.structs import replace
from vectors.matches import SETUPS, SMALL, good
from world.mutations import SERVER_KEY, signed_again

from pbem.desk.commands import proposals
from pbem.match.documents import Receipt, Withdrawal
from pbem.match.transcript import Entry, sha256_hex, voucher
from pbem.proof.kept import Attached, Kept, SignedPaper
from pbem.store.inbox import Envelope
from pbem.store.operator import Instructions

if TYPE_CHECKING:
    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.finding import JudgedLetter

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


# Papers that nobody can read, times that nobody can add to.


def judged(found: Bundle, paper: bytes) -> JudgedLetter:
    """The verdict on a letter that brings this paper, signed by the server."""
    bench = against(found)
    server, number = bench.match.server, bench.match.id
    signature = SERVER_KEY.sign(voucher(server, number, sha256_hex(paper))).hex()
    signed = SignedPaper(server, number, sha256_hex(paper), signature, None)
    told = Kept("", None, "", papers=(signed,), attached=(Attached("receipt.txt", (paper,)),))
    return bench.judge(told)


@pytest.mark.parametrize(
    ("old", "new"),
    [("\nrev 1\n", "\nrev 01\n"), ("\nsalt ", "\nsalt A"), ("match m1\n", "match M1\n"), ("Z\n", "+00:00\n")],
)
def test_a_receipt_that_no_program_reads_is_not_passed_over(old: str, new: str) -> None:
    """A person would take it for a signed receipt, of orders that were dropped."""
    found = good("running")
    receipt = found.papers["receipts/game-2-turn-1-seat-1.txt"].decode()
    strange = receipt.replace(old, new)
    assert strange != receipt
    assert judged(found, strange.encode()).standing in {"open", "two stories"}


class TestTimesBeyondTheCalendar:
    def test_a_receipt_of_the_first_day(self) -> None:
        """It is a lie, but not one that keeps the verifier from its work."""
        found = good("default")
        (path,) = [path for path in found.papers if path.startswith("withdrawals/")]
        values = Withdrawal.read(found.papers[path].decode())
        given = msgspec.structs.asdict(values)
        first = Receipt(**{**given, "rev": 1, "received": "0001-01-01T00:00:00Z"})
        assert judged(found, first.text().encode()).standing != "silent"

    def test_a_deadline_on_the_last_day(self) -> None:
        """In a game that runs, nobody has looked at the deadline of a miss yet."""
        found = good("running")
        receipt = Receipt.read(found.papers["receipts/game-2-turn-1-seat-1.txt"].decode())
        at = len(found.entries)
        body = {"game": 2, "turn": 2, "seat": 1, "deadline": "9999-12-31T23:59:59Z"}
        missed = replace(found.entries[-1], type="missed", body=body)
        forged = signed_again(replace(found, entries=(*found.entries, missed)), at)
        assert judged(forged, replace(receipt, turn=0, orders="default").text().encode()).standing != "silent"


SAID = {"seat": 1, "mail": "0" * 64, "received": "2026-03-09T12:00:00Z", "rev": 1}
CHANGED = {"seat": 1, "how": "signed", "added": [], "revoked": [], "letters": {}}


@pytest.mark.parametrize(
    ("kind", "true", "lie"),
    [
        ("draw", {**SAID, "word": "offer"}, {"word": "accepted"}),
        ("annul", {**SAID, "word": "offer"}, {"word": ""}),
        ("keys", {**CHANGED, "change": "added"}, {"change": "confirmed"}),
        ("vacation", {"seat": 1, "from": "2026-02-01", "to": "2026-02-28"}, {"to": "2026-02-29"}),
    ],
)
def test_words_of_a_game_that_runs(kind: str, true: dict[str, object], lie: dict[str, object]) -> None:
    """An entry that cannot be checked yet must still use the words that its type allows."""
    found = good("running")
    for said, outcome in ((true, True), ({**true, **lie}, False)):
        entry = replace(found.entries[-1], type=kind, body=said)
        forged = signed_again(replace(found, entries=(*found.entries, entry)), len(found.entries))
        assert both(forged) is outcome
