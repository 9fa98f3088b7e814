"""Kept letters against a verified bundle: what each letter proves, thing by thing.

Letters are compared with one another, too: two that show different signed heads of a later entry convict the server.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.proof.compare import addresses, answered, bundles, generations, letter_text, reports
from pbem.proof.compare.acknowledged import Acknowledged
from pbem.proof.compare.finding import Finding, NamedLetter
from pbem.proof.compare.heads import Heads
from pbem.proof.compare.index import BundleIndex
from pbem.proof.compare.letter_facts import Shown
from pbem.proof.compare.papers import compare_files, compare_vouchers
from pbem.proof.compare.server_log import LogCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.letter_facts import AttachedFile
    from pbem.proof.kept import Kept
    from pbem.verifier_key import VerifierKey


class Against:
    """A verified bundle, and everything with which letters are compared; letters are compared with one another, too.

    `told` are the notices of the match as they follow from the letters and the rules, as far as it is revealed.
    The cosignatures of `witnesses` in the server's log are believed.
    """

    def __init__(
        self,
        found: Bundle,
        match: Match,
        told: Sequence[Notice] = (),
        witnesses: Sequence[VerifierKey] = (),
    ) -> None:
        self.found = found
        self.match = match
        index = self._index = BundleIndex(found, match)
        self._heads = Heads(index)
        self._log = LogCheck(index, witnesses)
        positions, acknowledged = reports.Positions(index, told), Acknowledged(index)
        self._kinds: Sequence[Callable[[AttachedFile], Iterator[Finding]]] = (
            reports.compare,
            positions.compare,
            reports.compare_text,
            acknowledged.compare,
            bundles.compare,
        )

    @property
    def witnessed(self) -> dict[str, tuple[int, int]]:
        """The last entry of the bundle that each witness saw, and when first, in seconds since 1970."""
        return self._log.witnessed

    def judge(self, kept: Kept) -> NamedLetter:
        """Compare a letter with the bundle."""
        if kept.unread:
            return NamedLetter(kept, (Finding("open", "letter", kept.unread),))
        letter = Shown(kept, self._index)
        findings = [
            *self._heads.compare(letter),
            *compare_vouchers(letter),
            *self._log.compare(kept),
            *letter_text.compare(letter),
            *addresses.compare(letter),
            *generations.compare(letter),
            *answered.compare(letter),
            *compare_files(letter, self._kinds),
        ]
        named = any(self.match.id == word for word in re.findall(r"m[0-9]+", kept.subject))
        if kept.faults and (findings or (named and self.match.server.lower() in kept.servers)):
            findings += [Finding("broken", "letter", f"{fault}: that part proves nothing") for fault in kept.faults]
        return NamedLetter(kept, tuple(findings))
