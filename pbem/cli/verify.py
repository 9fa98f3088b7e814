"""`pbem verify`: prove a match from its bundle alone. Thin: the proof is in `pbem.match.verify`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pbem.desk.forms import Letters
from pbem.match.verify import verify as checks


@click.command()
@click.argument("bundle", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--server-key", metavar="HEX", help="The server's Ed25519 key as you know it, 64 hex digits.")
def verify(bundle: Path, server_key: str | None) -> None:
    """Prove a match from its BUNDLE, without a server and without a network.

    Checks the chain, the server's signatures, every player's signature, that each commitment opens, that every setup
    and order was legal, and that every turn replays to the very reports that were mailed. A line for each check;
    status 1 at the first that fails, naming the entry and the reason.
    """
    holds = True
    for check in checks(bundle.read_bytes(), Letters, server_key):
        click.echo(f"{'ok  ' if check.holds else 'FAIL'}  {check.what:<10} {check.found}")
        holds = check.holds
    if not holds:
        sys.exit(1)
    click.echo("Everything holds.")
