"""The program in a place where the language that nobody speaks is one of its languages, for whole processes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from judges.messages import ROOT, pseudo_language

if TYPE_CHECKING:
    from pathlib import Path

TAG = "eo"
"""Esperanto's: of every language its dates and lists come from Unicode's tables, so it must be one."""


def strange_place(folder: Path) -> dict[str, str]:
    """Make the place; returns the environment of processes there, whose user speaks that language."""
    (folder / "pbem").symlink_to(ROOT / "pbem")
    templates = folder / "templates"
    templates.mkdir()
    for path in (ROOT / "templates").iterdir():
        (templates / path.name).symlink_to(path)
    pseudo_language(templates, TAG)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT / "tests", ROOT))),
        "LC_ALL": f"{TAG}.UTF-8",
    }


def run(environment: dict[str, str], *words: str) -> None:
    subprocess.run([sys.executable, "-P", "-m", *words], env=environment, check=True)
