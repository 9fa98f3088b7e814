"""What was, and what stands: all matches of a player on one page, and the diary of one match.

Both are told from what everybody may know (the transcript, who wrote when) and from the reader's own seat; nothing of
another seat's orders, nor whether there are any. Implements protocol.md, "Commands" (`status`, `diary`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from pbem.desk.answer import Answer
from pbem.desk.table import Tables
from pbem.desk.timekeeper import TIMEZONE
from pbem.games import Fault, Refused
from pbem.match.clock import zone_named
from pbem.match.state import RUNNING, standing
from pbem.match.transcript import Entry
from pbem.phrase import Phrase
from pbem.store.database import moment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pbem.desk.answer import Caller
    from pbem.desk.table import Seated
    from pbem.mail.commands import Command

__all__ = ["History"]

_SHOWN = frozenset({"open", "proposed", *RUNNING})
"""The phases of matches that `status` lists one by one; the others are counted."""

_SILENT = frozenset({"revealed"})
"""Entries that say nothing to people that the one before them did not."""


class History(Tables):
    """What the players of a server can look up."""

    def status(self, caller: Caller) -> Answer:
        """All matches of the player: what is asked, by when, and how they stand."""
        assert caller.player is not None
        matches, over = [], 0
        for number in self._archive.matches.of_player(caller.player.name):
            seated = self._seated(number, caller.player.name)
            if seated.match.phase in _SHOWN:
                matches.append(self._line(seated))
            else:
                over += 1
        matches.sort(key=lambda match: not match["m"]["asked"])
        return Answer("status_all", {"matches": matches, "over": over})

    def _line(self, seated: Seated) -> dict[str, Any]:
        match, seat = seated.match, seated.seat
        submissions = match.setups if match.phase == "setup" else match.orders
        others = [other for other in match.seats if other != seat]
        return {
            "m": self._clerk.facts(match, seated.row, seat, match),
            "others": [match.name(other) for other in others if not match.name(other).startswith("?")],
            "stands": standing(submissions, seat) if match.phase in RUNNING else None,
            "accepted": seated.row.of(seat).accepted,
            "silent": [match.name(other) for other in others if other in match.missed],
            "unreachable": [match.name(other) for other in others if other in match.unreachable],
        }

    def diary(self, caller: Caller, command: Command) -> Answer:
        """What happened in a match, and when, in the reader's own zone."""
        seated = self._table(caller, command)
        if not seated.match.seq:
            raise Refused(
                Fault("diary", seated.match.id, Phrase("nothing has happened yet: not everybody has accepted"))
            )
        assert caller.player is not None
        zone = zone_named(self._players.setting(caller.player.name, TIMEZONE, "UTC")) or "UTC"
        lines = sorted(self._lines(seated), key=lambda line: line["time"])
        days: dict[str, list[dict[str, Any]]] = {}
        for line in lines:
            local = line["time"].astimezone(ZoneInfo(zone))
            days.setdefault(f"{local:%Y-%m-%d}", []).append(line | {"clock": f"{local:%H:%M}"})
        return Answer("diary", {"days": days, "zone": zone} | self._facts(seated), match=seated.place)

    def _lines(self, seated: Seated) -> Iterator[dict[str, Any]]:
        names: dict[int, str] = {}
        for row in self._archive.matches.entries(seated.row.number):
            entry = Entry.read(row.entry)
            if entry.type == "agreed":
                names = {int(seat): player["name"] for seat, player in entry.body["players"].items()}
            if entry.type not in _SILENT:
                yield {"time": _moment(entry.time), "kind": entry.type, "body": entry.body, "names": dict(names)}
            if entry.type == "substituted":
                names[entry.body["seat"]] = entry.body["player"]["name"]
        for player, time in self._archive.matches.press_times(seated.row.number):
            yield {"time": moment(time), "kind": "press", "body": {"by": player}, "names": {}}


def _moment(time: str) -> datetime:
    """The time of an entry."""
    return moment(time.replace("Z", ".000000Z"))
