"""The table of commands, and the help that lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ABOUT", "COMMANDS", "help_text"]

ABOUT: Final = """\
A referee for slow games by e-mail:
signed orders, committed secrets, proof afterwards."""


class Entrance(NamedTuple):
    """Where a command lives, and what `pbem --help` says about it."""

    module: str
    function: str
    help: str


COMMANDS: Final[Mapping[str, Entrance]] = {
    "replay": Entrance("pbem.cli.replay", "replay", "Play game records through the rules and say what happened."),
    "verify": Entrance("pbem.cli.verify", "verify", "Check that nobody, the referee included, cheated in a match."),
    "sign": Entrance("pbem.cli.sign", "sign", "Sign a form with your SSH key."),
    "play": Entrance("pbem.cli.play.overview", "play", "Play by mail from the terminal: one command a turn."),
    "agent": Entrance("pbem.cli.agent", "agent", "Play sealed matches: answers by itself, asks only for orders."),
    "opponent": Entrance("pbem.cli.opponent", "opponent", "Run a program that plays by mail, like any player."),
    "witness": Entrance("pbem.cli.witness", "witness", "Cosign the logs of servers that take nothing back."),
    "page": Entrance("pbem.cli.page", "page", "Print the page on which orders are composed by clicking."),
    "publish": Entrance(
        "pbem.cli.publish", "publish", "Print the page of a match, or all public pages of the server."
    ),
    "serve": Entrance("pbem.cli.serve", "serve", "Run the server."),
    "init": Entrance("pbem.cli.init", "init", "Write the files of a new server."),
    "status": Entrance("pbem.cli.status", "status", "Show the state of the server."),
    "inbox": Entrance("pbem.cli.queues", "inbox", "Letters received: list, show, retry, drop."),
    "outbox": Entrance("pbem.cli.queues", "outbox", "Letters to be sent: list, show, retry, drop."),
    "match": Entrance("pbem.cli.match", "match", "Matches: list, show, pause, resume, end."),
    "log": Entrance("pbem.cli.log", "log", "Other servers' logs that this one witnesses: list, forget."),
    "backup": Entrance("pbem.cli.backup", "backup", "Copy the store, while the server runs."),
    "restore": Entrance("pbem.cli.backup", "restore", "Replace the store with a backup."),
    "move-store": Entrance("pbem.cli.move_store", "move_store", "Move the store into PostgreSQL, or back."),
    "check-config": Entrance("pbem.cli.check_config", "check_config", "Report all faults of the configuration."),
    "doctor": Entrance("pbem.cli.doctor", "doctor", "Examine the store, the transcripts, the clock and the mail."),
}


def help_text() -> str:
    """What `pbem --help` says."""
    commands = "\n".join(f"  {name:14}{place.help}" for name, place in COMMANDS.items())
    return f"""\
Usage: pbem [OPTIONS] COMMAND [ARGS]...

{ABOUT}

Options:
  --version  Show the version and exit.
  --help     Show this message and exit.

Commands:
{commands}"""
