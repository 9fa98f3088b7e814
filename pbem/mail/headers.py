"""What single headers say: the author behind a return path to which servers added a tag, and the language asked for.

BATV signs a return path so that its server knows bounces of its own mail, SRS names a forwarder as the way back, and
VERP names the recipient. Nothing is believed: anybody can write any header. Implements protocol.md, "Commands" (`set
language`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.i18n import LANGUAGES

if TYPE_CHECKING:
    from pbem.mail.message import Letter

_BATV = re.compile(
    r"(?:prvs=[^=/]++[=/]|btv1==[^=]++==)([^=/].*+)", re.IGNORECASE
)  # draft-levine-smtp-batv, Barracuda
_SRS = re.compile(
    r"(?:srs0|srs1[=+-][^=]++=[^=]++=|[^=+]++\+srs)[=+-][^=]++=[^=]++=([a-z0-9.-]++)=(.++)", re.IGNORECASE
)  # www.libsrs2.net; the last one, USER+SRS=, is Microsoft 365's
_RANGE = re.compile(r"\s*([A-Za-z]{1,8})(?:-[A-Za-z0-9-]+)?\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?")
_VERP = re.compile(r"([^=+]++)\+[^=]++=[^=]++")


def without_tags(address: str) -> str:
    """The address to which all tags were added, as far as their form shows it; the same if there are none."""
    local, at, domain = address.rpartition("@")
    while at:
        if found := _BATV.fullmatch(local):
            local = found[1]
        elif found := _SRS.fullmatch(local):
            domain, local = found.groups()
        elif found := _VERP.fullmatch(local):
            local = found[1]
        else:
            return f"{local}@{domain}"
    return address


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
