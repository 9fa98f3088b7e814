"""Proofs that the heads of matches and tournaments are in the server's log, as witnesses saw it.

Implements docs/witnesses.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.tlog.checkpoint import InclusionProof
from pbem.tlog.note import Note
from pbem.tlog.tree import inclusion

if TYPE_CHECKING:
    from pbem.store.tlog import CheckpointRow, TransparencyLog


def proof_in(
    log: TransparencyLog, place: tuple[int, int] | None, checkpoint: CheckpointRow | None
) -> tuple[int, InclusionProof] | None:
    """The proof that the leaf at a place is below a checkpoint, with the number of its head."""
    if checkpoint is None or place is None:
        return None
    hashes = inclusion(place[0], checkpoint.size, log.node)
    return place[1], InclusionProof(place[0], tuple(hashes), Note.read(checkpoint.note))


def latest_proof(log: TransparencyLog, number: int) -> tuple[int, InclusionProof] | None:
    """The proof that the latest witnessed head of a match is in the log; below zero, that of a tournament."""
    checkpoint = log.witnessed()
    return proof_in(log, log.place(number, checkpoint.size) if checkpoint else None, checkpoint)
