"""The Shoot 'em up part of a report letter, and the letters that teach the game, against golden texts.

`test_game_letters.py` compares the letters with the golden texts.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from judges.game_letters import GameLetters
from playing import random_players

from pbem.games import parts, rules
from pbem.games.shoot_em_up.words import summary

ROOT = Path(__file__).parents[2]
NAMES = {1: "Ann", 2: "Bob", 3: "Cem", 4: "Dee"}
GAME = GameLetters("shoot-em-up")
call, report = GAME.call, GAME.report
FACES = {"^": "N", ">": "E", "v": "S", "<": "W"}


def hit(action: int, ship: str, where: str, by: str, shields: int = 0, *, destroyed: bool = False) -> dict[str, Any]:
    return {
        "action": action,
        "kind": "hit",
        "ship": ship,
        "where": where,
        "by": list(by),
        "shields": shields,
        "destroyed": destroyed,
    }


def state(action: int, **ships: str) -> dict[str, Any]:
    return {"action": action, "kind": "state", "ships": ships}


REPORTS = [
    hit(1, "A", "c3/c4", "D", 1),
    hit(1, "D", "c3", "AG", destroyed=True),
    state(1, A="c4 N 1", B="b1 E 2", E="d9 S 0", G="c2 N 0"),
    state(2, A="c5 N 1", B="c1 E 2", E="d8 S 0", G="b2 W 0"),
    hit(3, "A", "c6", "E", destroyed=True),
    hit(3, "E", "c6", "A", 0),
    state(3, B="d1 E 0", E="c6 W 0", G="b2 S 0"),
]

VIEW: dict[str, Any] = {
    "turn": 5,
    "over": False,
    "max_turns": 200,
    "scores": [1, 1, 1],
    "board": {"columns": 9, "rows": 9},
    "seat": 1,
    "ships": [
        {"ship": "B", "seat": 1, "square": "d1", "facing": "E", "shields": 0},
        {"ship": "E", "seat": 2, "square": "c6", "facing": "W", "shields": 0},
        {"ship": "G", "seat": 3, "square": "b2", "facing": "S", "shields": 0},
    ],
    "destroyed": [
        {"ship": "C", "seat": 1, "turn": 2, "action": 1, "where": "c4", "by": ["A", "B", "E", "F"]},
        {"ship": "D", "seat": 2, "turn": 4, "action": 1, "where": "c3", "by": ["A", "G"]},
        {"ship": "A", "seat": 1, "turn": 4, "action": 3, "where": "c6", "by": ["E"]},
    ],
    "last": {"turn": 4, "orders": {"A": "MMM", "B": "SMM", "D": "FSS", "E": "MML", "G": "FLL"}},
    "entitled": ["B"],
}
THREE = {seat: NAMES[seat] for seat in (1, 2, 3)}
PUBLIC = VIEW | {"seat": None, "entitled": None}
OUT = VIEW | {"seat": 2, "entitled": []}
OVER = PUBLIC | {
    "over": True,
    "scores": [0, 1, 0],
    "ships": [{"ship": "E", "seat": 2, "square": "c6", "facing": "W", "shields": 2}],
}


def begun(board: str, seats: int) -> Any:
    judge = rules("shoot-em-up")
    options = judge.options({"board": board}, seats)
    setup = random_players.PLAYERS["shoot-em-up"].setup
    setups = [judge.setup(options, seat, setup(Random(seat), options, seat)) for seat in range(1, seats + 1)]
    return parts.view(judge, judge.begin(options, setups), 2, [])


def begin(view: dict[str, Any], names: dict[int, str]) -> str:
    return call("position", "position", view, names) + "\n\n\n" + call("entitled", "entitled", view) + "\n"


LETTERS = {
    "report-seat-1": lambda: report(REPORTS, 1, VIEW, THREE),
    "report-out": lambda: report(REPORTS, 2, OUT, THREE),
    "report-public": lambda: report(REPORTS, None, PUBLIC, THREE),
    "report-over": lambda: report([hit(1, "G", "b2", "E", destroyed=True), state(1)], 1, OVER, THREE),
    "begin-two": lambda: begin(begun("9x9", 2), {1: "Ann", 2: "Bob"}),
    "begin-four-wide": lambda: begin(begun("26x26", 4), NAMES),
    "begin-four-23": lambda: begin(begun("23x5", 4), NAMES),
    "rules": GAME.rules,
} | {
    f"setup-help-{seat}": lambda seat=seat, options=options: call("setup_help", "setup_help", options, seat) + "\n"
    for seat, options in enumerate(({}, {"board": "5x7"}, {"board": "26x12", "max_turns": 9}, {"board": "6x5"}), 1)
}


def drawn(text: str) -> list[dict[str, str]]:
    """The contents of every board in a text, square by square, read back from the drawing."""
    boards: list[dict[str, str]] = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not re.fullmatch(r"     [a-z]( +[a-z])*", line):
            continue
        columns = [(at, letter) for at, letter in enumerate(line) if letter != " "]
        width = columns[1][0] - columns[0][0] if len(columns) > 1 else 3
        board: dict[str, str] = {}
        for row in lines[number + 1 :]:
            found = re.match(r"  ([ 1-9][0-9]) ", row)
            if not found:
                break
            board |= {letter + found[1].strip(): row[at : at + width].strip() for at, letter in columns}
        boards.append(board)
    return boards


@pytest.mark.parametrize("seed", range(6))
def test_boards_and_words_tell_all_that_reports_and_views_hold(seed: int) -> None:
    raw, seats = random_players.PLAYERS["shoot-em-up"].options[seed % 4]
    game = random_players.play("shoot-em-up", Random(seed), raw, seats, most=12)
    names = {seat: NAMES[seat] for seat in range(1, seats + 1)}
    for number, reports in enumerate(game.reports):
        text = call("events", "events", reports, 1, names)
        words = " ".join(text.split())
        states = [report for report in reports if report["kind"] == "state"]
        for board, told in zip(drawn(text), states, strict=True):
            ships = {square: sign for square, sign in board.items() if sign not in (".", "*")}
            expected = {found.split()[0]: letter + found.split()[1] for letter, found in told["ships"].items()}
            assert {square: sign[0] + FACES[sign[1]] for square, sign in ships.items()} == expected
            shielded = [f"{letter} {found[-1]}" for letter, found in told["ships"].items() if found[-1] != "0"]
            assert ("Shields: " + ", ".join(shielded) in text) or not shielded
        for one in reports:
            if one["kind"] == "hit":
                assert one["where"] in words
                left = one["shields"]
                end = "destroyed" if one["destroyed"] else f"{left} shield{'' if left == 1 else 's'} left"
                by = " and ".join(named(letter, names) for letter in one["by"])
                assert f"{named(one['ship'], names)}, hit by {by}: {end}" in words
        view: Any = parts.view(rules("shoot-em-up"), game.states[number + 1], 1, game.reports[: number + 1])
        text = call("position", "position", view, names)
        (board,) = drawn(text)
        assert len(board) == view["board"]["columns"] * view["board"]["rows"]
        expected = {ship["square"]: ship["ship"] + ship["facing"] for ship in view["ships"]}
        assert {square: sign[0] + FACES[sign[1]] for square, sign in board.items() if sign != "."} == expected
        for lost in view["destroyed"]:
            assert (
                f"{lost['ship']}  destroyed at {lost['where']} in turn {lost['turn']}, action {lost['action']}"
                in text
            )


def named(letter: str, names: dict[int, str]) -> str:
    owner = "ABCDEFGHIJKL".index(letter) // 3 + 1
    return f"{'your' if owner == 1 else names[owner] + chr(39) + 's'} {letter}"


def test_long_names_stay_within_the_column() -> None:
    names = dict.fromkeys(THREE, "Somebody with a name of which one line has too little room " * 2)
    for seat in (1, None):
        text = report(REPORTS, seat, VIEW, names)
        assert max(len(line) for line in text.split("\n")) <= 76
        assert not re.search(r"[ \t]$", text, re.MULTILINE)


@pytest.mark.parametrize("seat", [1, 2, 3, 4])
@pytest.mark.parametrize("raw", [{}, {"board": "5x5"}, {"board": "26x5"}, {"board": "5x26"}, {"board": "12x17"}])
def test_what_the_help_shows_is_legal(raw: dict[str, str], seat: int) -> None:
    judge = rules("shoot-em-up")
    options = judge.options(raw, 4)
    text = call("setup_help", "setup_help", dict(options.changed), seat)
    example = text.rpartition("A legal example:")[2].strip()
    assert judge.setup(options, seat, example).text == "\n".join(line.strip() for line in example.split("\n"))
    if seat == 1:
        written = (ROOT / "templates/shoot-em-up/example_setup.txt").read_text()
        assert judge.setup(options, 1, written).text == written.strip()
    (board,) = drawn(text)
    for square, sign in board.items():
        if sign == "#":
            ships = "ABCDEFGHIJKL"[seat * 3 - 3 : seat * 3]
            others = [other for other in board if board[other] == "#" and other != square][:2]
            placed = zip(ships, [square, *others], strict=True)
            judge.setup(options, seat, "\n".join(f"{ship} {where} N" for ship, where in placed))
    assert list(board.values()).count("#") == _zone(options, seat)


def _zone(options: Any, seat: int) -> int:
    return int(options.size[0 if seat < 3 else 1]) - 2


@pytest.mark.parametrize(
    ("seat", "told"),
    [
        (1, "You hit 2 and sank D; you lost A"),
        (3, "You hit 1 and sank D; you lost nothing"),
        (2, "You hit 1 and sank A; you lost D"),
        (None, "Lost: D A"),
    ],
)
def test_one_line_says_what_came_of_a_turn(seat: int | None, told: str) -> None:
    assert summary(REPORTS, seat) == told
    assert summary([state(1, A="c4 N 1")], seat) == "Nobody was hit"


def test_what_the_small_boards_show_is_told_to_who_wants_words() -> None:
    told = call("events", "events", REPORTS, 1, THREE, True)
    assert [line for line in told.splitlines() if line.startswith("  S")] == [
        "  Ships: A c4 N, B b1 E, E d9 S, G c2 N",
        "  Shields: A 1, B 2",
        "  Ships: A c5 N, B c1 E, E d8 S, G b2 W",
        "  Shields: A 1, B 2",
        "  Ships: B d1 E, E c6 W, G b2 S",
    ]
