"""What the operator orders is done here: to pause a match, let it go on, end it, or stop all after a restore.

An instruction is a letter that nobody wrote: same desk, same transaction, an entry in the transcript, and letters to
all players. Nothing here is known of commands or processes. Implements protocol.md, "Transcript", and
reliability.md, case 30.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from pbem.desk.clerk import Out
from pbem.desk.table import commit
from pbem.games import Fault, Refused
from pbem.match import progress
from pbem.match.events import operator
from pbem.match.state import PHASES
from pbem.match.step import Step
from pbem.phrase import Phrase
from pbem.store.database import Database, StoreError
from pbem.store.operator import Generation, Instructions
from pbem.store.people import People

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.match.state import Match
    from pbem.match.step import World
    from pbem.store.matches import MatchRow
    from pbem.store.operator import Instruction
    from pbem.store.players import Players

__all__ = ["Operator"]

HEAD = re.compile(r"[0-9a-f]{64}")

PROPOSED = frozenset({"proposed", "open"})

_LETTERS = 3
"""How many letters a day and match tell of unknown heads."""

REASON = 200
"""How many characters of a reason are kept: it stands in the transcript for ever."""


class Operator:
    """Obeys the instructions of the store, and writes to the operator's address.

    `decide` is the desk's way of deciding, `today` counts how often something happened on one day, `world` gives the
    world at a time, `reference` a name for trouble.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the desk's own parts
        self,
        to: str,
        database: Database,
        decide: Callable[[Callable[[], None]], None],
        archive: Archive,
        players: Players,
        clerk: Clerk,
        today: Callable[[str, datetime], int],
        world: Callable[[datetime], World],
        reference: Callable[[], str],
    ) -> None:
        self._database = database
        self._decide = decide
        self._instructions = Instructions(database)
        self._archive = archive
        self._players = players
        self._people = People(database)
        self._clerk = clerk
        self._to = to
        self._today = today
        self._world = world
        self._reference = reference
        self._log: Any = structlog.get_logger("operator")

    def obey(self, now: datetime) -> None:
        """Do what the operator ordered, each instruction in its transaction; raises only for a store that fails."""
        for instruction in self._instructions.waiting():
            try:
                self._decide(partial(self._obey, instruction, now))
            except StoreError:
                raise
            except Refused as refused:
                self._refuse(instruction, "; ".join(fault.message for fault in refused.faults))
            except Exception as error:
                reference = self._reference()
                self._log.error("instruction failed", id=instruction.id, reference=reference, exc_info=error)
                self._refuse(instruction, f"this failed; the log has the cause under the reference {reference}")
            else:
                self._log.info(
                    "instruction obeyed", id=instruction.id, what=instruction.what, match=instruction.match
                )

    def _obey(self, instruction: Instruction, now: datetime) -> None:
        self._instructions.settle(instruction.id, "done", self._do(instruction, now))

    def unknown_head(self, player: str, number: int, head: str, now: datetime) -> None:
        """Tell the operator that signed words of a player cite a head which this transcript never had.

        Mostly a slip of the player's; but after a restore, or a disk that was set back, it is the proof that we told
        a story which we have forgotten.
        """
        if not HEAD.fullmatch(head) or self._archive.matches.signature(number, head) is not None:
            return
        self._log.warning("unknown head cited", match=number, player=player)
        if self._to and self._today(f"unknown heads m{number}", now) <= _LETTERS:
            text = self._clerk.draft("letters/unknown_head.txt", player=player, match=f"m{number}", head=head)
            self._clerk.send(
                self._to,
                Out(Phrase("[pbem] {match}: a head that this server does not know", match=f"m{number}"), text),
                now,
            )

    def _refuse(self, instruction: Instruction, answer: str) -> None:
        with self._database.transaction():
            self._instructions.settle(instruction.id, "refused", answer)

    def _do(self, instruction: Instruction, now: datetime) -> str:
        if instruction.what == "restored":
            return self._restored(now)
        number = instruction.match or 0
        loaded = self._archive.load(number)
        if loaded is None:
            raise Refused(Fault(instruction.what, None, Phrase("there is no match m{number}", number=number)))
        match, row = loaded
        reason = " ".join(instruction.reason.split())[:REASON]
        if instruction.what == "end" and match.phase in PROPOSED:
            return self._withdraw(number, now)
        step = Step(match, self._world(now))
        if instruction.what == "pause":
            operator.pause(step, reason)
        elif instruction.what == "resume":
            operator.resume(step, reason)
            progress.advance(step)
        else:
            operator.stop(step, reason)
        return self._commit(match, row, step)

    def _withdraw(self, number: int, now: datetime) -> str:
        """End a match that nobody has agreed to yet: it has no transcript."""
        loaded = self._archive.load(number)
        assert loaded is not None
        match, row = loaded
        self._people.withdraw(number)
        self._archive.matches.update(number, "declined", None)
        self._archive.forget()
        for taken in row.seats:
            player = self._players.by_name(taken.player)
            if player is not None:
                out = self._clerk.thread(match, row, taken.seat, PHASES["declined"])
                facts = {"by": Phrase("The operator of the server"), "done": "declined"}
                out.text = self._clerk.draft(
                    "letters/declined.txt", m=self._clerk.facts(match, row, taken.seat, match), **facts
                )
                self._clerk.send(player.address, out, now)
        return f"m{number} is declined"

    def _restored(self, now: datetime) -> str:
        """Let every match under way stand still, and say why in its transcript, before any letter is handled."""
        generation = Generation(self._database).number
        numbers = self._archive.matches.under_way()
        for number in numbers:
            loaded = self._archive.load(number)
            assert loaded is not None
            step = Step(loaded[0], self._world(now))
            operator.restored(step, generation)
            self._commit(*loaded, step)
        return f"generation {generation}; paused: {' '.join(f'm{number}' for number in numbers) or 'none'}"

    def _commit(self, match: Match, row: MatchRow, step: Step) -> str:
        commit(self._archive, self._clerk, match, row, step)
        return f"m{row.number} is {'paused' if step.match.paused else step.match.phase}"
