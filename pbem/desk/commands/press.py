"""Messages between the players of a match: to all, to some alone, or to everybody.

One to some alone is written to them and nowhere else: nothing that others get, and no row that a later answer to them
reads, depends on it. Whether a player may write depends on what that player and everybody knows. Implements
protocol.md, "Commands" (`press`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk import bulletin
from pbem.desk.caller import Caller, refused
from pbem.desk.outcomes import Reply
from pbem.games import Fault, refuse
from pbem.match.naming import is_for_some, others_called, playing, seen_by
from pbem.match.state import AGREEING, PHASES, standing
from pbem.match.view import OVER
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pbem.desk.seats import SeatContext
    from pbem.mail.commands import Command
    from pbem.match.state import Match
    from pbem.requests import SendPress
    from pbem.store.people import People

_MESSAGE = 4000
"""The most characters of a message: a public one stays in the page of its match for ever."""

_SILENT: Mapping[str, tuple[Callable[[Match, int], bool], Phrase]] = {
    # By the writer's own orders alone: a refusal must not tell who else has sent some.
    "between turns": (
        lambda match, seat: standing(match.submissions, seat) is not None,
        Phrase("your orders are in: by the terms you may write again once they are played"),
    ),
    "none": (
        lambda match, _seat: match.phase not in OVER,
        Phrase("by the terms, players write to each other only once the match is over"),
    ),
}
"""By the term `press`, unless it is `all`: whether a seat may not write now, and what it is told then."""


def press(people: People, seated: SeatContext, caller: Caller, command: Command[SendPress]) -> Reply:
    """`press`: a message to the others, to observers too if it is public, or to some players alone."""
    match, asked = seated.match, command.request
    if match.phase in ("declined", "withdrawn"):
        raise refused("press", None, Phrase("this match was {phase}", phase=PHASES[match.phase]))
    if (limit := _SILENT.get(match.terms.press)) and limit[0](match, seated.seat):
        raise refused("press", match.id, limit[1])
    to = _addressees(match, seated.seat, command)
    if not (text := asked.text.strip()):
        raise refused("press", None, Phrase("the message is empty"))
    if len(text) > _MESSAGE:
        says = Phrase(
            "a message has at most {most} characters, and this one has {count}", most=_MESSAGE, count=len(text)
        )
        raise refused("press", None, says)
    # People who were only asked to play get messages from players they know.
    begun = match.phase not in AGREEING
    readers = [
        row
        for row in seated.row.seats
        if row.seat in to
        and (begun or row.accepted or people.played_together(row.player, seated.name(seated.seat, row.seat)))
    ]
    if not readers:
        says = Phrase("your message is passed on once another player has accepted the match")
        raise refused("press", match.id, says)
    for row in readers:
        seen = seen_by(match, row.seat)
        # Nobody blocks the name of a seat: otherwise, who does not get a message would learn who wrote it.
        if not people.blocks(row.player, by := seen.name(seated.seat)):
            # Plain words in answer to one of these go to all, so they answer no message to some alone.
            kind = "press_alone" if asked.to else "press"
            among = [seat for seat in to if seat != row.seat]
            plays, *others = (playing(seen, seat) for seat in (seated.seat, *among))
            facts = {"plays": plays, "text": text, "to": [by, *map(seen.name, among)], "among": others}
            items = [bulletin.of_press(match.id, by, text, alone=bool(asked.to))]
            seated.write_to(row.seat, kind, Phrase("{by} writes to you", by=plays), caller.now, items, **facts)
    if asked.to:
        names = {"to": [playing(seen_by(match, seated.seat), seat) for seat in to]}
        return Reply("press_to", names | seated.facts(), at=seated)
    seated.note_press(match.name(seated.seat), text, caller.now, everybody=asked.public)
    return Reply("press", seated.facts(), at=seated)


def _addressees(match: Match, seat: int, command: Command[SendPress]) -> list[int]:
    """The seats that are written to: all others, unless some are named; raises `Refused`."""
    asked, others = command.request, others_called(match, seat)
    there = ", ".join(playing(seen_by(match, seat), other) for other in match.seats if other != seat)
    unknown = Phrase("this is no other player of the match; there are {names}", names=there)
    refuse([Fault("to", name, unknown) for name in asked.to if name not in others])
    # Names may stand behind `to` or `an`, or alone on the command's line.
    line = asked.text.strip().partition("\n")[0]
    names = {*line.partition(":")[0].lower().replace(",", " ").split()} <= others.keys()
    begins = f"to {line}" if names and command.block_line == command.line else line
    if not (asked.to or asked.public) and is_for_some(match, seat, begins):
        says = Phrase(
            "your message would go to all, but begins as if it were for some: write `press {match} to NAME`, or for"
            " everybody `press {match} public`",
            match=match.id,
        )
        raise refused("press", match.id, says)
    return sorted({others[name] for name in asked.to} or others.values())
