"""A deadline as a calendar file, to be attached to the letter that brings it.

Only the bytes are made here; others decide which deadline, and in whose letter. The same arguments give the same
bytes; a later file with the same UID replaces the earlier one. icalendar escapes texts and folds lines; the parts
that are the same in every file are written out here, because making them takes six times as long. Implements RFC
5545 and protocol.md, "A match".
"""

from __future__ import annotations

from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.mail.compose import Attachment

# METHOD: nobody is asked to answer (RFC 5546 3.2.1).
_FILE = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//pbem//play by e-mail//EN
METHOD:PUBLISH
BEGIN:VEVENT
{summary}
DTSTART:{time:%Y%m%dT%H%M%S}Z
DTSTAMP:{now:%Y%m%dT%H%M%S}Z
{uid}
SEQUENCE:{sequence}
{description}
TRANSP:TRANSPARENT
BEGIN:VALARM
ACTION:DISPLAY
{alarm}
TRIGGER:-P1D
END:VALARM
END:VEVENT
END:VCALENDAR
""".replace("\n", "\r\n")


def appointment(
    name: str, uid: str, texts: tuple[str, str], time: datetime, now: datetime, sequence: int
) -> Attachment:
    """The calendar file of a deadline: its summary and description are `texts`.

    `sequence` grows with each change of the same event (RFC 5545 3.8.7.4).
    """
    summary, description = texts
    content = _FILE.format(
        summary=_line("SUMMARY", summary),
        time=time.astimezone(UTC),
        now=now.astimezone(UTC),
        uid=_line("UID", uid),
        sequence=sequence,
        description=_line("DESCRIPTION", description),
        alarm=_line("DESCRIPTION", summary),
    )
    return f"{name}.ics", "text/calendar", content.encode()


@lru_cache(maxsize=64)  # all seats have the same summary, and all turns of a match the same address
def _line(name: str, text: str) -> str:
    from icalendar import vText
    from icalendar.parser import Contentline

    line: bytes = Contentline(f"{name}:{vText(text).to_ical().decode()}").to_ical()  # type: ignore[no-untyped-call]  # icalendar's
    return line.decode()
