"""A player's table at the terminal: results are printed, and the commands of `pbem play` find it laid.

Implements docs/playing.md.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import click

from pbem.cli import programs
from pbem.cli.ending import Status
from pbem.games import Refused
from pbem.player.play_table import PlayTable, moment
from pbem.player.results import in_a_sentence, lines
from pbem.player.signed_texts import Contradiction
from pbem.player.signing import CannotSign
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pbem.match.view import MatchView
    from pbem.player.memory import SentForm
    from pbem.player.results import PlayResult
    from pbem.player.signing import SigningKey


MATCH = re.compile(r"m[1-9][0-9]{0,8}")

_ERASED = "\r\x1b[K"
_Options = ParamSpec("_Options")


class Terminal:
    """The terminal, as the front of a table."""

    def show(self, result: PlayResult | Refused) -> None:
        """Print a result."""
        for line in lines(result):
            click.echo(line.text, err=line.loud)

    def passphrase(self, prompt: str, /) -> str:
        """Ask for the passphrase of a key."""
        return programs.passphrase(prompt)

    def touch(self) -> None:
        """Ask for a touch of the security key."""
        programs.touch()

    def signed(self, _key: SigningKey, _text: bytes, _namespace: str) -> str:
        """Refuse to sign with a passkey, where no browser is."""
        raise CannotSign("This key is a passkey of your browser: pbem play --browser signs with it.")

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show for what the table waits; what is reported next has the line for itself."""
        on_terminal = sys.stderr.isatty()
        if on_terminal:
            click.echo(f"Waiting for {what} (Ctrl-C: go on without) ", nl=False, err=True)
        try:
            yield
        finally:
            if on_terminal:
                click.echo(_ERASED, nl=False, err=True)


@contextmanager
def troubles() -> Iterator[None]:
    """Report in one sentence a trouble that is not a fault of the program."""
    try:
        with programs.troubles():
            yield
    except Refused as refused:
        Terminal().show(refused)
        sys.exit(Status.REFUSED)
    except Contradiction as error:
        raise click.ClickException(in_a_sentence(error)) from error


def settle(table: PlayTable, form: SentForm) -> None:
    """Send a letter, and wait for its answer; exits with 1 if it was refused."""
    if table.settle(form) == "refused":
        sys.exit(Status.REFUSED)


def confirm(table: PlayTable, yes: bool, shown: MatchView | None = None, question: str = "") -> None:
    """Ask once; then the match must be as it was shown: another `pbem play` may have fetched meanwhile."""
    if not yes:
        question = question or ("Sign and send?" if table.account.key else "Send?")
        click.confirm(question, default=True, abort=True)
    if shown is not None:
        table.demand_unchanged(shown.match, moment(shown))


def at_table(command: Callable[Concatenate[PlayTable, _Options], None]) -> Callable[_Options, None]:
    """Hand a command the player's table, with the letters that have come."""

    @wraps(command)
    def seated(*values: _Options.args, **options: _Options.kwargs) -> None:
        table = click.get_current_context().find_object(PlayTable)
        assert table is not None
        table.fetch()
        command(table, *values, **options)

    return seated


def turn_options(command: Callable[..., None]) -> Callable[..., None]:
    """Hand a command the turn that `--turn` or `--default` names, `DEFAULT` for the latter; None: what is due."""

    @click.option("--turn", type=click.IntRange(1), metavar="N", help="In advance: for this later turn.")
    @click.option("--default", is_flag=True, help="Whenever you miss a turn, if you agreed on `miss: default`.")
    @wraps(command)
    def named(*values: object, turn: int | None, default: bool, **options: object) -> None:
        if turn is not None and default:
            raise click.UsageError("--turn or --default: one of the two")
        command(*values, turn=DEFAULT if default else turn, **options)

    return named


yes_option = click.option("--yes", is_flag=True, help="Do not ask before signing.")
