"""The schema of the store, in numbered SQL scripts: script n brings a store from version n-1 to n.

The scripts in `migrations/` are in SQLite's dialect; `pbem.store.postgresql` translates a few words of it. A released
script never changes; a change of tables is a new script at the end (tests/data/migrations/ has an example). Comments
begin with two hyphens; no semicolon stands within a statement. A script that makes a table anew that numbers its rows
keeps their highest number: a store that has a lower one counts as older (`high_water`). Columns named `address` are
COLLATE NOCASE. The version of a store stands in its `PRAGMA user_version`, or in the table `store` of PostgreSQL.
Implements design.md, "Layout", room `store`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


@cache
def migrations() -> tuple[str, ...]:
    """The scripts in their order."""
    found = sorted(files("pbem.store").joinpath("migrations").iterdir(), key=lambda file: file.name)
    return tuple(file.read_text("utf-8") for file in found)


def statements(script: str) -> list[str]:
    """The statements of a script, without comments."""
    parts = re.sub("--.*", "", script).split(";")
    return [statement for part in parts if (statement := part.strip())]
