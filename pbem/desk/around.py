"""Those around a match: observers, who get the public view alone, and the standings.

Implements protocol.md, "Commands" (`observe`, `unobserve`, `standings`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.answer import Answer
from pbem.desk.ratings import PROVISIONAL
from pbem.desk.table import Tables
from pbem.games import GAMES, Fault, Refused, rules
from pbem.phrase import Phrase
from pbem.store.database import stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pbem.desk.answer import Caller
    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.mail.commands import Command
    from pbem.match.step import World
    from pbem.store.people import People
    from pbem.store.players import Players

__all__ = ["Around"]

_RANKED = 50
"""How many players of a game the standings show."""


class Around(Tables):
    """Observers and standings of a server."""

    def __init__(
        self,
        players: Players,
        archive: Archive,
        clerk: Clerk,
        world: Callable[[datetime], World],
        people: People,
    ) -> None:
        super().__init__(players, archive, clerk, world)
        self._people = people
        self.commands: Mapping[str, Callable[[Caller, Command], Answer]] = {
            "observe": self._observe,
            "unobserve": self._unobserve,
            "standings": self._standings,
        }

    def _observe(self, caller: Caller, command: Command) -> Answer:
        assert caller.player is not None
        name = command.match or ""
        loaded = self._archive.load(int(name.removeprefix("m") or 0))
        if loaded is None or loaded[0].terms.privacy != "public" or not loaded[0].seq:
            raise Refused(Fault("observe", name, Phrase("there is no such match to be watched")))
        match, row = loaded
        if match.seat_of(caller.player.name):
            raise Refused(
                Fault("observe", name, Phrase("you play in it; `status` and `report` show what you may know"))
            )
        self._people.speak(caller.address)
        self._people.observe(row.number, caller.player.name, stamp(caller.now))
        facts = {"m": self._clerk.public_facts(match, row), "view": match.view(None)}
        return Answer("observe", facts)

    def _unobserve(self, caller: Caller, command: Command) -> Answer:
        assert caller.player is not None
        name = command.match or ""
        if not self._people.unobserve(int(name.removeprefix("m") or 0), caller.player.name):
            raise Refused(Fault("unobserve", name, Phrase("you do not watch this match")))
        return Answer("unobserve", {"name": name})

    def _standings(self, _caller: Caller, _command: Command) -> Answer:
        tables = {rules(game).title: self._people.standings(game, _RANKED) for game in GAMES}
        return Answer(
            "standings", {"tables": {title: rows for title, rows in tables.items() if rows}, "few": PROVISIONAL}
        )
