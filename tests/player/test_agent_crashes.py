"""The kill matrix of the agent: stopped dead at each point, it loses no secret, and says no step twice."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from in_a_box.owners import RAW, Owner, propose
from machines.deaths import Death, Killed

from pbem.player import correspondence, sealed_agent
from pbem.player.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.referee import Referee

pytestmark = pytest.mark.usefixtures("quick")

POINTS = [*sealed_agent.POINTS, *(point for point in correspondence.POINTS)]
SPACESHIPS = "spaceships"


def play(referee: Referee, folder: Path, death: Death, game: str = SPACESHIPS) -> Owner:
    """A whole match, in which ann dies; whoever starts her again only does the same as before."""
    ann = Owner(referee, referee.person("ann"), folder / "ann" / "memory.sqlite", death)
    bob = Owner(referee, referee.person("bob"), folder / "bob" / "memory.sqlite")
    bob.register()
    while not ann.memory.fact("account"):
        try:
            ann.register()
        except Killed:
            ann.restart()
    propose(referee, [ann, bob], game)
    for _ in range(800):
        try:
            moved = bool(ann.look())
        except Killed:
            ann.restart()
            moved = True
        if not (bool(bob.look()) | moved) and ann.letters.matches.standing("m1").phase == "closed":
            break
    bob.close()
    return ann


def check(ann: Owner, verdict: str = "honest; seat 2: honest") -> None:
    """The match went as it would have gone: each letter left with one content, and each step was said once."""
    assert ann.letters.matches.standing("m1").phase == "closed"
    assert not ann.accusations
    assert not ann.refusals
    proof = prove(ann.memory, "m1")
    assert proof is not None
    assert proof.holds, proof.checks[-1]
    assert verdict in " ".join(check.found for check in proof.checks)
    contents = defaultdict(set)
    for sent in ann.memory.in_state("ready", "sent", "done", "refused", "asked", "bounced"):
        contents[sent.command, sent.place].add(sent.raw)
    steps = {at: raws for at, raws in contents.items() if at[0] in {"seal", "step", "reveal"}}
    assert len(steps) > 4
    assert all(len(raws) == 1 for raws in steps.values())


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("number", [4])
def test_one_death(referee: Referee, tmp_path: Path, point: str, number: int) -> None:
    death = Death(point, number)
    ann = play(referee, tmp_path, death)
    try:
        assert death.deaths == {point: 1}
        check(ann)
    finally:
        ann.close()


@pytest.mark.parametrize("number", [3, 4, 5])
def test_secrets_on_the_disk_suffice(
    referee: Referee, tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped before the letter was made that opens one turn and commits to the next; no note comes back."""
    monkeypatch.setattr("pbem.player.secret_vault._NOTE", 0)
    death = Death("secrets kept", number)
    ann = play(referee, tmp_path, death, "shoot-em-up")
    try:
        assert death.deaths == {"secrets kept": 1}
        check(ann, "the record replays")  # there is nothing that could be hidden until the end
    finally:
        ann.close()


@pytest.mark.long
@pytest.mark.parametrize("game", [SPACESHIPS, "dueling-masters"])
@pytest.mark.parametrize("number", range(3, 14))
def test_many_deaths(referee: Referee, tmp_path: Path, number: int, game: str) -> None:
    assert game in RAW
    death = Death(None, number)
    ann = play(referee, tmp_path, death, game)
    try:
        assert death.deaths
        check(ann)
    finally:
        ann.close()
