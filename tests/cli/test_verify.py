"""`pbem verify`: a line for each check, status 1 at the first that fails, and no need of a network."""

from __future__ import annotations

import hashlib
import json
import mailbox
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from attackers.forgers import with_entry
from click.testing import CliRunner
from in_a_box import witnessed
from in_a_box.referee import Referee, attachment
from world.mutations import rewritten, signed_again

from pbem.cli.group import group
from pbem.cli.verify import verify
from pbem.proof import bundle
from pbem.proof.compare.finding import Standing

KEY = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"

OFFLINE = """
import os, sys

def refuse(event, _):
    if event.startswith("socket."):
        raise OSError(f"no network: {event}")

sys.addaudithook(refuse)
os.environ.clear()
from pbem.cli import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a match; beside it lie ann's letters in a Maildir and bob's in an mbox file."""
    folder = tmp_path_factory.mktemp("proof")
    referee = Referee(folder)
    ann, bob = referee.begun("fleet: cost:3\nsettle: 0", ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"))
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    file = folder / "m1.pbem.zip"
    file.write_bytes(attachment(ann.find(", the end"), ".zip"))
    maildir, mbox = mailbox.Maildir(folder / "ann"), mailbox.mbox(folder / "bob.mbox")
    for box, person in ((maildir, ann), (mbox, bob)):
        for letter in person.letters:
            box.add(letter)
        box.close()
    (folder / "last.eml").write_bytes(ann.find("the match is closed").as_bytes())
    referee.close()
    return file


def run(*arguments: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(verify, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output.splitlines()


def forged(proof: Path, tmp_path: Path, path: str, old: bytes, new: bytes) -> Path:
    """The bundle written again with a paper changed."""
    found = bundle.read(proof.read_bytes())
    assert old in found.papers[path]
    papers = {**found.papers, path: found.papers[path].replace(old, new)}
    file = tmp_path / "forged.zip"
    file.write_bytes(bundle.write(bundle.Bundle(found.entries, found.signatures, papers)))
    return file


@pytest.mark.parametrize("command", [[], ["--json"]])
def test_a_bundle_of_another_version_is_no_verdict(proof: Path, tmp_path: Path, command: list[str]) -> None:
    found = bundle.read(proof.read_bytes())
    file = tmp_path / "other.zip"
    file.write_bytes(bundle.write(signed_again(with_entry(found, 0, lambda body: body.update(bundle=2)))))
    status, lines = run(str(file), *command)
    assert status == 4
    if command:
        (check,) = json.loads("\n".join(lines))["checks"]
        assert check["found"] == "it has version 2, and this pbem reads version 1"
    else:
        assert lines == ["OPEN  version    it has version 2, and this pbem reads version 1"]
    done = CliRunner().invoke(group, ["publish", str(file)])
    assert (done.exit_code, done.output) == (4, f"Error: {file}: it has version 2, and this pbem reads version 1\n")


def test_a_line_for_each_check(proof: Path) -> None:
    status, lines = run(str(proof))
    assert status == 0
    assert all(line.startswith("ok  ") for line in lines[:-1])
    assert [line.split()[1] for line in lines[:3]] == ["bundle", "chain", "server"]
    assert [line.split()[2] for line in lines[3:-2]] == [str(seq) for seq in range(1, 9)]
    assert "ann won, scores [3, 0], agreed length" in lines[-2]
    assert lines[-1] == "Everything holds."


def test_the_failing_line_names_entry_and_file(proof: Path, tmp_path: Path) -> None:
    path = "receipts/game-1-turn-1-seat-1.txt"
    status, lines = run(str(forged(proof, tmp_path, path, b"rev 1", b"rev 2")))
    assert status == 1
    assert lines[-1].startswith(f"FAIL  proof      entry 3: {path}: ")
    assert [line[:4] for line in lines[:-1]] == ["ok  "] * (len(lines) - 1)


def test_the_servers_key(proof: Path) -> None:
    status, lines = run(str(proof), "--server-key", KEY)
    assert status == 0
    assert "the key that you gave" in lines[2]
    assert run(str(proof), "--server-key", KEY.upper())[0] == 0
    for none in ("nonsense", "", KEY[:-1]):
        status, lines = run(str(proof), "--server-key", none)
        assert status == 2
        assert "64 hex digits" in lines[-1]
    for wrong in ("00" * 32, KEY[:-2] + "b9"):
        status, lines = run(str(proof), "--server-key", wrong)
        assert status == 1
        assert lines[-1].startswith("FAIL")
        assert f"the server's key is {KEY}" in lines[-1]


@pytest.mark.parametrize("content", [b"", b"hello\n", b"PK\x05\x06" + bytes(18), bytes(1000)])
def test_what_is_no_bundle(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.zip"
    file.write_bytes(content)
    status, lines = run(str(file))
    assert status == 1
    assert len(lines) == 1
    assert lines[0].startswith("FAIL  bundle")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    status, _ = run(str(tmp_path / "none.zip"))
    assert status == 2
    assert run()[0] == 2
    assert run(str(tmp_path))[0] == 2


def test_the_command_needs_no_server_and_no_network(proof: Path) -> None:
    words = [sys.executable, "-c", OFFLINE, "verify", str(proof), "--server-key", KEY]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Everything holds.\n")


class TestLettersAgainstABundle:
    def test_they_agree(self, proof: Path) -> None:
        folder = proof.parent
        status, lines = run(str(proof), "--against", str(folder / "ann"), str(folder / "bob.mbox"))
        assert status == 0
        assert lines[-1] == "Everything holds."
        assert any(line.startswith("Letters that agree with the bundle: ") for line in lines)
        assert any(line.startswith("    agrees: head of entry 3; reports of game 1, turn 1;") for line in lines)
        assert run("--against", str(folder / "ann"), str(proof), "--against", str(folder / "bob.mbox"))[0] == 0

    def test_a_server_that_told_two_stories(self, proof: Path, tmp_path: Path) -> None:
        """The last reports have another salt, in a bundle that is whole in itself."""
        found, other = bundle.read(proof.read_bytes()), tmp_path / "other.zip"
        path = "reports/game-1-turn-3.json"
        salted = re.sub(rb'"salt":"[0-9a-f]{64}"', b'"salt":"' + b"77" * 32 + b'"', found.papers[path])
        other.write_bytes(bundle.write(rewritten(found, path, salted)))
        assert run(str(other))[0] == 0
        status, lines = run(str(other), "--against", str(proof.parent / "last.eml"))
        assert status == 1
        said = "\n".join(lines)
        assert "the match is closed <" in said.partition("two stories: ")[2].partition("\n")[0]
        assert "play.example signed two different entries 8 of m1" in said
        assert "Letters that prove that the server told two stories: 1" in said
        assert lines[-1] == "The bundle is valid on its own, but the letters contradict it."

    def test_letters_that_prove_nothing(self, proof: Path, tmp_path: Path) -> None:
        letter = (proof.parent / "last.eml").read_bytes()
        (tmp_path / "x.eml").write_bytes(letter.replace(b"after entry 8", b"after entry 7"))
        status, lines = run(str(proof), "--against", str(tmp_path / "x.eml"))
        assert status == 3
        assert "Letters that are damaged, and prove nothing: 1" in lines
        (tmp_path / "x.eml").write_bytes(b"From: x@y.z\n\nhello\n")
        status, lines = run(str(proof), "--against", str(tmp_path / "x.eml"))
        assert status == 3
        assert lines[-2:] == [
            "Letters that say nothing about this match: 1",
            "The bundle holds, but there was no letter to compare it with.",
        ]

    def test_a_bundle_that_does_not_hold_comes_first(self, proof: Path, tmp_path: Path) -> None:
        file = forged(proof, tmp_path, "reports/game-1-turn-3.json", b"hit", b"miss")
        status, lines = run(str(file), "--against", str(proof.parent / "ann"))
        assert status == 1
        assert lines[-1].startswith("FAIL")

    def test_letters_that_are_not_there(self, proof: Path, tmp_path: Path) -> None:
        assert run(str(proof), "--against", str(tmp_path / "none"))[0] == 2
        assert run(str(proof), str(proof.parent / "last.eml"))[0] == 2
        assert run(str(proof), "--against")[0] == 2

    def test_nothing_in_a_letter_moves_the_cursor(self, proof: Path, tmp_path: Path) -> None:
        letter = (proof.parent / "last.eml").read_bytes()
        hostile = letter.replace(b"Subject: [pbem", b"Subject: =?utf-8?q?=1B[2J=E2=80=AE?= [pbem")
        (tmp_path / "x.eml").write_bytes(hostile)
        status, lines = run(str(proof), "--against", str(tmp_path / "x.eml"))
        assert status == 0
        assert all(line.isprintable() for line in lines)


class TestJson:
    """docs/verification.md."""

    def test_every_check(self, proof: Path) -> None:
        status, lines = run(str(proof), "--json", "--server-key", KEY)
        document = json.loads("\n".join(lines))
        assert status == document["status"] == 0
        assert document["pbem"] == "verification 1"
        assert document["holds"] is True
        assert document["sha256"] == hashlib.sha256(proof.read_bytes()).hexdigest()
        assert (document["server"], document["server_key"], document["match"]) == ("play.example", KEY, "m1")
        assert document["server_key_known"] is True
        assert document["result"] == {"winners": [1], "scores": [3, 0], "reason": "agreed length"}
        assert [check["seq"] for check in document["checks"]] == [None] * 3 + list(range(1, 9)) + [None]
        assert all(check["holds"] for check in document["checks"])
        turn = document["checks"][5]
        assert [(one["seat"], one["player"], one["level"], one["rev"]) for one in turn["orders"]] == [
            (1, "ann", "key", 1),
            (2, "bob", "key", 1),
        ]
        assert turn["orders"][0]["key"].startswith("SHA256:")

    def test_what_fails(self, proof: Path, tmp_path: Path) -> None:
        file = forged(proof, tmp_path, "reports/game-1-turn-3.json", b"hit", b"miss")
        status, lines = run(str(file), "--json")
        document = json.loads("\n".join(lines))
        assert status == document["status"] == 1
        assert document["holds"] is False
        last = document["checks"][-1]
        assert (last["holds"], last["seq"], last["path"]) == (False, 5, "reports/game-1-turn-3.json")
        assert document["result"] is None
        document = json.loads("\n".join(run(str(proof.parent / "last.eml"), "--json")[1]))
        assert [check["what"] for check in document["checks"]] == ["bundle"]

    def test_the_document_is_described(self, proof: Path) -> None:
        described = Path(__file__).parents[2].joinpath("docs", "verification.md").read_text()
        document = json.loads("\n".join(run(str(proof), "--json", "--against", str(proof.parent / "last.eml"))[1]))
        keys = {*document, *document["checks"][5], *document["checks"][5]["orders"][0]}
        keys |= {*document["letters"][0], *document["letters"][0]["findings"][0]}
        assert not [key for key in keys if f"`{key}`" not in described]
        assert not [standing for standing in get_args(Standing) if f"`{standing}`" not in described]


def test_of_two_witnesses_the_slower_one_leaves_nothing_open(proof: Path, tmp_path: Path) -> None:
    """An early letter shows what the quicker one saw; each of them saw the end."""
    found = bundle.read(proof.read_bytes())
    last, early, late = len(found.entries), tmp_path / "early.eml", tmp_path / "late.eml"
    for seq, times, file in ((2, {"quick.example": 5}, early), (last, {"quick.example": 7, "slow.example": 9}, late)):
        file.write_bytes(witnessed.letter(found, [witnessed.logged(seq, witnessed.proof(found, seq, times))]))
    for name, letters, status in (
        ("quick.example", [early, late], 0),
        ("slow.example", [early, late], 0),
        ("slow.example", [early], 3),
    ):
        key = str(witnessed.witness(name)[0])
        code, lines = run(str(proof), "--witness", key, "--against", *map(str, letters))
        assert code == status, lines
        assert not any("leaves something open" in line for line in lines)
        assert any(line.startswith(f"{name} saw entry {last} of {last} ") for line in lines) is not bool(status)


VECTORS = Path(__file__).parents[1] / "vectors/good"


def pinned(name: str, seq: int = 1, seat: str = "1") -> str:
    """The line of a key in a bundle among the vectors: of a seat at the start, or the one that an entry adds."""
    body = bundle.read((VECTORS / f"{name}.pbem.zip").read_bytes()).entries[seq - 1].body
    keys = body["added"] if seq > 1 else body["players"][seat]["keys"]
    return f"{keys[0]['public']} somebody@home\n"


def compared(name: str, *options: str, typed: str = "") -> tuple[int, list[str]]:
    words = [str(VECTORS / f"{name}.pbem.zip"), *(word for option in options for word in ("--keys", option))]
    result = CliRunner().invoke(verify, words, input=typed)
    return result.exit_code, [line for line in result.output.splitlines() if " keys " in line or "Error" in line]


def test_whose_key_is_whose(tmp_path: Path) -> None:
    (tmp_path / "bob").write_text(f"bob@home {pinned('ssh', seat='2')}")
    assert compared("ssh", "ann=-", f"bob={tmp_path / 'bob'}", typed=pinned("keys", 3) + pinned("ssh"))[0] == 0
    status, lines = compared("ssh", "ann=-", typed=pinned("ssh", seat="2"))
    assert (status, len(lines)) == (3, 1)
    assert lines[0].startswith("OPEN  keys       ann's key SHA256:")
    assert lines[0].endswith(", as the seat was taken: it is none of those")


def test_keys_that_came_later_are_compared_too(tmp_path: Path) -> None:
    """Whoever knows the first key alone learns which ones it brought."""
    status, lines = compared("keys", "ann=-", typed=pinned("keys"))
    assert status == 3
    assert [line[:4] for line in lines] == ["ok  ", "OPEN", "OPEN"]
    assert "added later (signed): it is none of those" in lines[1]
    assert "replaced later (recovery code): it is none of those" in lines[2]
    (tmp_path / "first").write_text(pinned("keys"))
    later = pinned("keys", 3) + pinned("keys", 7)
    assert compared("keys", f"ann={tmp_path / 'first'}", "ann=-", typed=later)[0] == 0


def test_keys_of_whoever_took_a_seat_over_and_of_whoever_has_none() -> None:
    assert compared("substitute", "carl=-", typed=pinned("ssh"))[0] == 3
    status, lines = compared("mailbox", "bob=-", typed=pinned("ssh"))
    assert (status, lines) == (3, ["OPEN  keys       bob, who took the seat without one: there is no key to compare"])


@pytest.mark.parametrize("option", ["ann", "ann=nowhere", "ann=-", "zoe=key", "ann=long"])
def test_files_of_keys_that_cannot_be_compared(option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key").write_text(pinned("ssh"))
    (tmp_path / "long").write_text(pinned("ssh") + "#" * bundle.LIMITS.paper_octets)
    status, lines = compared("ssh", option, typed="Not Found")
    assert (status, len(lines)) == (2, 1)
