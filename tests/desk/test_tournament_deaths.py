"""Simulated tournaments at a server that dies at its commits, and now and then is restored from an older backup.

With leavers and silence: each pair meets as often as it should, nothing counts twice or is dropped; both verifiers
find the files true. Planted defects of these kinds are found. That the table does not depend on the order of results
is tried in tests/tournament/.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from desk.test_tournaments import Club
from in_a_box.mortal import MortalReferee
from in_a_box.stores import of_sqlite

from pbem.desk.tournament_director import Director
from pbem.match.changed import replace
from pbem.tournament import fold, pairing
from pbem.tournament.match_result import result_of
from pbem.tournament.tournament_state import Pairing, Tournament
from pbem.tournament.tournament_step import TournamentStep
from verifier import Wrong, judged_tournament

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pbem.match.state import Match
    from pbem.match.transcript import Entry

    Plant = Callable[[MortalReferee, pytest.MonkeyPatch], None]

pytestmark = of_sqlite

DAY = timedelta(days=1)
NAMES = ("ann", "bob", "carl", "dora", "emil")
RATE = 0.04
"""The share of commits at which the server dies."""


class Broken(Exception):
    """A tournament did not end as it should."""


def play(folder: Path, seed: int, plant: Callable[[MortalReferee], None] = lambda _: None) -> Counter[str]:
    """One tournament to its end, judged; returns the deaths."""
    rng = random.Random(seed)
    referee = MortalReferee(folder, rng, RATE)
    with closing(referee), closing(sqlite3.connect(":memory:")) as backup:
        double = seed % 4 == 0
        club = Club(referee, *NAMES[: 3 + rng.randrange(1 if double else 3)])
        form = "double round robin" if double else "round robin"
        club.announce("ann", f"format: {form}\npace: 1d\ngrace: 0\nat-once: {rng.randrange(1, 4)}")
        club.enter(*club.people)
        plant(referee)
        club.start()
        referee.mortal = True
        asleep = {name for name in club.people if rng.random() < 0.15}
        referee.back_up(backup)
        restored = False
        for _ in range(60):
            if club.t.phase == "ended":
                break
            chance = rng.random()
            live = [line.player.name for line in club.t.entrants.values() if not line.out]
            if chance < 0.05 and live:
                club.say(rng.choice(live), "leave t1")
            elif chance < 0.12 and not restored:
                restored = True
                referee.put_back(backup)
            elif awake := [(one, name) for one in club.awaited for name in one.players if name not in asleep]:
                pairing, loser = rng.choice(awake)
                club.say(loser, f"resign {pairing.match} match")
            else:
                referee.wait(DAY + timedelta(minutes=1))
            if rng.random() < 0.1:
                referee.back_up(backup)
        referee.mortal = False
        judge(club, double=double)
        return referee.deaths


def judge(club: Club, *, double: bool) -> None:
    """Raise `Broken` for whatever is not as it should be."""
    t = club.t
    if t.phase != "ended":
        raise Broken("it does not end")
    entries = club.referee.desk.tournaments.archive.entries(1)
    counted = Counter(entry.body["match"] for entry in entries if entry.type == "result")
    if twice := [match for match, times in counted.items() if times > 1]:
        raise Broken(f"counted twice: {twice}")
    wanted = Counter([frozenset(pair) for pair in combinations(t.entrants, 2)] * (1 + double))
    if Counter(pairing.pair for pairing in t.pairings) != wanted:
        raise Broken("a pair meets another number of times")
    started = [pairing.match for pairing in t.pairings if pairing.match]
    begun = [number for number in (int(match[1:]) for match in started) if club.referee.desk.archive.load(number)]
    if len({*started}) != len(started) or len(begun) != len(started):
        raise Broken("a match was not begun, or twice")
    for number in begun:  # what is closed has counted, unless the tournament was over before
        transcript = club.referee.desk.archive.known(number)[0]
        if transcript.phase == "closed" and f"m{number}" not in counted and transcript.time < t.time:
            raise Broken(f"m{number}: its result is dropped")
    content = club.referee.desk.tournaments.archive.bundle(1, letters=True)
    bundles = club.bundles()
    club.proof(bundles)
    try:
        judged_tournament(content, bundles)
    except Wrong as wrong:
        raise Broken(f"the second verifier: {wrong}") from wrong


@pytest.mark.parametrize(
    "seed", [*range(1, 4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 201))]
)
def test_a_tournament_survives_deaths_and_restores(seed: int, tmp_path: Path) -> None:
    play(tmp_path, seed)


# Planted defects.


def result_of_its_own_transaction(referee: MortalReferee, patch: pytest.MonkeyPatch) -> None:
    """The result is taken after the transaction that closes the match: a death between the two drops it."""
    owed: list[tuple[Match, datetime]] = []
    over = Director.over

    def later(_: Director, match: Match, now: datetime) -> Callable[[], None]:
        owed.append((match, now))
        return lambda: None

    def pay() -> None:
        while owed:
            match, now = owed.pop()
            with referee.database.transaction():
                over(referee.desk.tournaments, match, now)()

    patch.setattr(Director, "over", later)
    referee.reborn, referee.afterwards = owed.clear, pay


def result_counted_again(referee: MortalReferee, patch: pytest.MonkeyPatch) -> None:
    """After a death, the server takes the results of all matches that are over, whether it had taken them or not."""

    def take(step: TournamentStep, entries: Sequence[Entry]) -> None:
        body = result_of(entries)
        if body is not None and step.tournament.phase == "playing":
            step._append("result", body)

    def taken(t: Tournament, match: str) -> Pairing | None:
        found = next((one for one in t.pairings if one.match == match), None)
        return found and replace(found, result=None)

    def again() -> None:
        tournaments, archive = referee.desk.tournaments, referee.desk.archive
        for number in archive.matches.in_phases("closed"):
            t = tournaments.archive.load(1)
            if t is not None and t.phase == "playing":
                with referee.database.transaction():
                    tournaments.over(archive.known(number)[0], referee.now)()

    patch.setattr(TournamentStep, "take", take)
    patch.setattr(Tournament, "pairing_of", taken)
    referee.reborn = again


def pair_left_out(_: MortalReferee, patch: pytest.MonkeyPatch) -> None:
    """The last pair of the last round never meets."""
    whole = pairing.round_robin

    def most(*given: Any, **how: Any) -> Any:
        return list(whole(*given, **how))[:-1]

    patch.setattr(fold, "round_robin", most)


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        pytest.param(result_of_its_own_transaction, "does not end|its result is dropped", marks=pytest.mark.long),
        (result_counted_again, "counted twice"),
        (pair_left_out, "a pair meets another number of times"),
    ],
)
def test_a_planted_defect_is_found(plant: Plant, found: str, tmp_path: Path) -> None:
    """Within a few seeds."""
    said = ""
    for seed in range(8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            try:
                play(folder, seed, lambda referee, patch=patch: plant(referee, patch))  # type: ignore[misc]
            except Broken as broken:
                said = str(broken)
                break
    assert re.search(found, said), said or "nothing was found"
