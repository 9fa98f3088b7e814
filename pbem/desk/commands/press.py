"""Messages between the players of a match, and resignations.

Implements protocol.md, "Commands" (`press`, `resign`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.commands.sealed_steps import demand_text
from pbem.desk.refused import refused
from pbem.desk.reply import Reply
from pbem.match import progress
from pbem.match.events import endings
from pbem.match.state import PHASES, RUNNING
from pbem.phrase import Phrase, either

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.seats import SeatContext
    from pbem.mail.commands import Command
    from pbem.requests import Resign, SendPress
    from pbem.store.matches import SeatRow
    from pbem.store.people import People

_MESSAGE = 4000
"""The most characters of a message: a public one stays in the page of its match for ever."""


def press(people: People, seated: SeatContext, caller: Caller, command: Command[SendPress]) -> Reply:
    """`press`: a message to the others, and to observers if it is public."""
    if seated.match.phase in ("declined", "withdrawn"):
        raise refused("press", None, Phrase("this match was {phase}", phase=PHASES[seated.match.phase]))
    text = command.request.text.strip()
    if not text:
        raise refused("press", None, Phrase("the message is empty"))
    if len(text) > _MESSAGE:
        says = Phrase(
            "a message has at most {most} characters, and this one has {count}", most=_MESSAGE, count=len(text)
        )
        raise refused("press", None, says)
    by, everybody = seated.match.name(seated.seat), command.request.public
    readers = [row for row in seated.row.seats if row.seat != seated.seat and _is_passed_on(people, seated, row, by)]
    if not readers:
        says = Phrase("your message is passed on once another player has accepted the match")
        raise refused("press", seated.match.id, says)
    for row in readers:
        if not people.blocks(row.player, by):
            facts = {"by": by, "text": text, "everybody": everybody}
            seated.write_to(row.seat, "press", Phrase("{by} writes to you", by=by), caller.now, **facts)
    seated.note_press(by, text, caller.now, everybody=everybody)
    return Reply("press", seated.facts(), at=seated)


def _is_passed_on(people: People, seated: SeatContext, row: SeatRow, by: str) -> bool:
    """True if a message goes to a seat: to people who were only asked to play, it does from players they know."""
    begun = seated.match.phase not in {"open", "proposed"}
    return begun or row.accepted or people.played_together(row.player, by)


def resign(seated: SeatContext, caller: Caller, command: Command[Resign]) -> Reply:
    """`resign`: the game is given up, or the whole match."""
    match, whole = seated.match, command.request.whole
    if not whole and match.phase in RUNNING and command.request.game != match.game:
        wanted = either([f"`resign {match.id} game {match.game}`", f"`resign {match.id} match`"])
        raise refused("resign", None, Phrase("say what you resign: {wanted}", wanted=wanted))
    if match.terms.sealed:
        demand_text(caller, command, seated)
    others_play = endings.position_without(match, seated.seat, whole_match=whole) is not None
    step, _ = seated.say(caller, command, endings.resign)
    if match.terms.sealed:  # the other player's agent believes this text, not the server, that the game is over
        seated.keep_text(caller.signed)
    by, level = match.name(seated.seat), caller.signed.level
    what = Phrase("the whole match") if whole else Phrase("game {game} of match", game=match.game)
    subject = Phrase("{by} resigned", by=by)
    for seat in match.seats:
        if seat != seated.seat:
            seated.write_to(seat, "resigned", subject, caller.now, by=by, what=what, level=level, goes_on=others_play)
    progress.advance(step)  # the turn may have waited for this seat alone
    seated.commit(step)
    return Reply("resign", {"what": what, "goes_on": others_play} | seated.facts(), at=seated)
