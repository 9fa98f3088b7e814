"""Ratings and reliability: what a match makes of its players' standings.

The arithmetic is openskill's (Plackett-Luce), for two players and for more. Matches with a program in a seat are
rated in a pool of their own, which `pbem.store.people` knows. Nothing here is stored.
Implements protocol.md, "Commands" (`standings`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import GAMES, rules
from pbem.match.events import BEGIN
from pbem.store.people import POOLS, People, PlayerStanding, Pool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openskill.models import PlackettLuce

    from pbem.games import Result
    from pbem.match.state import Match
    from pbem.match.transcript import Entry

PROVISIONAL = 5
"""Below so many matches a rating is provisional, and marked."""


@cache
def _model() -> PlackettLuce:
    from openskill.models import PlackettLuce

    return PlackettLuce()


def rated(standings: Sequence[PlayerStanding], result: Result, *, abandoned: bool) -> list[PlayerStanding]:
    """The standings, in seat order, after a match with this result.

    A match that was abandoned (nobody played it to an end) is counted separately, and changes no rating.
    """
    if abandoned:
        return [replace(found, abandoned=found.abandoned + 1) for found in standings]
    model, winners = _model(), result.winners
    teams = [
        [model.rating() if found.mean is None else model.rating(mu=found.mean, sigma=found.deviation)]
        for found in standings
    ]
    after = model.rate(teams, ranks=[*map(float, result.places)])
    return [
        replace(
            found,
            played=found.played + 1,
            won=found.won + ([*winners] == [seat]),
            drawn=found.drawn + (len(winners) != 1 and (seat in winners or not winners)),
            mean=team[0].mu,
            deviation=team[0].sigma,
        )
        for seat, (found, team) in enumerate(zip(standings, after, strict=True), 1)
    ]


def reliability(before: Match, entries: Sequence[Entry]) -> Iterator[tuple[str, bool]]:
    """The setups and turns that came or were missed, by these entries: for each the player, and whether in time.

    In a sealed match each letter counts, however many steps it has, because the others wait for it. So does a
    verdict: a player who told something false is no more reliable than a silent one. What came too late was missed
    before, and counts once.
    """
    late, letters, names = set(before.missed), set[str](), dict(enumerate(before.names, start=1))
    for entry in entries:
        if entry.type == "agreed":
            names = {int(seat): player["name"] for seat, player in entry.body["players"].items()}
        elif entry.type == "substituted":
            late.discard(entry.body["seat"])
            names[entry.body["seat"]] = entry.body["player"]["name"]
        elif entry.type == "missed":
            late.add(entry.body["seat"])
            yield names[entry.body["seat"]], False
        elif entry.type in {*BEGIN, "turn"}:
            answers = entry.body.get("commitments") or entry.body.get("orders", ())
            yield from ((names[int(seat)], True) for seat in answers if int(seat) not in late)
            late.clear()
        elif entry.type in {"step", "reveal"} and entry.body["mail"] not in letters:
            letters.add(entry.body["mail"])
            if entry.body["seat"] not in late:
                yield names[entry.body["seat"]], True
            late.discard(entry.body["seat"])
        elif entry.type == "verdict":  # who did not reveal missed the time for it
            verdicts = entry.body["verdicts"].items()
            yield from ((names[int(seat)], False) for seat, word in verdicts if isinstance(word, dict))


def left_unwillingly(entries: Sequence[Entry]) -> Iterator[str]:
    """The players whose seats were taken without their word, by the entries of a whole match."""
    names, willing = dict[int, str](), set[tuple[int, str]]()
    for entry in entries:
        body = entry.body
        if entry.type == "agreed":
            names = {int(seat): player["name"] for seat, player in body["players"].items()}
        elif entry.type == "substitute" and body["seat"] == body["for"]:
            willing = {place for place in willing if place[0] != body["seat"]} | {(body["seat"], body["name"])}
        elif entry.type == "substituted":
            if (body["seat"], body["player"]["name"]) not in willing:
                yield names[body["seat"]]
            names[body["seat"]] = body["player"]["name"]


def tables(people: People, most: int) -> list[tuple[str, Pool, list[PlayerStanding]]]:
    """The best rated players of each game that was played, by its title and the pool."""
    return [
        (rules(game).title, pool, rows)
        for game in GAMES
        for pool in POOLS
        if (rows := people.standings(game, pool, most))
    ]
