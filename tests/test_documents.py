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


def test_the_threats_are_linked() -> None:
    assert "(docs/threats.md)" in (ROOT / "README.md").read_text()
