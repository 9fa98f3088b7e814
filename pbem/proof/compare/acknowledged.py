"""Acknowledgements of setups, orders and withdrawals, and the fate of each by the bundle.

A bundle accounts for each of these papers: `pbem.proof.fates`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.documents import NotADocument, Opening, Receipt, Withdrawal
from pbem.match.transcript import sha256_hex
from pbem.proof.compare.difference import differs
from pbem.proof.compare.finding import Finding
from pbem.proof.fates import Fates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.compare.index import BundleIndex
    from pbem.proof.compare.letter_facts import AttachedFile


class Acknowledged:
    """The fates of openings, receipts and withdrawals, by a bundle."""

    def __init__(self, index: BundleIndex) -> None:
        self.index = index
        self._fates = Fates(index.found)

    def compare(self, file: AttachedFile) -> Iterator[Finding]:
        """The finding about an opening, a receipt or a withdrawal."""
        paper = _read(file.content)
        if paper is None or (paper.server, paper.match) != self.index.place:
            return
        fate = self._fates.of(paper, sha256_hex(file.content))
        if fate.standing != "dropped":
            yield Finding(fate.standing, fate.what, fate.found, fate.seq)
        else:  # nothing may be dropped without a trace: that convicts the server
            seq = fate.seq or len(self.index.found.entries)
            yield differs(self.index, fate.what, f"{file.name}: {fate.found}", seq, is_signed=file.is_signed)


def _read(content: bytes) -> Opening | Receipt | Withdrawal | None:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    for kind in (Opening, Receipt, Withdrawal):
        try:
            return kind.read(text)
        except NotADocument:
            continue
    return None
