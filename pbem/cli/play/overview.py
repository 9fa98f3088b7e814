"""The command `pbem play` itself, with the commands that only look: an answer, a letter, a proof, one's deadlines."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pbem import durable
from pbem.cli.ending import Status
from pbem.cli.play import register, sending
from pbem.cli.play.display import list_matches
from pbem.cli.play.terminal import MATCH, Terminal, at_table, language_of, play_in_browser, troubles
from pbem.games import GAMES, titles
from pbem.mail.calendar import calendar
from pbem.match.view import OVER
from pbem.phrase import clean
from pbem.player.account_file import places
from pbem.player.correspondence.standings import Impossible
from pbem.player.play_facts import deadlines
from pbem.player.play_table import PlayTable


def _write_calendar(table: PlayTable, path: Path) -> None:
    """Write the file anew: deadlines that are over are not in it any more."""
    found = list(deadlines(table.letters))
    try:
        content = calendar(found, table.now())
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"--calendar needs the libraries of the server ({error.name} is not here): install pbem with them, as"
            " pbem[server]"
        ) from error
    try:
        durable.replace(path, content)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from error
    click.echo(f"{path}: {len(found)} deadline{'' if len(found) == 1 else 's'}.")


class _Play(click.Group):
    """`pbem play m17 ...` is about that match; everything else is a command's name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and MATCH.fullmatch(args[0].lower()):
            return "match", self.commands["match"], [args[0].lower(), *args[1:]]
        if args == ["help"]:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        with troubles():
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        del ctx
        return ["[OPTIONS] [MATCH [ORDERS]... | COMMAND [ARGS]...]"]


@click.group(cls=_Play, invoke_without_command=True)
@click.option("--account", default="", metavar="NAME@SERVER", help="Which account, if there are several.")
@click.option("--wait", "patience", default=20.0, metavar="SECONDS", help="How long to wait for an answer.")
@click.option("--browser", is_flag=True, help="Play on a page in the browser, which this serves until Ctrl-C.")
@click.option("--calendar", type=click.Path(path_type=Path), metavar="FILE", help="Write my deadlines (iCalendar).")
@click.pass_context
def play(ctx: click.Context, account: str, patience: float, browser: bool, calendar: Path | None) -> None:
    """Play by mail from the terminal, or in the browser.

    \b
    pbem play try               play against a program, here and now, no mail
    pbem play                   my matches: whose move it is, and until when
    pbem play m17               show the boards of m17
    pbem play m17 Gx3 bRv1Rv3   judge, read back, sign and send these orders
    pbem play m17 --turn 7 Gx3  for a later turn; --default: for any you miss
    pbem play --browser         all of this on a page in the browser instead
    pbem play --calendar FILE   the list, and all my deadlines for my calendar

    Everything is signed with your SSH key. To begin: pbem play register --help
    """  # noqa: D301 - click wants the very character
    if os.environ.get("NO_COLOR"):
        ctx.color = False  # no-color.org
    folders = places(os.environ)

    def table_of(name: str) -> PlayTable:
        table = PlayTable(folders, name, Terminal(), patience)
        ctx.call_on_close(table.afterwards.close)
        return table

    ctx.obj = table_of(account)
    if (browser or calendar) and ctx.invoked_subcommand is not None:
        raise click.UsageError(
            "--browser and --calendar go without a command: pbem play --browser; for a match: pbem play m17 --open"
        )
    if ctx.invoked_subcommand is not None:
        return
    # Where nobody reads what we print, such as behind an icon, a browser is opened if there can be one.
    is_desktop = bool(sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    is_unread = is_desktop and not sys.stdin.isatty() and not sys.stdout.isatty()
    if browser or (calendar is None and is_unread):
        play_in_browser(ctx.obj)
    else:
        tables = [ctx.obj] if account or len(folders.accounts) < 2 else [*map(table_of, folders.accounts)]
        reached = [list_matches(table) for table in tables]
        if calendar is not None:
            _write_calendar(ctx.obj, calendar)
        if not all(reached):
            sys.exit(Status.NOT_DONE)


@click.command()
@click.argument("words", nargs=-1, required=True)
@at_table
def ask(table: PlayTable, words: tuple[str, ...]) -> None:
    """Ask the server something that needs no signature, such as `list open`, and print its answer."""
    sent = table.letters.ask(" ".join(words), table.now())
    table.send()
    if table.wait(lambda: table.state(sent) == "done", "the answer"):
        click.echo(clean(table.letters.memory.last_text()))
    else:
        click.echo("No answer yet.")


@click.command()
@click.argument("match", required=False)
@at_table
def wait(table: PlayTable, match: str | None) -> None:
    """Wait until it is your move, in a match or in any, or the match is over; `pbem play --wait` says how long."""
    letters = table.letters

    def due() -> bool:
        return any(
            table.is_due(one)
            or (one.phase == "proposed" and not one.accepted)
            or (one.match == match and one.phase in OVER)
            for one in letters.matches.standings
            if match in {None, one.match}
        )

    if not table.wait(due, "your move"):
        click.echo("It is not your move.")
        sys.exit(Status.OPEN)
    list_matches(table)


@click.command()
@click.argument("match")
@at_table
def letter(table: PlayTable, match: str) -> None:
    """Print the last letter about a match, as it came."""
    found = table.letters.memory.texts(match)
    if not found:
        raise Impossible("No letter about {match} has come.", match=match)
    click.echo(clean(f"{found[-1][0]}\n\n{found[-1][1]}"))


@click.command()
@click.argument("match")
@at_table
def verify(table: PlayTable, match: str) -> None:
    """Verify a match's bundle again, and compare all its letters with it."""
    verified = table.verify(match)
    table.front.show(verified)
    if not verified.proof.holds:
        sys.exit(Status.REFUSED)


@click.command()
@click.argument("game", type=click.Choice(list(GAMES)), required=False)
@click.argument("ruling", type=int, required=False)
def rules(game: str | None, ruling: int | None) -> None:
    """Print the rules of GAME, or one RULING of it, such as a refusal cites; without GAME, list the games."""
    from pbem.boards.text_boards import wrapped
    from pbem.letters.render import Templates
    from pbem.pages.rules_text import rules_text

    language = language_of(os.environ)
    if game is None:
        for name, title in titles().items():
            click.echo(f"  {f'pbem play rules {name}':34} {title}")
    elif ruling is None:
        click.echo_via_pager(Templates().of(language).render(f"{game}/rules.txt").strip("\n"))
    elif words := rules_text(game, language).rulings.get(ruling):
        click.echo(wrapped(f"{ruling}. {words}", 76, 4))
    else:
        raise Impossible("{game} has no ruling {number}.", game=game, number=ruling)


for _command in (
    *(register.trial, register.register),
    *(sending.match, sending.setup, sending.words),
    *sending.COMMANDS,
    *(ask, rules, wait, letter, verify),
):
    play.add_command(_command)
