"""The proof of a match of another package's game: by the code that was agreed on, by other code, and without any."""

from __future__ import annotations

import json
import re
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import fails_for_both, saying, second, with_entry
from click.testing import CliRunner
from in_a_box.outside import enabled, found_in, install
from in_a_box.referee import Referee, attachment
from msgspec.structs import replace
from vectors.make import KEPT
from vectors.matches import GOOD, VECTORS, good
from world.mutations import mutated, rewritten, signed_again

from pbem.cli.group import group
from pbem.games import outside
from pbem.match.terms import Terms
from pbem.proof import bundle, verification
from pbem.proof.prove import prove
from pbem.proof.verification import Check, verify
from verifier import terms

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bundle of a match of two games of marbles, by pbem-marbles 0.1.0."""
    folder = tmp_path_factory.mktemp("marbles")
    with enabled(folder / "site"):
        referee = Referee(folder)
        ann, bob = referee.agreed("kind: scored\ngames: 2\nkeys: demanded", game="marbles")
        for _ in range(2):
            referee.send(ann, ann.filled("setup", "hide 3"))
            referee.send(bob, bob.filled("setup", "hide 4"))
            referee.send(ann, ann.filled("orders", "final\nguess 5"))
            referee.send(bob, bob.filled("orders", "final\nguess 3"))
        found = attachment(bob.find("game 2, the end"), ".zip")
        referee.close()
    return found


def last(content: bytes) -> Check:
    return list(verify(content))[-1]


def rules_line(content: bytes) -> str:
    (check,) = [check for check in verify(content) if check.what == "rules"]
    return check.found


CODE = re.compile("[0-9a-f]{64}")


def test_the_code_that_was_agreed_on_proves_it(proof: bytes, tmp_path: Path) -> None:
    with enabled(tmp_path):
        assert rules_line(proof).startswith("of pbem-marbles 0.1.0, by the very code that was agreed on: ")
        assert last(proof).found == "bob won, scores [0, 2], agreed length"
        assert prove(proof).holds


def test_the_same_code_that_replays_otherwise_convicts(proof: bytes, tmp_path: Path) -> None:
    """This is the case if the server played by other rules than it named."""
    with found_in(tmp_path):
        rewrite(install(tmp_path), '"more" if hidden > guess else "fewer"', '"more"')
        outside.enable(["marbles"])
        agreed = bundle.read(proof).entries[0].body["terms"]["rules_package"]
        outside.PACKAGES["marbles"] = outside.Package.read(agreed)
        found = last(proof)
        assert found.holds is False
        assert "these are not the reports that the rules give" in found.found


def rewrite(folder: Path, before: str, after: str) -> None:
    path = folder / "__init__.py"
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")


def test_other_code_that_replays_alike_holds_and_is_named(proof: bytes, tmp_path: Path) -> None:
    rewrite(install(tmp_path, version="0.2.0"), "each player hides", "every player hides")
    with found_in(tmp_path):
        outside.enable(["marbles"])
        said = rules_line(proof)
        assert last(proof).holds
        assert re.fullmatch(
            "agreed on was pbem-marbles 0.1.0, code [0-9a-f]{64}; replayed by pbem-marbles 0.2.0, code [0-9a-f]{64}",
            said,
        )
        assert len(set(CODE.findall(said))) == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"more" if hidden > guess else "fewer"', '"more"'),  # other reports
        ("if seat == 1 else (0, 1)", "if seat == 2 else (0, 1)"),  # another winner
        ('rf"\\s*{verb}\\s+([1-9]', 'rf"\\s*now {verb}\\s+([1-9]'),  # nothing is legal
        ("seat, guess = state.seat, orders", "seat, guess = 1 // 0, orders"),
    ],
)
def test_other_code_that_replays_otherwise_leaves_it_open(
    before: str, after: str, proof: bytes, tmp_path: Path
) -> None:
    rewrite(install(tmp_path, version="0.2.0"), before, after)
    with found_in(tmp_path):
        outside.enable(["marbles"])
        found = last(proof)
        assert found.holds is None
        assert "replayed by pbem-marbles 0.2.0" in found.found
        assert "papers is named, 10 letters are signed by their players" in found.found
        assert not prove(proof).holds


def test_code_without_a_hash_convicts_nobody(proof: bytes, tmp_path: Path) -> None:
    with enabled(tmp_path):
        outside.PACKAGES["marbles"] = outside.Package("pbem-marbles", "0.1.0", None)
        assert rules_line(proof).endswith("replayed by pbem-marbles 0.1.0, of unknown code")
        assert last(proof).holds


# Without the rules.


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(group, ["verify", *words])
    return done.exit_code, done.output


def test_without_the_rules_the_command_says_how_they_are_had(proof: bytes, tmp_path: Path) -> None:
    file = tmp_path / "m1.pbem.zip"
    file.write_bytes(proof)
    status, said = run(str(file))
    assert status == 3
    assert (
        'OPEN  rules      the rules of "marbles" are not installed: pip install pbem-marbles==0.1.0, if you trust'
        " it, and pbem --game marbles. Without them: each of " in said
    )
    assert "ok    server " in said
    status, said = run(str(file), "--json")
    document = json.loads(said)
    assert (status, document["status"], document["holds"]) == (3, 3, None)
    assert document["checks"][-1]["holds"] is None
    (install(tmp_path / "site") / "__init__.py").write_text("raise SystemExit('imported')")
    with found_in(tmp_path / "site"):
        assert 'the game "marbles" of pbem-marbles 0.1.0 is not enabled: pbem --game marbles' in run(str(file))[1]


@pytest.mark.parametrize(
    "path",
    [
        "receipts/game-1-turn-1-seat-1.txt",
        "openings/game-2-seat-2.txt",
        "reports/game-1-turn-1-seat-1.json",
        "letters/game-1-turn-1-seat-1.eml",
        "letters/game-2-setup-seat-2.eml",
        "letters/agreed-seat-2.eml",
    ],
)
def test_what_is_missing_is_found(path: str, proof: bytes) -> None:
    found = bundle.read(proof)
    papers = {other: paper for other, paper in found.papers.items() if other != path}
    fails_for_both(replace(found, papers=papers), f"{path}: is missing")


def test_what_nobody_names_is_found(proof: bytes) -> None:
    found = bundle.read(proof)
    papers = {**found.papers, "letters/agreed-seat-3.eml": b"x"}
    lie = bundle.Bundle(found.entries, found.signatures, papers)
    fails_for_both(lie, "letters/agreed-seat-3.eml: is named by no entry")


@pytest.mark.parametrize(
    ("path", "instead", "said"),
    [
        ("letters/game-1-turn-1-seat-1.eml", "letters/game-1-turn-2-seat-2.eml", "signature of ann does not hold"),
        ("letters/game-1-setup-seat-2.eml", "letters/game-1-setup-seat-1.eml", "signature of bob does not hold"),
        ("letters/agreed-seat-2.eml", "letters/game-1-setup-seat-2.eml", "does not accept the terms of this match"),
        ("letters/agreed-seat-1.eml", "letters/game-1-setup-seat-1.eml", "does not accept the terms of this match"),
        ("receipts/game-1-turn-1-seat-1.txt", "receipts/game-2-turn-1-seat-1.txt", "it does not belong here"),
        ("openings/game-1-seat-1.txt", "openings/game-1-seat-2.txt", "it does not belong here"),
    ],
)
def test_papers_and_letters_of_elsewhere_are_found(path: str, instead: str, said: str, proof: bytes) -> None:
    """A server that has its key signs all of it again."""
    found = bundle.read(proof)
    fails_for_both(rewritten(found, path, found.papers[instead]), f"{path}: ", said)


def test_other_terms_than_were_agreed_are_found(proof: bytes) -> None:
    found = bundle.read(proof)
    terms = {**found.entries[0].body["terms"], "pace": 3600}
    fails_for_both(signed_again(with_entry(found, 0, saying(terms=terms))), "`rules` is not the hash of the terms")
    hashed = Terms.read(terms).hash("play.example", "m1")
    lie = signed_again(with_entry(found, 0, saying(terms=terms, rules=hashed)))
    fails_for_both(lie, "does not accept the terms of this match")


def test_a_game_of_our_own_has_no_package(proof: bytes) -> None:
    """Or a server could leave it open by whose rules it played."""
    package = bundle.read(proof).entries[0].body["terms"]["rules_package"]
    found = good("claim")
    terms = {**found.entries[0].body["terms"], "rules_package": package}
    fails_for_both(signed_again(with_entry(found, 0, saying(terms=terms))), "which are pbem's own")


def test_a_package_that_was_left_out_of_the_terms_is_found(proof: bytes, tmp_path: Path) -> None:
    """Whoever plays it by whatever code would leave that out."""
    found = bundle.read(proof)
    terms = dict(found.entries[0].body["terms"])
    del terms["rules_package"]
    hashed = Terms.read(terms).hash("play.example", "m1")
    lie = signed_again(with_entry(found, 0, saying(terms=terms, rules=hashed)))
    with enabled(tmp_path):
        assert rules_line(bundle.write(lie)).startswith("agreed on was no package; replayed by pbem-marbles 0.1.0, ")
        fails_for_both(lie, "does not accept the terms of this match")


def test_what_a_server_names_as_a_package_is_no_command(proof: bytes) -> None:
    found = bundle.read(proof)
    terms = {**found.entries[0].body["terms"], "rules_package": {"name": "-r", "version": "1; true", "code": None}}
    fails_for_both(signed_again(with_entry(found, 0, saying(terms=terms))), "not the beginning of a match")


def test_nobody_agrees_without_a_letter(proof: bytes) -> None:
    """Neither who has no letter, nor who is not in the terms."""
    found = bundle.read(proof)
    letters = {"1": found.entries[0].body["letters"]["1"]}
    papers = {path: paper for path, paper in found.papers.items() if path != "letters/agreed-seat-2.eml"}
    lie = with_entry(replace(found, papers=papers), 0, saying(letters=letters))
    fails_for_both(signed_again(lie), "other seats or players than in the terms")
    other = with_entry(found, 0, lambda body: body["players"]["2"].update(name="carl"))
    fails_for_both(signed_again(other), "other seats or players than in the terms")


@pytest.mark.parametrize(
    ("kind", "body"),
    [("verdict", {"game": 1, "verdicts": {}}), ("turn", {"game": 1, "turn": 2, "shown": {}, "reports": "0" * 64})],
)
def test_nothing_of_a_sealed_match_stands_in_another(kind: str, body: dict[str, Any], proof: bytes) -> None:
    found = bundle.read(proof)
    entries = [*found.entries, replace(found.entries[-1], type=kind, body=body)]
    fails_for_both(signed_again(replace(found, entries=entries)), "does not follow here")


@pytest.mark.parametrize("name", ["marbles", *sorted({*GOOD, *KEPT})])
def test_both_say_the_same_of_a_game_that_neither_knows(
    name: str, proof: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They agree on changes in matches of every kind, as if their game were another package's."""
    content = proof if name == "marbles" else (VECTORS / "good" / f"{name}.pbem.zip").read_bytes()
    monkeypatch.setattr(verification, "GAMES", {})
    monkeypatch.setattr(terms, "GAMES", {})
    assert (last(content).holds, second(content)) == (None, None)
    for seed in range(5):
        forged = mutated(bundle.read(content), Random(seed))
        found = last(forged)
        if name not in {"openpgp", "smime"} or found.holds is None:  # the second looks at no such signature
            assert found.holds == second(forged), (seed, found)


def test_a_page_of_it_needs_its_rules(proof: bytes, tmp_path: Path) -> None:
    file = tmp_path / "m1.pbem.zip"
    file.write_bytes(proof)
    done = CliRunner().invoke(group, ["publish", str(file)])
    assert done.exit_code == 2, done.output
    assert 'the rules of "marbles" are not installed' in done.output
