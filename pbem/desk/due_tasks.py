"""The tasks that become due as time passes: `tick` does them, in transactions like those of letters.

Reminders, misses, settled turns, late letters, players reached again, recovered keys, digests and housekeeping. No
other module has a deadline missed: `_advance` first asks which letters are still unhandled. Implements protocol.md,
"A match" (the clock), and design.md, "The way of a letter".
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import structlog

from pbem.desk import account_keys, bounces, housekeeping, late_delivery, unasked, witnesses
from pbem.desk.alarms import tell_operator
from pbem.desk.daily_limits import CLOCK_LEAPT, OUTAGE
from pbem.desk.decisions import decide
from pbem.desk.seats import SeatContext
from pbem.letters.draft import OutgoingLetter
from pbem.match import progress
from pbem.phrase import Phrase
from pbem.store import noted_time
from pbem.store.database import to_db
from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from structlog.typing import FilteringBoundLogger

    from pbem.desk.wiring import Desk
    from pbem.store.noted_time import Leap

_PER_TICK = 100
"""The most matches, planned tasks or digests that the clock sees to in one go: letters wait for it."""

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
    """Reminders, misses, settled turns, recovered keys, lost letters, housekeeping; returns when the next is due."""
    if desk.outbox.failures():
        decide(desk, partial(bounces.tell_failures, desk, now))
    reached, look = bounces.reached_again(desk, now)
    if reached:
        decide(desk, partial(bounces.reach_again, desk, reached, now))
    following = _see_to_late_letters(desk, now)
    for number in desk.archive.matches.due(to_db(now), _PER_TICK):
        try:
            decide(desk, partial(_advance, desk, number, now))
            desk.points("clock committed")
        except StoreError:
            raise
        except Exception as error:
            reference = desk.random(6).hex()
            _LOG.error("clock failed", match=number, reference=reference, exc_info=error)
            with desk.database.transaction():
                desk.archive.matches.look_at(number, to_db(now + _TRY_AGAIN))
    tournaments = _see_to_tournaments(desk, now)
    due = desk.archive.matches.next_due()
    recovery = _see_to_recoveries(desk, now)
    digest = _when_due(desk, desk.held.next_due, desk.letters.send_digest, now)
    offers = _when_due(desk, desk.people.next_held_back, partial(unasked.send, desk.offers), now)
    kept = housekeeping.look(desk, now)
    log = _see_to_log(desk, now)
    while (failing := desk.notifications.failing(_FAILURES)) is not None:
        decide(desk, partial(_give_up_topic, desk, failing, now))
    times = [due, tournaments, recovery, following, digest, offers, kept, log, look]
    return min(filter(None, times), default=None)


def beat(desk: Desk, now: datetime) -> datetime:
    """Record until when the server is at work and hears, each minute and at the end of a stop; returns that time."""
    stopped = noted_time.stop(desk.database) is not None
    heard = now if stopped else desk.inbox.heard_until(now)
    if stopped or desk.time.is_beat_due(heard):
        decide(desk, partial(_beat, desk, heard))
    return heard


def stand_still(desk: Desk, leap: Leap, now: datetime) -> None:
    """Decide nothing because the clock leapt, and nobody vouches for it; tell the operator once."""
    if noted_time.stop(desk.database) is None:
        decide(desk, partial(_stand_still, desk, leap, now))


def _stand_still(desk: Desk, leap: Leap, now: datetime) -> None:
    noted_time.note_stop(desk.database, leap)
    _LOG.error("the clock leapt: nothing is decided", seconds=int(leap.by.total_seconds()))
    facts = {"noted": leap.noted, "wall": leap.wall, "ahead": leap.by > timedelta()}
    tell_operator(desk, CLOCK_LEAPT, now, Phrase("[pbem] The server's clock leapt: nothing is decided"), facts)


def _see_to_tournaments(desk: Desk, now: datetime) -> datetime | None:
    """Start tournaments and rounds that are due, and carry out what is planned; returns when to call again."""
    rows, failed = desk.tournaments.archive.rows, False
    for number in rows.due(to_db(now)):
        try:
            decide(desk, partial(desk.tournaments.wake, number, now))
        except StoreError:
            raise
        except Exception as error:
            _LOG.error("tournament failed", tournament=number, exc_info=error)
            with desk.database.transaction():
                rows.look_at(number, to_db(now + _TRY_AGAIN))
    month = now.date().isoformat()[:7]
    while desk.tables_told != month:
        if not decide(desk, partial(_tell_next_table, desk, month)):
            desk.tables_told = month
    done, planned = 0, rows.tasks()
    for task in planned:
        if done == _PER_TICK:  # those that fail stay, and must not stand before all others
            break
        try:
            decide(desk, partial(desk.tournaments.carry_out, task, now))
            done += 1
        except StoreError:
            raise
        except Exception as error:
            _LOG.error("tournament failed", tournament=task.tournament, exc_info=error)
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
        decide(desk, partial(_recover, desk, now))
        following = desk.changes.next_due()
    return now + _UNHANDLED if following is not None and following <= now else following


def _recover(desk: Desk, now: datetime) -> None:
    account_keys.carry_out(desk.keys, min(now, desk.inbox.oldest_unhandled() or now), now)


def _see_to_log(desk: Desk, now: datetime) -> datetime | None:
    """Look at the log of all heads; returns when to do so again. No match waits for it, whatever is wrong there."""
    try:
        return witnesses.look(desk, now)
    except StoreError:
        raise
    except Exception as error:
        _LOG.error("log failed", exc_info=error)
        return now + _TRY_AGAIN


def _give_up_topic(desk: Desk, name: str, now: datetime) -> None:
    """Forget a topic to which nothing comes through, and tell its player by mail."""
    desk.notifications.drop(name)
    player = desk.players.by_name(name)
    assert player is not None
    text = desk.letters.draft("letters/notify_failed.txt")
    desk.letters.send(player.address, OutgoingLetter(Phrase("[pbem] No more notifications"), text), now)


def _see_to_late_letters(desk: Desk, now: datetime) -> datetime | None:
    """Stop clocks for letters that are late; returns when the next one will be."""
    due, following = late_delivery.due(desk, now)
    for found in due:
        try:
            decide(desk, partial(late_delivery.see_to, desk, found, now))
        except StoreError:
            raise
        except Exception as error:
            _LOG.error("late letter failed", match=found.match, outbox=found.id, exc_info=error)
            with desk.database.transaction():
                desk.outbox.unwatch(found)
    return following


def _when_due(
    desk: Desk, next_due: Callable[[], datetime | None], do: Callable[[datetime], None], now: datetime
) -> datetime | None:
    """Do something for one player after the other, while its time has come; returns when it is due next."""
    for _ in range(_PER_TICK):
        due = next_due()
        if due is None or due > now:
            return due
        decide(desk, partial(do, now))
    return next_due()


def _beat(desk: Desk, now: datetime) -> None:
    """Record that the server is at work; if it was not, or decided nothing, the operator is told."""
    stood = noted_time.note_end(desk.database)
    last = desk.time.beat(now, stood=stood)
    if last is None:
        return
    if stood:
        desk.inbox.postpone(last, now)
    account_keys.put_off(desk.keys, now - last, now)
    _LOG.warning("outage", seconds=int((now - last).total_seconds()))
    facts = {"last": last, "now": now, "mailbox": bool(desk.config.mailbox)}
    tell_operator(desk, OUTAGE, now, Phrase("[pbem] An outage: all deadlines move"), facts)


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
