"""README, CONTRIBUTING, CHANGELOG and docs/: what they point at is there, and so are pictures and test material."""

from __future__ import annotations

import ast
import json
import os
import re
import tomllib
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from data.material import ODD, mails
from demo import pictures
from hatchling.builders.sdist import SdistBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = Path(__file__).parents[1]
IN_DOCS = sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "simulation/README.md", *IN_DOCS]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_and_named_tests(name: str) -> None:
    text = (ROOT / name).read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    tests = re.findall(r"(?<!\.\./)\b(?:tests|simulation)/[\w/.]*\w/?", text)
    missing = [link for link in links if not (ROOT / name).parent.joinpath(link).exists()]
    missing += [test for test in tests if not (ROOT / test).exists() and "<" not in test]
    assert not missing


PAGES = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")} - {"docs/index.md"}


def test_each_page_is_on_the_site_and_named_by_its_index() -> None:
    """`make docs` checks the rest: that what a page links to is there, with its section."""
    listed: set[str] = set()
    for index in ("docs/index.md", "docs/specification.md"):
        text = (ROOT / index).read_text()
        names = " ".join(re.findall(r"```\{toctree\}\n(?::.*\n)*([^`]*)```", text)).split()
        linked = re.findall(r"\]\(([^)#]+\.md)", text)
        assert not {f"{name}.md" for name in names} - set(linked), f"in no sentence of {index}"
        listed |= {os.path.normpath(f"docs/{name}.md") for name in names}
    assert not PAGES - listed
    assert not {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"} - listed


def test_the_specification_lists_the_version_of_each_format() -> None:
    files = "bulletin|position|reports|setup|verification"
    format_ = re.compile(rf'\bpbem [a-z]+(?: NAME)? \d\b|\b(?:{files}) \d(?=["`])')
    specification = (ROOT / "docs" / "specification.md").read_text()
    for name in ("attachments", "bundle", "opponent", "sealed", "verification", "witnesses"):
        formats = set(format_.findall((ROOT / "docs" / f"{name}.md").read_text()))
        assert not formats - set(format_.findall(specification)), name


def test_the_source_package_holds_the_site() -> None:
    package = {file.distribution_path for file in SdistBuilder(str(ROOT)).recurse_included_files()}
    assert not PAGES - package
    needed = {"Makefile", "docs/conf.py", "docs/index.md", "docs/site/index.html"}
    assert not {*needed, "simulation/README.md", "verifier/__main__.py"} - package


def defined(body: list[ast.stmt], within: str = "") -> Iterator[str]:
    """The names that a module defines: functions, classes and their methods, and constants."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield within + statement.name
        elif isinstance(statement, ast.ClassDef):
            yield within + statement.name
            yield from defined(statement.body, f"{within}{statement.name}.")
        elif isinstance(statement, ast.Assign):
            yield from (within + target.id for target in statement.targets if isinstance(target, ast.Name))


def where_is() -> str:
    """The section of CONTRIBUTING.md that answers questions."""
    return (ROOT / "CONTRIBUTING.md").read_text().partition("\n## Where is ...\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    ("text", "questions"),
    [((ROOT / "docs" / "flow.md").read_text(), 0), (where_is(), 10)],
    ids=["flow.md", "where is"],
)
def test_each_name_stands_with_its_file(text: str, questions: int) -> None:
    """A newcomer opens it without a search: the file is there, and defines the name."""
    assert len(rows(text)) >= questions
    named = re.findall(r"`([A-Za-z_][\w.]*)`\s+in\s+`(pbem/[\w/]+\.py)`", text)
    assert len(named) > 10
    for name, file in named:
        assert name in defined(ast.parse((ROOT / file).read_text()).body), (name, file)
    paths = set(re.findall(r"`((?:pbem|templates)/[\w/.-]*)`", text))
    assert not [path for path in paths if not (ROOT / path).exists()]
    alone = set(re.findall(r"`(\w[\w./]*\.py|[A-Z]\w*(?:\.\w+)?|_\w+)`", text)) - paths - {name for name, _ in named}
    assert not alone, "without their files"


def rows(text: str) -> list[list[str]]:
    """The cells of all tables of a page, without the heads of the tables."""
    tables = re.findall(r"(?m)^\|(?:[^|\n]*\|)+\n\|[-|]+\n((?:\|.*\n)+)", text)
    return [[cell.strip() for cell in row.strip("|").split("|")] for table in tables for row in table.splitlines()]


def test_each_threat_names_what_covers_it_and_what_shows_it() -> None:
    """A command that a reader can run, a file or a class of tests, or one test: and it is there."""
    folders = ROOT / "tests", ROOT / "simulation"
    tests = "\n".join(path.read_text() for folder in folders for path in folder.rglob("test_*.py"))
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


def test_no_document_holds_both_sides_of_a_merge() -> None:
    """A line that git wrote into README.md went unseen once: Markdown shows it as text."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "templates").rglob("*.txt")]
    assert not [path for path in files if re.search(r"(?m)^(<{7}|>{7}) ", path.read_text("utf-8"))]


# The changelog.


TEXT = (ROOT / "CHANGELOG.md").read_text("utf-8")
HEADINGS = re.findall(r"(?m)^## (.*)$", TEXT)
RELEASES = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d{2}-\d{2})", heading) for heading in HEADINGS[1:]]
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
"""The kinds of changes of Keep a Changelog, in its order."""


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


# Test material.


ROW = re.compile(r"\| `([^`]+)` \| (.+) \|")


def listed() -> dict[str, str]:
    """The trait of each file in the README, by its path below the collection."""
    traits: dict[str, str] = {}
    family = ""
    for line in (ODD / "README.md").read_text().splitlines():
        if section := re.match(r"## `([a-z]+/)`", line):
            family = section[1]
        elif row := ROW.fullmatch(line):
            assert family + row[1] not in traits
            traits[family + row[1]] = row[2]
    return traits


def test_each_odd_mail_is_listed_and_is_there() -> None:
    files = [path for path in ODD.rglob("*") if path.is_file() and path != ODD / "README.md"]
    assert sorted(files) == mails(ODD)
    assert sorted(listed()) == sorted(path.relative_to(ODD).as_posix() for path in files)


# Pictures.


README = (pictures.ROOT / "README.md").read_text("utf-8")
NEWER = "what this picture shows has changed: run `make pictures`, and look at it"


@pytest.mark.parametrize("picture", pictures.TEMPLATES)
def test_a_picture_is_no_older_than_what_it_shows(picture: str) -> None:
    assert (pictures.PICTURES / picture).is_file()
    assert json.loads(pictures.SHOWN.read_text("utf-8"))[picture] == pictures.fingerprint(picture), NEWER


def test_pictures_are_small_together_and_none_is_left_over() -> None:
    made = {path.name: path.stat().st_size for path in pictures.PICTURES.iterdir()}
    assert set(made) == {*pictures.TEMPLATES, pictures.BADGES.name, pictures.SHOWN.name}
    assert sum(made.values()) < 400_000


def test_the_readme_shows_pictures_that_are_made() -> None:
    shown = re.findall(r"docs/pictures/([\w.-]+)\)", README)
    assert {"letter.png", "terminal.svg", "match.png", "badges.svg"} <= set(shown)
    assert set(shown) <= {*pictures.TEMPLATES, pictures.BADGES.name}


def test_the_badges_are_true() -> None:
    assert pictures.BADGES.read_text("utf-8") == pictures.badges(), NEWER
