"""What README and docs/ point at is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_and_named_tests(name: str) -> None:
    text = (ROOT / name).read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    tests = re.findall(r"\btests/[\w/.]*\w/?", text)
    missing = [link for link in links if not (ROOT / name).parent.joinpath(link).exists()]
    missing += [test for test in tests if not (ROOT / test).exists() and "<" not in test]
    assert not missing


def rows(text: str) -> list[list[str]]:
    """The cells of all tables of a page, without the heads of the tables."""
    tables = re.findall(r"(?m)^\|(?:[^|\n]*\|)+\n\|[-|]+\n((?:\|.*\n)+)", text)
    return [[cell.strip() for cell in row.strip("|").split("|")] for table in tables for row in table.splitlines()]


def test_each_threat_names_what_covers_it_and_what_shows_it() -> None:
    """A command that a reader can run, a file or a class of tests, or one test: and it is there."""
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    found = rows((ROOT / "docs" / "threats.md").read_text())
    assert len(found) > 40
    for row in found:
        assert all(row), row
        shown = row[-1]
        named = re.findall(r"`((?:test_|Test)\w+)`", shown)
        assert named or "tests/" in shown or "`pbem verify" in shown or "`sha256sum" in shown or shown == "nothing", (
            row
        )
        for name in named:
            assert re.search(rf"(?m)^ *(?:def|class) {name}\b", tests), name


def test_the_threats_are_linked() -> None:
    assert "(docs/threats.md)" in (ROOT / "README.md").read_text()
