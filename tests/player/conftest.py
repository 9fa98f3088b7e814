"""A match between somebody with `pbem.player`, ann, and somebody who writes letters by hand, bob."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from in_a_box.owners import RAW, Owner, seated
from in_a_box.referee import Referee, new
from in_a_box.table import ANN, BOB, SMALL, Side

from pbem.player import secret_vault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from in_a_box.referee import Opening

    from pbem.player.server_letter import Event


@pytest.fixture
def ann(referee: Referee, tmp_path: Path) -> Iterator[Side]:
    side = Side(referee, referee.person("ann"), tmp_path / "ann" / "memory.sqlite")
    side.register()
    yield side
    side.close()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Notes to self are sealed in little time; a module may name another FLEET for sealed games."""
    monkeypatch.setattr(secret_vault, "_ROUNDS", 10)
    if fleet := getattr(request.module, "FLEET", ""):
        monkeypatch.setitem(RAW, "spaceships", {"fleet": fleet})


@pytest.fixture
def owners(referee: Referee, tmp_path: Path) -> Iterator[list[Owner]]:
    """Ann and Bob, each with an agent."""
    with seated(referee, tmp_path, Owner, Owner) as found:
        yield found


@dataclass(frozen=True)
class Begun:
    """The state of both sides at turn 1."""

    opening: Opening
    memory: bytes
    cast: int
    sent: tuple[bytes, ...]
    taken: int
    events: tuple[Event, ...]


_BEGUN: list[Begun] = []
"""Played once, in a test that may patch nothing: the others go on with a copy."""


@pytest.fixture
def playing(referee: Referee, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Side]:
    """Ann, at turn 1 of m1 against bob, whose mailbox is `referee.people`'s."""
    path = tmp_path / "ann" / "memory.sqlite"
    if "monkeypatch" in request.fixturenames:
        side = begin(referee, path)
    elif not _BEGUN:
        side = begin(referee, path)
        _BEGUN.append(left(side))
    else:
        side = go_on_from(_BEGUN[0], referee, path)
    yield side
    side.close()


def begin(referee: Referee, path: Path | None, options: str = SMALL) -> Side:
    ann = Side(referee, referee.person("ann"), path)
    ann.register()
    bob = referee.registered("bob")
    referee.send(bob, new(bob, "spaceships", "ann", options=options))
    ann.receive()
    ann.post(ann.letters.accept("m1", referee.now))
    referee.send(bob, bob.filled("setup", BOB))
    ann.post(ann.letters.set_up("m1", ANN, referee.now))
    assert ann.letters.matches.standing("m1").turn == 1
    return ann


def left(side: Side) -> Begun:
    memory = side.memory._database.serialize()
    opening = side.referee._left(list(side.referee.people.values()))
    return Begun(opening, memory, side.random.cast, tuple(side.sent), side.taken, tuple(side.events))


def go_on_from(begun: Begun, referee: Referee, path: Path) -> Side:
    ann, _ = referee._go_on_from(begun.opening)
    path.parent.mkdir()
    path.touch(0o600)
    path.write_bytes(begun.memory)
    side = Side(referee, ann, path)
    side.random.cast = begun.cast
    side.sent, side.taken, side.events = list(begun.sent), begun.taken, list(begun.events)
    return side
