"""The table of a match: finding it for a caller, writing what a step led to, and telling the others.

What the answers to all commands about matches have in common; no command of its own lives here, and no row is
written but through the archive. Implements design.md, "The way of a letter".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pbem.games import Fault, Refused
from pbem.match import progress
from pbem.match.events import moved
from pbem.match.keys import Player
from pbem.match.papers import NamedMailbox
from pbem.match.step import Step
from pbem.match.transcript import digest
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.desk.answer import Caller
    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.mail.commands import Command
    from pbem.mail.compose import Attachment
    from pbem.match.state import Match, Submission
    from pbem.match.step import World
    from pbem.match.terms import Terms
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
    archive.remember(row.number, match, step)


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
        moved.catch_up(step)
        if step.entries:
            self._commit(seated, step)
        return seated

    def _without_keys(self, terms: Terms, *names: str) -> list[Fault]:
        """The players who cannot take part where the terms demand keys."""
        demanded = terms.keys == "demanded"
        return [
            Fault("keys", name, Phrase("the match demands keys, and {name} is registered without one", name=name))
            for name in names
            if demanded and self._players.level(name) == "mailbox"
        ]

    def _pinned(self, name: str, match: Match, seat: int, salt: str) -> Player:
        """A player as the transcript of a match pins one: by keys, or by the mailbox."""
        keys = [
            {"format": key.format, "fingerprint": key.fingerprint, "public": key.public}
            for key in self._players.keys(name)
        ]
        row = self._players.by_name(name)
        if row is None or row.level != "mailbox":
            return Player(name, tuple(keys))
        named = NamedMailbox(match.server, match.id, seat, name, row.address.lower(), salt)
        return Player(name, tuple(keys), mailbox=digest(named.text().encode()), named=named)

    def _seated(self, number: int, player: str) -> Seated:
        loaded = self._archive.load(number)
        seat = loaded[0].seat_of(player) if loaded else None
        if loaded is None or seat is None:
            raise KeyError(number)
        return Seated(loaded[0], loaded[1], seat)

    def _submit(self, seated: Seated, step: Step, submission: Submission) -> None:
        self._archive.submit(seated.row.number, seated.match, seated.seat, submission)
        progress.advance(step)
        self._commit(seated, step)

    def _commit(self, seated: Seated, step: Step) -> None:
        """Write what a step led to, and tell everybody; the seat then looks at the match as it became."""
        commit(self._archive, self._clerk, seated.match, seated.row, step)
        seated.match = step.match

    def _withdrawn(self, seated: Seated, submission: Submission) -> tuple[dict[str, Any], list[Attachment]]:
        """The paper of a withdrawal, for its player, and what the letter says of it."""
        paper = submission.aside[-1].paper.encode()
        name = f"{seated.match.id}-{submission.aside[-1].stem}.txt"
        facts = {
            "file_name": name,
            "hash": digest(paper),
            "signature": self._archive.vouch(seated.match.id, digest(paper)),
        }
        return facts, [(name, "text/plain", paper)]

    def _facts(self, seated: Seated) -> dict[str, Any]:
        return {"m": self._clerk.facts(seated.match, seated.row, seated.seat, seated.match)}

    def _write_to(
        self, seated: Seated, seat: int, template: str, subject: Phrase, now: datetime, **facts: Any
    ) -> None:
        """A letter of its own to another seat of the match."""
        match = seated.match
        out = self._clerk.thread(match, seated.row, seat, subject)
        m = self._clerk.facts(match, seated.row, seat, match)
        out.text = self._clerk.draft(f"letters/{template}.txt", m=m, **facts)
        self._clerk.post(seated.row, seat, [(template, out)], match, now)
