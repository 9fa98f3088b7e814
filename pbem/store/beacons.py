"""The rows of beacons: the round that the lot of a tournament waits for, and its signature.

Only storage. The desk stores the round in its transaction; another task asks for the signature, checks it and keeps
it; the desk takes it when it draws the lot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.store.database import to_db
from pbem.store.rows import Rows

if TYPE_CHECKING:
    from datetime import datetime


class AwaitedBeacon(msgspec.Struct, frozen=True):
    """A round that a tournament waits for, and the number of tries."""

    tournament: int
    round: int
    tries: int


class Beacons(Rows):
    """The beacons of a store."""

    def put(self, tournament: int, round_: int, due: datetime) -> None:
        """Store the round of a tournament, which is out at this time; part of a transaction."""
        self._database.put("beacons", tournament=tournament, round=round_, due=to_db(due), tries=0)

    def due(self, now: datetime, again: datetime) -> list[AwaitedBeacon]:
        """The rounds that are to be asked for now; each is due again at `again`, unless it is kept before."""
        with self._database.transaction():
            sql = "UPDATE beacons SET due = ?, tries = tries + 1 WHERE signature IS NULL AND due <= ? RETURNING *"
            return self._database.read(AwaitedBeacon, sql, (to_db(again), to_db(now)))

    def next_due(self) -> datetime | None:
        """The time at which the next round is to be asked for."""
        return self._database.moment("SELECT min(due) FROM beacons WHERE signature IS NULL")

    def postpone(self, asked: AwaitedBeacon, due: datetime) -> None:
        """Ask again at this time."""
        sql = "UPDATE beacons SET due = ? WHERE tournament = ? AND signature IS NULL"
        self._database.execute(sql, (to_db(due), asked.tournament))

    def settle(self, asked: AwaitedBeacon, signature: str, now: datetime) -> None:
        """Keep the signature of a round, and make the clock look at its tournament."""
        with self._database.transaction():
            self._database.write(
                "UPDATE beacons SET signature = ? WHERE tournament = ?", (signature, asked.tournament)
            )
            sql = "UPDATE tournaments SET due = ? WHERE number = ? AND phase = 'open'"
            self._database.write(sql, (to_db(now), asked.tournament))

    def signature(self, tournament: int) -> str | None:
        """The signature for a tournament's lot; None if it has not come."""
        return self._database.text("SELECT signature FROM beacons WHERE tournament = ?", (tournament,))

    def was_asked_for(self, tournament: int) -> bool:
        """True if the signature for a tournament's lot was asked for at least once."""
        return bool(self._database.scalar("SELECT tries FROM beacons WHERE tournament = ?", (tournament,)))

    def drop(self, tournament: int) -> None:
        """Ask no more: the lot is drawn; part of a transaction."""
        self._database.write("DELETE FROM beacons WHERE tournament = ?", (tournament,))
