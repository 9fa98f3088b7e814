"""What findings and checks say, word by word: which standing, about what, and which entry or file is named."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from forgers import checked, fails, holds, signed_again, with_entry, with_papers
from make_vectors import VECTORS
from mutations import rewritten
from witnessed import KEY, proof, witness

from pbem.match.transcript import Entry, sha256_hex, statement
from pbem.proof import bundle
from pbem.proof.compare import Against, Attached, Finding, Kept, Logged, SignedHead
from pbem.proof.signed_letters import Letters, setup_revision
from pbem.proof.verify import Proved, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.proof.bundle import Bundle

SERVER = "play.example"
UNSIGNED = (
    "the server did not sign this part, so that it convinces whoever got the letter, and others only by its DKIM"
    " signature"
)
OTHER = "0" * 64


def good(name: str) -> Bundle:
    return bundle.read((VECTORS / "good" / f"{name}.pbem.zip").read_bytes())


@cache
def proved(name: str) -> Proved:
    proved = Proved()
    assert all(check.holds for check in verify(bundle.write(good(name)), Letters, None, proved))
    return proved


def against(name: str, witnesses: Sequence[Any] = ()) -> Against:
    found = proved(name)
    assert found.bundle is not None
    assert found.match is not None
    return Against(found.bundle, found.match, found.told, setup_revision, witnesses)


def findings(bench: Against, **told: Any) -> tuple[Finding, ...]:
    """What is found about a letter of the server that tells this, and nothing else."""
    return bench.judge(Kept("letter", None, "m1", servers=frozenset({SERVER}), **told)).findings


def attached(name: str, *ways: bytes) -> dict[str, Any]:
    return {"attached": (Attached(name, ways),)}


def document(kind: str, **told: Any) -> bytes:
    return json.dumps({"pbem": kind, "server": SERVER, "match": "m1", **told}).encode()


def head(found: Bundle, seq: int, shown: str = "") -> SignedHead:
    """The head of an entry as letters show it; or another one, signed with the server's key."""
    shown = shown or found.entries[seq - 1].head
    return SignedHead(SERVER, "m1", seq, shown, KEY.sign(statement(SERVER, "m1", seq, shown)).hex(), None)


class TestLettersThatWereKept:
    def test_a_part_that_is_damaged(self) -> None:
        said = Finding("broken", "letter", "it is cut off: that part proves nothing")
        assert findings(against("ed25519"), faults=("it is cut off",)) == (said,)

    def test_an_attachment_is_judged_as_it_was_sent(self) -> None:
        """A mail program changed its line ends: as it was before, it agrees."""
        reports = good("ed25519").papers["reports/game-1-turn-1-seat-1.json"]
        said = findings(against("ed25519"), **attached("reports.json", reports + b"\r\n", reports))
        assert said == (Finding("agrees", "reports of game 1, turn 1", "", 3),)

    def test_reports_of_a_turn_that_never_was(self) -> None:
        reports = document("reports 1", game=1, turn=9, seat=1)
        said = f"the bundle has no turn 9 of game 1; {UNSIGNED}"
        assert findings(against("ed25519"), **attached("reports.json", reports)) == (
            Finding("contradicts", "reports of game 1, turn 9", said, 8),
        )

    def test_reports_of_no_game(self) -> None:
        reports = document("reports 1", game=[1], turn=1, seat=1)
        said = "the bundle does not have turn 1 of game [1] yet; ask for a newer one"
        assert findings(against("running"), **attached("reports.json", reports)) == (
            Finding("later", "reports of game [1], turn 1", said),
        )

    def test_another_position(self) -> None:
        position = document("position 1", game=1, seat=1, turn=5, prev=good("ed25519").entries[1].head)
        said = f"p.json shows another position than follows from the letters and the rules; {UNSIGNED}"
        assert findings(against("ed25519"), **attached("p.json", position)) == (
            Finding("contradicts", "position of game 1, turn 5", said, 2),
        )

    def test_other_terms(self) -> None:
        said = f"it tells of other terms, with the hash {OTHER}, than entry 1; {UNSIGNED}"
        assert findings(against("ed25519"), terms=(("m1", OTHER),)) == (Finding("contradicts", "terms", said, 1),)

    @pytest.mark.parametrize("second", ["bob", "carl"])
    def test_commitments_by_whoever_had_the_seat(self, second: str) -> None:
        """Letters from before and from after Carl took Bob's seat name the one or the other."""
        found = good("substitute")
        by_seat = found.entries[1].body["commitments"]
        told = {"ann": by_seat["1"], second: by_seat["2"]}
        assert findings(against("substitute"), heads=(head(found, 2),), commitments=(told,)) == (
            Finding("agrees", "head of entry 2", "", 2),
            Finding("agrees", "commitments", "", 2),
        )


class TestTheLog:
    WHAT = f"entry 3 in the log of {SERVER}"

    def test_another_entry_that_the_letter_shows(self) -> None:
        found = good("ed25519")
        logged = Logged(SERVER, "m1", 3, str(proof(found, 3, {}, head=OTHER)))
        said = "at size 11 it has another entry 3 than the bundle"
        *_, last = findings(against("ed25519"), heads=(head(found, 3, OTHER),), logged=(logged,))
        assert last == Finding("two stories", self.WHAT, said, 3)

    def test_another_entry_that_nobody_shows(self) -> None:
        logged = Logged(SERVER, "m1", 3, str(proof(good("ed25519"), 3, {}, head=OTHER)))
        said = Finding("broken", self.WHAT, "the proof does not lead to the bundle's", 3)
        assert findings(against("ed25519"), logged=(logged,)) == (said,)

    def test_no_witness_that_is_believed(self) -> None:
        bench = against("ed25519", [witness("wanda.example")[0]])
        logged = Logged(SERVER, "m1", 3, str(proof(bench.found, 3, {"other.example": 1})))
        said = Finding("open", self.WHAT, "size 11: cosigned by no witness that was named", 3)
        assert findings(bench, logged=(logged,)) == (said,)


def no_change(sealed: dict[str, Any]) -> None:
    """As it was told."""


def by_another(sealed: dict[str, Any]) -> None:
    sealed["steps"][0]["seat"] = 3 - sealed["steps"][0]["seat"]


def owing(*what: str) -> Callable[[dict[str, Any]], None]:
    def change(sealed: dict[str, Any]) -> None:
        sealed["owes"] = list(what)

    return change


@pytest.mark.parametrize(
    ("change", "standing"),
    [
        (no_change, "agrees"),
        (owing(), "agrees"),
        (owing("answers"), "agrees"),
        (owing("reveal"), "contradicts"),
        (by_another, "contradicts"),
    ],
)
def test_what_a_position_tells_of_steps(change: Callable[[dict[str, Any]], None], standing: str) -> None:
    """Who told what, and that no reveal was asked for while the sealed game was on."""
    bench = against("sealed-running")
    match = next(notice.match for notice in reversed(bench.told) if notice.kind == "step")
    assert match.sealed_game is not None
    names = ("turn", "seat", "step", "lines", "seq", "head")
    steps = [{name: getattr(step, name) for name in names} for step in match.sealed_game.steps]
    sealed: dict[str, Any] = {"steps": steps, "owes": []}
    change(sealed)
    position = document("position 1", game=1, seat=1, turn=match.turn, prev=match.prev, sealed=sealed)
    (finding,) = findings(bench, **attached("position.json", position))
    assert finding.standing == standing, finding


class TestChecks:
    def test_the_file_is_named_that_does_not_hold(self) -> None:
        found, path = good("ssh"), "openings/game-1-seat-1.txt"
        last = checked(rewritten(found, path, found.papers[path].replace(b"\nsalt ", b"\nsalt 0")))[-1]
        assert (last.holds, last.path) == (False, path)

    def test_an_entry_of_a_game_that_runs_names_its_papers(self) -> None:
        """In version 1, whose bodies have no form of their own."""
        found = good("version-1")
        running = with_entry(
            replace(found, entries=found.entries[:3], papers={}), 2, lambda body: body.pop("reports")
        )
        last = checked(signed_again(running))[-1]
        assert (last.holds, last.seq, last.found) == (False, 3, "entry 3: not an entry `turn`")

    def test_a_newcomer_without_a_key_in_a_game_that_runs(self) -> None:
        """The letter, what vouches for it, and the mailbox are checked after the reveal: now, that they are those."""
        found = good("running")
        name = f"{len(found.entries) + 1}-seat-2"
        papers = {
            f"letters/substituted-{name}.eml": b"From: carl@mail.example\r\n\r\nsubstitute\r\n",
            f"evidence/substituted-{name}.txt": b"pbem evidence 2\n",
            f"evidence/mailbox-{name}.txt": b"pbem mailbox 1\n",
        }
        letter, evidence, mailbox = map(sha256_hex, papers.values())
        time = found.entries[-1].time
        body = {
            "seat": 2,
            "player": {"name": "carl", "keys": [], "mailbox": mailbox},
            "mail": letter,
            "received": time,
            "rev": 1,
            "level": "mailbox",
            "evidence": evidence,
        }
        entries = (*found.entries, Entry(0, "", time, "substituted", body))
        told = signed_again(with_papers(replace(found, entries=entries), papers))
        holds(told)
        for path, paper in papers.items():
            fails(with_papers(told, {path: paper + b"!"}), path, "is not what the transcript names")
