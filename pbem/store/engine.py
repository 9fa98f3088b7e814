"""The common ground of both engines, `sqlite` and `postgresql`: types of rows, and the scripts of the schema.

Script n in `migrations/` brings a store from version n-1 to n, in SQLite's dialect, of which `postgresql` translates
a few words. A released one never changes; a change of tables is a new one (tests/data/migrations/ has an example). No
semicolon stands within a statement. A script that makes a table anew that numbers its rows keeps their highest
number: a store with a lower one counts as older (`check_high_water`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

Parameters = Sequence[object] | Mapping[str, object]
Values = tuple[Any, ...]
"""A row: each value has the type that its table gives the column."""

BUSY_SECONDS = 5.0  # the longest wait for another's transaction; then the sender is asked to come again


@cache
def migrations() -> tuple[str, ...]:
    """The scripts in their order."""
    found = sorted(files("pbem.store").joinpath("migrations").iterdir(), key=lambda file: file.name)
    return tuple(file.read_text("utf-8") for file in found)


def statements(script: str) -> list[str]:
    """The statements of a script, without comments."""
    parts = "\n".join(line.partition("--")[0].rstrip() for line in script.splitlines()).split(";")
    return [statement for part in parts if (statement := part.strip())]
