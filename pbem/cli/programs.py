"""The common parts of the programs that run until they are told to stop."""

from __future__ import annotations

import signal
import sqlite3
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pbem.cli.harmless import harmless
from pbem.cli.telling import said
from pbem.phrase import Phrase
from pbem.player import PlayerTrouble
from pbem.player.signing import CannotSign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pbem.player.signing import SigningKey


TOUCH = Phrase("Touch your security key now: then it signs.")


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


def no_browser(_key: SigningKey, _text: bytes, _namespace: str) -> str:
    """Refuse to sign with a passkey where no browser is."""
    raise CannotSign("This key is a passkey of your browser: pbem play --browser signs with it.")


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
        raise click.ClickException(harmless(str(error), kept="\n")) from error
    except sqlite3.Error as error:
        # Every step is on the disk before the next one: the same command continues where this one stopped.
        lost = Phrase(
            "The memory cannot be read or written: {error}. Nothing is lost; run the same command again.", error=error
        )
        raise click.ClickException(said(lost)) from error
