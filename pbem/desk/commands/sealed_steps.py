"""The commands of sealed matches: commitments, steps and reveals.

Nothing secret comes here before its time: what comes is judged by its form and by what was told before. Implements
docs/playing.md, "Sealed matches" (`seal`, `step`, `reveal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pbem.desk.outcomes import Reply
from pbem.match import progress
from pbem.match.events import sealed_events

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.position_files import LetterMaker
    from pbem.desk.sealed_files import SealedFiles
    from pbem.desk.seats import Event, SeatContext
    from pbem.mail.commands import Command
    from pbem.match.step import Step
    from pbem.requests import Reveal, Seal, TakeSteps

T = TypeVar("T")
Told = TypeVar("Told", bound="Seal | TakeSteps | Reveal")


def seal(
    files: SealedFiles, letters: LetterMaker, seated: SeatContext, caller: Caller, command: Command[Seal]
) -> Reply:
    """`seal`: a player commits to a setup by a hash; the game begins with the last commitment."""
    step, submission = _say(seated, caller, command, sealed_events.seal)
    seated.submit(step, submission)
    receipt, attachments = seated.receipt(submission, "setup")
    facts = receipt | {"commitment": submission.text} | seated.facts()
    program = files.for_program(letters, seated.match, seated.row, seated.seat)
    return Reply("seal", facts, [*attachments, *program], seated)


def take(
    files: SealedFiles, letters: LetterMaker, seated: SeatContext, caller: Caller, command: Command[TakeSteps]
) -> Reply:
    """`step`: a seat sends what it owes in a turn, and the other seat is told at once."""
    step, told = _say(seated, caller, command, sealed_events.take)
    progress.advance(step)
    seated.commit(step)
    facts, reports = files.steps(letters, seated.match, seated.seat, told)
    program = files.for_program(letters, seated.match, seated.row, seated.seat)
    return Reply("step", facts | seated.facts(), [*reports, *program], seated)


def reveal(
    files: SealedFiles, letters: LetterMaker, seated: SeatContext, caller: Caller, command: Command[Reveal]
) -> Reply:
    """`reveal`: once the game is over, a seat reveals its setup and its orders, and everything is judged."""
    step, _ = _say(seated, caller, command, sealed_events.reveal)
    game = seated.match.game
    progress.advance(step)
    seated.commit(step)
    program = files.for_program(letters, seated.match, seated.row, seated.seat)
    return Reply("reveal", {"game": game} | seated.facts(), program, seated)


def _say(seated: SeatContext, caller: Caller, command: Command[Told], event: Event[Told, T]) -> tuple[Step, T]:
    """The statement of a caller's seat, and the note to itself that its player sends along; raises `Refused`."""
    sealed_events.sealed(seated.match, command.name)
    step, found = seated.say(caller, command, event)
    for name, _, text in command.request.sections:
        if name == "note":
            seated.keep_note(text)
    return step, found
