"""The rooms in which small errors are planted, and the tests that try each."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
_MATCHES = ("tests/games", "tests/match", "tests/proof", "tests/letters", "tests/desk", "tests/cli")
_WEEKS = "simulation/test_weeks.py"
ROOMS = {
    "games": _MATCHES,
    "match": _MATCHES,
    "proof": (*_MATCHES, "tests/identity", "tests/tournament"),
    "identity": ("tests/identity", "tests/desk"),
    "mail": ("tests/mail", "tests/identity", "tests/proof/test_words.py", "tests/letters", "tests/desk"),
    "desk": ("tests/desk", "tests/cases", "tests/tournament", _WEEKS),
    "store": ("tests/store", "tests/desk", "tests/cases", _WEEKS),
    "player": ("tests/player", "tests/dialogs", "tests/cli", "tests/pages/test_rules.py", _WEEKS),
    "smtp": ("tests/smtp", "tests/cases", "tests/dialogs", "tests/test_stranger_attacks.py", _WEEKS),
    "mailbox": ("tests/mailbox", "tests/server/test_fetching.py", _WEEKS),
    "tlog": ("tests/tlog", "tests/cli", "tests/desk"),
    "tournament": ("tests/tournament", "tests/desk"),
    "letters": ("tests/letters", "tests/desk"),
    "boards": ("tests/letters", "tests/pages", "tests/desk"),
    "pages": ("tests/pages", "tests/cli", "tests/desk"),
    "config": ("tests/test_config.py", "tests/player/test_program_limits.py", "tests/cli"),
    "testing": ("tests/games/test_kit.py", "tests/games/test_conformance.py", "tests/games/test_examples.py"),
    "server": ("tests/server", "tests/cli", "tests/cases"),
    "cli": ("tests/cli",),
}
"""Tests that start processes of ours are left out as they do."""


def modules(room: str) -> list[Path]:
    return sorted(path for path in (ROOT / "pbem" / room).rglob("*.py") if path.name != "view.py")
