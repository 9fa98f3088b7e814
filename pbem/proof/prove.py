"""The whole proof at once: a bundle is verified, and kept letters are compared with it.

This is `verify` of the library (docs/library.md). Implements docs/bundle.md, "Letters that players kept".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from pbem.proof.compare.chain import Heads, LogCheck, compare_bundle, compare_standings
from pbem.proof.compare.finding import CONVICTS, Finding, JudgedLetter
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
from pbem.proof.kept_letters import kept
from pbem.proof.verification import Check, Proved, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.index import AttachedFile
    from pbem.proof.kept import Kept
    from pbem.verifier_key import VerifierKey


class Proof(msgspec.Struct, frozen=True):
    """The result of verifying a bundle and comparing it with kept letters."""

    checks: Sequence[Check]
    """All checks up to the first that fails or is open."""
    letters: Sequence[JudgedLetter] = ()
    """The kept letters with their findings; none if the bundle does not hold."""
    bundle: Bundle | None = None
    """The bundle, if it could be read."""

    @property
    def holds(self) -> bool:
        """True if the bundle holds, and no letter contradicts it."""
        return self.checks[-1].holds is True and not self.accusing

    @property
    def accusing(self) -> list[JudgedLetter]:
        """The letters that contradict the bundle."""
        return [letter for letter in self.letters if letter.standing in CONVICTS]


def prove(
    bundle: bytes, server_key: str | None = None, letters: Iterable[tuple[str, bytes]] = (), match: str | None = None
) -> Proof:
    """Verify a bundle, and compare it with kept letters, each with the name of its source.

    `server_key` (64 hex digits) is the server's key as known from elsewhere. `match` is the match that it must be of.
    """
    proved = Proved()
    checks = list(verify(bundle, server_key, proved))
    if not checks[-1].holds:
        return Proof(checks, bundle=proved.bundle)
    shown = proved.whole[1].id
    if match is not None and shown != match:  # it holds, and proves nothing of this one
        checks.append(Check(False, "match", f"the bundle is that of {shown}"))
        return Proof(checks, bundle=proved.bundle)
    bench = against(proved)
    return Proof(checks, [bench.judge(kept(source, raw)) for source, raw in letters], proved.bundle)


def against(proved: Proved, witnesses: Sequence[VerifierKey] = ()) -> Against:
    """A bundle that was found good, for letters to be compared with it."""
    return Against(*proved.whole, proved.notices, witnesses)


class Against:
    """A verified bundle, and everything with which letters are compared; letters are compared with one another, too.

    `notices` are those of the match as they follow from the letters and the rules, as far as it is revealed.
    The cosignatures of `witnesses` in the server's log are believed.
    """

    def __init__(
        self,
        bundle: Bundle,
        match: Match,
        notices: Sequence[Notice] = (),
        witnesses: Sequence[VerifierKey] = (),
    ) -> None:
        self.bundle = bundle
        self.match = match
        index = self._index = BundleIndex(bundle, match)
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
            *compare_standings(letter),
            *compare_answers(letter),
            *compare_files(letter, self._kinds),
        ]
        named = self.match.id in re.findall(r"m[0-9]+", kept.subject)
        if kept.faults and (findings or (named and self.match.server.lower() in kept.servers)):
            findings += [Finding("broken", "letter", f"{fault}: that part proves nothing") for fault in kept.faults]
        return JudgedLetter(kept, tuple(findings))
