"""A seat is silent: it misses its time, and forfeits the game, or another player claims it.

Only `progress.tick` calls `miss` for the desk's clock (the remaking does, too): once the grace is over, and every
letter that came before its end is handled. Implements protocol.md, "A match", the clock (`miss`), and "Commands"
(`claim`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Fault, Refused
from pbem.match.asking import start_clocks
from pbem.match.entry_type import EntryType, mapping, number, seat_number, seats, sentence_form, time
from pbem.match.events.clocks import out_of_reach
from pbem.match.events.ended import abandon, give_up
from pbem.match.events.leaving import leave_in_silence, leaves_in_silence
from pbem.match.state import PAUSE, RUNNING, losing_seats, not_played, only_one_without, standing, without
from pbem.match.stored_orders import refused_default
from pbem.match.submissions import submit
from pbem.match.transcript import utc, written
from pbem.phrase import Phrase
from pbem.requests import Claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from pbem.match.remaking import Remaking
    from pbem.match.seat_clock import Clock
    from pbem.match.state import Match
    from pbem.match.step import Signed, Step
    from pbem.requests import SignedForm


def miss(step: Step, seat: int) -> None:
    """A seat's time and grace are over; the terms say what follows. All players are told."""
    match = step.match
    deadline = match.clocks[seat].deadline
    assert deadline is not None, "who has no deadline cannot miss it"
    body = {"game": match.game, "turn": match.turn, "seat": seat, "deadline": written(deadline)}
    entry = step.append_entry("missed", body)
    late_from = min(utc(entry.body["deadline"]) + timedelta(seconds=match.clocks[seat].grace), utc(entry.time))
    missed = (*match.misses.get(seat, ()), entry.seq)
    again = match.phase == "setup" and len(missed) < match.terms.silence.setups
    misses, late = {**match.misses, seat: missed}, {**match.late_from, seat: late_from}
    banks = {**match.banks, seat: 0}  # used last, and so used up
    step.match = replace(step.match, misses=misses, late_from=late, banks=banks)
    if again:  # there is no empty setup: it is asked for once more
        start_clocks(step, [seat], without(match.clocks, seat))
    else:
        step.match = replace(step.match, missed=match.missed | {seat})
        if (unused := refused_default(step.match, seat)) is not None:
            submit(step, seat, unused)
    leaves = leaves_in_silence(match, seat)
    step.notify("missed", seat=seat, misses=len(missed), again=again, leaves=leaves)


def _remake_missed(remaking: Remaking) -> Step:
    """A miss: no earlier than pace and grace allow, whatever the player's zone, which only the server knows."""
    remaking.goes_on()
    step = remaking.at_work()
    seat = remaking.seat()
    clock = remaking.match.clocks[seat]
    deadline = utc(remaking.entry.body["deadline"])
    pauses = tuple(stop for stop in clock.stops if stop.reason == PAUSE)
    late = replace(clock, since=deadline, time=0, bank=0, stops=pauses)
    if _before(deadline, late, clock.since, clock.time):
        raise remaking.untrue(None, "the deadline is earlier than what was agreed")
    if _before(step.world.now, replace(late, weekends=True), deadline, clock.grace):
        raise remaking.untrue(None, "the grace after the deadline was not over")
    if not remaking.match.asked(seat):  # which the transcript shows of a reveal
        raise remaking.untrue(None, "nothing was due from this seat")
    if seat in remaking.match.missed:
        raise remaking.untrue(None, "this seat had missed its time before")
    step.match = replace(step.match, clocks={**remaking.match.clocks, seat: late})
    miss(step, seat)
    return step


def _before(moment: datetime, clock: Clock, start: datetime, seconds: int) -> bool:
    """True if the clock cannot have run so long in any zone."""
    floor = clock.floor(start, seconds)
    return floor is None or moment < floor


MISSED = EntryType(
    "missed",
    mapping({"game": number, "turn": number, "seat": seat_number, "deadline": time}),
    remake=_remake_missed,
    says="seat {seat} missed turn {turn} of game {game}: pace and grace were over",
    between=True,
)


def lose(step: Step, silent: Sequence[int]) -> None:
    """Seats that were silent for too long leave the game, if the terms say so and the others play on, or lose it."""
    if rest := leave_in_silence(step, silent) if step.match.terms.silence.leaves else silent:
        forfeit(step, rest)


def forfeit(step: Step, silent: Iterable[int]) -> None:
    """Seats that were silent for too long lose the game, or the whole match if no game has begun."""
    match = step.match
    losing = sorted(silent)
    allowed = [seat for seat in match.seats if seat in losing_seats(match)]
    if not losing or not set(losing) <= set(allowed):
        raise Refused(Fault("forfeit", None, Phrase("nobody was silent for that long")))
    if any(leaves_in_silence(match, seat) for seat in losing):
        raise Refused(Fault("forfeit", None, Phrase("who is silent leaves the game, and the others play on")))
    step.append_entry("forfeited", {"game": match.game, "seats": losing})
    end_by_silence(step, losing)


def end_by_silence(step: Step, silent: Sequence[int]) -> None:
    """End the game or match because these seats were silent: nobody wins if all were silent."""
    plays_on = any(seat not in silent for seat in step.match.in_game)
    give_up(step, only_one_without(step.match.in_game, *silent), "forfeit" if plays_on else "abandoned")


def _remake_forfeited(remaking: Remaking) -> Step:
    """The forfeit again."""
    remaking.goes_on()
    step = remaking.at_work()
    forfeit(step, remaking.entry.body["seats"])
    return step


FORFEITED = EntryType(
    "forfeited",
    mapping({"game": number, "seats": seats}),
    remake=_remake_forfeited,
    says="seats {seats} lost game {game} by their silence",
)


def claim(step: Step, seat: int, form: SignedForm[Claim], signed: Signed) -> None:
    """Claim the game, or the match where no game has begun, from those who missed their time. Raises `Refused`.

    They leave the game where the terms say so, and the others play on. Against players whom no letter has reached for
    long, nothing is won: the match ends as abandoned.
    """
    match = step.match
    if match.phase not in RUNNING:
        raise Refused(Fault("claim", match.id, not_played(match)))
    # A claimant who missed the time, too, would lose: `claimable_seats` asks whether this seat has answered.
    missed = match.missed if match.terms.silence.claimable else frozenset[int]()
    unreachable = sorted(_lost(match, step.world.now) - missed - {seat})
    if against := claimable_seats(match, seat) or unreachable:
        grant(step, seat, against, form, signed)
    elif not match.terms.silence.claimable:
        says = Phrase("there is nothing to claim: the agreed rules say what a miss means")
        raise Refused(Fault("claim", match.id, says))
    elif match.asked(seat):
        raise Refused(Fault("claim", match.id, Phrase("the match is also waiting for you: first send what is due")))
    else:
        raise Refused(Fault("claim", match.id, Phrase("nobody has missed the deadline and the grace period")))


def claimable_seats(match: Match, seat: int) -> list[int]:
    """The seats against which this seat may claim now, as they missed their time; none while it is asked itself."""
    if match.phase not in RUNNING or not match.terms.silence.claimable or match.asked(seat) or match.awaits:
        return []
    if seat in match.left:
        return []
    answered = {other for other in match.seats if standing(match.submissions, other) or match.silent_by_now(other)}
    return sorted(match.missed - answered - {seat})


def _lost(match: Match, now: datetime) -> set[int]:
    """The seats whose players have been out of reach for long; nobody waits for those that are out of the game."""
    return {seat for seat in match.in_game if out_of_reach(match, seat, now)}


def grant(step: Step, seat: int, against: Sequence[int], form: SignedForm[Claim], signed: Signed) -> None:
    """Grant this seat's claim against those. Raises `Refused` if it could never be granted."""
    match = step.match
    missed = match.terms.silence.claimable and not match.awaits and set(against) <= match.missed
    unreachable = _lost(match, step.world.now).issuperset(against)
    if seat in match.left:
        raise Refused(Fault("claim", match.id, Phrase("you are out of this game, and the others play on")))
    if seat in against or not against or not (missed or unreachable):
        raise Refused(Fault("claim", match.id, Phrase("nobody has missed the deadline and the grace period")))
    sentence = step.sentence("claim", seat, form, signed)
    step.append_entry("claimed", {"seat": seat, "against": list(against), **sentence})
    if not missed:
        abandon(step)
    elif rest := leave_in_silence(step, against):
        end_by_silence(step, rest)


def _remake_claimed(remaking: Remaking) -> Step:
    """The claim again, against those whom the entry names: who else had answered, it does not show."""
    seat, form, signed = remaking.sentence("claim", Claim(match=remaking.match.id))
    step = remaking.at_work()
    grant(step, seat, remaking.entry.body["against"], form, signed)
    return step


CLAIMED = EntryType(
    "claimed",
    sentence_form(seat=seat_number, against=seats),
    remake=_remake_claimed,
    says="seat {seat} claimed from the silent seats {against}, signed",
    between=True,
    among=3,
    letter="claim",
)
