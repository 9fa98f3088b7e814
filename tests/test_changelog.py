"""The list of changes names the version that the project has, and its own in order."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADINGS = re.findall(r"(?m)^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"))
RELEASES = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d{2}-\d{2})", heading) for heading in HEADINGS[1:]]


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
