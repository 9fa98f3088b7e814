"""The lines of a text that its writer wrote: separated from quotes, and from what follows `-- ` or a signature.

Nothing here knows any command. Implements protocol.md, "Commands" (quotes), and docs/bundle.md, 6.6.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pbem.mail.commands.cursor import clean
from pbem.mail.quotes import marked

ARMOR = "-----BEGIN SSH SIGNATURE-----"
_ARMOR_END = "-----END SSH SIGNATURE-----"
_CLOCK = re.compile(r"\b[0-9]{1,2}:[0-9]{2}\b")


class Lines(NamedTuple):
    """The lines of a text: those to be read, runs of quotes, each with its 1-based number, and what is below."""

    kept: list[tuple[int, str]]
    quotes: list[tuple[int, str]]
    tail: list[str]


def own_lines(text: str, *, signed: bool) -> Lines:
    """Separate the numbered lines to be read from the quotes, and from what follows `-- ` or a signature."""
    text, _, after = text.partition(ARMOR)
    text = text if signed else marked(text)
    after = after.partition(_ARMOR_END)[2].strip()
    kept: list[tuple[int, str]] = []
    quotes: list[tuple[int, list[str]]] = []
    tail = [after] if after else []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        # A mail signature begins here (RFC 3676 4.3); many programs drop the blank behind the dashes.
        if line.rstrip() == "--":
            tail.insert(0, "\n".join(lines[number - 1 :]).strip())
            break
        if not line.lstrip().startswith(">"):
            kept.append((number, line))
        elif quotes and quotes[-1][0] + len(quotes[-1][1]) == number:
            quotes[-1][1].append(line)
        else:
            quotes.append((number, [line]))
    return Lines(kept, [(number, "\n".join(run)) for number, run in quotes], tail)


def own_text(text: str) -> str:
    """The lines of an unsigned text that its commands are read from: no quotes, and nothing below `-- `."""
    return "\n".join(line for _, line in own_lines(clean(text), signed=False).kept)


def first_paragraph(text: Lines) -> str:
    """The first paragraph, without the line that introduces a quote, such as `On 3 May, 10:15, Bob wrote:`."""
    lines: list[str] = []
    before, ended = 0, False
    # A quote may also be the last of the text.
    end = 1 + max((number for number, _ in (*text.kept, *text.quotes)), default=0)
    for number, line in (*text.kept, (end, "")):
        quoted = number != before + 1
        # The quote itself is gone; a colon above it ends the line that introduced it.
        if quoted and lines and lines[-1].endswith(":"):
            lines = unattributed(lines)
        if lines and (quoted or (ended and line.strip())):
            break
        ended = not line.strip()
        lines += filter(None, [line.strip()])
        before = number
    return "\n".join(lines)


def unattributed(lines: list[str]) -> list[str]:
    """The lines above a quote, without its introduction, which a mail program may have broken into three lines."""
    begins = (count for count, line in enumerate(reversed(lines[-3:]), start=1) if _CLOCK.search(line))
    return lines[: -next(begins, 1)]
