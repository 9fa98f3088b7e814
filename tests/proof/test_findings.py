"""The words of findings and checks: their standing, their subject, and the entry or file that they name."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from attackers import forgers
from attackers.forgers import checked, fails, holds, with_entry, with_papers
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.witnessed import KEY, proof, witness
from msgspec.structs import replace
from vectors.matches import good
from world.mutations import signed_again

from pbem.desk.sealed_files import of_seat
from pbem.match.documents import Evidence, text_name
from pbem.match.events.sealed_events import sealed
from pbem.match.transcript import Entry, announcement, sha256_hex, statement, voucher
from pbem.proof.compare.finding import Finding
from pbem.proof.kept import Attached, Kept, Logged, ReplyAddress, SignedHead, SignedPaper, ToldFiles
from pbem.proof.kept_letters import kept
from pbem.proof.prove import Against

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.proof.bundle import Bundle
    from pbem.proof.verification import Proved
    from pbem.tlog.checkpoint import InclusionProof

SERVER = "play.example"
UNSIGNED = (
    "the server did not sign this part, so that it convinces whoever got the letter, and others only by its DKIM"
    " signature"
)
OTHER = "0" * 64


@cache
def proved(name: str) -> Proved:
    return forgers.proved(good(name))


def against(name: str, witnesses: Sequence[Any] = ()) -> Against:
    return forgers.against(proved(name), witnesses)


def findings(bench: Against, **told: Any) -> tuple[Finding, ...]:
    """The findings in a letter of the server that says this, and nothing else."""
    return bench.judge(Kept("letter", None, "m1", servers=frozenset({SERVER}), **told)).findings


def attached(name: str, *ways: bytes) -> dict[str, Any]:
    return {"attached": (Attached(name, ways),)}


def told_files(*hashes: str, signed_by: Any = KEY) -> ToldFiles:
    """The hashes of files in a bulletin, signed."""
    told = announcement(SERVER, OTHER)
    return ToldFiles(SERVER, frozenset(hashes), OTHER, signed_by.sign(told).hex())


def brought(name: str, content: bytes) -> dict[str, Any]:
    """A file for programs as the server sends it: the bulletin names its hash."""
    return {"files": (told_files(sha256_hex(content)),), **attached(name, content)}


def document(kind: str, **told: Any) -> bytes:
    return json.dumps({"pbem": kind, "server": SERVER, "match": "m1", **told}).encode()


def head(found: Bundle, seq: int, shown: str = "") -> SignedHead:
    """The head of an entry as letters show it; or another one, signed with the server's key."""
    shown = shown or found.entries[seq - 1].head
    return SignedHead(SERVER, "m1", seq, shown, KEY.sign(statement(SERVER, "m1", seq, shown)).hex(), None)


def paper(content: bytes) -> SignedPaper:
    """The hash of a paper as letters show it, signed by the server."""
    sha256 = sha256_hex(content)
    return SignedPaper(SERVER, "m1", sha256, KEY.sign(voucher(SERVER, "m1", sha256)).hex(), None)


class TestLettersThatWereKept:
    def test_a_part_that_is_damaged(self) -> None:
        said = Finding("broken", "letter", "it is cut off: that part proves nothing")
        assert findings(against("ssh-rsa"), faults=("it is cut off",)) == (said,)

    @pytest.mark.parametrize(
        ("subject", "server", "about"),
        [("[m1] turn 2", SERVER, True), ("[m11] turn 2", SERVER, False), ("[m1] turn 2", "other.example", False)],
    )
    def test_a_letter_of_which_nothing_is_left_but_its_subject(
        self, subject: str, server: str, *, about: bool
    ) -> None:
        """Damaged as it is, it is about the match that it names, of the server from which it came."""
        kept = Kept("letter", None, subject, servers=frozenset({server}), faults=("it is cut off",))
        assert len(against("ssh-rsa").judge(kept).findings) == about

    def test_an_attachment_is_judged_as_it_was_sent(self) -> None:
        """A mail program changed its line ends: as it was before, it agrees."""
        reports = good("ssh-rsa").papers["reports/game-1-turn-1-seat-1.json"]
        said = findings(against("ssh-rsa"), **attached("reports.json", reports + b"\r\n", reports))
        assert said == (Finding("agrees", "reports of game 1, turn 1", "", 3),)

    def test_reports_of_a_turn_that_never_was(self) -> None:
        reports = document("reports 1", game=1, turn=9, seat=1)
        said = f"the bundle has no turn 9 of game 1; {UNSIGNED}"
        assert findings(against("ssh-rsa"), **attached("reports.json", reports)) == (
            Finding("contradicts", "reports of game 1, turn 9", said, 8),
        )

    def test_reports_of_no_game(self) -> None:
        reports = document("reports 1", game=[1], turn=1, seat=1)
        said = "the bundle does not have turn 1 of game [1] yet; ask for a newer one"
        assert findings(against("running"), **attached("reports.json", reports)) == (
            Finding("later", "reports of game [1], turn 1", said),
        )

    @pytest.mark.parametrize(
        ("files", "standing", "weight"),
        [
            (told_files, "two stories", f"{SERVER} signed both, and told two stories"),
            (lambda _: told_files(OTHER), "broken", "but it is not the file that the letter names, either"),
            (
                lambda content: told_files(content, signed_by=Ed25519PrivateKey.generate()),
                "open",
                f"but no bulletin of {SERVER} is in the letter, so that anybody may have made the file",
            ),
        ],
    )
    def test_another_position(self, files: Callable[[str], ToldFiles], standing: Any, weight: str) -> None:
        """The server signed it, or somebody changed it, or a stranger made it."""
        position = document("position 1", game=1, seat=1, turn=5, prev=good("ssh-rsa").entries[1].head)
        said = f"p.json shows another position than follows from the letters and the rules; {weight}"
        told = {"files": (files(sha256_hex(position)),), **attached("p.json", position)}
        assert findings(against("ssh-rsa"), **told) == (Finding(standing, "position of game 1, turn 5", said, 2),)

    @pytest.mark.parametrize(
        ("view", "standing"),
        [
            ({"a_word_of_later": 1}, "agrees"),
            ({"known": {"2": {"named": {}}}}, "agrees"),
            ({"known": {"2": {"named": {"Gx3": "DS1"}}}}, "two stories"),
            ({"known": {"2": {}, "3": {}}}, "two stories"),
            ({"known": {}}, "two stories"),
        ],
    )
    def test_a_position_that_tells_more_or_less(self, view: dict[str, Any], standing: str) -> None:
        """Another version may have other words, but not other cells or seats."""
        prev = good("ssh-rsa").entries[1].head
        position = document("position 1", game=1, seat=1, turn=1, prev=prev, view=view)
        (finding,) = findings(against("ssh-rsa"), **brought("p.json", position))
        assert finding.standing == standing

    @pytest.mark.parametrize("result", ["told", "another"])
    def test_a_position_with_the_reports_of_its_turn(self, result: str) -> None:
        found = good("ssh-rsa")
        reports = json.loads(found.papers["reports/game-1-turn-1-seat-1.json"])["reports"]
        assert reports
        if result == "another":
            reports[0]["result"] = "another"
        position = document("position 1", game=1, seat=1, turn=2, prev=found.entries[2].head, reports=reports)
        (finding,) = findings(against("ssh-rsa"), **brought("p.json", position))
        assert finding.standing == ("agrees" if result == "told" else "two stories")

    def test_a_position_with_other_options(self) -> None:
        said = f"p.json shows other options than those of the game; {SERVER} signed both, and told two stories"
        for cost, standing, found in ((3, "agrees", ""), (4, "two stories", said)):
            place: dict[str, Any] = {"game": 1, "seat": 1, "turn": 1, "prev": good("ssh-rsa").entries[1].head}
            position = document("position 1", **place, options={"fleet": f"cost:{cost}"})
            (finding,) = findings(against("ssh-rsa"), **brought("p.json", position))
            assert (finding.standing, finding.found, finding.seq) == (standing, found, 2)

    def test_a_paper_that_is_written_as_none_is(self) -> None:
        """Signed as one of this match: that it was sent is beyond doubt, and what it means is not known."""
        strange = b"pbem receipt 9\n"
        said = Finding("open", "a.txt", "signed as a paper of this match, and written as none is")
        assert findings(against("ssh-rsa"), papers=(paper(strange),), **attached("a.txt", strange)) == (said,)
        assert findings(against("ssh-rsa"), **attached("a.txt", strange)) == ()

    def test_reports_that_the_server_signed_otherwise(self) -> None:
        """With the server's signature they convince everybody; in a letter that names another file, nobody."""
        bench = against("ssh-rsa")
        reports = document("reports 1", game=1, turn=1, seat=1)
        what, lie = "reports of game 1, turn 1", "r.json is not the file that entry 3 names for seat 1"
        for signed_paper, standing, said in (
            (reports, "two stories", f"{lie}; {SERVER} signed both, and told two stories"),
            (b"another", "broken", f"{lie}; but it is not the file that the letter names, either"),
        ):
            *_, last = findings(bench, papers=(paper(signed_paper),), **attached("r.json", reports))
            assert (last.standing, last.what, last.found, last.seq) == (standing, what, said, 3)
        assert findings(bench, **attached("r.json", reports))[0].found == f"{lie}; {UNSIGNED}"

    def test_terms_that_the_server_signed_otherwise(self) -> None:
        told = sha256_hex(b"other terms")
        lie = f"it tells of other terms, with the hash {told}, than entry 1"
        *_, last = findings(against("ssh-rsa"), papers=(paper(b"other terms"),), terms=(("m1", told),))
        assert last == Finding("two stories", "terms", f"{lie}; {SERVER} signed both, and told two stories", 1)

    def test_papers_without_their_files(self) -> None:
        """The transcript names some of them; others may have been replaced."""
        bench, known = against("ssh-rsa"), good("ssh-rsa").papers["receipts/game-1-turn-1-seat-1.txt"]
        what = f"paper {sha256_hex(known)[:16]}..."
        assert findings(bench, papers=(paper(known),)) == (Finding("agrees", what, ""),)
        said = (
            "the transcript does not name it, and its file is not in the letter as it was sent: it may have been"
            " replaced by a later one"
        )
        what = f"paper {sha256_hex(b'x')[:16]}..."
        assert findings(bench, papers=(paper(b"x"),)) == (Finding("open", what, said),)

    def test_a_head_that_nobody_signed_and_one_that_another_key_did(self) -> None:
        bench, shown = against("ssh-rsa"), head(good("ssh-rsa"), 3)
        altered = replace(shown, signature="00" * 64)
        said = f"altered: {SERVER} did not sign it, so that it proves nothing"
        assert findings(bench, heads=(altered,)) == (Finding("broken", "head of entry 3", said, 3),)
        assert findings(bench, heads=(altered,), quoted=frozenset({altered})) == (), "anybody may have written it"
        own = witness("other.example")[1]
        key, ours = own.public_key().public_bytes_raw().hex(), KEY.public_key().public_bytes_raw().hex()
        signature = own.sign(statement(SERVER, "m1", 3, shown.head)).hex()
        said = (
            f"signed with another key, {key}; the bundle's is {ours}. One of the two is not the key of {SERVER}, or"
            " it has two: compare them with what others know, and see --server-key"
        )
        assert findings(bench, heads=(replace(shown, signature=signature, key=key),)) == (
            Finding("contradicts", "head of entry 3", said, 3),
        )

    def test_a_position_of_a_game_that_is_not_revealed(self) -> None:
        found = good("running")
        entry = next(entry for entry in reversed(found.entries) if entry.type == "turn")
        position = document("position 1", game=2, seat=1, turn=2, prev=entry.head)
        said = Finding(
            "agrees", "position of game 2, turn 2", "its head; the rest can be checked after the reveal", entry.seq
        )
        assert findings(against("running"), **attached("p.json", position)) == (said,)

    def test_heads_that_nobody_knows(self) -> None:
        """Cited in a form or by a position: told by the server otherwise, or of a later time than the bundle."""
        position = brought("p.json", document("position 1", game=1, seat=1, turn=2, prev=OTHER))
        cited = {"prevs": (("m1", SERVER, OTHER),)}
        both = f"{SERVER} signed both, and told two stories"
        for told, what, reason, standing, weight in (
            (position, "position of game 1, turn 2", f"p.json cites the head {OTHER}", "two stories", both),
            (cited, "form", f"the form in it cites the head {OTHER}", "contradicts", UNSIGNED),
        ):
            unknown = f"{reason}, which is of no entry of the bundle"
            lie: Any = Finding(standing, what, f"{unknown}; {weight}")  # type: ignore[arg-type]  # a literal above
            assert findings(against("ssh-rsa"), **told) == (lie,)
            later = Finding("later", what, f"{unknown}; ask for a newer one")
            assert findings(against("running"), **told) == (later,)
            assert lie in findings(against("running"), heads=(head(good("running"), 2),), **told)
        for elsewhere in (("m2", SERVER, OTHER), ("m1", "other.example", OTHER)):
            assert findings(against("ssh-rsa"), prevs=(elsewhere,)) == ()

    def test_other_commitments(self) -> None:
        bench, shown = against("ssh-rsa"), (head(good("ssh-rsa"), 2),)
        said = Finding("contradicts", "commitments", f"it tells other commitments than entry 2; {UNSIGNED}", 2)
        listed = {"ann": OTHER, "bob": OTHER}
        assert findings(bench, heads=shown, commitments=(("m1", 1, listed),))[-1] == said
        assert len(findings(bench, heads=shown, commitments=(("m1", 2, listed),))) == 1, "of no game yet"

    @pytest.mark.parametrize("second", ["bob", "carl"])
    def test_commitments_by_whoever_had_the_seat(self, second: str) -> None:
        """Letters from before and from after Carl took Bob's seat name the one or the other."""
        found = good("substitute")
        by_seat = found.entries[1].body["commitments"]
        told = {"ann": by_seat["1"], second: by_seat["2"]}
        assert findings(against("substitute"), heads=(head(found, 2),), commitments=(("m1", 1, told),)) == (
            Finding("agrees", "head of entry 2", "", 2),
            Finding("agrees", "commitments", "", 2),
        )


class TestReplyAddresses:
    PATH = "evidence/game-1-turn-1-seat-2.txt"

    def found(self, *, key: Ed25519PrivateKey = KEY, **told: str) -> tuple[Finding, ...]:
        evidence = Evidence.read(good("one-letter").papers[self.PATH].decode())
        signed = key.sign(announcement(SERVER, OTHER)).hex()
        address = ReplyAddress(SERVER, "m1", evidence.token, evidence.place, OTHER, signed)
        return findings(against("one-letter"), addresses=(replace(address, **told),))

    def test_one_is_for_the_place_that_its_letter_named(self) -> None:
        assert self.found() == (Finding("agrees", "reply address", "game 1 turn 1"),)
        (said,) = self.found(place="game 1 turn 2")
        assert (said.standing, said.what) == ("two stories", "reply address")
        assert said.found.startswith(f"it was for m1 game 1 turn 2, and {self.PATH} says for m1 game 1 turn 1; ")

    def test_one_that_was_never_used_or_is_of_another_server_says_nothing(self) -> None:
        assert self.found(token=OTHER, place="game 1 turn 2") == ()
        assert self.found(server="other.example", place="game 1 turn 2") == ()

    def test_what_the_server_did_not_sign_accuses_nobody(self) -> None:
        (said,) = self.found(key=Ed25519PrivateKey.generate(), place="game 1 turn 2")
        assert said.standing == "broken"

    @pytest.mark.parametrize(
        "document",
        [
            {"address": "pbem@play.example", "game": 1, "turn": 1},
            {"address": f"pbem+m1.{'a' * 20}@play.example", "game": 1.5, "turn": 1},
            {"address": f"pbem+m1.{'a' * 20}@play.example", "game": 1, "turn": 1, "more": 1.5},
            {"address": f"pbem+m1.{'a' * 20}@play.example", "game": 1, "turn": 1, "m\u00f6re": 1},
        ],
    )
    def test_a_bulletin_that_no_server_writes_brings_none(self, document: dict[str, Any]) -> None:
        said = {"items": [{"about": "reply", "match": "m1", **document}]}
        packed = base64.b64encode(json.dumps(said).encode()).decode()
        assert kept("letter", f"X-Pbem-Bulletin: {packed}\r\n\r\nHello.\r\n".encode()).addresses == ()


class TestTheLog:
    WHAT = f"entry 3 in the log of {SERVER}"

    def found(self, bench: Against, seq: int, proof: InclusionProof | str, **told: Any) -> Finding:
        """The finding about this proof of an entry."""
        *_, last = findings(bench, logged=(Logged(SERVER, "m1", seq, str(proof)),), **told)
        return last

    def test_an_entry_that_is_there(self) -> None:
        """The finding names the trusted witnesses that saw it."""
        names = ("wanda.example", "wim.example")
        shown = proof(good("ssh-rsa"), 3, {"other.example": 5, **dict.fromkeys(names, 7)})
        bench = against("ssh-rsa")
        assert self.found(bench, 3, shown) == Finding("agrees", self.WHAT, "size 11", 3)
        assert bench.witnessed == {}
        bench = against("ssh-rsa", [witness(name)[0] for name in names])
        said = "size 11, seen by wanda.example, seen by wim.example"
        assert self.found(bench, 3, shown) == Finding("agrees", self.WHAT, said, 3)
        assert bench.witnessed == dict.fromkeys(names, (3, 7))

    def test_the_last_entry_that_a_witness_saw_and_when_first(self) -> None:
        name = "wanda.example"
        bench = against("ssh-rsa", [witness(name)[0]])
        seen = []
        for seq, time in ((3, 9), (3, 10), (3, 8), (2, 1), (4, 12)):
            assert self.found(bench, seq, proof(bench.bundle, seq, {name: time})).standing == "agrees"
            seen.append(bench.witnessed[name])
        assert seen == [(3, 9), (3, 9), (3, 8), (3, 8), (4, 12)]

    def test_an_entry_that_the_bundle_does_not_have_yet(self) -> None:
        """Its head may be shown in the same letter, or not."""
        whole = good("ssh-rsa")
        cut = Against(replace(whole, entries=whole.entries[:2]), against("ssh-rsa").match)
        shown = proof(whole, 3, {})
        said = "the bundle has no such entry"
        assert self.found(cut, 3, shown) == Finding("open", self.WHAT, said, 3)
        said = "at size 11 it has another entry 3 than the bundle"
        for where in ("heads", "for_programs"):
            assert self.found(cut, 3, shown, **{where: (head(whole, 3),)}) == Finding("later", self.WHAT, said, 3)
        assert self.found(cut, 3, shown, heads=(head(whole, 4),)).standing == "open"

    def test_another_match_in_the_log(self) -> None:
        shown = str(proof(good("ssh-rsa"), 3, {}))
        bench = against("ssh-rsa")
        for place in ((SERVER, "m2"), ("other.example", "m1")):
            assert findings(bench, logged=(Logged(*place, 3, shown),)) == ()

    def test_of_a_restored_server_it_is_said_with_two_logs(self) -> None:
        whole = good("ssh-rsa")
        restored = replace(whole.entries[1], type="restored", body={"generation": 1})
        entries = (whole.entries[0], restored, *whole.entries[2:])
        bench = Against(replace(whole, entries=entries), against("ssh-rsa").match)
        notes = tuple(str(proof(bench.bundle, 3, {}, head=head).note) for head in ("", OTHER))
        (told,) = findings(bench, notes=notes)
        assert told.found.endswith("; the bundle says that the server was restored from a backup (entry 2)")

    def test_no_witness_that_is_believed(self) -> None:
        """Another one may have been quicker: the letter leaves nothing open, and shows nothing that counts."""
        bench = against("ssh-rsa", [witness("wanda.example")[0]])
        logged = Logged(SERVER, "m1", 3, str(proof(bench.bundle, 3, {"other.example": 1})))
        said = Finding("agrees", self.WHAT, "size 11, cosigned by no witness that was named", 3)
        assert findings(bench, logged=(logged,)) == (said,)
        assert bench.witnessed == {}


@pytest.mark.parametrize(
    ("change", "standing"), [({}, "agrees"), ({"revealing": True}, "two stories"), ({"keys": {}}, "agrees")]
)
def test_what_a_position_tells_of_a_sealed_game(change: dict[str, Any], standing: str) -> None:
    """A position shows that no reveal was asked for during the game."""
    bench = against("sealed-running")
    match = next(notice.match for notice in reversed(proved("sealed-running").notices) if notice.kind == "step")
    sealed = of_seat(match, None) | change
    position = document("position 1", game=1, seat=1, turn=match.turn, prev=match.prev, sealed=sealed)
    (finding,) = findings(bench, **brought("position.json", position))
    assert finding.standing == standing, finding


def test_a_position_of_a_sealed_game_follows_the_head_of_a_letter() -> None:
    """Otherwise nothing would contradict a file that says beside such a head that the game is over."""
    bench = against("sealed-running")
    told = {notice.match.prev for notice in proved("sealed-running").notices}
    between = next(entry for entry in reversed(bench.bundle.entries) if entry.head not in told)
    sealed = {"keys": {}, "revealing": True}
    position = document("position 1", game=1, seat=1, turn=1, prev=between.head, sealed=sealed)
    (finding,) = findings(bench, **brought("position.json", position))
    assert (finding.standing, finding.seq) == ("two stories", between.seq), finding


def test_a_setup_file_names_only_the_keys_of_the_match() -> None:
    """A program believes the keys that it was told first."""
    bench = against("sealed")
    for keys, standing in (({}, "agrees"), ({"2": ["ssh-ed25519 AAAA"]}, "two stories")):
        asked = document("setup 1", game=1, seat=1, prev=bench.bundle.entries[0].head, sealed={"keys": keys})
        (finding,) = findings(bench, **brought("setup.json", asked))
        assert (finding.standing, finding.what, finding.seq) == (standing, "request for setup 1", 1), finding


def test_what_a_file_says_that_a_player_signed() -> None:
    bench = against("sealed-running")
    match = next(notice.match for notice in reversed(proved("sealed-running").notices) if notice.kind == "step")
    first, second = [path for path in sealed(match).game.letters if "step-" in path][:2]
    true, other = (bench.bundle.papers[path].partition(b"\r\n\r\n")[2] for path in (first, second))
    name = text_name("m1", first)
    for content, standing in ((true, "agrees"), (other, "two stories"), (b"", "two stories")):
        (finding,) = findings(bench, **brought(name, content))
        assert finding.standing == standing, finding
    (finding,) = findings(bench, **attached(text_name("m1", "letters/step-99-seat-1.eml"), true))
    assert finding.standing == "later"
    assert not findings(bench, **attached("m2-step-99-seat-1.signed.txt", true))


TRANSCRIPT = "that the transcript names"
EXCHANGED = {
    ("ssh", "openings/game-1-seat-1.txt"): (2, "does not open the commitment"),
    ("ssh", "receipts/game-1-turn-1-seat-1.txt"): (3, f"is not the receipt {TRANSCRIPT}"),
    ("ssh", "reports/game-1-turn-1-seat-2.json"): (3, f"is not the report {TRANSCRIPT}"),
    ("ssh", "reports/game-1-turn-1.json"): (3, f"is not the report {TRANSCRIPT}"),
    ("ssh", "letters/agreed-seat-1.eml"): (1, f"is not the letter {TRANSCRIPT}"),
    ("ssh", "letters/game-1-setup-seat-1.eml"): (2, "is not the letter that was received"),
    ("ssh", "traces/game-1-setup.txt"): (2, f"is not the trace {TRANSCRIPT}"),
    ("keys", "letters/keys-3-seat-1-new.eml"): (3, f"is not the letter {TRANSCRIPT}"),
    ("mailbox", "evidence/agreed-seat-2.txt"): (1, f"is not the evidence {TRANSCRIPT}"),
    ("mailbox", "evidence/mailbox-1-seat-2.txt"): (1, "cannot be read"),
    ("sealed", "receipts/game-1-setup-seat-1.txt"): (2, f"is not the receipt {TRANSCRIPT}"),
    ("withdrawal", "withdrawals/game-1-turn-3-withdrawn-seat-1-rev-2.txt"): (5, "is not what the trace names"),
}


class TestChecks:
    @pytest.mark.parametrize(("name", "path"), EXCHANGED)
    def test_a_paper_that_was_exchanged_or_is_missing(self, name: str, path: str) -> None:
        """The entry is named, the file, and what is wrong with it."""
        found = good(name)
        seq, said = EXCHANGED[name, path]
        last = checked(with_papers(found, {path: found.papers[path] + b"!"}))[-1]
        assert (last.holds, last.seq, last.path, last.found) == (False, seq, path, f"entry {seq}: {path}: {said}")
        others = {other: paper for other, paper in found.papers.items() if other != path}
        last = checked(replace(found, papers=others))[-1]
        assert (last.holds, last.seq, last.path, last.found) == (False, seq, path, f"entry {seq}: {path}: is missing")

    def test_each_entry_has_a_check_that_names_it(self) -> None:
        """The check of a turn names who gave its orders, and the evidence for it."""
        found = good("default")
        checks = holds(found)
        whole = ["bundle", "chain", "server", *(f"entry {entry.seq}" for entry in found.entries), "result"]
        assert [check.what for check in checks] == whole
        assert [check.seq for check in checks] == [None] * 3 + [entry.seq for entry in found.entries] + [None]
        ordered = {
            check.seq: [(one.seat, one.player, one.rev, one.level, one.by_default) for one in check.orders]
            for check in checks
            if check.orders
        }
        assert ordered.keys() == {entry.seq for entry in found.entries if entry.type == "turn"}
        assert ordered[4] == [(1, "ann", 1, "key", False), (2, "bob", 1, "key", True)]
        assert {one.key for check in checks for one in check.orders} == {
            player["keys"][0]["fingerprint"] for player in found.entries[0].body["players"].values()
        }

    def test_a_turn_of_a_game_that_runs_names_its_orders(self) -> None:
        """Only those of sealed games have none, whose papers are not kept back."""
        found = good("running")
        at = next(at for at, entry in enumerate(found.entries) if (entry.type, entry.body.get("game")) == ("turn", 2))

        def as_if_sealed(body: dict[str, Any]) -> None:
            for name in ("orders", "default", "trace"):
                body.pop(name)

        told = signed_again(with_entry(found, at, as_if_sealed))
        fails(told, f"entry {at + 1}: not an entry `turn`")

    @pytest.mark.parametrize("time", ["2026-01-01T00:00:00Z", "9", "9999-13-01T00:00:00Z"])
    def test_time_never_runs_backwards(self, time: str) -> None:
        """This holds also in a running game, whose entries are not replayed yet."""
        found = good("running")
        last = replace(found.entries[-1], time=time)
        told = signed_again(replace(found, entries=(*found.entries[:-1], last)), len(found.entries) - 1)
        fails(told, f"entry {last.seq}: its time, {time}, runs backwards, or is none")

    def test_a_newcomer_without_a_key_in_a_game_that_runs(self) -> None:
        """The letter, what vouches for it, and the mailbox are checked after the reveal: now, that they are those."""
        found = good("running")
        name = f"{len(found.entries) + 1}-seat-2"
        papers = {
            f"letters/substituted-{name}.eml": b"From: carl@mail.example\r\n\r\nsubstitute\r\n",
            f"evidence/substituted-{name}.txt": b"pbem evidence 1\n",
            f"evidence/mailbox-{name}.txt": b"pbem mailbox 2\n",
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
        lie = with_papers(told, {"letters/game-2-setup-seat-1.eml": b"x", "openings/game-2-seat-1.txt": b"x"})
        fails(lie, "openings/game-2-seat-1.txt: is not what the transcript names")
