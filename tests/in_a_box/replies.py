"""Plain-text replies as mail programs make them, whose quotes bear no marks: tests/data/replies.txt."""

from __future__ import annotations

from pathlib import Path

_FILE = Path(__file__).parent.parent / "data" / "replies.txt"

REPLIES = dict(one.split("\n", 1) for one in _FILE.read_text("utf-8").split("=== ")[1:])
"""For each mail program a reply, where `{said}` is what its user wrote, `{to}` our address, `{text}` our letter."""
