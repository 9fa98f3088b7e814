"""A player as the store has it: keys, further addresses, and whether letters arrive, read together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.stores import place
from msgspec.structs import replace

from pbem.store.database import Database
from pbem.store.players import KeyRow, Players

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEYS = [KeyRow("ssh", f"SHA256:{number}", f"ssh-ed25519 {number}") for number in range(3)]
TIMES = [f"2026-11-0{day}T12:00:00Z" for day in range(1, 9)]


@pytest.fixture
def players(tmp_path: Path) -> Iterator[Players]:
    """Ann, who had a first key, and has two keys, two further addresses, and one that waits."""
    with Database(place(tmp_path / "store")) as database, database.transaction():
        found = Players(database)
        found.add("ann", "ann@mail.example", KEYS[0], TIMES[0])
        for key, time in zip(KEYS[1:], TIMES[1:], strict=False):
            found.add_key("ann", key, time)
        found.revoke_key(KEYS[0].fingerprint, TIMES[3])
        for number in (5, 4, 6):
            found.await_address("ann", f"{number}@mail.example", "challenge", TIMES[number])
        for number in (5, 4):
            found.confirm_address("ann", f"{number}@mail.example", TIMES[number])
        found.add("bob", "bob@mail.example", None, TIMES[0])
        yield found


@pytest.mark.parametrize("address", ["ANN@mail.example", "4@mail.example"])
def test_a_player_has_each_key_and_each_confirmed_address_once(players: Players, address: str) -> None:
    ann = players.by_address(address)
    assert ann is not None
    assert ann == players.by_name("ann")
    assert ann.keys == (replace(KEYS[1], added=TIMES[1]), replace(KEYS[2], added=TIMES[2]))
    assert ann.former == (replace(KEYS[0], added=TIMES[0], revoked=TIMES[3]),)
    assert ann.addresses == ("ann@mail.example", "4@mail.example", "5@mail.example")
    assert players.by_address("6@mail.example") is None
    assert players.known("bob").addresses == ("bob@mail.example",)
    assert players.known("bob").keyless


def test_who_is_out_of_reach_is_known_from_that_moment_until_a_letter_arrives(players: Players) -> None:
    assert players.unreachable("ann") is None
    assert players.note_unreachable("ann", TIMES[0], 1)
    assert players.unreachable("ann") == TIMES[0]
    assert not players.note_unreachable("ann", TIMES[1], 2)
    assert (players.unreachable("ann"), players.unreachable("bob")) == (TIMES[0], None)
    players.note_reached("ann")
    assert players.unreachable("ann") is None
