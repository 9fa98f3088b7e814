"""Our own games are checked by the kit that others use for theirs; and all changes of secrets are tried."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from in_a_box.small_games import PIECES
from playing import random_players, unlearned
from playing.conditions import CONDITIONAL, with_conditions

from pbem.games import GAMES, parts, rules
from pbem.games.dueling_masters import Conditions
from pbem.testing import CHECKS, Subject, World
from pbem.testing.secrecy import seen
from pbem.testing.subject import readers

RECORDS = Path(__file__).parents[1] / "data" / "records"
"""Records of each edition, written once by `write_records`: the rules of an edition never change."""

NEARLY = {
    "spaceships": [
        "Gx3 Gx3 bRv1Rv3 bRv1Rv3(DS) sYw3 m2 Ox4 kRv1 Gx3 mRv1 Gx3",
        "mR Rv1",
        "kRv1 Rv1",
        "bRv1Rv3 (DS2)",
        "next Rv1 Gx3 Ow1 By5 Yz5 Gv1 Rz1",
        f"Ow1 next {' '.join(a + b + c for a in 'ROY' for b in 'vwxyz' for c in '12345')} mRv1 Gx3",
    ],
    "dueling-masters": ["Z2 A1-C3", "Z1 D1-J1", "Z2 A1-A2"],
    "shoot-em-up": ["A: FMS\nD: LLL", "A: FMS\nB: FM"],
}


@cache  # the games that are played are the same for all checks
def subject(game: str) -> Subject:
    players = replace(unlearned.sparing(game), nearly=NEARLY[game], secrets=bool(unlearned.CHANGES[game]))
    return Subject(game, players, RECORDS / game, seeds=1)


def test_every_game_has_players() -> None:
    assert set(random_players.PLAYERS) == set(GAMES) == {path.name for path in RECORDS.iterdir()}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("game", GAMES)
def test_the_game_conforms(game: str, check: str) -> None:
    CHECKS[check](subject(game))


@pytest.mark.parametrize("game", GAMES)
def test_options_are_carried_over(game: str) -> None:
    """In Spaceships what survives is the next fleet; in the others it is the same game again."""
    for played in subject(game).played:
        following = rules(game).carry(played.options, played.states[-1].result)
        assert game == "spaceships" or following == played.options


@pytest.mark.parametrize("game", ["dueling-masters", "shoot-em-up"])
def test_nothing_is_ordered_for_a_turn_after_the_last(game: str) -> None:
    played = subject(game).played[0]
    judge, last = rules(game), played.options.max_turns
    seat = 2 - last % 2 if game == "dueling-masters" else 1
    found = [parts.ahead(judge, played.states[0], seat, turn, "") for turn in (last, last + 2)]
    (fault,) = set(found[1]) - set(found[0])
    assert f"at most {last} turns" in fault.message


# Worlds that differ in secrets, at length.


def pair(game: str, seed: int) -> tuple[World, World, int | None]:
    random = Random(f"{game} {seed}")
    cases = random_players.PLAYERS[game].options
    case = random.randrange(len(cases))
    told = unlearned.play(game, random, case, random.choice((3, 8, 24)))
    reader = random.choice([*readers(cases[case][1])])
    return told, unlearned.vary(random, told, reader), reader


def same(told: World, varied: World, reader: int | None) -> None:
    game, dice = told.judge.name, Random("conditions")
    texts = [*NEARLY[game], *(with_conditions(dice, game, "Rv1", "Z1 D1-J1") for _ in range(20))]
    for one, other in zip(seen(told, reader, texts), seen(varied, reader, texts), strict=True):
        assert one == other


@pytest.mark.parametrize("game", CONDITIONAL)
@pytest.mark.parametrize("seed", range(6))
def test_conditions_tell_nothing(game: str, seed: int) -> None:
    same(*pair(game, seed))


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("seed", range(200))
def test_a_reader_sees_the_same_at_length(game: str, seed: int) -> None:
    same(*pair(game, seed))


def test_conditions_are_asked_of_what_their_seat_was_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Atoms that read more than those of today would learn nothing, either."""
    given: list[object] = []

    def holds(*asked: Any) -> bool:
        given.extend(asked[-1])
        return True

    monkeypatch.setattr(Conditions, "holds", holds)
    judge = rules("dueling-masters")
    options = judge.options({}, 2)
    setups = [judge.setup(options, seat, text) for seat, text in enumerate(PIECES.values(), start=1)]
    report = {"seat": 2, "kind": "check", "piece": "Z1", "from": "G2", "to": "G5"}
    state = parts.with_reports(judge, judge.begin(options, setups), [[report]])
    parts.branch(judge, state, 1, "if left G2 then Z1 D1-D2 else Z1 D1-D3")
    assert given == [{name: said for name, said in report.items() if name != "to"}]
