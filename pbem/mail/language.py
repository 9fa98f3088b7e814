"""The language that a letter asks for. Implements protocol.md, "Commands" (`set language`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.i18n import LANGUAGES

if TYPE_CHECKING:
    from pbem.mail.message import Letter

_RANGE = re.compile(r"\s*([A-Za-z]{1,8})(?:-[A-Za-z0-9-]+)?\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?")


def asked_for(letter: Letter) -> str | None:
    """The language that a letter asks for, or is written in, by its headers (RFC 3282); None if we have none of them.

    A language that it asks for comes before the one it is written in; of several, the preferred one counts.
    """
    for header in ("accept-language", "content-language"):
        ranges = [_RANGE.fullmatch(one) for value in letter.values(header) for one in value[:500].split(",")]
        wanted = [(float(found[2] or 1), found[1].lower()) for found in ranges if found]
        for quality, language in sorted(wanted, key=lambda one: -one[0]):
            if quality and language in LANGUAGES:
                return language
    return None
