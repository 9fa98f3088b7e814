"""The common parts of the programs that run until they are told to stop."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import sqlite3
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pbem.durable import make_folder
from pbem.phrase import clean
from pbem.player import PlayerTrouble
from pbem.player.account_file import BadAccount
from pbem.player.results import in_a_sentence
from pbem.player.signing import TOUCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def settings_option(program: str) -> Callable[[Any], Any]:
    """The option that names the settings of a program."""
    return click.option(
        "--config",
        "config_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        required=True,
        help=f"{program}.toml; {program}.example.toml in the folder of examples explains every setting.",
    )


def passphrase(prompt: str) -> str:
    """Ask for the passphrase of a key."""
    return str(click.prompt(prompt, hide_input=True, err=True))


def touch() -> None:
    """Ask for a touch of the security key."""
    click.echo(TOUCH, err=True)


def stopping() -> threading.Event:
    """The event that SIGTERM and SIGINT set."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


@contextmanager
def troubles() -> Iterator[None]:
    """Report in one sentence a trouble that is not a fault of the program."""
    try:
        yield
    except PlayerTrouble as error:
        raise click.ClickException(clean(str(error))) from error
    except sqlite3.Error as error:
        raise click.ClickException(in_a_sentence(error)) from error


log = logging.getLogger(__name__)

_LOOK = 1.0  # seconds between two looks whether the other has ended


@contextmanager
def alone(memory: Path, command: str, standby: threading.Event | None = None) -> Iterator[None]:
    """Let no other such command run with this memory. Raises `BadAccount` if one does.

    On standby, this waits until the other has ended, or the event is set.
    """
    make_folder(memory.parent)
    with os.fdopen(os.open(f"{memory}.lock", os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
        if not _locked_alone(file.fileno()):
            if standby is None:
                raise BadAccount(f"Another `{command}` runs with {memory}.")
            log.info("another runs with %s: this one waits until it ends", memory)
            while not standby.wait(_LOOK) and not _locked_alone(file.fileno()):
                pass
        yield


def _locked_alone(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
