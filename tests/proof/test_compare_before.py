"""What became of what letters acknowledged in matches that began as `bundle 1`, whose bundles have no traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from make_vectors import VECTORS

from pbem.match.changed import replace
from pbem.match.documents import Opening, Receipt
from pbem.match.transcript import Entry
from pbem.proof.compare.against import Against
from pbem.proof.kept import Attached, Kept
from pbem.proof.signed_letters import Letters
from pbem.proof.verify import Proved, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pbem.proof.bundle import Bundle

RECEIPT = "receipts/game-1-turn-2-seat-1.txt"
OPENING = "openings/game-1-seat-1.txt"
TURN = 6
"""The entry of turn 2; the one of turn 1 is 3, and two words about a draw are between them."""


@pytest.fixture(scope="module")
def proved() -> Proved:
    proved = Proved()
    assert all(
        check.holds for check in verify((VECTORS / "good/version-1.pbem.zip").read_bytes(), Letters, None, proved)
    )
    return proved


def receipt_of(proved: Proved, **changes: Any) -> Receipt:
    assert proved.bundle
    return replace(Receipt.read(proved.bundle.papers[RECEIPT].decode()), **changes)


def opening_of(proved: Proved, **changes: Any) -> Opening:
    assert proved.bundle
    return replace(Opening.read(proved.bundle.papers[OPENING].decode()), **changes)


def with_entry(found: Bundle, seq: int, kind: str = "", **body: Any) -> Bundle:
    """The bundle with another body in this entry, of this type."""
    before = found.entries[seq - 1]
    changed = Entry(seq, before.prev, before.time, kind or before.type, {**before.body, **body})
    return replace(found, entries=[*found.entries[: seq - 1], changed, *found.entries[seq:]])


def found(
    proved: Proved,
    paper: Receipt | Opening,
    bundle: Bundle | None = None,
    revision: int | None = None,
    stood: int | None = None,
) -> list[tuple[str, str, str, int | None]]:
    """What is found about a letter to which this paper is attached, and nothing else."""
    assert proved.match
    assert proved.bundle
    against = Against(bundle or proved.bundle, proved.match, proved.told, lambda *_: stood)
    attached = Attached("paper.txt", (paper.text().encode(),))
    letter = against.judge(Kept("letter", None, "", revision=revision, attached=(attached,)))
    return [(finding.standing, finding.what, finding.found.split(";")[0], finding.seq) for finding in letter.findings]


ORDERS, SETUP = "receipt of game 1, turn 2, rev 1", "opening of game 1, seat 1"


def without_orders(bundle: Bundle) -> Bundle:
    """Of seat 1 nothing was played."""
    return with_entry(bundle, TURN, orders={"2": bundle.entries[TURN - 1].body["orders"]["2"]})


def by_default(bundle: Bundle) -> Bundle:
    return with_entry(bundle, TURN, default=[1])


def by_default_of_another(bundle: Bundle) -> Bundle:
    return with_entry(bundle, TURN, default=[2])


def without_its_receipt(bundle: Bundle) -> Bundle:
    return replace(bundle, papers={path: paper for path, paper in bundle.papers.items() if path != RECEIPT})


def with_a_receipt_that_is_none(bundle: Bundle) -> Bundle:
    return replace(bundle, papers={**bundle.papers, RECEIPT: b"\xff"})


def taken_over(bundle: Bundle) -> Bundle:
    """Carl has had Ann's seat since entry 4."""
    return with_entry(bundle, 4, "substituted", player={"name": "carl", "keys": []})


def taken_over_elsewhere(bundle: Bundle) -> Bundle:
    return with_entry(bundle, 4, "substituted", seat=2, player={"name": "carl", "keys": []})


def cut(bundle: Bundle) -> Bundle:
    """As it was before turn 2."""
    return replace(bundle, entries=bundle.entries[: TURN - 1])


def resigned(bundle: Bundle) -> Bundle:
    return with_entry(bundle, 8, reason="resignation")


def claimed(bundle: Bundle) -> Bundle:
    return with_entry(bundle, 5, "claimed", against=[1])


def claimed_from_another(bundle: Bundle) -> Bundle:
    return with_entry(bundle, 5, "claimed", against=[2])


def claimed_before(bundle: Bundle) -> Bundle:
    """Before the game began, in which orders by default can be stored."""
    return with_entry(bundle, 2, "claimed", against=[1])


def without_its_letter(bundle: Bundle) -> Bundle:
    letter = "letters/game-1-setup-seat-1.eml"
    return replace(bundle, papers={path: paper for path, paper in bundle.papers.items() if path != letter})


def same(bundle: Bundle) -> Bundle:
    return bundle


NO_OTHER = "entry 6 resolved the turn with rev 1 and not with what paper.txt names"
OPEN = (
    "unless they were withdrawn, or were stored before the turn and not legal when it came, the server dropped them"
)


@pytest.mark.parametrize(
    ("changes", "change", "expected"),
    [
        ({}, same, ("agrees", ORDERS, "", 6)),
        ({"rev": 0}, same, ("agrees", ORDERS.replace("rev 1", "rev 0"), "replaced by rev 1", 6)),
        ({"salt": "0" * 64}, same, ("contradicts", ORDERS, NO_OTHER, 6)),
        ({"rev": 2}, same, ("contradicts", ORDERS.replace("rev 1", "rev 2"), NO_OTHER, 6)),
        ({"rev": 0, "orders": "default"}, same, ("contradicts", ORDERS.replace("rev 1", "rev 0"), NO_OTHER, 6)),
        ({}, without_orders, ("open", ORDERS, f"the turn was resolved without these orders: {OPEN}", 6)),
        ({"rev": 0}, by_default, ("open", "", f"default orders were played in their place: {OPEN}", 6)),
        ({"rev": 0}, by_default_of_another, ("agrees", "", "replaced by rev 1", 6)),
        ({"rev": 0}, without_its_receipt, ("open", "", "other orders stood in the end", 6)),
        ({"rev": 0}, with_a_receipt_that_is_none, ("open", "", "other orders stood in the end", 6)),
        ({"salt": "0" * 64}, taken_over, ("agrees", ORDERS, "given up with the seat in entry 4", 4)),
        ({"salt": "0" * 64}, taken_over_elsewhere, ("contradicts", ORDERS, NO_OTHER, 6)),
        ({"salt": "0" * 64, "turn": 1}, taken_over, ("contradicts", "", NO_OTHER.replace("6", "3"), 3)),
        ({"turn": 4}, same, ("open", "", "the game ended (rules) without turn 4 of game 1, although", None)),
        ({"turn": 4}, resigned, ("agrees", "", "the game was resigned before turn 4 of game 1", 8)),
        ({"game": 2}, same, ("open", "", "the game ended (None) without turn 2 of game 2, although", None)),
        ({}, cut, ("later", ORDERS, "the bundle does not have turn 2 of game 1 yet", None)),
        ({"turn": 0, "orders": "default"}, same, ("agrees", "receipt of default orders of game 1, rev 1", "", None)),
        (
            {"turn": 0, "orders": "default"},
            claimed,
            ("open", "", f"the game was claimed although they were stored: {OPEN}", 5),
        ),
        ({"turn": 0, "orders": "default"}, claimed_from_another, ("agrees", "", "", None)),
        ({"turn": 0, "orders": "default", "game": 2}, claimed, ("agrees", "", "", None)),
        ({"turn": 0, "orders": "default"}, claimed_before, ("agrees", "", "", None)),
    ],
)
def test_orders(
    proved: Proved,
    changes: Mapping[str, Any],
    change: Callable[[Bundle], Bundle],
    expected: tuple[str, str, str, int | None],
) -> None:
    assert proved.bundle
    ((standing, what, said, seq),) = found(proved, receipt_of(proved, **changes), change(proved.bundle))
    assert (standing, seq) == (expected[0], expected[3])
    assert expected[1] in what
    assert said.startswith(expected[2])
    assert bool(said) == bool(expected[2])


@pytest.mark.parametrize(
    ("changes", "change", "revisions", "expected"),
    [
        ({}, same, (None, None), ("agrees", SETUP, "", 2)),
        ({"setup": "x"}, same, (1, 2), ("agrees", SETUP, "replaced by rev 2", 2)),
        ({"setup": "x"}, same, (2, 2), ("contradicts", SETUP, "entry 2 commits seat 1 to another setup, rev 2", 2)),
        ({"setup": "x"}, same, (3, 2), ("contradicts", SETUP, "entry 2 commits seat 1 to another setup, rev 2", 2)),
        ({"setup": "x"}, same, (None, 2), ("open", SETUP, "the game began with another setup", 2)),
        ({"setup": "x"}, same, (1, None), ("open", SETUP, "the game began with another setup", 2)),
        ({"setup": "x"}, without_its_letter, (1, 2), ("open", SETUP, "the game began with another setup", 2)),
        ({"setup": "x", "player": "dora"}, taken_over, (1, 1), ("contradicts", SETUP, "entry 2 commits", 2)),
        ({"game": 2}, same, (1, 1), ("agrees", "opening of game 2", "by the bundle game 2 did not begin", None)),
        ({"game": 2}, cut, (1, 1), ("later", "opening of game 2", "by the bundle game 2 did not begin", None)),
    ],
)
def test_setups(
    proved: Proved,
    changes: Mapping[str, Any],
    change: Callable[[Bundle], Bundle],
    revisions: tuple[int | None, int | None],
    expected: tuple[str, str, str, int | None],
) -> None:
    assert proved.bundle
    ((standing, what, said, seq),) = found(proved, opening_of(proved, **changes), change(proved.bundle), *revisions)
    assert (standing, seq) == (expected[0], expected[3])
    assert expected[1] in what
    assert said.startswith(expected[2])


def test_a_setup_that_was_given_up_with_its_seat(proved: Proved) -> None:
    """Carl took the seat before the setups were in, and began with his own."""
    assert proved.bundle
    first, second, *rest = proved.bundle.entries
    taken = Entry(2, first.head, first.time, "substituted", {"seat": 1, "player": {"name": "carl", "keys": []}})
    bundle = replace(proved.bundle, entries=[first, taken, replace(second, seq=3), *rest])
    assert found(proved, opening_of(proved, setup="x"), bundle, 1, 1) == [
        ("agrees", SETUP, "given up with the seat in entry 2", 2)
    ]
    assert found(proved, opening_of(proved, setup="x", player="carl"), bundle, 1, 1)[0][0] == "contradicts"


@pytest.mark.parametrize("place", [{"server": "plan.example"}, {"match": "m2"}])
def test_papers_of_another_match_say_nothing(proved: Proved, place: dict[str, Any]) -> None:
    assert found(proved, receipt_of(proved, **place)) == []
    assert found(proved, opening_of(proved, **place)) == []
