"""The tasks that become due as time passes: `tick` does them, in decisions like those of letters.

Reminders, misses, settled turns, late letters, players reached again, recovered keys, digests, old rows, a disk that
fills up. No other module has a deadline missed: `_advance` first asks which letters are still unhandled. Implements
protocol.md, "A match" (the clock), design.md, "The way of a letter", and reliability.md, case 36.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import structlog

from pbem.desk import account_keys, bounces, witnesses
from pbem.desk.commands import proposals
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
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from pbem.desk.wiring import Desk
    from pbem.store.noted_time import Leap

_PER_TICK = 100
"""The most matches, planned tasks or digests that the clock sees to in one go: letters wait for it."""

_DELETED = 100
"""The most old rows of a kind that one transaction deletes: others want to write, too."""

_WARNED = 3
"""The operator is told when less than so many times the reserve of the disk is left.

When only the reserve is left, the intake accepts no more letters: it is for those that are already here.
"""

_UNHANDLED = timedelta(seconds=30)
"""The delay before the clock looks again at a match past its deadline, while earlier letters may still wait."""

_TRY_AGAIN = timedelta(hours=1)
"""The delay before the clock looks again at a match on which it failed."""

_FAILURES = 20
"""The notifications in a row that do not arrive, after which a player's topic is given up."""

_LOG: FilteringBoundLogger = structlog.get_logger("desk")


def tick(desk: Desk, now: datetime) -> datetime | None:
    """Do what is due; returns when to be called again. While the server cannot hear, time stands still.

    Otherwise a deadline would be missed, or a key recovered, while the letter that prevents it waits in the mailbox.
    """
    heard = beat(desk, now)
    following = _do_what_is_due(desk, heard)
    waits = following is not None and heard < following <= now
    return now + _UNHANDLED if waits else following


def _do_what_is_due(desk: Desk, now: datetime) -> datetime | None:
    """Do it, each thing in a decision of its own; returns when the next is due."""
    if desk.outbox.failures():
        with desk.decision():
            bounces.tell_failures(desk, now)
    reached, look = bounces.reached_again(desk, now)
    if reached:
        with desk.decision():
            bounces.reach_again(desk, reached, now)
    late, following = bounces.late_letters(desk, now)
    for letter in late:
        stop, about = partial(bounces.stop_clock, desk, letter, now), {"match": letter.match, "outbox": letter.id}
        if not _decided(desk, "late letter", stop, about):
            with desk.database.transaction():
                desk.outbox.unwatch(letter)
    for number in desk.archive.matches.due(to_db(now), _PER_TICK):
        if _decided(desk, "clock", partial(_advance, desk, number, now), {"match": number}):
            desk.points("clock committed")
        else:
            with desk.database.transaction():
                desk.archive.matches.look_at(number, to_db(now + _TRY_AGAIN))
    tournaments = _see_to_tournaments(desk, now)
    due = desk.archive.matches.next_due()
    recovery = _see_to_recoveries(desk, now)
    digest = _when_due(desk, desk.held.next_due, desk.letters.send_digest, now)
    offers = _when_due(desk, desk.people.next_held_back, partial(proposals.send_held_back, desk.offers), now)
    kept = _keep_house(desk, now)
    log = _see_to_log(desk, now)
    while (failing := desk.notifications.failing(_FAILURES)) is not None:
        # A topic to which nothing comes through is forgotten, and its player told by mail.
        with desk.decision():
            desk.notifications.drop(failing)
            player = desk.players.by_name(failing)
            assert player is not None
            text = desk.letters.draft("letters/notify_failed.txt")
            desk.letters.send(player.address, OutgoingLetter(Phrase("[pbem] No more notifications"), text), now)
    times = [due, tournaments, recovery, following, digest, offers, kept, log, look]
    return min(filter(None, times), default=None)


def _decided(desk: Desk, what: str, do: Callable[[], None], about: dict[str, int]) -> bool:
    """Do something in a decision; returns False if it failed, so that nothing else waits for it.

    Raises if the store fails.
    """
    try:
        with desk.decision():
            do()
    except StoreError:
        raise
    except Exception as error:
        _LOG.error(f"{what} failed", **about, reference=desk.random(6).hex(), exc_info=error)
        return False
    return True


def beat(desk: Desk, now: datetime) -> datetime:
    """Record until when the server is at work and hears, each minute and at the end of a stop; returns that time.

    If it was not at work, or decided nothing, the operator is told.
    """
    stopped = noted_time.stop(desk.database) is not None
    heard = now if stopped else desk.inbox.heard_until(now)
    if not (stopped or desk.time.is_beat_due(heard)):
        return heard
    with desk.decision():
        stood = noted_time.note_end(desk.database)
        last = desk.time.beat(heard, stood=stood)
        if last is not None:
            if stood:
                desk.inbox.postpone(last, heard)
            account_keys.put_off(desk.keys, heard - last, heard)
            _LOG.warning("outage", seconds=int((heard - last).total_seconds()))
            facts = {"last": last, "now": heard, "mailbox": bool(desk.config.mailbox)}
            desk.letters.tell_operator(OUTAGE, heard, Phrase("[pbem] An outage: all deadlines move"), facts)
    return heard


def stand_still(desk: Desk, leap: Leap, now: datetime) -> None:
    """Decide nothing because the clock leapt, and nobody vouches for it; tell the operator once."""
    if noted_time.stop(desk.database) is not None:
        return
    with desk.decision():
        noted_time.note_stop(desk.database, leap)
        _LOG.error("the clock leapt: nothing is decided", seconds=int(leap.by.total_seconds()))
        facts = {"noted": leap.noted, "wall": leap.wall, "ahead": leap.by > timedelta()}
        desk.letters.tell_operator(
            CLOCK_LEAPT, now, Phrase("[pbem] The server's clock leapt: nothing is decided"), facts
        )


def _see_to_tournaments(desk: Desk, now: datetime) -> datetime | None:
    """Start tournaments and rounds that are due, and carry out what is planned; returns when to call again."""
    director, rows, failed = desk.tournaments, desk.tournaments.archive.rows, False
    for number in rows.due(to_db(now), _PER_TICK):
        if not _decided(desk, "tournament", partial(director.wake, number, now), {"tournament": number}):
            with desk.database.transaction():
                rows.look_at(number, to_db(now + _TRY_AGAIN))
    month = now.date().isoformat()[:7]
    while desk.tables_told != month:
        with desk.decision():
            told = _tell_next_table(desk, month)
        if not told:
            desk.tables_told = month
    done, planned = 0, rows.tasks()
    for task in planned:
        if done == _PER_TICK:  # those that fail stay, and must not stand before all others
            break
        about = {"tournament": task.tournament}
        if _decided(desk, "tournament", partial(director.carry_out, task, now), about):
            done += 1
        else:
            failed = True
    more = now if done == _PER_TICK < len(planned) else None
    times = [rows.next_due(), now + _TRY_AGAIN if failed else None, more]
    return min(filter(None, times), default=None)


def _tell_next_table(desk: Desk, month: str) -> bool:
    """Plan the letters with the table of the next tournament; False if all of this month are planned."""
    told = desk.database.meta("tables told") or ""
    if told == month:
        return False
    last = int(told.split()[1]) if told.startswith(f"{month} ") else 0
    number = next((one for one in desk.tournaments.archive.rows.running() if one > last), None)
    desk.database.set_meta("tables told", month if number is None else f"{month} {number}")
    if number is not None:
        desk.tournaments.tell_table(number)
    return True


def _see_to_recoveries(desk: Desk, now: datetime) -> datetime | None:
    """Replace keys whose delay is over, unless a letter that came before may object; returns when to do so again."""
    following = desk.changes.next_due()
    if following is not None and following <= now:
        with desk.decision():
            account_keys.carry_out(desk.keys, min(now, desk.inbox.oldest_unhandled() or now), now)
        following = desk.changes.next_due()
    return now + _UNHANDLED if following is not None and following <= now else following


def _see_to_log(desk: Desk, now: datetime) -> datetime | None:
    """Look at the log of all heads; returns when to do so again. No match waits for it, whatever is wrong there."""
    try:
        return witnesses.look(desk, now)
    except StoreError:
        raise
    except Exception as error:
        _LOG.error("log failed", exc_info=error)
        return now + _TRY_AGAIN


def _keep_house(desk: Desk, now: datetime) -> datetime | None:
    """Daily, warn the operator of a disk that fills up, and delete old rows; returns when to continue, if soon."""
    today, limits = now.date().isoformat(), desk.config.limits
    if desk.warned_on != today:
        room = desk.database.engine.room()
        if room is not None and room < _WARNED * limits.reserve_bytes:
            left, reserve = room // 2**20, limits.reserve_bytes // 2**20
            _LOG.warning("little room", mebibytes=left)
            subject = Phrase("[pbem] The disk is filling up")
            with desk.decision():
                desk.letters.tell_operator(LITTLE_ROOM, now, subject, {"left": left, "reserve": reserve})
            desk.warned_on = today
    if desk.pruned_on != today:
        with desk.database.transaction():
            before = to_db(desk.time.ago(now, limits.letters_kept))
            pruned = prune(desk.database, before, today, _DELETED)
        if pruned:
            _LOG.info("forgotten", rows=pruned)
            return now
        desk.pruned_on = today
    return None


def _when_due(
    desk: Desk, next_due: Callable[[], datetime | None], do: Callable[[datetime], None], now: datetime
) -> datetime | None:
    """Do something for one player after the other, while its time has come; returns when it is due next."""
    for _ in range(_PER_TICK):
        due = next_due()
        if due is None or due > now:
            return due
        with desk.decision():
            do(now)
    return next_due()


def _advance(desk: Desk, number: int, now: datetime) -> None:
    """Do what is due in a match; a deadline is missed only once every letter that came in time is handled."""
    at = SeatContext(desk.seats, *desk.archive.known(number))
    oldest = desk.inbox.oldest_unhandled()
    step = at.step(now, oldest)
    progress.tick(step)
    at.commit(step)
    if oldest is not None and (wakes := step.match.wakes) is not None and wakes <= now:
        desk.archive.matches.look_at(number, to_db(now + _UNHANDLED))
    desk.points("clock written")
