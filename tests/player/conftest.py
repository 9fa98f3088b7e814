"""A match between somebody with `pbem.player`, ann, and somebody who writes letters by hand, bob."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from referee import Referee, new
from table import ANN, BOB, SMALL, Side

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    found = Referee(tmp_path)
    yield found
    found.close()


@pytest.fixture
def ann(referee: Referee, tmp_path: Path) -> Iterator[Side]:
    side = Side(referee, referee.person("ann"), tmp_path / "ann" / "memory.sqlite")
    side.register()
    yield side
    side.close()


@pytest.fixture
def playing(referee: Referee, ann: Side) -> Side:
    """Ann, at turn 1 of m1 against bob, whose mailbox is `referee.people`'s."""
    bob = referee.registered("bob")
    referee.send(bob, new(bob, "spaceships", "ann", options=SMALL))
    ann.receive()
    ann.post(ann.letters.accept("m1", referee.now))
    referee.send(bob, bob.filled("setup", BOB))
    ann.post(ann.letters.set_up("m1", ANN, referee.now))
    assert ann.letters.standing("m1")["turn"] == 1
    return ann
