"""The drawings on the page of a match, against the boards and words of letters, in random games."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, cast

import pytest
from page_scripts.javascript import Scripts
from playing import sealed_players
from playing.random_players import PLAYERS, play, sensible_orders

from pbem.games import GAMES, part_of, parts, rules
from pbem.games.sealed import sealed_rules
from pbem.games.squares import PLAIN
from pbem.letters.render import Templates
from pbem.pages import told

if TYPE_CHECKING:
    from pbem.testing import PlayedGame

DRAW = """([record, names]) => {
    let at = GAME.begin(record);
    const boards = (one, reader) => GAME.boards(one, reader).map((board) => board.panels.map((panel) =>
        panel.rows.map((row) => panel.columns.map((column) => panel.square(panel.called(row, column)) || null))));
    const readers = GAME.secret ? [1, 2] : [];
    const known = (one) => readers.map((reader) => boards(one, reader)[2 - reader]);
    const steps = [[boards(at), GAME.materiel(at), [], known(at)]];
    record.turns.forEach((orders, turn) => {
        at = GAME.turn(at, orders, record.reports[turn]);
        const told = GAME.told(record.reports[turn], names).map(([title, lines, none = "nothing"]) =>
            [title, ...(lines.length ? lines.map((one) => [one.label, one.square, ...one.text].join(" ")) : [none])]);
        steps.push([boards(at), GAME.materiel(at), told.flat(), known(at)]);
    });
    return [steps, GAME.shots(at)];
}"""


def squares(game: str, played: PlayedGame, turn: int, seat: int, board_of: int = 0) -> Any:
    """A side as its own player's letter shows it: symbol and tint of each square, and whether it is fresh.

    Or the other side (`board_of` 1), as that letter shows it.
    """
    judge, module = rules(game), part_of(game, "boards")
    assert module is not None
    shown = [[found for one in reports if (found := judge.show(one, seat))] for reports in played.reports[:turn]]
    board = module.boards(parts.view(judge, played.states[turn], seat, shown))[board_of]
    return [
        [[None if square == PLAIN else square for square in row] for row in panel.squares] for panel in board.panels
    ]


def shaped(drawn_square: Any) -> bool:
    """No piece in transit has the shape of one that rests, or of an asteroid, whatever its colour."""
    moving = drawn_square["tint"] == "fired" or (drawn_square["tint"] == "rock" and drawn_square["symbol"] != "*")
    return "shape" not in drawn_square or drawn_square["shape"].endswith(" transit") == moving


def alike(game: str, drawn_square: Any, square: Any) -> bool:
    """Alike but for what only one of the two shows: paths that were looked at, and which ships were hit."""
    if game == "dueling-masters" and (square is None or square.tint == "empty"):
        return drawn_square is None or drawn_square["tint"] == "empty"
    if drawn_square is None or square is None:
        return drawn_square is square
    same = (drawn_square["symbol"], drawn_square["tint"]) == (square.symbol, square.tint.replace(" ", ""))
    return same and shaped(drawn_square) and (game != "spaceships" or drawn_square["fresh"] == square.fresh)


def known_alike(drawn_square: Any, square: Any) -> bool:
    if drawn_square is None or square is None:
        return drawn_square is square
    same = (drawn_square["symbol"], drawn_square["tint"]) == (square.symbol, square.tint)
    return same and shaped(drawn_square) and bool(drawn_square["fresh"]) == square.fresh


@pytest.mark.parametrize("game", ["spaceships", pytest.param("dueling-masters", marks=pytest.mark.long)])
def test_the_page_of_a_sealed_match_draws_what_its_players_knew(game: str) -> None:
    """The other's side; all players know the same."""
    random, sealed, module = Random(6), sealed_rules(game), part_of(game, "boards")
    scripts = Scripts("say.js", *told(game), f"replay/{game}.js")
    assert sealed is not None
    assert module is not None
    for _ in range(3):
        raw, seats = random.choice(PLAYERS[game].options)
        played = sealed_players.play(game, random, raw, seats, 400)
        reported = [list(reports) for reports in played.tables[-1].played]
        record = {
            "options": {},
            "sealed": True,
            "seats": [{"name": f"p{seat}", "setup": played.setups[seat]} for seat in played.setups],
            "reports": reported,
            "turns": [
                {str(seat): orders.get(turn, "") for seat, orders in played.orders.items()}
                for turn in range(1, len(reported) + 1)
            ],
        }
        steps, _ = scripts.evaluate(DRAW, [record, ["p1", "p2"]])
        for turn, (_, _, _, known) in enumerate(steps):
            table = next(each for each in played.tables if len(each.played) == turn)
            for seat, panels in enumerate(known, start=1):
                orders = {of: text for of, text in played.orders[seat].items() if of < table.turn or table.result}
                own = sealed.own(played.options, seat, played.setups[seat], orders, table)
                board = module.boards(cast("Any", sealed.own_view(own, table)))[1]
                for one, panel in zip(panels, board.panels, strict=True):
                    rows = one if game == "spaceships" else one[::-1]  # a letter turns the board to its reader
                    wanted = [[None if square == PLAIN else square for square in row] for row in panel.squares]
                    pairs = [pair for two in zip(rows, wanted, strict=True) for pair in zip(*two, strict=True)]
                    assert [pair for pair in pairs if not known_alike(*pair)] == [], (turn, seat)


@pytest.mark.parametrize("game", GAMES)
def test_the_page_draws_what_the_letters_draw(game: str) -> None:
    judge, scripts = rules(game), Scripts("say.js", *told(game), f"replay/{game}.js")
    random, events = Random(5), Templates().environment.get_template(f"{game}/events.txt").module
    struck = 0
    for _ in range(2):
        raw, seated = random.choice(PLAYERS[game].options)
        other = {"orders": sensible_orders} if game == "spaceships" else {}
        played = play(game, random, raw, seated, most=30, **other)
        seats = [{"name": f"p{seat}", "setup": text} for seat, text in enumerate(played.setups, start=1)]
        names = {seat: one["name"] for seat, one in enumerate(seats, start=1)}
        turns = [
            {str(seat): judge.order(state, seat, text).text for seat, text in orders.items()}
            for state, orders in zip(played.states, played.orders, strict=False)
        ]
        options = {name: value for name, value in played.options.changed.items() if name == "board"}
        record = {"options": options, "seats": seats, "reports": played.reports, "turns": turns}
        steps, shots = scripts.evaluate(DRAW, [record, list(names.values())])
        assert len(steps) == len(played.states)
        for turn, (boards, materiel, lines, known) in enumerate(steps):
            for seat, panels in enumerate(known, start=1):
                wanted = squares(game, played, turn, seat, 1)
                for one, other in zip(panels, wanted, strict=True):
                    rows = one if game == "spaceships" else one[::-1]  # a letter turns the board to its reader
                    pairs = [pair for two in zip(rows, other, strict=True) for pair in zip(*two, strict=True)]
                    assert [pair for pair in pairs if not known_alike(*pair)] == [], (turn, seat)
            for seat, board in enumerate(boards, start=1):
                wanted = squares(game, played, turn, seat)
                for one, other in zip(board, wanted, strict=True):
                    pairs = [pair for rows in zip(one, other, strict=True) for pair in zip(*rows, strict=True)]
                    assert [pair for pair in pairs if not alike(game, *pair)] == [], (turn, seat, record["turns"])
            assert materiel == list(part_of(game, "boards").materiel(played.states[turn]))
            if turn:
                said = " ".join(str(events.events(played.reports[turn - 1], None, names)).split())  # type: ignore[attr-defined]  # a macro
                words = [" ".join(line.split()) for line in lines]
                if game == "shoot-em-up":  # the letter has small boards between its words
                    assert all(line in said for line in words), (words, said)
                else:
                    assert " ".join(words).strip() == said
        struck += sum(hit for weapons in shots for _, _, hit in weapons)
        if game == "spaceships":
            hits = [one for reports in played.reports for one in reports if one.get("result") == "hit"]
            assert sum(hit for weapons in shots for _, _, hit in weapons) == sum(
                one["kind"] != "scan" for one in hits
            )
    assert struck > 4 or game != "spaceships"
