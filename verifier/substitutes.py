"""5.12 and 5.13: substitutes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.agreed import read_player
from verifier.conventions import moment, must, seconds
from verifier.events import lost
from verifier.letters import sentence
from verifier.state import Clock, Match

if TYPE_CHECKING:
    from verifier.transcript import Entry


def gone(match: Match, entry: Entry, seat: int) -> bool:
    return seat in match.missed or match.silent[seat] >= 1 or lost(match, entry, seat)


def substitute(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, leaver, name = body["seat"], body["for"], body["name"]
    must(not match.is_sealed, "a sealed match")
    player = match.player(leaver)
    sentence(match, entry, "substitute", **{"*name": name, "*leaver": player.name, "*hash": None})
    before, who = match.nominated.get(leaver, ("", set()))
    if name == "none":
        must(leaver in match.nominated, "nobody is nominated")
        del match.nominated[leaver]
        return
    who = who if before == name else set()
    must(name not in {one.name for one in match.players.values()}, "a player of this match")
    must(all(one[0] != name for other, one in match.nominated.items() if other != leaver), "nominated elsewhere")
    must(seat == leaver or leaver in who or gone(match, entry, leaver), f"{player.name} plays on")
    must(seat not in who, "said already")
    match.nominated[leaver] = (name, who | {seat})


def substituted(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, name = body["seat"], body["player"]["name"]
    leaver = match.player(seat)
    nominated, who = match.nominated.get(seat, ("", set()))
    must(nominated == name, f"{name} was not asked")
    must(all(one in who or gone(match, entry, one) for one in match.seats), "not all said so")
    player = read_player(match, seat, body["player"], entry.seq)
    match.said.pop(("substituted", seat), None)
    said = {"*name": name, "*leaver": leaver.name, "*hash": match.rules_hash}
    sentence(match, entry, "substituted", player, **said)
    match.players[seat] = player
    match.former[seat, leaver.name] = leaver
    for kept in (match.missed, match.unreachable, match.nominated, match.silent):
        kept.pop(seat, None)
    match.offers = {kind: offers - {seat} for kind, offers in match.offers.items()}
    match.said = {key: rev for key, rev in match.said.items() if key[1] != seat}
    if seat in match.clocks:
        match.clocks[seat] = Clock(moment(entry.time), seconds(match.terms["pace"]))
