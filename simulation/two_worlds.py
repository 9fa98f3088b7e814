"""Two worlds from one seed, which differ only in the secrets of one player: what the other is told of them.

Nothing of a secret may show until the first turn is over, or, if setups are open, until the game begins. Until then
all letters to the other player come at the same times, and are the same except for hashes and signatures. For what
may be told later, see tests/desk/test_secrets.py.
"""

from __future__ import annotations

import base64
import email
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from simulation.runs import CALM
from simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

FIELD = "X-Pbem-Bulletin"
DIGITS = re.compile(rb"(?<![0-9a-f])(?:[0-9a-f]{8}){2,16}(?![0-9a-f])")
"""Signatures, hashes and salts; Message-IDs and boundaries; tokens."""

OPEN = {"shoot-em-up": b"position.json"}
"""For a game whose setups are open once it begins: the letter that shows them first."""


def letters_of(reader: str, game: str, secrets: str) -> list[tuple[float, list[bytes]]]:
    """When each letter came to a player until the first turn was over, and its content."""
    week = replace(CALM, days=0.3, games=(game,), leisure=3600.0, pace="1d")
    with tempfile.TemporaryDirectory() as folder, World(Path(folder), f"two worlds {game}", week) as world:
        world.players["ann"].keep_other_secrets(secrets)
        world.run()
        shows = OPEN.get(game, b"turn-1.json")
        return list(_until(shows, world, world.players[reader].address))


def _until(shows: bytes, world: World, address: str) -> Iterator[tuple[float, list[bytes]]]:
    for taken in world.taken:
        if taken.recipient == address:
            contents = list(_contents(taken.raw))
            if shows in taken.raw:
                return
            yield taken.at, contents
    raise AssertionError("no turn was ever over")


def _contents(raw: bytes) -> Iterator[bytes]:
    """The headers and parts of a letter, without hashes and random digits."""
    for part in email.message_from_bytes(raw).walk():
        headers = "".join(f"{name}: {value}\n" for name, value in part.items() if name != FIELD)
        yield DIGITS.sub(b"#", headers.encode())
        if part[FIELD]:
            yield DIGITS.sub(b"#", base64.b64decode("".join(part[FIELD].split())))
        if not part.is_multipart():
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            yield DIGITS.sub(b"#", content)
