"""The password of an account, from a file that nobody else may read or a command that prints it; or its access token.

No error shows any part of them. Implements mailbox.md, "Spam folder" and "Secrets".
"""

from __future__ import annotations

import shlex
import stat
import subprocess
from pathlib import Path

from pbem.mailbox import MailboxUnreachable

OTHERS = stat.S_IRWXG | stat.S_IRWXO
SECONDS = 30.0  # that a command may take, such as one that asks a key ring


class PasswordError(MailboxUnreachable):
    """There is no password, or no token; the text says why, without any part of it. A key ring may be open later."""


def password(file: str, command: str) -> str:
    """The first line of a file (mode 0600), or of a command's output; empty without either.

    The command is split as a shell would do it, and run without one. Raises `PasswordError`.
    """
    if file:
        return _first_line(_read(Path(file)), file)
    return _first_line(_printed(command), command) if command else ""


def token(command: str) -> str:
    """The access token (OAuth 2.0, RFC 6749 1.4) that a command prints on its first line. Raises `PasswordError`."""
    return _first_line(_printed(command), command, "token")


def _read(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        if mode & OTHERS and path.is_file():
            raise PasswordError(f"{path} can be read by others: chmod 600 {path}")
        return path.read_bytes()
    except OSError as error:
        raise PasswordError(f"{path}: {error.strerror}") from error


def _printed(command: str) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own command, from the operator's own file
            shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=True
        )
    except subprocess.CalledProcessError as error:
        raise PasswordError(f"{command}: ended with status {error.returncode}") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise PasswordError(f"{command}: {type(error).__name__}") from None
    return done.stdout


def _first_line(data: bytes, where: str, what: str = "password") -> str:
    try:
        line = data.decode("utf-8-sig").partition("\n")[0].rstrip("\r")
    except UnicodeDecodeError:
        line = ""
    if not line:
        raise PasswordError(f"{where}: no {what} in its first line")
    return line
