"""Letters against golden texts: `GOLDEN=write pytest ...` writes them anew, to be read before they are committed."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from in_a_box.referee import body

if TYPE_CHECKING:
    from email.message import EmailMessage

FOLDER = Path(__file__).parents[1] / "letters" / "golden"

_CHANCE = re.compile(r"[0-9a-f]{64}|(?<=m[0-9]\.)[0-9a-f]{16}")
"""Hashes, signatures and tokens: what they are does not matter to how a letter reads."""


_HEAD = re.compile(r"\nTranscript of m[0-9] after entry(?:.*\n){5}")


def is_kept(path: Path, text: str) -> None:
    """Check that this is the text of a golden file."""
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def written(letter: EmailMessage, *, whole: bool = False) -> str:
    """The letter as a golden text holds it, without the signed head beneath it (`whole`: the heads in it)."""
    files = [part.get_filename() for part in letter.iter_attachments()]
    head = [f"Date: {letter['Date']}", f"Subject: {letter['Subject']}", *(f"Attached: {name}" for name in files)]
    text = body(letter)
    head.append("")  # what follows the text itself is the same under every letter
    text = _HEAD.sub("", text) if whole else re.split(r"\n(?:-{72}\n)?(?:Transcript of|Protokoll von) m1 ", text)[0]
    text = text.rstrip() + "\n"
    return _CHANCE.sub(lambda found: "#" * len(found[0]), "\n".join([*head, text]))


def reads_like(letter: EmailMessage, name: str, *, whole: bool = False) -> None:
    """Check that the letter reads like the golden text of this name, in lines that fit a terminal."""
    text = written(letter, whole=whole)
    is_kept(FOLDER / f"{name}.txt", text)
    wide = [
        line for line in text.splitlines() if len(line) > 78 and not line.startswith(("Subject: ", "  signature"))
    ]
    assert not wide
