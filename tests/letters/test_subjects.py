"""Subjects are read in lists of letters: every one of ours is whole there, whatever people and games are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pbem.games import titles
from pbem.i18n import LANGUAGES
from pbem.letters import digest
from pbem.letters.draft import LONGEST, WrittenLetter, joined_subjects, subject_about, subject_fitting
from pbem.letters.render import Templates
from pbem.match.notices import NOTICES
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "a-player-of-thirty-two-character"
"""The longest name that can be registered."""
RESULTS = ("you won", "drawn", "no winner", Phrase("{name} won", name=NAME))
MATTERS = (Phrase("a draw?"), Phrase("annul the match?"))


def said_of(match: str, language: str) -> Iterator[tuple[str, str]]:
    """The subject of every notice, of the game with the longest title, about the longest names and numbers."""
    templates = Templates().of(language)
    title = max(titles().values(), key=len)
    what = Phrase("turn {turn}", turn=9999)
    for kind, spec in NOTICES.items():
        if spec.subject is not None:
            for result, matter in zip(RESULTS, MATTERS * 2, strict=True):
                facts = {"who": NAME, "by": NAME, "game": 9999, "turn": 9999, "result": result, "matter": matter}
                subject = spec.subject.given(**facts, what=what)
                yield kind, subject_fitting(subject_about(match, title, subject), templates.say)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_subject_of_every_notice_is_under_seventy_characters(language: str) -> None:
    found = dict(said_of("m123456789", language))
    assert found.keys() == {kind for kind, spec in NOTICES.items() if spec.subject is not None}
    for _, subject in said_of("m123456789", language):
        assert len(subject) <= LONGEST < 70
        assert subject.startswith("[pbem m123456789] ")
    # With a match as most are, nothing is cut, and the game's title is all that is left out.
    for kind, subject in said_of("m17", language):
        assert kind in {"ended", "substituted", "keys", "step", "revealed"} or not subject.endswith(" ..."), subject


def test_the_title_is_there_where_there_is_room() -> None:
    say = Templates().say
    assert subject_fitting(
        subject_about("m17", "Spaceships", Phrase("game {game}, turn {turn}", game=1, turn=2)), say
    ) == ("[pbem m17] Spaceships, game 1, turn 2")
    missed = Phrase("game {game}, {what}: a deadline was missed", game=1, what=Phrase("turn {turn}", turn=2))
    assert subject_fitting(subject_about("m17", "Dueling Masters of Space-Time", missed), say) == (
        "[pbem m17] game 1, turn 2: a deadline was missed"
    )
    full = subject_about("m17", "Spaceships", "x" * 46)
    assert subject_fitting(full, say) == "[pbem m17] Spaceships, " + "x" * 46
    assert len(subject_fitting(full, say)) == LONGEST


def test_what_letters_have_in_common_is_said_once() -> None:
    turns = [f"[pbem m17] Spaceships, game 1, turn {turn}" for turn in range(1, 10)]
    assert joined_subjects(turns[:2]) == "[pbem m17] Spaceships, game 1, turn 1; turn 2"
    assert joined_subjects(turns) == "[pbem m17] Spaceships, game 1, turn 1; ...; turn 9"
    end = ["[pbem m17] Spaceships, game 1, the end: you won", "[pbem m17] Spaceships, the match is closed"]
    assert joined_subjects(end) == "[pbem m17] Spaceships, game 1, the end: you won; the match is closed"
    missed = "[pbem m17] Spaceships, game 1, turn 1: a deadline was missed"
    assert joined_subjects([missed, turns[0]]) == f"{missed}; turn 1"
    untitled = "[pbem m17] game 1, turn 2: a draw?"
    assert joined_subjects([turns[0], untitled]) == f"{turns[0]}; game 1, turn 2: a draw?"
    assert all(len(joined_subjects([one, *turns])) <= LONGEST for one in ("x" * length for length in range(1, 70)))


def test_a_long_list_of_letters_names_the_first_and_the_last() -> None:
    """The turns of a game that ended, when they take a letter to themselves."""
    subjects = (subject_about("m17", "Spaceships", f"game 1, turn {turn}") for turn in range(5, 90))
    letters = [WrittenLetter(subject_fitting(subject, str), [], named=False) for subject in subjects]
    assert digest.joined(letters).subject == "[pbem m17] Spaceships, game 1, turn 5; ...; turn 89"
