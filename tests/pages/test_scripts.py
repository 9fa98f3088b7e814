"""The scripts of the pages as such: what they ask of a browser, and what `make check` says of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from page_scripts.javascript import PAGES, Failed, Scripts

from pbem.pages import ruled

ROOT = Path(__file__).parents[2]
PROGRAMS = {"composer.js", "home/rooms.js", "registration.js", "replay.js", "sealing.js"}
"""These work the elements of their page from their first line on, and have nothing that others would use."""
NAMES = sorted(path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.js"))
MADE = {"board.js": "make", "say.js": "say", "composer/spaceships/shapes.js": "SHAPES"}


@pytest.mark.parametrize("name", sorted({*NAMES} - PROGRAMS))
def test_a_script_is_loaded_without_a_document(name: str) -> None:
    folder, _, game = name.rpartition("/")
    folder, _, of_game = folder.partition("/")  # a noun of one game's
    judging = ["say.js", *ruled(of_game or game.removesuffix(".js") if folder else "spaceships")]
    verifying = [*judging, "bundle.js", "ed25519.js", "sshsig.js", "verify.js"]
    before = verifying if not folder else [*judging, "board.js"] if folder == "composer" else judging
    scripts = Scripts(*before[: before.index(name)] if name in before else before, name)
    made = MADE.get(name) or {"composer": "GAME", "replay": "GAME"}.get(folder, folder.upper()) or game[:-3].upper()
    assert scripts.evaluate(f"() => typeof {made}") in {"object", "function"}


def test_what_a_script_raises_is_told() -> None:
    with pytest.raises(Failed, match="ReferenceError: document is not defined"):
        Scripts("board.js").evaluate("() => make('p')")
    with pytest.raises(Failed, match="for ever"):
        Scripts().evaluate("() => new Promise(() => {})")


def linted(path: Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [
        Path(sys.executable).with_name("oxlint"),
        "--deny-warnings",
        "--format=unix",
        "-c",
        ROOT / ".oxlintrc.json",
    ]
    return subprocess.run([*command, path], capture_output=True, text=True, cwd=path.parent, check=False)


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("const GAME = (() => ({ begin: () => RULE }))();", "no-undef"),
        ("const GAME = (() => { const idle = 1; return {}; })();", "no-unused-vars"),
        ("const idle = () => 1;", "no-unused-vars"),
        ("const GAME = (one) => one == 1;", "eqeqeq"),
        ("const GAME = () => { var one = 1; return one; };", "no-var"),
        ("const GAME = () => { let one = 1; return one; };", "prefer-const"),
        ("const GAME = () => { return 1; return 2; };", "no-unreachable"),
        ("/** @yeilds {number} */\nconst GAME = () => 1;", "check-tag-names"),
    ],
)
def test_the_linter_finds(source: str, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "page.js"
    path.write_text(f"{source}\n")
    found = linted(path)
    assert found.returncode != 0
    assert f"({rule})" in found.stdout
    path.write_text("const GAME = (() => ({ begin: () => RULES }))();\n")
    assert linted(path).returncode == 0
