"""The findings about a kept letter: how each thing in it stands to the bundle, and the weight of what differs.

The server's signature under both accounts convinces everybody. What only the letter says convinces its reader alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import msgspec

if TYPE_CHECKING:
    from pbem.proof.compare.index import TranscriptIndex
    from pbem.proof.kept import Kept


Standing = Literal["silent", "agrees", "later", "open", "broken", "contradicts", "two stories"]
"""The standing of a letter, or of one thing in it, beside the bundle, from the harmless to the worst.

`silent`: says nothing about this match. `agrees`. `later`: about entries that the bundle does not have yet. `open`:
cannot be decided from what is here. `broken`: the letter itself was changed, and proves nothing. `contradicts`: it
says otherwise than the bundle in a part that the server did not sign, which convinces whoever got the letter, and
nobody else. `two stories`: the server signed both, which convinces everybody."""

_ORDER: tuple[Standing, ...] = get_args(Standing)

CONVICTS: frozenset[Standing] = frozenset({"contradicts", "two stories"})
"""The standings that are against the server."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that a letter tells, and how it compares with the bundle; `seq` is the entry that it is about."""

    standing: Standing
    what: str
    found: str = ""
    seq: int | None = None


class JudgedLetter(msgspec.Struct, frozen=True):
    """A kept letter with its findings."""

    kept: Kept
    findings: tuple[Finding, ...]

    @property
    def standing(self) -> Standing:
        """The worst finding."""
        return max((finding.standing for finding in self.findings), key=_ORDER.index, default="silent")


def differs(
    index: TranscriptIndex, what: str, reason: str, seq: int | None = None, *, is_signed: bool | None = None
) -> Finding:
    """A finding against the bundle: proof for everybody, or only for the player who got the letter.

    A letter that vouches only for other files (`is_signed` is False) was changed.
    """
    if is_signed:
        return two_stories(index, what, f"{reason}; {index.server} signed both, and told two stories", seq)
    if is_signed is False:
        return Finding("broken", what, f"{reason}; but it is not the file that the letter names, either", seq)
    unsigned = (
        "the server did not sign this part, so that it convinces whoever got the letter, and others only by its DKIM"
        " signature"
    )
    return Finding("contradicts", what, f"{reason}; {unsigned}", seq)


def two_stories(index: TranscriptIndex, what: str, reason: str, seq: int | None = None) -> Finding:
    """The finding that the server signed two accounts, with the backups that may explain it."""
    return Finding("two stories", what, reason + index.restored, seq)


def two_heads(index: TranscriptIndex, what: str, seq: int, head: str, other: str, where: str) -> Finding:
    """A finding about two signed heads of one entry, one in a letter, the other in the bundle or another letter."""
    said = (
        f"{index.server} signed two different entries {seq} of {index.place[1]}: with the head {head} in this"
        f" letter, with the head {other} in {where}. It told two stories, and both signatures prove it"
    )
    return two_stories(index, what, said, seq)


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
