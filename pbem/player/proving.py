"""The proof of a match from kept letters: its latest bundle is verified, and compared with every letter.

This does by itself what `pbem verify --against` does. Implements docs/bundle.md, "Letters that players kept".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbem.proof.compare.against import Against
from pbem.proof.kept_letters import kept
from pbem.proof.signed_letters import Letters
from pbem.proof.verify import Check, Proved, verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.player.memory import Memory
    from pbem.proof.compare.finding import Letter

__all__ = ["Proof", "prove"]


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of verifying a bundle and comparing it with the kept letters."""

    checks: Sequence[Check]
    letters: Sequence[Letter] = ()

    @property
    def holds(self) -> bool:
        """Whether the bundle holds, and no letter contradicts it."""
        return self.checks[-1].holds and not self.accusing

    @property
    def accusing(self) -> list[Letter]:
        """The letters that contradict the bundle."""
        return [letter for letter in self.letters if letter.standing in {"contradicts", "two stories"}]


def prove(memory: Memory, match: str) -> Proof | None:
    """Verify the latest bundle of a match, by the known server key; None if none has come."""
    found = memory.bundle(match)
    if found is None:
        return None
    proved = Proved()
    checks = list(verify(found[1], Letters, memory.fact("server_key"), proved))
    if not checks[-1].holds or proved.bundle is None or proved.match is None:
        return Proof(checks)
    if proved.match.id != match:  # it holds, and proves nothing of this one
        return Proof([*checks, Check(False, "match", f"the bundle is that of {proved.match.id}")])
    bench = Against(proved.bundle, proved.match, proved.told)
    return Proof(checks, [bench.judge(kept(source, raw)) for source, raw in memory.letters(match)])
