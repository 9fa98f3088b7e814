"""Heads that letters show, and bundles that they bring, beside a bundle: the same chain, more of it, or another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from vectors.matches import VECTORS
from world.mutations import SERVER_KEY, signed_again

from pbem.match.transcript import Entry, statement
from pbem.proof import bundle
from pbem.proof.compare.chain import beside
from pbem.proof.compare.finding import differs
from pbem.proof.compare.index import BundleIndex
from pbem.proof.kept import Attached, Kept, SignedHead
from pbem.proof.prove import Against
from pbem.proof.verification import Proved, verify

if TYPE_CHECKING:
    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.finding import Finding

GOOD = (VECTORS / "good/ssh-rsa.pbem.zip").read_bytes()
WHOLE = bundle.read(GOOD)
"""Eight entries, the last of which closes the match."""


def cut(found: Bundle, length: int) -> Bundle:
    return replace(found, entries=found.entries[:length], signatures=found.signatures[:length])


def retold(seq: int) -> Bundle:
    """Another story from this entry on, signed like the first."""
    told = [replace(one, time="2028-06-02T12:00:00Z") if one.seq == seq else one for one in WHOLE.entries]
    return signed_again(replace(WHOLE, entries=tuple(told)), seq - 1)


LAST = WHOLE.entries[-1]
LONGER = signed_again(
    replace(WHOLE, entries=(*WHOLE.entries, Entry(9, LAST.head, LAST.time, "restored", {"note": "x"}))), 8
)
UNSIGNED = replace(LONGER, signatures=(*LONGER.signatures[:-1], bytes(64)))
FORGED = replace(WHOLE, signatures=(*WHOLE.signatures[:3], bytes(64), *WHOLE.signatures[4:]))
PAPER = "receipts/game-1-turn-1-seat-1.txt"
GAPPED = replace(
    WHOLE, entries=(WHOLE.entries[0], *WHOLE.entries[2:]), signatures=(WHOLE.signatures[0], *WHOLE.signatures[2:])
)
"""Nothing but what the server signed; but somebody left out entry 2."""
EXCHANGED = replace(WHOLE, papers={**WHOLE.papers, PAPER: b"x"})


@pytest.fixture(scope="module")
def proved() -> Proved:
    proved = Proved()
    assert all(check.holds for check in verify(GOOD, proved=proved))
    return proved


def against(proved: Proved, ours: Bundle) -> Against:
    assert proved.match
    return Against(ours, proved.match)


@pytest.mark.parametrize(
    ("ours", "theirs", "standing", "says", "seq"),
    [
        (WHOLE, WHOLE, "agrees", "", 8),
        (WHOLE, cut(WHOLE, 5), "agrees", "", 5),
        (cut(WHOLE, 5), WHOLE, "later", "longer than this bundle, and begins with it", 5),
        (WHOLE, FORGED, "broken", "its entry 4 is not signed with the bundle's key", 4),
        (WHOLE, GAPPED, "broken", "its entry 3 is where entry 2 must be", 3),
        (cut(WHOLE, 2), GAPPED, "broken", "its entry 3 is where entry 2 must be", 3),
        (WHOLE, EXCHANGED, "broken", f"its {PAPER} is not what its own transcript names", None),
        (WHOLE, LONGER, "two stories", "it goes on where the match is closed, with entry 9", 9),
        (WHOLE, UNSIGNED, "later", "longer than this bundle, and begins with it", 8),
        (
            WHOLE,
            retold(3),
            "two stories",
            (
                f"play.example signed two different entries 3 of m1: with the head {retold(3).entries[2].head} in"
                f" this letter, with the head {WHOLE.entries[2].head} in the bundle. It told two stories"
            ),
            3,
        ),
        (WHOLE, cut(retold(3), 2), "agrees", "", 2),
    ],
    ids=["same", "earlier", "later", "forged", "gap", "gap later", "swapped", "on", "unsigned", "retold", "not yet"],
)
def test_a_bundle_beside_a_bundle(
    proved: Proved, ours: Bundle, theirs: Bundle, standing: str, says: str, seq: int | None
) -> None:
    assert proved.match
    finding = beside(BundleIndex(ours, proved.match), theirs, "m1.pbem.zip")
    assert (finding.standing, finding.what, finding.seq) == (standing, "m1.pbem.zip", seq)
    assert finding.found.startswith(says)
    assert bool(finding.found) == bool(says)


@pytest.mark.parametrize(
    ("name", "content", "standings"),
    [
        ("m1.pbem.zip", GOOD, ["agrees"]),
        ("any.zip", GOOD, ["agrees"]),
        ("m1.pbem.txt", GOOD, []),
        ("m1.pbem.zip", GOOD[:-1], ["broken"]),
        ("m1-game-1.pbem.zip", b"x", ["broken"]),
        ("m1.pbem.zip", bundle.write(GAPPED), ["broken"]),
        ("m12.pbem.zip", b"x", []),
        ("any.zip", b"x", []),
    ],
)
def test_which_attachments_are_bundles_of_this_match(
    proved: Proved, name: str, content: bytes, standings: list[str]
) -> None:
    letter = against(proved, WHOLE).judge(Kept("letter", None, "", attached=(Attached(name, (content,)),)))
    assert [finding.standing for finding in letter.findings] == standings
    assert {finding.what for finding in letter.findings} <= {name}


def of_heads(held: Against, *heads: tuple[int, str]) -> list[Finding]:
    shown = (
        SignedHead(
            "play.example", "m1", seq, head, SERVER_KEY.sign(statement("play.example", "m1", seq, head)).hex(), None
        )
        for seq, head in heads
    )
    return list(held.judge(Kept("letter", None, "", heads=tuple(shown))).findings)


def test_heads_that_letters_show(proved: Proved) -> None:
    whole, earlier = against(proved, WHOLE), against(proved, cut(WHOLE, 5))
    (same,) = of_heads(whole, (3, WHOLE.entries[2].head))
    assert (same.standing, same.what, same.found, same.seq) == ("agrees", "head of entry 3", "", 3)
    (other,) = of_heads(whole, (3, "1" * 64))
    assert (other.standing, other.what, other.seq) == ("two stories", "head of entry 3", 3)
    both = f"with the head {'1' * 64} in this letter, with the head {WHOLE.entries[2].head} in the bundle."
    assert both in other.found
    assert "restored" not in other.found
    (after,) = of_heads(whole, (9, "1" * 64))
    assert (after.standing, after.what, after.seq) == ("two stories", "head of entry 9", 9)
    assert "closed with entry 8, after which nothing follows" in after.found
    (later,) = of_heads(earlier, (9, "1" * 64))
    assert (later.standing, later.what, later.seq) == ("later", "head of entry 9", 9)
    assert later.found == "the bundle ends with entry 5; ask for a newer one"
    (another,) = of_heads(earlier, (9, "2" * 64))
    assert (another.standing, another.what, another.seq) == ("two stories", "head of entry 9", 9)
    assert f"with the head {'1' * 64} in another letter." in another.found


def test_a_restored_backup_is_named_beside_two_stories(proved: Proved) -> None:
    told = replace(WHOLE.entries[3], type="restored", body={"generation": 2})
    restored = replace(WHOLE, entries=(*WHOLE.entries[:3], told, *WHOLE.entries[4:]))
    (other,) = of_heads(against(proved, restored), (3, "1" * 64))
    assert other.found.endswith("the bundle says that the server was restored from a backup (entry 4)")
    assert proved.match
    paper = differs(BundleIndex(restored, proved.match), "receipt", "was dropped", 5, is_signed=True)
    assert paper.found.endswith("the bundle says that the server was restored from a backup (entry 4)")
