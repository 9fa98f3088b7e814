"""Others' words on a terminal."""

from __future__ import annotations


def harmless(text: str, kept: str = "") -> str:
    """The text with its control characters written out, but for those kept: strangers must not move the cursor."""
    return "".join(char if char.isprintable() or char in kept else ascii(char)[1:-1] for char in text)
