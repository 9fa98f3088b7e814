"""Tournaments of another package's game: other code, or none, leaves open what only the rules can say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.outside import enabled, found_in, install
from in_a_box.signed_club import SignedClub, signed_tournament
from msgspec.structs import replace
from tournament.forging import chained, checks, verdict

from pbem.games import outside
from pbem.match.terms import hash_of_tournament
from pbem.proof.tournament_proof import verify_tournament

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> SignedClub:
    """Three are to play marbles, by pbem-marbles 0.1.0; one match is over."""
    with enabled(tmp_path_factory.mktemp("marbles")):
        club = SignedClub("most: 7", "ann", "bob", "carl", game="marbles")
        club.start()
        club.resign("m1", 1)
        return club


def test_without_the_rules_the_announcement_and_the_matches_are_open(club: SignedClub) -> None:
    found = checks(club.tournament(), club.bundles())
    assert verdict(found) == "open"
    assert {check.what for check in found if check.standing == "OPEN"} == {"rules", "m1", "m2", "m3"}
    assert verdict(checks(signed_tournament(club.entries, {}))) == "open"


@pytest.mark.parametrize("before", ["editions = (1,)", "most: int = 9", "def options("])
def test_other_code_convicts_nobody(club: SignedClub, tmp_path: Path, before: str) -> None:
    module = install(tmp_path, version="0.2.0") / "__init__.py"
    text = module.read_text("utf-8")
    assert before in text
    after = {"editions = (1,)": "editions = (2,)", "most: int = 9": "most: int = 7"}.get(before, "def none(")
    module.write_text(text.replace(before, after), "utf-8")
    with found_in(tmp_path):
        outside.enable(["marbles"])
        found = checks(club.tournament(), club.bundles())
    assert verdict(found) == "open"
    (rules,) = (check.found for check in found if check.what == "rules")
    assert rules.startswith("agreed on was pbem-marbles 0.1.0, code ")


def test_the_code_that_was_agreed_on_proves_it(club: SignedClub, tmp_path: Path) -> None:
    with enabled(tmp_path):
        assert "rules" not in {check.what for check in checks_here(club)}
        assert verdict(checks_here(club)) == "holds"


def checks_here(club: SignedClub) -> Any:
    """What pbem finds: the second verifier has no rules of other packages."""
    return list(verify_tournament(club.tournament(), club.bundles()))


@pytest.mark.parametrize(
    ("key", "value"),
    [("group", 13), ("entrants", 129), ("format", "league"), ("programs", "perhaps"), ("rounds", 1), ("more", 1)],
)
def test_a_tournaments_own_terms_are_judged_without_the_rules(club: SignedClub, key: str, value: object) -> None:
    assert verdict(checks(with_terms(club, **{key: value}))) == "convicted"


@pytest.mark.parametrize(
    "template",
    [
        {"players": ["a", "b"]},
        {"tournament": {"id": "t1", "terms": {}}},
        {"more": 1},
        {"game": 1},
        {"rules_package": None},
        {"rules_package": {"name": "pbem-marbles", "version": 1, "code": None}},
        {"rules_package": {"name": "-r", "version": "1", "code": None}},
    ],
)
def test_and_the_keys_of_its_matches(club: SignedClub, template: dict[str, object]) -> None:
    match = {**club.state.terms.match, **template}
    assert verdict(checks(with_terms(club, match=match))) == "convicted"
    own = {**SignedClub().state.terms.match, "rules_package": club.state.terms.match["rules_package"]}
    assert verdict(checks(with_terms(club, match=own))) == "convicted"


def with_terms(club: SignedClub, **changed: object) -> bytes:
    """Its announcement alone with other terms, and without letters."""
    entry = club.entries[0]
    terms: Any = {**entry.body["terms"], **changed}
    rules = hash_of_tournament("play.example", "t1", terms)
    body = {**entry.body, "terms": terms, "rules": rules}
    return signed_tournament(chained([replace(entry, body=body)]), {})
