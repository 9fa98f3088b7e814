"""A JSON object (RFC 8259) whose form was checked where it came in: each value is of the kind that its form says.

Only the name of the type lives here, for what is stored and proved as JSON: entries, terms, clocks, records; and how
deep JSON of others may be nested (docs/bundle.md, 1). An object that is not checked yet, or only handed on, is a
`Mapping[str, object]`.
"""

from __future__ import annotations

import re
from typing import Any, Final

JsonObject = dict[str, Any]

DEPTH: Final = 32
"""The most lists and objects inside one another: each reader of a proof, in whatever language, stops there."""

# A text without an end counts as one: looked for again from each of its quotes, it would take quadratic time.
_NO_BRACKET = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[^\[\]{}"]++')


def depth(text: bytes) -> int:
    """The depth to which lists and objects are nested in this JSON; measured only if there are many."""
    if text.count(b"[") + text.count(b"{") <= DEPTH:
        return 0
    deepest = now = 0
    for bracket in _NO_BRACKET.sub(b"", text):
        now += 1 if bracket in b"[{" else -1
        deepest = max(deepest, now)
    return deepest
