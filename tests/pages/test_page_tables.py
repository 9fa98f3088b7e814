"""What the program writes into the pages: it is written nowhere else in their scripts, and says what games do."""

from __future__ import annotations

import re
from random import Random

import pytest
from page_scripts.javascript import PAGES, Scripts
from playing.random_players import PLAYERS
from playing.sealed_players import play

from pbem.games import GAMES
from pbem.games.dueling_masters import board as dueling
from pbem.games.sealed import COMMIT, sealed_rules
from pbem.games.shoot_em_up import board as shooting
from pbem.games.spaceships import space
from pbem.games.spaceships.ships import TYPES as SHIPS
from pbem.mail.commands.arguments import WRITTEN
from pbem.match import events
from pbem.pages import script

COPIES = {
    "the cells of Spaceships": rf"{space.COLOURS}|{space.LETTERS}|\[v-z\]|{space.NUMBERS}|\[1-5\]",
    "the types of ships": "|".join(f"{code}: *[{{\"']" for code in SHIPS),
    "the squares of Dueling Masters": rf"{dueling.ROWS}|\[A-J\]",
    "the pieces of Dueling Masters": rf"{dueling.RANK}|{dueling.STRENGTH}|\"{'.{1,4}'.join(dueling.FIGHTERS[:4])}",
    "the squares of Shoot 'em up": rf"{shooting.COLUMNS}|\b[0-9]+x[0-9]+\b",
    "the ships of Shoot 'em up": rf"{shooting.LETTERS}|\[A-L\]|\"{shooting.FACINGS}\"|\[{shooting.FACINGS}\]|LRFMS",
    "the most turns": r"max_turns \|\| [0-9]",
    "the papers of steps": r"heads: *\[|\bto: *\[\"|empty: *true",
    "the names of letters": "|".join(
        f'{name}: *"{kind.letter}"' for name, kind in events.TYPES.items() if kind.letter
    ),
    "the names of players and matches": "|".join(map(re.escape, WRITTEN.values())),
}
"""By what a table says the patterns of a second copy of it, written by hand."""


def copies(source: str) -> list[str]:
    """What a script says that stands in a table; comments may give examples."""
    bare = re.sub(r"^\s*(?://|/?\*).*$", "", source, flags=re.M)
    return [what for what, pattern in COPIES.items() if re.search(pattern, bare)]


@pytest.mark.parametrize("name", sorted(path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.js")))
def test_no_script_says_by_hand_what_a_table_says(name: str) -> None:
    assert copies((PAGES / name).read_text("utf-8")) == []


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
