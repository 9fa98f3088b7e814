"""Sealed matches: commitments to setups, the steps of the turns, and the reveals at the end.

Nothing secret comes here before its time. What comes is judged by its form and by what was told before. Implements
docs/playing.md, "Sealed matches" (`seal`, `step`, `reveal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.places import placed
from pbem.desk.reply import Reply, refused
from pbem.desk.sealed_state import keys_of
from pbem.desk.seats import seated_at
from pbem.match import progress
from pbem.match.events.reveal import reveal as laid_open
from pbem.match.events.step import take as taken
from pbem.match.sealed import seal as committed
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.desk.caller import Caller
    from pbem.desk.seats import SeatContext
    from pbem.desk.wiring import Desk
    from pbem.letters.draft import Enclosed
    from pbem.mail.commands import AnyCommand, Command
    from pbem.match.signed import Signed
    from pbem.requests import Reveal, Seal, Sections, TakeSteps

__all__ = ["demand_text", "reveal", "seal", "take"]

_AS_TEXT = Phrase(
    "your opponent checks what you sign, so sign it as text: with an SSH key or minisign, or with OpenPGP in the"
    " clear (`gpg --clearsign`)"
)
_UNLIKE = Phrase(
    "your opponent gets what you sign as text, with the signature below it, and could not verify yours there: sign"
    " the form alone, as UTF-8 without a byte order mark, each line ended alike, the last one too, and nothing like"
    " `-----BEGIN` in a comment"
)


def seal(desk: Desk, caller: Caller, command: Command[Seal]) -> Reply:
    """`seal`: a player commits to a setup by a hash; the game begins with the last commitment."""
    seated, signed = _signed_at(desk, caller, command)
    step = seated.step(caller.now)
    submission = committed(step, seated.seat, placed(caller, command, seated.match, seated.seat), signed)
    _keep(seated, command.request, signed)
    seated.submit(step, submission)
    (commitment,) = (words[0] for name, words, _ in command.request.sections if name == "commitment")
    facts = {"commitment": commitment, "rev": submission.rev}
    return Reply("seal", facts | seated.facts(), _files(seated), seated)


def take(desk: Desk, caller: Caller, command: Command[TakeSteps]) -> Reply:
    """`step`: a seat sends what it owes in a turn, and the other seat is told at once."""
    seated, signed = _signed_at(desk, caller, command)
    step = seated.step(caller.now)
    told = taken(step, seated.seat, placed(caller, command, seated.match, seated.seat), signed)
    _keep(seated, command.request, signed)
    progress.advance(step)
    seated.commit(step)
    facts, files = desk.match_letters.steps(seated.match, seated.seat, told)
    return Reply("step", facts | seated.facts(), [*files, *_files(seated)], seated)


def reveal(desk: Desk, caller: Caller, command: Command[Reveal]) -> Reply:
    """`reveal`: once the game is over, a seat reveals its setup and its orders, and everything is judged."""
    seated, signed = _signed_at(desk, caller, command)
    step = seated.step(caller.now)
    laid_open(step, seated.seat, placed(caller, command, seated.match, seated.seat), signed)
    _keep(seated, command.request, signed)
    game = seated.match.game
    progress.advance(step)
    seated.commit(step)
    return Reply("reveal", {"game": game} | seated.facts(), _files(seated), seated)


def _signed_at(desk: Desk, caller: Caller, command: AnyCommand) -> tuple[SeatContext, Signed]:
    """The caller's seat in a sealed match, and the letter, if the others can check it, too; raises `Refused`."""
    seated = seated_at(desk, caller, command)
    if not seated.match.terms.sealed:
        raise refused(command.name, command.match, Phrase("this match is not sealed"))
    demand_text(caller, command, seated)
    return seated, caller.signed


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


def _keep(seated: SeatContext, request: Sections, signed: Signed) -> None:
    """Keep what was signed, for the others, and the note that its player sends along."""
    matches, number = seated.desk.archive.matches, seated.row.number
    matches.keep_text(number, signed.hash, signed.pasted)
    for name, _, text in request.sections:
        if name == "note":
            matches.keep_note(number, seated.match.game, seated.seat, text)


def _files(seated: SeatContext) -> Sequence[Enclosed]:
    """The files that say how the match stands now, for the player's program."""
    return seated.desk.match_letters.sealed_files(seated.match, seated.row, seated.seat)
