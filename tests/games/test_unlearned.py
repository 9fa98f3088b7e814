"""Non-interference by the rules: vary what a reader cannot have learned, and all that the reader sees stays the same.

The reader is a seat or the public. `tests/desk/test_secrets.py` says the same of letters.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest
from playing import random_players, unlearned
from playing.conditions import with_conditions

from pbem.games import GAMES, Refused, Rules, State, rules
from pbem.games.audience import EVERYBODY
from pbem.games.dueling_masters import DuelingMasters
from pbem.games.dueling_masters.knowledge import SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_TURNS = (3, 8, 24)
NONSENSE = (
    "",
    "Rv1",
    "mR Rv1",
    "kRv1 Rv1",
    "sRv1 sRv2",
    "bRv1Rv3 (DS2)",
    "Z1 D1-J1",
    "Z2 A1-A2",
    "next Rv1 Gx3 Ow1 By5 Yz5 Gv1 Rz1",
    "A: FMS\nB: FM",
    "?",
)


def pair(game: str, seed: int) -> tuple[unlearned.Told, unlearned.Told, int | None]:
    """A game, a reader, and the same game for this reader."""
    random = Random(f"{game} {seed}")
    cases = random_players.PLAYERS[game].options
    case = random.randrange(len(cases))
    told = unlearned.play(game, random, case, random.choice(MOST_TURNS))
    reader = random.choice((None, *range(1, cases[case][1] + 1)))
    return told, unlearned.vary(random, told, reader), reader


def answers(judge: Rules, state: State, reader: int, texts: Iterable[str]) -> Iterator[object]:
    """What the reader is told when these orders are sent or previewed."""
    for text in texts:
        try:
            yield judge.order(state, reader, text).text
        except Refused as refused:
            yield refused.faults


def seen(told: unlearned.Told, reader: int | None) -> Iterator[object]:
    """All that the reader can get to see in the course of a game."""
    judge = rules(told.game)
    shown = []
    for number, (state, reports) in enumerate(told.positions()):
        if number:
            shown.append([found for report in reports if (found := judge.show(report, reader)) is not None])
            yield shown[-1]
        yield judge.view(state, reader, shown)
        yield state.turn, {seat: forced is None for seat, forced in state.due.items()}
        if reader is not None and reader in state.due:
            own = told.orders[number][reader] if number < len(told.orders) else ""
            dice = Random(number)
            plans = [with_conditions(dice, told.game, own or "Rv1", NONSENSE[6]) for _ in range(9)]
            yield list(answers(judge, state, reader, [own, *NONSENSE, *plans]))


def same(told: unlearned.Told, varied: unlearned.Told, reader: int | None) -> None:
    for one, other in zip(seen(told, reader), seen(varied, reader), strict=True):
        assert one == other


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("seed", range(12))
def test_a_reader_sees_the_same(game: str, seed: int) -> None:
    same(*pair(game, seed))


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("seed", range(12, 200))
def test_a_reader_sees_the_same_at_length(game: str, seed: int) -> None:
    same(*pair(game, seed))


@pytest.mark.parametrize("game", GAMES)
def test_there_is_much_to_vary(game: str) -> None:
    """Every sort of change is kept now and then: the tests above mean something."""
    kept: Counter[str] = Counter()
    for seed in range(12):
        kept += pair(game, seed)[1].changes
    wanted = {change.__name__ for change in unlearned.CHANGES[game]}
    assert set(kept) == wanted
    assert sum(kept.values()) >= 30 * len(wanted)


def test_a_choice_by_the_other_side_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        DuelingMasters, "holds", lambda _self, state, seat, *_: sum(state.sides[2 - seat].squares) % 2 == 0
    )
    pairs = [pair("dueling-masters", seed) for seed in range(12)]
    with pytest.raises(AssertionError):
        any(map(same, *zip(*pairs, strict=True)))


def test_a_destination_that_leaked_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    told, varied = unlearned.two_destinations()
    for reader in (2, None):
        same(told, varied, reader)
    monkeypatch.setitem(SHOWN, "check", {**SHOWN["check"], "to": EVERYBODY})
    for reader in (2, None):
        with pytest.raises(AssertionError):
            same(told, varied, reader)
