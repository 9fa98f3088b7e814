"""Drawings of boards, record sheets and pictures: what they may hold, their size, and their words in letters."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.outside import RACE, referee_of
from in_a_box.referee import SERVER, Mailbox, Referee, body
from judges.golden import FOLDER
from letters.test_html import SEATS, WIDEST
from markupsafe import Markup
from PIL import Image, ImageChops
from playing.random_players import PLAYERS, play, sensible_orders

from pbem.boards import TINTS
from pbem.boards.drawn import DrawnBoard
from pbem.boards.picture import TEXT, draw, font, sheet
from pbem.games import GAMES, part_of, parts, rules
from pbem.games.squares import PLAIN, Board, Panel, Square
from pbem.i18n import LANGUAGES
from pbem.letters.render import Templates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import EmailMessage
    from pathlib import Path


HEAD = Markup('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100">')


def drawing(inner: str) -> DrawnBoard:
    return DrawnBoard(0, HEAD + Markup(inner) + Markup("</svg>"), "words")


@pytest.mark.parametrize(
    "inner",
    [
        "<script>alert(1)</script>",
        "<image href='http://a.example/x.png'/>",
        "<a href='http://a.example/'><text>x</text></a>",
        "<use href='#x'/>",
        "<style>text { fill: red }</style>",
        "<foreignObject/>",
        "<rect onclick='alert(1)'/>",
        "<rect style='fill: red'/>",
        "<rect fill='url(http://a.example/x)'/>",
        "<rect xlink:href='x' xmlns:xlink='http://www.w3.org/1999/xlink'/>",
        "<p xmlns='http://www.w3.org/1999/xhtml'/>",
        "<rect xmlns=''/>",
        "<!-- x -->",
        "<?xml-stylesheet href='x'?>",
        "<text>&x;</text>",
        "<rect>",
        " " * (1 << 20),
    ],
)
def test_a_drawing_has_shapes_and_text_alone(inner: str) -> None:
    drawing("<text x='1' transform='rotate(-5 1,2)' fill='#fff' stroke-width='.5'>a &amp; b</text>")
    with pytest.raises(ValueError, match="draw"):
        drawing(inner)


@pytest.mark.parametrize("box", ["", "0 0 0 10", "0 0 99999 99999", "0 0 1000 100", "0 0 100 1000", "-1 0 10 10"])
def test_a_drawing_says_its_size(box: str) -> None:
    with pytest.raises(ValueError, match="draw"):
        DrawnBoard(0, Markup('<svg xmlns="http://www.w3.org/2000/svg" viewBox="{}"/>').format(box), "")


def test_a_drawing_is_an_svg() -> None:
    with pytest.raises(ValueError, match="begins with svg"):
        DrawnBoard(0, Markup('<g xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>'), "")
    with pytest.raises(ValueError, match="begins with svg"):
        DrawnBoard(0, Markup('<svg viewBox="0 0 9 9"/>'), "")


def test_no_declaration_makes_entities_of_it() -> None:
    svg = Markup('<!DOCTYPE svg [<!ENTITY x "y">]>') + HEAD + Markup("<text>&x;</text></svg>")
    with pytest.raises(ValueError, match="declarations"):
        DrawnBoard(0, svg, "")


def test_the_text_of_a_player_becomes_no_markup() -> None:
    with pytest.raises(ValueError, match="Markup"):
        DrawnBoard(0, str(HEAD) + "<text>{}</text></svg>".format("</text><rect/><text>"), "")  # type: ignore[arg-type]
    svg = HEAD + Markup("<text>{}</text></svg>").format("</text><rect/><text>")
    assert "<rect" not in DrawnBoard(0, svg, "").svg


def test_a_picture_is_drawn_as_large_as_it_fits() -> None:
    board = drawing("<rect width='100' height='100' fill='#1d55c4'/><rect x='100' width='100' height='100'/>")
    grid = Board(2, [Panel("", "a", "1", [[Square("x", "seat 9")]])])
    each: list[list[Board | DrawnBoard]] = [[board], [board, grid]]
    for boards in each:
        with Image.open(io.BytesIO(draw(boards, {2: "bob"}))) as picture:
            assert picture.format == "PNG"
            colours = picture.convert("RGB")
            assert colours.width == 1040 + 32
            assert colours.getpixel((100, 100)) == (0x1D, 0x55, 0xC4)
            assert colours.getpixel((900, 100)) == (0, 0, 0)


def test_letters_are_drawn_whatever_fonts_the_machine_has() -> None:
    blank, written = (
        draw([drawing(f"<text x='9' y='50' font-family='Verdana, sans-serif'>{text}</text>")], {})
        for text in ("", "ä")
    )
    assert blank != written


# The colours of nine seats, as eyes without one kind of cones see them: Machado, Oliveira and Fernandes (2009).

EYES = {
    "common": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.1523, 1.0526, -0.2049), (0.1145, 0.7863, 0.0992), (-0.0039, -0.0481, 1.0520)),
    "deuteranopia": ((0.3673, 0.8606, -0.2280), (0.2801, 0.6725, 0.0474), (-0.0118, 0.0429, 0.9689)),
    "tritanopia": ((1.2555, -0.0767, -0.1788), (-0.0784, 0.9308, 0.1476), (0.0047, 0.6914, 0.3039)),
}


def lab(colour: str, eyes: str) -> tuple[float, float, float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    r, g, b = (
        min(1.0, max(0.0, sum(weight * part for weight, part in zip(row, linear, strict=True)))) for row in EYES[eyes]
    )
    white = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in white)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("eyes", EYES)
def test_nine_seats_can_be_told_apart(eyes: str) -> None:
    seen = [lab(TINTS[f"seat {seat}"].background, eyes) for seat in range(1, 10)]
    for one, other in combinations(seen, 2):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 14


# In letters.


@pytest.fixture
def people(tmp_path: Path) -> Iterator[tuple[Referee, list[Mailbox]]]:
    with referee_of(tmp_path, "race", RACE) as referee:
        yield referee, [*referee.agreed("", game="race")]


def pictures(letter: EmailMessage) -> list[EmailMessage]:
    return [part for part in letter.walk() if part.get_content_type() == "image/png"]


@pytest.mark.parametrize("wanted", ["both", "pictures", "text", "words"])
def test_a_letter_has_the_picture_and_its_words(people: tuple[Referee, list[Mailbox]], wanted: str) -> None:
    referee, (ann, bob) = people
    referee.send(ann, f"set format {wanted}\nserver {SERVER}\nplayer ann\nend\n")
    referee.send(ann, ann.filled("orders", "final\nthrow it"))
    told = next(letter for letter in reversed(ann.letters) if "turn 1" in str(letter["Subject"]))
    (scores,) = {tuple(referee.match().under_way.scores)}
    words = f"A track of thirty fields: seat 1 is on field {scores[0]}, seat 2 on field 0."
    if wanted in {"both", "pictures"}:
        (picture,) = pictures(told)
        boards = part_of("race", "boards").boards({"scores": [*scores]})
        assert picture.get_content() == draw(boards, {})
        (html,) = [part for part in told.walk() if part.get_content_type() == "text/html"]
        assert f'src="cid:{picture["Content-ID"].strip("<>")}" alt="{words}"' in " ".join(html.get_content().split())
    else:
        assert not pictures(told)
        assert (words in " ".join(body(told).split())) == (wanted == "words")
    assert bob.letters


# Record sheets.


SCRIPT = (
    "import sys; from pbem.games import part_of; from pbem.boards.picture import sheet; game = sys.argv[1];"
    "from pbem.letters.render import Templates; text = Templates().render(f'{game}/sheet.txt', m=None);"
    "sys.stdout.buffer.write(sheet('Title', part_of(game, 'boards').blank(), text))"
)


@pytest.mark.parametrize("game", GAMES)
def test_a_sheet_is_one_page_and_the_same_each_time(game: str) -> None:
    text = Templates().render(f"{game}/sheet.txt", m=None)
    boards = part_of(game, "boards")
    assert boards is not None
    made = sheet("Title", boards.blank(), text)
    assert made.startswith(b"%PDF-1.")
    assert made.count(b"/Type /Page\n") == 1
    assert len(made) < 60_000
    other = subprocess.run([sys.executable, "-c", SCRIPT, game], capture_output=True, check=True).stdout
    assert other == made
    with pytest.raises(ValueError, match="too many lines"):
        sheet("Title", boards.blank(), text + "one more\n" * 40)


@pytest.mark.parametrize("game", GAMES)
def test_the_font_has_each_letter_of_a_sheet_in_each_language(game: str) -> None:
    letters = {letter for tag in LANGUAGES for letter in Templates().of(tag).render(f"{game}/sheet.txt", m=None)} - {
        *"\n\t "
    }
    missing = bytes(font(TEXT).getmask("\ue000"))
    assert not {letter for letter in letters if bytes(font(TEXT).getmask(letter)) == missing}


@pytest.mark.parametrize("game", GAMES)
def test_a_sheet_has_the_grids_of_the_boards(game: str) -> None:
    raw, seats = PLAYERS[game].options[0]
    one = play(game, Random(1), raw, seats, most=1)
    boards = part_of(game, "boards")
    assert boards is not None
    shown = boards.boards(parts.view(rules(game), one.states[0], 1, []))
    grids = [
        [[(panel.name, list(panel.columns), list(panel.rows)) for panel in board.panels] for board in some]
        for some in (boards.blank(), shown)
    ]
    assert grids[0] == grids[1]
    assert {
        square.symbol for board in boards.blank() for p in board.panels for row in p.squares for square in row
    } == {"."}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("turns", [0, 400])
def test_a_long_match_has_a_sheet_too(game: str, turns: int) -> None:
    lines = {"shoot-em-up": ["A: FMS", "B: LLL"], "dueling-masters": ["Z1 A10-J10"], "spaceships": ["Rv1 " * 60]}
    m = {
        "names": {1: "ann" * 10, 2: "b" * 32, 3: "cem"},
        "seat": 1,
        "match": "m17",
        "game": 12,
        "terms": {"kind": "scored"},
        "turn": 9,
    }
    text = Templates().render(f"{game}/sheet.txt", m=m, mine=[lines[game]] * turns)
    boards = part_of(game, "boards")
    assert boards is not None
    assert sheet("Title", boards.blank(), text).startswith(b"%PDF")
    assert max(map(len, text.split("\n"))) < 130
    written = {"shoot-em-up": "A FMS", "dueling-masters": "Z1  A10-J10", "spaceships": "Rv1 Rv1"}[game]
    assert (written in text) == (turns > 0)


# Pictures in letters.


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
