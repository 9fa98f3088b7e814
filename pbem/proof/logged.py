"""The proofs in many letters that a match is in its server's log, reduced to those worth showing.

Letters are anybody's: what proves nothing must not take the place of what does. The page that shows it verifies all
of it again. Implements docs/witnesses.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.transcript import statement
from pbem.tlog.checkpoint import InclusionProof
from pbem.tlog.note import NotANote
from pbem.verifier_key import LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pbem.proof.bundle import Bundle
    from pbem.proof.kept import Logged


def latest(found: Iterable[Logged], bundle: Bundle, witnesses: Sequence[VerifierKey] = ()) -> list[tuple[int, str]]:
    """The earliest proof of the latest entry that each witness saw, by entries.

    Of the witnesses that are named here, a cosignature must hold. Beside those proofs comes that of the latest entry
    that does not lead to the bundle's: it may show that the end was cut off. Raises KeyError, TypeError and
    ValueError for a transcript that does not begin properly.
    """
    agreed = bundle.entries[0].body
    server, match = str(agreed["server"]), str(agreed["match"])
    own = VerifierKey(server, LOG, bytes.fromhex(agreed["server_key"]))
    heads = {entry.seq: entry.head for entry in bundle.entries}
    named = {(key.name, key.id): key for key in witnesses}
    best: dict[tuple[str, bytes] | None, tuple[int, int, str]] = {}
    for logged in found:
        if (logged.server, logged.match) != (server, match):
            continue
        try:
            proof = InclusionProof.read(logged.proof)
            if proof.checkpoint.origin != server or proof.note.by(own) is None:
                continue
            head = heads.get(logged.seq)
            leads = head is not None and proof.proves(statement(server, match, logged.seq, head))
        except NotANote:
            continue
        for one in proof.note.signatures:
            by = (one.name, one.id)
            if by != (own.name, own.id) and (by not in named or proof.note.by(named[by])):
                held = (logged.seq, -one.time, str(proof))
                place = by if leads else None
                best[place] = max(best.get(place, held), held)
    return sorted({(seq, proof) for seq, _, proof in best.values()})
