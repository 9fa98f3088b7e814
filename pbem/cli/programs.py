"""The common parts of the programs that run until they are told to stop."""

from __future__ import annotations

import signal
import sqlite3
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pbem.player import mail_in, signing
from pbem.player.account_file import BadAccount
from pbem.player.memory import BadMemory
from pbem.player.secret_vault import BadSecrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["settings_option", "stopping", "troubles"]


def settings_option(program: str) -> Callable[[Any], Any]:
    """The option that names the settings of a program."""
    return click.option(
        "--config",
        "config_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        required=True,
        help=f"{program}.toml; {program}.example.toml in the folder of examples explains every setting.",
    )


def stopping() -> threading.Event:
    """The event that SIGTERM and SIGINT set."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


@contextmanager
def troubles(memory: str = "") -> Iterator[None]:
    """Report in one sentence a trouble that is not a fault of the program, which remembers things there."""
    try:
        yield
    except (BadAccount, BadMemory, BadSecrets, signing.CannotSign, mail_in.NoMail) as error:
        raise click.ClickException(str(error)) from error
    except sqlite3.Error as error:
        # Whoever starts it again lets it look at everything anew.
        raise click.ClickException(f"{memory} cannot be read or written: {error}") from error
