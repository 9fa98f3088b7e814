"""Somebody new takes a seat: the player who leaves and the others name the newcomer, who accepts the terms.

Who is gone, the transcript shows: a missed deadline, or letters that have not arrived for a long time. From the entry
on, the newcomer's keys count. Implements protocol.md, "Commands" (`substitute`) and "A match".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Fault, Refused
from pbem.match.asking import start_clocks
from pbem.match.entry_type import EntryType, seat_number, sentence_form, text
from pbem.match.entry_type import player as player_form
from pbem.match.events.clocks import out_of_reach
from pbem.match.naming import called
from pbem.match.pinned_keys import Player
from pbem.match.state import RUNNING, Nomination, not_played, seated, standing, without
from pbem.match.step import Notice
from pbem.match.stored_orders import drop
from pbem.phrase import Phrase
from pbem.requests import Substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pbem.match.remaking import Remaking
    from pbem.match.state import Match
    from pbem.match.step import Signed, Step
    from pbem.match.transcript import Entry
    from pbem.requests import SignedForm

CONSENT: Mapping[str, Callable[[int, int], bool]] = {
    "all": lambda _agree, others: not others,
    "majority": lambda agree, others: agree > others or not others,
}
"""The rules of consent, by the term `substitutes`: how many agree, and how many others there are who are not gone."""

NOBODY = "none"
"""In the place of a name: nobody is to take the seat, after all."""


def late(match: Match, seat: int) -> bool:
    """True if the player of this seat missed a deadline, as everybody knows; an answer may have come since."""
    return seat in match.missed or bool(match.misses.get(seat))


def gone(match: Match, seat: int, now: datetime) -> bool:
    """True if the player of this seat is gone, so that the others may let somebody else take it.

    The player missed a deadline and has sent nothing since, or has been out of reach for longer than others must
    wait.
    """
    return (late(match, seat) and not standing(match.submissions, seat)) or out_of_reach(match, seat, now)


def may_be_agreed(match: Match, seat: int, now: datetime) -> bool:
    """True if the others agree on the next player of this seat, as far as everybody knows: late players may have."""
    return _consents(match, seat, lambda one: late(match, one) or out_of_reach(match, one, now))


def agreed(match: Match, seat: int, now: datetime) -> bool:
    """True if the player of this seat, unless gone, and as many others as the terms say agree on the next player."""
    return _consents(match, seat, lambda one: gone(match, one, now))


def _consents(match: Match, seat: int, is_gone: Callable[[int], bool]) -> bool:
    if seat not in match.nominated:
        return False
    others = [one for one in _unwilling(match, seat) if not is_gone(one)]
    agree = _willing(match, match.nominated[seat]) - {seat, *match.left}
    return seat not in others and CONSENT[match.terms.substitutes](len(agree), len(others))


def _willing(match: Match, nomination: Nomination) -> set[int]:
    """The seats that agree; the word of a player does not bind the next one in the seat."""
    return {seat for seat, name in nomination.willing.items() if name == match.name(seat)}


def _unwilling(match: Match, seat: int, name: str | None = None) -> list[int]:
    """The seats that have not nominated the present nominee of a seat; all if somebody of another name is meant.

    Who left the game has no say in it but for the own seat.
    """
    nomination = match.nominated.get(seat)
    said = _willing(match, nomination) if nomination and name in {None, nomination.name} else ()
    return [one for one in match.seats if one not in said and (one == seat or one not in match.left)]


def substitute(step: Step, by: int, seat: int, form: SignedForm[Substitute], signed: Signed) -> None:
    """Nominate, unless that would tell a player who owes an answer whether a late player has answered since.

    Raises `Refused`.
    """
    match, now, name = step.match, step.world.now, form.request.name
    others = [one for one in _unwilling(match, seat, name) if one != by]
    unsure = [one for one in others if late(match, one) and not out_of_reach(match, one, now)]
    if name != NOBODY and match.asked(by) and unsure:
        says = Phrase("the match is also waiting for you: first send what is due")
        raise Refused(Fault("substitute", match.id, says))
    nominate(step, by, seat, form, signed)


def nominate(step: Step, by: int, seat: int, form: SignedForm[Substitute], signed: Signed) -> None:
    """A player wants somebody in a seat, or withdraws that (`NOBODY`). Raises `Refused`."""
    match, name = step.match, form.request.name
    _judge(step, by, seat, name)
    sentence = step.sentence("substitute", by, form, signed)
    step.append_entry("substitute", {"seat": by, "for": seat, "name": name, **sentence})
    nominated = without(match.nominated, seat)
    if name != NOBODY:
        before = match.nominated.get(seat)
        willing = before.willing if before and before.name == name else {}
        nominated[seat] = Nomination(name, {**willing, by: match.name(by)})
    step.match = replace(step.match, nominated=nominated)
    # Who has agreed is not asked again.
    told = match.seats if name == NOBODY else _unwilling(step.match, seat)
    facts = {"by": by, "seat": seat, "name": name, "nobody": name == NOBODY}
    step.notices += [Notice("substitute", one, step.match, facts) for one in told if one != by]


def _judge(step: Step, by: int, seat: int, name: str) -> None:
    """Refuse a nomination that makes no sense now."""
    match = step.match
    nomination = match.nominated.get(seat)
    if match.phase not in RUNNING:
        raise Refused(Fault("substitute", match.id, not_played(match)))
    if match.play.stays:
        raise Refused(Fault("substitute", match.id, match.play.stays))
    if by in match.left and by != seat:
        raise Refused(Fault("substitute", match.id, Phrase("you are out of this game, and the others play on")))
    if name == NOBODY:
        if nomination is None:
            says = Phrase("nobody was named for {name}'s seat", name=called(match, seat))
            raise Refused(Fault("substitute", name, says))
        return
    if match.seat_of(name):
        raise Refused(Fault("substitute", name, Phrase("{name} already has a seat in this match", name=name)))
    if name in [other.name for other in without(match.nominated, seat).values()]:
        raise Refused(Fault("substitute", name, Phrase("{name} is named for another seat of this match", name=name)))
    leaves = nomination is not None and seat in nomination.willing
    if by != seat and not leaves and not gone(match, seat, step.world.now):
        says = Phrase(
            "{name} plays on: only a player who hands the seat over, has missed deadline and grace period, or has"
            " been out of reach for long may be replaced",
            name=called(match, seat),
        )
        raise Refused(Fault("substitute", called(match, seat), says))
    if nomination and nomination.name == name and by in _willing(match, nomination):
        raise Refused(Fault("substitute", name, Phrase("you have already said so; others have yet to agree")))


def _remake_nominated(remaking: Remaking) -> Step:
    """The nomination again: the form names the seat by its player."""
    body = remaking.entry.body
    seat, name = int(body["for"]), str(body["name"])
    leaver = called(remaking.match, seat)
    by, form, signed = remaking.sentence("substitute", Substitute(match=remaking.match.id, name=name, leaver=leaver))
    step = remaking.at_work()
    nominate(step, by, seat, form, signed)
    return step


NOMINATED = EntryType(
    "substitute",
    sentence_form(**{"seat": seat_number, "for": seat_number, "name": text}),
    remake=_remake_nominated,
    says="seat {seat} wants {name} in seat {for}, signed",
    between=True,
    letter="substitute",
)


def take_over(step: Step, seat: int, player: Player, form: SignedForm[Substitute], signed: Signed) -> None:
    """The newcomer takes the seat, with all its knowledge and a clock that starts again. Raises `Refused`.

    What the former player had sent and was not used yet is given up: its keys count no longer. Only what was set
    aside of it keeps its trace, so that a miss after a withdrawal is no invented one; the newcomer's revisions go on
    from there.
    """
    match = step.match
    nomination = match.nominated.get(seat)
    if match.phase not in RUNNING or nomination is None or nomination.name != player.name:
        says = Phrase("{name} was not asked to take this seat", name=player.name)
        raise Refused(Fault("substitute", match.id, says))
    if not agreed(match, seat, step.world.now):
        raise Refused(Fault("substitute", match.id, Phrase("the others no longer agree to it")))
    sentence = step.sentence("substituted", seat, form, signed, player.name)
    step.file_mailbox(seat, player)
    step.append_entry("substituted", {"seat": seat, "player": player.document(), **sentence})
    left = match.players[seat - 1]
    given_up = "setups" if match.phase == "setup" else "orders"
    waiting = without(match.submissions, seat)
    if (sent := match.submissions.get(seat)) and sent.aside:
        waiting = {**waiting, seat: replace(sent, standing=False)}
        step.submitted.append((match.game, match.turn, seat, waiting[seat]))
    step.match = replace(
        drop(seated(step.match, seat, player), seat),
        resolve_at=None,
        banks=without(match.banks, seat),
        missed=match.missed - {seat},
        misses=without(match.misses, seat),
        unreachable=without(match.unreachable, seat),
        offers={what: without(willing, seat) for what, willing in match.offers.items()},
        nominated=without(match.nominated, seat),
        sentence_revs={place: rev for place, rev in match.sentence_revs.items() if place[0] != seat},
        former={**match.former, (seat, left.name): left},
        **{given_up: waiting},
    )
    if seat in match.clocks:
        start_clocks(step, [seat], without(match.clocks, seat))
    facts = {"seat": seat, "left": called(match, seat)}
    step.notices.append(Notice("welcome", seat, step.match, facts))
    step.notify("substituted", seat, **facts)
    for other, asked in step.match.nominated.items():  # whoever sat here before may have agreed
        if willing := _willing(step.match, asked):
            facts = {"by": max(willing), "seat": other, "name": asked.name, "nobody": False}
            step.notices.append(Notice("substitute", seat, step.match, facts))
    if match.phase == "setup":
        step.notices.append(Notice("setup", seat, step.match))


def _remake_substituted(remaking: Remaking) -> Step:
    """The newcomer's letter is read by the newcomer's keys, which count from this entry on."""
    match, seat = remaking.match, remaking.seat()
    player = remaking.pinned(seat, Player.read(remaking.entry.body["player"]))
    remaking.match = seated(match, seat, player)
    asked = Substitute(match=match.id, name=player.name, leaver=called(match, seat), hash=match.rules_hash)
    _, form, signed = remaking.sentence("substituted", asked)
    remaking.match = match
    step = remaking.at_work()
    take_over(step, seat, player, form, signed)
    return step


def _says(entry: Entry, _papers: Mapping[str, bytes]) -> str:
    newcomer = entry.body["player"]
    keys = ", ".join(key["fingerprint"] for key in newcomer["keys"]) or "the mailbox"
    return f"{newcomer['name']} takes seat {entry.body['seat']}, as agreed, signed; from here on counts: {keys}"


SUBSTITUTED = EntryType(
    "substituted",
    sentence_form(seat=seat_number, player=player_form),
    remake=_remake_substituted,
    says=_says,
    between=True,
    of_player=True,
    letter="substituted",
)
