"""A seat that changes hands: somebody new takes the place of a player who hands it over, or who is gone.

The same sentence, "this one for that one", is signed by all: by the player who leaves, unless that one is gone; by
every opponent; and last by the newcomer, with the hash of the agreed rules. Each word is an entry of the transcript,
and the newcomer's is the entry `substituted`, from which on that player's keys count. Who is gone is told by the
transcript: a time that was missed, or letters that do not arrive for long. Implements protocol.md, "Commands"
(`substitute`) and "A match".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.match import ahead
from pbem.match.life import RUNNING, Nomination, Notice, standing
from pbem.match.pace import out_of_reach
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.match.keys import Player
    from pbem.match.life import Form, Match, Signed, Step

__all__ = ["NOBODY", "agreed", "gone", "nominate", "seated", "take_over"]

NOBODY = "none"
"""In the place of a name: nobody is to take the seat, after all."""


def gone(match: Match, seat: int, now: datetime) -> bool:
    """Whether the player of this seat is gone, so that the others may let somebody else take it.

    Who missed the time, and has sent nothing since; and who cannot be reached for longer than anybody must wait.
    """
    submissions = match.setups if match.phase == "setup" else match.orders
    missed = seat in match.missed or match.silent.get(seat, 0) > 0
    return (missed and not standing(submissions, seat)) or out_of_reach(match, seat, now)


def agreed(match: Match, seat: int, now: datetime) -> bool:
    """Whether all who are asked agree on who is to take this seat: its player and the others, but who is gone."""
    nomination = match.nominated.get(seat)
    if nomination is None:
        return False
    return all(one in nomination.willing or gone(match, one, now) for one in match.seats)


def nominate(step: Step, by: int, seat: int, name: str, form: Form, signed: Signed) -> None:  # noqa: PLR0913, PLR0917 - a signed word
    """A player wants this one in that seat, or nobody (`NOBODY`) after all. Raises `Refused`."""
    match = step.match
    nomination = match.nominated.get(seat)
    _judge(step, by, seat, name)
    said = step.sentence("substitute", by, form, signed)
    step.enter("substitute", {"seat": by, "for": seat, "name": name, **said})
    nominated = {other: found for other, found in match.nominated.items() if other != seat}
    if name != NOBODY:
        willing = nomination.willing if nomination and nomination.name == name else frozenset[int]()
        nominated[seat] = Nomination(name, willing | {by})
    step.match = replace(step.match, nominated=nominated)
    for other in match.seats:
        if other != by:
            facts = {"by": by, "seat": seat, "name": name, "nobody": name == NOBODY}
            step.notices.append(Notice("substitute", other, step.match, facts))


def _judge(step: Step, by: int, seat: int, name: str) -> None:
    """Refuse what makes no sense now."""
    match = step.match
    nomination = match.nominated.get(seat)
    if match.phase not in RUNNING:
        raise Refused(Fault("substitute", match.id, Phrase("the match is not being played")))
    if name == NOBODY:
        if nomination is None:
            raise Refused(
                Fault("substitute", name, Phrase("nobody was named for the seat of {name}", name=match.name(seat)))
            )
        return
    if match.seat_of(name):
        raise Refused(Fault("substitute", name, Phrase("{name} has a seat in this match already", name=name)))
    if any(other != seat and found.name == name for other, found in match.nominated.items()):
        raise Refused(Fault("substitute", name, Phrase("{name} is named for another seat of this match", name=name)))
    leaves = nomination is not None and seat in nomination.willing
    if by != seat and not leaves and not gone(match, seat, step.world.now):
        raise Refused(
            Fault(
                "substitute",
                match.name(seat),
                Phrase(
                    "{name} plays on: only who hands the seat over, has missed the time or cannot be reached for long"
                    " may be replaced",
                    name=match.name(seat),
                ),
            )
        )
    if nomination and nomination.name == name and by in nomination.willing:
        raise Refused(Fault("substitute", name, Phrase("you have said so already; others have yet to agree")))


def seated(match: Match, seat: int, player: Player) -> Match:
    """The match with this player in that seat, and nothing else changed."""
    return replace(match, players=(*match.players[: seat - 1], player, *match.players[seat:]))


def take_over(step: Step, seat: int, player: Player, form: Form, signed: Signed) -> None:
    """The newcomer takes the seat: all that it knows, and a clock that starts anew. Raises `Refused`.

    What the other had sent and was not used yet is given up: it was signed with keys that count no longer.
    """
    match = step.match
    nomination = match.nominated.get(seat)
    if match.phase not in RUNNING or nomination is None or nomination.name != player.name:
        raise Refused(
            Fault("substitute", match.id, Phrase("{name} was not asked to take this seat", name=player.name))
        )
    if not agreed(match, seat, step.world.now):
        raise Refused(Fault("substitute", match.id, Phrase("not everybody agrees to it any more")))
    said = step.sentence("substituted", seat, form, signed, player.name)
    step.file_mailbox(seat, player)
    step.enter("substituted", {"seat": seat, "player": player.document(), **said})
    left = match.name(seat)
    given_up = "setups" if match.phase == "setup" else "orders"
    submissions = {other: found for other, found in getattr(match, given_up).items() if other != seat}
    step.match = replace(
        ahead.drop(seated(step.match, seat, player), seat),
        resolve_at=None,
        banks={other: bank for other, bank in match.banks.items() if other != seat},
        missed=match.missed - {seat},
        silent={other: times for other, times in match.silent.items() if other != seat},
        unreachable={other: since for other, since in match.unreachable.items() if other != seat},
        offers={what: willing - {seat} for what, willing in match.offers.items()},
        nominated={other: found for other, found in match.nominated.items() if other != seat},
        said={place: rev for place, rev in match.said.items() if place[0] != seat},
        **{given_up: submissions},  # type: ignore[arg-type]  # by name
    )
    if seat in match.clocks:
        others = {other: clock for other, clock in match.clocks.items() if other != seat}
        step.start_clocks([seat])
        step.match = replace(step.match, clocks={**others, **step.match.clocks})
    facts = {"seat": seat, "left": left}
    for other in match.seats:
        step.notices.append(Notice("welcome" if other == seat else "substituted", other, step.match, facts))
    if match.phase == "setup":
        step.notices.append(Notice("setup", seat, step.match))
