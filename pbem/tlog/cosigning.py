"""A witness's answer: a cosignature if the tree only grew, otherwise what the witness knows already.

Pure: the caller stores the last note of each log, and must have it on disk before an answer leaves. Implements C2SP
tlog-witness, add-checkpoint; words stand for its HTTP status codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from pbem.tlog.checkpoint import Checkpoint
from pbem.tlog.note import NotANote, Note, cosigned
from pbem.tlog.tree import EMPTY, is_consistent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.tlog.checkpoint import CosignRequest
    from pbem.verifier_key import VerifierKey

REPEATED = 50
"""The number of letters without news that are answered a day: anybody who has a note of the log can write them."""


class Answer(msgspec.Struct, frozen=True):
    """A witness's answer to a request.

    `cosigned`: `note` must be remembered, with the cosignature. `behind`: the log must start from the size that the
    witness knows. `forked`: the log signed two trees of one size; both notes prove it to everybody. `unproved`: the
    proof does not show that the tree only grew; that convicts nobody, because anybody who carries a letter can damage
    its proof. `refused`: not a note of this log. `grew`: the checkpoint is later than the one that the witness knew.
    Only the log itself can cause that; anybody who has one of its notes can cause everything else.
    """

    outcome: Literal["cosigned", "behind", "forked", "unproved", "refused"]
    note: Note | None = None
    size: int = 0
    grew: bool = False


def answer(
    request: CosignRequest,
    logs: Sequence[VerifierKey],
    known: Note | None,
    name: str,
    key: Ed25519PrivateKey,
    time: int,
) -> Answer:
    """The answer of a witness with this name and key to a request of one of these logs, at this time.

    `known` is the last note of that log that the witness cosigned.
    """
    try:
        found = Checkpoint.read(request.note.text)
    except NotANote:
        return Answer("refused")
    own = next((own for log in logs if log.name == found.origin and (own := request.note.by(log))), None)
    if own is None:
        return Answer("refused")
    note = Note(request.note.text, (own,))  # anybody can add lines to a note
    before = Checkpoint.read(known.text) if known else Checkpoint(found.origin, 0, EMPTY)
    if found.size == before.size and found.root != before.root:
        return Answer("forked", note, before.size)
    if request.old != before.size or found.size < before.size:
        return Answer("behind", None, before.size)
    if not is_consistent(before.size, before.root, found.size, found.root, request.proof):
        return Answer("unproved", note, before.size)
    note = note.with_(cosigned(name, key, note.text, time))
    return Answer("cosigned", note, found.size, grew=found.size > before.size)


def answer_text(made: Answer, origin: str, before: str) -> str:
    """An answer as text: the outcome, the log and the size; then the cosignature, or the notes that convict the log.

    `before` is the note that the witness remembers.
    """
    said = f"{made.outcome} {origin} {made.size}\n"
    if made.outcome == "cosigned" and made.note is not None:
        return said + f"{made.note.signatures[-1]}\n"
    if made.note is not None:
        return f"{said}\nThis was cosigned here:\n\n{before}\nThis came now:\n\n{made.note}"
    return said
