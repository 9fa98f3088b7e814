"""Letters of ours that came back, or arrive late: the players whom they cut off, and the clocks that they stop.

`judge` decides whether a letter is a bounce, and `_cut_off` whether it is believed. Reading only finds candidates,
and `pbem/mail/delivery_status.py` only reads which letter came back, and why. The player of a lost letter is out of
reach until something comes that only the player can have sent, or until a later letter arrives. A bounce is the
receiver's bare word, and unsigned: whoever is silent could write one of any letter that did arrive. So it is believed
only while no later letter to that address was accepted without one. The operator and the opponents are told when that
changes, not letter by letter. The opponents are never told why: an address and the reply of its server concern only
the operator.
A clock starts when its letter is written. If the letter waits long in the outbox, because the other side is down or
defers it, the clock is stopped until delivery: the player is not at fault. Every call is part of the desk's
transaction. Implements reliability.md, cases 28 and 29, and protocol.md, "A match" (a failed delivery never costs a
player time).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from pbem.desk import outcomes
from pbem.desk.daily_limits import OUT_OF_REACH, UNDELIVERED
from pbem.desk.seats import SeatContext, running
from pbem.mail import delivery_status
from pbem.match.events import clocks
from pbem.match.naming import hides_players
from pbem.match.seat_clock import written
from pbem.match.step import Notice
from pbem.phrase import Phrase
from pbem.store.database import from_db, to_db
from pbem.store.outbox import LATE, Failure, Watched

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from pbem.config.server import Config
    from pbem.desk.caller import Caller
    from pbem.desk.daily_limits import DailyCounts
    from pbem.desk.letter_writer import LetterWriter
    from pbem.desk.match_environment import OutagesAndZones
    from pbem.desk.seats import Seats
    from pbem.mail.delivery_status import DeliveryReport
    from pbem.mail.message import Letter
    from pbem.store.inbox import InboxRow
    from pbem.store.outbox import Outbox
    from pbem.store.players import PlayerRow, Players

_CAME_BACK = Phrase("it bounced, with status {status}")

_SOON = timedelta(days=1)
"""The time within which an accepted letter bounces, if it does: most do within minutes."""

_AGAIN = timedelta(hours=1)
"""The interval at which letters are looked for that reach unreachable players."""

_LISTED = 50
"""The most undelivered letters that one notice lists."""

_AT_ONCE = 1000
"""The most late letters that are looked at in one go."""

_LOG: FilteringBoundLogger = structlog.get_logger("bounces")


@dataclass(eq=False, repr=False)
class Bounces:
    """The letters of ours that came back or arrive late, and the players whom they concern."""

    config: Config
    outbox: Outbox
    players: Players
    seats: Seats
    letters: LetterWriter
    counts: DailyCounts
    time: OutagesAndZones

    def judge(self, row: InboxRow, letter: Letter, report: DeliveryReport | None, now: datetime) -> str | None:
        """Handle a letter with a report if it is a bounce; returns the outcome, None if it is none."""
        if report is None:
            return None
        if self.config.return_paths:
            token = delivery_status.token(row.envelope.recipients, self.config.mail_address, self.config.delimiter)
            returned = self.outbox.returned(token) if token else None
        else:
            quoted = map(self.outbox.returned, delivery_status.quoted_tokens(letter, row.envelope.sender))
            returned = next(filter(None, quoted), None)
        if returned is None:
            return None
        self.outbox.bounce(returned.id, row.id, report.kind, report.status, row.received)
        _LOG.info("bounce", outbox=returned.id, kind=report.kind, status=report.status)
        # Every receiver of a letter knows its return path, so a second report of a bounce proves nothing new.
        if report.kind == "permanent" and self.outbox.bounces(returned.id)["permanent"] == 1:
            self._report([returned], now, _CAME_BACK.given(status=report.status or Phrase("unknown")))
        return outcomes.BOUNCE.of(f"{report.kind}, of letter {returned.id}")

    def tell_failures(self, now: datetime) -> None:
        """Report the letters that could not be sent; each once."""
        failures = self.outbox.failures()
        for failure in failures:
            self.outbox.told(failure.id)
        self._report(failures, now)

    def hear_from(self, caller: Caller) -> bool:
        """True if the caller is a player who was out of reach, and only the player can have sent what came now."""
        if caller.player is None or not caller.new:
            return False
        since = self.players.unreachable(caller.player.name)
        if since is None or to_db(caller.received) <= since:
            return False
        self._reach(caller.player, from_db(since), caller.now, heard=True)
        return True

    def reached_again(self, now: datetime) -> tuple[list[str], datetime | None]:
        """The unreachable players whom letters reach again, and when to look next. Changes nothing."""
        if not self.players.out_of_reach():
            return [], None
        return self.outbox.reached_again(now - _SOON), now + _AGAIN

    def reach_again(self, names: list[str], now: datetime) -> None:
        """A later letter to these players was accepted, and did not bounce: they are not out of reach."""
        for name in names:
            player, since = self.players.by_name(name), self.players.unreachable(name)
            if player is not None and since is not None:
                self._reach(player, from_db(since), now, heard=False)
                subject = Phrase("letters reach you again")
                self._write(player, "reached", subject, now, opponents=False)

    def _reach(self, player: PlayerRow, since: datetime, now: datetime, *, heard: bool) -> None:
        """The player can be reached again: clocks run, and the opponents are told."""
        self.players.note_reached(player.name)
        _LOG.info("player reached again", player=player.name)
        self._clocks(player, now, None)
        subject = Phrase("{player} can be reached again", player=player.name)
        self._write(player, "reachable", subject, now, since=since, heard=heard, opponents=True)

    def _report(self, failures: list[Failure], now: datetime, how: str = "") -> None:
        """Note which players are cut off by letters that did not arrive, and tell those concerned what is new."""
        told: list[tuple[Failure, str | None]] = []
        for failure in failures:
            if failure.recipient == self.config.operator:
                _LOG.error("letter to the operator undelivered", outbox=failure.id)
                continue
            player = self.players.by_address(failure.recipient)
            if player is None:
                # Somebody wrote in that name, perhaps; it concerns nobody here.
                _LOG.info("letter to a stranger undelivered", outbox=failure.id)
            elif failure.recipient.lower() != player.address.lower():
                told.append((failure, None))  # reports do not go to a second address: nobody is cut off
            elif self._cut_off(player, failure, now):
                _LOG.warning("player out of reach", player=player.name, outbox=failure.id)
                told.append((failure, player.name))
                self._clocks(player, now, failure.created)
                subject = Phrase("letters do not reach {player}", player=player.name)
                self._write(player, "unreachable", subject, now, opponents=True)
                self._write(player, "returned", Phrase("a letter to you bounced"), now, opponents=False)
        if told:
            facts = {"failures": told[:_LISTED], "more": len(told[_LISTED:]), "how": how}
            self.letters.tell_operator(UNDELIVERED, now, Phrase("[pbem] Letters could not be delivered"), facts)

    def _cut_off(self, player: PlayerRow, failure: Failure, now: datetime) -> bool:
        """Mark a player as cut off by a letter that did not arrive; returns True if that is new.

        The receiver of a letter knows its return path: a player who is lost and found all day is not reported again.
        """
        if self.outbox.arrived_since(failure.id, now):
            _LOG.info("a later letter arrived", player=player.name, outbox=failure.id)
            return False
        if self.players.unreachable(player.name) or self.counts.left(OUT_OF_REACH, now, player.name) < 0:
            return False
        return self.players.note_unreachable(player.name, to_db(now), failure.id)

    def _clocks(self, player: PlayerRow, now: datetime, since: datetime | None) -> None:
        """Stop the player's clocks as of a letter that did not arrive; None: let them run again."""
        for seated in running(self.seats, player.name):
            step = seated.step(now)
            if since is None:
                clocks.release_reached(step, seated.seat)
            else:
                clocks.halt_unreachable(step, seated.seat, since)
            if step.entries:
                self.seats.archive.save(seated.row.number, seated.match, step)

    def _write(
        self, player: PlayerRow, template: str, subject: Phrase, now: datetime, *, opponents: bool, **facts: object
    ) -> None:
        """A letter to the player, or to the opponents, in each running match of the player."""
        for seated in running(self.seats, player.name):
            if opponents and hides_players(seated.match):  # they would know who that is
                continue
            long_enough = now + clocks.long_enough(seated.match.terms)
            for seat in seated.match.seats:
                if (seat == seated.seat) != opponents:
                    until = written(long_enough, self.time.zone(seated.match.name(seat)))
                    seated.write_at_once(seat, template, subject, now, player=player.name, until=until, **facts)

    def late_letters(self, now: datetime) -> tuple[list[Watched], datetime | None]:
        """The letters that are late, or were, and when to look again. Changes nothing.

        The latter is when a waiting letter will be late if it is not delivered by then.
        """
        found = self.outbox.watched(_AT_ONCE)
        waiting = [one for one in found if one.settled is None and not one.late]
        ripe = [one for one in waiting if one.created + LATE <= now]
        following = [one.created + LATE for one in waiting if one.created + LATE > now]
        settled = [one for one in found if one.settled is not None]
        return [*settled, *ripe], min(following, default=None)

    def stop_clock(self, found: Watched, now: datetime) -> None:
        """Stop the clock for a letter that waits, or let it run after one that was late."""
        if not (self.outbox.delayed(found) if found.settled is None else self.outbox.unwatch(found)):
            return  # another desk was first
        if found.settled and self.outbox.is_late(found.match, found.seat, found.asked):
            return  # another one about the same is still under way, and the clock stands for both
        at = SeatContext(self.seats, *self.seats.archive.known(found.match), found.seat)
        step = at.step(now)
        if found.settled is None:
            clocks.delay(step, found.seat, found.asked, found.created)
        elif clocks.arrive(step, found.seat, found.asked, found.created, found.settled):
            step.notices.append(Notice("moved", found.seat, step.match))
        if step.match is not at.match:
            at.commit(step)
