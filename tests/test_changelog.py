"""The list of changes names the version that the project has, and its own in order; a change is one line."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CHANGELOG.md").read_text("utf-8")
HEADINGS = re.findall(r"(?m)^## (.*)$", TEXT)
RELEASES = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d{2}-\d{2})", heading) for heading in HEADINGS[1:]]
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
"""Of Keep a Changelog, in its order."""


def test_what_is_not_released_yet_stands_above_all_releases() -> None:
    assert HEADINGS[0] == "[Unreleased]"
    assert all(RELEASES), HEADINGS


def test_the_newest_release_is_the_version_of_the_project() -> None:
    newest = RELEASES[0]
    assert newest is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert ".".join(newest.groups()[:3]) == project["version"]


def test_releases_come_newest_first() -> None:
    numbers = [tuple(map(int, release.groups()[:3])) for release in RELEASES if release]
    days = [date.fromisoformat(release[4]) for release in RELEASES if release]
    assert numbers == sorted(set(numbers), reverse=True)
    assert days == sorted(days, reverse=True)


def test_each_release_has_the_kinds_of_changes_once_and_in_order() -> None:
    for section in re.split(r"(?m)^## ", TEXT)[1:]:
        found = re.findall(r"(?m)^### (.*)$", section)
        assert found == [kind for kind in KINDS if kind in found], section.splitlines()[0]


def test_a_change_is_one_line() -> None:
    """Reasons and stories are for the commit and the documents."""
    _, *sections = re.split(r"(?m)^## .*\n", TEXT)
    lines = [line for section in sections for line in section.splitlines() if line and not line.startswith("### ")]
    assert [line for line in lines if not re.fullmatch(r"- .{1,118}", line)] == []
    assert len(lines) == len(set(lines))
