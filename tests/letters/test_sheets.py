"""Record sheets: one page each, the same bytes each time, with every square of the boards."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest
from playing.random_players import PLAYERS, play

from pbem.boards.picture import TEXT, font, sheet
from pbem.games import GAMES, part_of, parts, rules
from pbem.i18n import LANGUAGES
from pbem.letters.render import Templates

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
@pytest.mark.parametrize("turns", [0, 1, 40, 400])
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
