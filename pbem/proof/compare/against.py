"""Kept letters against a verified bundle: what each letter proves, thing by thing.

Letters are compared with one another, too: two that show different signed heads of a later entry convict the server.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.proof.compare.chain import Heads, LogCheck, compare_bundle, compare_generations
from pbem.proof.compare.finding import Finding, JudgedLetter
from pbem.proof.compare.index import BundleIndex, ShownMatchLetter
from pbem.proof.compare.papers import (
    Acknowledged,
    Positions,
    compare_files,
    compare_reports,
    compare_signed,
    compare_vouchers,
)
from pbem.proof.compare.words import compare_addresses, compare_answers, compare_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.index import AttachedFile
    from pbem.proof.kept import Kept
    from pbem.verifier_key import VerifierKey


class Against:
    """A verified bundle, and everything with which letters are compared; letters are compared with one another, too.

    `notices` are those of the match as they follow from the letters and the rules, as far as it is revealed.
    The cosignatures of `witnesses` in the server's log are believed.
    """

    def __init__(
        self,
        found: Bundle,
        match: Match,
        notices: Sequence[Notice] = (),
        witnesses: Sequence[VerifierKey] = (),
    ) -> None:
        self.found = found
        self.match = match
        index = self._index = BundleIndex(found, match)
        self._heads = Heads(index)
        self._log = LogCheck(index, witnesses)
        positions, acknowledged = Positions(index, notices), Acknowledged(index)
        self._kinds: Sequence[Callable[[AttachedFile], Iterator[Finding]]] = (
            compare_reports,
            positions.compare,
            compare_signed,
            acknowledged.compare,
            compare_bundle,
        )

    @property
    def witnessed(self) -> dict[str, tuple[int, int]]:
        """The last entry of the bundle that each witness saw, and when first, in seconds since 1970."""
        return self._log.witnessed

    def judge(self, kept: Kept) -> JudgedLetter:
        """Compare a letter with the bundle."""
        if kept.unread:
            return JudgedLetter(kept, (Finding("open", "letter", kept.unread),))
        letter = ShownMatchLetter(kept, self._index)
        findings = [
            *self._heads.compare(letter),
            *compare_vouchers(letter),
            *self._log.compare(kept),
            *compare_text(letter),
            *compare_addresses(letter),
            *compare_generations(letter),
            *compare_answers(letter),
            *compare_files(letter, self._kinds),
        ]
        named = any(self.match.id == word for word in re.findall(r"m[0-9]+", kept.subject))
        if kept.faults and (findings or (named and self.match.server.lower() in kept.servers)):
            findings += [Finding("broken", "letter", f"{fault}: that part proves nothing") for fault in kept.faults]
        return JudgedLetter(kept, tuple(findings))
