"""The papers that a letter brings: those that it vouches for, and the files that are attached.

An attachment may have been sent in one of several forms, as mail programs change line ends: it is judged in the form
that the letter or the bundle names. What a paper says is compared in the module of its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.transcript import sha256_hex
from pbem.proof.compare.difference import not_signed_by_the_server
from pbem.proof.compare.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pbem.proof.compare.letter_facts import AttachedFile, Shown


def compare_vouchers(letter: Shown) -> Iterator[Finding]:
    """The findings about the signed hashes of papers in a letter, if the papers are not attached."""
    index, kept = letter.index, letter.kept
    attached = {sha256_hex(way) for attachment in kept.attached for way in attachment.ways}
    for paper in dict.fromkeys(filter(letter.is_ours, kept.papers)):
        key = letter.signer(paper)
        if key is None and paper in kept.quoted:
            continue
        what = f"paper {paper.sha256[:16]}..."
        if key != index.key:
            yield not_signed_by_the_server(index, what, key, None)
        elif paper.sha256 in attached:
            continue  # judged as the attachment that it is
        elif paper.sha256 in index.named:
            yield Finding("agrees", what, "")
        else:
            reason = "the transcript does not name it, and its file is not in the letter as it was sent"
            yield Finding("open", what, f"{reason}: it may have been replaced by a later one")


def compare_files(letter: Shown, kinds: Sequence[Callable[[AttachedFile], Iterator[Finding]]]) -> Iterator[Finding]:
    """The findings about the attached files, each in the form which the letter or the bundle names."""
    for attached in letter.kept.attached:
        best: list[Finding] = []
        for file in letter.files(attached):
            findings = [finding for compare in kinds for finding in compare(file)]
            if findings and (not best or file.is_signed or findings[0].standing == "agrees"):
                best = findings
        if not best and letter.vouched.intersection(map(sha256_hex, attached.ways)):
            best = [Finding("open", attached.name, "signed as a paper of this match, and written as none is")]
        yield from best
