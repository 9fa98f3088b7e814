"""The common parts of the operator's commands: the configuration, the open store, and instructions to the desk.

A command may look into the store while the daemon runs. An instruction waits there for the daemon, which is woken; if
none runs, the desk is opened here for a moment, under the same lock. Implements reliability.md, case 30.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import signal
import time
import traceback
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from pbem.config.file import ConfigError, load, place
from pbem.config.server import Config
from pbem.games.outside import UnusableGame
from pbem.phrase import harmless
from pbem.server.desk_work import enable_games, open_composer
from pbem.server.examination import leap_in_words
from pbem.server.logs import configure_logs
from pbem.server.server_clock import THIS_MACHINE, ServerClock
from pbem.store import own_keys
from pbem.store.database import Database
from pbem.store.errors import LockedError, StoreError
from pbem.store.operator import Busy, Instructions
from pbem.store.owners import at_work
from pbem.store.sqlite import Lock
from pbem.store.vault import KeyFileError, Sealed, Vault, load_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from pbem.config.server import Config


STAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z")
_TROUBLES = (ConfigError, StoreError, KeyFileError, Busy, UnusableGame)
_LEGEND = {
    "leased": "the desk works on it at this moment, or delivery does",
    "aside": "three attempts failed; `pbem inbox show`, then `retry` or `drop`",
    "failed": "given up: it was refused for good, or for five days",
}
PATIENCE = 90.0  # seconds; a daemon that cannot be woken looks by itself after a minute


class Opened(NamedTuple):
    """The store of a configuration, and the vault that opens what is sealed in it."""

    config: Config
    database: Database
    vault: Vault
    afterwards: ExitStack
    """Closed together with the store."""

    @property
    def clock(self) -> ServerClock:
        """The clock by which the servers of the store go: this machine's, or its database's."""
        clock = ServerClock(THIS_MACHINE, self.config)
        clock.look(self.database)
        return clock

    @property
    def now(self) -> datetime:
        """The time of that clock; raises ClickException if it leapt, and nobody vouches for it."""
        clock = self.clock
        if clock.stop is not None:
            raise click.ClickException(f"The clock: {leap_in_words(clock.stop)}. Until then nothing is decided.")
        return clock()


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
def opened(config_file: Path) -> Iterator[Opened]:
    """The store of a server, as it is."""
    with troubles():
        config = load(config_file)
        with ExitStack() as afterwards, Database(config.store, migrate=False) as database, _damages():
            enable_games(config, database)
            yield Opened(config, database, Vault(load_key(config.store_key)), afterwards)


def wake(store: Opened) -> bool:
    """Let the daemon look at the store now; returns whether one runs. Servers sharing a store look by themselves."""
    daemon = at_work(store.database, datetime.now(UTC))
    if isinstance(daemon, int):
        with suppress(ProcessLookupError, PermissionError):  # it looks by itself, later
            os.kill(daemon, signal.SIGCONT)
    return daemon is not None


def operator() -> str:
    """The user's name for the record; a container's user may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def instruct(store: Opened, what: str, about: str, reason: str, *, ruling: str = "") -> str:
    """Give the desk an instruction, wait until it is obeyed, and return its answer; raises ClickException."""
    if not reason.strip():
        raise click.UsageError("The reason is empty.")
    instructions = Instructions(store.database)
    number = instructions.give(what, about, reason, operator(), store.now, ruling=ruling)
    if _at_rest(store):
        # Here the desk does what that of the daemon would; the letters leave when one starts.
        from pbem.desk.letter_handling import WorkingDesk
        from pbem.desk.reading import InProcess
        from pbem.desk.wiring import Desk

        configure_logs(store.config.log)
        keys = own_keys.load(store.config.store_key, store.config.signing_key, os.urandom)
        own_keys.check(store.database, keys)
        composer = open_composer(store.config, store.database)
        reader = InProcess(store.config.limits)
        desk = Desk(store.config, store.database, store.vault, keys.signing, composer, os.urandom, reader)
        clock = store.clock
        store.database.noting = partial(clock.note, store.database)
        WorkingDesk(desk).obey(clock())
    else:
        wake(store)
    until = time.monotonic() + PATIENCE
    while (outcome := instructions.outcome(number))[0] == "waiting":
        if time.monotonic() > until:
            raise click.ClickException("The server has not obeyed yet; it will do so later.")
        time.sleep(0.1)
    if outcome[0] == "refused":
        raise click.ClickException(outcome[1])
    return outcome[1]


def _at_rest(store: Opened) -> bool:
    """True if no daemon runs; over a store in a file, none starts until we are done."""
    place = store.database.place
    if not isinstance(place, Path):
        return at_work(store.database, datetime.now(UTC)) is None
    try:
        store.afterwards.enter_context(Lock(place))
    except LockedError:
        return False
    return True


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


def instruction(group: click.Group, what: str, about: str, says: str, why: str) -> click.Command:
    """A command of a group by which the operator instructs the desk about a MATCH or a TOURNAMENT, and says why."""

    @group.command(what, help=says)
    @click.argument("number", metavar=about, callback=named)
    @click.option("--reason", required=True, help=why)
    @config_option
    def instructed(number: int, reason: str, config_file: Path) -> None:
        with opened(config_file) as store:
            click.echo(f"{instruct(store, what, f'{about[0].lower()}{number}', reason)}.")

    return instructed
