"""`pbem log`: other servers' logs that this one witnesses. Implements docs/witnesses.md, "To be a witness"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pbem.cli.common import as_json, config_option, listed, opened
from pbem.store.tlog import TransparencyLog
from pbem.tlog.checkpoint import Checkpoint
from pbem.tlog.note import Note

if TYPE_CHECKING:
    from pathlib import Path


@click.group()
def log() -> None:
    """Logs of other servers that this server witnesses: list them, forget one."""


@log.command("list")
@config_option
@as_json
def list_(config_file: Path, *, as_json: bool) -> None:
    """List the logs of which a checkpoint was cosigned here, and how long each was."""
    with opened(config_file) as store:
        rows: list[dict[str, object]] = [
            {
                "log": known.origin,
                "size": Checkpoint.read(Note.read(known.note).text).size,
                "cosigned": known.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            for known in TransparencyLog(store.database).all_remembered()
        ]
    listed(rows, ("log", "size", "cosigned"), "No other server's log was cosigned here.", as_json=as_json)


@log.command()
@click.argument("name")
@config_option
@click.confirmation_option(
    prompt="Whatever that log shows next is then cosigned, even if it takes something back. Forget?"
)
def forget(name: str, config_file: Path) -> None:
    """Let the log of server NAME begin anew, and print the note of it that is forgotten: keep it."""
    with opened(config_file) as store:
        known = TransparencyLog(store.database)
        if (note := known.remembered(name)) is None:
            raise click.ClickException(f"No log {name!r} was cosigned here.")
        click.echo(note, nl=False)  # nobody has it once it is forgotten
        with store.database.transaction():
            if known.remembered(name) != note:
                raise click.ClickException("Meanwhile another note of it was cosigned here; nothing is forgotten.")
            known.forget(name)
