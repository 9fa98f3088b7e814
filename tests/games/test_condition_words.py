"""Orders in words: conditional ones in each game that has them, and others as they are read back."""

from __future__ import annotations

import pytest
from in_a_box.small_games import PIECES

from pbem.games import Fault, part_of, parts, rules
from pbem.games.conditional_orders import branch_said, condition_of, condition_said

FORMS = {
    "spaceships": {
        "Gx3 hit": "you hit Gx3",
        "Gx3 miss": "you missed at Gx3",
        "Gx3 duplicate": "you hit Gx3, which was destroyed before",
        "Gx3 ship": "your scan of Gx3 found a ship",
        "Gx3 none": "your scan of Gx3 found nothing",
        "sunk any": "you destroyed a ship",
        "sunk KC2": "you destroyed KC2",
        "lost any": "you lost a ship",
        "lost DS": "you lost DS",
        "struck Rv1": "your opponent struck Rv1",
        "can bRv1Rv3 Gx3": "you can order bRv1Rv3 Gx3",
    },
    "dueling-masters": {
        "lost Z2": "you lost Z2",
        "lost any": "you lost a piece",
        "lost *": "you lost an asteroid",
        "took X1": "your opponent lost X1",
        "met C3": "pieces met on C3",
        "left G7": "a piece of your opponent's left G7",
        "can Z1 D2-D9": "you can order Z1 D2-D9",
    },
}


@pytest.mark.parametrize(
    ("game", "atom", "said"), [(game, *row) for game, rows in FORMS.items() for row in rows.items()]
)
def test_each_condition_is_said(game: str, atom: str, said: str) -> None:
    assert condition_said(game, (((True, tuple(atom.split())),),)) == said


def test_conditions_are_joined_as_they_bind() -> None:
    text = "if not lost any and met C3 or left G7 and not took * then W A10-B8 else Z1 D1-D2"
    assert condition_of("dueling-masters", text, 1) == (
        "not (you lost a piece) and pieces met on C3,"
        " or a piece of your opponent's left G7 and not (your opponent lost an asteroid)"
    )
    assert condition_of("dueling-masters", text, 2) is None


def test_each_branch_is_judged_alone() -> None:
    judge = rules("dueling-masters")
    options = judge.options({}, 2)
    state = judge.begin(
        options, [judge.setup(options, seat, PIECES[name]) for seat, name in ((1, "ann"), (2, "bob"))]
    )
    found = parts.branches(judge, state, 1, "if lost any then W A10-B8,\nelse if met C3 then Z1 D9-D8 else Z1 D1-D2")
    assert [branch_said("dueling-masters", branch) for branch in found] == [
        "branch 1, if you lost a piece: W goes from A10 to B8",
        "branch 2, if pieces met on C3: Z1 D9-D8",
        "branch 3, otherwise: Z1 goes from D1 to D2",
    ]
    assert [bool(branch.faults) for branch in found] == [False, True, False]
    assert parts.branches(judge, state, 1, "Z1 D1-D2") == ()
    assert parts.unasked(judge, state, 1, "if lost any then Z1 D1-D2", "Z1 D1-D2") == ()


def test_what_a_condition_asks_in_vain() -> None:
    judge = rules("spaceships")
    options = judge.options({"fleet": "cost:8"}, 2)
    fleet = "DS Rv1-Ow2"
    setup = judge.setup(options, 1, fleet)
    state = judge.begin(options, [setup, setup])
    text = "if Gx3 hit and not Gv2 miss or Rv1 none then Gx1 else if lost any or sunk KC then Gx2"
    words = "nothing of yours strikes or scans {} in the turn before"

    def doubts(before: str, orders: str = text) -> list[str]:
        return list(parts.unasked(judge, state, 1, orders, before))

    assert doubts("Gx3 bGv1Gv3") == [words.format("Rv1")]
    assert doubts("Gx3") == [words.format("Gv2"), words.format("Rv1")]
    assert doubts("next Gx5") == [], "what it stands for is not known yet"
    assert doubts("Gx9") == []
    assert doubts("Gx3", "Gx3") == []
    assert isinstance(parts.ahead(judge, state, 1, 2, text), tuple)
    assert all(isinstance(fault, Fault) for fault in parts.ahead(judge, state, 1, 2, "if x then y"))


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
