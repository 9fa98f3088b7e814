"""The examples of configuration, for operators: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path


def example_folder() -> Path:
    """The folder with pbem.example.toml and what is added to a mail server."""
    package = Path(__file__).parent
    installed = package / "examples"
    return installed if installed.is_dir() else package.parent / "config"
