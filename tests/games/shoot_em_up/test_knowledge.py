"""The view of a seat, before a turn and after it."""

from __future__ import annotations

from pbem.games.shoot_em_up import RULES, knowledge


def test_a_view_before_and_after_a_turn() -> None:
    options = RULES.options({"board": "5x5"}, 2)
    setups = ("A b1 E\nB c1 W\nC d1 N", "D b5 S\nE c5 S\nF d5 S")
    state = RULES.begin(options, [RULES.setup(options, seat, text) for seat, text in enumerate(setups, start=1)])
    view = knowledge.view(state, 1, [])
    assert list(view) == [
        "turn",
        "over",
        "max_turns",
        "scores",
        "board",
        "seat",
        "ships",
        "destroyed",
        "last",
        "entitled",
    ]
    assert view["ships"][3] == {"ship": "D", "seat": 2, "square": "b5", "facing": "S", "shields": 0}
    assert (view["board"], view["max_turns"]) == ({"columns": 5, "rows": 5}, 200)
    assert (view["last"], view["destroyed"], view["entitled"]) == (None, [], ["A", "B", "C"])
    texts = {1: "A: SSS\nB: LLL\nC: LFL", 2: "D: LLL\nE: LLL\nF: MMM"}
    state, reports = RULES.turn(state, {seat: RULES.order(state, seat, text) for seat, text in texts.items()})
    view = knowledge.view(state, 1, [reports])
    assert view["last"] == {
        "turn": 1,
        "orders": {"A": "SSS", "B": "LLL", "C": "LFL", "D": "LLL", "E": "LLL", "F": "MMM"},
    }
    assert view["destroyed"] == [{"ship": "B", "seat": 1, "turn": 1, "action": 2, "where": "c1", "by": ["C"]}]
    assert (view["turn"], view["scores"], view["entitled"]) == (2, [2, 3], ["A", "C"])
