"""The Spaceships part of a report letter, and the letters that teach the game, against golden texts.

`test_game_letters.py` compares the letters with the golden texts.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import pytest
from judges.game_letters import GameLetters

from pbem.games.spaceships.words import summary

NAMES = {1: "Ann", 2: "Bob"}
GAME = GameLetters("spaceships")
call, report = GAME.call, GAME.report
CELLS = [c + r + n for c in "ROYGB" for r in "vwxyz" for n in "12345"]


REPORTS: list[dict[str, Any]] = [
    {"seat": 1, "kind": "beam", "cell": "Gx1", "result": "hit"},
    {"seat": 1, "kind": "beam", "cell": "Gx2", "result": "duplicate hit"},
    {"seat": 1, "kind": "beam", "cell": "Gx3", "result": "miss"},
    {
        "seat": 1,
        "kind": "strike",
        "cell": "Yv2",
        "result": "hit",
        "explosions": ["Yv1", "Yv2", "Yv3"],
        "destroyed": {"ship": "MD", "cells": ["Yv1", "Yv2", "Yv3"]},
        "flashcube": [
            {"cell": "Yv1", "ship": None},
            {"cell": "Yv2", "ship": "KC", "destroyed": False},
            {"cell": "Yv3", "ship": "KC", "destroyed": True},
        ],
    },
    {"seat": 1, "kind": "strike", "cell": "Yv2", "result": "duplicate hit", "explosions": ["Yv1", "Yv2", "Yv3"]},
    {"seat": 1, "kind": "scan", "cell": "Rv2", "result": "ship"},
    {"seat": 1, "kind": "scan", "cell": "Rv3", "result": "none"},
    {"seat": 1, "kind": "scan", "cell": "Rw2", "result": "destroyed"},
    {"seat": 1, "kind": "kamikaze death", "cell": "Bv4"},
    {
        "seat": 1,
        "kind": "kamikaze death",
        "cell": "Rz5",
        "destroyed": {"ship": "AG2", "cells": ["Rz4", "Rz5"]},
        "flashcube": [{"cell": "Rz4", "ship": None}, {"cell": "Rz5", "ship": "LS", "destroyed": False}],
    },
    {"seat": 2, "kind": "strike", "cell": "Gx2", "result": "hit"},
    {"seat": 2, "kind": "strike", "cell": "Bz5", "result": "miss"},
    {
        "seat": 2,
        "kind": "beam",
        "cell": "Ow2",
        "result": "hit",
        "destroyed": {"ship": "DS", "cells": ["Rv1", "Rv2", "Rw1", "Rw2", "Ov1", "Ov2", "Ow1", "Ow2"]},
        "flashcube": [
            {"cell": cell, "ship": "LG12", "destroyed": True}
            for cell in ("Rv1", "Rv2", "Rw1", "Rw2", "Ov1", "Ov2", "Ow1", "Ow2")
        ],
    },
]

VIEW: dict[str, Any] = {
    "turn": 5,
    "over": False,
    "first": 1,
    "own": {
        "ships": [
            {
                "ship": "DS",
                "cells": ["Rv1", "Rv2", "Rw1", "Rw2", "Ov1", "Ov2", "Ow1", "Ow2"],
                "destroyed": ["Ow2"],
                "fired": [],
                "burnt_out": True,
            },
            {
                "ship": "KC",
                "cells": ["Gx1", "Gx2", "Gx3", "Gy1", "Gy2", "Gy3"],
                "destroyed": ["Gx1", "Gx2"],
                "fired": [],
                "burnt_out": False,
            },
            {"ship": "FS", "cells": ["Bv4", "Bv5", "Bw4", "Bw5"], "destroyed": [], "fired": [], "burnt_out": False},
            {
                "ship": "MD",
                "cells": ["Yz1", "Yz2", "Yz3"],
                "destroyed": ["Yz3"],
                "fired": ["Yz1", "Yz3"],
                "burnt_out": False,
            },
            {"ship": "LS", "cells": ["Rz5"], "destroyed": ["Rz5"], "fired": [], "burnt_out": False},
        ],
        "misses": ["Rx3", "Ox3", "Yx3", "Bz5"],
        "fresh": ["Yx3", "Gx2", "Bz5"],
        "score": 18,
    },
    "known": {
        "2": {
            "empty": ["Rv1", "Rv3", "Yx3", "Yx4", "Gz5", "Bz5"],
            "ship": ["Rv2", "Bx2"],
            "destroyed": ["Rw2", "Rx2", "Yv1", "Yv2", "Yv3", "Gx1", "Gx2"],
            "named": {"Rv2": "KC", "Rw2": "KC", "Yv1": "MD", "Yv2": "MD", "Yv3": "MD"},
            "ships": [{"ship": "MD", "cells": ["Yv1", "Yv2", "Yv3"]}],
            "fresh": ["Yx3", "Yx4", "Gx2"],
        }
    },
    "entitled": {
        "conventional": [{"ship": "DS", "strikes": 1}, {"ship": "KC", "strikes": 2}],
        "missiles": [{"ship": "MD", "cells": ["Yz2"]}],
        "kamikazes": [{"ship": "FS", "cells": ["Bv4", "Bv5", "Bw4"]}],
        "beams": [{"ship": "DS", "directions": 7}],
        "scans": 2,
    },
}

NOTHING_KNOWN: dict[str, Any] = {"empty": [], "ship": [], "destroyed": [], "named": {}, "ships": [], "fresh": []}


PUBLIC = {
    "turn": 9,
    "over": True,
    "first": 1,
    "own": None,
    "known": {
        "2": VIEW["known"]["2"],
        "1": {
            "empty": ["Ox1"],
            "ship": ["Gy1", "Gy2"],
            "destroyed": ["Bx1", "Gx1"],
            "named": {"Gx1": "KC2"},
            "ships": [{"ship": "LG3", "cells": ["Bx1"]}],
            "fresh": ["Ox1"],
        },
    },
    "entitled": None,
}


def entitled_to(**some: Any) -> dict[str, Any]:
    nothing = {"conventional": [], "missiles": [], "kamikazes": [], "beams": [], "scans": 0}
    return {**PUBLIC, "over": False, "entitled": nothing | some}


HELP_OPTIONS: dict[str, tuple[dict[str, Any], int]] = {
    "standard": ({}, 1),
    "standard-none-due": ({"first": "1", "additional": [0, 7]}, 1),
    "standard-additional": ({"additional": [0, 7]}, 2),
    "cost": ({"fleet": "cost:30"}, 1),
    "restricted": (
        {
            "fleet": "cost:30",
            "allowed": {"KC": 2, "LG": 5},
            "additional": [3, 7],
            "additional_allowed": {"AG": 9},
        },
        1,
    ),
    "nothing-additional-allowed": ({"additional": [3, 0], "additional_allowed": {}}, 1),
}

LETTERS = {
    "report-seat-1": lambda: report(REPORTS, 1, VIEW, NAMES),
    "report-public": lambda: report(REPORTS, None, PUBLIC, NAMES),
    "events-seat-2": lambda: call("events", "events", REPORTS, 2, NAMES) + "\n",
    "events-second-first": lambda: call("events", "events", REPORTS[10:12], 1, NAMES) + "\n",
    "rules": GAME.rules,
} | {
    f"setup-help-{name}": lambda args=args: call("setup_help", "setup_help", *args) + "\n"
    for name, args in HELP_OPTIONS.items()
}


def test_long_lists_stay_within_the_column() -> None:
    view = deepcopy(VIEW)
    view["known"]["2"] = NOTHING_KNOWN | {"destroyed": CELLS[:60], "ship": CELLS[60:]}
    view["entitled"]["missiles"] = [{"ship": f"LG{n}", "cells": [cell]} for n, cell in enumerate(CELLS, 1)]
    view["entitled"]["conventional"] = [{"ship": f"HS{n}", "strikes": 1} for n in range(1, 60)]
    for seat in (1, 2, None):
        names = {1: "Ann", 2: "Somebody with a name of which one line has too little room " * 2}
        text = report(REPORTS, seat, view, names)
        assert max(len(line) for line in text.split("\n")) <= 76
        assert not re.search(r"[ \t]$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (PUBLIC, "The game is over."),
        ({**PUBLIC, "over": False}, ""),
        (
            entitled_to(scans=1),
            (
                "In turn 9 you may order any or all of these:\n\n   1 scan\n\nOne of each:  sGx3\n\n"
                "You have no strike left: the game ends with this turn."
            ),
        ),
        (
            entitled_to(kamikazes=[{"ship": "KC", "cells": ["Gx1"]}]),
            (
                "In turn 9 you may order any or all of these:\n\n   1 kamikaze strike         KC from Gx1\n\n"
                "One of each:  kGx1 Gx3\n\n"
                "You have neither a conventional nor a missile strike: the game ends with\n"
                "this turn unless you order a kamikaze strike."
            ),
        ),
        (
            entitled_to(),
            ("In turn 9 you have nothing to order.\n\nYou have no strike left: the game ends with this turn."),
        ),
    ],
)
def test_entitlements_of_special_positions(view: dict[str, Any], text: str) -> None:
    assert call("entitled", "entitled", view) == text


@pytest.mark.parametrize(
    ("seat", "told"),
    [
        (1, "You hit 4 and sank MD; you lost 4, and with them AG2, DS"),
        (2, "You hit 2 and sank DS; you lost 4, and with them MD"),
        (None, "Ann hit 4 and sank MD; Bob hit 2 and sank DS"),
    ],
)
def test_one_line_says_what_came_of_a_turn(seat: int | None, told: str) -> None:
    """Each cell counts once, whatever struck it again; a kamikaze's is lost, and nobody hit it."""
    assert summary(REPORTS, seat, NAMES) == told
    assert summary(REPORTS[5:8], 1, NAMES) == "You hit nothing; you lost nothing"
    strike = {"seat": 1, "kind": "strike", "cell": "Gx3", "result": "hit"}
    assert summary([strike], 1, NAMES) == "You hit 1; you lost nothing"
    assert summary([strike], 2, NAMES) == "You hit nothing; you lost 1"
    assert summary([strike], None, NAMES) == "Ann hit 1; Bob hit nothing"
