"""Evidence beside a bundle: letters that were kept, and the keys of trusted witnesses.

Here lives reading them, and saying what cannot be read; what they prove is judged in `pbem.proof`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pbem.mail.folders import letters
from pbem.proof.bundle import LIMITS
from pbem.verifier_key import COSIGNATURE, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def witness_keys(texts: Sequence[str]) -> list[VerifierKey]:
    """The keys of witnesses, each once; raises click.UsageError. What is told of a witness is told by its name."""
    found: list[VerifierKey] = []
    for text in texts:
        try:
            key = VerifierKey.read(text)
        except ValueError as error:
            raise click.UsageError(f"{text}: {error}") from error
        if key.kind != COSIGNATURE:
            raise click.UsageError(f"{text}: that is the key of a log, not of a witness")
        if any(other.name == key.name for other in found if other != key):
            raise click.UsageError(
                f"{text}: another witness of this name was named before; ask for one after the other"
            )
        if key not in found:
            found.append(key)
    return found


def kept_letters(places: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """The letters of these places, up to the limit; raises click.UsageError."""
    count = octets = 0
    for place in places:
        try:
            for source, raw in letters(place, LIMITS.kept_octets):
                count, octets = count + 1, octets + len(raw)
                if count > LIMITS.letters or octets > LIMITS.all_kept_octets:
                    most = f"{LIMITS.letters:,} letters, or than {LIMITS.all_kept_octets:,} octets of them"
                    raise click.UsageError(f"{source}: more than {most}; give fewer at once")
                yield source, raw
        except OSError as error:
            raise click.UsageError(f"{error.filename or place} cannot be read: {error.strerror}") from error
