"""A JSON object (RFC 8259) whose form was checked where it came in: each value is of the kind that its form says.

Only the name of the type lives here, for what is stored and proved as JSON: entries, terms, clocks, records. An
object that is not checked yet, or only handed on, is a `Mapping[str, object]`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["JsonObject"]

JsonObject = dict[str, Any]
