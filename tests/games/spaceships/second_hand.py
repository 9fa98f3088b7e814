"""Spaceships played by the rules and by the second verifier's, slow and literal, side by side.

Random fleets, random orders, legal and not: whether orders are accepted, every report of every turn, the scores, the
number of the turn and the end must be the same. Of the engine nothing is used but the public interface of its rules.
"""

from __future__ import annotations

import random
from itertools import combinations, product
from typing import TYPE_CHECKING

from games.second_hand import agreed, judges
from playing.conditions import some_conditions

from pbem.games import State, parts, rules
from verifier.rules.spaceships import (
    BOXES,
    CELLS,
    Game,
    Order,
    Player,
    Ship,
    begin,
    cell_at,
    line,
    point,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FLEETS = {
    "standard": [["DS", "KC", "FS", "MD", "LS"], ["DS", "KC", "PC", "MD", "HS"]],
    "cost:9": [["KC", "HS"], ["PC", "MD", "AG"], ["FS", "HS", "LG", "LG"], ["AG", "AG", "AG", "LS"], ["HS"] * 3],
    "cost:19": [["DS", "DS", "LS"], ["DS", "MD", "MD", "AG", "HS"], ["KC", "KC", "PC", "LG", "AG"]],
}


def written(order: Order, sparing: Callable[[str], str]) -> str:
    """The order in conventional notation."""
    kind, *rest = order
    if kind == "missile":
        return f"m{sparing(rest[0])} {rest[1]}"
    if kind == "beam":
        return f"b{rest[0]}-{rest[1]}" + (f" ({rest[2]})" if rest[2] else "")
    return {"strike": "", "scan": "s", "kamikaze": "k", "next": "next"}[kind] + " ".join(rest)


# Chance


def lie(dice: random.Random, code: str) -> list[str | None]:
    """Somewhere for a ship of this type to lie."""
    if code == "DS":
        shape = dice.choice(["cube", "flat", "bump"])
        sides = {"cube": [2, 2, 2], "flat": [4, 2, 1], "bump": [3, 2, 1]}[shape]
        extra = dice.choice([[(0, 0, 1), (0, 1, 1)], [(1, 0, 1), (2, 0, 1)]]) if shape == "bump" else []
    else:
        sides, extra = list(BOXES[code]), []
    axes = dice.sample(range(3), 3)
    corner = [dice.randrange(5) for _ in range(3)]
    spots = [*product(*map(range, sides)), *extra]
    return [cell_at([corner[i] + spot[axes[i]] for i in range(3)]) for spot in spots]


def fleet(dice: random.Random, codes: list[str]) -> Player:
    while True:
        ships: list[Ship] = []
        taken: set[str] = set()
        for at, code in enumerate(codes):
            number = codes[: at + 1].count(code) if codes.count(code) > 1 else ""
            spots = lie(dice, code)
            cells = [cell for cell in spots if cell]
            if len(cells) < len(spots) or taken & set(cells):
                break
            taken |= set(cells)
            ships.append(Ship(f"{code}{number}", code, cells))
        else:
            return Player(ships)


def setup_of(player: Player) -> str:
    return "\n".join(f"{ship.name} {' '.join(ship.cells)}" for ship in player.ships)


def some_cell(dice: random.Random, enemy: Player) -> str:
    """Mostly where it hurts."""
    if dice.random() < 0.75:
        return dice.choice(dice.choice(enemy.ships).cells)
    return dice.choice(CELLS)


def some_line(dice: random.Random, enemy: Player) -> tuple[str, str]:
    while True:
        first = some_cell(dice, enemy)
        last = cell_at([at + dice.choice((-2, 0, 2)) for at in point(first)])
        if last and last != first:
            return first, last


def some_orders(dice: random.Random, player: Player, enemy: Player, turn: int) -> list[Order]:
    """Orders that are legal, in any order, not always all that are due."""
    orders: list[Order] = []
    due = sum(map(player.strikes, player.ships))
    orders += [("strike", some_cell(dice, enemy)) for _ in range(due) if dice.random() < 0.6]
    orders += [("scan", some_cell(dice, enemy)) for _ in range(player.scans(turn)) if dice.random() < 0.6]
    for ship in player.ships:
        if player.missiles(ship) and dice.random() < 0.5:
            orders.append(("missile", dice.choice(player.missiles(ship)), some_cell(dice, enemy)))
        if player.kamikazes(ship) and dice.random() < 0.5:
            orders.append(("kamikaze", dice.choice(player.kamikazes(ship)), some_cell(dice, enemy)))
    unused = [ship for ship in player.ships if ship.code == "DS"]
    for _ in list(unused):
        first, last = some_line(dice, enemy)
        found = line(first, last)
        assert found is not None
        able = player.beams(found[1])
        ready = [ship for ship in able if ship in unused]
        if ready:
            ship = dice.choice(ready)
            unused.remove(ship)
            named = len(able) > 1 or dice.random() < 0.3
            orders.append(("beam", first, last, ship.name if named else None))
    dice.shuffle(orders)
    return orders


def worse_orders(dice: random.Random, player: Player, enemy: Player, orders: Sequence[Order]) -> list[Order]:
    """The same and something more, which may be too much."""
    own = dice.choice(dice.choice(player.ships).cells)
    star = dice.choice([None, "DS", "DS1", "DS2", "DS3"])
    more = dice.choice(
        [
            ("strike", some_cell(dice, enemy)),
            ("scan", some_cell(dice, enemy)),
            ("missile", own, some_cell(dice, enemy)),
            ("kamikaze", own, some_cell(dice, enemy)),
            ("kamikaze", dice.choice(CELLS), some_cell(dice, enemy)),
            ("beam", *some_line(dice, enemy), star),
            ("beam", some_cell(dice, enemy), some_cell(dice, enemy), star),
            ("next",),
        ]
    )
    return [order for order in orders if dice.random() < 0.8] + [more]


def with_a_target_list(dice: random.Random, enemy: Player, orders: Sequence[Order]) -> list[Order]:
    """The same with all conventional strikes in a target list, in which many cells stand."""
    strikes = [order for order in orders if order[0] == "strike"]
    more: list[Order] = [("strike", some_cell(dice, enemy)) for _ in range(dice.randrange(9))]
    sure: list[Order] = [("strike", cell) for cell in CELLS if cell not in enemy.destroyed | enemy.empty]
    listed = [("next",), *dice.sample(strikes + more, len(strikes + more)), *dice.sample(sure, min(len(sure), 6))]
    return [*(order for order in orders if order[0] != "strike"), *listed]


def part_of(dice: random.Random, player: Player) -> Callable[[str], str]:
    """A way to name missiles: by some part that fits one alone, or at worst by its cell."""
    ready = [cell for ship in player.ships for cell in player.missiles(ship)]

    def sparing(launch: str) -> str:
        some = [[launch[i] for i in kept] for size in (1, 2) for kept in combinations(range(3), size)]
        alone = ["".join(part) for part in some if [all(v in cell for v in part) for cell in ready].count(True) == 1]
        return dice.choice([launch, *alone]) if launch in ready else launch

    return sparing


def text_of(dice: random.Random, player: Player, orders: Sequence[Order]) -> str:
    sparing = part_of(dice, player)
    return dice.choice([" ", ", ", "\n"]).join(written(order, sparing) for order in orders)


def agree_on_conditions(dice: random.Random, game: Game, state: State, seat: int, orders: str) -> None:
    """Both choose the same branch, or none."""
    real = rules("spaceships")
    told = [report for turn in game.told or [] for report in turn]
    cells = [report["cell"] for report in told] + [dice.choice(CELLS)]
    ships = [report["destroyed"]["ship"] for report in told if "destroyed" in report]
    ships += ["any", "any", "KC", "LG2", "XX"]

    def atom() -> str:
        result = dice.choice(("hit", "miss", "duplicate", "ship", "none"))
        verb = dice.choice(("struck", "sunk", "lost", "can", "", ""))
        if verb == "can":
            return f"can {dice.choice((orders, 'Gx3', 'sGx3', 'next Gx3', 'x'))}"
        if not verb:
            return f"{dice.choice(cells)} {result}"
        return f"{verb} {dice.choice(cells if verb == 'struck' else ships)}"

    for _ in range(2):
        text = some_conditions(dice, atom, [dice.choice((orders, "Gx3", "sYw3")) or "Rv1" for _ in range(3)])
        if agreed(judges("spaceships", state, game.order, seat), text) is not None:
            assert parts.branch(real, state, seat, text) == game.branch(seat, text), text


def play_both(seed: int) -> None:
    dice = random.Random(seed)
    real = rules("spaceships")
    kind = dice.choice(list(FLEETS))
    first = dice.choice(["alternate", "1", "2"])
    options = real.options({"fleet": kind, "first": first}, 2)
    setups = [setup_of(fleet(dice, dice.choice(FLEETS[kind]))) for _ in range(2)]
    game = begin({"fleet": kind, "first": first}, setups)
    state = real.begin(options, [real.setup(options, seat, text) for seat, text in enumerate(setups, start=1)])
    for _ in range(40):
        texts: dict[int, str] = {}
        for seat, player in game.players.items():
            enemy = game.players[3 - seat]
            orders = some_orders(dice, player, enemy, game.turn)
            for _ in range(4):
                text = text_of(dice, player, worse_orders(dice, player, enemy, orders))
                agreed(judges("spaceships", state, game.order, seat), text)
            if dice.random() < 0.5 and any(map(player.strikes, player.ships)):
                orders = with_a_target_list(dice, enemy, orders)
            texts[seat] = text_of(dice, player, orders)
            found = agreed(judges("spaceships", state, game.order, seat), texts[seat])
            assert found is not None, texts[seat]
            texts[seat] = found
            agree_on_conditions(random.Random(f"{seed} {game.turn} {seat}"), game, state, seat, found)
        state, reports = real.turn(state, {seat: real.order(state, seat, text) for seat, text in texts.items()})
        assert list(reports) == game.play(texts)
        assert tuple(state.scores) == game.scores
        assert (state.result and tuple(state.result)) == (game.result and tuple(game.result))
        assert state.turn == game.turn
        if game.result:
            break
