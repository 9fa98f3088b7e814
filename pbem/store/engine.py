"""The common types of both engines of a store: an SQLite file (`sqlite`), and a PostgreSQL database (`postgresql`).

Each is one connection, with its transactions, and has the same methods; which engine it is, only `database` knows.
Statements are written in SQL that both understand, with `?` and `:name` for values. Where SQLite alone has a word for
something (COLLATE NOCASE, json_extract, group_concat, rowid) the other engine translates it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Parameters = Sequence[object] | Mapping[str, object]
Values = tuple[Any, ...]
"""A row: each value has the type that its table gives the column."""

BUSY_SECONDS = 5.0  # the longest wait for another's transaction; then the sender is asked to come again
