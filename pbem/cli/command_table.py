"""The table of commands, and the help that lists them."""

from __future__ import annotations

TYPE_CHECKING = False  # for mypy: `typing` takes as long to import as all else of `pbem --help`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final


ABOUT: Final = """\
A referee for slow games by e-mail:
signed orders, committed secrets, proof afterwards."""


COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "replay": ("pbem.cli.replay", "Replay game records by the rules, and print what happened."),
    "verify": ("pbem.cli.verify", "Check that nobody, the referee included, cheated in a match."),
    "sign": ("pbem.cli.sign", "Sign a form with your SSH key."),
    "play": ("pbem.cli.play.overview", "Play by mail from the terminal: one command a turn."),
    "agent": ("pbem.cli.agent", "Play sealed matches: answers by itself, asks only for orders."),
    "opponent": ("pbem.cli.opponent", "Run a program that plays by mail, like any player."),
    "witness": ("pbem.cli.witness", "Cosign the logs of servers that take nothing back."),
    "page": ("pbem.cli.page", "Print the page on which orders are composed by clicking."),
    "publish": ("pbem.cli.publish", "Print the page of a match, or all public pages of the server."),
    "serve": ("pbem.cli.serve", "Run the server."),
    "init": ("pbem.cli.init", "Write the files of a new server."),
    "status": ("pbem.cli.status", "Show the state of the server."),
    "inbox": ("pbem.cli.status", "Letters received: list, show, retry, drop."),
    "outbox": ("pbem.cli.status", "Letters to be sent: list, show, retry, drop."),
    "match": ("pbem.cli.match", "Matches: list, show, pause, resume, end."),
    "tournament": ("pbem.cli.tournament", "Tournaments: list, pause, resume, or rule on one."),
    "clock": ("pbem.cli.status", "The server's clock, if it leapt: accept it."),
    "backup": ("pbem.cli.backup", "Copy the store, while the server runs."),
    "restore": ("pbem.cli.backup", "Replace the store with a backup."),
    "move-store": ("pbem.cli.backup", "Move the store into PostgreSQL, or back."),
    "new-game": ("pbem.cli.check_game", "Write a package with a game, to begin with."),
    "check-game": ("pbem.cli.check_game", "Check a game of another package."),
    "check-config": ("pbem.cli.doctor", "Report all faults of the configuration."),
    "doctor": ("pbem.cli.doctor", "Examine the store, the transcripts, the clock and the mail."),
}
"""The module of each command, in which a function has its name, and its line in `pbem --help`."""


def help_text() -> str:
    """The text of `pbem --help`."""
    commands = "\n".join(f"  {name:14}{line}" for name, (_, line) in COMMANDS.items())
    return f"""\
Usage: pbem [OPTIONS] COMMAND [ARGS]...

{ABOUT}

Options:
  --game NAME  Enable a game of another package.
  --version    Show the version and exit.
  --help       Show this message and exit.

Commands:
{commands}"""
