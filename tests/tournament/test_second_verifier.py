"""Both verifiers judge tournaments of each format and what is made of them: they come to the same verdict."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.signed_club import SignedClub, signed_tournament
from msgspec.structs import replace
from tournament.forging import chained, checks, index, verdict

from pbem.match.transcript import written
from pbem.tournament.tournament_state import Tournament

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.tournament.tournament_entries import TournamentEntry

ROOT = Path(__file__).parents[2]
NAMES = [f"p{number:02}" for number in range(17)]


def finished(club: SignedClub) -> SignedClub:
    while club.state.phase != "ended":
        club.resign(next(one.match for one in club.state.awaited if one.match), 1)
    return club


def round_robin() -> SignedClub:
    club = SignedClub("at-once: 1\ngroup: 5", *NAMES[:7])
    club.leave("p06")
    club.rule(what="substitute", player="eve", **{"for": "p00"})
    club.start()
    club.enter("eve")
    for winner in (1, 2):
        club.win(next(one.match for one in club.state.awaited if one.match), winner)
    club.leave("p01")
    club.rule(by="organiser", what="annul", match=next(one.match for one in club.state.awaited if one.match))
    return finished(club)


def double() -> SignedClub:
    club = SignedClub("format: double round robin\nat-once: 2", *NAMES[:3])
    club.start()
    club.win("m1", 2)
    club.fall_silent("m2")
    return finished(club)


def swiss() -> SignedClub:
    club = SignedClub("format: swiss\nround: 7d\nrounds: 3", *NAMES)
    club.start()
    for one in list(club.state.awaited)[1:]:
        club.resign(one.match, 1)
    club.now += timedelta(days=7)
    step = club.step()
    step.wake()
    club.took(step)
    club.leave("p03")
    return finished(club)


def ladder() -> SignedClub:
    club = SignedClub("format: ladder\nidle: 7d\nrematch: 1d\nlongest: 30d", *NAMES[:5])
    club.win(club.challenge("p03", "p01"), 1)
    club.now += timedelta(days=5)
    club.enter("p04")
    club.now += timedelta(days=3)
    club.enter("eve")
    club.challenge(club.state.ladder[3], club.state.ladder[1])
    club.challenge(club.state.ladder[2], club.state.ladder[1])
    late = next(club.state.awaited).match
    club.now += timedelta(days=31)
    club.leave("p02")
    club.resign(late, 2)
    club.enter("p02")
    club.rule(by="organiser", what="close")
    return club


def nobody() -> SignedClub:
    club = SignedClub()
    club.start()
    return club


def lies(entries: list[TournamentEntry]) -> Iterator[list[TournamentEntry]]:
    """Each entry left out, each two exchanged, and another value for each key of a body that has no list."""
    for at, entry in enumerate(entries):
        yield [*entries[:at], *entries[at + 1 :]]
        yield [
            *entries[:at],
            *(replace(one, time=entry.time) for one in entries[at : at + 2][::-1]),
            *entries[at + 2 :],
        ]
        for key, value in entry.body.items():
            other = altered(value)
            if other is not None and entry.type not in {"announced", "entered"}:
                yield [*entries[:at], replace(entry, body={**entry.body, key: other}), *entries[at + 1 :]]


def altered(value: Any) -> Any:
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list):
        return value[1:] if value else [1]
    return f"{value[:-1]}0" if isinstance(value, str) else None


def under_way(club: SignedClub) -> str:
    """The match of the line p00, which begins once its opponent has ended another one."""
    while not (own := [one.match for one in club.state.awaited if "p00" in one.names and one.match]):
        club.resign(next(one.match for one in club.state.awaited if one.match), 1)
    return own[0]


def replaced() -> SignedClub:
    """The line p00 lost one match by the silence of its player, and one that had begun before Eve took the place."""
    club = SignedClub("at-once: 1", *NAMES[:6])
    club.start()
    club.fall_silent(under_way(club))
    under_way(club)
    club.rule(what="substitute", player="eve", **{"for": "p00"})
    club.enter("eve")
    club.fall_silent(under_way(club))
    return club


def test_no_substitute_is_withdrawn_for_the_silence_of_the_player_before() -> None:
    club = replaced()
    assert club.state.entrants["p00"].player.name == "eve"
    club.fall_silent(under_way(club))
    assert "withdrawn" not in [entry.type for entry in club.entries]
    club.fall_silent(under_way(club))
    assert next(entry.body for entry in club.entries if entry.type == "withdrawn")["player"] == "p00"
    assert verdict(checks(club.tournament(), club.bundles())) == "holds"


def test_no_tournament_holds_in_which_a_substitute_was_withdrawn_for_it() -> None:
    club = replaced()
    body = {"player": "p00", "why": "silent", "games": "annulled"}
    last = club.entries[-1]
    entry = replace(last, seq=last.seq + 1, prev=last.head, type="withdrawn", body=body)
    found = checks(signed_tournament([*club.entries, entry], club.papers), club.bundles())
    assert verdict(found) == "convicted", found


@pytest.mark.parametrize("made", [round_robin, double, swiss, ladder, nobody])
def test_honest_ones_and_lies(made: Any) -> None:
    club = made()
    bundles = club.bundles()
    assert verdict(checks(club.tournament(), bundles)) == "holds"
    found = {
        verdict(checks(signed_tournament(chained(entries), club.papers)))
        for entries in list(lies(club.entries))[:: 1 if len(club.entries) < 20 else 13]
    }
    assert "convicted" in found


def test_the_vectors() -> None:
    with zipfile.ZipFile(ROOT / "tests" / "vectors" / "tournaments.zip") as vectors:
        for path in vectors.namelist():
            right = "open" if path.startswith("good/") else "convicted"
            assert verdict(checks(vectors.read(path))) == right, path


def test_who_leaves_after_the_close_was_drawn_and_a_nomination_ends_with_an_entry() -> None:
    club = SignedClub("", *NAMES[:4])
    club.rule(what="substitute", player="dave", **{"for": "p01"})
    club.leave("p01")
    for name in ("dave", "p01", "dave"):
        club.enter(name)
    club.now += timedelta(days=10)
    club.leave("p02")
    club.start()
    assert {name: line.player.name for name, line in club.state.entrants.items()}["p01"] == "p01"
    assert verdict(checks(finished(club).tournament(), club.bundles())) == "holds"


def test_nobody_enters_after_the_close(monkeypatch: pytest.MonkeyPatch) -> None:
    club = SignedClub("", *NAMES[:3])
    club.now += timedelta(days=10)
    with monkeypatch.context() as lying:
        lying.setattr(Tournament, "closed_to", lambda *_: False)
        club.enter("late")
    club.start()
    assert verdict(checks(club.tournament(), club.bundles())) == "convicted"


def test_an_organiser_rules_on_no_match_that_began_as_ones_own() -> None:
    club = SignedClub("", *NAMES[:3], "org")
    club.start()
    own = next(pairing for pairing in club.state.pairings if "org" in pairing.names)
    club.rule(by="organiser", what="substitute", player="friend", **{"for": "org"})
    club.enter("friend")
    pairings = tuple(replace(one, pinned=()) if one.match == own.match else one for one in club.state.pairings)
    club.state = replace(club.state, pairings=pairings)  # a server that forgets who was paired
    club.rule(by="organiser", what="annul", match=own.match)
    assert verdict(checks(club.tournament(), club.bundles())) == "convicted"


def test_no_nominee_displaces_another() -> None:
    club = SignedClub("", *NAMES[:3])
    club.start()
    line = next(club.state.awaited).names[0]
    for name in ("friend", "other"):
        club.rule(by="organiser", what="substitute", player=name, **{"for": line})
    club.enter("friend")
    assert verdict(checks(club.tournament(), club.bundles())) == "holds"
    club.state = replace(club.state, nominated={"other": line})  # a server that forgets who is in
    club.enter("other")
    assert verdict(checks(club.tournament(), club.bundles())) == "convicted"


def test_a_swiss_round_that_awaits_a_result_of_an_earlier_one() -> None:
    club = SignedClub("format: swiss\nround: 7d\nrounds: 3", *NAMES[:16])
    club.start()
    late, *others = [one.match for one in club.state.awaited]
    for match in others:
        club.resign(match, 1)
    club.now += timedelta(days=7)
    step = club.step()
    step.wake()
    club.took(step)
    for match in [one.match for one in club.state.awaited if one.round == 2]:
        club.resign(match, 1)
    assert club.state.round == 3, "only the round before is waited for"
    assert late in club.entries[-1].body["unfinished"]
    assert verdict(checks(club.tournament(), club.bundles())) == "holds"


def test_lines_of_a_ladder_sink_before_its_end_too() -> None:
    club = SignedClub("format: ladder\nidle: 7d", "p00")
    club.now += timedelta(days=3)
    club.enter("p01")
    club.now += timedelta(days=3, hours=23)
    club.rule(by="organiser", what="close")
    *entries, last = club.entries
    later = replace(last, time=written(club.now + timedelta(hours=2)))
    assert verdict(checks(signed_tournament(chained([*entries, later]), club.papers))) == "convicted"


def test_the_command(tmp_path: Path) -> None:
    club = SignedClub("", *NAMES[:3])
    club.start()
    club.win("m1", 2)
    file, folder = tmp_path / "t1.zip", tmp_path / "bundles"
    folder.mkdir()
    for number, content in enumerate(club.bundles()):
        (folder / f"{number}.zip").write_bytes(content)
    at = index(club.entries, "result")
    lie = replace(club.entries[at], body={**club.entries[at].body, "turns": 9})
    command = [sys.executable, "-m", "verifier", str(file), "--bundles", str(folder)]
    told = checks(club.tournament(), club.bundles())[-1].found
    for entries, said in (
        (club.entries, f"holds\ntable: {told}"),
        ([*club.entries[:at], lie], "does not hold: entry None, None: match m1: another result"),
    ):
        file.write_bytes(signed_tournament(chained(entries), club.papers))
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert (done.stdout, done.returncode) == (f"{file}: {said}\n", int(not said.startswith("holds")))
    file.write_bytes(club.tournament())
    done = subprocess.run(command[:-2], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith(f"{file}: holds; not judged: match m1; not judged: match m2")
