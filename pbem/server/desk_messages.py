"""The messages between the daemon and the desk's process: what each tells the other over their line.

Each is a single octet, so that asyncio can read them; only the first hand-over, after `FILES`, is longer, and what
is said after `FAILED` is for the operator.
"""

from __future__ import annotations

# From the desk.
READY = b"!"
WORKED = b"."
FAILED = b"?"
HERE = b"h"

# From the daemon.
FILES = b"f"
WAKE = b"w"
EASE = b"e"
STOP = b"s"
ASKED = b"a"
