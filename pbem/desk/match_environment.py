"""The environment of a match: outages, the players' zones and vacations, and the trial of a turn by outside rules.

A heartbeat is written while the desk works; if it is missing for long, the server was down, or its clock leapt. Rules
of other packages run in a copy of the process first, which can be stopped: if they do not come to an end, the match
is paused. Implements protocol.md, "A match", reliability.md, case 30, and docs/operating.md, "Games of other
packages".
"""

from __future__ import annotations

import os
import resource
import signal
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import structlog

from pbem.desk.daily_limits import RULES_FAILED
from pbem.match.events.clocks import OUTAGE
from pbem.match.seat_clock import VACATION, Calendar, Stop, zone_named
from pbem.match.step import Unresolved
from pbem.phrase import Phrase
from pbem.store.database import from_db, to_db

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from pbem.desk.letter_writer import LetterWriter
    from pbem.match.state import Match
    from pbem.store.noted_time import Outages
    from pbem.store.players import Players

TIMEZONE = "timezone"
"""The setting that names a player's zone."""

_BEAT = timedelta(minutes=1)


PROCESSOR: Final = 5
"""Seconds of processor time that the rules may take for a turn."""

_WALL: Final = 20
"""Seconds after which they are stopped in any case: letters of all matches wait meanwhile."""

_LOG: FilteringBoundLogger = structlog.get_logger("desk")


@dataclass(eq=False, repr=False)
class OutagesAndZones:
    """Outages and zones, which move deadlines; `_outage` is how long the server must be down before they move."""

    _outages: Outages
    _players: Players
    _outage: timedelta

    def is_beat_due(self, now: datetime) -> bool:
        """True unless a heartbeat was recorded just now."""
        last = self._outages.heartbeat()
        return last is None or now - last >= _BEAT

    def beat(self, now: datetime, *, stood: bool) -> datetime | None:
        """Record that the server is at work, in the caller's transaction; after an outage, returns when it began.

        That time `stood` is one, too, however short.
        """
        last = self._outages.heartbeat()
        self._outages.beat(now)
        if last is None or now == last or (now - last < self._outage and not stood):
            return None
        self._outages.add(last, now)
        return last

    def outages(self, since: datetime) -> list[Stop]:
        """The outages that ended after a moment."""
        return [Stop(began, ended, OUTAGE) for began, ended in self._outages.since(since)]

    def ago(self, now: datetime, period: timedelta) -> datetime:
        """The time since when the server has been at work for this long: nothing grows old during an outage.

        Nor while one is not over yet, because the mailbox is not read.
        """
        last = self._outages.heartbeat()
        if last is not None and now - last >= self._outage:
            now = last
        for began, ended in reversed(self._outages.since(datetime.min.replace(tzinfo=UTC))):
            if now - ended >= period:
                break
            period -= now - ended
            now = began
        return now - period

    def zone(self, player: str) -> str:
        """The zone of the player's wall clock."""
        return zone_named(self._players.setting(player, TIMEZONE, "UTC")) or "UTC"

    def calendar(self, player: str, since: datetime) -> Calendar:
        """The player's zone, and the vacations that ended, or will end, after a moment."""
        rows = self._players.vacations(player, to_db(since))
        vacations = tuple(Stop(from_db(row.began), from_db(row.ended), VACATION) for row in rows)
        return Calendar(self.zone(player), vacations)


def rehearse(letters: LetterWriter, now: datetime, match: Match, turn: Callable[[], object]) -> None:
    """Try a turn; raises `Unresolved`, and tells the operator, if it raises something or takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _run(turn, writing)
    os.close(writing)
    with open(reading, "rb") as answers:  # noqa: PTH123 - a pipe has no path
        said = answers.read().decode()
    os.waitpid(child, 0)
    if said == "=":
        return
    why = said.removeprefix("=") or "they did not come to an end"
    _LOG.error("rules failed", match=match.id, game=match.terms.game, turn=match.turn, why=why)
    package = str(match.terms.rules_package or match.terms.game)
    subject = Phrase("[pbem] {match} is paused: the rules failed", match=match.id)
    facts = {"match": match.id, "turn": match.turn, "package": package, "why": why}
    letters.tell_operator(RULES_FAILED, now, subject, facts, about=[match.id])
    raise Unresolved(f"the rules of {package} failed in turn {match.turn}: {why}")


def _run(turn: Callable[[], object], answer: int) -> None:
    """In the copy: run this, say whether it raised, and end at once, because nothing else here is ours."""
    said = "="
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_WALL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold secrets
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
        turn()
    except BaseException as error:
        said += f"they raised {type(error).__name__}"
    finally:
        os.write(answer, said.encode())
        os._exit(0)
