"""`pbem status`, the state of the server; `pbem clock`, for one that leapt; `pbem inbox` and `pbem outbox`.

Thin: `pbem.store.operator` has figures and rows, `pbem.server.server_clock` the rule of the clock. The content of a
letter is shown only on demand, with a warning.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import click

from pbem.cli.common import as_json, config_option, fields, legend, listed, opened
from pbem.cli.match import waiting
from pbem.cli.tournament import tournaments
from pbem.phrase import harmless
from pbem.server.examination import undone, works
from pbem.store.inbox import Inbox
from pbem.store.operator import Box, survey
from pbem.store.outbox import Outbox
from pbem.store.owners import at_work, left_behind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@click.command()
@config_option
@as_json
def status(config_file: Path, *, as_json: bool) -> None:
    """Show queues, matches, players, the oldest waiting letters and players out of reach."""
    with opened(config_file) as store:
        daemon = at_work(store.database, datetime.now(UTC))
        missing = undone(store.database, datetime.now(UTC)) if daemon else []
        left = left_behind(store.database)
        server, found = store.config.server, survey(store.database)
        leap = store.clock.stop
        waits = waiting(store)
        cups = [t for t in tournaments(store) if t["phase"] != "ended"]
    if as_json:
        told = {"server": server, "daemon": daemon, "left_behind": left, "undone": missing, **found, "waiting": waits}
        told["tournaments"] = cups
        told["clock"] = str(leap) if leap else None
        click.echo(json.dumps(told, indent=1))
        return
    click.echo(f"server       {server}, generation {found['generation']}")
    click.echo(f"daemon       {works(daemon, left)}")
    if leap:
        click.echo(f"clock        {leap}. Until then nothing is decided")
    for said in missing:
        click.echo(f"  undone       {said}")
    for box, letters, oldest in (
        ("inbox", found["inbox"], found["inbox_oldest"]),
        ("outbox", found["outbox"], found["outbox_oldest"]),
    ):
        click.echo(f"{box:<12} {_counts(letters)}{f'; the oldest waits since {_time(oldest)}' if oldest else ''}")
    legend({*found["inbox"], *found["outbox"]})
    click.echo(f"bounces      {_counts(found['bounces'])}")
    click.echo(f"players      {found['players']}")
    for player, since in found["unreachable"].items():
        click.echo(f"  unreachable  {player}, since {_time(since)}")
    click.echo(f"matches      {_counts(found['matches']) or 'none'}")
    for match, since in found["paused"].items():
        click.echo(f"  paused       {match}, since {_time(since)}")
    for one in waits:
        time = f"since {_time(one['since'])}" + (f", until {_time(one['until'])}" if one["until"] else "")
        click.echo(f"  {one['match']:<10} {one['turn']} waits for {one['waits for']} {time}")
    for t in cups:
        click.echo(f"  {t['tournament']:<10} {t['phase']}: {t['entrants']} entered; matches begun: {t['matches']}")
    if found["instructions"]:
        click.echo(f"instructions {found['instructions']} waiting for the daemon")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items())


def _time(stamp: str) -> str:
    """A time as `pbem play` writes it: the weekday first, the year for whoever looks late."""
    time = datetime.fromisoformat(stamp)
    return f"{time:%a} {time.day} {time:%b %Y, %H:%M} UTC"


SAME = timedelta(minutes=1)
"""The most by which the clock may be set while the operator thinks about it."""


@click.group()
def clock() -> None:
    """The server's clock, if it leapt and nobody vouches for it."""


@clock.command()
@config_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def accept(config_file: Path, *, yes: bool) -> None:
    """Say that the clock is right, though it leapt: the server goes on by it.

    Shows the difference and asks. Once a wrong time is accepted, only restoring a backup helps.
    """
    with opened(config_file) as store:
        clock = store.clock
        shown, then = clock.stop, clock.reading()
        if shown is None:
            click.echo("The clock did not leap: there is nothing to accept.")
            return
        click.echo(f"The clock: {shown}.")
        if not yes:
            click.confirm("Is the time that it shows right? If not, only restoring a backup helps.", abort=True)
        clock.look(store.database)
        now = clock.reading()
        went_by = timedelta(seconds=now.seconds - then.seconds)
        if clock.stop is None or abs(now.wall - then.wall - went_by) > SAME:
            raise click.ClickException("The clock was set meanwhile: nothing is accepted.")
        clock.accept(store.database)
        click.echo("The server goes on." if store.wake() else "The server goes on when it starts.")


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


_NUMBER = click.IntRange(1, 2**63 - 1)  # what a store can hold


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
    @click.argument("number", type=_NUMBER)
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
    @click.argument("number", type=_NUMBER)
    @config_option
    def retry(number: int, config_file: Path) -> None:
        """Try letter NUMBER once more, now."""
        with opened(config_file) as store:
            Box(store.database, box).retry(number, store.now)
            click.echo("It is tried now." if store.wake() else "It is tried when the server starts.")

    @group.command()
    @click.argument("number", type=_NUMBER)
    @config_option
    @click.confirmation_option(prompt="Shall the letter have no effect, or not be sent, for good?")
    def drop(number: int, config_file: Path) -> None:
        """Drop letter NUMBER: it has no effect, or is not sent. Its bytes are kept."""
        with opened(config_file) as store:
            Box(store.database, box).drop(number, store.now)
        click.echo("Dropped.")


_commands(inbox, "inbox", ("id", "state", "attempts", "received", "sender", "size", "outcome", "reference"))
_commands(outbox, "outbox", ("id", "state", "attempts", "created", "due", "recipient", "size", "bounces", "reply"))
