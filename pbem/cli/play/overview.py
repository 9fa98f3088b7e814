"""The command `pbem play` itself: a list of all matches, and what is known by a name or by that of a match."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pbem.cli.play import deadlines, looking, register, sending, sentences, trial
from pbem.cli.play.display import list_matches
from pbem.cli.play.foundation import MATCH, PlayTable, troubles
from pbem.player.account_file import places


class _Play(click.Group):
    """`pbem play m17 ...` is about that match; everything else is a command's name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and MATCH.fullmatch(args[0].lower()):
            return "match", self.commands["match"], [args[0].lower(), *args[1:]]
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
    pbem play try                 play against a program, here and now, without any mail
    pbem play                     list my matches: whose move it is, and until when
    pbem play m17                 show the boards of m17
    pbem play m17 Gx3 bRv1Rv3     judge these orders, read them back, sign and send them
    pbem play m17 --turn 7 Gx3    the same for a later turn; --default: for any that you miss
    pbem play --browser           all of this on a page in the browser instead
    pbem play --calendar FILE     the list, and all my deadlines for my calendar

    Everything is signed with your SSH key. To begin: pbem play register --help
    """  # noqa: D301 - click wants the very character
    ctx.obj = PlayTable(places(os.environ), account, patience)
    ctx.call_on_close(ctx.obj.afterwards.close)
    if (browser or calendar) and ctx.invoked_subcommand is not None:
        raise click.UsageError("--browser and --calendar go without a command; for a match: pbem play m17 --open")
    if ctx.invoked_subcommand is not None:
        return
    if browser or (calendar is None and _is_only_a_desktop()):
        from pbem.cli.play.browser import run  # the pages are needed here alone

        run(ctx.obj)
    else:
        list_matches(ctx.obj)
        if calendar is not None:
            deadlines.write(ctx.obj, calendar)


def _is_only_a_desktop() -> bool:
    """True if nobody reads what we print, but a browser could be opened."""
    desktop = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(desktop) and not sys.stdin.isatty() and not sys.stdout.isatty()


for _command in (
    *(trial.trial, register.register),
    *(sending.match, sending.setup, sending.words),
    *sentences.COMMANDS,
    *(looking.ask, looking.wait, looking.letter, looking.verify),
):
    play.add_command(_command)
