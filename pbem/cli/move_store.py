"""`pbem move-store`. Thin: the rows are moved by `pbem.store.restore`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.cli.common import config_option, troubles
from pbem.config.file import load
from pbem.store import own_keys
from pbem.store.database import Database, is_there
from pbem.store.owners import at_work
from pbem.store.restore import move
from pbem.store.sqlite import Lock
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from pbem.store_place import Place


@click.command()
@click.argument("old")
@click.argument("new")
@config_option
def move_store(old: str, new: str, config_file: Path) -> None:
    """Copy the store at OLD to NEW: from a file into PostgreSQL, or back. No server may be running.

    OLD and NEW are paths, or addresses such as postgresql://user@host/name, as for `store` in the configuration. Set
    `store` to NEW afterwards. The old store stays as it is: let no server work on it again.
    """
    with troubles():
        config = load(config_file)
        keys = own_keys.load(config.store_key, config.signing_key, os.urandom)
        try:
            places = PostgresqlAddress.parse(old), PostgresqlAddress.parse(new)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        if not is_there(places[0]):
            raise click.ClickException(f"there is no store {places[0]}")
        if is_there(places[1]):
            raise click.ClickException(f"there is a store already: {places[1]}")
        with ExitStack() as stack:
            one, other = (stack.enter_context(_opened(place, stack)) for place in places)
            own_keys.check(one, keys)
            rows = move(one, other)
    click.echo(f"{rows} rows were copied. Now write into {config_file}: store = the address or path of the new store")


def _opened(place: Place, stack: ExitStack) -> Database:
    """A store on which nobody works, brought up to date."""
    if isinstance(place, Path):
        stack.enter_context(Lock(place))
    database = Database(place)
    if isinstance(place, PostgresqlAddress) and at_work(database, datetime.now(UTC)):
        database.close()
        raise click.ClickException(f"a server works on {place}: stop it")
    return database
