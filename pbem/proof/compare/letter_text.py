"""A letter's own words, compared with the bundle: heads that forms cite, terms, and commitments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.proof.compare.difference import differs, unknown_head
from pbem.proof.compare.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.compare.letter_facts import Shown


def compare(letter: Shown) -> Iterator[Finding]:
    """The findings about the text of a letter of this server."""
    index, kept = letter.index, letter.kept
    if index.server.lower() not in kept.servers:
        return  # somebody else's words
    for match, server, prev in dict.fromkeys(kept.prevs):
        if (server, match) == index.place and prev not in index.seqs:
            yield unknown_head(letter, "form", f"the form in it cites the head {prev}")
    yield from _terms(letter)
    yield from _commitments(letter)


def _terms(letter: Shown) -> Iterator[Finding]:
    """The hash of the agreed terms in a letter from before or after the match began."""
    ours = str(letter.index.found.entries[0].body["rules"])
    for match, told in dict.fromkeys(letter.kept.terms):
        if match != letter.index.match.id:
            continue
        if told == ours:
            yield Finding("agrees", "terms", "", 1)
        else:
            reason = f"it tells of other terms, with the hash {told}, than entry 1"
            is_signed = True if told in letter.vouched else None
            yield differs(letter.index, "terms", reason, 1, is_signed=is_signed)


def _commitments(letter: Shown) -> Iterator[Finding]:
    """The commitments that it lists: those of the game that had begun last when it was written."""
    index, kept = letter.index, letter.kept
    seen = max((head.seq for head in kept.heads if letter.is_ours(head) and letter.is_signed(head)), default=0)
    if seen > len(index.found.entries):
        return  # later than the bundle, and so is what it tells
    kinds = {"commitments", "sealed"}
    begun = [entry for entry in index.found.entries if entry.type in kinds and entry.seq <= seen]
    if not begun or not kept.commitments:
        return
    commitments = begun[-1].body["commitments"]
    names = [
        {name: commitments.get(str(seat)) for seat, name in seated.items()} for seated in index.names(begun[-1].seq)
    ]
    for told in kept.commitments:
        if told in names:
            yield Finding("agrees", "commitments", "", begun[-1].seq)
        else:
            reason = f"it tells other commitments than entry {begun[-1].seq}"
            yield differs(index, "commitments", reason, begun[-1].seq)
