"""Attacks with fresh eyes, once more: papers that nobody can read, times that nobody can add to, clocks set back."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import fields
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import SERVER_KEY, checked, holds, proof, signed_again
from in_a_box.referee import Referee, body
from judges.honest import accused
from vectors.make import SETUPS, SMALL, VECTORS

from pbem.match.changed import replace
from pbem.match.documents import Receipt, Withdrawal
from pbem.match.transcript import sha256_hex, voucher
from pbem.proof import bundle
from pbem.proof.compare.against import Against
from pbem.proof.kept import Attached, Kept, SignedPaper
from pbem.proof.kept_letters import kept
from pbem.proof.signed_letters import Letters
from pbem.proof.verification import Proved, verify
from verifier import Wrong, verified

if TYPE_CHECKING:
    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.finding import NamedLetter

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SHORT = f"{SMALL}\nmiss: pass\npace: 2d\ngrace: 1d"


def against(found: Bundle) -> Against:
    """The bundle, proved, ready for letters to be held against it."""
    proved = Proved()
    last = list(verify(bundle.write(found), Letters, None, proved))[-1]
    assert last.holds, last
    assert proved.bundle is not None
    assert proved.match is not None
    return Against(proved.bundle, proved.match, proved.told)


def judged(found: Bundle, paper: bytes) -> NamedLetter:
    """How a letter stands that brings this paper, signed by the server."""
    bench = against(found)
    server, number = bench.match.server, bench.match.id
    signature = SERVER_KEY.sign(voucher(server, number, sha256_hex(paper))).hex()
    signed = SignedPaper(server, number, sha256_hex(paper), signature, None)
    told = Kept("", None, "", papers=(signed,), attached=(Attached("receipt.txt", (paper,)),))
    return bench.judge(told)


class TestPapersThatCannotBeRead:
    @pytest.mark.parametrize(
        ("old", "new"),
        [("\nrev 1\n", "\nrev 01\n"), ("\nsalt ", "\nsalt A"), ("match m1\n", "match M1\n"), ("Z\n", "+00:00\n")],
    )
    def test_a_receipt_that_no_program_reads_is_not_passed_over(
        self, referee: Referee, monkeypatch: pytest.MonkeyPatch, old: str, new: str
    ) -> None:
        """The orders are dropped, and their receipt, signed, looks like one to a person alone."""
        ann, bob = referee.begun(SHORT, SETUPS)
        referee.send(bob, bob.filled("orders", "final\n"))
        before = referee.folder / "before.sqlite"
        referee.database.execute("VACUUM INTO ?", (str(before),))
        honest = Receipt.text
        with monkeypatch.context() as patch:
            patch.setattr(Receipt, "text", lambda self: honest(self).replace(old, new))
            referee.send(ann, ann.filled("orders", "Rv1"))
        receipt = ann.last
        assert "stand, revision 1" in body(receipt)
        folder = referee.folder / "again"
        folder.mkdir()
        (folder / "store.sqlite").write_bytes(before.read_bytes())
        liar = Referee(folder, seed="liar")
        liar.people, liar.now = referee.people, referee.now
        liar.wait(9 * DAY)
        liar.send(bob, "resign m1 match\n")
        found = proof(liar, bob)
        holds(found)
        assert against(found).judge(kept("", receipt.as_bytes())).standing in {"open", "two stories"}


class TestTimesBeyondTheCalendar:
    def test_a_receipt_of_the_first_day(self) -> None:
        """It is a lie, but not one that keeps the verifier from its work."""
        found = bundle.read((VECTORS / "good" / "default.pbem.zip").read_bytes())
        (path,) = [path for path in found.papers if path.startswith("withdrawals/")]
        values = Withdrawal.read(found.papers[path].decode())
        given = {field.name: getattr(values, field.name) for field in fields(Receipt)}
        first = Receipt(**{**given, "rev": 1, "received": "0001-01-01T00:00:00Z"})
        assert judged(found, first.text().encode()).standing != "silent"

    def test_a_deadline_on_the_last_day(self) -> None:
        """In a game that runs, nobody has looked at the deadline of a miss yet."""
        found = bundle.read((VECTORS / "good" / "running.pbem.zip").read_bytes())
        receipt = Receipt.read(found.papers["receipts/game-2-turn-1-seat-1.txt"].decode())
        at = len(found.entries)
        body = {"game": 2, "turn": 2, "seat": 1, "deadline": "9999-12-31T23:59:59Z"}
        missed = replace(found.entries[-1], type="missed", body=body)
        forged = signed_again(replace(found, entries=(*found.entries, missed)), at)
        assert judged(forged, replace(receipt, turn=0, orders="default").text().encode()).standing != "silent"


SAID = {"seat": 1, "mail": "0" * 64, "received": "2026-03-09T12:00:00Z", "rev": 1}
CHANGED = {"seat": 1, "how": "signed", "added": [], "revoked": [], "letters": {}}


@pytest.mark.parametrize(
    ("kind", "good", "lie"),
    [
        ("draw", {**SAID, "word": "offer"}, {"word": "accepted"}),
        ("annul", {**SAID, "word": "offer"}, {"word": ""}),
        ("keys", {**CHANGED, "change": "added"}, {"change": "confirmed"}),
        ("vacation", {"seat": 1, "from": "2026-02-01", "to": "2026-02-28"}, {"to": "2026-02-29"}),
    ],
)
def test_words_of_a_game_that_runs(kind: str, good: dict[str, object], lie: dict[str, object]) -> None:
    """What nobody can check yet says at least one of the words that such an entry may say."""
    found = bundle.read((VECTORS / "good" / "running.pbem.zip").read_bytes())
    for said, outcome in ((good, True), ({**good, **lie}, False)):
        entry = replace(found.entries[-1], type=kind, body=said)
        forged = signed_again(replace(found, entries=(*found.entries, entry)), len(found.entries))
        assert checked(forged)[-1].holds == outcome
        with nullcontext() if outcome else pytest.raises(Wrong):
            verified(bundle.write(forged))


@pytest.mark.parametrize("back", [timedelta(minutes=1), 2 * HOUR, 30 * HOUR])
def test_a_clock_that_is_set_back_after_a_miss(referee: Referee, back: timedelta) -> None:
    """Orders that came after the miss, by a clock that was put right in between, came in no time."""
    ann, bob = referee.begun(SHORT.replace("miss: pass", "miss: wait"), SETUPS)
    referee.send(bob, bob.filled("orders", "final\n"))
    patience = referee.match().clocks[1].grace_ends
    assert patience is not None
    referee.wait(patience - referee.now + timedelta(seconds=10))
    assert referee.match().missed == {1}
    referee.now -= back
    referee.send(ann, ann.filled("orders", "final\nRv1"))
    assert referee.match().turn == 2
    referee.send(bob, "resign m1 match\n")
    assert accused(referee) == []
