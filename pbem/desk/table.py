"""The table of a match: finding it for a caller, writing what a step led to, and telling the others.

What the answers to all commands about matches have in common; no command of its own lives here, and no row is
written but through the archive. Implements design.md, "The way of a letter".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pbem.games import Fault, Refused
from pbem.match import pace
from pbem.match.life import Step
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.desk.answer import Caller
    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.mail.commands import Command
    from pbem.match.life import Match, Submission, World
    from pbem.store.matches import MatchRow
    from pbem.store.players import Players

__all__ = ["Seated", "Tables", "commit"]


@dataclass(slots=True)
class Seated:
    """A caller at the table: the match, its row and number, and the seat."""

    match: Match
    row: MatchRow
    seat: int

    @property
    def place(self) -> tuple[Match, MatchRow, int]:
        """What an answer belongs to."""
        return self.match, self.row, self.seat


def commit(archive: Archive, clerk: Clerk, match: Match, row: MatchRow, step: Step) -> None:
    """Write what a step led to from this match, and tell everybody."""
    archive.save(row.number, match, step)
    clerk.tell(step.notices, step.match, row, step.world.now)


class Tables:
    """The tables of a server; `world` gives the world at a time."""

    def __init__(self, players: Players, archive: Archive, clerk: Clerk, world: Callable[[datetime], World]) -> None:
        self._players = players
        self._archive = archive
        self._clerk = clerk
        self._world = world

    def _table(self, caller: Caller, command: Command) -> Seated:
        """The match that a command names and the caller's seat; a match of others does not exist for the caller."""
        assert caller.player is not None
        name = command.match or ""
        try:
            seated = self._seated(int(name.removeprefix("m") or 0), caller.player.name)
        except KeyError:
            raise Refused(
                Fault(command.name, name, Phrase("you have no such match; `list mine` shows yours"))
            ) from None
        step = Step(seated.match, self._world(caller.now))
        pace.catch_up(step)
        if step.entries:
            self._commit(seated, step)
        return seated

    @staticmethod
    def _meant_here(seated: Seated, command: Command) -> None:
        """What the form says of its place, where it says it, must be so."""
        match = seated.match
        wanted = {"server": match.server, "player": match.name(seated.seat), "prev": match.prev}
        faults = [
            Fault(key, f"{key} {command.fields[key]}", Phrase("this is `{key} {value}`", key=key, value=value))
            for key, value in wanted.items()
            if command.fields.get(key, value) != value
        ]
        if faults:
            raise Refused(*faults)

    def _seated(self, number: int, player: str) -> Seated:
        loaded = self._archive.load(number)
        seat = loaded[0].seat_of(player) if loaded else None
        if loaded is None or seat is None:
            raise KeyError(number)
        return Seated(loaded[0], loaded[1], seat)

    def _submit(self, seated: Seated, step: Step, submission: Submission) -> None:
        self._archive.submit(seated.row.number, seated.match, seated.seat, submission)
        step.advance()
        self._commit(seated, step)

    def _commit(self, seated: Seated, step: Step) -> None:
        """Write what a step led to, and tell everybody; the seat then looks at the match as it became."""
        commit(self._archive, self._clerk, seated.match, seated.row, step)
        seated.match = step.match

    def _facts(self, seated: Seated) -> dict[str, Any]:
        return {"m": self._clerk.facts(seated.match, seated.row, seated.seat, seated.match)}

    def _write_to(
        self, seated: Seated, seat: int, template: str, subject: Phrase, now: datetime, **facts: Any
    ) -> None:
        """A letter of its own to another seat of the match."""
        player = self._players.by_name(seated.row.of(seat).player)
        if player is None:
            return
        match = seated.match
        out = self._clerk.thread(match, seated.row, seat, subject)
        m = self._clerk.facts(match, seated.row, seat, match)
        out.text = self._clerk.draft(f"letters/{template}.txt", m=m, **facts)
        self._clerk.send(player.address, out, now)
