"""The facts in a letter about the match of a bundle, and who signed them: heads, hashes of papers, and files.

The letter's side of each comparison. A signature is verified once for each letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.identity import ed25519_points
from pbem.match.transcript import sha256_hex, voucher
from pbem.proof.kept import SignedHead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.compare.index import BundleIndex, TranscriptIndex
    from pbem.proof.kept import Attached, Kept, SignedPaper


def is_signature(key: str, signature: str, message: bytes) -> bool:
    """True if an Ed25519 signature holds; key and signature in hex, and they may be anything."""
    try:
        return ed25519_points.holds(bytes.fromhex(key), bytes.fromhex(signature), message)
    except ValueError:
        return False


class ShownLetter:
    """A kept letter that is compared with a transcript."""

    def __init__(self, kept: Kept, index: TranscriptIndex) -> None:
        self.kept = kept
        self.index = index
        self._signers: dict[SignedHead | SignedPaper, str | None] = {}
        heads, ours = kept.heads or kept.for_programs, len(index.heads)
        self.ahead = not heads or any(head.seq > ours for head in heads if self.is_ours(head))
        """True if it is of a later time than the bundle, as far as it shows that."""
        self.vouched = {paper.sha256 for paper in kept.papers if self.is_ours(paper) and self.is_signed(paper)}
        """The hashes of the papers of this match for which it shows a signature by the bundle's key."""

    def is_ours(self, signed: SignedHead | SignedPaper) -> bool:
        """True if this is about the bundle's match."""
        return (signed.server, signed.match) == self.index.place

    def is_signed(self, signed: SignedHead | SignedPaper) -> bool:
        """True if the bundle's key signed this."""
        return self.signer(signed) == self.index.key

    def signer(self, signed: SignedHead | SignedPaper) -> str | None:
        """The key that signed this: the bundle's, or else the one that the letter names; None if neither did."""
        if signed not in self._signers:
            if isinstance(signed, SignedHead):
                message = self.index.leaf(signed.seq, signed.head)
            else:
                message = voucher(signed.server, signed.match, signed.sha256)
            keys = dict.fromkeys((self.index.key, signed.key or self.index.key))
            holding = (key for key in keys if is_signature(key, signed.signature, message))
            self._signers[signed] = next(holding, None)
        return self._signers[signed]


class Shown(ShownLetter):
    """A kept letter that is compared with the bundle of a match."""

    index: BundleIndex

    def __init__(self, kept: Kept, index: BundleIndex) -> None:
        super().__init__(kept, index)

    def files(self, attached: Attached) -> Iterator[AttachedFile]:
        """An attachment in each form in which it may have been sent."""
        for way in attached.ways:
            is_signed = sha256_hex(way) in self.vouched if self.vouched else None
            yield AttachedFile(self, attached.name, way, is_signed)


class AttachedFile(msgspec.Struct, frozen=True):
    """An attached file in one of its forms, with the letter that brought it."""

    letter: Shown
    name: str
    content: bytes
    is_signed: bool | None
    """True if the letter vouches for it; None if the letter vouches for no file."""
