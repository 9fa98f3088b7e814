"""The whole proof at once: a bundle is verified, and kept letters are compared with it.

This is `verify` of the library (docs/library.md). Implements docs/bundle.md, "Letters that players kept".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.proof.compare.against import Against
from pbem.proof.kept_letters import kept
from pbem.proof.verification import Check, Proved, verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pbem.proof.bundle import Bundle
    from pbem.proof.compare.finding import JudgedLetter
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
        return [letter for letter in self.letters if letter.standing in {"contradicts", "two stories"}]


def prove(
    bundle: bytes, server_key: str | None = None, letters: Iterable[tuple[str, bytes]] = (), match: str | None = None
) -> Proof:
    """Verify a bundle, and compare it with kept letters, each with the name of its source.

    `server_key` (64 hex digits) is the server's key as known from elsewhere. `match` is the match that it must be of.
    """
    proved = Proved()
    checks = list(verify(bundle, server_key, proved))
    if not checks[-1].holds or proved.match is None:
        return Proof(checks, bundle=proved.bundle)
    if match is not None and proved.match.id != match:  # it holds, and proves nothing of this one
        checks.append(Check(False, "match", f"the bundle is that of {proved.match.id}"))
        return Proof(checks, bundle=proved.bundle)
    bench = against(proved)
    return Proof(checks, [bench.judge(kept(source, raw)) for source, raw in letters], proved.bundle)


def against(proved: Proved, witnesses: Sequence[VerifierKey] = ()) -> Against:
    """A bundle that was found good, for letters to be compared with it."""
    assert proved.bundle is not None
    assert proved.match is not None
    return Against(proved.bundle, proved.match, proved.notices, witnesses)
