"""The postmaster: letters of ours that came back, whom that cuts off, and who is told.

Here is decided what a bounce or a refused letter means: its player is out of reach until something comes that only
the player can have sent. The operator and the opponents are told once, when that changes, never letter by letter,
and never why: an address and what its server said are nobody's business but the operator's. Every call is part of
the desk's transaction. Implements reliability.md, cases 28 and 29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from pbem.desk.clerk import Out
from pbem.mail import bounces
from pbem.match.clock import written
from pbem.match.events import halted, moved
from pbem.match.state import RUNNING
from pbem.match.step import Step
from pbem.phrase import Phrase
from pbem.store.database import moment, stamp

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.config import Config
    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.desk.timekeeper import Timekeeper
    from pbem.mail.letter import Letter
    from pbem.match.step import World
    from pbem.store.inbox import InboxRow
    from pbem.store.outbox import Failure, Outbox
    from pbem.store.players import PlayerRow, Players

__all__ = ["Postmaster"]

_LETTERS = 10
"""How many letters a day tell the operator of undelivered ones: a forged From must not fill a mailbox."""

_LOST = 3
"""How often a day, at the most, a player is cut off who was heard in between."""

_CAME_BACK = Phrase("it came back, with status {status}")

_LISTED = 50
"""How many undelivered letters are listed in one of them."""


class Postmaster:
    """Sees to the letters that do not arrive.

    `today` counts how often something happened on one day, `read` reads what came to a return path.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the desk's own parts
        self,
        config: Config,
        outbox: Outbox,
        players: Players,
        archive: Archive,
        clerk: Clerk,
        today: Callable[[str, datetime], int],
        read: Callable[[Letter], bounces.Bounce],
        world: Callable[[datetime], World],
        time: Timekeeper,
    ) -> None:
        self._time = time
        self._config = config
        self._outbox = outbox
        self._players = players
        self._archive = archive
        self._clerk = clerk
        self._today = today
        self._read = read
        self._world = world
        self._log: Any = structlog.get_logger("postmaster")

    def bounce(self, row: InboxRow, letter: Letter, now: datetime) -> str | None:
        """Take a letter that came to a return path; what became of it, or None when it came to none of ours."""
        token = bounces.token(row.envelope.recipients, self._config.mail_address, self._config.delimiter)
        returned = self._outbox.returned(token) if token else None
        if returned is None:
            return None
        found = self._read(letter)
        self._outbox.bounce(returned.id, row.id, found.kind, found.status, row.received)
        self._log.info("bounce", outbox=returned.id, kind=found.kind, status=found.status)
        # Who receives a letter knows its return path: what came back before says nothing new.
        if found.kind == "permanent" and self._outbox.bounces(returned.id)["permanent"] == 1:
            self._report([returned], now, _CAME_BACK.given(status=found.status or Phrase("unknown")))
        return f"bounce of letter {returned.id}: {found.kind}"

    def tell_failures(self, now: datetime) -> None:
        """Tell of the letters that sending gave up; each once."""
        failures = self._outbox.failures()
        for failure in failures:
            self._outbox.told(failure.id)
        self._report(failures, now)

    def heard(self, player: PlayerRow, received: datetime, now: datetime) -> bool:
        """Something came that only this player can have sent; whether nothing had reached the player until then."""
        since = self._players.unreachable(player.name)
        if since is None or stamp(received) <= since:
            return False
        self._players.find(player.name)
        self._log.info("player reached again", player=player.name)
        self._clocks(player, now, None)
        self._write(
            player,
            "reachable",
            Phrase("{player}: can be reached again", player=player.name),
            now,
            since=moment(since),
            opponents=True,
        )
        return True

    def _report(self, failures: list[Failure], now: datetime, how: str = "") -> None:
        """Note who is cut off by letters that did not arrive, and tell those concerned of what is new in it."""
        told: list[tuple[Failure, str | None]] = []
        for failure in failures:
            if failure.recipient == self._config.operator:
                self._log.error("letter to the operator undelivered", outbox=failure.id)
                continue
            player = self._players.by_address(failure.recipient)
            if player is None:
                # Somebody wrote in that name, perhaps; it concerns nobody here.
                self._log.info("letter to a stranger undelivered", outbox=failure.id)
            elif failure.recipient.lower() != player.address.lower():
                told.append((failure, None))  # reports do not go to a second address: nobody is cut off
            elif self._loses(player, failure, now):
                self._log.warning("player out of reach", player=player.name, outbox=failure.id)
                told.append((failure, player.name))
                self._clocks(player, now, failure.created)
                self._write(
                    player,
                    "unreachable",
                    Phrase("{player}: letters do not arrive", player=player.name),
                    now,
                    opponents=True,
                )
                self._write(player, "returned", Phrase("a letter to you came back"), now, opponents=False)
        if not told or not self._config.operator or self._today("letters of failures", now) > _LETTERS:
            return
        facts = {"failures": told[:_LISTED], "more": len(told[_LISTED:]), "how": how}
        text = self._clerk.draft("letters/undelivered.txt", **facts)
        self._clerk.send(self._config.operator, Out(Phrase("[pbem] Letters could not be delivered"), text), now)

    def _loses(self, player: PlayerRow, failure: Failure, now: datetime) -> bool:
        """Cut a player off by a letter that did not arrive; whether the player was not yet, and is now.

        Who receives a letter knows its return path: a player who is lost and found all day is not told of any more.
        """
        if self._players.unreachable(player.name) or self._today(f"lost {player.name}", now) > _LOST:
            return False
        return self._players.lose(player.name, stamp(now), failure.id)

    def _clocks(self, player: PlayerRow, now: datetime, since: datetime | None) -> None:
        """Let the player's clocks stand since a letter that did not arrive; None: let them run again."""
        for number in self._archive.matches.of_player(player.name, RUNNING):
            loaded = self._archive.load(number)
            assert loaded is not None
            match, _ = loaded
            step, seat = Step(match, self._world(now)), match.seat_of(player.name)
            assert seat is not None
            if since is None:
                moved.find(step, seat)
            else:
                halted.lose(step, seat, since)
            if step.entries:
                self._archive.save(number, match, step)
                self._archive.remember(number, match, step)

    def _write(
        self, player: PlayerRow, template: str, subject: Phrase, now: datetime, *, opponents: bool, **facts: Any
    ) -> None:
        """A letter to the player, or to the opponents, in each running match of the player."""
        for number in self._archive.matches.of_player(player.name):
            loaded = self._archive.load(number)
            assert loaded is not None
            match, row = loaded
            if match.phase not in RUNNING:
                continue
            for seat in match.seats:
                reader = self._players.by_name(match.name(seat))
                if reader is None or (reader.name == player.name) == opponents:
                    continue
                out = self._clerk.thread(match, row, seat, subject)
                m = self._clerk.facts(match, row, seat, match)
                until = written(now + halted.long_enough(match.terms), self._time.zone(reader.name))
                out.text = self._clerk.draft(f"letters/{template}.txt", m=m, player=player.name, until=until, **facts)
                self._clerk.send(reader.address, out, now)
