"""The letters of each game, made by its templates alone, against golden texts.

`GOLDEN=write pytest tests/letters/test_game_letters.py` writes them anew.
"""

from __future__ import annotations

import pytest
from judges.game_letters import GameLetters, reads_as_written, reads_well
from letters import test_dueling_masters_templates, test_shoot_em_up_templates, test_spaceships_templates

GAMES = (test_dueling_masters_templates, test_shoot_em_up_templates, test_spaceships_templates)
LETTERS = {(one.GAME.game, name): make for one in GAMES for name, make in sorted(one.LETTERS.items())}


@pytest.mark.parametrize(("game", "name"), LETTERS)
def test_golden(game: str, name: str) -> None:
    reads_as_written(game, name, LETTERS[game, name]())


@pytest.mark.parametrize(("game", "name"), LETTERS)
def test_reads_well_in_a_terminal(game: str, name: str) -> None:
    reads_well(LETTERS[game, name]())


@pytest.mark.parametrize("game", [one.GAME for one in GAMES], ids=lambda one: one.game)
def test_the_rules_letter_prints_every_ruling_whole(game: GameLetters) -> None:
    assert " ".join(game.rulings().split()) in " ".join(game.rules().split())
