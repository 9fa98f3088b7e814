"""The ways in which letters leave a server: through the smarthost, or filed in their recipients' Maildirs.

Letters that are filed stay on this machine, where anybody can read them: this replaces a mail server when somebody
tries pbem. A folder is named by its address, and only an address can name one. Implements design.md, "The way of a
letter", at its end.
"""

from __future__ import annotations

import asyncio
import hashlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pbem.mail.compose import ADDRESS
from pbem.mailbox import PasswordError, token
from pbem.mailbox.maildir import put
from pbem.smtp.delivery import Permanent, Smarthost, Temporary

if TYPE_CHECKING:
    from pbem.config.server import Config
    from pbem.smtp.delivery import Transport


def way_out(config: Config, password: str) -> Transport:
    """The way that the configuration names; the password is for the smarthost."""
    if config.smarthost.maildirs:
        return Filing(Path(config.smarthost.maildirs))
    command = config.smarthost.token_command
    access = partial(access_token, command) if command else None
    return Smarthost(config.smarthost, server=config.server, password=password, token=access)


async def access_token(command: str) -> str:
    """The token that the command prints; raises ConnectionError if there is none now, and letters wait."""
    try:
        return await asyncio.to_thread(token, command)
    except PasswordError as error:
        raise ConnectionError(str(error)) from error


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
