"""Agents that play sealed matches by mail through the real desk: nobody but their players decides anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from machine import Machine
from owners import RAW, Owner, live, propose

from pbem.player.blind import replayed, seeds
from pbem.player.proving import prove
from pbem.proof.signed_letters import Letters
from pbem.proof.verify import Proved, verify

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from referee import Referee


pytestmark = pytest.mark.usefixtures("quick")


def play(referee: Referee, owners: Sequence[Owner], game: str, options: str = "") -> None:
    propose(referee, owners, game, options)
    for _ in live(owners):
        pass


@pytest.mark.parametrize("game", RAW)
def test_a_whole_match_between_two_agents(referee: Referee, owners: list[Owner], game: str) -> None:
    play(referee, owners, game)
    for owner in owners:
        assert not owner.accusations
        assert not owner.refusals
        assert owner.letters.standing("m1")["phase"] == "closed"
        proof = prove(owner.memory, "m1")
        assert proof is not None
        assert proof.holds, proof.checks[-1]


@pytest.mark.parametrize("game", RAW)
def test_the_house_plays_sealed_matches_blind(
    referee: Referee, owners: list[Owner], tmp_path: Path, game: str
) -> None:
    ann, _ = owners
    house = Machine(referee, referee.person("house"), tmp_path / "house" / "memory.sqlite")
    house.live()
    propose(referee, [ann, house], game)
    for _ in range(400):
        if not (bool(ann.look()) | bool(house.look())) and ann.letters.standing("m1")["phase"] == "closed":
            break
    bundle = house.memory.bundle("m1")
    assert bundle is not None
    proved = Proved()
    assert all(check.holds for check in verify(bundle[1], Letters, None, proved))
    opened = next(text for text in ann.texts if "It proves that I saw nothing" in text)
    (finding,) = replayed(proved, seeds(opened))
    assert finding.standing == "agrees", finding
    assert re.search(r"all \d+ setups and orders", finding.found)
    (finding,) = replayed(proved, [b"x" * 16])
    assert finding.standing == "contradicts"
    house.close()
