"""What a witness answers: a cosignature where a tree only grew, else what it knows already.

Pure; whoever keeps the last note of each log must have it on the disk before an answer leaves. Implements C2SP
tlog-witness, add-checkpoint; its numbers of HTTP are words here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pbem.tlog.checkpoint import Checkpoint
from pbem.tlog.note import NotANote, Note, cosigned
from pbem.tlog.tree import is_consistent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.tlog.checkpoint import Request
    from pbem.verifier_key import VerifierKey

__all__ = ["Answer", "Known", "answer", "answer_text"]


@dataclass(frozen=True, slots=True)
class Known:
    """What a witness remembers of a log: the last note that it cosigned."""

    note: Note

    @property
    def checkpoint(self) -> Checkpoint:
        """What that note says."""
        return Checkpoint.read(self.note.text)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a witness says to a request.

    `cosigned`: `note` is to be remembered, with the cosignature. `behind`: the log is to begin with the size that the
    witness knows. `forked`: the log signed two trees of which neither is the beginning of the other; both notes prove
    it to everybody. `unproved`: the proof does not show that the tree only grew. `refused`: not a note of this log.
    """

    outcome: Literal["cosigned", "behind", "forked", "unproved", "refused"]
    note: Note | None = None
    size: int = 0


def answer(
    request: Request, logs: Sequence[VerifierKey], known: Known | None, name: str, key: Ed25519PrivateKey, time: int
) -> Answer:
    """What a witness of this name and key answers to a request of one of these logs, at a time."""
    try:
        found = Checkpoint.read(request.note.text)
    except NotANote:
        return Answer("refused")
    log = next((log for log in logs if log.name == found.origin and request.note.by(log)), None)
    if log is None:
        return Answer("refused")
    before = known.checkpoint if known else Checkpoint(found.origin, 0, b"")
    if found.size == before.size and found.root != before.root:
        return Answer("forked", request.note, before.size)
    if request.old != before.size or found.size < before.size:
        return Answer("behind", None, before.size)
    if not is_consistent(before.size, before.root, found.size, found.root, request.proof):
        return Answer("unproved", request.note, before.size)
    own = request.note.by(log)
    assert own is not None
    note = Note(request.note.text, (own, cosigned(name, key, request.note.text, time)))
    return Answer("cosigned", note, found.size)


def answer_text(made: Answer, origin: str, before: str) -> str:
    """An answer as a letter says it: what, of which log, at which size; a cosignature, or what convicts the log.

    `before` is the note that the witness remembers.
    """
    said = f"{made.outcome} {origin} {made.size}\n"
    if made.outcome == "cosigned" and made.note is not None:
        return said + f"{made.note.signatures[-1]}\n"
    if made.note is not None:
        return f"{said}\nThis was cosigned here:\n\n{before}\nThis came now:\n\n{made.note}"
    return said
