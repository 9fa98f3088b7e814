"""5.5 to 5.15: misses, sentences, substitutes, and bare words."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from verifier.agreed import read_player
from verifier.conventions import moment, must, seconds
from verifier.ends import abandon, alone, end_game, lose, stop
from verifier.letters import sentence
from verifier.rules import Result
from verifier.state import SLACK, Clock, Match
from verifier.terms import called

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verifier.transcript import Entry


ZONES = range(-12, 15)
ASKS_AGAIN = {"pass", "pass always", "leave"}
"""The words of `miss` with which a missed setup is asked for once more."""
LEAVE = {"leave": 2, "forfeit": 1}
"""By `miss`, the misses in a row by which a seat leaves, where the others play on."""


def with_pauses(pauses: Iterable[tuple[datetime, datetime]], start: datetime, time: timedelta) -> datetime:
    """The time of the end, if pauses do not count."""
    for began, ended in sorted(pauses):
        if began <= start < ended:
            start = ended
        elif start < began < start + time:
            start, time = ended, time - (began - start)
    return start + time


def earliest(match: Match, clock: Clock) -> datetime:
    """The earliest deadline in any zone."""
    if match.terms["weekends"] == "count":
        return with_pauses(match.pauses, clock.since, clock.time)
    ends = [with_pauses([*match.pauses, *weekends(match, clock, zone)], clock.since, clock.time) for zone in ZONES]
    return min(ends)


def weekends(match: Match, clock: Clock, zone: int) -> Iterator[tuple[datetime, datetime]]:
    """The weekends in a zone from before the clock began to after its time must be over."""
    day = clock.since.replace(hour=0, minute=0, second=0)
    monday = day - timedelta(days=day.weekday(), hours=zone)
    paused = sum((ended - began for began, ended in match.pauses), timedelta())
    for week in range(-1, (2 * clock.time + paused) // timedelta(weeks=1) + 3):
        ends = monday + timedelta(weeks=week)
        yield ends - timedelta(days=2), ends


def missed(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, deadline = body["seat"], moment(body["deadline"])
    must((body["game"], body["turn"]) == (match.game, match.turn_due), "another turn")
    must(seat in match.clocks and seat not in match.missed, "a seat that is not asked")
    must(not match.paused, "missed in a pause")
    must(seat not in match.reveals, "missed, although it had revealed")
    over = with_pauses(match.pauses, deadline, seconds(match.terms["grace"]))
    must(deadline >= earliest(match, match.clocks[seat]) - SLACK, "a deadline too early")
    must(moment(entry.time) >= over - SLACK, "missed before the end of grace")
    match.silent[seat].append(entry.seq)
    match.banks[seat] = match.clocks[seat].bank = timedelta()
    if match.phase == "setup" and match.terms["miss"] in ASKS_AGAIN and len(match.silent[seat]) == 1:
        match.clocks[seat] = match.clock(seat, entry.time)
    else:
        match.missed[seat] = min(deadline + seconds(match.terms["grace"]), moment(entry.time))


def extended(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, to = body["seat"], body["to"]
    must(seat not in gone_from(match), "a seat that left")
    must(len(match.seats) == 2 or ("extend", seat) not in match.said, "time given twice")
    must(to and to == sorted(set(match.clocks) - {seat}), "other seats")
    must(3600 <= body["seconds"] <= 2592000, "too much or too little")
    sentence(match, entry, "extend", seconds=str(body["seconds"]))
    for other in to:
        clock = match.clocks[other]
        if other in match.missed:
            match.clocks[other] = Clock(moment(entry.time), seconds(body["seconds"]))
            del match.missed[other]
            match.silent[other] = match.silent[other][:-1]
        else:
            clock.time, clock.bank = clock.time + seconds(body["seconds"]), timedelta()


def forfeited(match: Match, entry: Entry) -> None:
    body = entry.body
    must(body["game"] == match.game and not match.paused, "another game, or a pause")
    must(match.ending is None, "a game that is over")
    must(body["seats"], "nobody")
    miss = match.terms["miss"]
    losing = ASKS_AGAIN if match.phase == "setup" else {"pass", "leave"}
    for seat in body["seats"]:
        twice = len(match.silent[seat]) >= 2 and miss in losing
        must(seat in match.missed and (miss == "forfeit" or twice), "a seat that did not lose")
        must(miss not in LEAVE or not plays_on(match, seat), "the others play on")
    lose(match, body["seats"])


def left(match: Match, entry: Entry) -> None:
    """Who was silent leaves, as the terms say."""
    seat, misses = entry.body["seat"], LEAVE.get(match.terms["miss"], 0)
    must(misses and not match.paused and match.ending is None, "nobody leaves")
    must(seat in match.missed and len(match.silent[seat]) >= misses, "a seat that was not silent for so long")
    leave(match, entry, ("silent", [seat], match.silent[seat]))


def leave(match: Match, entry: Entry, said: tuple[str, list[int], list[int]]) -> None:
    """The first of these seats leaves, by the entries on which that rests; the others of them follow."""
    cause, (seat, *others), rests_on = said
    must(plays_on(match, seat), "the others do not play on")
    made = {"game": match.game, "seat": seat, "turn": match.turn_due, "cause": cause, "entries": rests_on}
    must(entry.body == made, "another seat, turn, cause or reason")
    match.left.append((match.turn_due, seat))
    match.before_leaving[seat] = copy.deepcopy(match.position)
    match.position.leaves(seat)
    match.draw_on_banks(entry.time)
    for kept in (match.missed, match.clocks, match.silent, match.nominated):
        kept.pop(seat, None)
    match.offers.clear()
    if others:
        leave_or_lose(match, others)


def leave_or_lose(match: Match, silent: list[int]) -> None:
    """Those who were silent leave, one by one, as long as the others play on; the rest of them lose."""
    if plays_on(match, silent[0]):
        match.due.append(("left", ("silent", silent, match.silent[silent[0]])))
    else:
        lose(match, silent)


def gone_from(match: Match) -> set[int]:
    """The seats that left the game."""
    return {seat for _, seat in match.left}


def plays_on(match: Match, seat: int) -> bool:
    """True if the others play on when this seat leaves."""
    if match.phase != "playing" or match.terms["game"] != "shoot-em-up":
        return False
    return seat in match.position.remaining and len(match.position.remaining) > 2


def claimed(match: Match, entry: Entry) -> None:
    body = entry.body
    against = body["against"]
    must(against and body["seat"] not in against, "other seats")
    must(body["seat"] not in gone_from(match), "a seat that left")
    sentence(match, entry, "claim")
    silence = match.terms["miss"] in {"wait", "default"} and match.ending is None
    if silence and all(seat in match.missed for seat in against):
        leave_or_lose(match, against)
    else:
        playing = match.position.remaining if match.phase == "playing" else match.seats
        must(set(against) <= set(playing), "a seat that is out")
        must(all(lost(match, entry, seat) for seat in against), "they are not away for so long")
        abandon(match, "abandoned")


def lost(match: Match, entry: Entry, seat: int) -> bool:
    pace = match.terms["pace"]
    least = max(pace + match.terms["grace"], 604800) if pace else 2592000
    return seat in match.unreachable and moment(entry.time) - match.unreachable[seat] >= seconds(least)


def offered(match: Match, entry: Entry) -> None:
    kind, seat, word = entry.type, entry.body["seat"], entry.body["word"]
    who = [other for other in match.seats if other not in gone_from(match)]
    if kind == "draw":
        must(match.phase == "playing", "no game is played")
        who = list(match.position.remaining)
    must(seat in who, "a seat that is out")
    named = entry.body.get("sharing")
    names = None if named is None else " ".join(sorted(called(match, other) for other in named))
    said: dict[str, Any] = {"word": word, "*sharing": names}
    sentence(match, entry, kind, **said)
    sharing = [] if kind == "annul" else who if named is None else named
    must(set(sharing) <= set(who), "shared with a seat that is out")
    standing = match.offers.get(kind, {})
    must(word != "decline" or standing, "no offer stands")
    must(word != "accept" or sharing in standing.values(), "no such offer stands")
    must(word == "decline" or standing.get(seat) != sharing, "said already")
    match.offers[kind] = {} if word == "decline" else standing | {seat: sharing}
    if all(match.offers[kind].get(other) == sharing for other in who):
        if kind == "draw":
            must(match.ending is None, "a game that is over")
            end_game(match, Result(tuple(sharing), match.position.scores, "agreement"))
        else:
            abandon(match, "annulled")


def told(match: Match, entry: Entry) -> None:
    if entry.body.get("reason") != "unreachable":
        return
    must(match.terms["unreachable"] == "stands", "no clock stands for that")
    if entry.type == "halted":
        match.unreachable[entry.body["seat"]] = moment(entry.time)
    else:
        for seat in entry.body["seats"]:
            match.unreachable.pop(seat, None)


def operator(match: Match, entry: Entry) -> None:
    if entry.type == "stopped":
        abandon(match, f"operator: {entry.body['reason']}")
        return
    if entry.type == "restored":
        restored(match, entry)
    else:
        must(match.paused == (entry.type == "resumed"), "paused or not")
    match.paused = entry.type != "resumed"
    if match.paused:
        match.began = match.began or moment(entry.time)
    elif match.began:
        match.pauses.append((match.began, moment(entry.time)))
        match.began = None


def restored(match: Match, entry: Entry) -> None:
    must(entry.body["generation"] > match.generation, "no later generation")
    match.generation = entry.body["generation"]


def resigned(match: Match, entry: Entry) -> None:
    seat, whole = entry.body["seat"], entry.body["match"]
    must(whole or match.phase == "playing", "no game is played")
    sentence(match, entry, "resign", game="match" if whole else str(match.game))
    must(match.ending is None, "a game that is over")
    others_ = [other for other in match.seats if other != seat]
    last = alone(others_)
    winners = last
    if match.phase == "playing":
        must(seat in match.position.remaining, "a seat that is out")
        winners = alone([other for other in match.position.remaining if other != seat])
        if plays_on(match, seat) and not (whole and match.terms["kind"] != "single"):
            match.due.append(("left", ("resigned", [seat], [entry.seq])))
            return
    closing = (winners if match.terms["kind"] == "single" else last, "resignation")
    stop(match, winners, "resignation", closing, whole=whole)


def gone(match: Match, entry: Entry, seat: int) -> bool:
    return seat in match.missed or bool(match.silent[seat]) or lost(match, entry, seat)


def substitute(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, leaver, name = body["seat"], body["for"], body["name"]
    must(not match.is_sealed, "a sealed match")
    player = match.player(leaver)
    sentence(match, entry, "substitute", **{"*name": name, "*leaver": called(match, leaver), "*hash": None})
    must(seat == leaver or seat not in gone_from(match), "a seat that left")
    before, who = match.nominated.get(leaver, ("", {}))
    if name == "none":
        must(leaver in match.nominated, "nobody is nominated")
        del match.nominated[leaver]
        return
    must(name not in {one.name for one in match.players.values()}, "a player of this match")
    must(all(one[0] != name for other, one in match.nominated.items() if other != leaver), "nominated elsewhere")
    must(seat == leaver or leaver in who or gone(match, entry, leaver), f"{player.name} plays on")
    who = who if before == name else {}
    must(who.get(seat) != match.player(seat).name, "said already")
    match.nominated[leaver] = (name, {**who, seat: match.player(seat).name})


def substituted(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, name = body["seat"], body["player"]["name"]
    leaver = match.player(seat)
    nominated, who = match.nominated.get(seat, ("", {}))
    must(nominated == name, f"{name} was not asked")
    said = {one for one, who_said in who.items() if who_said == match.player(one).name}
    asked = [one for one in match.seats if one == seat or one not in gone_from(match)]
    others_ = [one for one in asked if one not in said and not gone(match, entry, one)]
    most = match.terms.get("substitutes") == "majority" and seat not in others_
    must(not others_ or (most and len(said - gone_from(match) - {seat}) > len(others_)), "not enough said so")
    player = read_player(match, seat, body["player"], entry.seq)
    match.said.pop(("substituted", seat), None)
    form = {"*name": name, "*leaver": called(match, seat), "*hash": match.rules_hash}
    sentence(match, entry, "substituted", player, **form)
    match.players[seat] = player
    match.former[seat, leaver.name] = leaver
    for kept in (match.missed, match.unreachable, match.nominated, match.silent):
        kept.pop(seat, None)
    match.offers = {
        kind: {other: sharing for other, sharing in offers.items() if other != seat}
        for kind, offers in match.offers.items()
    }
    match.said = {key: rev for key, rev in match.said.items() if key[1] != seat}
    match.banks.pop(seat, None)
    if seat in match.clocks:
        match.clocks[seat] = match.clock(seat, entry.time)
