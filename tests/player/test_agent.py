"""Agents that play sealed matches by mail through the real desk: nobody but their players decides anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from in_a_box.machine import Machine
from in_a_box.owners import RAW, Owner, live_out, propose
from player.program_matches import agrees, convicted

from pbem.match.events.sealed_events import sealed
from pbem.player.blind import seeds
from pbem.player.correspondence.standings import Impossible

if TYPE_CHECKING:
    from pathlib import Path

    from in_a_box.referee import Referee


pytestmark = pytest.mark.usefixtures("quick")


def test_nothing_is_asked_while_a_letter_is_on_its_way(referee: Referee, owners: list[Owner]) -> None:
    """In Shoot 'em up both open their setups at once: one's own may come back later than the other's."""
    ann, bob = owners
    propose(referee, owners, "shoot-em-up")
    while not sealed(referee.match()).game.commitments:
        ann.look()
        bob.look()
    ann.agent.hear(ann.receive(), referee.now)
    (ours,) = ann.agent.act(referee.now)
    bob.look()
    ann.agent.hear(ann.receive(), referee.now)
    assert ours in ann.memory.in_state("ready")
    assert not ann.agent.asks("m1")
    with pytest.raises(Impossible, match="is signed, and cannot be changed"):
        ann.agent.judge_orders("m1", "A: FMS")
    ann.flush()
    ann.agent.hear(ann.receive(), referee.now)
    assert ann.agent.asks("m1")
    assert ann.agent.shown("m1").turn == 1


def test_a_commitment_that_was_withdrawn_is_asked_for_again(referee: Referee, owners: list[Owner]) -> None:
    ann, bob = owners
    propose(referee, owners, "spaceships")
    bob.receive()
    bob.letters.accept("m1", referee.now)
    bob.flush()
    ann.look()
    ann.agent.hear(ann.receive(), referee.now)
    assert "You have committed to your setup" in ann.texts[-1]
    assert not ann.agent.asks("m1")
    with pytest.raises(Impossible, match="cannot be changed"):
        ann.agent.set_up("m1", "MD Yz1 Yz2 Yz3\nLG Rv1", referee.now)
    ann.letters.say("m1", "clear m1", referee.now)
    ann.flush()
    ann.agent.hear(ann.receive(), referee.now)
    assert ann.agent.asks("m1")
    assert not ann.agent.act(referee.now), "nothing is committed to again by itself"
    ann.chance = "once"
    live_out(owners)
    assert not ann.refusals
    assert ann.proof.holds


@pytest.mark.parametrize("game", RAW)
def test_the_house_plays_sealed_matches_blind(
    referee: Referee, owners: list[Owner], tmp_path: Path, game: str
) -> None:
    ann, _ = owners
    house = Machine(referee, referee.person("house"), tmp_path / "house" / "memory.sqlite")
    house.live()
    propose(referee, [ann, house], game)
    for _ in range(400):
        if not (bool(ann.look()) | bool(house.look())) and ann.letters.matches.standing("m1").phase == "closed":
            break
    bundle = house.memory.bundle("m1")
    assert bundle is not None
    opened = next(text for text in ann.texts if "It proves that I saw nothing" in text)
    assert re.search(r"all \d+ setups and orders", agrees(bundle, seeds(opened)))
    assert convicted(bundle, [b"x" * 16])
    house.close()
