"""What a German letter must have in common with its English twin."""

from __future__ import annotations

import re

__all__ = ["FORM", "WIDTH", "is_twin"]

WIDTH = 78

FORM = re.compile(
    r"(?:orders|setup) m\d+ (?:turn|game) \d+|server \S+|player \S+|prev [0-9a-f]{64}|rev \d+|final|end|key keep"
    r"|confirm \S+|challenge \S+|fingerprint \S+|proof \S+|accept m\d+ [0-9a-f]{64}|claim m\d+|register \S+"
    r"|(?:draw|annul) m\d+ accept| {4}(?:ssh-keygen|gpg|minisign|openssl|pbem|status|register) \S.{10,35}"
)
"""Lines that are signed, or typed as they are."""


def is_twin(english: str, german: str, *, plain: bool = True) -> None:
    """Check that it has the same forms, and lines that are no wider than a terminal where the English ones are not."""
    forms = [[found[0] for line in text.split("\n") if (found := FORM.match(line))] for text in (english, german)]
    exact = [[line for line in text.split("\n") if FORM.fullmatch(line)] for text in (english, german)]
    assert exact[0] == exact[1]
    assert [len(found) for found in forms] == [len(forms[0])] * 2
    if plain:
        widest = max(WIDTH, *map(len, english.split("\n")))
        assert not [line for line in german.split("\n") if len(line) > widest]
