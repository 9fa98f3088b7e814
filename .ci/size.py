"""The size of the house beside its budget: `make size`. Needs no more than Python."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
BUDGET = {
    "pbem/, lines of code": 39_500,
    "pbem/, lines": 65_500,
    "JavaScript, lines": 4_850,
    "SQL of migrations, lines": 400,
    "documents, words": 72_000,
    "tests/, lines": 80_000,
    "verifier/, lines": 6_900,
    "simulation/, lines": 8_300,
}
"""The most that each figure may be."""


def code_lines(path: Path) -> int:
    """Lines without imports, strings on their own (docstrings), comments and blanks."""
    text = path.read_text("utf-8")
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    numbered = enumerate((line.strip() for line in text.splitlines()), 1)
    return sum(1 for number, line in numbered if line and not line.startswith("#") and number not in skipped)


def lines(folder: str, pattern: str) -> int:
    """All lines of the files below a folder whose names fit a pattern."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / folder).rglob(pattern))


def main() -> None:
    """Print the lines of code of each room, and each figure beside its budget."""
    rooms: Counter[str] = Counter()
    modules = list((ROOT / "pbem").rglob("*.py"))
    for path in modules:
        parts = path.relative_to(ROOT).parts
        rooms["/".join(parts[:2]) if len(parts) > 2 else "pbem"] += code_lines(path)
    for room, number in rooms.most_common():
        print(f"{number:8,}  {room}")
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in PAGES)]
    figures = {
        "pbem/, lines of code": rooms.total(),
        "pbem/, lines": lines("pbem", "*.py"),
        "JavaScript, lines": lines("templates", "*.js"),
        "SQL of migrations, lines": lines("pbem", "*.sql"),
        "documents, words": sum(len(page.read_text("utf-8").split()) for page in pages),
        **{f"{folder}/, lines": lines(folder, "*.py") for folder in ("tests", "verifier", "simulation")},
    }
    print(f"\n{len(modules):8,}  modules in pbem/\n")
    for name, number in figures.items():
        most = BUDGET[name]
        print(f"{number:8,}  {name}: at most {most:,}{f', {number - most:,} too many' if number > most else ''}")


if __name__ == "__main__":
    main()
