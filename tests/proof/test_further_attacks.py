"""Attacks with fresh eyes, once more: papers that nobody can read, times that nobody can add to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from attackers.forgers import against, both
from msgspec.structs import replace
from vectors.matches import good
from world.mutations import SERVER_KEY, signed_again

from pbem.match.documents import Receipt, Withdrawal
from pbem.match.transcript import sha256_hex, voucher
from pbem.proof.kept import Attached, Kept, SignedPaper

if TYPE_CHECKING:
    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.finding import JudgedLetter


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
