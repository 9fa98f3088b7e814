"""`pbem inbox` and `pbem outbox`: letters that wait, were set aside or given up, and what to do with them.

Thin: `pbem.store.operator` has the rows. The content of a letter is shown only on demand, with a warning.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import click

from pbem.cli.common import as_json, config_option, fields, legend, listed, opened, wake
from pbem.phrase import harmless
from pbem.store.inbox import Inbox
from pbem.store.operator import Box
from pbem.store.outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


SECRETS = (
    "This prints the letter itself. It may hold setups, orders or reports that nobody but its sender or receiver may"
    " know while the game runs. Look only if you must, and play in no match that you looked into."
)


@click.group()
def inbox() -> None:
    """Letters received: list the unfinished ones, show, retry or drop one."""


@click.group()
def outbox() -> None:
    """Letters to send: list the unfinished ones, show, retry or drop one."""


def _commands(group: click.Group, box: Literal["inbox", "outbox"], columns: Sequence[str]) -> None:
    """The four commands of a box."""

    @group.command("list")
    @config_option
    @click.option("--all", "everything", is_flag=True, help="Also the finished ones.")
    @as_json
    def list_(config_file: Path, *, everything: bool, as_json: bool) -> None:
        """List the unfinished letters, oldest first."""
        with opened(config_file) as store:
            rows = Box(store.database, box).list(everything=everything)
        listed(rows, columns, f"Nothing waits in the {box}.", as_json=as_json)
        if not as_json:
            legend({row["state"] for row in rows})

    @group.command()
    @click.argument("number", type=int)
    @config_option
    @click.option("--secrets", is_flag=True, help="Print the letter itself, too. It may hold secrets.")
    @as_json
    def show(number: int, config_file: Path, *, secrets: bool, as_json: bool) -> None:
        """Show what is known of letter NUMBER: its envelope and what became of it."""
        with opened(config_file) as store:
            row = Box(store.database, box).show(number)
            kind = Inbox if box == "inbox" else Outbox
            raw = kind(store.database, store.vault).raw(number) if secrets else b""
        if as_json:
            click.echo(json.dumps(row | ({"raw": raw.decode("latin-1")} if secrets else {}), indent=1))
        else:
            fields(row)
        if secrets:
            click.echo(SECRETS, err=True)
            if not as_json:
                # A stranger's letter: nothing in it controls the terminal; `--json` has its exact octets.
                text = raw.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
                click.echo("\n" + harmless(text, kept="\n\t"), nl=False)

    @group.command()
    @click.argument("number", type=int)
    @config_option
    def retry(number: int, config_file: Path) -> None:
        """Try letter NUMBER once more, now."""
        with opened(config_file) as store:
            Box(store.database, box).retry(number, store.now)
            click.echo("It is tried now." if wake(store) else "It is tried when the server starts.")

    @group.command()
    @click.argument("number", type=int)
    @config_option
    @click.confirmation_option(prompt="Shall the letter have no effect, or not be sent, for good?")
    def drop(number: int, config_file: Path) -> None:
        """Drop letter NUMBER: it has no effect, or is not sent. Its bytes are kept."""
        with opened(config_file) as store:
            Box(store.database, box).drop(number, store.now)
        click.echo("Dropped.")


_commands(inbox, "inbox", ("id", "state", "attempts", "received", "sender", "size", "outcome", "reference"))
_commands(outbox, "outbox", ("id", "state", "attempts", "created", "due", "recipient", "size", "bounces", "reply"))
