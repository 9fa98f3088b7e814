"""The table of commands, and the help that lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


ABOUT: Final = """\
A referee for slow games by e-mail:
signed orders, committed secrets, proof afterwards."""


class Entrance(NamedTuple):
    """The module of a command, in which a function has its name, and its line in `pbem --help`."""

    module: str
    help: str


COMMANDS: Final[Mapping[str, Entrance]] = {
    "replay": Entrance("pbem.cli.replay", "Replay game records by the rules, and print what happened."),
    "verify": Entrance("pbem.cli.verify", "Check that nobody, the referee included, cheated in a match."),
    "sign": Entrance("pbem.cli.sign", "Sign a form with your SSH key."),
    "play": Entrance("pbem.cli.play.overview", "Play by mail from the terminal: one command a turn."),
    "agent": Entrance("pbem.cli.agent", "Play sealed matches: answers by itself, asks only for orders."),
    "opponent": Entrance("pbem.cli.opponent", "Run a program that plays by mail, like any player."),
    "witness": Entrance("pbem.cli.witness", "Cosign the logs of servers that take nothing back."),
    "page": Entrance("pbem.cli.page", "Print the page on which orders are composed by clicking."),
    "publish": Entrance("pbem.cli.publish", "Print the page of a match, or all public pages of the server."),
    "serve": Entrance("pbem.cli.serve", "Run the server."),
    "init": Entrance("pbem.cli.init", "Write the files of a new server."),
    "status": Entrance("pbem.cli.status", "Show the state of the server."),
    "inbox": Entrance("pbem.cli.status", "Letters received: list, show, retry, drop."),
    "outbox": Entrance("pbem.cli.status", "Letters to be sent: list, show, retry, drop."),
    "match": Entrance("pbem.cli.match", "Matches: list, show, pause, resume, end."),
    "tournament": Entrance("pbem.cli.tournament", "Tournaments: list, pause, resume, or rule on one."),
    "clock": Entrance("pbem.cli.status", "The server's clock, if it leapt: accept it."),
    "backup": Entrance("pbem.cli.backup", "Copy the store, while the server runs."),
    "restore": Entrance("pbem.cli.backup", "Replace the store with a backup."),
    "move-store": Entrance("pbem.cli.backup", "Move the store into PostgreSQL, or back."),
    "new-game": Entrance("pbem.cli.check_game", "Write a package with a game, to begin with."),
    "check-game": Entrance("pbem.cli.check_game", "Check a game of another package."),
    "check-config": Entrance("pbem.cli.doctor", "Report all faults of the configuration."),
    "doctor": Entrance("pbem.cli.doctor", "Examine the store, the transcripts, the clock and the mail."),
}


def help_text() -> str:
    """The text of `pbem --help`."""
    commands = "\n".join(f"  {name:14}{place.help}" for name, place in COMMANDS.items())
    return f"""\
Usage: pbem [OPTIONS] COMMAND [ARGS]...

{ABOUT}

Options:
  --game NAME  Enable a game of another package.
  --version    Show the version and exit.
  --help       Show this message and exit.

Commands:
{commands}"""
