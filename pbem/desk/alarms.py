"""Letters to the operator about what happens on the server, each kind a few times a day.

Implements reliability.md, "Limits".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pbem.letters.draft import OutgoingLetter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pbem.config.server import Config
    from pbem.desk.daily_limits import DailyCounts, DailyLimit
    from pbem.desk.letter_writer import LetterWriter
    from pbem.letters.draft import Enclosed, Facts
    from pbem.phrase import Phrase


class Writing(Protocol):
    """The parts of a desk that a letter to the operator needs."""

    config: Config
    counts: DailyCounts
    letters: LetterWriter


def tell_operator(
    desk: Writing,
    limit: DailyLimit,
    now: datetime,
    subject: Phrase,
    facts: Facts,
    *,
    about: Sequence[str] = (),
    attached: Sequence[Enclosed] = (),
) -> bool:
    """Write to the operator, if there is one and this is not too much today; returns True if it was written.

    The letter's fact `last_today` says that no more such letters follow today.
    """
    left = desk.counts.left(limit, now, *about) if desk.config.operator else -1
    if left >= 0:
        out = OutgoingLetter(
            subject, desk.letters.draft(f"letters/{limit.template}.txt", last_today=left == 0, **facts)
        )
        out.attachments += attached
        desk.letters.send(desk.config.operator, out, now)
    return left >= 0
