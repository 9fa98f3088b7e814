"""Two verifiers of bundles, one written from the page alone, say the same of every bundle, true or forged."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from attackers.forgers import checked, proof
from data.material import KEYS
from in_a_box.referee import Referee
from vectors.lies import LIES, lied
from vectors.make import KEPT
from vectors.matches import GOOD, VECTORS, made
from world.mutations import mutated, with_body

from pbem.match.terms import Terms
from pbem.match.transcript import canonical
from pbem.proof import bundle
from verifier import OtherVersion, Unknown, Wrong, verified
from verifier.commands import read_commands
from verifier.state import Match
from verifier.terms import proposes

OPEN = {"openpgp", "smime"}
"""Formats whose signatures the second one does not look at: it may find less."""
PARTLY = {*OPEN, "sealed-running", "sealed-silent"}
NAMES = sorted({*GOOD, *KEPT})
ROW = re.compile(r"(?m)^\| `(\S+)` \| `(\S+)` \| .* \| (\S+) \| (.*) \|$")
README = (VECTORS / "README.md").read_text()
ROOT = Path(__file__).parents[2]


def content(kind: str, name: str) -> bytes:
    return (VECTORS / kind / f"{name}.pbem.zip").read_bytes()


def second(found: bytes) -> Wrong | None:
    try:
        verified(found)
    except (OtherVersion, Unknown):  # open: it neither holds nor fails
        return None
    except Wrong as wrong:
        return wrong
    return None


def differ(name: str, seed: int) -> str | None:
    """The two verdicts on one mutation, if they differ."""
    forged = mutated(bundle.read(content("good", name)), random.Random(f"{name} {seed}"))
    first, other = checked(forged)[-1], second(forged)
    if (first.holds is not False) == (other is None) or (name in OPEN and not first.holds):
        return None
    return f"{name} {seed}: {first.found} | {other or 'holds'}"


@pytest.mark.parametrize("name", NAMES)
def test_good_bundles_hold(name: str) -> None:
    assert checked(content("good", name))[-1].holds
    assert bool(verified(content("good", name)).open) == (name in PARTLY)
    assert f"| `{name}` |" in README


@pytest.mark.parametrize("row", ROW.findall(README), ids=lambda row: row[0])
def test_bad_bundles_are_found_out(row: tuple[str, str, str, str]) -> None:
    name, of, entry, word = row
    assert LIES[name][0] == of
    last, other = checked(content("bad", name))[-1], second(content("bad", name))
    assert not last.holds
    assert word in f"{last.path} {last.found}"
    assert other is not None
    assert str(last.seq or "file") == str(other.seq or "file") == entry


@pytest.mark.parametrize(
    ("name", "kind", "key"), [("claim", "claimed", "against"), ("forfeit", "forfeited", "seats")]
)
def test_a_seat_is_named_once(name: str, kind: str, key: str) -> None:
    found = bundle.read(content("good", name))
    at = next(number for number, entry in enumerate(found.entries) if entry.type == kind)
    body = found.entries[at].body
    forged = bundle.write(with_body(found, at, {**body, key: [*body[key], body[key][-1]]}))
    assert f"{kind}: its body has not the form of one" in checked(forged)[-1].found
    assert second(forged) is not None


def test_all_files_are_in_the_table() -> None:
    for kind, names in (("good", NAMES), ("bad", sorted(LIES))):
        assert sorted(path.name.split(".")[0] for path in (VECTORS / kind).iterdir()) == names
    assert sorted(row[0] for row in ROW.findall(README)) == sorted(LIES)


@pytest.mark.parametrize("name", sorted(LIES))
def test_lies_are_made_again_byte_for_byte(name: str) -> None:
    assert lied(name) == content("bad", name)


@pytest.mark.parametrize("name", ["ssh", "one-letter", "one-leaves"])
def test_matches_are_played_again_byte_for_byte(name: str) -> None:
    assert made(name) == content("good", name)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(GOOD) - KEPT))
def test_all_matches_are_played_again_byte_for_byte(name: str) -> None:
    assert made(name) == content("good", name)


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(1000, 1400), marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_both_say_the_same_of_whatever_is_changed(name: str, seeds: range) -> None:
    assert not [found for seed in seeds if (found := differ(name, seed))]


OPTIONS = [
    "kind: Scored\ngames: 2\nvictory: Last  game",
    "unreachable: LOSES\npace: 7D\nsettle: 0",
    "pace: None\nkeys: Demanded",
    "fleet: cost:9\nallowed: {LG = 5, KC = 2}\nfirst: 1",
]


@pytest.mark.parametrize("options", OPTIONS)
def test_both_read_a_proposal_alike(tmp_path: Path, options: str) -> None:
    referee = Referee(tmp_path)
    ann, _ = referee.agreed(options)
    found = bundle.write(proof(referee, ann))
    assert checked(found)[-1].holds
    assert second(found) is None
    referee.close()


@pytest.mark.parametrize(("seats", "proposed"), [("", True), ("seats: 2", True), ("seats: 3", False)])
def test_who_asked_for_a_third_did_not_propose_a_match_of_two(seats: str, *, proposed: bool) -> None:
    text = f"new shoot-em-up with bob\n{seats}\nend\n"
    terms = Terms.propose("shoot-em-up", {}, ("ann", "bob"), timedelta(0))
    match = Match({}, terms=json.loads(canonical(terms.document())))
    (command,) = read_commands(text)
    assert proposes(match, command) == proposed


@pytest.mark.parametrize("name", ["ed25519", "ed25519-sk", "passkey", "rsa"])
def test_the_second_reads_keys_that_a_mail_program_wrapped(name: str) -> None:
    kind, blob = (KEYS / f"ssh-{name}.pub").read_text().split()[:2]
    wrapped = "\n".join(blob[at : at + 70] for at in range(0, len(blob), 70))
    (command,) = read_commands(f"key add\n{kind}\n{wrapped} ann@home\nserver play.example\nplayer ann\n")
    assert command.said["*key"] == f"{kind} {blob}"
    assert command.said["player"] == "ann"


def test_what_the_second_leaves_open_is_told() -> None:
    (said,) = verified(content("good", "sealed-silent")).open
    assert said == "whether what ann ordered in game 1 was due, as it is not revealed"


def judge(*files: Path) -> subprocess.CompletedProcess[str]:
    """The command of the second verifier, with these files."""
    command = [sys.executable, "-m", "verifier", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_each_file_has_a_line_and_the_worst_is_the_status() -> None:
    (sample,) = (ROOT / "docs" / "sample").glob("*.zip")
    partly, lie = VECTORS / "good" / "openpgp.pbem.zip", VECTORS / "bad" / "report.pbem.zip"
    assert judge(sample, partly).returncode == 0
    done = judge(sample, partly, lie)
    assert done.returncode == 1
    holds, leaves_open, wrong = done.stdout.splitlines()
    assert holds == f"{sample}: holds"
    assert leaves_open.startswith(f"{partly}: holds; not judged: the openpgp signature by ")
    assert wrong.startswith(f"{lie}: does not hold: entry 3, reports/game-1-turn-1-seat-2.json: ")


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    done = judge(tmp_path / "none", tmp_path / "empty")
    assert done.returncode == 2
    assert "none: cannot be read: No such file" in done.stderr
    assert "empty: does not hold: " in done.stdout
