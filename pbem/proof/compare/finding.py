"""The findings about a kept letter: each thing that it tells, and how that stands to the bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from pbem.proof.kept import Kept

Standing = Literal["silent", "agrees", "later", "open", "broken", "contradicts", "two stories"]
"""The standing of a letter, or of one thing in it, beside the bundle, from the harmless to the worst.

`silent`: says nothing about this match. `agrees`. `later`: about entries that the bundle does not have yet. `open`:
cannot be decided from what is here. `broken`: the letter itself was changed, and proves nothing. `contradicts`: it
says otherwise than the bundle in a part that the server did not sign, which convinces whoever got the letter, and
nobody else. `two stories`: the server signed both, which convinces everybody."""

_ORDER: tuple[Standing, ...] = ("silent", "agrees", "later", "open", "broken", "contradicts", "two stories")


class Finding(msgspec.Struct, frozen=True):
    """One thing that a letter tells, and how it compares with the bundle; `seq` is the entry that it is about."""

    standing: Standing
    what: str
    found: str = ""
    seq: int | None = None


class NamedLetter(msgspec.Struct, frozen=True):
    """A kept letter with its findings."""

    kept: Kept
    findings: tuple[Finding, ...]

    @property
    def standing(self) -> Standing:
        """The worst finding."""
        return max((finding.standing for finding in self.findings), key=_ORDER.index, default="silent")
