"""What is agreed: every option and every fault of a proposal, and the hash that stands for all of it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judges.refusals import faults, messages, refused
from msgspec.structs import replace

from pbem.games import Refused
from pbem.games.outside import Package
from pbem.match.option_lines import duration
from pbem.match.terms import OPTIONS, Terms

SETTLE = timedelta(minutes=10)
TWO = ("ann", "bob")


def propose(players: tuple[str, ...] = TWO, game: str = "spaceships", **lines: str) -> Terms:
    return Terms.propose(game, lines, players, SETTLE)


def test_defaults() -> None:
    terms = propose()
    assert {name: value for name, value in terms.document().items() if value} == {
        "game": "spaceships",
        "edition": 1,
        "kind": "single",
        "games": 1,
        "victory": "sum of scores",
        "settle": 600,
        "privacy": "public",
        "players": ["ann", "bob"],
        "pace": 604800,
        "grace": 259200,
        "miss": "wait",
        "unreachable": "loses",
        "weekends": "count",
        "keys": "optional",
    }
    assert terms.settling == SETTLE
    assert dict(terms.first_options().changed) == {}


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("kind", " Continued ", "kind", "continued"),
        ("games", "9999", "games", 9999),
        ("target", "100", "target", 100),
        ("victory", "Last   Game", "victory", "last game"),
        ("settle", "0", "settle", 0),
        ("settle", "2 h", "settle", 7200),
        ("privacy", "Private", "privacy", "private"),
        ("rules", "1", "edition", 1),
        ("pace", "3d", "pace", 259200),
        ("pace", "None", "pace", 0),
        ("grace", "0", "grace", 0),
        ("miss", "Pass", "miss", "pass"),
        ("weekends", "free", "weekends", "free"),
        ("bank", "21d", "bank", 1814400),
        ("keys", "Demanded", "keys", "demanded"),
        ("sealed", "Yes", "sealed", True),
        ("unreachable", "Stands", "unreachable", "stands"),
        ("substitutes", "Majority", "substitutes", "majority"),
    ],
)
def test_every_option(key: str, text: str, field: str, value: object) -> None:
    lines: dict[str, Any] = {key: text} if key == "kind" else {"kind": "scored", key: text}
    terms = propose(**lines)
    assert getattr(terms, field) == value
    assert key in OPTIONS
    again: dict[str, Any] = terms.lines()
    assert propose(**again) == terms


@pytest.mark.parametrize(
    ("lines", "rules"),
    [
        ({"victory": "first game"}, ["victory"]),
        ({"kind": "scored", "games": "10000"}, ["games"]),
        ({"kind": "scored", "games": "03"}, ["games"]),
        ({"kind": "scored", "games": "\u0663"}, ["games"]),
        ({"kind": "scored", "target": "1.5"}, ["target"]),
        ({"target": "5"}, ["games"]),
        ({"pace": "59m"}, ["pace"]),
        ({"pace": "weekly", "grace": "91d", "bank": "none"}, ["pace", "grace", "bank"]),
        ({"miss": "shrug", "weekends": "yes"}, ["miss", "weekends"]),
        ({"settle": "-1m"}, ["settle"]),
        ({"privacy": "secret"}, ["privacy"]),
        ({"colour": "red"}, ["colour"]),
        ({"fleet": "huge"}, ["fleet"]),
        ({"fleet": "9" * 5000}, ["fleet"]),
        ({"additional": "[" * 5000}, ["additional"]),
        ({"additional": "[1, " + "9" * 5000 + "]"}, ["additional"]),
        ({"first": "1979-99-99"}, ["first"]),
        ({"allowed": "{MD = 1}"}, ["allowed"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_every_fault(lines: dict[str, Any], rules: list[str]) -> None:
    assert refused(propose, **lines) == rules


@pytest.mark.parametrize(
    ("lines", "token", "says"),
    [
        ({"kind": "Best of  three"}, "best of three", "kind is one of: single, scored, continued"),
        ({"kind": "scored", "games": "0"}, "0", "games is a number from 1 to 9999"),
        ({"games": "2"}, None, "a single game has neither a number of games nor a target"),
        ({"rules": "2"}, "2", "no such edition of the rulings"),
        ({"settle": "8d"}, "8d", "settle is a time such as 10m, 2h or 1d, at most 7d, or 0"),
        ({"grace": "91d"}, "91d", "grace is a time such as 10m, 2h or 1d, at most 90d, or 0"),
        ({"bank": "367d"}, "367d", "bank is a time such as 10m, 2h or 1d, at most 366d, or 0"),
        ({"pace": "91d"}, "91d", "pace is a time such as 10m, 2h or 1d, at least 1h and at most 90d, or none"),
        ({"sealed": "yes", "keys": "optional"}, "optional", "in a sealed match, keys is demanded"),
        ({"sealed": "yes", "miss": "pass"}, "pass", "in a sealed match, miss is wait or forfeit"),
        ({"sealed": "yes", "settle": "10m"}, "10m", "in a sealed match, settle is 0"),
        ({"sealed": "yes", "press": "between turns"}, "between turns", "in a sealed match, press is all or none"),
    ],
    ids=str,
)
def test_what_is_wrong_and_what_would_be_right_is_said(lines: dict[str, Any], token: str | None, says: str) -> None:
    assert [fault[1] for fault in faults(propose, **lines)] == [token]
    assert messages(propose, **lines) == [says]


def test_a_sealed_match_is_for_two() -> None:
    said = messages(propose, ("ann", "bob", "cy"), "shoot-em-up", sealed="yes")
    assert said == ["a sealed match is for 2 players"]


def test_a_game_that_cannot_be_played_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.match.terms.sealed_rules", lambda _: None)
    assert faults(propose, sealed="yes") == [("sealed", "yes", None)]
    assert messages(propose, sealed="yes") == ["Spaceships cannot be played sealed"]


def test_all_faults_are_told_at_once() -> None:
    lines = dict.fromkeys(OPTIONS, "x")
    assert sorted(refused(propose, ("ann", "ann"), **lines, odd="x", first="9")) == sorted(
        ["new", *OPTIONS, "odd", "first"]
    )
    assert refused(propose, (*TWO, "ann")) == ["new", "new"]


def test_a_game_that_nobody_taught_us() -> None:
    assert refused(propose, game="chess") == ["new"]
    assert refused(propose, game="") == ["new"]


@pytest.mark.parametrize(
    ("game", "lines"),
    [
        ("spaceships", {"fleet": "cost:3", "allowed": "{MD = 1, LG = 2}", "additional": "[1, 0]"}),
        ("dueling-masters", {"homes": "3", "mobile_home": "true"}),
        ("shoot-em-up", {"board": "5x5", "max_turns": "9"}),
    ],
)
def test_options_of_the_game_are_written_as_they_are_read(game: str, lines: dict[str, Any]) -> None:
    assert propose(TWO, game, **lines).lines() == {"settle": "10m", **lines}


@given(st.dictionaries(st.sampled_from([*OPTIONS, "fleet", "first", "additional", "x"]), st.text(max_size=12)))
def test_no_proposal_raises_anything_else(lines: dict[str, str]) -> None:
    try:
        terms = Terms.propose("spaceships", lines, TWO, SETTLE)
    except Refused:
        return
    assert Terms.read(json.loads(json.dumps(terms.document()))).hash("s", "m1") == terms.hash("s", "m1")


def test_the_document_reads_back() -> None:
    terms = propose(kind="continued", target="9", fleet="cost:3", additional="[1, 0]")
    assert Terms.read(json.loads(json.dumps(terms.document()))) == terms
    for wrong in ({}, {**terms.document(), "more": 1}, {**terms.document(), "rules_package": "pbem-marbles"}):
        with pytest.raises((TypeError, KeyError, ValueError)):
            Terms.read(wrong)


@pytest.mark.parametrize("code", [None, "0123456789abcdef" * 4])
def test_the_package_of_the_rules_is_in_the_document_if_there_is_one(code: str | None) -> None:
    assert "rules_package" not in propose().document()
    terms = replace(propose(), rules_package=Package("pbem-marbles", "1.0", code))
    document = json.loads(json.dumps(terms.document()))
    assert document["rules_package"] == {"name": "pbem-marbles", "version": "1.0", "code": code}
    assert Terms.read(document) == terms


CHANGED: dict[str, Any] = {
    "game": "other",
    "edition": 2,
    "options": {"fleet": "cost:3"},
    "kind": "scored",
    "games": 2,
    "target": 5,
    "victory": "last game",
    "settle": 1,
    "privacy": "private",
    "players": ("bob", "ann"),
    "pace": 3600,
    "grace": 0,
    "miss": "pass",
    "weekends": "free",
    "bank": 1,
    "keys": "demanded",
    "sealed": True,
    "unreachable": "stands",
    "substitutes": "majority",
    "rules_package": Package("pbem-marbles", "1.0", None),
    "tournament": {"id": "t1", "terms": {}},
    "pairing": {"round": 1, "board": 1, "entry": "0" * 64},
    "press": "none",
    "anonymous": True,
}


@pytest.mark.parametrize("name", Terms.__struct_fields__)
def test_the_hash_changes_with_each_term(name: str) -> None:
    terms = propose()
    assert getattr(terms, name) != CHANGED[name]
    assert replace(terms, **{name: CHANGED[name]}).hash("s", "m1") != terms.hash("s", "m1")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("0", 0), (" 0 ", 0), ("10m", 600), ("10 M", 600), ("2h", 7200), ("3d", 259200), ("45s", 45), ("0d", 0)],
        *[
            (wrong, None)
            for wrong in ("", "1", "00", "m", "-1m", "1.5h", "1w", "1h30m", "1  h", "1234567s", "\u0661s")
        ],
    ],
)
def test_durations(text: str, seconds: int | None) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("game", ["dueling-masters", "shoot-em-up"])
def test_an_empty_order_is_agreed_only_where_the_rules_know_one(game: str) -> None:
    assert refused(propose, game=game, miss="pass") == ["miss"]
    assert propose(game=game, miss="forfeit").miss == "forfeit"


def test_without_deadlines_nobody_loses_by_being_out_of_reach() -> None:
    assert propose(pace="none").unreachable == "stands"
    assert propose(pace="none", unreachable="stands") == propose(pace="none")
    assert refused(propose, pace="none", unreachable="loses") == ["unreachable"]
    lines: dict[str, Any] = propose(pace="none").lines()
    assert propose(**lines) == propose(pace="none")
