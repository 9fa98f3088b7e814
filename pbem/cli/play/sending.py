"""`pbem play MATCH ...`, `setup`, `words`: orders and setups, judged and read back before they are signed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from pbem.cli import home
from pbem.cli.play.display import show, title_of
from pbem.cli.play.foundation import at_table, confirm, yes_option
from pbem.cli.play.trial import see_the_move
from pbem.games import Refused
from pbem.player.correspondence.judge import meant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.cli.play.foundation import PlayTable
    from pbem.player.browser import Handed
    from pbem.player.correspondence.judge import Judged
    from pbem.player.standing import MatchStanding


_AN_HOUR = 3600.0  # that a player may take over clicking

_SIX_WORDS = """\
Your six words, to be kept somewhere other than on this machine:

    {words}

Setup and orders of sealed matches stay here, and the server keeps a copy that only these words open. If this
machine is lost, another goes on with them: pbem play words WORD WORD ..."""


@click.command(hidden=True)
@click.argument("match")
@click.argument("orders", nargs=-1)
@click.option("--final", is_flag=True, help="You will not change these orders: the turn need not wait.")
@click.option("--nothing", is_flag=True, help="Order nothing this turn, where the rules allow it.")
@click.option(
    "--from", "file", type=click.File("r"), help="Read the orders, or the setup, from a file; - is the keyboard."
)
@click.option("--open", "browser", is_flag=True, help="Compose the orders, or the setup, by clicking in the browser.")
@yes_option
@at_table
def match(  # noqa: PLR0913, PLR0917 - options of a command
    table: PlayTable,
    match: str,
    orders: tuple[str, ...],
    final: bool,
    nothing: bool,
    file: Any,
    browser: bool,
    yes: bool,
) -> None:
    """Show a match, or order its turn."""
    table.send()
    standing = table.letters.matches.standing(match)
    texts = [" ".join(orders), "\n".join(orders)] if orders else [file.read()] if file else [""] if nothing else []
    if browser:
        clicked = _clicked(table, standing)
        texts, final = [clicked.text], final or clicked.final
    if not texts:
        show(table, standing)
    elif standing.phase == "setup":
        _set_up(table, match, "\n".join(orders) or texts[0], yes=yes)
    else:
        _order(table, standing, texts, final=final, yes=yes)


def _order(table: PlayTable, standing: MatchStanding, texts: Sequence[str], *, final: bool, yes: bool) -> None:
    name = standing.match
    text = read_back(table, standing, texts, asking=not yes)
    confirm(table, yes, standing)
    if standing.sealed:
        table.settle(table.agent.order(name, text, table.now()))
    else:
        table.settle(table.letters.order(name, text, table.now(), final=final))
    if table.account.server == home.SERVER:
        see_the_move(table, standing)


def read_back(table: PlayTable, standing: MatchStanding, texts: Sequence[str], *, asking: bool = False) -> str:
    """Read back the first legal one of these texts, and return it; raises `Refused`, `Impossible`.

    `asking`: where none is legal, propose what was probably meant.
    """
    from pbem.games import part_of

    letters, name = table.letters, standing.match
    sealed = bool(standing.sealed)
    judge = table.agent.judge_orders if sealed else letters.judge.orders
    text, judged = _judged(standing.rules, lambda text: judge(name, text), texts, asking=asking)
    click.echo(f"{name}, turn {table.agent.shown(name).turn if sealed else standing.turn}: you order")
    for phrase in part_of(standing.rules, "words").said(judged.text) or ["nothing"]:
        click.echo(f"  {phrase}")
    if judged.unused:
        click.echo(f"Unused: {', '.join(judged.unused)}.")
    return text


def _judged(rules: str, judge: Callable[[str], Judged], texts: Sequence[str], *, asking: bool) -> tuple[str, Judged]:
    """The first legal text: words may be in one line, or each in its own; otherwise the fewest faults are reported.

    Capitals that decide nothing are mended; another likely meaning is only proposed, since it will be signed.
    """
    refusals = []
    for text in texts:
        try:
            return text, judge(text)
        except Refused as refused:
            refusals.append(refused)
    likely = next(filter(None, (meant(rules, judge, text) for text in texts)), None)
    if likely is not None:
        capitals = likely.lower().split() == texts[0].lower().split()
        if capitals or _is_meant(likely, asking=asking):
            return likely, judge(likely)
    raise min(refusals, key=lambda refused: len(refused.faults))


def _is_meant(likely: str, *, asking: bool) -> bool:
    """Show what was probably meant, which is legal; returns True if the player says so."""
    lines = likely.strip().splitlines()
    said = " ".join(lines[0].split()) if len(lines) == 1 else "".join(f"\n  {line}" for line in lines) + "\n"
    if not asking:
        click.echo(f"Did you mean: {said}", err=True)
    return asking and click.confirm(f"Did you mean: {said}?", default=True, prompt_suffix=" ")


@click.command()
@click.argument("match")
@click.argument("lines", nargs=-1)
@click.option("--from", "file", type=click.File("r"), help="Read the setup from a file; - is the keyboard.")
@yes_option
@at_table
def setup(table: PlayTable, match: str, lines: tuple[str, ...], file: Any, yes: bool) -> None:
    """Send the secret setup of a game: each argument is a line of it, such as "DS Rv1-Ow2"."""
    if not (lines or file):
        show(table, table.letters.matches.standing(match))
        return
    _set_up(table, match, "\n".join(lines) if lines else file.read(), yes=yes)


def _set_up(table: PlayTable, match: str, text: str, *, yes: bool) -> None:
    letters, standing = table.letters, table.letters.matches.standing(match)
    judge = letters.judge
    text, judged = _judged(standing.rules, lambda text: judge.setup(match, text), [text], asking=not yes)
    click.echo(f"{match}, game {standing.game}: your setup")
    for line in judged.text.splitlines():
        click.echo(f"  {line}")
    if judged.example:
        click.echo("Careful: this is the example in the letters, and your opponent has read it, too.")
    confirm(table, yes, standing)
    if not standing.sealed:
        table.settle(letters.set_up(match, text, table.now()))
        return
    new = table.agent.vault.code() is None
    sent = table.agent.set_up(match, text, table.now())
    if new:
        click.echo(_SIX_WORDS.format(words=table.agent.words))
    table.settle(sent)


@click.command()
@click.argument("words", nargs=-1)
@click.pass_obj
def words(table: PlayTable, words: tuple[str, ...]) -> None:
    """Print the six words that open the notes of your sealed matches, or set those of another machine."""
    if words:
        table.agent.use_words(" ".join(words))
    click.echo(table.agent.words)


def _clicked(table: PlayTable, standing: MatchStanding) -> Handed:
    """The orders composed in the browser, from the files that the letters brought."""
    from pbem.pages import Home, composer, fragment
    from pbem.pages.handover import handover
    from pbem.player.browser import Port

    matches, name = table.letters.matches, standing.match
    if standing.phase == "setup":
        asked = matches.setup_asked(name)
    elif standing.sealed:
        shown = table.agent.shown(name)
        asked = (matches.sealed_position(name) or {}) | {"turn": shown.turn, "view": shown.view, "asked": shown.asked}
    else:
        asked = matches.position_asked(name)
    # Of a sealed match the page is asked for the setup or the orders alone: what is done with them is the agent's.
    asked = {key: value for key, value in asked.items() if key != "sealed"}
    home = Home(table.account.server, table.account.server_address)
    port = Port(os.urandom)
    try:
        title = title_of(table.letters, standing)
        port.serve(handover(title, f"composer#{fragment(asked)}"), composer(standing.rules, home))
        click.echo(f"{name}: put it together by clicking at\n\n    {port.url}\n")
        click.launch(port.url)
        handed = port.wait(_AN_HOUR)
    except KeyboardInterrupt:
        handed = None
    finally:
        port.stop()
    if handed is None:
        raise click.ClickException("Nothing was handed over.")
    return handed
