"""The proof catches every change: of single bytes, of papers, of entries, and of a transcript signed again."""

from __future__ import annotations

import itertools
import json
import logging
import random
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from attackers import forgers
from attackers.forgers import (
    SERVER_KEY,
    checked,
    holds,
    index,
    remembering,
    renamed,
    saying,
    signed_again,
    with_entry,
    with_papers,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.referee import Referee, attachment

from pbem.identity import ssh
from pbem.match.changed import replace
from pbem.match.documents import Opening, Receipt
from pbem.match.transcript import Entry, canonical, sha256_hex
from pbem.proof import bundle
from pbem.proof.bundle import Bundle
from pbem.proof.signed_letters import Letters
from pbem.proof.verification import Check, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OPTIONS = "fleet: cost:3\nsettle: 0\nkind: continued\ngames: 2"
ANN = "MD Rv1 Rv2 Rv3"
ANN_2 = "MD1 Rv1 Rv2 Rv3\nMD2 Gv1 Gv2 Gv3"
BOB = "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"

READER = remembering()
fails = partial(forgers.fails, reader=READER)


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    yield
    structlog.reset_defaults()


@pytest.fixture
def referee(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Referee]:
    referee = Referee(tmp_path_factory.mktemp("referee"))
    yield referee
    referee.close()


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bundle of a finished match: continued, two games of three turns."""
    referee = Referee(tmp_path_factory.mktemp("proof"))
    ann, bob = referee.begun(OPTIONS, (ANN, BOB))
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    referee.send(ann, ann.filled("setup", ANN_2))
    referee.send(bob, bob.filled("setup", BOB))
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    content = attachment(bob.find("game 2, the end"), ".zip")
    referee.close()
    return content


@pytest.fixture(scope="module")
def match(proof: bytes) -> Bundle:
    return bundle.read(proof)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """The bundle that Bob gets while the second game is played: his own papers of it, and none of Ann's."""
    referee = Referee(tmp_path_factory.mktemp("running"))
    ann, bob = referee.begun(OPTIONS.replace("continued", "scored"), (ANN, BOB))
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    referee.send(ann, ann.filled("setup", ANN))
    referee.send(bob, bob.filled("setup", BOB))
    for cell in ("Rv1", "Rv2"):
        referee.turn((ann, cell), (bob, ""))
    content = transcript(referee, bob)
    referee.close()
    return bundle.read(content)


def transcript(referee: Referee, person: Any) -> bytes:
    referee.send(person, "transcript m1\n", sign=False)
    return attachment(person.last, ".zip")


class TestTheProof:
    def test_an_honest_match_holds(self, proof: bytes, match: Bundle) -> None:
        checks = holds(proof)
        assert [check.what for check in checks[:3]] == ["bundle", "chain", "server"]
        assert [check.what for check in checks[3:-1]] == [f"entry {entry.seq}" for entry in match.entries]
        assert "ann won, scores [9, 0], agreed length" in checks[-1].found
        assert "by its own word" in checks[2].found

    def test_the_server_key_that_one_knows(self, proof: bytes) -> None:
        key = SERVER_KEY.public_key().public_bytes_raw().hex()
        assert "the key that you gave" in checked(proof, key)[2].found
        assert checked(proof, key.upper())[-1].holds
        for wrong in ("00" * 32, "", "zz", key[:-1]):
            checks = checked(proof, wrong)
            assert len(checks) == 3
            assert not checks[-1].holds
            assert "not the one that you gave" in checks[-1].found

    def test_another_servers_key(self, match: Bundle) -> None:
        fails(signed_again(match, key=Ed25519PrivateKey.from_private_bytes(bytes(32))), "entry 1: heads.txt")
        signatures = list(match.signatures)
        signatures[4] = signatures[5]
        fails(replace(match, signatures=signatures), "entry 5: heads.txt: the server's signature")

    def test_a_key_under_which_one_signature_holds_for_all(self, match: Bundle) -> None:
        neutral = bytes([1, *bytes(31)])  # with S = 0 the equation holds whatever is signed
        forged = signed_again(with_entry(match, 0, lambda body: body.update(server_key=neutral.hex())))
        fails(replace(forged, signatures=[neutral + bytes(32)] * len(forged.entries)), "entry 1", "proves anything")

    def test_a_new_key_in_the_first_entry_breaks_what_the_players_signed(self, match: Bundle) -> None:
        key = Ed25519PrivateKey.from_private_bytes(bytes(32))
        public = key.public_key().public_bytes_raw().hex()
        forged = signed_again(with_entry(match, 0, lambda body: body.update(server_key=public)), key=key)
        fails(forged, "entry 2", "letters/game-1-setup-seat-1.eml", "prev")


def samples(content: bytes, found: Bundle) -> list[int]:
    """All positions of a setup, orders, a report and a commitment, and many others."""
    spots = [
        b"MD1 Rv1 Rv2 Rv3",
        b"final\r\nRv3\r\nend",
        found.papers["reports/game-1-turn-2-seat-1.json"][:120],
        found.entries[1].body["commitments"]["1"].encode(),
    ]
    positions = set()
    for spot in spots:
        assert spot in content
        positions |= set(range(content.index(spot), content.index(spot) + len(spot)))
    return sorted(positions | set(random.Random(17).sample(range(len(content)), 500)))


class TestBytes:
    def test_every_changed_byte_is_found(self, proof: bytes, match: Bundle) -> None:
        began = time.monotonic()
        for at in samples(proof, match):
            for change in (1, 0x80):
                changed = bytearray(proof)
                changed[at] ^= change
                fails(bytes(changed))
        assert time.monotonic() - began < 120  # nothing hangs; takes three seconds or so

    def test_cut_doubled_and_inserted_bytes_are_found(self, proof: bytes) -> None:
        for at in random.Random(18).sample(range(len(proof)), 150):
            fails(proof[:at])
            fails(proof[:at] + proof[at + 1 :])
            fails(proof[:at] + proof[at : at + 1] + proof[at:])
        fails(proof + b"\0")
        fails(b"\0" + proof)
        fails(b"")

    @pytest.mark.parametrize(
        "path",
        [
            "letters/game-1-setup-seat-2.eml",
            "letters/game-2-turn-1-seat-1.eml",
            "openings/game-1-seat-1.txt",
            "receipts/game-1-turn-2-seat-1.txt",
            "reports/game-1-turn-2-seat-2.json",
            "reports/game-2-turn-3.json",
            "records/game-2.pbem.toml",
        ],
    )
    def test_every_changed_byte_of_a_paper_written_again_is_found(self, match: Bundle, path: str) -> None:
        """Past the zip's own checksums: the hashes in the transcript alone must find it."""
        entry = f"entry {1 + _index_of(match, path)}"
        for at in range(0, len(match.papers[path]), 13):
            for change in (1, 0x20, 0x80):
                content = bytearray(match.papers[path])
                content[at] ^= change
                fails(with_papers(match, {path: bytes(content)}), entry, path)


def _index_of(found: Bundle, path: str) -> int:
    """The index of the entry that answers for a paper."""
    words = path.partition("/")[2].partition(".")[0].split("-")
    if words[0] == "agreed":
        return 0
    game = int(words[1])
    if words[2:] == ["end"]:
        return index(found, "ended", game)
    if path.startswith("records/"):
        return index(found, "revealed", game)
    if "turn" in words:
        return index(found, "turn", game, int(words[3]))
    return index(found, "commitments", game)


class TestPapers:
    def test_each_paper_dropped_emptied_or_changed_is_found(self, match: Bundle) -> None:
        for path, content in match.papers.items():
            entry = f"entry {1 + _index_of(match, path)}: {path}"
            fails(replace(match, papers={p: c for p, c in match.papers.items() if p != path}), entry, "is missing")
            fails(with_papers(match, {path: b""}), entry)
            fails(with_papers(match, {path: content + b"\n"}), entry)
            fails(with_papers(match, {path: content[:-1]}), entry)
            fails(with_papers(match, {path: content.replace(b"\n", b"\r\n", 1) + b" "}), entry)

    @pytest.mark.long
    def test_each_paper_swapped_with_another_is_found(self, match: Bundle) -> None:
        """With the other seat's, the next turn's, the other game's, and any of its kind."""
        for one, other in itertools.combinations(match.papers, 2):
            if one.partition("/")[0] == other.partition("/")[0] and match.papers[one] != match.papers[other]:
                swapped = with_papers(match, {one: match.papers[other], other: match.papers[one]})
                fails(swapped, min(one, other, key=lambda path: _index_of(match, path)).partition("/")[0])

    @pytest.mark.parametrize(
        "path",
        [
            "letters/game-3-turn-1-seat-1.eml",
            "letters/note.txt",
            "reports/game-1-turn-4.json",
            "openings/game-1-seat-3.txt",
            "letters/resign-3-seat-1.eml",
        ],
    )
    def test_a_paper_that_no_entry_names_is_found(self, match: Bundle, path: str) -> None:
        fails(with_papers(match, {path: b"x"}), path, "is named by no entry")


class TestEntries:
    """The chain alone finds what is done to entries by somebody who has not the server's key."""

    def test_dropped_repeated_swapped(self, match: Bundle) -> None:
        pairs = list(zip(match.entries, match.signatures, strict=True))

        def bundled(chosen: Sequence[tuple[Entry, bytes]]) -> Bundle:
            return Bundle([entry for entry, _ in chosen], [signature for _, signature in chosen], match.papers)

        for at in range(len(pairs)):
            if at + 1 < len(pairs):
                fails(bundled([*pairs[:at], *pairs[at + 1 :]]), f"entry {at + 1}")
                fails(bundled([*pairs[:at], pairs[at + 1], pairs[at], *pairs[at + 2 :]]), f"entry {at + 1}")
            fails(bundled([*pairs[:at], pairs[at], *pairs[at:]]), f"entry {at + 2}")

    def test_cut_off(self, match: Bundle) -> None:
        """A match cut off within what follows from one letter, or whose papers are still here."""
        for length in range(1, len(match.entries)):
            fails(Bundle(match.entries[:length], match.signatures[:length], match.papers))

    def test_changed(self, match: Bundle) -> None:
        for at in range(len(match.entries)):
            fails(with_entry(match, at, lambda body: body.update(more=1)), f"entry {min(at + 2, len(match.entries))}")


class TestARewritingServer:
    """The server signs its own rewriting; the letters and the rules speak against it."""

    def test_signing_again_without_a_change_changes_nothing(self, match: Bundle, proof: bytes) -> None:
        assert bundle.write(signed_again(match)) == proof

    def test_each_entry_dropped(self, match: Bundle) -> None:
        for at in range(1, len(match.entries)):
            left = replace(match, entries=[*match.entries[:at], *match.entries[at + 1 :]])
            found = fails(signed_again(left))
            seq = int(found.removeprefix("entry ").partition(":")[0])
            assert at <= seq <= at + 2, found

    def test_each_entry_repeated_and_each_two_swapped(self, match: Bundle) -> None:
        entries = list(match.entries)
        for at in range(len(entries)):
            fails(
                signed_again(replace(match, entries=[*entries[:at], entries[at], *entries[at:]])), f"entry {at + 2}"
            )
            if 0 < at < len(entries) - 1:
                swapped = [*entries[:at], entries[at + 1], entries[at], *entries[at + 2 :]]
                fails(signed_again(replace(match, entries=swapped)), f"entry {at + 1}")

    def test_an_entry_inserted(self, match: Bundle, resigned: Bundle) -> None:
        """Each as it stands somewhere else."""
        known: dict[str, Entry] = {}
        for entry in (*match.entries, *resigned.entries):
            known.setdefault(entry.type, entry)
        for at in range(1, len(match.entries) + 1):
            for kind in ("agreed", "commitments", "closed", "ended", "resigned", "turn", "revealed"):
                inserted = replace(known[kind], time=match.entries[at - 1].time)
                entries = [*match.entries[:at], inserted, *match.entries[at:]]
                found = fails(signed_again(replace(match, entries=entries)))
                assert int(found.removeprefix("entry ").partition(":")[0]) in (at, at + 1, at + 2), found

    def test_an_entry_of_no_form_inserted(self, match: Bundle) -> None:
        for at in range(len(match.entries) + 1):
            for kind in ("agreed", "note", "closed", "ended", "resigned", "turn", "revealed"):
                body = {"seat": 1, "match": True, "mail": "0" * 64, "game": 1, "turn": 1}
                if kind == "agreed":
                    body = match.entries[0].body
                inserted = Entry(0, "", "2026-03-01T12:00:00Z", kind, body)
                entries = [*match.entries[:at], inserted, *match.entries[at:]]
                if kind == "agreed" and at == 0:
                    continue  # the first of two that are the same: found below as the second
                found = fails(signed_again(replace(match, entries=entries)))
                assert int(found.removeprefix("entry ").partition(":")[0]) in (at, at + 1, at + 2), found

    def test_a_closed_match_is_not_agreed_again(self, match: Bundle) -> None:
        """Once more `agreed`, with keys of the server's making: everything after it could be invented."""
        again = replace(match, entries=[*match.entries, match.entries[0]])
        fails(signed_again(again), f"entry {len(match.entries) + 1}")

    @pytest.mark.parametrize(
        ("kind", "key", "value"),
        [
            ("agreed", "version", "pbem 9"),
            ("agreed", "server", "other.example"),
            ("agreed", "match", "m2"),
            ("agreed", "rules", "0" * 64),
            ("commitments", "game", 2),
            ("commitments", "options", {"fleet": "cost:4"}),
            ("turn", "turn", 2),
            ("turn", "game", 2),
            ("turn", "reports", "0" * 64),
            ("ended", "winner", 2),
            ("ended", "winner", 0),
            ("ended", "scores", [3, 1]),
            ("ended", "scores", [0, 3]),
            ("ended", "turns", 2),
            ("ended", "reason", "resignation"),
            ("revealed", "record", "0" * 64),
            ("closed", "winner", 2),
            ("closed", "scores", [0, 9]),
            ("closed", "reason", "resignation"),
        ],
    )
    def test_a_changed_fact(self, match: Bundle, kind: str, key: str, value: object) -> None:
        at = next(at for at, entry in enumerate(match.entries) if entry.type == kind)
        assert match.entries[at].body[key] != value
        forged = signed_again(with_entry(match, at, lambda body: body.update({key: value})))
        found = fails(forged)
        assert found.startswith((f"entry {at + 1}:", f"entry {at + 2}:")), found

    def test_changed_terms(self, match: Bundle) -> None:
        for key, value in {
            "games": 3,
            "target": 5,
            "victory": "last game",
            "settle": 60,
            "kind": "scored",
            "options": {"fleet": "cost:4"},
            "players": ["bob", "ann"],
            "edition": 2,
            "game": "chess",
        }.items():
            forged = with_entry(match, 0, saying(terms={**match.entries[0].body["terms"], key: value}))
            found = fails(signed_again(forged))
            assert found.startswith(("entry 1:", "entry 2:")), found

    def test_other_names_of_the_players(self, match: Bundle) -> None:
        forged = with_entry(match, 0, lambda body: body["players"]["2"].update(name="eve"))
        fails(signed_again(forged), "entry 1: the players are not those of the terms")

    def test_other_keys_of_the_players(self, match: Bundle) -> None:
        eve = ssh.parse(ssh.public(Ed25519PrivateKey.from_private_bytes(b"e" * 32)))

        def change(body: dict[str, Any]) -> None:
            body["players"]["1"]["keys"] = [{"format": "ssh", "fingerprint": eve.fingerprint, "public": eve.public}]

        forged = signed_again(with_entry(match, 0, change))
        fails(forged, "entry 1", "letters/agreed-seat-1.eml", "the signature of ann does not hold")

        def swap(body: dict[str, Any]) -> None:
            players = body["players"]
            players["1"]["keys"], players["2"]["keys"] = players["2"]["keys"], players["1"]["keys"]

        fails(signed_again(with_entry(match, 0, swap)), "the signature of ann does not hold")

        def mixed(body: dict[str, Any]) -> None:
            body["players"]["1"]["keys"][0]["public"] = eve.public

        fails(signed_again(with_entry(match, 0, mixed)), "entry 1")

    def test_a_setup_in_its_opening(self, match: Bundle) -> None:
        path = "openings/game-1-seat-2.txt"
        paper = match.papers[path].replace(b"LG3 Bz5", b"LG3 Bz4")
        assert paper != match.papers[path]
        self.opening(match, path, paper, "openings/game-1-seat-2.txt")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("player", "ann"),
            ("seat", 1),
            ("game", 2),
            ("rules", "0" * 64),
            ("match", "m2"),
            ("server", "other.example"),
        ],
    )
    def test_an_opening_that_names_another_place(self, match: Bundle, name: str, value: Any) -> None:
        path = "openings/game-1-seat-2.txt"
        opening = replace(Opening.read(match.papers[path].decode()), **{name: value})
        self.opening(match, path, opening.text().encode(), path)

    def test_an_opening_of_another_letter(self, match: Bundle) -> None:
        path, letter = "openings/game-1-seat-1.txt", "letters/game-1-setup-seat-1.eml"
        wrong = match.papers["letters/game-1-turn-1-seat-1.eml"]
        opening = replace(Opening.read(match.papers[path].decode()), mail=sha256_hex(wrong))
        self.opening(match, path, opening.text().encode(), letter)
        self.opening(with_papers(match, {letter: wrong}), path, opening.text().encode(), letter)
        bob = match.papers["letters/game-1-setup-seat-2.eml"]
        opening = replace(opening, mail=sha256_hex(bob))
        self.opening(with_papers(match, {letter: bob}), path, opening.text().encode(), "signature of ann")

    def test_a_salt_of_an_opening_is_bound_by_the_orders_that_follow(self, match: Bundle) -> None:
        path = "openings/game-1-seat-1.txt"
        opening = replace(Opening.read(match.papers[path].decode()), salt="0" * 64)
        self.opening(match, path, opening.text().encode(), "letters/game-1-turn-1-seat-1.eml", entry=3)

    def opening(self, match: Bundle, path: str, paper: bytes, word: str, entry: int = 2) -> None:
        def change(body: dict[str, Any]) -> None:
            renamed(body, sha256_hex(bundle_papers[path]), sha256_hex(paper))

        bundle_papers = match.papers
        forged = with_entry(match, 1, change)
        fails(signed_again(with_papers(forged, {path: paper})), f"entry {entry}:", word)

    @pytest.mark.parametrize("path", ["reports/game-2-turn-3-seat-1.json", "reports/game-2-turn-3.json"])
    def test_a_report_of_the_last_turn(self, match: Bundle, path: str) -> None:
        """No later letter cites its head: the rules alone speak against it."""
        document = json.loads(match.papers[path])
        strike = next(report for report in document["reports"] if report["kind"] == "strike")
        strike["result"] = "miss"
        self.last_turn(match, path, canonical(document), f"entry 11: {path}: these are not the reports")
        document = json.loads(match.papers[path])
        for other in ([], document["reports"][:-1], [*document["reports"], document["reports"][0]]):
            self.last_turn(match, path, canonical({**document, "reports": other}), path)
        for key, value in {"turn": 2, "game": 1, "match": "m2", "seat": 2, "more": 1}.items():
            self.last_turn(match, path, canonical({**document, key: value}), path)
        for hostile in (b"", b"[]", b"{}", b'{"salt":1}', b'{"salt":"zz"}', b"\xff", b"[" * 50_000):
            self.last_turn(match, path, hostile, "entry 11" if hostile != b"[" * 50_000 else "")

    def last_turn(self, match: Bundle, path: str, paper: bytes, word: str) -> None:
        at = index(match, "turn", 2, 3)
        forged = with_entry(match, at, lambda body: renamed(body, sha256_hex(match.papers[path]), sha256_hex(paper)))
        fails(signed_again(with_papers(forged, {path: paper})), word)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("player", "bob"),
            ("seat", 2),
            ("game", 1),
            ("turn", 2),
            ("rev", 2),
            ("level", "mailbox"),
            ("key", "SHA256:x"),
            ("mail", "0" * 64),
            ("server", "other.example"),
        ],
    )
    def test_a_receipt_that_names_another_place(self, match: Bundle, name: str, value: Any) -> None:
        path = "receipts/game-2-turn-3-seat-1.txt"
        receipt = replace(Receipt.read(match.papers[path].decode()), **{name: value})
        self.last_turn(match, path, receipt.text().encode(), "entry 11: ")

    def test_orders_in_their_letter(self, match: Bundle) -> None:
        """Changed, the other player's, an earlier turn's, or the server's own: each with a receipt that fits."""
        path, letter = "receipts/game-2-turn-3-seat-1.txt", "letters/game-2-turn-3-seat-1.eml"
        own = match.papers[letter]
        server = ssh.sign(SERVER_KEY, own.partition(b"\r\n\r\n")[2].partition(b"-----")[0], "pbem@play.example")
        for changed, word in (
            (own.replace(b"Bz5", b"Bz4"), "the signature of ann does not hold"),
            (own.replace(b"rev 1", b"rev 2"), "the signature of ann does not hold"),
            (own.partition(b"-----BEGIN")[0], "the signature of ann does not hold"),
            (own.partition(b"-----BEGIN")[0] + server.encode(), "the signature of ann does not hold"),
            (own + own.partition(b"\r\n\r\n")[2], "the signature of ann does not hold"),
            (match.papers["letters/game-2-turn-3-seat-2.eml"], "the signature of ann does not hold"),
            (match.papers["letters/game-2-turn-2-seat-1.eml"], "holds no `orders` for this place"),
            (match.papers["letters/game-2-setup-seat-1.eml"], "holds no `orders` for this place"),
            (match.papers["letters/game-1-turn-3-seat-1.eml"], "prev"),
            (b"", "letters/"),
            (b"\xff" * 100, "letters/"),
        ):
            assert changed != own
            receipt = replace(Receipt.read(match.papers[path].decode()), mail=sha256_hex(changed))
            forged = with_papers(match, {letter: changed})
            self.last_turn(forged, path, receipt.text().encode(), f"entry 11: {letter}: ")
            self.last_turn(forged, path, receipt.text().encode(), word)

    def test_orders_left_out_or_added(self, match: Bundle) -> None:
        at = index(match, "turn", 2, 3)
        fails(signed_again(with_entry(match, at, lambda body: body["orders"].pop("2"))), "entry 11")
        fails(signed_again(with_entry(match, at, lambda body: body["orders"].update({"3": "0" * 64}))), "entry 11")
        fails(signed_again(with_entry(match, at, lambda body: body.update(orders={}))), "entry 11")
        fails(signed_again(with_entry(match, at, lambda body: body["shown"].pop("2"))), "entry 11")

    def test_the_record(self, match: Bundle) -> None:
        path = "records/game-2.pbem.toml"
        paper = match.papers[path].replace(b"winner = 1", b"winner = 2")
        assert paper != match.papers[path]
        at = index(match, "revealed", 2)
        forged = with_entry(match, at, lambda body: body.update(record=sha256_hex(paper)))
        fails(signed_again(with_papers(forged, {path: paper})), f"entry 13: {path}: is not the record")


@pytest.fixture(scope="module")
def resigned(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Bob resigned the match in its second turn."""
    referee = Referee(tmp_path_factory.mktemp("resigned"))
    ann, bob = referee.begun(OPTIONS, (ANN, BOB))
    referee.turn((ann, "Rv1"), (bob, ""))
    referee.send(bob, "resign m1 match\n")
    found = bundle.read(transcript(referee, ann))
    referee.close()
    assert "ann won" in holds(found)[-1].found
    return found


class TestResignations:
    @pytest.mark.parametrize("seat", [1, 0, -1, 3, -2, True, "2", None, 2.5, [2]], ids=repr)
    def test_the_wrong_seat(self, resigned: Bundle, seat: object) -> None:
        """Seat 0 would be Bob's key, read from the end of the list, and -1 Ann's, with Bob's victory turned round."""
        if seat == 2.5:
            return  # no number of an entry
        at = index(resigned, "resigned")
        path, letter = next((path, content) for path, content in resigned.papers.items() if "resign" in path)
        papers = {p: c for p, c in resigned.papers.items() if p != path}
        papers[f"letters/resign-{at + 1}-seat-{seat}.eml".lower()] = letter
        forged = with_entry(resigned, at, lambda body: body.update(seat=seat))
        for candidate in (replace(forged, papers=papers), forged):
            try:
                content = bundle.write(signed_again(candidate))
                bundle.read(content)
            except bundle.NotABundle:
                continue
            fails(content, f"entry {at + 1}")

    @pytest.mark.parametrize(("seat", "wrong"), [(2, 0), (1, -1), (2, 3), (1, 9)])
    def test_no_seat_reads_from_the_end(self, referee: Referee, seat: int, wrong: int) -> None:
        """Seat -1 would be Ann by her key, and Bob's resignation by the rules: she would win what she gave up."""
        ann, bob = referee.begun(OPTIONS, (ANN, BOB))
        referee.send((ann, bob)[seat - 1], "resign m1 match\n")
        found = bundle.read(transcript(referee, ann))
        at = index(found, "resigned")
        papers = dict(found.papers)
        papers[f"letters/resign-{at + 1}-seat-{wrong}.eml"] = papers.pop(f"letters/resign-{at + 1}-seat-{seat}.eml")
        forged = replace(with_entry(found, at, lambda body: body.update(seat=wrong)), papers=papers)
        for other in range(at + 1, len(forged.entries)):
            forged = with_entry(forged, other, lambda body: "winner" in body and body.update(winner=1))
        word = (
            "resigned: `seat` names a seat that there is not"
            if wrong > 0
            else "resigned: its body has not the form of one"
        )
        fails(signed_again(forged), f"entry {at + 1}: {word}")

    def test_a_resigned_game_is_not_the_match(self, referee: Referee) -> None:
        ann, bob = referee.begun(OPTIONS, (ANN, BOB))
        referee.turn((ann, "Rv1"), (bob, ""))
        referee.send(bob, "resign m1 game 1\n")
        found = bundle.read(transcript(referee, ann))
        at = index(found, "resigned")
        assert "goes on" in holds(found)[-1].found
        fails(signed_again(with_entry(found, at, lambda body: body.update(match=True))), "holds no `resign match`")
        fails(signed_again(with_entry(found, at, lambda body: body.update(match=1))), f"entry {at + 1}")

    def test_a_match_is_not_a_game(self, resigned: Bundle) -> None:
        at = index(resigned, "resigned")
        forged = with_entry(resigned, at, lambda body: body.update(match=False))
        fails(signed_again(forged), "holds no `resign game`")

    def test_a_bare_resign_that_the_desk_refused_resigns_nothing(self, referee: Referee, resigned: Bundle) -> None:
        at = index(resigned, "resigned")
        path = f"letters/resign-{at + 1}-seat-2.eml"
        bob = referee.person("bob")
        letter = referee.raw(bob, referee.signed(bob, "resign m1\n"))
        forged = with_entry(resigned, at, lambda body: body.update(mail=sha256_hex(letter)))
        fails(signed_again(with_papers(forged, {path: letter})), f"entry {at + 1}: {path}")

    @pytest.mark.parametrize("game", [1, 2])
    def test_resigned_before_the_game_began(self, referee: Referee, game: int) -> None:
        """The letter is in the bundle although its game never was."""
        if game == 1:
            ann, bob = referee.agreed(OPTIONS)
        else:
            ann, bob = referee.begun(OPTIONS, (ANN, BOB))
            referee.send(ann, "resign m1 game 1\n")
        referee.send(ann, "resign m1 match\n")
        for person in (ann, bob):
            assert "bob won" in holds(transcript(referee, person))[-1].found


class TestSeveralFormsInOneLetter:
    """What the desk refused beside what it took must not spoil the proof: any player could do that at will."""

    def closed(self, referee: Referee) -> str:
        bob = referee.people["bob@mail.example"]
        referee.send(bob, "resign m1 match\n")
        return holds(transcript(referee, bob))[-1].found

    def test_legal_and_illegal_orders(self, referee: Referee) -> None:
        ann, bob = referee.begun(OPTIONS, (ANN, BOB))
        both = [ann.filled("orders", "final\nRv1"), ann.filled("orders", "final\nsRv1")]
        referee.send(ann, "".join(both))
        referee.send(bob, bob.filled("orders", "final\n"))
        referee.send(ann, "".join(reversed([form.replace("rev 2", "rev 1") for form in both])))
        assert "ann won" in self.closed(referee)

    @pytest.mark.parametrize("first", [True, False])
    def test_orders_for_another_place_beside(self, referee: Referee, first: bool) -> None:
        ann, bob = referee.begun(OPTIONS, (ANN, BOB))
        right = ann.filled("orders", "final\nRv1")
        wrong = right.replace("prev ", "prev 0", 1)
        referee.send(ann, right + wrong if first else wrong + right)
        referee.send(bob, bob.filled("orders", "final\n"))
        assert "turn 2" in ann.form("orders")
        assert "ann won" in self.closed(referee)

    def test_two_contents_of_one_revision(self, referee: Referee) -> None:
        ann, bob = referee.begun(OPTIONS, (ANN, BOB))
        referee.send(ann, ann.filled("orders", "final\nRv1") + ann.filled("orders", "final\nRv5"))
        referee.send(bob, bob.filled("orders", "final\n"))
        assert "ann won" in self.closed(referee)

    def test_a_higher_revision_in_the_same_letter(self, referee: Referee) -> None:
        ann, bob = referee.begun(OPTIONS, (ANN, BOB))
        referee.send(ann, ann.filled("orders", "final\nRv5") + ann.filled("orders", "final\nRv1", rev=2))
        referee.send(bob, bob.filled("orders", "final\n"))
        assert "ann won" in self.closed(referee)

    @pytest.mark.parametrize(("second", "rev"), [("MD Q1", 2), ("MD Gv1 Gv2 Gv3", 2), ("MD Gv1 Gv2 Gv3", 1)])
    @pytest.mark.parametrize("last", [True, False])
    def test_setups(self, referee: Referee, second: str, rev: int, last: bool) -> None:
        ann, bob = referee.agreed(OPTIONS)
        letters = [
            (ann, ann.filled("setup", ANN) + ann.filled("setup", second, rev=rev)),
            (bob, bob.filled("setup", BOB)),
        ]
        for person, text in reversed(letters) if last else letters:
            referee.send(person, text)
        assert "ann won" in self.closed(referee)


class TestARunningGame:
    """Its secrets come after its end; what is in the bundle must be what the entries name, and where they name it."""

    def test_it_holds(self, running: Bundle) -> None:
        checks = holds(running)
        assert checks[-2].what == "game 2"
        assert "not revealed yet" in checks[-2].found
        assert "goes on; scores so far [3, 0]" in checks[-1].found

    def test_each_paper_changed_or_added_is_found(self, running: Bundle) -> None:
        of_it = [path for path in running.papers if "/game-2" in path]
        assert any(path.startswith("letters/") for path in of_it)
        for path in of_it:
            assert "seat-2" in path
            fails(with_papers(running, {path: running.papers[path] + b"\n"}), path)
            fails(with_papers(running, {path: b""}), path)
        for one, other in itertools.combinations(of_it, 2):
            if running.papers[one] != running.papers[other]:
                fails(with_papers(running, {one: running.papers[other], other: running.papers[one]}))
        for path in ("letters/note.txt", "records/game-2.pbem.toml", "letters/game-2-turn-1-seat-1.eml"):
            fails(with_papers(running, {path: b"x"}), path)

    def test_the_finished_game_is_still_proved(self, running: Bundle) -> None:
        fails(with_papers(running, {"records/game-1.pbem.toml": b"x"}), "entry 7: records/game-1.pbem.toml")
        fails(signed_again(with_entry(running, 5, lambda body: body.update(winner=2))), "entry 6")

    @pytest.mark.parametrize("kind", ["closed", "ended", "resigned", "agreed", "commitments", "turn", "revealed"])
    def test_nothing_else_hides_behind_what_is_not_revealed(
        self, running: Bundle, match: Bundle, resigned: Bundle, kind: str
    ) -> None:
        """Each as it stands somewhere else."""
        others = (*running.entries, *match.entries, *resigned.entries)
        following = ("turn", 2, 3)  # that one may
        hidden = ("revealed", 2, None)  # what says that game 2 is revealed leaves nothing unchecked: found before it
        found = [entry for entry in others if entry.type == kind and _place(entry) not in (following, hidden)]
        assert found
        for entry in found:
            forged = replace(running, entries=[*running.entries, replace(entry, time=running.entries[-1].time)])
            fails(signed_again(forged), f"entry {len(running.entries) + 1}: `{kind}` does not follow here")

    @pytest.mark.parametrize("kind", ["closed", "ended", "resigned", "agreed", "commitments", "turn", "note"])
    def test_nor_what_has_no_form(self, running: Bundle, kind: str) -> None:
        body = {"winner": 2, "scores": [0, 9], "reason": "rules", "game": 2, "turn": 1, "commitments": {}}
        forged = replace(running, entries=[*running.entries, Entry(0, "", running.entries[-1].time, kind, body)])
        word = "`note` is no type of entry" if kind == "note" else f"{kind}: its body has not the form of one"
        fails(signed_again(forged), f"entry {len(running.entries) + 1}: {word}")

    def test_no_other_game_begins_than_was_to_begin(self, running: Bundle, match: Bundle) -> None:
        """Nor one while the match is paused, nor one after its end: it would be believed without a look at it."""
        at = index(running, "commitments", 2)
        first = running.entries[at]
        time = match.entries[-1].time
        pause = replace(first, type="paused", body={"by": "operator", "reason": "a test"})

        def begun(found: Bundle, *entries: Entry) -> Bundle:
            return signed_again(replace(found, entries=entries))

        papers = {path: octets for path, octets in running.papers.items() if "/game-2" not in path}
        before = replace(running, papers=papers)
        holds(begun(before, *running.entries[:at], first))
        other_game, other_options = {**first.body, "game": 3}, {**first.body, "options": {}}
        for forged in (
            begun(before, *running.entries[:at], replace(first, body=other_game)),
            begun(before, *running.entries[:at], replace(first, body=other_options)),
            begun(before, *running.entries[:at], pause, first),
            begun(match, *match.entries, replace(first, body=other_game, time=time)),
        ):
            fails(forged, f"entry {len(forged.entries)}: `commitments` does not follow here")

    def test_a_turn_left_out(self, running: Bundle) -> None:
        entries = [*running.entries[:-2], running.entries[-1]]
        fails(signed_again(replace(running, entries=entries)), "does not follow here")

    def test_a_match_whose_end_is_not_revealed_is_not_proved(self, match: Bundle) -> None:
        entries = [entry for entry in match.entries if entry.type != "revealed"]
        fails(signed_again(replace(match, entries=entries)), "is not revealed")

    def test_nor_the_word_that_it_is_revealed(self, running: Bundle, match: Bundle) -> None:
        entry = replace(match.entries[index(match, "revealed", 2)], time=running.entries[-1].time)
        forged = replace(running, entries=[*running.entries, entry])
        fails(signed_again(forged), "entry 8: traces/game-2-setup.txt: is missing")


def _place(entry: Entry) -> tuple[str, int | None, int | None]:
    return entry.type, entry.body.get("game"), entry.body.get("turn")


HOSTILE: list[Callable[[dict[str, Any]], object]] = [
    lambda body: body.clear(),
    lambda body: body.update(terms=[]),
    lambda body: body.update(players=[]),
    lambda body: body.update(players={"1": {}, "2": {}}),
    lambda body: body.update(players={"1": {"name": "ann", "keys": [1]}, "2": {"name": "bob", "keys": 7}}),
    lambda body: body["players"]["1"]["keys"].append({"fingerprint": 1, "public": 2}),
    lambda body: body["players"]["1"].update(keys=[{"format": "ssh", "fingerprint": "x", "public": "ssh-ed25519"}]),
    lambda body: body["players"]["1"]["keys"][0].update(public=""),
    lambda body: body["players"]["1"]["keys"][0].update(public="ssh-ed25519 !!!"),
    lambda body: body["players"]["1"]["keys"][0].update(public=None),
    lambda body: body.update(server_key=None),
    lambda body: body.update(server_key="00" * 31),
    lambda body: body.update(server="\ud800"),
    lambda body: body["terms"].update(players=5),
    lambda body: body["terms"].update(players=[1, 2]),
    lambda body: body["terms"].update(players=[]),
    lambda body: body["terms"].update(players=["ann"] * 9),
    lambda body: body["terms"].update(settle=10**40),
    lambda body: body["terms"].update(settle="x"),
    lambda body: body["terms"].update(options=[[]]),
    lambda body: body["terms"].update(options={"fleet": "cost:999999999"}),
    lambda body: body["terms"].update(options={"fleet": {"x": []}}),
    lambda body: body["terms"].update(game=[]),
    lambda body: body["terms"].update(game="os"),
    lambda body: body["terms"].update(more=1),
    lambda body: body["terms"].update(games="2"),
    lambda body: body["terms"].update(target=[]),
]


class TestHostileBundles:
    """Whoever writes a bundle signs it with a key of his own: verification answers, whatever is in it."""

    @pytest.mark.parametrize("change", HOSTILE, ids=range(len(HOSTILE)))
    def test_first_entries(self, match: Bundle, change: Callable[[dict[str, Any]], object]) -> None:
        fails(signed_again(with_entry(match, 0, change)))

    @pytest.mark.long
    def test_values_of_every_kind_everywhere(self, match: Bundle) -> None:
        others: list[Any] = [None, True, -1, 10**30, "\ud800\n", [[]], {}, {"1": []}, {"x": "1"}]
        for at, entry in enumerate(match.entries):
            for key in entry.body:
                for value in others:
                    if value == entry.body[key] or (at > 9 and value not in (True, -1)):
                        continue
                    forged = with_entry(match, at, saying(**{key: value}))
                    try:
                        content = bundle.write(signed_again(forged))
                    except (ValueError, TypeError, AttributeError):
                        continue  # the list of commitments cannot even be written
                    fails(content)

    @pytest.mark.parametrize("when", ["", "now", "2026-3-01T12:00:00Z", "2026-13-01T12:00:00Z", "9999-99", "\x00"])
    def test_times(self, match: Bundle, when: str) -> None:
        for at in (0, 1, 2, 5):
            entries = list(match.entries)
            entries[at] = replace(entries[at], time=when)
            fails(signed_again(replace(match, entries=entries)), f"entry {at + 1}")

    def test_an_error_that_nobody_thought_of_is_a_failed_check(self, proof: bytes) -> None:
        class Broken(Letters):
            def said(self, *_: object) -> Any:
                raise ZeroDivisionError("oh")

        checks = list(verify(proof, Broken))
        assert not checks[-1].holds
        assert "ZeroDivisionError: oh" in checks[-1].found

    def test_what_is_found_stays_on_its_line(self, match: Bundle) -> None:
        """A value could hold line ends and control characters, to write lines of their own into the answer."""
        value = "2\nok    result     bob won\x1b[2K\u202e"
        checks = checked(signed_again(with_entry(match, 0, lambda body: body.update(bundle=value))))
        assert "of version 2\\nok" in checks[-1].found
        for check in checks:
            assert check.found.isprintable()

    def test_random_hostile_letters(self, match: Bundle) -> None:
        rng = random.Random(5)
        path, letter = "receipts/game-2-turn-3-seat-1.txt", "letters/game-2-turn-3-seat-1.eml"
        at = index(match, "turn", 2, 3)
        for _ in range(80):
            raw = bytearray(match.papers[letter])
            for _ in range(rng.randint(1, 30)):
                raw[rng.randrange(len(raw))] = rng.choice(b"\r\n\0 -:;=?\xff\xc3" + bytes(raw))
            receipt = replace(Receipt.read(match.papers[path].decode()), mail=sha256_hex(bytes(raw)))
            paper = receipt.text().encode()
            forged = with_entry(
                match, at, partial(renamed, old=sha256_hex(match.papers[path]), new=sha256_hex(paper))
            )
            for check in checked(signed_again(with_papers(forged, {path: paper, letter: bytes(raw)})), reader=READER):
                assert isinstance(check, Check)
