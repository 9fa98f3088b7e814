"""The visible part of a report, and the picture that a seat has: from reports, never from the other's ships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.games.spaceships import RULES, knowledge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.games import Report
    from pbem.games.spaceships import State

ANN = "DS Ov1-Yw2\nKC Gv4-Gx5\nPC Rz1-Rz4\nMD Bx1 By1 Bz1\nHS Bv5 Bw5"
BOB = "DS Ry3-Oz4\nKC Yv1-Yw3\nFS Bv1-Bw2\nMD Gx3 Gx4 Gx5\nLS Rv1"


def played(
    *turns: tuple[str, str], one: str = ANN, two: str = BOB, raw: Mapping[str, Any] | None = None
) -> tuple[State, list[list[Report]]]:
    options = RULES.options(raw or {}, 2)
    state = RULES.begin(options, [RULES.setup(options, 1, one), RULES.setup(options, 2, two)])
    reports = []
    for orders in turns:
        state, made = RULES.turn(state, {seat: RULES.order(state, seat, orders[seat - 1]) for seat in (1, 2)})
        reports.append(made)
    return state, reports


def test_before_the_first_turn() -> None:
    view: Any = knowledge.view(played()[0], 1, [])
    assert list(view) == ["turn", "over", "first", "own", "known", "entitled"]
    assert (view["turn"], view["over"], view["first"]) == (1, False, 1)
    assert view["known"] == {"2": {"empty": [], "ship": [], "destroyed": [], "named": {}, "ships": [], "fresh": []}}
    md = {"ship": "MD", "cells": ["Bx1", "By1", "Bz1"], "destroyed": [], "fired": [], "burnt_out": False}
    assert view["own"]["ships"][3] == md
    assert view["own"] | {"ships": []} == {"ships": [], "misses": [], "fresh": [], "score": 23}
    assert view["entitled"] == {
        "conventional": [
            {"ship": "DS", "strikes": 1},
            {"ship": "KC", "strikes": 3},
            {"ship": "PC", "strikes": 2},
            {"ship": "MD", "strikes": 1},
            {"ship": "HS", "strikes": 1},
        ],
        "missiles": [{"ship": "MD", "cells": ["Bx1", "By1", "Bz1"]}],
        "kamikazes": [],
        "beams": [{"ship": "DS", "directions": 13}],
        "scans": 1,
    }


def test_after_some_turns() -> None:
    state, reports = played(("Rv1 Gx3 Bv3 sYv1 bYw1Yw3", "Bv5 Bw5 Rv5 sRz1 m5 Rz1"), ("Yv1", "Rz2"))
    view: Any = knowledge.view(state, 1, reports)
    assert view["first"] == 1
    assert view["known"]["2"] == {
        "empty": ["Bv3", "Bv5", "Bw5"],
        "ship": [],
        "destroyed": ["Rv1", "Yv1", "Yw1", "Yw2", "Yw3", "Gx3", "Gx4"],
        "named": {"Rv1": "LS"},
        "ships": [{"ship": "LS", "cells": ["Rv1"]}],
        "fresh": ["Yv1"],
    }
    assert view["own"]["misses"] == ["Rv5"]
    assert view["own"]["fresh"] == ["Rz2"]
    assert view["own"]["ships"][0]["burnt_out"] is True
    assert view["own"]["ships"][2]["destroyed"] == ["Rz1", "Rz2"]
    assert [ship["ship"] for ship in view["entitled"]["conventional"]] == ["DS", "KC", "PC", "MD"]
    assert view["entitled"]["beams"] == []
    assert view["entitled"]["scans"] == 0
    other: Any = knowledge.view(state, 2, reports)
    assert other["own"]["ships"][3]["fired"] == ["Gx5"]
    assert other["known"]["1"]["named"] == {"Bv5": "HS", "Bw5": "HS"}
    assert other["known"]["1"]["empty"] == ["Rv1", "Rv5"]
    public: Any = knowledge.view(state, None, reports)
    assert public["own"] is public["entitled"] is None
    assert public["known"] == {"1": other["known"]["1"], "2": view["known"]["2"]}


def test_flashcube_data_names_living_ships() -> None:
    state, reports = played(("Gx4", ""), one=ANN, two=BOB)
    known = knowledge.view(state, 2, reports)["known"]["1"]
    assert known["named"] == {"Gx4": "KC", "Gx5": "KC"}
    assert known["ship"] == ["Gx4", "Gx5"]
    assert known["empty"] == ["Gx3"]
    assert known["fresh"] == ["Gx3", "Gx4", "Gx5"]


def test_kamikaze_death_is_known_of_its_owner() -> None:
    raw = {"fleet": "cost:4"}
    turns = (("Bv2 Bv4", ""), ("", "kBv1 Rv1"), ("", "kBv3 Rv5"))
    state, reports = played(*turns, one="PC Rv1-Rv4", two="PC Bv1-Bv4", raw=raw)
    view: Any = knowledge.view(state, 1, reports)
    assert view["over"] is True
    assert view["entitled"] is None
    assert view["known"]["2"]["ships"] == [{"ship": "PC", "cells": ["Bv1", "Bv2", "Bv3", "Bv4"]}]
    assert view["own"]["misses"] == ["Rv5"]
    assert knowledge.view(state, 2, reports)["known"]["1"]["empty"] == ["Rv5", "Bv1", "Bv2", "Bv3", "Bv4"]
