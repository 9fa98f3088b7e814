"""A referee with an empty store, for every test of the desk; every letter in German, too; and nobody locked out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.keyless import HOME
from in_a_box.referee import Mailbox, Openings, Referee
from judges.german import is_twin, too_wide
from judges.honest import accused
from judges.messages import left_in_english, pseudo_language
from judges.unlocked import watched

from pbem.desk.letter_writer import LetterWriter
from pbem.games import GAMES
from pbem.games.outside import template_folders
from pbem.i18n import template_folder
from pbem.letters.draft import TemplateText
from pbem.letters.render import InWords, Templates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


MOST = 4
"""The most letters of a template that are compared in one test."""

_FOUND_ALIKE: set[tuple[str, str]] = set()
"""Templates and their English whose German twins were looked at: all matches begin with the same letters."""

_WRITTEN = frozenset(
    {
        *(
            "answers/press.txt",
            "answers/press_to.txt",
            "answers/whole_sentence.txt",
            "letters/answer.txt",
            "letters/passed_on.txt",
        ),
        *("letters/digest.txt", "letters/press.txt", "letters/short.txt"),
        *(
            "letters/together.html",
            "letters/witness_refused.txt",
            "answers/help_mailbox.txt",
            "answers/help_signing.txt",
        ),
        *(f"{game}/rules.txt" for game in GAMES),
    }
)
"""The templates that bring what a person wrote, what is in words already, or a whole document."""

_OPENINGS = Openings()
"""Played under the eyes of the fixtures below, and of none who patches the server."""


def is_plain(template: str) -> bool:
    """True if its lines have a width."""
    return template.endswith(".txt") and "/sheet." not in template


@pytest.fixture
def referee(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Referee]:
    referee = Referee(tmp_path, openings=_OPENINGS)
    referee.records[HOME.where] = HOME.record
    yield referee
    if request.config.getoption("accused") and request.node.get_closest_marker("restored") is None:
        assert accused(referee) == []
    referee.close()


@pytest.fixture
def liar(tmp_path: Path) -> Iterator[Referee]:
    """A referee of its own, which a test lets lie: `--accused` shall not judge that."""
    referee = Referee(tmp_path)
    yield referee
    referee.close()


@pytest.fixture
def operator(referee: Referee) -> Mailbox:
    person = referee.person("operator")
    referee.people[referee.config.operator] = person
    return person


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In no dialogue anything that comes is read, judged or parsed while the store is locked."""
    met, _ = watched(monkeypatch)
    yield
    assert not met


@pytest.fixture(scope="session")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The templates in a language that nobody speaks, made from all messages: there is no code for it."""
    folder = tmp_path_factory.mktemp("templates")
    pseudo_language(folder, "eo")
    return Templates(template_folder(), folder).of("eo")


@pytest.fixture(autouse=True)
def in_other_languages_too(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever is written in any of these situations can be said in German: no fact is missing, no form differs.

    With `--no-english`, it is also said in a language that nobody speaks, and no word of ours is left in English; its
    words are a third longer than the English ones, and no line is too wide, nor runs a column into the next.
    """
    words = LetterWriter.rendered
    strange: Templates | None = None
    if request.config.getoption("no_english"):
        strange = request.getfixturevalue("strange")
    twins: dict[str, dict[str, str | None]] = {}
    faults: list[tuple[str, list[str]]] = []

    def said(words: InWords) -> str:
        return "\n\n".join([words.text.rstrip("\n"), *words.proofs]) + "\n" if words.proofs else words.text

    def written(letter_writer: LetterWriter, draft: TemplateText | str, language: str) -> InWords:
        made = words(letter_writer, draft, language)
        if isinstance(draft, TemplateText) and len(of_template := twins.setdefault(draft.template, {})) < MOST:
            english = said(made if language == "en" else words(letter_writer, draft, "en"))
            if english not in of_template:
                known = (draft.template, english) in _FOUND_ALIKE
                of_template[english] = None if known else said(words(letter_writer, draft, "de"))
                if (
                    strange
                    and not known
                    and draft.template not in _WRITTEN
                    and template_folders() == (template_folder(),)
                ):
                    other = said(strange.words(draft.template, **draft.facts))
                    left = [
                        *left_in_english(other),
                        *(too_wide(english, other) if is_plain(draft.template) else ()),
                    ]
                    faults.append((draft.template, left))
        return made

    monkeypatch.setattr(LetterWriter, "rendered", written)
    yield
    assert [found for found in faults if found[1]] == []
    for template, texts in twins.items():
        for english, german in texts.items():
            if german is not None:
                is_twin(english, german, plain=is_plain(template))
                _FOUND_ALIKE.add((template, english))
