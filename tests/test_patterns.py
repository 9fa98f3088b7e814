"""Every regular expression takes time as its text is long, whoever wrote the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from attackers.patterns import called, hostile, superlinear, used, users

from pbem.i18n import LANGUAGES
from pbem.identity.repairs import opening
from pbem.mail.commands import COMMANDS
from pbem.match.documents import Evidence, NamedMailbox, Opening, Receipt, Withdrawal
from pbem.proof import kept_letters
from pbem.proof.normal_form import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def made(file: str, line: int) -> re.Pattern[str] | None:
    """The pattern of a call that makes it of what it was given."""
    if file == "pbem/proof/kept_letters.py":
        return None  # of each language's own messages: see below
    if file == "pbem/match/documents.py":
        return None  # of each paper's own fields: see below
    if file == "pbem/mail/commands/table.py":
        return None  # of each command's row: see below
    assert file == "pbem/identity/repairs.py", f"{file}:{line} is made of what this test cannot know"
    return opening(VOCABULARY)


def steep(pattern: re.Pattern[Any], method: str) -> str | None:
    makers = hostile(pattern)
    return next(filter(None, (superlinear(pattern, method, make) for make in makers)), None)


@pytest.mark.parametrize(("path", "name"), [pytest.param(*one, id=one[1]) for one in users()])
def test_case_31_patterns_are_linear(path: Path, name: str) -> None:
    found = {
        (one.place.line, method): text
        for one in used(path, name, made)
        for method in one.methods
        if (text := steep(one.pattern, method))
    }
    assert not found


def read_backwards() -> Iterator[tuple[str, str, re.Pattern[str]]]:
    """The expressions by which letters are read again, made of the messages of each language."""
    for language, words in zip(LANGUAGES, kept_letters._languages(), strict=True):
        for name, found in vars(words).items():
            for one in found if isinstance(found, list) else [found]:
                yield language, name, one


@pytest.mark.parametrize(("language", "name", "pattern"), list(read_backwards()))
def test_case_31_what_letters_are_read_by_is_linear(language: str, name: str, pattern: re.Pattern[str]) -> None:
    found = {method: steep(pattern, method) for method in called(name, kept_letters)}
    assert not any(found.values()), (language, name, found)


@pytest.mark.parametrize("paper", [Evidence, NamedMailbox, Opening, Receipt, Withdrawal])
def test_case_31_the_forms_of_papers_are_linear(paper: type[Receipt]) -> None:
    assert not steep(paper._form(), "fullmatch")


@pytest.mark.parametrize("opens", sorted({row.opens for row in COMMANDS.values() if row.opens}))
def test_case_31_the_words_behind_a_commands_name_are_read_in_linear_time(opens: str) -> None:
    assert not steep(re.compile(opens, re.IGNORECASE), "match")
