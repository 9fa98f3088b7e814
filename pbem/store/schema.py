"""The numbered migrations of the store, each an SQL script in a file: script n brings a store from version n-1 to n.

The scripts in `migrations/` are in SQLite's dialect; `pbem.store.postgresql` translates a few words of it. A released
script never changes; a change of tables is a new script at the end. No semicolon stands within a statement. A script
that makes a table anew that numbers its rows keeps their highest number: a store that has a lower one counts as older
(`high_water`). Columns named `address` are COLLATE NOCASE. The version of a store stands in its `PRAGMA
user_version`, or in the table `store` of PostgreSQL.
Implements design.md, "Layout", room `store`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def migrations() -> tuple[str, ...]:
    """The scripts in their order."""
    found = sorted(files("pbem.store").joinpath("migrations").iterdir(), key=lambda file: file.name)
    return tuple(file.read_text("utf-8") for file in found)
