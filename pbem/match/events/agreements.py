"""Agreements during play: a draw of the game, or that the match be annulled.

An offer stands until it is answered or the turn is resolved. Offer and answer are signed letters and entries of the
transcript, so everybody knows them at once. Implements protocol.md, "A match" and "Commands" (`draw`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused, Result
from pbem.match.changed import replace
from pbem.match.entry_type import EntryType, one_of, said, seat_number
from pbem.match.events.ended import abandon, end_game
from pbem.match.remaking import of_sentence
from pbem.match.state import RUNNING, not_played
from pbem.phrase import Phrase
from pbem.requests import Annul, Draw

if TYPE_CHECKING:
    from pbem.match.state import Match
    from pbem.match.step import Signed, Step
    from pbem.requests import SignedForm


DRAW = "draw"
ANNUL = "annul"
WORDS = ("offer", "accept", "decline")


def agree(step: Step, seat: int, form: SignedForm[Draw | Annul], signed: Signed) -> bool:
    """A seat offers, accepts or declines a draw or an annulment; returns whether all agree now. Raises `Refused`."""
    match, request = step.match, form.request
    what, word = DRAW if isinstance(request, Draw) else ANNUL, request.word
    wanted = match.offers.get(what, frozenset())
    _judge(match, what, seat, word, wanted)
    sentence = step.sentence(what, seat, form, signed)
    step.append_entry(what, {"seat": seat, "word": word, **sentence})
    willing = frozenset() if word == "decline" else wanted | {seat}
    step.match = replace(step.match, offers={**match.offers, what: willing})
    step.notify("offer", seat, agreement=what, word=word, by=seat)
    if not willing >= set(_asked(match, what)):
        return False
    if what == DRAW:
        assert match.position is not None
        end_game(step, Result(0, match.position.scores, "agreement"))
        return True
    abandon(step, "annulled", by="annulled")
    return True


def _asked(match: Match, what: str) -> tuple[int, ...]:
    """The seats that must agree: to a draw, those still in the game; to an annulment, all."""
    if what == DRAW and match.position is not None:
        return match.position.remaining
    return tuple(match.seats)


def _judge(match: Match, what: str, seat: int, word: str, wanted: frozenset[int]) -> None:
    """Refuse an offer or answer that makes no sense now."""
    if match.phase not in RUNNING:
        raise Refused(Fault(what, match.id, not_played(match)))
    if what == DRAW and match.revealing:
        raise Refused(Fault(what, match.id, Phrase("the game is over; what is due is a `reveal`")))
    if what == DRAW and match.phase != "playing":
        raise Refused(Fault(what, match.id, Phrase("no game has begun, so there is nothing to draw")))
    if seat not in _asked(match, what):
        raise Refused(Fault(what, match.id, Phrase("you are out of this game, and the others play on")))
    if word != "offer" and not wanted:
        says = Phrase("there is no such offer; it may have lapsed when the turn was resolved")
        raise Refused(Fault(what, word, says))
    if word != "decline" and seat in wanted:
        raise Refused(Fault(what, word, Phrase("you have already made this offer; the others have yet to answer")))


def _entry(what: str, of: str, request: type[Draw | Annul]) -> EntryType:
    """The entry of an offer of this, or of an answer."""
    return EntryType(
        what,
        said(seat=seat_number, word=one_of(*WORDS)),
        remake=of_sentence(what, lambda match, body: request(match=match.id, word=body["word"]), agree),
        says=f"seat {{seat}}, of {of}: {{word}}, signed",
        between=True,
        letter=what,
    )


ENTRY = _entry(DRAW, "a draw", Draw)
ANNULMENT = _entry(ANNUL, "annulling the match", Annul)
