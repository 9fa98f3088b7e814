"""Bundles of sealed matches: a lie is convicted by its teller's own reveal, and no server changes what was told."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import zipfile
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import fails, fails_for_both, holds, index
from playing.sealed_match import SealedMatch
from world.mutations import rewritten, signed_again

from pbem.desk.ratings import reliability
from pbem.games import Refused
from pbem.match.documents import Receipt
from pbem.match.events.silence import end_by_silence, miss
from pbem.match.transcript import sha256_hex
from pbem.proof import bundle
from pbem.proof.compare.fates import Fates

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playing.sealed_match import Owner

    from pbem.match.step import Signed, Step
    from pbem.proof.bundle import Bundle
    from pbem.requests import SignedForm

SMALL = {"fleet": "cost:3"}


@cache
def whole(game: str = "spaceships") -> bytes:
    table = SealedMatch(game, 1, 2, **(SMALL if game == "spaceships" else {}))
    table.finish()
    return table.bundle()


@pytest.fixture
def found() -> Bundle:
    return bundle.read(whole())


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="the tool is not here")
@pytest.mark.parametrize("game", ["spaceships", "dueling-masters", "shoot-em-up"])
def test_stock_tools_check_every_commitment(game: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(whole(game))) as archive:
        archive.extractall(tmp_path)
    said = subprocess.run(
        ["sha256sum", "-c", "commitments.sha256"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    listed = {line.removesuffix(": OK") for line in said}
    papers = {
        str(path.relative_to(tmp_path)) for room in ("openings", "steps") for path in tmp_path.glob(f"{room}/*")
    }
    assert listed == papers
    assert {"openings/game-1-seat-1.txt", "openings/game-1-turn-1-seat-1.txt"} <= listed


# Lies


@pytest.mark.parametrize(("resigning", "winners"), [(1, (2,)), (2, ())])
def test_an_illegal_fleet_is_convicted(resigning: int, winners: tuple[int, ...]) -> None:
    """An opponent who gave up against it has not won either."""
    table = SealedMatch("spaceships", 7, 2, **SMALL)
    anna, _ = table.owners
    true = anna.begin

    def larger(match: Any) -> Any:
        true(match)
        anna.setup = "MD Rv1 Rv2 Rv3\nLG1 Bz5"
        return ("commitment", (anna.commitment(match),), "")

    anna.begin = larger  # type: ignore[method-assign]
    table.begin()
    table.resign(table.owners[resigning - 1])
    for owner in table.owners:
        table.reveal(owner)
    verdicts = table.entries[-3].body["verdicts"]
    assert verdicts["2"] == "honest"
    assert (verdicts["1"]["false"]["turn"], verdicts["1"]["false"]["step"]) == (0, "setup")
    assert (table.match.games[0].winners, table.match.games[0].reason) == (winners, "false")
    table.proved()


def test_who_lies_to_a_liar_wins_nothing() -> None:
    table = SealedMatch("spaceships", 7, 2, **SMALL)
    table.begin()
    for owner in table.owners:
        owner.tells = lambda _, step, lines: ("scan Gx1",) if step == "open" else lines
    table.tell(table.owners[0])
    table.tell(table.owners[1])
    table.tell(table.owners[0], most=1)
    table.resign(table.owners[0])
    for owner in table.owners:
        table.reveal(owner)
    assert table.match.outcome == {"winners": [], "scores": [0, 0], "reason": "annulled"}
    assert [who for who, in_time in reliability(table.match, table.entries) if not in_time] == [*table.match.names]
    table.proved()


# A server that has its key


def test_reports_that_nobody_told_are_found(found: Bundle) -> None:
    path = "reports/game-1-turn-1-seat-1.json"
    document = json.loads(found.papers[path])
    document["reports"] = document["reports"][1:]
    other = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    fails(rewritten(found, path, other), path, "these are not the reports")


def test_reports_without_a_salt_are_found(found: Bundle) -> None:
    path = "reports/game-1-turn-1-seat-1.json"
    document = json.loads(found.papers[path])
    other = found.papers[path].replace(document["salt"].encode(), b"none")
    fails(rewritten(found, path, other), path, "has no salt")


def test_a_commitment_exchanged_after_the_other_opened_is_found() -> None:
    """In league with who commits: two commitments are signed, and the one that was told is not the one that counts.

    The other's next letter cites the head with the first one, which no chain with the second one has.
    """
    table = SealedMatch("spaceships", 7, 2, **SMALL)
    table.begin()
    told = table.fork()
    told.tell(told.owners[0])
    table.owners[0].random.random()
    table.tell(table.owners[0])
    mine, theirs = table.entries[-1], told.entries[-1]
    assert mine.body["paper"] != theirs.body["paper"]
    found = told.owners[1].steps(told.match)
    said, signed = told.letter(told.owners[1], "step", "game 1 turn 1", found)
    with pytest.raises(Refused, match="wrong `prev`"):
        table.take(table.owners[1], said, signed)
    told.take(told.owners[1], said, signed)
    entries = (*table.entries, *told.entries[len(table.entries) :])
    papers = {**told.papers, **table.papers}
    forged = bundle.read(told.bundle())
    forged = signed_again(bundle.Bundle(entries, forged.signatures, papers))
    fails(forged, "wrong `prev`")


MORE: dict[str, Callable[[str], str]] = {
    "the same": lambda text: text,
    "another": lambda text: text.replace("game 1", "game 2"),
    "a resignation": lambda text: f"resign m1 game 1\n{text.partition(chr(10))[2].partition('prev')[0]}rev 1\n",
    "a question": lambda _: "help\n",
}


@pytest.mark.parametrize("kind", ["seal", "step", "reveal"])
@pytest.mark.parametrize("more", MORE)
def test_a_letter_that_says_more_was_not_to_be_taken(monkeypatch: pytest.MonkeyPatch, kind: str, more: str) -> None:
    """The server refuses it, and the opponent's program would accuse who took it: so does the proof."""

    def signed(table: SealedMatch, owner: Owner, text: str) -> Signed:
        return sign(table, owner, text + MORE[more](text) if text.startswith(kind) else text)

    sign = SealedMatch.sign
    monkeypatch.setattr(SealedMatch, "sign", signed)
    table = SealedMatch("spaceships", 1, 2, **SMALL)
    table.finish()
    assert table.match.phase == "closed"
    fails_for_both(table.bundle(), f"holds more than its `{kind}`")


def test_a_reveal_kept_back_is_no_silence(found: Bundle) -> None:
    """A server that hides a reveal must have waited for it, and the player has its answer with the signed head."""
    at = index(found, "reveal")
    entries = (*found.entries[:at], *found.entries[at + 1 :])
    fails(signed_again(bundle.Bundle(entries, found.signatures, found.papers)))


def test_a_sealed_game_is_not_told_of_as_one_whose_secrets_the_server_has() -> None:
    """Few checks of the entries after `commitments` would be possible before the reveal."""
    table = SealedMatch("spaceships", 7, 2, **SMALL)
    none = dict.fromkeys("12", "0" * 64)
    begun = {"game": 1, "options": SMALL, "commitments": none, "trace": none["1"]}
    entered(table, lambda step: step.append_entry("commitments", begun))
    fails_for_both(table.bundle())
    played = {"orders": none, "default": [], "shown": none, "reports": none["1"], "trace": none["1"]}
    entered(table, lambda step: step.append_entry("turn", {"game": 1, "turn": 1, **played}))
    fails_for_both(table.bundle())


def entered(table: SealedMatch, event: Callable[[Step], object]) -> None:
    """Enter what a lying server makes of it, and nothing that would be due by then."""
    step = table.step()
    event(step)
    table.match = step.match
    table.entries += step.entries
    table.papers |= {document.path: document.content for document in step.papers}


def given_up(**terms: str) -> SealedMatch:
    """A match that Bob has given up; the time for the reveals is over, and the server is Bob's friend."""
    table = SealedMatch("spaceships", 7, 2, **SMALL, **terms)
    table.begin()
    table.resign(table.owners[1])
    table.now += timedelta(days=11)
    return table


def test_who_has_revealed_has_missed_nothing() -> None:
    table = given_up()
    table.reveal(table.owners[0])
    entered(table, lambda step: miss(step, 1))
    fails_for_both(table.bundle(), "nothing was due from this seat")


def forfeited(table: SealedMatch) -> None:
    def event(step: Step) -> None:
        step.append_entry("forfeited", {"game": 1, "seats": [1]})
        end_by_silence(step, [1])

    entered(table, event)


def claimed(table: SealedMatch) -> None:
    def event(step: Step, seat: int, form: SignedForm[Any], signed: Signed) -> None:
        sentence = step.sentence("claim", seat, form, signed)
        step.append_entry("claimed", {"seat": seat, "against": [1], **sentence})
        end_by_silence(step, [1])

    table.say(table.owners[1], "claim m1", event)


@pytest.mark.parametrize(("silence", "by"), [("forfeit", forfeited), ("wait", claimed)])
def test_nobody_loses_by_silence_a_game_that_is_over(silence: str, by: Callable[[SealedMatch], None]) -> None:
    """A silent player has only not revealed: the opponent's resignation still decides the game."""
    table = given_up(miss=silence)
    entered(table, lambda step: miss(step, 1))
    by(table)
    for owner in table.owners:
        table.reveal(owner)
    assert table.match.games[0].winners == (2,)
    fails_for_both(table.bundle(), "nobody")


def test_a_running_game_is_proved_as_far_as_it_was_played() -> None:
    table = SealedMatch("spaceships", 1, 2, **SMALL)
    table.begin()
    for turns in range(3):
        table.play(turns)
        assert table.proved().head == table.match.head
    table.tell(next(owner for owner in table.owners if table.match.owes(owner.seat)), most=1)
    checks = holds(table.bundle())
    assert checks[-1].found == "the match goes on; scores so far [0, 0]"
    assert not any("not revealed yet" in check.found for check in checks)
    assert sha256_hex(table.bundle()) == sha256_hex(bundle.write(bundle.read(table.bundle())))


# What was acknowledged


def fate(table: SealedMatch, paper: str) -> tuple[str, str]:
    found = Fates(bundle.read(table.bundle())).of(Receipt.read(paper), sha256_hex(paper.encode()))
    return found.standing, found.found


def test_a_seal_that_was_acknowledged_has_a_fate() -> None:
    table = SealedMatch("spaceships", 7, 2, **SMALL)
    anna, bob = table.owners
    table.seal(anna)
    first = table.match.setups[1].paper
    assert fate(table, first)[0] == "later"
    dropped = table.fork()
    table.seal(anna, rev=2)
    second = table.match.setups[1].paper
    for one in (table, dropped):
        one.seal(one.owners[1])
    assert fate(table, first) == ("agrees", "replaced by rev 2")
    assert fate(table, second) == ("agrees", "")
    assert fate(dropped, first) == ("agrees", "")
    standing, found = fate(dropped, second)
    assert standing == "dropped"
    assert "entry 2 was made with rev 1" in found
    assert bob.seat == 2


def test_a_miss_after_the_seals_accuses_nobody() -> None:
    table = SealedMatch("shoot-em-up", 7, 2)
    table.seal(table.owners[0])
    paper = table.match.setups[1].paper
    table.seal(table.owners[1])
    table.wait(11)
    assert [entry.body["turn"] for entry in table.entries if entry.type == "missed"] == [0, 0]
    assert fate(table, paper) == ("agrees", "")
