"""Record sheets: one page each, the same bytes each time, with every square of the boards."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest
from random_players import PLAYERS, play

from pbem.boards import boards
from pbem.boards.sheet import GRIDS, sheet
from pbem.games import GAMES, rules
from pbem.mail.compose import Templates

SCRIPT = (
    "import sys; from pbem.boards.sheet import sheet; from pbem.mail.compose import Templates; game = sys.argv[1];"
    "sys.stdout.buffer.write(sheet(game, 'Title', Templates().render(f'{game}/sheet.txt')))"
)


@pytest.mark.parametrize("game", GAMES)
def test_a_sheet_is_one_page_and_the_same_each_time(game: str) -> None:
    text = Templates().render(f"{game}/sheet.txt")
    made = sheet(game, "Title", text)
    assert made.startswith(b"%PDF-1.")
    assert made.count(b"/Type /Page\n") == 1
    assert len(made) < 60_000
    other = subprocess.run([sys.executable, "-c", SCRIPT, game], capture_output=True, check=True).stdout
    assert other == made
    with pytest.raises(ValueError, match="too many lines"):
        sheet(game, "Title", text + "one more\n" * 40)


@pytest.mark.parametrize("game", GAMES)
def test_a_sheet_has_the_grids_of_the_boards(game: str) -> None:
    raw, seats = PLAYERS[game].options[0]
    one = play(game, Random(1), raw, seats, most=1)
    shown = boards(game, rules(game).view(one.states[0], 1, []))
    wanted = [[(panel.name, list(panel.columns), list(panel.rows)) for panel in board.panels] for board in shown]
    _, drawn = GRIDS[game]
    assert [[(name, list(columns), list(rows)) for name, columns, rows in board] for board in drawn] == wanted
