"""The table of sentences that tests look for: each is said, and each is looked for."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from judges import sentences
from judges.messages import ROOT, messages

TESTS = Path(__file__).parents[1]
TABLE = {name: value for name, value in vars(sentences).items() if name.isupper()}
FACT = re.compile(r"%\(\w+\)s|\{\{.*?\}\}|\{[a-z_0-9]*\}")


def flat(text: str) -> str:
    """On one line, with one mark for each fact."""
    return FACT.sub("\0", " ".join(text.split()))


@cache
def said() -> str:
    """All that the templates and the program say."""
    found = [part for _, text in messages() for part in ([text] if isinstance(text, str) else text)]
    templates = (path for path in (ROOT / "templates").rglob("*") if path.suffix in {".txt", ".html"})
    return "\n".join(map(flat, [*found, *(path.read_text("utf-8") for path in templates)]))


@cache
def looked_for() -> set[str]:
    found: set[str] = set()
    for path in TESTS.rglob("*.py"):
        found.update(re.findall(r"\bsentences\.([A-Z_0-9]+)\b", path.read_text("utf-8")))
    return found


@pytest.mark.parametrize("name", TABLE)
def test_each_sentence_is_said(name: str) -> None:
    assert flat(TABLE[name]) in said()


def test_each_sentence_is_looked_for_and_stands_once() -> None:
    assert set(TABLE) == looked_for()
    assert len(set(TABLE.values())) == len(TABLE)
