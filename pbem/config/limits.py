"""Limits of letters, connections and senders; the defaults are those of reliability.md, "Limits"."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.config.values import ConfigTable, Count, Duration

if TYPE_CHECKING:
    from collections.abc import Iterator


class Limits(ConfigTable, frozen=True):
    """The limits of one letter, one connection and one sender."""

    message_bytes: Count = 256 * 1024
    message_lines: Count = 5000
    line_bytes: Count = 64 * 1024
    headers: Count = 200
    header_bytes: Count = 64 * 1024
    received: Count = 50
    parts: Count = 50
    depth: Count = 10
    recipients: Count = 10
    connections: Count = 200
    connections_per_address: Count = 10
    messages_per_connection: Count = 100
    session: Duration = Duration(minutes=10)
    idle: Duration = Duration(seconds=60)
    letters_per_day: Count = 200
    answers_to_strangers: Count = 200
    letters_kept: Duration = Duration(days=90)
    reserve_bytes: Count = 64 * 1024 * 1024
    reading: Duration = Duration(seconds=20)
    reading_processor: Duration = Duration(seconds=5)
    reading_bytes: Count = 512 * 1024 * 1024

    def faults(self) -> Iterator[str]:
        """A limit under which no letter would be remembered."""
        if self.letters_kept < timedelta(days=1):
            yield "limits: letters_kept is shorter than a day: a letter that is sent again must be known"
