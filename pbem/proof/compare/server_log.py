"""The server's log as letters show it, compared with the bundle; and the witnesses that saw the match there.

Implements docs/witnesses.md.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pbem.proof.compare.finding import Finding
from pbem.tlog.checkpoint import Checkpoint, InclusionProof
from pbem.tlog.note import NotANote, Note
from pbem.verifier_key import LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pbem.proof.compare.index import TranscriptIndex
    from pbem.proof.kept import Kept, Logged


class LogCheck:
    """The server's log as letters show it, and the witnesses whose cosignatures of it are believed."""

    def __init__(self, index: TranscriptIndex, witnesses: Sequence[VerifierKey]) -> None:
        self.index = index
        self.witnesses = witnesses
        self._own = VerifierKey(index.server, LOG, bytes.fromhex(index.key))
        self.witnessed: dict[str, tuple[int, int]] = {}
        """The last entry of the bundle that each witness saw, and when first, in seconds since 1970."""
        self._roots: dict[int, bytes] = {}
        """The roots that letters showed first in a checkpoint signed by the server, by the size of the log."""

    def compare(self, kept: Kept) -> Iterator[Finding]:
        """The findings about the log that a letter shows, and about each entry of the match in it."""
        for size in dict.fromkeys(self._forks(kept)):
            forked = "its log forked, or began anew from a backup"
            said = f"{self.index.server} signed two logs of {size} entries with different roots: {forked}"
            yield Finding("two stories", f"log of {self.index.server}", said + self.index.restored)
        for logged in kept.logged:
            if (logged.server, logged.match) == self.index.place:
                yield self._logged(kept, logged)

    def _forks(self, kept: Kept) -> Iterator[int]:
        """The sizes at which the log has another root than letters showed before, whatever match they are about."""
        for note in _notes(kept):
            try:
                shown = Checkpoint.read(note.text)
            except NotANote:
                continue
            known = self._roots.get(shown.size)
            if shown.origin != self.index.server or shown.root == known or note.by(self._own) is None:
                continue
            if known is None:
                self._roots[shown.size] = shown.root
            else:
                yield shown.size

    def _logged(self, kept: Kept, logged: Logged) -> Finding:
        server, _ = self.index.place
        what = f"entry {logged.seq} in the log of {server}"
        try:
            proof = InclusionProof.read(logged.proof)
            checkpoint = proof.checkpoint
        except NotANote as error:
            return Finding("broken", what, str(error), logged.seq)
        size = checkpoint.size
        if checkpoint.origin != server:  # a witness keeps the logs apart by these names
            return Finding("broken", what, "its checkpoint is of another log", logged.seq)
        if proof.note.by(self._own) is None:
            return Finding("broken", what, "its checkpoint is not signed with the bundle's key", logged.seq)
        ours = self.index.heads.get(logged.seq)
        if ours is None or not proof.proves(self.index.leaf(logged.seq, ours)):
            shown = {head.head for head in (*kept.heads, *kept.for_programs) if head.seq == logged.seq}
            shown |= {logged.head} if logged.head else set()
            leaves = [self.index.leaf(logged.seq, head) for head in shown - {ours}]
            if any(map(proof.proves, leaves)):
                said = f"at size {size} it has another entry {logged.seq} than the bundle"
                later = ours is None and self.index.goes_on
                return Finding("later" if later else "two stories", what, said, logged.seq)
            missing = "the bundle has no such entry" if ours is None else "the proof does not lead to the bundle's"
            return Finding("open" if ours is None else "broken", what, missing, logged.seq)
        seen = [f"seen by {name}" for name in self._seen(logged.seq, proof)]
        if self.witnesses and not seen:  # another may have been quicker: that leaves nothing open
            seen = ["cosigned by no witness that was named"]
        return Finding("agrees", what, ", ".join([f"size {size}", *seen]), logged.seq)

    def _seen(self, seq: int, proof: InclusionProof) -> list[str]:
        """The believed witnesses that saw this entry; of each the last entry is kept, and when it saw that first."""
        seen = [(witness, signature) for witness in self.witnesses if (signature := proof.note.by(witness))]
        for witness, signature in seen:
            before = self.witnessed.get(witness.name, (0, 0))
            if seq > before[0] or (seq == before[0] and signature.time < before[1]):
                self.witnessed[witness.name] = seq, signature.time
        return [witness.name for witness, _ in seen]


def _notes(kept: Kept) -> Iterator[Note]:
    """The notes in a letter: beneath its proofs, and in its text."""
    for logged in kept.logged:
        with suppress(NotANote):
            yield InclusionProof.read(logged.proof).note
    for written in kept.notes:
        with suppress(NotANote):
            yield Note.read(written)
