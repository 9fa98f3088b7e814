"""The proof of a match from kept letters: its latest bundle is verified, and compared with every letter.

This does by itself what `pbem verify --against` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.proof.prove import Proof
from pbem.proof.prove import prove as proof

if TYPE_CHECKING:
    from pbem.player.memory import Memory


def prove(memory: Memory, match: str) -> Proof | None:
    """Verify the latest bundle of a match, by the known server key; None if none has come."""
    found = memory.bundle(match)
    if found is None:
        return None
    return proof(found, memory.account().server_key, memory.letters(match), match)
