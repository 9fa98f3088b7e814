"""The weight of a difference between a letter and a bundle: proof for everybody, or for the letter's recipient.

The server's signature under both convinces everybody. What only the letter says convinces its reader alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.proof.compare.finding import Finding

if TYPE_CHECKING:
    from pbem.proof.compare.index import TranscriptIndex
    from pbem.proof.compare.letter_facts import Shown


def differs(
    index: TranscriptIndex, what: str, reason: str, seq: int | None = None, *, is_signed: bool | None = None
) -> Finding:
    """A finding against the bundle: proof for everybody, or only for the player who got the letter.

    A letter that vouches only for other files (`is_signed` is False) was changed.
    """
    if is_signed:
        said = f"{reason}; {index.server} signed both, and told two stories{index.restored}"
        return Finding("two stories", what, said, seq)
    if is_signed is False:
        return Finding("broken", what, f"{reason}; but it is not the file that the letter names, either", seq)
    unsigned = (
        "the server did not sign this part, so that it convinces whoever got the letter, and others only by its DKIM"
        " signature"
    )
    return Finding("contradicts", what, f"{reason}; {unsigned}", seq)


def unknown_head(letter: Shown, what: str, reason: str) -> Finding:
    """A cited head of no entry: of a later one, if the letter may be later than the bundle."""
    if letter.index.goes_on and letter.ahead:
        return Finding("later", what, f"{reason}, which is of no entry of the bundle; ask for a newer one")
    return differs(letter.index, what, f"{reason}, which is of no entry of the bundle")


def two_stories(index: TranscriptIndex, what: str, seq: int, head: str, other: str, where: str) -> Finding:
    """A finding about two signed heads of one entry, one in a letter, the other in the bundle or another letter."""
    said = (
        f"{index.server} signed two different entries {seq} of {index.place[1]}: with the head {head} in this"
        f" letter, with the head {other} in {where}. It told two stories, and both signatures prove it"
        f"{index.restored}"
    )
    return Finding("two stories", what, said, seq)


def not_signed_by_the_server(index: TranscriptIndex, what: str, key: str | None, seq: int | None) -> Finding:
    """Something that another key signed, or none."""
    if key is None:
        return Finding("broken", what, f"altered: {index.server} did not sign it, so that it proves nothing", seq)
    return Finding(
        "contradicts",
        what,
        f"signed with another key, {key}; the bundle's is {index.key}. One of the two is not the key of"
        f" {index.server}, or it has two: compare them with what others know, and see --server-key",
        seq,
    )
