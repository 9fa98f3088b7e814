"""Headers of mail (RFC 5322) that we believe: which may be there once, and one reading of comments and quotes.

A backslash escapes the next character only in a quoted string or a comment; outside it stays where it is, and no
grammar of ours accepts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

ONCE = ("date", "content-type", "content-transfer-encoding")  # what a text says, and when: RFC 5322 3.6, RFC 2045


def is_repeated(headers: Sequence[tuple[str, str]], names: Collection[str] = ONCE) -> bool:
    """Return whether one of these headers is there more than once: programs differ in which one they read."""
    found = [name for name, _ in headers if name in names]
    return len(set(found)) < len(found)


def without_comments(value: str) -> str | None:
    """The text without its comments, each quoted string replaced by an inert word; None if one does not end."""
    if '"' not in value and "(" not in value:
        return value
    kept: list[str] = []
    depth = 0
    quoted = False
    characters = iter(value)
    for character in characters:
        if character == "\\" and (quoted or depth):
            next(characters, None)
        elif quoted:
            quoted = character != '"'
        elif character == "(":
            depth += 1
            kept.append(" ")
        elif depth:
            depth -= character == ")"
        elif character == '"':
            quoted = True
            kept.append('"')
        else:
            kept.append(character)
    return None if quoted or depth else "".join(kept)
