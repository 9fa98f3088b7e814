"""A server with its key that writes what no letter bears out: traces, places, times, bare entries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import (
    fails,
    fails_for_both,
    holds,
    index,
    letter_by,
    nth,
    proof,
    retold,
    with_entry,
    with_papers,
)
from in_a_box.referee import form_in
from msgspec.structs import replace
from vectors.matches import good
from world.mutations import rewritten, signed_again

from pbem.match import record
from pbem.match.documents import Trace, Withdrawal
from pbem.match.events import TYPES
from pbem.match.transcript import Entry, sha256_hex

if TYPE_CHECKING:
    from in_a_box.referee import Referee

    from pbem.proof.bundle import Bundle


GAMES = Path(__file__).parents[1] / "games"
TURN = "game-1-turn-3"
WITHDRAWN = f"withdrawals/{TURN}-withdrawn-seat-1-rev-2.txt"
"""Ann sent orders, withdrew them (revision 2) and sent others (revision 3)."""


def traced(found: Bundle, papers: dict[str, bytes]) -> Bundle:
    """The bundle with these papers in the trace of its third turn, and no others."""
    path = f"traces/{TURN}.txt"
    trace = Trace.read(found.papers[path].decode())
    told = replace(trace, named={name: sha256_hex(paper) for name, paper in papers.items()}).text().encode()
    left = {name: paper for name, paper in found.papers.items() if name not in trace.named}
    at = index(found, "turn", 1, 3)
    forged = with_papers(replace(found, papers=left), {**papers, path: told})
    return signed_again(with_entry(forged, at, lambda entry: entry.update(trace=sha256_hex(told))), at)


@pytest.fixture(scope="module")
def found() -> Bundle:
    return good("withdrawal")


@pytest.fixture(scope="module")
def paper(found: Bundle) -> Withdrawal:
    return Withdrawal.read(found.papers[WITHDRAWN].decode())


class TestTraces:
    @pytest.mark.parametrize(
        "changes", [{"turn": 2}, {"game": 2}, {"match": "m2"}, {"server": "other.example"}, {"player": "bob"}]
    )
    def test_a_paper_of_another_place(self, found: Bundle, paper: Withdrawal, changes: dict[str, Any]) -> None:
        other = replace(paper, **changes).text().encode()
        fails(traced(found, {WITHDRAWN: other}), f"{WITHDRAWN}: does not belong here")

    def test_a_paper_under_another_name(self, found: Bundle, paper: Withdrawal) -> None:
        path = WITHDRAWN.replace("rev-2", "rev-1")
        fails(traced(found, {path: paper.text().encode()}), f"{path}: does not belong here")

    def test_a_letter_that_withdrew_something_else(self, found: Bundle, paper: Withdrawal) -> None:
        """The setup: it was said before the game, at another head."""
        before = "game-1-setup-withdrawn-seat-1-rev-2"
        setup = Withdrawal.read(found.papers[f"withdrawals/{before}.txt"].decode())
        letter = f"letters/{TURN}-withdrawn-seat-1-rev-2.eml"
        forged = with_papers(found, {letter: found.papers[f"letters/{before}.eml"]})
        other = replace(paper, mail=setup.mail).text().encode()
        fails(traced(forged, {WITHDRAWN: other}), letter, "holds no `clear` for this place")

    def test_orders_that_were_withdrawn_are_not_played(self, found: Bundle) -> None:
        letter, path = f"letters/{TURN}-seat-1.eml", f"receipts/{TURN}-seat-1.txt"
        form = form_in(found.papers[letter].decode().replace("\r\n", "\n"), "orders")
        forged = rewritten(found, letter, letter_by("ann", form.replace("rev 3", "rev 1")))
        forged = rewritten(forged, path, forged.papers[path].replace(b"rev 3", b"rev 1"))
        fails(forged, letter, "was withdrawn, or not used, before: revision 2 was set aside")

    @pytest.mark.parametrize("illegal", [False, True])
    def test_orders_that_were_refused_when_they_came_are_no_unused_ones(self, *, illegal: bool) -> None:
        """They are no excuse to drop those that stood: either they are for their own turn, or illegal at any time."""
        found, path = good("conditional"), f"letters/{TURN}-unused-seat-1-rev-1.eml"
        head = found.entries[index(found, "turn", 1, 2)].head
        form = form_in(found.papers[path].decode().replace("\r\n", "\n"), "orders")
        form = re.sub("(?m)^if .*", "Bz9 nonsense", form) if illegal else re.sub("prev .*", f"prev {head}", form)
        fails_for_both(rewritten(found, path, letter_by("ann", form)), path, "that could be stored")

    def test_unused_orders_are_by_the_key_that_signed_them(self) -> None:
        """Another one, which does not count, would be an excuse to drop legal orders."""
        found, path = good("conditional"), f"receipts/{TURN}-unused-seat-1-rev-1.txt"
        lie = re.sub(b"(?m)^key .*", b"key SHA256:" + b"x" * 43, found.papers[path])
        fails_for_both(rewritten(found, path, lie), "the receipt names another level or key")


def test_a_resignation_that_came_after_its_effect_is_named() -> None:
    found = good("resignation")
    fails(retold(found, nth(found, "resigned"), received="2026-12-24T12:00:00Z"), "was received after its effect")


@pytest.mark.parametrize(
    ("paper", "letter"),
    [
        ("openings/game-1-seat-1.txt", "letters/game-1-setup-seat-1.eml"),
        ("receipts/game-1-turn-1-seat-2.txt", "letters/game-1-turn-1-seat-2.eml"),
        (WITHDRAWN, f"letters/{TURN}-withdrawn-seat-1-rev-2.eml"),
    ],
)
def test_a_letter_that_came_after_its_effect_is_named(found: Bundle, paper: str, letter: str) -> None:
    said = found.papers[paper].decode()
    later = re.sub("received .*", "received 2026-12-24T12:00:00Z", said)
    fails(rewritten(found, paper, later.encode()), f"{letter}: was received after its effect")


@pytest.mark.parametrize("path", ["evidence/game-1-setup-seat-2.txt", "evidence/game-1-turn-1-seat-2.txt"])
def test_evidence_that_is_none_is_named(path: str) -> None:
    fails(rewritten(good("mailbox"), path, b"x"), f"{path}: cannot be read")


def test_no_clock_stands_when_all_is_over() -> None:
    found = good("resignation")
    halted = replace(found.entries[-1], type="halted", body={"seat": 1, "reason": "unreachable"})
    at = len(found.entries)
    fails(signed_again(replace(found, entries=(*found.entries, halted)), at), "`halted` does not follow here")


def test_what_may_stand_between_turns_names_no_papers_but_for_keys() -> None:
    """Or its papers would be looked for where a game is not revealed yet."""
    for name, kind in TYPES.items():
        if name not in {"agreed", "commitments", "turn", "keys"}:
            assert not list(kind.papers(Entry(1, "0" * 64, "2026-03-01T12:00:00Z", name, {}))), name


def test_a_report_of_a_turn_that_asked_nobody_is_there(referee: Referee) -> None:
    """In Dueling Masters who has no move passes: the turn follows by itself, with a report of its own."""
    case = record.read((GAMES / "dueling_masters" / "cases" / "25-pass.pbem.toml").read_text(encoding="utf-8"))
    setups = {name.lower(): setup for name, setup in case.seats}
    people = referee.table("dueling-masters", "settle: 0", setups)
    for turn, orders in enumerate(case.turns):
        if orders.orders[turn % 2 + 1]:
            referee.turn((people[turn % 2], orders.orders[turn % 2 + 1]))
    assert referee.match().turn == 9, "Bob passes in turns 6 and 8"
    referee.send(people[0], "resign m1 match\n")
    found = proof(referee, people[0])
    holds(found)
    path = "reports/game-1-turn-6.json"
    left = {name: paper for name, paper in found.papers.items() if name != path}
    fails(replace(found, papers=left), f"{path}: is missing")
