"""Deadlines as a calendar file: one, to be attached to the letter that brings it, or all of a player's.

The same arguments give the same bytes; a later file with the same UID replaces the earlier one. icalendar escapes
texts and folds lines; to make the other parts with it, too, takes six times as long. Implements RFC 5545 and
protocol.md, "A match".
"""

from __future__ import annotations

from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pbem.mail.compose import Attachment

# METHOD: nobody is asked to answer (RFC 5546 3.2.1).
_FILE = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//pbem//play by e-mail//EN
METHOD:PUBLISH
{events}END:VCALENDAR
""".replace("\n", "\r\n")

_EVENT = """\
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
""".replace("\n", "\r\n")


class Appointment(NamedTuple):
    """A deadline of a seat, with a summary and a description."""

    server: str
    match: str
    game: int
    what: str
    """The thing that is due: `setup`, `turn-7` or `reveal`."""
    seat: int
    summary: str
    description: str
    time: datetime
    sequence: int
    """It grows with each change of the same event (RFC 5545 3.8.7.4)."""

    @property
    def name(self) -> str:
        """The name of what is due, for all seats."""
        return f"{self.match}-game-{self.game}-{self.what}"


def attached(one: Appointment, now: datetime) -> Attachment:
    """The calendar file of a deadline."""
    return f"{one.name}.ics", "text/calendar", calendar([one], now)


def calendar(appointments: Iterable[Appointment], now: datetime) -> bytes:
    """The calendar file of these deadlines."""
    return _FILE.format(
        events="".join(
            _EVENT.format(
                summary=_line("SUMMARY", one.summary),
                time=one.time.astimezone(UTC),
                now=now.astimezone(UTC),
                uid=_line("UID", f"{one.name}-seat-{one.seat}@{one.server}"),
                sequence=one.sequence,
                description=_line("DESCRIPTION", one.description),
                alarm=_line("DESCRIPTION", one.summary),
            )
            for one in appointments
        )
    ).encode()


@lru_cache(maxsize=64)  # all seats have the same summary, and all turns of a match the same address
def _line(name: str, text: str) -> str:
    from icalendar import vText
    from icalendar.parser import Contentline

    line: bytes = Contentline(f"{name}:{vText(text).to_ical().decode()}").to_ical()  # type: ignore[no-untyped-call]  # icalendar's
    return line.decode()
