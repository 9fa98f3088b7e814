"""Substitutes by mail: who is named for a seat, who agrees, and the newcomer who takes it.

The newcomer is asked once all others agree. Until then the newcomer is told only what anybody may know; with the
entry that hands over the seat comes everything that the seat knows. Implements protocol.md, "Commands"
(`substitute`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.desk.caller import Caller, refused
from pbem.desk.commands import proposals
from pbem.desk.commands.proposals import Offers, listening, standings_of_others
from pbem.desk.outcomes import NOT_TO_BE_ASKED, Reply
from pbem.desk.seats import SeatContext, demand_leisure, number_of, pinned, placed, seated_at, without_keys
from pbem.games import refuse
from pbem.letters.draft import OutgoingLetter
from pbem.mail.commands import COMMANDS, Command
from pbem.match import progress, state
from pbem.match.events import substituted
from pbem.match.naming import called, hides_players, seen_by
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.desk.match_facts import LetterView
    from pbem.match.step import Step
    from pbem.requests import Substitute

_WILL_YOU = Phrase("[pbem {match}] {title}: will you take {leaver}'s seat?")
_TAKEN = Phrase("[pbem {match}] {title}: {name} has taken your seat")


def substitute(offers: Offers, caller: Caller, command: Command[Substitute]) -> Reply:
    """`substitute`: a seat is to change hands, or somebody takes it."""
    loaded = offers.seats.archive.load(number_of(command))
    name = caller.known_player.name
    if loaded and not loaded[0].seat_of(name):
        match, row = loaded
        for seat, nomination in match.nominated.items():
            # Not `agreed`: it would tell a newcomer, and so any player, whether a late player has answered since.
            if nomination.name == name and substituted.may_be_agreed(match, seat, caller.now):
                return _newcomer(offers, SeatContext(offers.seats, match, row, seat), caller, command)
    return _word(offers, seated_at(offers.seats, command, name, caller.now), caller, command)


# The players.


def _word(offers: Offers, seated: SeatContext, caller: Caller, command: Command[Substitute]) -> Reply:
    """A player names somebody for a seat, agrees to a name, or withdraws a nomination."""
    match, given = seated.match, command.request
    name = given.name
    seat = next((seat for seat in match.seats if called(match, seat) == given.leaver), None)
    if seat is None:
        raise refused("substitute", given.leaver, Phrase("{name} has no seat in this match", name=given.leaver))
    if given.hash is not None:  # it would be another sentence than the others say
        raise refused("substitute", given.hash, Phrase("the hash is for the newcomer to say: leave it out"))
    if name != substituted.NOBODY:
        player = listening(offers.people, offers.players.by_name(name), match.name(seated.seat))
        # Who plays already, where that is hidden, is refused as somebody whom nobody may ask.
        if player is None or (hides_players(match) and match.seat_of(name)):
            raise refused("substitute", name, NOT_TO_BE_ASKED.given(name=name))
        refuse(without_keys(offers.players, match.terms, name))
    facts: dict[str, object] = {"by": called(match, seated.seat), "name": name, "leaver": given.leaver, "hash": ""}
    before = substituted.agreed(match, seat, caller.now) and match.nominated[seat].name == name
    step = seated.step(caller.now)
    said = placed(caller, command, match, seated.seat)
    substituted.substitute(step, seated.seat, seat, said, caller.signed)
    seated.commit(step)
    asked = not before and substituted.agreed(seated.match, seat, caller.now)
    if asked:
        _ask(offers, seated, seat, name, caller.now)
    facts["state"] = "nobody" if name == substituted.NOBODY else "asked" if asked else "named"
    return Reply("substitute", facts | seated.facts(), at=seated)


# The newcomer.


def _ask(offers: Offers, seated: SeatContext, seat: int, name: str, now: datetime) -> None:
    """All agree: ask the newcomer, who is told what anybody may know."""
    match, row = seated.match, seated.row
    player = offers.players.known(name)
    seen = seen_by(match, 0)
    if not proposals.may_be_written(offers, name, seen.names, row.number, now):
        return
    facts = {
        "name": name,
        "leaver": seen.name(seat),
        "hash": match.rules_hash,
        "m": _stranger(offers, seated, name),
        "standings": standings_of_others(offers.people, match, seat),
    }
    text = offers.seats.letters.template("letters/take_seat.txt", **facts)
    subject = _WILL_YOU.given(match=match.id, title=match.rules.title, leaver=seen.name(seat))
    out = OutgoingLetter(subject, text, place=seated.place)
    offers.seats.letters.send(player.address, out, now)


def _stranger(offers: Offers, seated: SeatContext, name: str) -> LetterView:
    """The view of the match for the newcomer, who has no seat yet."""
    letters = offers.seats.match_letters
    return replace(letters.view(seated.match, seated.row), **letters.own_key(name))


def _newcomer(offers: Offers, seated: SeatContext, caller: Caller, command: Command[Substitute]) -> Reply:
    """The nominated player takes the seat, or declines it."""
    match, seat, name, now = seated.match, seated.seat, caller.known_player.name, caller.now
    given, left, gone_name = command.request, called(match, seat), match.name(seat)
    facts = {"name": name, "leaver": left, "hash": match.rules_hash}
    # Declined: tell the others, but not a leaver whom letters do not reach.
    if (given.name, given.leaver) == (substituted.NOBODY, left):
        for row in seated.row.seats:
            if row.player != gone_name or not offers.players.unreachable(gone_name):
                seated.write_to(
                    row.seat, "seat_declined", Phrase("{name} declines the seat", name=name), now, **facts
                )
        return Reply(
            "substitute", facts | {"state": "declined", "m": _stranger(offers, seated, name)}, outcome="declined"
        )
    if (given.name, given.leaver) != (name, left):
        raise refused("substitute", None, Phrase("you were asked to take {left}'s seat, and nothing else", left=left))
    if given.hash not in {None, match.rules_hash}:
        another = Phrase("the hash of the agreed rules is {rules_hash}", rules_hash=match.rules_hash)
        raise refused("substitute", given.hash, another)
    signed = caller.verdict.kind == "valid"
    # Without the hash, or a complete signed form, nothing is agreed: send the form to sign.
    if given.hash is None or (signed and not command.fields.keys() >= set(COMMANDS[command.name].fields)):
        return Reply("substitute_form", facts | {"m": _stranger(offers, seated, name)}, outcome="asked")
    demand_leisure(offers.seats, name)
    # A token proves only what its own letter asked.
    if caller.proof and caller.proof.token and caller.proof.token.place != seated.place:
        raise refused("substitute", None, Phrase("answer the letter that asked you to take this seat"))
    willing = seat in match.nominated[seat].willing
    step = seated.step(now)
    newcomer = pinned(offers.players, name, (match.server, match.id, seat), step.world.salt())
    said = placed(caller, command, state.seated(match, seat, newcomer), seat)
    substituted.take_over(step, seat, newcomer, said, caller.signed)
    progress.advance(step)
    _seat_taken(offers, seated, step, name)
    offers.people.opt_in(caller.addresses)
    # A seat left without its player's consent counts as abandoned in the ratings.
    if not (willing or hides_players(match)):
        offers.people.count_abandoned(match.terms.game, gone_name, match.names)
    if gone := offers.players.by_name(gone_name):
        facts["name"] = shown = seated.name(seat, 0)
        text = offers.seats.letters.template(
            "letters/seat_left.txt", willing=willing, **facts, m=_stranger(offers, seated, gone_name)
        )
        subject = _TAKEN.given(match=match.id, title=match.rules.title, name=shown)
        offers.seats.letters.send(gone.address, OutgoingLetter(subject, text), now)
    return Reply("substitute", facts | {"state": "taken"} | seated.facts(), at=seated)


def _seat_taken(offers: Offers, seated: SeatContext, step: Step, name: str) -> None:
    """Write that the seat has changed hands, and tell the current players."""
    number, before = seated.row.number, seated.match
    matches = offers.seats.archive.matches
    matches.give_up(number, before.game, before.turn, seated.seat)
    matches.reseat(number, seated.seat, name)
    offers.people.unobserve(number, name)
    seated.row = matches.known(number)
    seated.commit(step)
