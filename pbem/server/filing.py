"""Letters that stay on this machine: each is filed in its recipient's Maildir, where anybody here can read it.

This replaces a mail server when somebody tries pbem: nothing is sent. A folder is named by its address, and only an
address can name one. Implements design.md, "The way of a letter", at its end.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from pbem.mail.compose import ADDRESS
from pbem.mailbox.maildir import put
from pbem.smtp.delivery import Permanent, Temporary

if TYPE_CHECKING:
    from pathlib import Path


class Filing:
    """A `Transport` into the Maildirs below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def send(self, sender: str, recipient: str, raw: bytes) -> str:
        """File one letter; the same letter again is stored once."""
        name = recipient.lower()
        if not ADDRESS.fullmatch(name) or "/" in name:
            raise Permanent("not filed: no plain address")
        letter = f"Return-Path: <{sender}>\nDelivered-To: {recipient}\n".encode() + raw.replace(b"\r\n", b"\n")
        try:
            await asyncio.to_thread(put, self._folder / name, hashlib.sha256(raw).hexdigest()[:32], letter)
        except OSError as error:
            raise Temporary(f"{self._folder}: {error.strerror}") from error
        return "filed"

    async def rest(self) -> None:
        """Nothing is held open."""
