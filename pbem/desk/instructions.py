"""The operator's instructions: to pause a match, resume it, end it, or pause all after a restore.

An instruction is handled like a letter that nobody wrote: same desk, same transaction, an entry in the transcript,
and letters to all players. This module knows nothing of commands or processes. Implements protocol.md,
"Transcript", and reliability.md, case 30.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import structlog

from pbem.desk.caller import refused
from pbem.desk.commands import proposals
from pbem.desk.seats import SeatContext
from pbem.games import Refused
from pbem.match import progress
from pbem.match.events import interventions
from pbem.match.state import AGREEING, PHASES, RUNNING
from pbem.phrase import Phrase
from pbem.store.errors import StoreError
from pbem.store.operator import Instruction, generation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from datetime import datetime

    from structlog.typing import FilteringBoundLogger

    from pbem.desk.commands.proposals import Offers
    from pbem.desk.outcomes import Decision
    from pbem.desk.seats import Seats
    from pbem.store.database import Database
    from pbem.store.operator import Instructions

_LOG: FilteringBoundLogger = structlog.get_logger("operator")


@dataclass(eq=False, repr=False)
class Operator:
    """The operator of the server, whose instructions are carried out."""

    instructions: Instructions
    decision: Decision
    part: Decision
    database: Database
    seats: Seats
    offers: Offers
    direct: Callable[[Instruction], Callable[[datetime], str]]
    """Reads an instruction about a tournament; returns what carries it out."""
    restored: Callable[[int, Callable[[str], AbstractContextManager[None]], datetime], None]
    """Enters a restore in tournaments, each of them alone."""

    def obey(self, now: datetime) -> None:
        """Carry out the operator's instructions, each in its transaction; raises only if the store fails."""
        for instruction in self.instructions.waiting():
            try:
                # Words are read outside of transactions.
                do: Callable[[datetime], str] = self._restore
                if instruction.about.startswith("m"):
                    do = partial(self._intervene, instruction)
                elif instruction.about:
                    do = self.direct(instruction)
                with self.decision():
                    if self.instructions.outcome(instruction.id)[0] != "waiting":
                        continue  # another desk was first
                    self.instructions.settle(instruction.id, "done", do(now))
            except StoreError:
                raise
            except Refused as refused:
                self._refuse(instruction, "; ".join(fault.message for fault in refused.faults))
            except Exception as error:
                reference = self.seats.world(now).random(6).hex()
                _LOG.error("instruction failed", id=instruction.id, reference=reference, exc_info=error)
                self._refuse(instruction, f"this failed; the log has the cause under the reference {reference}")
            else:
                _LOG.info("instruction obeyed", id=instruction.id, what=instruction.what, about=instruction.about)

    def _refuse(self, instruction: Instruction, answer: str) -> None:
        with self.database.transaction():
            self.instructions.settle(instruction.id, "refused", answer)

    def _intervene(self, instruction: Instruction, now: datetime) -> str:
        """Pause, resume or end a match."""
        number = int(instruction.about[1:])
        loaded = self.seats.archive.load(number)
        if loaded is None:
            raise refused(instruction.what, None, Phrase("there is no match m{number}", number=number))
        at = SeatContext(self.seats, *loaded)
        reason = instruction.short_reason
        if instruction.what == "end" and at.match.phase in AGREEING:
            # Nobody has agreed to it yet: it has no transcript.
            self.offers.people.withdraw(at.row.number)
            at.give_up("declined")
            facts = {"by": Phrase("The operator of the server"), "done": "declined"}
            for taken in at.row.seats:
                at.write_at_once(taken.seat, "declined", PHASES["declined"], now, **facts)
            return f"{at.match.id} is declined"
        step = at.step(now)
        if instruction.what == "pause":
            interventions.pause(step, reason)
        elif instruction.what == "resume":
            interventions.resume(step, reason)
            progress.advance(step)
        else:
            interventions.stop(step, reason)
        at.commit(step)
        return f"m{at.row.number} is {'paused' if step.match.paused else step.match.phase}"

    def _restore(self, now: datetime) -> str:
        """Pause every match under way, and enter the reason there and in tournaments, before any letter is handled.

        Proposals are made again: players may have accepted them since, and believe that their match began.
        """
        began = generation(self.database)
        self.restored(began, self._alone, now)
        matches = self.seats.archive.matches
        numbers = matches.in_phases(*RUNNING)
        for number in numbers:
            with self._alone(f"m{number}"):
                at = SeatContext(self.seats, *self.seats.archive.known(number))
                step = at.step(now)
                interventions.restored(step, began)
                at.commit(step)
        for number in matches.in_phases("proposed"):
            with self._alone(f"m{number}"):
                row = matches.row(number)
                if row is not None and row.seats:  # not a match of a tournament that begins soon
                    proposals.ask_again(self.offers, number, now)
        return f"generation {began}; paused: {' '.join(f'm{number}' for number in numbers) or 'none'}"

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        """Apply a restore to one match or tournament: if that fails, all others stand still nevertheless."""
        try:
            with self.part():
                yield
        except StoreError:
            raise
        except Exception as error:
            _LOG.error("restore failed", about=name, exc_info=error)
