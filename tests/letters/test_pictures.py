"""Pictures of boards: the same bytes for the same boards, small enough for a letter, and true to the squares."""

from __future__ import annotations

import io
import os
from random import Random
from typing import Any

import pytest
from judges.golden import FOLDER
from letters.test_html import SEATS, WIDEST
from PIL import Image, ImageChops
from playing.random_players import play, sensible_orders

from pbem.boards import TINTS
from pbem.boards.picture import draw, sheet
from pbem.games import GAMES, part_of, parts, rules
from pbem.games.squares import PLAIN, Board, Panel, Square

NAMES = {1: "ann", 2: "bob", 3: "cem", 4: "dee"}


def shown(game: str) -> list[Board]:
    other: dict[str, Any] = {"orders": sensible_orders} if game == "spaceships" else {}
    one = play(game, Random(5), WIDEST[game], SEATS[game], most=10, **other)
    judge = rules(game)
    seen = [[found for report in reports if (found := judge.show(report, 2))] for reports in one.reports]
    boards = part_of(game, "boards")
    drawn: list[Board] = boards.boards(parts.view(judge, one.states[-1], 2, seen))
    return drawn


@pytest.mark.parametrize("game", GAMES)
def test_pictures_fit_into_a_letter(game: str) -> None:
    picture = draw(shown(game), NAMES)
    assert len(picture) < 80_000
    with Image.open(io.BytesIO(picture)) as image:
        assert image.format == "PNG"
        assert image.mode == "P"
        assert image.width <= 1100
        assert image.info == {}


def grid(name: str, columns: str, *rows: str) -> Panel:
    """Squares of many kinds: a letter is one of a tint, a digit one of more characters, which just changed."""
    tints = [tint for tint in TINTS if tint]
    kinds = {".": PLAIN, "e": Square("e", "empty"), "n": Square("n")}
    kinds |= {str(at): Square(symbol, tints[at], fresh=True) for at, symbol in enumerate(("-", "K", "K2", "K23"))}
    kinds |= {letter: Square(letter, tint) for letter, tint in zip("ABCDEFGHIJKL", tints, strict=False)}
    return Panel(name, columns, [str(at) for at in range(len(rows))], [[kinds[one] for one in row] for row in rows])


SPACE = [grid("R", "xyz", "A.2", ".1."), grid("O", "xyz", "eB.", "..3"), grid("Y", "xyz", "...", "Cn0")]
FLAT = grid("", "abcd", "A2..", ".BnD", "E3.e")
NARROW = grid("Q", "abcdefghijklmnopqrstuvwxyzabcdef", "1" + "A2." * 10 + "3", "." * 32)


@pytest.mark.parametrize("name", ["space", "flat", "narrow", "sheet"])
def test_a_picture_is_as_somebody_looked_at_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """GOLDEN=write draws them anew, for somebody who looks at them: after a change, or with another Pillow."""
    pages: list[Image.Image] = []
    if name == "sheet":
        monkeypatch.setattr(Image.Image, "save", lambda page, *_, **__: pages.append(page))
        sheet("Sheet", [Board(1, SPACE), Board(2, [FLAT])], "One\nTwo\na\tb\n\nlast line\n")
        monkeypatch.undo()
    else:
        pages.append(Image.open(io.BytesIO(drawn_as(name))))
    path = FOLDER / "pictures" / f"{name}.png"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        pages[0].save(path)
    with Image.open(path) as seen:
        assert (seen.mode, seen.size) == (pages[0].mode, pages[0].size)
        assert ImageChops.difference(seen.convert("RGB"), pages[0].convert("RGB")).getbbox() is None


def drawn_as(name: str) -> bytes:
    if name == "space":
        return draw([Board(1, SPACE), Board(2, SPACE[:1])], NAMES)
    if name == "flat":
        return draw([Board(1, [FLAT]), Board(5, [FLAT])], NAMES)
    return draw([Board(0, [NARROW])], NAMES)
