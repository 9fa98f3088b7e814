"""`pbem agent`: plays sealed matches by itself, except that it asks its player for setups and orders.

Thin: `pbem.player.sealed_agent` does the work; here letters come and go, and lines are typed. Implements
docs/playing.md, "Sealed matches".
"""

from __future__ import annotations

import os
import select
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.cli.play.display import show
from pbem.cli.play.sending import read_back
from pbem.cli.play.terminal import MATCH, Terminal, confirm, troubles, yes_option
from pbem.cli.programs import alone, stopping
from pbem.games import Refused
from pbem.phrase import clean
from pbem.player import mail_in
from pbem.player.account_file import places
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.play_table import PlayTable

if TYPE_CHECKING:
    from pbem.match.view import MatchView


_SOON, _LOOK = 0.05, 1.0  # seconds between two looks into the mailbox: after letters came, and at most
_AGAIN = 30.0  # when it cannot be reached
_PATIENCE = 20.0
_NOTHING = "--nothing"
"""Typed in the place of orders to order nothing, as for `pbem play`."""
_TAKE_BACK = "--take-back"
"""Typed in the place of orders to go on, as `pbem play take-back`."""


@click.command()
@click.option("--account", default="", metavar="NAME@SERVER", help="Which account, if there are several.")
@click.option(
    "--secrets",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the secrets, if not beside the memory of `pbem play`.",
)
@click.option("--once", is_flag=True, help="Do what is due now, and exit: for cron, or a mail hook.")
@yes_option
def agent(account: str, secrets: Path | None, once: bool, yes: bool) -> None:
    """Play sealed matches: checks, answers and reveals automatically, and asks only for orders.

    It reads and sends letters as `pbem play` does, with the same account. When orders are due, it prints the boards.
    Answer here with a line such as `m17 Gx3 bRv1Rv3` (`m17 A: FMS; B: LLF` if orders have lines), or with `pbem play
    m17 Gx3 bRv1Rv3` in another terminal. Orders that you gave in advance (`pbem play m17 --turn 7 ...`) are sent
    without asking again. `m17 --nothing` orders nothing; `m17` on its own prints the boards again; `m17 --take-back`
    resumes although the agent accused the server, or could not read what another player signed. It runs until
    SIGTERM or Ctrl-C.
    """
    stop = threading.Event() if once else stopping()
    table = PlayTable(places(os.environ), account, Terminal(), _PATIENCE, secrets)
    with troubles(), table.afterwards:
        memory = table.folders.memory(table.account.id)
        with alone(memory, "pbem agent"):
            _run(table, stop, once=once, yes=yes)


def _run(table: PlayTable, stop: threading.Event, *, once: bool, yes: bool) -> None:
    if not once:
        words = "" if table.agent.vault.code() else f" Your six words: {table.agent.words}"
        click.echo(f"{table.account.id}: sealed matches are played from here.{words}")
    asked: dict[str, object] = {}
    typing = not once
    pause = _SOON
    while not stop.is_set():
        # Look less often while nothing comes, soon after something did, and late after a fault.
        pause = min(2 * pause, _LOOK)
        try:
            if table.fetch():
                pause = _SOON
        except mail_in.NoMail as error:
            if once:
                raise
            click.echo(f"No mail now: {clean(str(error))}", err=True)
            pause = _AGAIN
        if not table.send():
            pause = _AGAIN
        for standing in table.letters.matches.standings:
            _ask(table, standing, asked, once=once)
        if once:
            return
        if not typing:
            stop.wait(pause)
        elif select.select([sys.stdin], [], [], pause)[0]:
            line = sys.stdin.readline()
            if line.strip():
                _typed(table, line, yes=yes)
            typing = bool(line)


def _ask(table: PlayTable, standing: MatchView, asked: dict[str, object], *, once: bool) -> None:
    """Ask for what has to be decided in a sealed match, once."""
    match = standing.match
    due = standing.sealed and table.is_due(standing)
    where = (standing.phase, standing.game, standing.prev) if due else None
    if where is None or asked.get(match) == where:
        return
    asked[match] = where
    show(table, standing)
    if standing.phase == "playing" and not standing.revealing:
        how = f"pbem play {match} ORDERS" if once else f"{match} ORDERS"
        click.echo(f"\n{match}, turn {table.turn_due(standing)}: your orders? {how}")


def _typed(table: PlayTable, line: str, *, yes: bool) -> None:
    """Obey a typed line: a match and its orders; a semicolon ends a line of orders."""
    match, _, orders = line.strip().partition(" ")
    match, orders = match.lower(), orders.strip()
    if not MATCH.fullmatch(match):
        click.echo("Write a match and its orders, such as: m17 Gx3 bRv1Rv3", err=True)
        return
    try:
        standing = table.letters.matches.standing(match)
        if not orders:
            show(table, standing)
            return
        if orders == _TAKE_BACK:
            table.take_back(match)
            return
        lines = "" if orders == _NOTHING else "\n".join(line.strip() for line in orders.split(";"))
        texts = list(dict.fromkeys([lines, "\n".join(lines.split())]))
        text = read_back(table, standing, texts, asking=not yes)
        confirm(table, yes, standing)
        table.hand_over(standing, text)
        table.send()
    except (Contradiction, Impossible) as error:
        click.echo(clean(str(error)), err=True)
    except Refused as refused:
        table.front.show(refused)
    except click.Abort:
        click.echo("Nothing was signed or sent.", err=True)
