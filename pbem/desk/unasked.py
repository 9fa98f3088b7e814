"""Letters that nobody asked for: proposals, and offers of a seat, by players with whom their reader never played.

Accounts cost nothing, so the letters are counted by their reader, not by their writer: some of them go out at once;
what comes after waits for one short letter a day, which names the matches. Its reader asks for those of interest.
Programs are asked at once. Implements reliability.md, "Limits".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.daily_limits import UNASKED, left_today
from pbem.letters.digest import next_digest
from pbem.letters.draft import OutgoingLetter
from pbem.phrase import Phrase
from pbem.store.database import to_db

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pbem.desk.wiring import Desk

_LISTED = 50
"""The most matches that the letter names."""


def may_be_written(desk: Desk, player: str, by: Sequence[str], match: int, now: datetime) -> bool:
    """True if a player may be written to at once about a match with these; otherwise the daily letter names it."""
    known = any(desk.people.played_together(player, other) for other in by)
    if known or desk.people.is_program(player) or left_today(desk.database, UNASKED, now, player) >= 0:
        return True
    due = next_digest(now, desk.time.zone(player))
    desk.people.hold_back(player, match, to_db(due))
    return False


def send(desk: Desk, now: datetime) -> None:
    """Write the letters that are due, each to one player about all matches that still want an answer."""
    for name in desk.people.held_back_until(to_db(now)):
        lines = [line for number in desk.people.held_back(name) if (line := _line(desk, name, number))]
        desk.people.told(name)
        player = desk.players.by_name(name)
        if player is None or not lines or desk.people.opted_out(player.address):
            continue
        facts = {"lines": lines[:_LISTED], "more": len(lines[_LISTED:])}
        text = desk.letters.draft("letters/unasked.txt", **facts)
        desk.letters.send(player.address, OutgoingLetter(Phrase("[pbem] Matches for you"), text), now)


def _line(desk: Desk, name: str, number: int) -> dict[str, str] | None:
    """A match that is proposed to the player, or in which a seat is; None if nobody waits for an answer any more."""
    match, row = desk.archive.known(number)
    asked = any(seat.player == name and not seat.accepted for seat in row.seats)
    proposed = match.phase == "proposed" and asked
    nominated = any(found.name == name for found in match.nominated.values())
    by = match.name(1)
    if not (proposed or nominated) or desk.people.blocks(name, by):
        return None
    return {"id": match.id, "title": match.rules.title, "by": by, "what": "proposal" if proposed else "seat"}
