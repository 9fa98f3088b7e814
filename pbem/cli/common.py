"""The common parts of the operator's commands: the option of the configuration, the open store, and tables."""

from __future__ import annotations

import json
import os
import re
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.config.file import ConfigError, load, place
from pbem.games.outside import UnusableGame
from pbem.phrase import harmless
from pbem.server import operators_store
from pbem.server.desk_work import enable_games
from pbem.store.errors import StoreError
from pbem.store.operator import Busy
from pbem.store.vault import KeyFileError, Sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence, Set
    from typing import Any

    from pbem.server.operators_store import OperatorsStore


STAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z")
_TROUBLES = (ConfigError, StoreError, KeyFileError, Busy, UnusableGame)
_LEGEND = {
    "leased": "the desk works on it at this moment, or delivery does",
    "aside": "three attempts failed; `pbem inbox show`, then `retry` or `drop`",
    "failed": "given up: it was refused for good, or for five days",
}


config_option = click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=lambda: place(os.environ),
    envvar="PBEM_CONFIG",
    show_default="pbem.toml here, or in the user's data folder",
    help="The server's configuration.",
)
"""The same for all commands of the operator."""


as_json = click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")


@contextmanager
def troubles() -> Iterator[None]:
    """Report in one sentence a trouble that is not a fault of the program."""
    try:
        yield
    except _TROUBLES as error:
        raise click.ClickException(str(error)) from error
    except Sealed as error:
        raise click.ClickException(
            f"{error} does not open: store.key is not the key of this store, or it is damaged: ask `pbem doctor`"
        ) from error


@contextmanager
def _damages() -> Iterator[None]:
    """Nonsense in a store that opens is damage: say so, and where it was found."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, OSError, *_TROUBLES, Sealed):
        raise  # an OSError is of the place to which something is written, as a rule
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
        raise click.ClickException(
            f"something in the store cannot be read ({where}): ask `pbem doctor` whether it is damaged; if it is"
            " sound, this is a fault of the program"
        ) from error


@contextmanager
def opened(config_file: Path) -> Iterator[OperatorsStore]:
    """The store of a server, as it is."""
    with troubles(), operators_store.opened(load(config_file)) as store, _damages():
        enable_games(store.config, store.database)
        yield store


def table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Print rows below the names of their columns."""
    lines = [list(columns), *([_text(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def listed(rows: Sequence[Mapping[str, object]], columns: Sequence[str], none: str, *, as_json: bool) -> None:
    """Print rows, for programs or for people, who are told if there are none."""
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    elif rows:
        table(rows, columns)
    else:
        click.echo(none)


def legend(states: Set[str]) -> None:
    """Explain those of these states of letters that do not explain themselves."""
    for state in sorted(states & _LEGEND.keys()):
        click.echo(f"  {state}: {_LEGEND[state]}")


def fields(row: Mapping[str, object]) -> None:
    """Print one row, a line for each of its fields."""
    width = max(map(len, row))
    for name, value in row.items():
        click.echo(f"{name.ljust(width)}  {_text(value)}")


def _text(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)
    return harmless(STAMP.sub(r"\1 \2", text))  # a stranger's words must not command a terminal


def named(_context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """The number of a match, written as m17 or 17, or of a tournament."""
    if value is None:
        return None
    what = str(parameter.metavar).lower()
    digits = value.lower().removeprefix(what[0])
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        raise click.BadParameter(f"{value} is no {what}; write one such as {what[0]}17")
    return int(digits)


def _said(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter("the reason is empty")
    return value


_WHY = "Why: the reason is in the transcript for ever, and in a letter to every player."


def reason_option(why: str = _WHY) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The reason of an instruction, which must say something."""
    return click.option("--reason", required=True, callback=_said, help=why)


def instruction(group: click.Group, what: str, about: str, says: str, why: str = _WHY) -> click.Command:
    """A command of a group by which the operator instructs the desk about a MATCH or a TOURNAMENT, and says why."""

    @group.command(what, help=says)
    @click.argument("number", metavar=about, callback=named)
    @reason_option(why)
    @config_option
    def instructed(number: int, reason: str, config_file: Path) -> None:
        with opened(config_file) as store:
            click.echo(f"{store.instruct(what, f'{about[0].lower()}{number}', reason)}.")

    return instructed
