"""Another bundle that a letter brings: the shorter chain must be the beginning of the longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.transcript import statement
from pbem.proof import bundle
from pbem.proof.compare.difference import two_stories
from pbem.proof.compare.finding import Finding
from pbem.proof.compare.letter_facts import is_signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.index import BundleIndex
    from pbem.proof.compare.letter_facts import AttachedFile


def compare(file: AttachedFile) -> Iterator[Finding]:
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
    found, (server, match) = index.found, index.place
    for ours, theirs, signature in zip(found.entries, other.entries, other.signatures, strict=False):
        if theirs.seq != ours.seq:  # the head of another entry is no other head of this one
            said = f"its entry {theirs.seq} is where entry {ours.seq} must be"
            return Finding("broken", name, said, theirs.seq)
        message = statement(server, match, theirs.seq, theirs.head)
        if not is_signature(index.key, signature.hex(), message):
            said = f"its entry {theirs.seq} is not signed with the bundle's key"
            return Finding("broken", name, said, theirs.seq)
        if theirs.head != ours.head:
            return two_stories(index, name, theirs.seq, theirs.head, ours.head, "the bundle")
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
            return Finding("two stories", name, f"it goes on where the match is closed, with entry {seq}", seq)
    said = "longer than this bundle, and begins with it" if ahead else ""
    return Finding("later" if ahead else "agrees", name, said, min(len(other.entries), len(found.entries)))
