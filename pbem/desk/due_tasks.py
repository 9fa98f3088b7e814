"""The tasks that become due as time passes: `tick` does them, in decisions like those of letters.

Reminders, misses, settled turns, late letters, players reached again, recovered keys, digests, old rows, a disk that
fills up. No other module has a deadline missed: `_tick_match` first asks which letters are still unhandled.
Implements protocol.md, "A match" (the clock), design.md, "The way of a letter", and reliability.md, case 36.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import structlog

from pbem.desk import account_keys
from pbem.desk.daily_limits import CLOCK_LEAPT, LITTLE_ROOM, OUTAGE
from pbem.desk.seats import SeatContext
from pbem.letters.draft import OutgoingLetter
from pbem.match import progress
from pbem.phrase import Phrase
from pbem.store import noted_time
from pbem.store.database import to_db
from pbem.store.errors import StoreError
from pbem.store.retention import prune

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from structlog.typing import FilteringBoundLogger

    from pbem.config.server import Config
    from pbem.desk.account_keys import Keyring
    from pbem.desk.bounces import Bounces
    from pbem.desk.match_environment import OutagesAndZones
    from pbem.desk.outcomes import Decision
    from pbem.desk.seats import Seats
    from pbem.desk.witnesses import Witnesses
    from pbem.failpoints import Failpoints
    from pbem.store.database import Database
    from pbem.store.inbox import Inbox
    from pbem.store.noted_time import Leap

UNHANDLED = timedelta(seconds=30)
"""The delay before the clock looks again at what is due, while letters that came before may wait."""

PER_TICK = 100
"""The most matches, planned tasks or digests that the clock sees to in one go: letters wait for it."""

_DELETED = 100
"""The most old rows of a kind that one transaction deletes: others want to write, too."""

_WARNED = 3
"""The operator is told when less than so many times the reserve of the disk is left.

When only the reserve is left, the intake accepts no more letters: it is for those that are already here.
"""

TRY_AGAIN = timedelta(hours=1)
"""The delay before the clock looks again at a match on which it failed."""

_FAILURES = 20
"""The notifications in a row that do not arrive, after which a player's topic is given up."""

_LOG: FilteringBoundLogger = structlog.get_logger("desk")


@dataclass(eq=False, repr=False)
class DueTasks:
    """The tasks of the clock, and the parts that do them."""

    config: Config
    database: Database
    decision: Decision
    points: Failpoints
    random: Callable[[int], bytes]
    inbox: Inbox
    queues: Sequence[tuple[Callable[[], datetime | None], Callable[[datetime], None]]]
    """The tasks for each player, done one after the other when they are due."""
    beside: Sequence[Callable[[DueTasks, datetime], datetime | None]]
    """The tasks beside those of matches; each returns when to call it again."""
    seats: Seats
    time: OutagesAndZones
    keys: Keyring
    bounces: Bounces
    witnesses: Witnesses
    pruned_on: str = ""
    """The day for which old rows were last deleted."""
    warned_on: str = ""
    """The day on which the operator was last told that the disk is filling up."""

    def tick(self, now: datetime) -> datetime | None:
        """Do what is due; returns when to be called again. While the server cannot hear, time stands still.

        Otherwise a deadline would be missed, or a key recovered, while the letter that prevents it still waits.
        """
        heard = self.beat(now)
        following = self._do_what_is_due(heard)
        waits = following is not None and heard < following <= now
        return now + UNHANDLED if waits else following

    def _do_what_is_due(self, now: datetime) -> datetime | None:
        """Do it, each thing in a decision of its own; returns when the next is due."""
        if self.bounces.outbox.failures():
            with self.decision():
                self.bounces.tell_failures(now)
        reached, look = self.bounces.reached_again(now)
        if reached:
            with self.decision():
                self.bounces.reach_again(reached, now)
        late, following = self.bounces.late_letters(now)
        for letter in late:
            stop, about = partial(self.bounces.stop_clock, letter, now), {"match": letter.match, "outbox": letter.id}
            if not self.decided("late letter", stop, about):
                with self.database.transaction():
                    self.bounces.outbox.unwatch(letter)
        matches = self.seats.archive.matches
        for number in matches.due(to_db(now), PER_TICK):
            if self.decided("clock", partial(self._tick_match, number, now), {"match": number}):
                self.points("clock committed")
            else:
                with self.database.transaction():
                    matches.look_at(number, to_db(now + TRY_AGAIN))
        times = [see_to(self, now) for see_to in self.beside]
        due = matches.next_due()
        # Keys whose delay is over replace the old ones, unless an earlier letter may object.
        recovery = self.keys.changes.next_due()
        if recovery is not None and recovery <= now:
            with self.decision():
                account_keys.carry_out(self.keys, min(now, self.inbox.oldest_unhandled() or now), now)
            recovery = self.keys.changes.next_due()
        recovery = now + UNHANDLED if recovery is not None and recovery <= now else recovery
        times += [self._when_due(next_due, do, now) for next_due, do in self.queues]
        kept = self._keep_house(now)
        # No match waits for the log of all heads, whatever is wrong there.
        try:
            log = self.witnesses.look(now)
        except StoreError:
            raise
        except Exception as error:
            _LOG.error("log failed", exc_info=error)
            log = now + TRY_AGAIN
        self._drop_topics(now)
        times += [due, recovery, following, kept, log, look]
        return min(filter(None, times), default=None)

    def _drop_topics(self, now: datetime) -> None:
        """Forget topics of notifications to which nothing comes through; their players are told by mail."""
        while (failing := self.keys.topics.failing(_FAILURES)) is not None:
            with self.decision():
                self.keys.topics.drop(failing)
                player = self.keys.players.known(failing)
                text = self.seats.letters.template("letters/notify_failed.txt")
                out = OutgoingLetter(Phrase("[pbem] No more notifications"), text)
                self.seats.letters.send(player.address, out, now)

    def decided(self, what: str, do: Callable[[], None], about: dict[str, int]) -> bool:
        """Do something in a decision; returns False if it failed, so that nothing else waits for it.

        Raises if the store fails.
        """
        try:
            with self.decision():
                do()
        except StoreError:
            raise
        except Exception as error:
            _LOG.error(f"{what} failed", **about, reference=self.random(6).hex(), exc_info=error)
            return False
        return True

    def beat(self, now: datetime) -> datetime:
        """Record until when the server is at work and hears, each minute and at the end of a stop; returns that time.

        If it was not at work, or decided nothing, the operator is told.
        """
        stopped = noted_time.stop(self.database) is not None
        heard = now if stopped else self.inbox.heard_until(now)
        if not (stopped or self.time.is_beat_due(heard)):
            return heard
        with self.decision():
            stood = noted_time.note_end(self.database)
            last = self.time.beat(heard, stood=stood)
            if last is not None:
                if stood:
                    self.inbox.postpone(last, heard)
                account_keys.put_off(self.keys, heard - last, heard)
                self.seats.archive.matches.look_at_all(to_db(heard))  # letters tell the deadlines that have moved
                _LOG.warning("outage", seconds=int((heard - last).total_seconds()))
                facts = {"last": last, "now": heard, "mailbox": bool(self.config.mailbox)}
                self.seats.letters.tell_operator(OUTAGE, heard, Phrase("[pbem] An outage: all deadlines move"), facts)
        return heard

    def stand_still(self, leap: Leap, now: datetime) -> None:
        """Decide nothing because the clock leapt, and nobody vouches for it; tell the operator once."""
        if noted_time.stop(self.database) is not None:
            return
        with self.decision():
            noted_time.note_stop(self.database, leap)
            _LOG.error("the clock leapt: nothing is decided", seconds=int(leap.by.total_seconds()))
            facts = {"noted": leap.noted, "wall": leap.wall, "ahead": leap.by > timedelta()}
            self.seats.letters.tell_operator(
                CLOCK_LEAPT, now, Phrase("[pbem] The server's clock leapt: nothing is decided"), facts
            )

    def _keep_house(self, now: datetime) -> datetime | None:
        """Daily, warn the operator of a full disk, and delete old rows; returns when to continue, if soon."""
        today, limits = now.date().isoformat(), self.config.limits
        if self.warned_on != today:
            room = self.database.engine.room()
            if room is not None and room < _WARNED * limits.reserve_bytes:
                left, reserve = room // 2**20, limits.reserve_bytes // 2**20
                _LOG.warning("little room", mebibytes=left)
                subject = Phrase("[pbem] The disk is filling up")
                with self.decision():
                    self.seats.letters.tell_operator(LITTLE_ROOM, now, subject, {"left": left, "reserve": reserve})
                self.warned_on = today
        if self.pruned_on != today:
            with self.database.transaction():
                before = to_db(self.time.ago(now, limits.letters_kept))
                pruned = prune(self.database, before, today, _DELETED)
            if pruned:
                _LOG.info("forgotten", rows=pruned)
                return now
            self.pruned_on = today
        return None

    def _when_due(
        self, next_due: Callable[[], datetime | None], do: Callable[[datetime], None], now: datetime
    ) -> datetime | None:
        """Do something for one player after the other, while its time has come; returns when it is due next."""
        for _ in range(PER_TICK):
            due = next_due()
            if due is None or due > now:
                return due
            with self.decision():
                do(now)
        return next_due()

    def _tick_match(self, number: int, now: datetime) -> None:
        """Do what is due in a match; a deadline is missed only once every letter that came in time is handled."""
        at = SeatContext(self.seats, *self.seats.archive.known(number))
        oldest = self.inbox.oldest_unhandled()
        step = at.step(now, oldest)
        progress.tick(step)
        at.commit(step)
        if oldest is not None and (wakes := step.match.wakes) is not None and wakes <= now:
            self.seats.archive.matches.look_at(number, to_db(now + UNHANDLED))
        self.points("clock written")
