"""What README, CONTRIBUTING and docs/ point at is there."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
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
    """What a module defines: its functions, classes and their methods, and constants."""
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
    """So that a newcomer opens it without a search: the file is there, and defines the name."""
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


def test_the_threats_are_linked() -> None:
    assert "(docs/threats.md)" in (ROOT / "README.md").read_text()


def test_no_document_holds_both_sides_of_a_merge() -> None:
    """A line that git wrote into README.md went unseen once: Markdown shows it as text."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "templates").rglob("*.txt")]
    assert not [path for path in files if re.search(r"(?m)^(<{7}|>{7}) ", path.read_text("utf-8"))]
