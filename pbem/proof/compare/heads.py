"""The signed heads that letters show, compared with the bundle's, and with those of other letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.proof.compare.difference import not_signed_by_the_server, two_stories
from pbem.proof.compare.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.compare.index import TranscriptIndex
    from pbem.proof.compare.letter_facts import ShownLetter
    from pbem.proof.kept import SignedHead


class Heads:
    """The heads of a transcript, and of later entries those that letters showed first."""

    def __init__(self, index: TranscriptIndex) -> None:
        self.index = index
        self._seen: dict[int, str] = {}
        """Signed heads of later entries that letters showed."""

    def compare(self, letter: ShownLetter) -> Iterator[Finding]:
        """The finding about each head in a letter, for people or for programs."""
        kept, ours = letter.kept, self.index.heads
        # What people read under a signature that does not hold takes no place of what is signed.
        signed = (head for head in kept.heads if letter.is_ours(head) and letter.is_signed(head))
        shown = {(head.seq, head.head) for head in signed}
        # What agrees is told of what people read.
        shown.update((head.seq, head.head) for head in kept.for_programs if ours.get(head.seq) == head.head)
        others = [head for head in kept.for_programs if (head.seq, head.head) not in shown]
        for head in dict.fromkeys(filter(letter.is_ours, (*kept.heads, *others))):
            key = letter.signer(head)
            if key is None and head in kept.quoted:
                continue
            what = f"head of entry {head.seq}"
            if key != self.index.key:
                yield not_signed_by_the_server(self.index, what, key, head.seq)
            else:
                yield self._signed(head, what)

    def _signed(self, head: SignedHead, what: str) -> Finding:
        index = self.index
        ours = index.heads.get(head.seq)
        if ours == head.head:
            return Finding("agrees", what, "", head.seq)
        if ours is not None:
            return two_stories(index, what, head.seq, head.head, ours, "the bundle")
        other = self._seen.setdefault(head.seq, head.head)
        if other != head.head:
            return two_stories(index, what, head.seq, head.head, other, "another letter")
        if not index.goes_on:
            return Finding(
                "two stories",
                what,
                f"{index.server} signed an entry {head.seq} of {index.place[1]}; in the bundle, signed as well, it"
                f" was closed with entry {index.last.seq}, after which nothing follows",
                head.seq,
            )
        return Finding("later", what, f"the bundle ends with entry {index.last.seq}; ask for a newer one", head.seq)
