"""A deadline as a calendar file, to be attached to the letter that brings it.

Only the bytes: which deadline, and in whose letter, is decided elsewhere. The same arguments give the same bytes; a
later one with the same UID takes the place of the earlier one. Implements RFC 5545 and protocol.md, "A match".
"""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.mail.compose import Attachment

__all__ = ["appointment"]

LINE = 75  # octets in a line without its CRLF, the blank before a folded one included (RFC 5545 3.1)

_ESCAPED = str.maketrans({"\\": r"\\", ";": r"\;", ",": r"\,", "\n": r"\n"})
_CHARACTER = re.compile(r"\\?.", re.DOTALL)


def appointment(
    name: str, uid: str, texts: tuple[str, str], time: datetime, now: datetime, sequence: int
) -> Attachment:
    """The calendar file of a deadline: its summary and description are `texts`.

    `sequence` grows with each change of the same event (RFC 5545 3.8.7.4).
    """
    summary, description = map(_text, texts)
    lines = (
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//pbem//play by e-mail//EN",
        "METHOD:PUBLISH",  # RFC 5546 3.2.1: nobody is asked to answer
        "BEGIN:VEVENT",
        f"SUMMARY:{summary}",
        f"DTSTART:{_utc(time)}",
        f"DTSTAMP:{_utc(now)}",
        f"UID:{_text(uid)}",
        f"SEQUENCE:{sequence}",
        f"DESCRIPTION:{description}",
        "TRANSP:TRANSPARENT",
        "BEGIN:VALARM",
        "ACTION:DISPLAY",
        f"DESCRIPTION:{summary}",
        "TRIGGER:-P1D",
        "END:VALARM",
        "END:VEVENT",
        "END:VCALENDAR",
    )
    return f"{name}.ics", "text/calendar", "".join([f"{_folded(line)}\r\n" for line in lines]).encode()


def _utc(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _text(text: str) -> str:
    """A value of the type TEXT (RFC 5545 3.3.11)."""
    return "\n".join(text.splitlines()).translate(_ESCAPED)


def _folded(line: str) -> str:
    """A line as it is written, parted between characters where it is too long."""
    if line.isascii() and len(line) < LINE:
        return line
    lines, octets = [""], 0
    # Some programs do not know what was escaped in one line when it stands in the next.
    for character in _CHARACTER.findall(line):
        octets += len(character.encode())
        if octets >= LINE:
            lines.append("")
            octets = len(character.encode())
        lines[-1] += character
    return "\r\n ".join(lines)
