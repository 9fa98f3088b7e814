"""The generation that the server named with a head, compared with the entries `restored` of the bundle.

So a server cannot tell programs of a restore that its transcript does not know, nor the other way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.transcript import announcement
from pbem.proof.compare.difference import differs
from pbem.proof.compare.letter_facts import is_signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.compare.finding import Finding
    from pbem.proof.compare.index import TranscriptIndex
    from pbem.proof.compare.letter_facts import ShownLetter
    from pbem.proof.kept import ToldGeneration


def compare(letter: ShownLetter) -> Iterator[Finding]:
    """The finding about each generation of a letter that its head cannot have had; of other heads `heads` tells."""
    index = letter.index
    for told in letter.kept.generations:
        ours = index.heads.get(told.seq, told.head) == told.head and (told.server, told.match) == index.place
        if not ours or _fits(index, told):
            continue
        if is_signature(index.key, told.signature, announcement(told.server, told.bulletin)):
            reason = f"entry {told.seq} cannot have been the last in generation {told.generation}, as is said here"
            yield differs(index, "generation", reason, told.seq, is_signed=True)


def _fits(index: TranscriptIndex, told: ToldGeneration) -> bool:
    """True if the server can have been in this generation when this entry was the last."""
    before = [generation for seq, generation in index.generations if seq <= told.seq]
    after = [generation for seq, generation in index.generations if seq > told.seq]
    if after and told.generation >= after[0]:
        return False
    if not before:
        return True  # the match may have begun in any generation
    # A match that is over is not under way, so that no restore enters anything in it.
    later = told.seq > index.last.seq or (told.seq == index.last.seq and not index.goes_on)
    return told.generation == before[-1] or (later and told.generation > before[-1])
