"""A second adjudicator of Dueling Masters, slow and literal, from the rules page alone, and both played together.

Random setups, random orders, legal and not: whether orders are accepted, every report of every turn, the scores, who
is made to pass and the end must be the same. Of the engine nothing is used but the public interface of its rules.
"""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from pbem.games import Orders, Refused, State, rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LETTERS = "ABCDEFGHIJ"
BOARD = [(row, column) for row in LETTERS for column in range(1, 11)]
KINDS = "*WBXYZH"
Square = tuple[str, int]


def name_of(square: Square) -> str:
    return f"{square[0]}{square[1]}"


def apart(start: Square, end: Square) -> tuple[int, int]:
    return LETTERS.index(end[0]) - LETTERS.index(start[0]), end[1] - start[1]


@cache
def moves_so(kind: str, start: Square, end: Square) -> bool:
    """Whether a piece of this kind moves like this on an empty board."""
    down, right = map(abs, apart(start, end))
    straight = (down == 0) != (right == 0)
    diagonal = down == right != 0
    return {
        "W": {down, right} == {1, 2},
        "B": straight or diagonal,
        "X": straight,
        "Y": diagonal,
        "Z": straight or diagonal,
        "H": max(down, right) == 1,
        "*": False,
    }[kind]


@cache
def way(kind: str, start: Square, end: Square) -> list[Square]:
    """The squares after the start up to and including the end."""
    if kind == "W":
        return [end]
    down, right = apart(start, end)
    steps = max(abs(down), abs(right))
    row, column = LETTERS.index(start[0]), start[1]
    return [(LETTERS[row + down * n // steps], column + right * n // steps) for n in range(1, steps + 1)]


class Piece:
    def __init__(self, seat: int, name: str, at: Square) -> None:
        self.seat, self.name, self.kind = seat, name, name[0]
        self.at = at
        self.left: Square | None = None  # where its transit began

    def order(self) -> tuple[int, str]:
        return KINDS.index(self.kind), self.name


def stronger(one: Piece, other: Piece) -> bool:
    """Whether the first destroys the second."""
    if "*" in (one.kind, other.kind):
        return True
    return KINDS.index(one.kind) <= KINDS.index(other.kind)


class Game:
    """A game by the rules page."""

    def __init__(self, setups: Mapping[int, Sequence[tuple[str, Square]]], mobile: bool, most: int) -> None:
        self.alive = [Piece(seat, name, at) for seat, pieces in setups.items() for name, at in pieces]
        self.mobile, self.most = mobile, most
        self.turn = 1
        self.winner: int | None = None

    def of(self, seat: int, kinds: str = "*WBXYZH") -> list[Piece]:
        return sorted((p for p in self.alive if p.seat == seat and p.kind in kinds), key=Piece.order)

    def standing(self, seat: int, square: Square) -> list[Piece]:
        return sorted((p for p in self.alive if p.seat == seat and p.at == square), key=Piece.order)

    def legal(self, piece: Piece, end: Square) -> bool:
        if not moves_so(piece.kind, piece.at, end) or (piece.kind == "H" and not self.mobile):
            return False
        path = way(piece.kind, piece.at, end)
        kinds = [{other.kind for other in self.standing(piece.seat, square)} for square in path]
        if any("H" in found for found in kinds) or any("*" in found for found in kinds[:-1]):
            return False
        return not (piece.kind == "H" and "*" in kinds[-1])

    def choices(self, seat: int) -> list[tuple[Piece, Square]]:
        return [(piece, end) for piece in self.of(seat) for end in BOARD if self.legal(piece, end)]

    def score(self, seat: int) -> int:
        return len(self.of(seat, "H"))

    def play(self, piece: Piece | None, end: Square | None) -> list[dict[str, Any]]:
        """One turn; no piece is a pass."""
        reports: list[dict[str, Any]] = []
        if piece is None or end is None:
            reports.append({"seat": 2 - self.turn % 2, "kind": "pass"})
        else:
            if piece.left is not None:
                self.check(piece, reports)
            if piece in self.alive and self.score(1) and self.score(2):
                reports.append(
                    {"seat": piece.seat, "kind": "departure", "piece": piece.name, "square": name_of(piece.at)}
                )
                rammed = [other for other in self.standing(piece.seat, end) if other.kind == "*"]
                if rammed:
                    self.alive = [other for other in self.alive if other not in (piece, *rammed)]
                else:
                    piece.left, piece.at = piece.at, end
        self.finish()
        return reports

    def check(self, first: Piece, reports: list[dict[str, Any]]) -> None:
        queue = [first]
        met: list[tuple[Square, Piece, Piece]] = []
        while len(queue) > len([r for r in reports if r["kind"] == "check"]):
            piece = queue[len(reports)]
            assert piece.left is not None
            reports.append(
                {
                    "seat": piece.seat,
                    "kind": "check",
                    "piece": piece.name,
                    "from": name_of(piece.left),
                    "to": name_of(piece.at),
                }
            )
            for square in way(piece.kind, piece.left, piece.at):
                for other in self.standing(3 - piece.seat, square):
                    pair = (square, piece, other) if piece.seat == 1 else (square, other, piece)
                    if pair not in met:
                        met.append(pair)
                    if other.left is not None and other not in queue:
                        queue.append(other)
        met.sort(key=lambda pair: (BOARD.index(pair[0]), pair[1].order(), pair[2].order()))
        gone: list[Piece] = []
        for square, one, two in met:
            lost = {"1": stronger(two, one), "2": stronger(one, two)}
            gone += [piece for piece, seat in ((one, "1"), (two, "2")) if lost[seat]]
            pieces = {"1": one.name, "2": two.name}
            reports.append({"kind": "collision", "square": name_of(square), "pieces": pieces, "destroyed": lost})
        for piece in queue:
            piece.left = None
        self.alive = [piece for piece in self.alive if piece not in gone]

    def reaches(self, seat: int) -> bool:
        homes = {piece.at for piece in self.of(3 - seat, "H")}
        for piece in self.of(seat, "WBXYZ"):
            seen, edge = {piece.at}, [piece.at]
            while edge:
                scout = Piece(seat, piece.kind, edge.pop())
                for end in BOARD:
                    if end in seen or not self.legal(scout, end):
                        continue
                    if not any(other.kind == "*" for other in self.standing(seat, end)):
                        seen.add(end)
                        edge.append(end)
                if seen & homes:
                    return True
        return False

    def finish(self) -> None:
        one, two = self.score(1), self.score(2)
        if not one or not two:
            self.winner = 1 if one else 2 if two else 0
        elif (not self.mobile and not self.reaches(1) and not self.reaches(2)) or self.turn == self.most:
            self.winner = 0
        self.turn += self.winner is None


# Chance


def some_setup(dice: random.Random, seat: int, homes: int, crowded: bool) -> list[tuple[str, Square]]:
    """Asteroids and home planets anywhere, fighters on few squares or many."""
    half = [square for square in BOARD if (square[0] in "ABCDE") == (seat == 1)]
    alone = dice.sample(half, 7 + homes)
    free = [square for square in half if square not in alone]
    if crowded:
        free = dice.sample(free, 3)
    names = ["W", "B", "X1", "X2", "Y1", "Y2", "Z1", "Z2", "Z3", "Z4"]
    pieces = [("*", square) for square in alone[:7]] + [(name, dice.choice(free)) for name in names]
    return pieces + [("H" if homes == 1 else f"H{n}", square) for n, square in enumerate(alone[7:], 1)]


def accepted(state: State, seat: int, text: str) -> Orders | None:
    try:
        return rules("dueling-masters").order(state, seat, text)
    except Refused:
        return None


def some_order(dice: random.Random, game: Game, seat: int) -> tuple[Piece, Square] | tuple[None, None]:
    """A legal move: often far off with a piece that rests, or of one in transit, or onto the enemy."""
    choices = game.choices(seat)
    far = [(p, end) for p, end in choices if p.left is None and max(map(abs, apart(p.at, end))) > 3]
    keen = [(piece, end) for piece, end in choices if piece.left is not None or game.standing(3 - seat, end)]
    wishes = [far, far, far, keen, choices] if game.turn < 25 else [keen, keen, far, choices]
    wished = dice.choice(wishes) or choices
    return dice.choice(wished) if wished else (None, None)


def agree_on_nonsense(dice: random.Random, game: Game, state: State, seat: int) -> None:
    """Orders that may be legal or not."""
    for _ in range(4):
        piece = dice.choice(game.of(seat))
        start = piece.at if dice.random() < 0.9 else dice.choice(BOARD)
        end = dice.choice(BOARD)
        if dice.random() < 0.5:
            end = dice.choice([square for square in BOARD if max(map(abs, apart(start, square))) < 3])
        expected = start == piece.at and game.legal(piece, end)
        assert (accepted(state, seat, f"{piece.name} {name_of(start)}-{name_of(end)}") is not None) == expected


@pytest.mark.parametrize("seed", range(25))
def test_both_adjudicators_agree(seed: int) -> None:
    play_both(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(25, 300))
def test_both_adjudicators_agree_at_length(seed: int) -> None:
    play_both(seed)


def play_both(seed: int) -> None:
    dice = random.Random(seed)
    real = rules("dueling-masters")
    homes, mobile, most = dice.choice((1, 3)), dice.random() < 0.4, dice.choice((9, 60, 60))
    options = real.options({"homes": homes, "mobile_home": mobile, "max_turns": most}, 2)
    setups = {seat: some_setup(dice, seat, homes, crowded=dice.random() < 0.4) for seat in (1, 2)}
    game = Game(setups, mobile, most)
    texts = ["\n".join(f"{name} {name_of(at)}" for name, at in setups[seat]) for seat in (1, 2)]
    state = real.begin(options, [real.setup(options, seat, text) for seat, text in enumerate(texts, start=1)])
    while game.winner is None:
        seat = 2 - game.turn % 2
        assert (state.turn, list(state.due)) == (game.turn, [seat])
        agree_on_nonsense(dice, game, state, seat)
        piece, end = some_order(dice, game, seat)
        text = f"{piece.name} {name_of(piece.at)}-{name_of(end)}" if piece and end else ""
        forced = state.due[seat]
        assert (forced is not None) == (piece is None)
        assert (accepted(state, seat, "") is not None) == (piece is None)
        state, reports = real.turn(state, {seat: real.order(state, seat, text)})
        assert reports == game.play(piece, end)
        assert state.scores == (game.score(1), game.score(2))
        assert (state.result and state.result.winner) == game.winner
    assert not state.due


def test_the_positions_are_worth_it() -> None:
    """Chance brings cascades often enough to mean something."""
    longest = [0]
    for seed in range(12):
        dice = random.Random(seed)
        game = Game({seat: some_setup(dice, seat, 1, crowded=False) for seat in (1, 2)}, mobile=False, most=60)
        while game.winner is None:
            reports = game.play(*some_order(dice, game, 2 - game.turn % 2))
            longest.append(sum(report["kind"] == "check" for report in reports))
    assert sum(checks > 1 for checks in longest) > 10
    assert max(longest) > 2
