"""`pbem witness`: cosign the checkpoints of servers whose logs only grow.

Thin: the witness is in `pbem.player.checkpoint_witness`, its listener beside it. Implements docs/witnesses.md.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import click

from pbem.cli.programs import settings_option, stopping, troubles
from pbem.phrase import harmless
from pbem.player import signing
from pbem.player.checkpoint_witness import Witness, WitnessListener, load


@click.command()
@settings_option("witness")
@click.option("--refused", is_flag=True, help="Print what was refused, with the notes cosigned before, and end.")
@click.option("--forget", metavar="NAME", help="Let the log of this server begin anew, whatever it said, and end.")
def witness(config_file: Path, *, refused: bool, forget: str | None) -> None:
    """Witness the logs of servers: make sure that none takes back what it said.

    A server posts its checkpoints to the `listen` of witness.toml; each one is cosigned if it continues the last one.
    A server that replaces what it said has another log, and is refused. The command prints the key that verifies its
    cosignatures, and runs until SIGTERM or SIGINT.
    """
    stop = stopping()
    with troubles():
        settings = load(config_file)
        if not Path(settings.key).exists():
            signing.make(Path(settings.key), settings.name)
        with closing(Witness(settings)) as found:
            if refused:
                for time, said in found.refused():
                    click.echo(f"{time}\n{said}")
                return
            if forget is not None:
                note = found.forget(forget, datetime.now(UTC))
                if note is None:
                    raise click.ClickException(f"nothing is remembered of a log {forget!r}")
                click.echo(f"forgotten; it stays among what --refused prints:\n\n{note}", nl=False)
                return
            click.echo(f"cosigning as {found.verifier}")
        try:
            listener = WitnessListener(settings, lambda: datetime.now(UTC), lambda said: click.echo(harmless(said)))
        except OSError as error:
            raise click.ClickException(f"cannot listen at {settings.listen}: {error.strerror or error}") from error
        with closing(listener):
            click.echo("listening at {}:{}".format(*listener.server_address[:2]))
            stop.wait()
