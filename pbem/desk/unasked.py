"""Letters that nobody asked for: proposals, and offers of a seat, by players with whom their reader never played.

Accounts cost nothing, so the letters are counted by their reader, not by their writer: some of them go out at once;
what comes after waits for one short letter a day, which names the matches. Its reader asks for those of interest.
Programs are asked at once. Implements reliability.md, "Limits".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbem.desk.daily_limits import UNASKED, DailyCounts
from pbem.letters.digest import next_digest
from pbem.letters.draft import OutgoingLetter
from pbem.phrase import Phrase
from pbem.store.database import to_db

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pbem.desk.outages_and_zones import OutagesAndZones
    from pbem.desk.seats import Seats
    from pbem.desk.strangers import Strangers
    from pbem.store.people import People
    from pbem.store.players import Players

_LISTED = 50
"""The most matches that the letter names."""


@dataclass(frozen=True, eq=False, repr=False)
class Offers:
    """The offers of seats: who may be asked and how often, and the seats themselves."""

    seats: Seats
    players: Players
    people: People
    strangers: Strangers
    counts: DailyCounts
    time: OutagesAndZones


def may_be_written(offers: Offers, player: str, by: Sequence[str], match: int, now: datetime) -> bool:
    """True if a player may be written to at once about a match with these; otherwise the daily letter names it."""
    known = any(offers.people.played_together(player, other) for other in by)
    if known or offers.people.is_program(player) or offers.counts.left(UNASKED, now, player) >= 0:
        return True
    due = next_digest(now, offers.time.zone(player))
    offers.people.hold_back(player, match, to_db(due))
    return False


def send(offers: Offers, now: datetime) -> None:
    """Write the first letter that is due, to one player about all matches that still want an answer."""
    name = offers.people.held_back_until(to_db(now))[0]
    lines = [line for number in offers.people.held_back(name) if (line := _line(offers, name, number))]
    offers.people.told(name)
    player = offers.players.by_name(name)
    if player is not None and lines and not offers.people.opted_out(player.address):
        text = offers.seats.letters.draft("letters/unasked.txt", lines=lines[:_LISTED], more=len(lines[_LISTED:]))
        offers.seats.letters.send(player.address, OutgoingLetter(Phrase("[pbem] Matches for you"), text), now)


def _line(offers: Offers, name: str, number: int) -> dict[str, str] | None:
    """A match that is proposed to the player, or in which a seat is; None if nobody waits for an answer any more."""
    match, row = offers.seats.archive.known(number)
    proposed = match.phase == "proposed" and any(seat.player == name and not seat.accepted for seat in row.seats)
    nominated = any(found.name == name for found in match.nominated.values())
    by = match.name(1)
    if not (proposed or nominated) or offers.people.blocks(name, by):
        return None
    return {"id": match.id, "title": match.rules.title, "by": by, "what": "proposal" if proposed else "seat"}
