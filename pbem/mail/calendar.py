"""A deadline as a calendar file, to be attached to the letter that brings it.

Only the bytes: which deadline, and in whose letter, is decided elsewhere. The same arguments give the same bytes; a
later one with the same UID takes the place of the earlier one. Implements RFC 5545 and protocol.md, "A match".
"""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.mail.compose import Attachment

__all__ = ["appointment"]


def appointment(
    name: str, uid: str, texts: tuple[str, str], time: datetime, now: datetime, sequence: int
) -> Attachment:
    """The calendar file of a deadline: its summary and description are `texts`.

    `sequence` grows with each change of the same event (RFC 5545 3.8.7.4).
    """
    from icalendar import Alarm, Calendar, Event

    event = Event()
    event.add("uid", uid)
    event.add("dtstamp", now.astimezone(UTC).replace(microsecond=0))
    event.add("sequence", sequence)
    event.add("dtstart", time.astimezone(UTC).replace(microsecond=0))
    event.add("summary", texts[0])
    event.add("description", texts[1])
    event.add("transp", "TRANSPARENT")
    alarm = Alarm()
    alarm.add("action", "DISPLAY")
    alarm.add("description", texts[0])
    alarm.add("trigger", timedelta(days=-1))
    event.add_component(alarm)
    calendar = Calendar()
    calendar.add("prodid", "-//pbem//play by e-mail//EN")
    calendar.add("version", "2.0")
    calendar.add("method", "PUBLISH")  # RFC 5546 3.2.1: nobody is asked to answer
    calendar.add_component(event)
    return f"{name}.ics", "text/calendar", bytes(calendar.to_ical())
