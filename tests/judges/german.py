"""What a German letter must have in common with its English twin."""

from __future__ import annotations

import re

WIDTH = 78

_SIGNED = re.compile(
    r"(?:orders|setup) m\d+ (?:turn|game) \d+|server \S+|player [a-z0-9_-]+|prev [0-9a-f]{64}|rev \d+|final|end"
    r"|key keep|confirm \S+|challenge \S+|fingerprint \S+|proof \S+|accept m\d+ [0-9a-f]{64}|claim m\d+|register \S+"
    r"|(?:draw|annul) m\d+ accept"
)
_TYPED = re.compile(r" {4}((?:ssh-keygen|gpg|openssl|pbem|status|register) .*?)(?: {3}.*)?")


def is_twin(english: str, german: str, *, plain: bool = True) -> None:
    """Check that it has the same forms and commands, and that its lines fit where the English ones do."""
    assert [*filter(_SIGNED.fullmatch, german.split("\n"))] == [*filter(_SIGNED.fullmatch, english.split("\n"))]
    typed = [[found[1] for found in map(_TYPED.fullmatch, text.split("\n")) if found] for text in (german, english)]
    assert typed[0] == typed[1]
    assert not plain or not too_wide(english, german), too_wide(english, german)


def too_wide(english: str, other: str) -> list[str]:
    """The lines that do not fit where the English ones do, and those in which two messages run into each other."""
    widest = max(WIDTH, *map(len, english.split("\n")))
    return [line for line in other.split("\n") if len(line) > widest or re.search(r"⟧⟦[^,;:.]", line)]
