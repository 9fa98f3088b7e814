"""Where the test material lies: worked records, signed letters with their throw-away keys, odd mail.

All of it is in the repository; `tests/data/README.md` says what each is and what must be refused.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent
EXAMPLES = DATA / "examples"
SIGNED = DATA / "signed"
ODD = DATA / "odd"
KEYS = SIGNED / "keys"

IN_FORCE = datetime(2028, 6, 1, 12, tzinfo=UTC)
"""The sample keys are in force, and what tests sign on the day on which they run is not dated in the future."""

WHEEL = DATA / "wheel.txt"
"""The names of all files in the wheel, without the version."""

of_checkout = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the source package has no history")


def mails(folder: Path) -> list[Path]:
    """All letters below a folder, in the order of their names."""
    return sorted(path for path in folder.rglob("*") if path.suffix in {".eml", ".mbox"})
