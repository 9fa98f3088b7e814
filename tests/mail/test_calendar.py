"""A deadline as a calendar file: read again by a library that others wrote, for any words."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar
from hypothesis import example, given
from hypothesis import strategies as st

from pbem.mail.calendar import appointment

DUE = datetime(2026, 3, 8, 13, 0, 0, 500, tzinfo=ZoneInfo("Europe/Berlin"))
NOW = datetime(2026, 3, 1, 12, 0, 0, 500, tzinfo=UTC)
WORDS = st.text(st.characters(blacklist_categories=("C", "Zl", "Zp")) | st.just("\n"))


def file(summary: str, description: str) -> bytes:
    name, kind, content = appointment("m1-turn-1", "m1-turn-1@play.example", (summary, description), DUE, NOW, 7)
    assert (name, kind) == ("m1-turn-1.ics", "text/calendar")
    return content


def by_the_library(summary: str, description: str) -> bytes:
    event, alarm, calendar = icalendar.Event(), icalendar.Alarm(), icalendar.Calendar()
    for name, value in {
        "uid": "m1-turn-1@play.example",
        "dtstamp": NOW.replace(microsecond=0),
        "sequence": 7,
        "dtstart": DUE.astimezone(UTC).replace(microsecond=0),
        "summary": summary,
        "description": description,
        "transp": "TRANSPARENT",
    }.items():
        event.add(name, value)
    for name, value in {"action": "DISPLAY", "description": summary, "trigger": timedelta(days=-1)}.items():
        alarm.add(name, value)
    for name, value in {"prodid": "-//pbem//play by e-mail//EN", "version": "2.0", "method": "PUBLISH"}.items():
        calendar.add(name, value)
    event.add_component(alarm)
    calendar.add_component(event)
    return bytes(calendar.to_ical())


@given(WORDS, WORDS)
@example("Spaceships m1, game 1; turn \\ 3" * 5, "Zu schicken an ö\n" * 20)
@example("a" * 65 + "\\,;\n", "ö" * 80)
def test_every_word_is_read_again(summary, description):
    content = file(summary, description)
    (event,) = icalendar.Calendar.from_ical(content).walk("VEVENT")
    (alarm,) = event.walk("VALARM")
    assert str(event["SUMMARY"]) == str(alarm["DESCRIPTION"]) == "\n".join(summary.splitlines())
    assert str(event["DESCRIPTION"]) == "\n".join(description.splitlines())
    assert event["DTSTART"].dt == datetime(2026, 3, 8, 12, 0, tzinfo=UTC)
    *lines, end = content.split(b"\r\n")
    assert not end
    assert all(len(line) <= 75 and b"\n" not in line for line in lines)


def test_it_is_written_as_the_library_writes_it():
    for words in ("Spaceships m1, game 1, turn 1", "Raumschiffe; Zug 1, für \\ " * 9):
        assert file(words, "To be sent to pbem+m1@play.example") == by_the_library(
            words, "To be sent to pbem+m1@play.example"
        )
