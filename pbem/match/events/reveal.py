"""A player of a sealed match reveals what was kept secret: the game is over, and now everybody can check it.

Implements docs/playing.md, "Sealed matches" (`reveal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.match.changed import replace
from pbem.match.entry_forms import hash_, mapping, number, seat_number, time
from pbem.match.entry_type import EntryType
from pbem.match.remaking import of_letter
from pbem.match.sealed_letters import judge_reveal, refuse_paused
from pbem.match.step import Document, Notice, misplaced
from pbem.match.submissions import answered
from pbem.phrase import Phrase
from pbem.requests import Reveal, SignedForm

if TYPE_CHECKING:
    from pbem.match.remaking import Remaking
    from pbem.match.signed import Signed
    from pbem.match.step import Step


def reveal(step: Step, seat: int, form: SignedForm[Reveal], signed: Signed) -> None:
    """A seat's setup and orders of the finished game, which open all its commitments. Raises `Refused`."""
    match = step.match
    step.demand_key(signed)
    if match.sealed_game is None or not match.revealing:
        raise Refused(Fault("reveal", match.id, Phrase("nothing is to be revealed before the game is over")))
    if seat in match.sealed_game.reveals:
        raise Refused(Fault("reveal", match.id, Phrase("you have revealed this game")))
    refuse_paused(match, "reveal")
    faults = misplaced(match, replace(form, rev=0), seat, None, game=match.game)
    try:
        revealed, papers = judge_reveal(match, seat, form)
    except Refused as refused:
        raise Refused(*faults, *refused.faults) from refused
    if faults:
        raise Refused(*faults)
    step.file_letter(f"reveal-{match.seq + 1}-seat-{seat}", signed.raw, signed.evidence, match.game - 1, seat)
    for path, content in papers.items():
        step.papers.append(Document(path, content.encode(), match.game - 1, seat))
    step.append_entry("reveal", {"game": match.game, "seat": seat, **step.named(signed)})
    game = replace(match.sealed_game, reveals={**match.sealed_game.reveals, seat: revealed})
    step.match = replace(step.match, sealed_game=game, missed=match.missed - {seat})
    answered(step, seat, signed)
    for other in match.seats:
        if step.match.asked(other) and other not in step.match.missed:  # else the verdict says more at once
            step.notices.append(Notice("revealed", other, step.match, {"seat": seat}))


_REMAKE = of_letter("reveal", lambda match: SignedForm(Reveal(match=match.id), game=match.game), reveal)


def remake(remaking: Remaking) -> Step:
    """The reveal again, and the verdict if it was the last."""
    step = _REMAKE(remaking)
    remaking.advance(step)
    return step


ENTRY = EntryType(
    "reveal",
    mapping({"game": number, "seat": seat_number, "mail": hash_, "received": time}),
    remake=remake,
    says="game {game}: seat {seat} revealed, signed; it opens all that the seat had committed to",
    letter="reveal",
)
