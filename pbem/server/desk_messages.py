"""The messages between the daemon and the process of a desk: what each tells the other over their line.

Each is a single octet, so that asyncio can read them; only the first hand-over, after `FILES`, is longer, and what
is said after `FAILED` is for the operator.

What a desk says of its rest may be under way while the daemon wakes it, and it may begin by itself. So it says of
each beginning whether it was woken: what it said of its rest before is no longer true.
"""

from __future__ import annotations

__all__ = ["ASKED", "BEGINS", "EASE", "FAILED", "FILES", "HERE", "READY", "RESTS", "STOP", "WAKE", "WOKEN", "WORKED"]

# From the desk.
READY = b"!"
WORKED = b"."
RESTS = b"z"
WOKEN = b"y"
BEGINS = b"b"
FAILED = b"?"
HERE = b"h"

# From the daemon.
FILES = b"f"
WAKE = b"w"
EASE = b"e"
STOP = b"s"
ASKED = b"a"
