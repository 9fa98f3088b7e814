"""A match whose letters are signed with keys of every format: whatever is changed, exchanged or left out is found.

Two forgers: one without the server's key, who makes the chain whole again but cannot sign it, and the server itself,
which signs whatever it wrote: against that one stand the players' signatures, the commitments and the rules.
"""

from __future__ import annotations

import base64
import itertools
from functools import partial
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import checked, fails, holds, remembering, renamed, with_entry, with_papers
from data.material import IN_FORCE, KEYS
from in_a_box.referee import Referee, attachment, form_in
from signing.signers import (
    by_clear_openpgp,
    by_openpgp_mime,
    by_passkey,
    by_smime,
    by_ssh,
)
from world.mutations import signed_again

from pbem.identity import parse_key
from pbem.match.changed import replace
from pbem.match.documents import Opening, Receipt
from pbem.match.transcript import sha256_hex
from pbem.proof import bundle
from pbem.proof.kept_letters import kept
from pbem.proof.prove import Against
from pbem.proof.verification import Proved, verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from in_a_box.referee import Mailbox

    from pbem.match.documents import Opening as AnyOpening
    from pbem.proof.bundle import Bundle
    from pbem.proof.signed_letters import BundleLetters

    Signer = Callable[[Mailbox, str], bytes]

FILES = {
    "ann": ("pgp-anna.pub.asc", "sm-p256.crt", "ssh-passkey.pub"),
    "bob": ("ssh-rsa.pub", "ssh-ecdsa.pub", "pgp-nora.pub.asc", "sm-ed25519.crt"),
}


def ssh_file(person: Mailbox, text: str) -> bytes:
    """The text and its SSH signature as two attached files."""
    signature = by_ssh(person, text, "ecdsa").replace(b"\r\n", b"\n").partition(text.encode())[2]
    files = [("orders.txt", text.encode()), ("orders.txt.sig", signature)]
    parts = "".join(
        f'--b\r\nContent-Disposition: attachment; filename="{name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
        f"{base64.b64encode(content).decode()}\r\n"
        for name, content in files
    )
    head = f"From: {person.address}\r\nTo: pbem@play.example\r\nMIME-Version: 1.0\r\n"
    return f"{head}Content-Type: multipart/mixed; boundary=b\r\n\r\n{parts}--b--\r\n".encode()


ANNS: list[Signer] = [by_smime, by_clear_openpgp, by_passkey, by_openpgp_mime, by_clear_openpgp]
BOBS: list[Signer] = [ssh_file, by_ssh, partial(by_openpgp_mime, name="nora"), by_ssh, ssh_file]


def table(folder: Path, options: str) -> tuple[Referee, Mailbox, Mailbox]:
    """Ann and Bob, each with keys of several formats, agreed on match m1."""
    referee = Referee(folder)
    referee.now = IN_FORCE
    ann, bob = referee.registered("ann"), referee.registered("bob")
    for name, files in FILES.items():
        for file in files:
            key = parse_key((KEYS / file).read_bytes(), referee.now)
            referee.database.execute(
                "INSERT INTO keys (fingerprint, player, format, public, added) VALUES (?, ?, ?, ?, ?)",
                (key.fingerprint, name, key.format, key.public, "2028-06-01T12:00:00Z"),
            )
    referee.send(ann, f"new spaceships with bob\n{options}\nend\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    return referee, ann, bob


def play(referee: Referee, people: tuple[Mailbox, Mailbox], setups: tuple[str, str], cells: tuple[str, ...]) -> None:
    """One game: each letter in another format than the one before."""
    for person, setup, signers in zip(people, setups, (ANNS, BOBS), strict=True):
        referee.deliver(signers[0](person, person.filled("setup", setup)), person.address)
    for number, cell in enumerate(cells, start=1):
        for person, orders, signers in zip(people, (cell, ""), (ANNS, BOBS), strict=True):
            letter = signers[number](person, person.filled("orders", f"final\n{orders}"))
            referee.deliver(letter, person.address)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """One game of three turns."""
    referee, ann, bob = table(tmp_path_factory.mktemp("small"), "fleet: cost:3\nsettle: 0")
    play(referee, (ann, bob), ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"), ("Rv1", "Rv3", "Bz5"))
    content = attachment(ann.find(", the end"), ".zip")
    referee.close()
    return content


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A continued match of two games, four turns each."""
    referee, ann, bob = table(tmp_path_factory.mktemp("large"), "fleet: cost:3\nsettle: 0\nkind: continued\ngames: 2")
    cells = ("Yx1", "Rv1", "Rv3", "Bz5")
    play(referee, (ann, bob), ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"), cells)
    play(referee, (ann, bob), ("MD1 Rv1 Rv2 Rv3\nMD2 Gv1 Gv2 Gv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"), cells)
    content = attachment(ann.find("game 2, the end"), ".zip")
    referee.close()
    return content


@pytest.fixture(scope="module")
def match(large: bytes) -> Bundle:
    return bundle.read(large)


@pytest.fixture(scope="module")
def reader() -> type[BundleLetters]:
    return remembering()


class TestTheMatch:
    @pytest.mark.parametrize("which", ["small", "large"])
    def test_it_holds_and_names_each_key(self, which: str, request: pytest.FixtureRequest) -> None:
        checks = holds(request.getfixturevalue(which))
        orders = [one for check in checks for one in check.orders]
        assert {one.level for one in orders} == {"key"}
        keys = {parse_key((KEYS / file).read_bytes()).fingerprint: file for files in FILES.values() for file in files}
        used = {keys[one.key] for one in orders}
        assert used >= {"pgp-anna.pub.asc", "ssh-passkey.pub", "ssh-rsa.pub", "pgp-nora.pub.asc"}
        assert which == "small" or used >= {"ssh-ecdsa.pub"}


class TestBytes:
    @pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
    def test_each_changed_byte_of_a_small_bundle_is_found(self, small: bytes, step: int) -> None:
        """What is checked first is the file itself, so that this is quick."""
        changed = bytearray(small)
        for at in range(0, len(small), step):
            changed[at] ^= 1 << at % 8
            assert not checked(bytes(changed))[-1].holds, at
            changed[at] = small[at]

    @pytest.mark.long
    def test_each_changed_byte_is_found_past_the_checksums(self, small: bytes, reader: type[BundleLetters]) -> None:
        """The zip written anew: now the hashes must find it."""
        self.past_the_checksums(bundle.read(small), 1, reader)

    def test_some_changed_bytes_are_found_past_the_checksums(
        self, match: Bundle, reader: type[BundleLetters]
    ) -> None:
        self.past_the_checksums(match, 211, reader)

    def past_the_checksums(self, found: Bundle, step: int, reader: type[BundleLetters]) -> None:
        for path, content in found.papers.items():
            changed = bytearray(content)
            for at in range(0, len(content), step):
                changed[at] ^= 1 << at % 8
                fails(with_papers(found, {path: bytes(changed)}), path, reader=reader)
                changed[at] = content[at]


EVERY = [7, pytest.param(1, marks=pytest.mark.long)]
"""How many of the cases: a share of them, or all."""


def places(found: Bundle) -> dict[str, int]:
    """Each letter's path, and the index of the entry that answers for it."""
    where = {}
    for at, entry in enumerate(found.entries):
        for path in found.papers:
            game = entry.body.get("game")
            if (entry.type == "commitments" and path.startswith(f"letters/game-{game}-setup")) or (
                entry.type == "turn" and path.startswith(f"letters/game-{game}-turn-{entry.body['turn']}-")
            ):
                where[path] = at
    return where


def with_letter(found: Bundle, path: str, at: int, letter: bytes) -> Bundle:
    """Another letter in this place, with the paper and the entry that name it made to fit."""
    is_setup = "-setup-" in path
    paper = path.replace("letters/", "openings/" if is_setup else "receipts/").replace(".eml", ".txt")
    paper = paper.replace("-setup-", "-")
    old = found.papers[paper]
    read: type[AnyOpening] | type[Receipt] = Opening if is_setup else Receipt
    new = replace(read.read(old.decode()), mail=sha256_hex(letter)).text().encode()
    forged = with_entry(found, at, lambda body: renamed(body, sha256_hex(old), sha256_hex(new)))
    return with_papers(forged, {path: letter, paper: new})


class TestLetters:
    """The server exchanges and changes letters, and makes all else fit."""

    @pytest.mark.parametrize("step", EVERY)
    def test_each_exchanged_for_another(self, match: Bundle, reader: type[BundleLetters], step: int) -> None:
        """Of another game, another turn, another player: each in the place of each."""
        where = places(match)
        assert len(where) == 20
        for one, other in list(itertools.permutations(where, 2))[::step]:
            forged = with_letter(match, one, where[one], match.papers[other])
            found = fails(signed_again(forged), reader=reader)
            assert found.startswith(f"entry {where[one] + 1}: {one}: "), (one, other, found)

    def test_an_earlier_revision_and_a_withdrawn_one(self, tmp_path: Path) -> None:
        """Orders that were replaced or cleared are signed as well: the server takes them for those that stood."""
        referee = Referee(tmp_path)
        ann, bob = referee.begun("fleet: cost:3\nsettle: 0", ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"))
        referee.turn((ann, "Rv1"), (bob, ""))
        referee.turn((ann, "Rv3"), (bob, ""))
        raws = []
        for rev, cell in ((1, "Bz4"), (2, "Bz3"), (4, "Bz5")):
            raws.append(referee.raw(ann, referee.signed(ann, ann.filled("orders", f"final\n{cell}", rev=rev))))
            referee.deliver(raws[-1], ann.address)
            if rev == 2:
                referee.send(ann, "clear m1\n")
        referee.send(bob, bob.filled("orders", "final\n"))
        found = bundle.read(attachment(ann.find(", the end"), ".zip"))
        referee.close()
        (path,) = [path for path, content in found.papers.items() if content == raws[2]]
        for raw in raws[:2]:
            fails(signed_again(with_letter(found, path, places(found)[path], raw)), path)

    def test_changed_letters_of_the_last_turn(self, small: bytes, reader: type[BundleLetters]) -> None:
        """Nobody cites what comes after: only what the players did not sign can be changed, and no orders with it."""
        found = bundle.read(small)
        record = found.papers["records/game-1.pbem.toml"]
        proved = Proved()
        assert all(check.holds for check in verify(small, proved=proved))
        assert proved.match
        where = {path: at for path, at in places(found).items() if "-turn-3-" in path}
        passed = 0
        for path, at in where.items():
            letter = found.papers[path]
            for position in range(0, len(letter), 11):
                changed = bytearray(letter)
                changed[position] ^= 1 << position % 8
                forged = signed_again(with_letter(found, path, at, bytes(changed)))
                if checked(forged, reader=reader)[-1].holds:
                    passed += 1
                    assert forged.papers["records/game-1.pbem.toml"] == record
                    assert forged.entries[-1].head != found.entries[-1].head  # which the letters of both show
                    head = found.entries[-1]
                    told = f"Transcript of m1 after entry {head.seq}, signed by play.example:\n  head {head.head}\n"
                    told += f"  signature {found.signatures[-1].hex()}\n"
                    letters = Against(forged, proved.match).judge(kept("x", f"From: a@b.c\n\n{told}".encode()))
                    assert letters.standing == "two stories"
        assert passed  # headers, say

    def test_changed_letters_before_are_found_by_what_was_signed_later(
        self, match: Bundle, reader: type[BundleLetters]
    ) -> None:
        """Not one byte of a letter can be changed, not even of its headers: the next orders cite its hash."""
        for path, at in places(match).items():
            if match.entries[at].body.get("game") == 2 and match.entries[at].body.get("turn") == 4:
                continue
            letter = match.papers[path]
            for position in range(3, len(letter), 211):
                changed = bytearray(letter)
                changed[position] ^= 1 << position % 8
                fails(signed_again(with_letter(match, path, at, bytes(changed))), reader=reader)
