"""What many letters show of a match in its server's log, brought down to what is worth showing.

Nothing is verified here: whoever is shown it does that. Implements docs/witnesses.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.tlog.note import NotANote
from pbem.tlog.proof import InclusionProof

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pbem.proof.compare import Logged

__all__ = ["latest"]


def latest(found: Iterable[Logged], server: str, match: str) -> list[tuple[int, str]]:
    """Of each witness that signed anything the proof of the latest entry, and of that the earliest, by entries."""
    best: dict[tuple[str, bytes], tuple[int, int, str]] = {}
    for logged in found:
        try:
            signatures = InclusionProof.read(logged.proof).note.signatures
        except NotANote:
            continue
        for one in signatures:
            if (logged.server, logged.match) == (server, match) and one.name != server:
                held = (logged.seq, -one.time, logged.proof)
                best[one.name, one.id] = max(best.get((one.name, one.id), held), held)
    return sorted({(seq, proof) for seq, _, proof in best.values()})
