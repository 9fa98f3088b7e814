"""Sealed matches: commitments to setups, the steps of the turns, and the reveals at the end.

Nothing secret comes here before its time. What comes is judged by its form and by what was told before. Implements
docs/playing.md, "Sealed matches" (`seal`, `step`, `reveal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pbem.desk.refused import refused
from pbem.desk.reply import Reply
from pbem.desk.sealed_state import keys_of
from pbem.match import progress
from pbem.match.events.reveal import reveal as laid_open
from pbem.match.events.sealed_step import take as taken
from pbem.match.sealed_letters import seal as committed
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.seats import Event, SeatContext
    from pbem.mail.commands import AnyCommand, Command
    from pbem.match.step import Step
    from pbem.requests import Reveal, Seal, TakeSteps

T = TypeVar("T")
Told = TypeVar("Told", bound="Seal | TakeSteps | Reveal")

_AS_TEXT = Phrase(
    "your opponent checks what you sign, so sign it as text: with an SSH key, or with OpenPGP in the clear"
    " (`gpg --clearsign`)"
)
_UNLIKE = Phrase(
    "your opponent gets what you sign as text, with the signature below it, and could not verify yours there: sign"
    " only the form, as UTF-8, with the same line end after every line, including the last, and nothing like"
    " `-----BEGIN` in a comment"
)


def seal(seated: SeatContext, caller: Caller, command: Command[Seal]) -> Reply:
    """`seal`: a player commits to a setup by a hash; the game begins with the last commitment."""
    step, submission = _say(seated, caller, command, committed)
    seated.submit(step, submission)
    (commitment,) = (words[0] for name, words, _ in command.request.sections if name == "commitment")
    receipt, attachments = seated.receipt(submission, "setup")
    facts = receipt | {"commitment": commitment} | seated.facts()
    return Reply("seal", facts, [*attachments, *seated.files()], seated)


def take(seated: SeatContext, caller: Caller, command: Command[TakeSteps]) -> Reply:
    """`step`: a seat sends what it owes in a turn, and the other seat is told at once."""
    step, told = _say(seated, caller, command, taken)
    progress.advance(step)
    seated.commit(step)
    facts, files = seated.steps(told)
    return Reply("step", facts | seated.facts(), [*files, *seated.files()], seated)


def reveal(seated: SeatContext, caller: Caller, command: Command[Reveal]) -> Reply:
    """`reveal`: once the game is over, a seat reveals its setup and its orders, and everything is judged."""
    step, _ = _say(seated, caller, command, laid_open)
    game = seated.match.game
    progress.advance(step)
    seated.commit(step)
    return Reply("reveal", {"game": game} | seated.facts(), seated.files(), seated)


def _say(seated: SeatContext, caller: Caller, command: Command[Told], event: Event[Told, T]) -> tuple[Step, T]:
    """The statement of a caller's seat in a sealed match, in a letter that the others can check; raises `Refused`.

    What was signed is kept for the others, and so is the note that its player sends along.
    """
    if not seated.match.terms.sealed:
        raise refused(command.name, command.match, Phrase("this match is not sealed"))
    demand_text(caller, command, seated)
    step, found = seated.say(caller, command, event)
    seated.keep_text(caller.signed)
    for name, _, text in command.request.sections:
        if name == "note":
            seated.keep_note(text)
    return step, found


def demand_text(caller: Caller, command: AnyCommand, seated: SeatContext) -> None:
    """Refuse a letter whose words the other player's program would not find signed as the server does.

    A program that cannot read what its opponent signed does not answer, and loses by the clock. The sandbox read it
    by the keys that the player has here; those of the match are among them.
    """
    signed = caller.signed
    if not signed.pasted:
        raise refused(command.name, None, _AS_TEXT)
    read, tried = caller.understood.shown, {key.public: key.fingerprint for key in caller.understood.keys}
    keys = [tried.get(public) for public in keys_of(seated.match.players[seated.seat - 1])]
    known = signed.key in keys and None not in keys
    if not known or read is None or (read.verdict.key, read.words) != (signed.key, caller.words):
        raise refused(command.name, None, _UNLIKE)
