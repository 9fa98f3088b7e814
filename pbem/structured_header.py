"""Structured mail headers (RFC 5322 3.2): one reading of comments and quoted strings for every header that we believe.

A backslash escapes the next character only in a quoted string or a comment; outside it stays where it is, and no
grammar of ours accepts it.
"""

from __future__ import annotations

__all__ = ["without_comments"]


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
