"""A JSON object (RFC 8259) whose form was checked where it came in: what stands at a name is what its form says.

Here lives the name of the type alone, for what is stored and proved as JSON: entries, terms, clocks, records. What
was not checked yet, or is only handed on, is a `Mapping[str, object]`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["JsonObject"]

JsonObject = dict[str, Any]
