"""`pbem witness`: cosign the checkpoints of servers whose logs only grow, by mail and by HTTP.

Thin: the witness is in `pbem.player.checkpoint_witness`; here its letters come and go. Implements docs/witnesses.md.
"""

from __future__ import annotations

from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.cli.harmless import harmless
from pbem.cli.programs import settings_option, stopping, troubles
from pbem.player import mail_in, mail_out, signing
from pbem.player.checkpoint_witness import Witness, WitnessSettings, load

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator


_LOOK, _AGAIN = 5.0, 60.0  # seconds between two looks into the mailbox, and when mail failed


@click.command()
@settings_option("witness")
@click.option("--once", is_flag=True, help="Look into the mailbox once, answer, and end: for cron.")
@click.option("--refused", is_flag=True, help="Print what was refused, with the notes cosigned before, and end.")
@click.option("--forget", metavar="NAME", help="Let the log of this server begin anew, whatever it said, and end.")
def witness(config_file: Path, *, once: bool, refused: bool, forget: str | None) -> None:
    """Witness the logs of servers: make sure that none takes back what it said.

    A server mails its checkpoints, or posts them to the `listen` of witness.toml; each one is cosigned if it
    continues the last one. A server that replaces what it said has another log, and is refused. The command prints
    the key that verifies its cosignatures, and runs until SIGTERM or SIGINT.
    """
    stop = stopping()
    with troubles():
        settings = load(config_file)
        if not Path(settings.key).exists():
            signing.make(Path(settings.key), settings.address or settings.name)
        with closing(Witness(settings)) as found:
            if refused:
                for time, said in found.refused():
                    click.echo(f"{time}\n{said}")
                return
            if forget is not None:
                _forget(found, forget)
                return
            click.echo(f"cosigning as {found.verifier}")
            with _listening(settings) if settings.listen and not once else nullcontext():
                _run(found, settings, stop, once=once)


def _forget(found: Witness, name: str) -> None:
    """Forget a log, and print what is forgotten; raises click.ClickException."""
    note = found.forget(name, datetime.now(UTC))
    if note is None:
        raise click.ClickException(f"nothing is remembered of a log {name!r}")
    click.echo(f"forgotten; it stays among what --refused prints:\n\n{note}", nl=False)


@contextmanager
def _listening(settings: WitnessSettings) -> Iterator[None]:
    """Answer posted requests; raises click.ClickException."""
    from pbem.player.witness_http import WitnessListener

    try:
        listener = WitnessListener(settings, lambda: datetime.now(UTC), lambda said: click.echo(harmless(said)))
    except OSError as error:
        raise click.ClickException(f"cannot listen at {settings.listen}: {error.strerror or error}") from error
    with closing(listener):
        click.echo("listening at {}:{}".format(*listener.server_address[:2]))
        yield


def _run(found: Witness, settings: WitnessSettings, stop: threading.Event, *, once: bool) -> None:
    if not settings.mail_in:
        if not once:
            stop.wait()
        return
    with closing(mail_in.source(settings.account)) as source:
        while not stop.is_set():
            went_well = _look(found, source, settings)
            if once:
                return
            stop.wait(_LOOK if went_well else _AGAIN)


def _look(found: Witness, source: mail_in.MailSource, settings: WitnessSettings) -> bool:
    """Read new letters, and send the answers; returns whether mail could be fetched, and all of it sent."""
    try:
        for letter in source.letters(found.has_seen):
            if said := found.receive(letter.raw, letter.handle, datetime.now(UTC)):
                click.echo(harmless(said))
                source.done(letter)
    except mail_in.NoMail as error:
        click.echo(f"mail cannot be fetched now: {error}", err=True)
        _post(found, settings)
        return False
    return _post(found, settings)


def _post(found: Witness, settings: WitnessSettings) -> bool:
    """Send the answers; whether all have left. That one log cannot be written to keeps no other's back."""
    kept: set[str] = set()
    for sent in found.unsent():
        if sent.to in kept:
            continue
        try:
            mail_out.send(settings.account, sent)
        except mail_out.NotSent as error:
            kept.add(sent.to)
            click.echo(harmless(f"no mail to {sent.to} now: {error}"), err=True)
        else:
            found.has_left(sent)
    return not kept
