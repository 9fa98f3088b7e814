"""The players end a game or the match: one gives up, or all agree on a draw, or that the match be annulled.

An offer stands until it is answered or the turn is resolved. Offer and answer are signed letters and entries of the
transcript, so everybody knows them at once. Implements protocol.md, "Commands" (`resign`, `draw`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Fault, Refused, Result, refuse
from pbem.match.documents import Evidence, level_in_words
from pbem.match.entry_type import EntryType, boolean, either, one_of, seat_number, seats, sentence_form
from pbem.match.events import leaving
from pbem.match.events.ended import abandon, end_game, give_up
from pbem.match.events.leaving import leave, position_without
from pbem.match.naming import called, playing, seen_by
from pbem.match.remaking import of_sentence
from pbem.match.state import RUNNING, not_played, only_one_without
from pbem.phrase import Phrase
from pbem.requests import Annul, Draw, Resign

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.games import State
    from pbem.json_object import JsonObject
    from pbem.match.entry_type import Form
    from pbem.match.state import Match
    from pbem.match.step import Signed, Step
    from pbem.match.transcript import Entry
    from pbem.requests import SignedForm


_OVER = Phrase("the game is over; what is due is a `{command}`")


def ways_to_resign(match: Match) -> list[str]:
    """The sentences that resign now: this game, once it has begun, or the whole match."""
    game = [f"resign {match.id} game {match.game}"] if match.phase == "playing" else []
    return [*game, f"resign {match.id} match"]


def resign(step: Step, seat: int, form: SignedForm[Resign], signed: Signed) -> None:
    """Give up the game, or the whole match.

    If the rules say so, several others who remain play on. Otherwise the position's scores count: a single
    remaining player has won, and with several nobody has. A player who is out of the game has nothing to give up.
    """
    match, whole_match = step.match, form.request.whole
    if match.phase not in RUNNING:
        raise Refused(Fault("resign", None, not_played(match)))
    if last := match.awaits:
        raise Refused(Fault("resign", None, _OVER.given(command=last.template)))
    if match.phase == "setup" and not whole_match:
        says = Phrase("no game has begun; `resign {id} match` resigns the whole match", id=match.id)
        raise Refused(Fault("resign", None, says))
    if seat not in match.in_game:
        raise Refused(Fault("resign", None, Phrase("you are out of this game, and the others play on")))
    others_play = position_after(match, seat, whole_match=whole_match)
    winners = only_one_without(match.in_game, seat)
    match_winners = winners if match.terms.kind == "single" else only_one_without(match.seats, seat)
    closes = match_winners, "resignation"
    said = step.sentence("resign", seat, form, signed)
    entry = step.append_entry("resigned", {"seat": seat, "match": whole_match, **said})
    if others_play is not None:
        leave(step, seat, others_play, leaving.RESIGNED, [entry.seq])
        return
    letter = f"letters/resign-{entry.seq}-seat-{seat}.eml"
    give_up(step, winners, "resignation", closes if whole_match else None, resignation=letter)


def position_after(match: Match, seat: int, *, whole_match: bool) -> State | None:
    """The position in which the others play on when a seat resigns; None if they do not.

    They play on after a game is resigned; a match of several games needs all its players, and ends when one resigns
    it.
    """
    return None if whole_match and match.terms.kind != "single" else position_without(match, seat)


def _says(entry: Entry, papers: Mapping[str, bytes]) -> str:
    body = entry.body
    evidence = papers.get(f"evidence/resign-{entry.seq}-seat-{body['seat']}.txt")
    level = f" ({level_in_words('mailbox', Evidence.read(evidence.decode()).key)})" if evidence else ""
    return f"seat {body['seat']} resigned the {'match' if body['match'] else 'game'}, signed{level}"


RESIGNED = EntryType(
    "resigned",
    sentence_form(seat=seat_number, match=boolean),
    remake=of_sentence(
        "resign",
        lambda match, body: Resign(match=match.id, whole=body["match"], game=None if body["match"] else match.game),
        resign,
    ),
    says=_says,
    between=True,
    among=3,
    letter="resign",
)

DRAW = "draw"
ANNUL = "annul"
WORDS = ("offer", "accept", "decline")


def agree(step: Step, seat: int, form: SignedForm[Draw | Annul], signed: Signed) -> bool:
    """A seat offers, accepts or declines a draw or an annulment; returns whether all agree now. Raises `Refused`."""
    match, request = step.match, form.request
    what, word = DRAW if isinstance(request, Draw) else ANNUL, request.word
    offered = match.offers.get(what, {})
    # The offer or answer must make sense now.
    if match.phase not in RUNNING:
        raise Refused(Fault(what, match.id, not_played(match)))
    if what == DRAW:
        if last := match.awaits:
            raise Refused(Fault(what, match.id, _OVER.given(command=last.template)))
        if match.phase != "playing":
            raise Refused(Fault(what, match.id, Phrase("no game has begun, so there is nothing to draw")))
    if seat not in agreeing(match, what):
        raise Refused(Fault(what, match.id, Phrase("you are out of this game, and the others play on")))
    named = request.sharing if isinstance(request, Draw) else ()
    sharing = _sharing(match, word, named) if what == DRAW else ()
    if (word == "decline" and not offered) or (word == "accept" and sharing not in offered.values()):
        says = Phrase("there is no such offer; it may have lapsed when the turn was resolved")
        raise Refused(Fault(what, word, says))
    if word != "decline" and offered.get(seat) == sharing:
        raise Refused(Fault(what, word, Phrase("you have already made this offer; the others have yet to answer")))
    sentence = step.sentence(what, seat, form, signed)
    some = {"sharing": list(sharing)} if named else {}
    step.append_entry(what, {"seat": seat, "word": word, **some, **sentence})
    willing = {} if word == "decline" else {**offered, seat: sharing}
    step.match = replace(step.match, offers={**match.offers, what: willing})
    agreed = all(willing.get(other) == sharing for other in agreeing(match, what))
    told = "accept" if agreed else word  # whoever offers what all others offer agrees
    step.notify("offer", seat, agreement=what, word=told, by=seat, sharing=list(named))
    if not agreed:
        return False
    if what == DRAW:
        end_game(step, Result(sharing, match.under_way.scores, "agreement"))
        return True
    abandon(step, "annulled", by="annulled")
    return True


def _sharing(match: Match, word: str, named: Sequence[str]) -> tuple[int, ...]:
    """The seats that would share a draw: those of the players named, or all who remain. Raises `Refused`."""
    if named and word == "decline":
        raise Refused(Fault(DRAW, word, Phrase("`decline` ends all offers: name nobody")))
    remaining = {called(match, seat): seat for seat in match.in_game}
    there = ", ".join(playing(seen_by(match, 0), seat) for seat in remaining.values())
    unknown = Phrase("this is nobody who still plays this game; there are {names}", names=there)
    refuse([Fault(DRAW, name, unknown) for name in named if name not in remaining])
    return tuple(seat for name, seat in remaining.items() if not named or name in named)


def agreeing(match: Match, what: str) -> tuple[int, ...]:
    """The seats that must agree: to a draw, those still in the game; to an annulment, all that have not left it."""
    return match.in_game if what == DRAW else tuple(seat for seat in match.seats if seat not in match.left)


def _draw(match: Match, body: JsonObject) -> Draw:
    """The request of an entry about a draw."""
    sharing = sorted(called(match, seat) for seat in body.get("sharing", ()))
    return Draw(match=match.id, word=body["word"], sharing=tuple(sharing))


def _entry(what: str, of: str, form: Form, request: Callable[[Match, JsonObject], Draw | Annul]) -> EntryType:
    """The entry of an offer of this, or of an answer."""
    return EntryType(
        what,
        form,
        remake=of_sentence(what, request, agree),
        says=f"seat {{seat}}, of {of}: {{word}}, signed",
        between=True,
        letter=what,
    )


_PLAIN = sentence_form(seat=seat_number, word=one_of(*WORDS))
_OF_SOME = sentence_form(seat=seat_number, word=one_of("offer", "accept"), sharing=seats)

OFFERED_DRAW = _entry(DRAW, "a draw", either(_PLAIN, _OF_SOME), _draw)
ANNULMENT = _entry(ANNUL, "annulling the match", _PLAIN, lambda match, body: Annul(match=match.id, word=body["word"]))
