"""A player's table at the terminal: results are printed, and the commands of `pbem play` find it laid.

Or it is shown on a page (`pbem play --browser`), which `pbem.player.page_room` serves until Ctrl-C.

Implements docs/playing.md.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import contextmanager
from functools import partial, wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import click

from pbem.cli import programs
from pbem.cli.ending import Status
from pbem.cli.play.terminal_boards import width
from pbem.games import Refused
from pbem.i18n import ENGLISH, LANGUAGES
from pbem.player.correspondence.standings import Contradiction
from pbem.player.play_table import PlayTable, moment
from pbem.player.results import in_a_sentence, lines
from pbem.player.signing import CannotSign
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pbem.match.view import MatchView
    from pbem.player.memory import SentForm
    from pbem.player.results import PlayResult
    from pbem.player.signing import SigningKey


MATCH = re.compile(r"m[1-9][0-9]{0,8}")

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
        # In one line, that spaces erase: a terminal without colours gets no other command, either.
        said = f"Waiting for {what} (Ctrl-C: go on without)"[: width() - 1]
        if on_terminal:
            click.echo(said, nl=False, err=True)
        try:
            yield
        finally:
            if on_terminal:
                click.echo(f"\r{' ' * len(said)}\r", nl=False, err=True)


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


def settle(table: PlayTable, form: SentForm) -> bool:
    """Send a letter, and wait for its answer; returns whether it was obeyed, exits with 1 if it was refused."""
    if (state := table.settle(form)) == "refused":
        sys.exit(Status.REFUSED)
    return state == "done"


def is_command(word: str) -> bool:
    """True if a word is the name of a command of `pbem play`."""
    play = click.get_current_context().parent
    return play is not None and isinstance(play.command, click.Group) and word in play.command.commands


def confirm(
    table: PlayTable, yes: bool, shown: MatchView | None = None, question: str = "", *, likely: bool = True
) -> None:
    """Ask once; then the match must be as it was shown: another `pbem play` may have fetched meanwhile.

    `likely`: whether Enter alone agrees.
    """
    if not yes:
        question = question or ("Sign and send?" if table.account.key else "Send?")
        try:
            agreed = click.confirm(question, default=likely)
        except click.Abort:
            if sys.stdin.isatty():
                raise
            click.echo(err=True)
            raise click.ClickException("Nothing was signed. Where nobody can answer, say --yes.") from None
        if not agreed:
            raise click.Abort
    if shown is not None:
        table.demand_unchanged(shown.match, moment(shown))


def at_table(command: Callable[Concatenate[PlayTable, _Options], object]) -> Callable[_Options, None]:
    """Hand a command the player's table, with the letters that have come."""

    @wraps(command)
    def seated(*values: _Options.args, **options: _Options.kwargs) -> None:
        table = click.get_current_context().find_object(PlayTable)
        assert table is not None
        if match := options.get("match"):
            table.turn_to(str(match))
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


def play_in_browser(table: PlayTable, match: str = "") -> None:
    """Serve the page for a table's account, or for all if it names none, and open it in the browser at a match."""
    from pbem.player.page_room import PlayRoom  # the pages are needed here alone

    first = f"{table.account.id}/{match}" if match else ""
    room = PlayRoom(table.folders, first, language_of(os.environ), click.echo)
    port = room.port()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with room.afterwards:
            chosen = [table] if table.name or match else None
            for one in chosen or (room.table(name, table.front) for name in table.folders.accounts):
                if wrong := room.tried(partial(room.seat, one)):
                    click.echo(wrong, err=True)
            click.echo(f"Your matches are on a page, until you press Ctrl-C here, or Stop there:\n\n    {port.url}\n")
            click.launch(port.url)
            room.work.run(room.look)
    except KeyboardInterrupt:
        click.echo("Stopped.")
    finally:
        room.news.tell({"stopped": True})  # no tab may go on asking this port: it may be another's next
        port.stop()


def language_of(environment: Mapping[str, str]) -> str:
    """The language of this user, as far as the page speaks it: a player's installation may have English alone."""
    named = environment.get("LC_ALL") or environment.get("LC_MESSAGES") or environment.get("LANG") or ""
    tag = named.partition(".")[0].partition("_")[0]
    return tag if tag in LANGUAGES and find_spec("babel") else ENGLISH
