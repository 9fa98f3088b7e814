"""Addresses of letters: the one that From means, those of recipients, and one without the tags of mail servers.

From is read strictly: what other readers could read in another way is a defect. Servers tag return paths (BATV, SRS
and VERP). Implements RFC 5322 3.4 and reliability.md, cases 17 and 28.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.structured_header import without_comments

if TYPE_CHECKING:
    from collections.abc import Sequence

ADDRESS_BYTES = 254  # the longest address that fits into an SMTP path (RFC 5321 4.5.3.1.3)
FROM_BYTES = 2000  # a display name and one address; what is longer is no honest From
ADDRESSED = ("to", "cc", "delivered-to", "x-original-to")
ADDRESSES = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}")
ADDRESS = re.compile(
    r"(?=[^@]{1,64}@[^@]{1,253}\Z)"  # RFC 5321 4.5.3.1
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*"
)
_BETWEEN_MAILBOXES = re.compile("[,;]")
_AROUND_ADDRESSES = re.compile(r'[\s<>()\[\]",;:]+')
_SPACED_FROM = re.compile(rb"^from[ \t]++:", re.MULTILINE | re.IGNORECASE)
_BATV = r"(?i)(?:prvs=[^=/]++[=/]|btv1==[^=]++==)([^=/].*+)"
"""draft-levine-smtp-batv, Barracuda."""
_SRS = r"(?i)(?:srs0|srs1[=+-][^=]++=[^=]++=|[^=+]++\+srs)[=+-][^=]++=[^=]++=([a-z0-9.-]++)=(.++)"
"""www.libsrs2.net; the last one, USER+SRS=, is Microsoft 365's."""
_VERP = r"([^=+]++)\+[^=]++=[^=]++"


def mailboxes(value: str) -> list[str]:
    """The addresses to which a header of recipients sends a letter: none of a display name, a group or a comment."""
    bare = without_comments(value) or ""
    listed = (one.rpartition(":")[2].rpartition("<") for one in _BETWEEN_MAILBOXES.split(bare))
    found = (one.partition(">")[0].strip(" \t\r\n") for _, _, one in listed)
    return [address.rstrip(".") for address in found if ADDRESSES.fullmatch(address)]


def author(found: Sequence[str], head: bytes) -> tuple[str | None, str | None]:
    """The address of the one From among its values in this head, and its defect: then the only one it can mean."""
    if len(found) != 1:
        return None, "no From" if not found else "more than one From"
    if len(found[0]) > FROM_BYTES:
        return None, "From too long"
    if _SPACED_FROM.search(head):
        defect = "blanks before the colon of From"  # obsolete syntax that other readers skip
    else:
        address, fault = _mailbox(found[0])
        if not fault:
            return address, None
        defect = fault
    written = (word.strip("'") for word in _AROUND_ADDRESSES.split(found[0]))
    named = {_address(word.lower()) for word in written if "@" in word.strip("@")}
    return (named.pop() if len(named) == 1 else None), defect


def _mailbox(value: str) -> tuple[str | None, str]:
    """The address of `phrase <address>` or `address` (RFC 5322 3.4), or the defect of anything else."""
    bare = without_comments(value)
    if bare is None:
        return None, "unbalanced quotes or comments in From"
    if any(character in bare for character in ",;:"):
        return None, "From with more than one address"
    phrase, angle, rest = bare.partition("<")
    written = phrase
    if angle:
        written, closed, after = rest.partition(">")
        if not closed or after.strip() or "<" in written or "@" in phrase:
            return None, "malformed From"
    address = _address(written.strip())
    return address, "" if address else "no plain address in From"


def _address(written: str) -> str | None:
    """A plain address, its domain in lower case; None if it is none."""
    if len(written) > ADDRESS_BYTES or written.startswith("=?") or not ADDRESS.fullmatch(written):
        return None
    local, _, domain = written.rpartition("@")
    return f"{local}@{domain.lower()}"


def without_tags(address: str) -> str:
    """The address to which all tags were added, as far as their form shows it; the same if there are none."""
    local, at, domain = address.rpartition("@")
    while at:
        if found := re.fullmatch(_BATV, local):
            local = found[1]
        elif found := re.fullmatch(_SRS, local):
            domain, local = found.groups()
        elif found := re.fullmatch(_VERP, local):
            local = found[1]
        else:
            return f"{local}@{domain}"
    return address
