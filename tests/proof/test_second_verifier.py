"""Two verifiers of bundles, one written from the page alone, say the same of every bundle, true or forged."""

from __future__ import annotations

import json
import random
import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import second_verifier
from forgers import checked, proof
from make_vectors import GOOD, KEPT, LIES, VECTORS, made
from mutations import mutated, with_body
from referee import Referee

from pbem.match.terms import Terms
from pbem.match.transcript import canonical
from pbem.proof import bundle

if TYPE_CHECKING:
    from pathlib import Path

OPEN = {"openpgp", "smime"}
"""Formats whose signatures the second one does not look at: it may find less."""
NAMES = sorted({*GOOD, *KEPT})
ROW = re.compile(r"(?m)^\| `(\S+)` \| `(\S+)` \| .* \| (\S+) \| (.*) \|$")
README = (VECTORS / "README.md").read_text()


def content(kind: str, name: str) -> bytes:
    return (VECTORS / kind / f"{name}.pbem.zip").read_bytes()


def second(found: bytes) -> second_verifier.Wrong | None:
    try:
        second_verifier.verify(found)
    except second_verifier.Wrong as wrong:
        return wrong
    return None


def differ(name: str, seed: int) -> str | None:
    """How the two judge one mutation, where they do not agree."""
    try:
        forged = mutated(bundle.read(content("good", name)), random.Random(f"{name} {seed}"))
    except (ValueError, KeyError, TypeError, AttributeError):  # what no bundle can be made of
        return None
    first, other = checked(forged)[-1], second(forged)
    if first.holds == (other is None) or (name in OPEN and not first.holds):
        return None
    return f"{name} {seed}: {first.found} | {other or 'holds'}"


@pytest.mark.parametrize("name", NAMES)
def test_good_bundles_hold(name: str) -> None:
    assert checked(content("good", name))[-1].holds
    assert second(content("good", name)) is None
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
    of, _, lie = LIES[name]
    assert lie(bundle.read(content("good", of))) == content("bad", name)


@pytest.mark.parametrize("name", ["ssh", "mailbox", "one-leaves"])
def test_matches_are_played_again_byte_for_byte(name: str) -> None:
    assert made(name) == content("good", name)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(GOOD) - KEPT))
def test_all_matches_are_played_again_byte_for_byte(name: str) -> None:
    assert made(name) == content("good", name)


@pytest.mark.parametrize("name", NAMES)
def test_both_say_the_same_of_whatever_is_changed(name: str) -> None:
    assert not [found for seed in range(15) if (found := differ(name, seed))]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_both_say_the_same_of_much_that_is_changed(name: str) -> None:
    assert not [found for seed in range(1000, 1400) if (found := differ(name, seed))]


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
    match = second_verifier.Match({}, terms=json.loads(canonical(terms.document())))
    (command,) = second_verifier.read_commands(text)
    assert second_verifier.proposes(match, command) == proposed


def test_what_the_second_leaves_open_is_told() -> None:
    for name in OPEN:
        assert second_verifier.verified(content("good", name)).open
    assert not second_verifier.verified(content("good", "ssh")).open
