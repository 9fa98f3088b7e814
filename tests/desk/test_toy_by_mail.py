"""A game of another package, the example that we ship, runs through the same desk unchanged: the interface is one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import held
from in_a_box.outside import enabled
from in_a_box.referee import Referee, attachment, body

import pbem
from pbem.games import GAMES
from pbem.i18n import template_folder
from pbem.letters.render import Templates

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    with enabled(tmp_path / "site"):
        referee = Referee(tmp_path, templates=Templates())
        yield referee
        referee.close()


def test_a_continued_match_is_played_and_proved(referee: Referee) -> None:
    ann, bob = referee.agreed("kind: continued\ngames: 2\nmost: 12", game="marbles")
    assert "Hide from 1 to 12" in body(ann.find("setup"))
    for game, (own, other, guesses) in enumerate(((3, 11, (6, 5, 11)), (13, 1, (2, 13))), start=1):
        referee.send(ann, ann.filled("setup", f"hide {own}"))
        referee.send(bob, bob.filled("setup", f"hide {other}"))
        assert "0 guesses so far" in body(bob.find(f"game {game} begins"))
        for turn, guess in enumerate(guesses, start=1):
            person, idle = (ann, bob) if turn % 2 else (bob, ann)
            referee.read_cold()
            referee.send(person, person.filled("orders", f"final\nguess {guess}"))
            for reader in (person, idle):
                report = reader.find(f"game {game}, turn {turn}")
                (told,) = json.loads(attachment(report, ".json"))["reports"]
                assert told.keys() == {"seat", "kind", "number", "answer"}
            assert f"{person.name} guesses {guess}: {told['answer']}" in body(idle.find(f"game {game}, turn {turn}"))
        assert told["answer"] == "right"
        assert body(idle.find(f"game {game}, the end")).startswith(f"You lost Marbles game {game} after ")
    held(bob.find("the end"))
    assert "The match is a draw" in body(ann.find("the match is closed"))


def test_nobody_else_knows_a_game_by_name() -> None:
    """Outside `games/`, a game's own templates, and how programs play it, no line names a game."""
    package = Path(pbem.__file__).parent
    own = {"games", "opponent"}
    places = [path for path in package.rglob("*.py") if own.isdisjoint(path.parts[len(package.parts) :])]
    places += [path for room in ("letters", "answers") for path in (template_folder() / room).iterdir()]
    assert len(places) > 50
    names = "|".join([*GAMES, *(name.replace("-", "[ _]") for name in GAMES)])
    for path in places:
        assert not re.search(names, path.read_text("utf-8"), re.IGNORECASE), path
