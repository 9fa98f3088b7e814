"""`pbem backup`, `pbem restore` and `pbem move-store`: copies of a whole store.

Thin: `Database.backup` and `pbem.store.restore` do it.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import click

from pbem.cli.common import config_option, opened, troubles
from pbem.config.file import load
from pbem.server.operators_store import operator
from pbem.store import own_keys
from pbem.store.errors import FullError
from pbem.store.restore import move_store as move_rows
from pbem.store.restore import restore as put_back
from pbem.store.sqlite import Lock
from pbem.store_place import PostgresqlAddress


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@config_option
def backup(file: Path, config_file: Path) -> None:
    """Copy the store into the new FILE, while the server runs.

    The copy is complete in itself, and sealed like the store: without store.key nobody can read it. The keys are not
    in it; keep copies of them away from the backups.
    """
    with opened(config_file) as store:
        draft = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            store.database.engine.backup(draft)
            os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))  # never over an older backup
            draft.replace(file)  # no link: disks that are carried away often have none
        except OSError as error:
            raise click.ClickException(f"{file}: {error.strerror}") from error
        except FullError as error:  # its words are about the store
            raise click.ClickException(f"{file} cannot be written: {error.__cause__}") from error
        finally:
            draft.unlink(missing_ok=True)
        config = store.config
    click.echo(
        f"{file}: {file.stat().st_size} octets. It is useless without these files; keep copies of them elsewhere:"
    )
    passwords = config.mailbox.password_file, config.smarthost.password_file
    keys = (config_file, config.store_key, config.signing_key, config.dkim.key_file, *passwords, config.house.config)
    for key in dict.fromkeys(filter(None, keys)):  # both passwords may be in one file
        click.echo(f"  {key}")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@config_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(file: Path, config_file: Path, *, yes: bool) -> None:
    """Replace the store with the backup FILE. The server must not be running.

    The former store is kept beside the new one. A new generation begins: when the server starts, every match in play
    is paused, its transcript says so, and its players are told, because they may have letters that the
    server has forgotten. Resume each match with `pbem match resume`, or end it.
    """
    with troubles():
        config = load(config_file)
        if not isinstance(config.store, Path):
            raise click.ClickException(f"{config.store} is restored with pg_restore, or as its server was backed up")
        keys = own_keys.load(config.store_key, config.signing_key, os.urandom)

        def confirm() -> None:  # now that the backup is known to be sound
            made = datetime.fromtimestamp(file.stat().st_mtime, UTC)
            click.echo(f"{file} is sound; the file is of {made:%Y-%m-%d %H:%M} UTC.")
            forgotten = "All that happened after this backup is forgotten, and every match is paused."
            click.confirm(f"{forgotten} Shall it be restored?", abort=True)

        with Lock(config.store):
            done = put_back(
                file, config.store, keys, operator(), datetime.now(UTC), confirm=confirm if not yes else lambda: None
            )
    click.echo(f"Restored, generation {done.generation}.")
    if done.aside:
        click.echo(f"The former store is now {done.aside}")
    click.echo("Start the server; then `pbem status` lists the matches that wait for `pbem match resume`.")


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
        rows = move_rows(*places, keys)
    click.echo(f"{rows} rows were copied. Now write into {config_file}: store = the address or path of the new store")
