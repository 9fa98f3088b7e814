"""The examples, for operators and for writers of games: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def example_folder() -> Path:
    """The folder with pbem.example.toml and what is added to a mail server."""
    installed = _PACKAGE / "examples"
    return installed if installed.is_dir() else _PACKAGE.parent / "config"


def example_game() -> Path:
    """The folder of the package with marbles, a whole game."""
    installed = _PACKAGE / "examples" / "marbles"
    return installed if installed.is_dir() else _PACKAGE.parent / "examples" / "marbles"
