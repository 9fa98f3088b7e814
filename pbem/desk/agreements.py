"""Agreements by mail: a draw of the game, an annulment of the match.

Implements protocol.md, "Commands" (`draw`) and "A match".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.answer import Answer
from pbem.desk.places import placed
from pbem.desk.table import Tables
from pbem.match.events import agreements
from pbem.match.step import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pbem.desk.answer import Caller
    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.mail.commands import Command
    from pbem.match.step import World
    from pbem.store.players import Players

__all__ = ["Agreements"]


class Agreements(Tables):
    """The agreements of a server's players."""

    def __init__(self, players: Players, archive: Archive, clerk: Clerk, world: Callable[[datetime], World]) -> None:
        super().__init__(players, archive, clerk, world)
        self.commands: Mapping[str, Callable[[Caller, Command], Answer]] = {"draw": self._agree, "annul": self._agree}

    def _agree(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        step = Step(seated.match, self._world(caller.now))
        word = command.arguments["word"]
        said = placed(caller, command, seated.match, seated.seat)
        agreed = agreements.agree(step, command.name, seated.seat, word, said, caller.signed)
        self._commit(seated, step)
        facts = {"agreement": command.name, "word": word, "agreed": agreed}
        return Answer("agreement", facts | self._facts(seated), match=seated.place)
