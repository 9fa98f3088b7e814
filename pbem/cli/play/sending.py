"""`pbem play MATCH ...`, `setup`, `words`: orders and setups, judged and read back before they are signed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pbem.cli import home
from pbem.cli.play.display import show
from pbem.cli.play.event_text import when
from pbem.cli.play.foundation import SIX_WORDS, at_table, confirm, turn_options, yes_option
from pbem.cli.play.trial import see_the_move
from pbem.cli.telling import line_of
from pbem.games import Refused
from pbem.player.correspondence.judge import in_words, meant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.cli.play.foundation import PlayTable
    from pbem.player.correspondence.judge import Judged
    from pbem.player.standing import MatchStanding


@click.command(hidden=True)
@click.argument("match")
@click.argument("orders", nargs=-1)
@click.option("--final", is_flag=True, help="You will not change these orders: the turn need not wait.")
@click.option("--nothing", is_flag=True, help="Order nothing this turn, where the rules allow it.")
@click.option(
    "--from", "file", type=click.File("r"), help="Read the orders, or the setup, from a file; - is the keyboard."
)
@click.option("--open", "browser", is_flag=True, help="Play it on the page in the browser.")
@turn_options
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
    turn: int | None,
    yes: bool,
) -> None:
    """Show a match, or order its turn, or another one in advance."""
    table.send()
    standing = table.letters.matches.standing(match)
    texts = [" ".join(orders), "\n".join(orders)] if orders else [file.read()] if file else [""] if nothing else []
    if browser:
        from pbem.cli.play.browser import run  # the pages are needed here alone

        run(table, match)
    elif not texts:
        show(table, standing)
    elif turn is not None and table.is_later(standing, turn):
        _order(table, standing, texts, final=final, yes=yes, turn=turn)
    elif standing.phase == "setup":
        _set_up(table, match, "\n".join(orders) or texts[0], yes=yes)
    else:
        _order(table, standing, texts, final=final, yes=yes)


def _order(
    table: PlayTable,
    standing: MatchStanding,
    texts: Sequence[str],
    *,
    final: bool,
    yes: bool,
    turn: int | None = None,
) -> None:
    name = standing.match
    text = read_back(table, standing, texts, asking=not yes, turn=turn)
    if standing.sealed and turn is not None:
        confirm(table, yes, standing, "Keep it here, for the agent to commit to when it is due?")
        table.agent.store(name, turn, text)
        click.echo("It waits on this machine alone: leave `pbem agent` running, or look with `pbem play`.")
        return
    confirm(table, yes, standing)
    if standing.sealed:
        table.settle(table.agent.order(name, text, table.now()))
    else:
        table.settle(table.letters.order(name, text, table.now(), final=final, turn=turn))
    if table.account.server == home.SERVER and turn is None:
        see_the_move(table, standing)


def read_back(
    table: PlayTable,
    standing: MatchStanding,
    texts: Sequence[str],
    *,
    asking: bool = False,
    turn: int | None = None,
) -> str:
    """Read back the first legal one of these texts, and return it; raises `Refused`, `Impossible`.

    `asking`: where none is legal, propose what was probably meant. `turn`: another than the one that is due.
    """
    name, rules = standing.match, standing.rules
    text, judged = _judged(rules, lambda text: table.judged(standing, text, turn), texts, asking=asking)
    if turn is None:
        turn = table.agent.shown(name).turn if standing.sealed else standing.turn
    click.echo(f"{name}, {when(turn)}: you order")
    for phrase in in_words(rules, judged) or ["nothing"]:
        click.echo(f"  {phrase}")
    if judged.unused:
        click.echo(f"Unused: {', '.join(judged.unused)}.")
    for doubt in judged.doubts:
        click.echo(f"Careful: {doubt}.")
    if judged.faults:
        present = table.agent.shown(name).turn if standing.sealed else standing.turn
        click.echo(f"Turn {present} is being played; in it they would not be legal:")
        for fault in judged.faults:
            click.echo(f"  - {line_of(fault.message)}")
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
        click.echo(SIX_WORDS.given(words=table.agent.words))
    table.settle(sent)


@click.command()
@click.argument("words", nargs=-1)
@click.pass_obj
def words(table: PlayTable, words: tuple[str, ...]) -> None:
    """Print the six words that open the notes of your sealed matches, or set those of another machine."""
    if words:
        table.agent.use_words(" ".join(words))
    click.echo(table.agent.words)
