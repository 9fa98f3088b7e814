"""Tables that the program writes into the pages: no script repeats them, and they match the games."""

from __future__ import annotations

from random import Random

import pytest
from page_scripts.javascript import Scripts
from playing.random_players import PLAYERS
from playing.sealed_players import play

from pbem.games import GAMES
from pbem.games.sealed import COMMIT, sealed_rules
from pbem.games.spaceships.ships import TYPES as SHIPS
from pbem.pages import script


def test_tables_speak_the_language_of_their_page() -> None:
    titles = "() => FACTS.types.map(({ title }) => title)"
    english, german = (
        Scripts("tables/spaceships.js", language=language).evaluate(titles) for language in ("en", "de")
    )
    assert english == [str(kind.title) for kind in SHIPS.values()]
    assert german != english
    assert "<" not in script("tables/shoot-em-up.js")  # which has an arrow that could begin an element's end


@pytest.mark.parametrize("game", GAMES)
def test_only_papers_that_may_be_empty_have_no_lines(game: str) -> None:
    sealed, random = sealed_rules(game), Random(9)
    assert sealed is not None
    for _ in range(5):
        raw, seats = random.choice(PLAYERS[game].options)
        for step in play(game, random, raw, seats, 30, None).steps:
            assert step.lines or step.step == COMMIT or sealed.papers[step.step].empty
