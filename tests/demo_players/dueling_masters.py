"""How the demo's players play Dueling Masters: as programs, from the position that each letter carries for them.

They send fighters where the other half was not yet looked at, and never ram.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from demo import Letter

NAMES = ("ann", "bob")
TERMS = "max_turns: 60"
GAMES = 1
TURNS = 60
SHOWS = "right bob's as you know them"

KINDS = {"W": 1, "B": 1, "X": 2, "Y": 2, "Z": 4}


def setup(random: Random, letter: Letter) -> str:
    """The home planet in the last row, everything else anywhere in the own half."""
    first = "Your half is rows A to E" in letter.text
    home = f"{'A' if first else 'J'}{random.randint(1, 10)}"
    half = [f"{row}{column}" for row in ("ABCDE" if first else "FGHIJ") for column in range(1, 11)]
    half.remove(home)
    asteroids = random.sample(half, 7)
    free = [square for square in half if square not in asteroids]
    lines = [f"* {' '.join(asteroids)}", f"H {home}"]
    lines += [" ".join([kind, *random.sample(free, count)]) for kind, count in KINDS.items()]
    return "\n".join(lines)


def orders(random: Random, letter: Letter) -> str:
    """The move that passes most squares of the other half of which nothing is known."""
    view: dict[str, Any] = letter.attached("position.json")["view"]
    (known,) = view["known"].values()
    theirs = "FGHIJ" if view["seat"] == 1 else "ABCDE"
    seen = {*known["empty"], *known["asteroids_destroyed"], *(piece["square"] for piece in known["pieces"])}
    moves = []
    for piece in view["entitled"]:
        for to in piece["to"]:
            unseen = sum(square[0] in theirs and square not in seen for square in way(piece["square"], to))
            moves.append((unseen + random.random(), f"{piece['piece']} {piece['square']}-{to}"))
    if moves:
        return max(moves)[1]
    piece = view["entitled"][0]
    return f"{piece['piece']} {piece['square']}-{piece['rams'][0]}"


def way(start: str, end: str) -> list[str]:
    """The squares between start and end, and the end; of a knight the end alone."""
    (row, column), (last_row, last_column) = ((ord(square[0]), int(square[1:])) for square in (start, end))
    down, right = last_row - row, last_column - column
    steps = max(abs(down), abs(right))
    if down and right and abs(down) != abs(right):
        return [end]
    return [f"{chr(row + down * at // steps)}{column + right * at // steps}" for at in range(1, steps + 1)]


def told(reports: Sequence[Mapping[str, Any]], names: Mapping[int, str]) -> str:
    """A turn in a line: what departed, and what met."""
    parts = []
    for report in reports:
        if report["kind"] == "departure":
            parts.append(f"{names[report['seat']]}'s {report['piece']} departs from {report['square']}")
        elif report["kind"] == "collision":
            one, two = report["pieces"].values()
            parts.append(f"{one} and {two} meet on {report['square']}")
        elif report["kind"] == "pass":
            parts.append(f"{names[report['seat']]} passes")
    return ", ".join(parts) or "nothing else"
