"""The author's address in a return path to which mail servers added a tag or a way back.

BATV signs a return path so that its server knows bounces of its own mail, SRS names a forwarder as the way back, and
VERP names the recipient. Only an address is read here, and nothing is believed: anybody can write any return path.
"""

from __future__ import annotations

import re

_BATV = re.compile(
    r"(?:prvs=[^=/]++[=/]|btv1==[^=]++==)([^=/].*+)", re.IGNORECASE
)  # draft-levine-smtp-batv, Barracuda
_SRS = re.compile(
    r"(?:srs0|srs1[=+-][^=]++=[^=]++=|[^=+]++\+srs)[=+-][^=]++=[^=]++=([a-z0-9.-]++)=(.++)", re.IGNORECASE
)  # www.libsrs2.net; the last one, USER+SRS=, is Microsoft 365's
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
