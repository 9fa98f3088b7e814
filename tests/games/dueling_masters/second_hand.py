"""Dueling Masters played by the rules and by the second verifier's, slow and literal, side by side.

Random setups, random orders, legal and not: whether orders are accepted, every report of every turn, the scores, who
is made to pass and the end must be the same. Of the engine nothing is used but the public interface of its rules.
"""

from __future__ import annotations

import random

from games.second_hand import agreed, judges
from playing.conditions import some_conditions

from pbem.games import State, parts, rules
from verifier.rules.dueling_masters import BOARD, Game, Piece, Square, apart, begin, name_of

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


def some_order(dice: random.Random, game: Game, seat: int) -> str:
    """A legal move: often far off with a piece that rests, or of one in transit, or onto the enemy."""
    choices = list(game.choices(seat))
    far = [(p, end) for p, end in choices if p.left is None and max(map(abs, apart(p.at, end))) > 3]
    keen = [(piece, end) for piece, end in choices if piece.left is not None or game.standing(3 - seat, end)]
    wishes = [far, far, far, keen, choices] if game.turn < 25 else [keen, keen, far, choices]
    wished = dice.choice(wishes) or choices
    return written(*dice.choice(wished)) if wished else ""


def written(piece: Piece, end: Square) -> str:
    return f"{piece.name} {name_of(piece.at)}-{name_of(end)}"


def agree_on_nonsense(dice: random.Random, game: Game, state: State, seat: int) -> None:
    """Orders that may be legal or not."""
    both = judges("dueling-masters", state, game.order, seat)
    for _ in range(4):
        piece = dice.choice(game.of(seat))
        start = piece.at if dice.random() < 0.9 else dice.choice(BOARD)
        end = dice.choice(BOARD)
        if dice.random() < 0.5:
            end = dice.choice([square for square in BOARD if max(map(abs, apart(start, square))) < 3])
        name = dice.choice((piece.name, piece.name, f"{piece.kind}1", piece.kind))
        text = dice.choice(("{} {}-{}", "{} {} - {}", "{},{}-{} # so", "{} {}{}", "{} {} {}", "{}\n{}-{};"))
        text = text.format(name, name_of(start), name_of(end))
        agreed(both, text)


def agree_on_conditions(dice: random.Random, game: Game, state: State, seat: int) -> None:
    """Both choose the same branch, or none."""
    real = rules("dueling-masters")

    def atom() -> str:
        reports = [report for turn in game.told or [] for report in turn]
        squares = [report["square"] for report in reports if "square" in report] + [name_of(dice.choice(BOARD))]
        names = [name for report in reports for name in report.get("pieces", {}).values()] + ["Z1", "*", "any", "H"]
        verb = dice.choice(("lost", "took", "met", "left", "can"))
        if verb == "can":
            return f"can {some_order(dice, game, seat) if dice.random() < 0.6 else 'Z1 A1-B1'}"
        return f"{verb} {dice.choice(squares if verb in ('met', 'left') else names)}"

    both = judges("dueling-masters", state, game.order, seat)
    for _ in range(2):
        orders = [some_order(dice, game, seat) or "W A1-B3" for _ in range(dice.choice((1, 2, 3, 9)))]
        text = some_conditions(dice, atom, orders)
        if agreed(both, text) is not None:
            assert parts.branch(real, state, seat, text) == game.branch(seat, text), text


def play_both(seed: int) -> None:
    dice = random.Random(seed)
    real = rules("dueling-masters")
    homes, mobile, most = dice.choice((1, 3)), dice.random() < 0.4, dice.choice((9, 60, 60))
    options = real.options({"homes": homes, "mobile_home": mobile, "max_turns": most}, 2)
    setups = {seat: some_setup(dice, seat, homes, crowded=dice.random() < 0.4) for seat in (1, 2)}
    texts = ["\n".join(f"{name} {name_of(at)}" for name, at in setups[seat]) for seat in (1, 2)]
    game = begin({"homes": homes, "mobile_home": mobile, "max_turns": most}, texts)
    state = real.begin(options, [real.setup(options, seat, text) for seat, text in enumerate(texts, start=1)])
    while game.result is None:
        ((seat, forced),) = game.due.items()
        assert (state.turn, list(state.due)) == (game.turn, [seat])
        agree_on_nonsense(dice, game, state, seat)
        agree_on_conditions(random.Random(f"{seed} {state.turn}"), game, state, seat)
        text = some_order(dice, game, seat)
        assert (state.due[seat] is None) == (forced is None) == (text != "")
        agreed(judges("dueling-masters", state, game.order, seat), "")
        state, reports = real.turn(state, {seat: real.order(state, seat, text)})
        assert reports == game.play({seat: text})
        assert state.scores == game.scores
        assert state.result == game.result
    assert not state.due
