"""A seat's own side, made again from its view: it judges that seat's orders just as the position itself does."""

from __future__ import annotations

import json
from random import Random

import pytest
from playing import random_players

from pbem.games import GAMES, Fault, Refused, Rules, State, part_of, rules

CASES = [(game, case) for game, player in random_players.PLAYERS.items() for case in range(len(player.options))]
WRONG = {
    "spaceships": "Gx3 Gx3 bRv1Rv3 bRv1Rv3(DS) sYw3 m2 Ox4 kRv1 Gx3 mRv1 Gx3",
    "dueling-masters": "Z2 A1-C3",
    "shoot-em-up": "A: FMS\nD: LLL",
}
OTHERS = (
    "",
    "nonsense",
    f"Ow1 next {' '.join(a + b + c for a in 'ROY' for b in 'vwxyz' for c in '12345')} mRv1 Gx3",
)


def judged(judge: Rules, state: State, seat: int, text: str) -> object:
    try:
        orders = judge.order(state, seat, text)
    except Refused as refused:
        return [Fault(fault.rule, fault.token, fault.message) for fault in refused.faults]
    return orders, judge.unused(state, seat, orders)


@pytest.mark.parametrize(("game", "case"), CASES)
def test_orders_are_judged_alike(game: str, case: int) -> None:
    raw, seats = random_players.PLAYERS[game].options[case]
    played = random_players.play(game, Random(f"recalled {case}"), raw, seats, 2000)
    judge, random = rules(game), Random(case)
    told: dict[int, list[list[dict[str, object]]]] = {seat: [] for seat in range(1, seats + 1)}
    verdicts = 0
    for number, state in enumerate(played.states):
        for seat in state.remaining:
            view = json.loads(json.dumps(judge.view(state, seat, told[seat])))
            again = judge.recalled(view, seat)
            assert (again.turn, again.result is None) == (state.turn, state.result is None)
            # The whole board is open.
            assert game != "shoot-em-up" or getattr(again, "ships", None) == getattr(state, "ships", ())
            if state.result is None and seat in state.due:
                for text in (played.orders[number][seat], random.choice([WRONG[game], *OTHERS])):
                    assert judged(judge, again, seat, text) == judged(judge, state, seat, text)
                    verdicts += 1
        if number < len(played.reports):
            for seat, reports in told.items():
                reports.append([shown for report in played.reports[number] if (shown := judge.show(report, seat))])
    assert verdicts >= len(played.orders)


@pytest.mark.parametrize("game", GAMES)
def test_what_is_no_view_is_said_to_be_none(game: str) -> None:
    """What a letter brings may be anything."""
    views: tuple[dict[str, object], ...] = (
        {},
        {"turn": 1, "own": None},
        {"own": {"ships": 3}, "entitled": None},
        {"own": {"pieces": [{}]}},
    )
    for view in views:
        with pytest.raises((KeyError, TypeError, ValueError, IndexError)):
            rules(game).recalled(view, 1)


@pytest.mark.parametrize(
    ("game", "text", "said"),
    [
        (
            "spaceships",
            "Gx3 bGx1Gx3(DS2) m2 Ox4 Gx4 kRv1 Gx3 sYw3",
            [
                "conventional strikes at Gx3, Gx4",
                "beam along Gx1Gx3(DS2)",
                "missile 2 at Ox4",
                "kamikaze from Rv1 at Gx3",
                "scans of Yw3",
            ],
        ),
        ("spaceships", "", []),
        ("dueling-masters", "Z2 A1-C3", ["Z2 goes from A1 to C3"]),
        ("dueling-masters", "", ["pass"]),
        ("shoot-em-up", "A: FMS\nB: LRR", ["A: fire, move, raise a shield", "B: turn left, turn right, turn right"]),
    ],
)
def test_orders_are_read_back_in_words(game: str, text: str, said: list[str]) -> None:
    assert part_of(game, "words").said(text) == said


@pytest.mark.parametrize("game", ["dueling-masters", "spaceships"])
def test_the_public_has_no_side_to_be_recalled(game: str) -> None:
    raw, seats = random_players.PLAYERS[game].options[0]
    played = random_players.play(game, Random("public"), raw, seats, 2000)
    judge = rules(game)
    with pytest.raises(ValueError, match="the public has no"):
        judge.recalled(judge.view(played.states[0], None, []), 1)
