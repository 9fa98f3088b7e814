"""`pbem`: the commands, each in its own module, which is imported only when it is run.

Here live the table of commands and the group that looks them up. A command that is not run costs nothing, so
`pbem replay` starts without mail, database or cryptography. Implements design.md, "Layout", `cli/`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COMMANDS", "main"]


class Place(NamedTuple):
    """Where a command lives, and what `pbem --help` says about it."""

    module: str
    function: str
    help: str


COMMANDS: Final[Mapping[str, Place]] = {
    "replay": Place("pbem.cli.replay", "replay", "Play game records through the rules and say what happened."),
    "verify": Place(
        "pbem.cli.verify", "verify", "Check a match's bundle: that nobody, the referee included, cheated."
    ),
    "sign": Place("pbem.cli.sign", "sign", "Sign a form with your SSH key."),
    "play": Place("pbem.cli.play.group", "play", "Play by mail from the terminal: one command a turn."),
    "agent": Place("pbem.cli.agent", "agent", "Play sealed matches: answers by itself, and asks only for orders."),
    "opponent": Place("pbem.cli.opponent", "opponent", "Run a program that plays by mail, like any player."),
    "witness": Place("pbem.cli.witness", "witness", "Cosign the logs of servers that take nothing back."),
    "page": Place("pbem.cli.page", "page", "Print the page on which players compose a game's orders by clicking."),
    "publish": Place("pbem.cli.publish", "publish", "Print the page of a match, or all public pages of the server."),
    "serve": Place("pbem.cli.serve", "serve", "Run the server."),
    "init": Place("pbem.cli.init", "init", "Write the files of a new server."),
    "status": Place("pbem.cli.status", "status", "Show the state of the server."),
    "inbox": Place("pbem.cli.queues", "inbox", "Letters received: list, show, retry, drop."),
    "outbox": Place("pbem.cli.queues", "outbox", "Letters to be sent: list, show, retry, drop."),
    "match": Place("pbem.cli.match", "match", "Matches: list, show, pause, resume, end."),
    "log": Place("pbem.cli.log", "log", "Other servers' logs that this one witnesses: list, forget."),
    "backup": Place("pbem.cli.backup", "backup", "Copy the store, while the server runs."),
    "restore": Place("pbem.cli.backup", "restore", "Replace the store with a backup."),
    "move-store": Place("pbem.cli.move_store", "move_store", "Move the store into PostgreSQL, or back."),
    "check-config": Place("pbem.cli.check_config", "check_config", "Report all faults of the configuration."),
    "doctor": Place("pbem.cli.doctor", "doctor", "Examine the store, the transcripts, the clock and the mail."),
}


class _Commands(click.Group):
    """The group of all commands, each imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        place = COMMANDS[cmd_name]
        try:
            module = import_module(place.module)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "pbem":
                raise
            raise click.ClickException(
                f"`pbem {cmd_name}` needs the libraries of the server ({error.name} is not here): "
                "pip install 'pbem[server]'"
            ) from error
        command: click.Command = getattr(module, place.function)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of commands, without importing any; and this group's own options."""
        names = [
            CompletionItem(name, help=place.help) for name, place in COMMANDS.items() if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.help) for name, place in COMMANDS.items()])


@click.group(cls=_Commands)
@click.version_option(package_name="pbem")
def main() -> None:
    """A referee for slow games by e-mail: signed orders, committed secrets, proof afterwards."""
