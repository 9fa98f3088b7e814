"""The transcript as letters show it: signed heads, the generation at each, leaves in the server's log, whole bundles.

Letters are compared with one another, too. Implements docs/bundle.md, 10, and docs/witnesses.md.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pbem.match.state import RUNNING
from pbem.match.transcript import announcement, statement
from pbem.proof import bundle
from pbem.proof.compare.finding import Finding, differs, not_signed_by_the_server, two_heads, two_stories
from pbem.proof.compare.index import is_signature
from pbem.tlog.checkpoint import Checkpoint, InclusionProof
from pbem.tlog.note import NotANote, Note
from pbem.verifier_key import LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.index import AttachedFile, BundleIndex, ShownLetter, TranscriptIndex
    from pbem.proof.kept import Kept, Logged, SignedHead, ToldStanding


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
            return two_heads(index, what, head.seq, head.head, ours, "the bundle")
        other = self._seen.setdefault(head.seq, head.head)
        if other != head.head:
            return two_heads(index, what, head.seq, head.head, other, "another letter")
        if not index.goes_on:
            said = (
                f"{index.server} signed an entry {head.seq} of {index.place[1]}; in the bundle, signed as well, it"
                f" was closed with entry {index.last.seq}, after which nothing follows"
            )
            return two_stories(index, what, said, head.seq)
        return Finding("later", what, f"the bundle ends with entry {index.last.seq}; ask for a newer one", head.seq)


def compare_standings(letter: ShownLetter) -> Iterator[Finding]:
    """The finding about each generation or end that a letter's head cannot have had; of other heads `Heads` tells."""
    index = letter.index
    for told in letter.kept.standings:
        if index.heads.get(told.seq, told.head) != told.head or (told.server, told.match) != index.place:
            continue
        false = dict[str, str]()
        if not _fits(index, told):
            false["generation"] = f"in generation {told.generation}"
        is_over = told.seq == index.last.seq and not index.goes_on
        if told.seq <= index.last.seq and (told.phase == index.LAST) != is_over:
            false["phase"] = f"when it was {told.phase}"
        was_paused = next((paused for seq, paused in reversed(index.pauses) if seq <= told.seq), False)
        if told.seq <= index.last.seq and told.phase in RUNNING and told.paused is (not was_paused):
            false["pause"] = "while it was paused" if told.paused else "while it was not paused"
        if false and is_signature(index.key, told.signature, announcement(told.server, told.bulletin)):
            for what, told_of in false.items():
                reason = f"entry {told.seq} cannot have been the last {told_of}, as is said here"
                yield differs(index, what, reason, told.seq, is_signed=True)


def _fits(index: TranscriptIndex, told: ToldStanding) -> bool:
    """True if the server can have been in this generation when this entry was the last."""
    before = [generation for seq, generation in index.generations if seq <= told.seq]
    after = [generation for seq, generation in index.generations if seq > told.seq]
    # A tournament's match may begin in the restore itself, of which its next entry tells.
    if after and told.generation >= after[0] + (told.seq == 1):
        return False
    if not before:
        return True  # the match may have begun in any generation
    # A match that is over is not under way, so that no restore enters anything in it.
    later = told.seq > index.last.seq or (told.seq == index.last.seq and not index.goes_on)
    return told.generation == before[-1] or (later and told.generation > before[-1])


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
            yield two_stories(self.index, f"log of {self.index.server}", said)
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
        server = self.index.server
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
            leaves = [self.index.leaf(logged.seq, head) for head in kept.heads_of(logged) - {ours}]
            if any(map(proof.proves, leaves)):
                said = f"at size {size} it has another entry {logged.seq} than the bundle"
                if ours is None and self.index.goes_on:
                    return Finding("later", what, said, logged.seq)
                return two_stories(self.index, what, said, logged.seq)
            if ours is None:
                return Finding("open", what, "the bundle has no such entry", logged.seq)
            return Finding("broken", what, "the proof does not lead to the bundle's", logged.seq)
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


def compare_bundle(file: AttachedFile) -> Iterator[Finding]:
    """The finding about an attached bundle of this match beside the one that was verified."""
    if not file.name.endswith(".zip"):
        return
    index = file.letter.index
    try:
        other = bundle.read(file.content)
        body = other.entries[0].body
        place = (str(body["server"]), str(body["match"]))
    except (bundle.NotABundle, KeyError) as error:
        if f"{index.match.id}." in file.name or f"{index.match.id}-" in file.name:
            yield Finding("broken", file.name, f"damaged: it proves nothing ({error})")
        return
    if place == index.place:
        yield beside(index, other, file.name)


def beside(index: BundleIndex, other: Bundle, name: str) -> Finding:
    """An earlier bundle, or a later one: how it stands to the one that was verified."""
    found, (server, match) = index.bundle, index.place
    for ours, theirs, signature in zip(found.entries, other.entries, other.signatures, strict=False):
        if theirs.seq != ours.seq:  # the head of another entry is no other head of this one
            said = f"its entry {theirs.seq} is where entry {ours.seq} must be"
            return Finding("broken", name, said, theirs.seq)
        message = statement(server, match, theirs.seq, theirs.head)
        if not is_signature(index.key, signature.hex(), message):
            said = f"its entry {theirs.seq} is not signed with the bundle's key"
            return Finding("broken", name, said, theirs.seq)
        if theirs.head != ours.head:
            return two_heads(index, name, theirs.seq, theirs.head, ours.head, "the bundle")
    # The same heads name the same papers.
    for path in sorted(other.papers.keys() & found.papers.keys()):
        if other.papers[path] != found.papers[path]:
            return Finding("broken", name, f"its {path} is not what its own transcript names")
    ahead = len(other.entries) > len(found.entries)
    # A closed match has no further entry; a signed one shows another story.
    if ahead and not index.goes_on:
        seq = len(found.entries) + 1
        message = statement(server, match, seq, other.entries[seq - 1].head)
        if is_signature(index.key, other.signatures[seq - 1].hex(), message):
            return two_stories(index, name, f"it goes on where the match is closed, with entry {seq}", seq)
    said = "longer than this bundle, and begins with it" if ahead else ""
    return Finding("later" if ahead else "agrees", name, said, min(len(other.entries), len(found.entries)))
