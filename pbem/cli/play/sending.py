"""The commands of `pbem play` that send: orders and setups, read back before they are signed, and sentences.

Sentences are proposals and agreements, press, draws, resignations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pbem.cli import home
from pbem.cli.play.display import DOUBTFUL, list_rows, show, title_of, tournament_terms
from pbem.cli.play.event_text import when
from pbem.cli.play.foundation import at_table, confirm, state, turn_options, yes_option
from pbem.cli.play.register import see_the_move
from pbem.cli.telling import line_of
from pbem.games import GAMES, Refused
from pbem.player.correspondence.judge import in_words, meant
from pbem.player.correspondence.standings import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.cli.play.foundation import PlayTable
    from pbem.match.view import MatchView
    from pbem.player.correspondence.judge import Judged


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
        from pbem.cli.play.page_room import run  # the pages are needed here alone

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
    standing: MatchView,
    texts: Sequence[str],
    *,
    final: bool,
    yes: bool,
    turn: int | None = None,
) -> None:
    text = read_back(table, standing, texts, asking=not yes, turn=turn)
    waits = standing.sealed and turn is not None
    confirm(table, yes, standing, "Keep it here, for the agent to commit to when it is due?" if waits else "")
    sent = table.order(standing, text, final=final, turn=turn)
    if sent is None:
        click.echo("It waits on this machine alone: leave `pbem agent` running, or look with `pbem play`.")
        return
    table.settle(sent)
    if table.account.server == home.SERVER and turn is None:
        see_the_move(table, standing)


def read_back(
    table: PlayTable,
    standing: MatchView,
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
    standing, judge = table.letters.matches.standing(match), table.letters.judge
    text, judged = _judged(standing.rules, lambda text: judge.setup(match, text), [text], asking=not yes)
    click.echo(f"{match}, game {standing.game}: your setup")
    for line in judged.text.splitlines():
        click.echo(f"  {line}")
    if judged.example:
        click.echo("Careful: this is the example in the letters, and your opponent has read it, too.")
    confirm(table, yes, standing)
    sent, words = table.set_up(standing, text)
    if words:
        click.echo(words)
    table.settle(sent)


@click.command()
@click.argument("words", nargs=-1)
@click.pass_obj
def words(table: PlayTable, words: tuple[str, ...]) -> None:
    """Print the six words that open the notes of your sealed matches, or set those of another machine."""
    if words:
        table.agent.use_words(" ".join(words))
    click.echo(table.agent.words)


def _about_match(name: str | None = None, help_: str | None = None) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command about one match, which asks before it signs."""

    def made(function: Callable[..., None]) -> click.Command:
        return click.command(name, help=help_)(click.argument("match")(yes_option(at_table(function))))

    return made


@click.command()
@click.argument("game", type=click.Choice(list(GAMES)))
@click.argument("words", nargs=-1, metavar="[OPPONENT]... [OPTION: VALUE]...")
@yes_option
@at_table
def new(table: PlayTable, game: str, words: tuple[str, ...], yes: bool) -> None:
    """Propose a match: to players by name or address, or on the open list; options such as "pace: 3d"."""
    opponents = [word for word in words if ":" not in word]
    options = "\n".join(word for word in words if ":" in word)
    head = f"new {game}" + (f" with {' '.join(opponents)}" if opponents else "")
    known = {standing.match for standing in table.letters.matches.standings}
    _tell(table, head, yes, text=options)
    list_rows(table, [standing for standing in table.letters.matches.standings if standing.match not in known])


@_about_match()
def accept(table: PlayTable, match: str, yes: bool) -> None:
    """Agree to a proposed match, by the hash of the terms that you were mailed."""
    standing = table.letters.matches.standing(match)
    show(table, standing)
    confirm(table, yes, standing)
    table.settle(table.letters.accept(match, table.now()))


@_about_match()
@click.argument("text", nargs=-1, required=True)
@click.option("--public", is_flag=True, help="For observers, too.")
def press(table: PlayTable, match: str, text: tuple[str, ...], public: bool, yes: bool) -> None:
    """Write to the other players of a match."""
    _tell(table, f"press {match}" + (" public" if public else ""), yes, match=match, text=" ".join(text))


@_about_match()
@click.option("--whole", is_flag=True, help="The whole match, not only this game.")
def resign(table: PlayTable, match: str, whole: bool, yes: bool) -> None:
    """Resign the game, or the whole match."""
    game = table.letters.matches.standing(match).game
    _say(table, match, f"resign {match} " + ("match" if whole else f"game {game}"), yes)


@_about_match()
def reveal(table: PlayTable, match: str, yes: bool) -> None:
    """Reveal your secrets after a sealed game that did not end by its rules, such as after an agreed draw."""
    standing = table.letters.matches.standing(match)
    click.echo(f"{title_of(table.letters, standing)}: {DOUBTFUL}")
    confirm(table, yes, standing)
    table.settle(table.agent.reveal(match, table.now()))


@_about_match()
def take_back(table: PlayTable, match: str, yes: bool) -> None:
    """Resume a sealed match: withdraw an accusation, or accept a signed text that could not be read."""
    click.echo(f"{match}: {line_of(table.agent.held.what(match))}")
    if not yes:
        click.confirm("Take it back, and go on?", default=False, abort=True)
    table.take_back(match)


@_about_match()
@turn_options
def clear(table: PlayTable, match: str, turn: int | None, yes: bool) -> None:
    """Withdraw your setup, or your orders: for this turn, for a later one, or default orders."""
    standing = table.letters.matches.standing(match)
    words = f"clear {match}" + (f" {named(turn)}" if turn is not None else "")
    click.echo(f"{title_of(table.letters, standing)}: {words}")
    if standing.sealed and turn is not None:
        confirm(table, yes, standing, "Forget it?")
        table.agent.forget(match, turn)
        return
    confirm(table, yes, standing)
    table.settle(table.letters.withdraw(match, turn, table.now()))


def _tell(table: PlayTable, words: str, yes: bool, *, match: str = "", text: str = "") -> None:
    """Sign and send words that belong to no turn."""
    click.echo("\n".join(filter(None, [words, text])))
    confirm(table, yes)
    table.settle(table.letters.tell(words, table.now(), match=match, text=text))


def _say(table: PlayTable, match: str, words: str, yes: bool) -> None:
    """Sign and send a sentence about a running match."""
    standing = table.letters.matches.standing(match)
    click.echo(f"{title_of(table.letters, standing)}: {words}")
    confirm(table, yes, standing)
    table.settle(table.letters.say(match, words, table.now()))


def _simple(name: str, help_: str) -> click.Command:
    """A command about a match that has not begun."""
    return _about_match(name, help_)(lambda table, match, yes: _tell(table, f"{name} {match}", yes, match=match))


def _sentence(name: str, help_: str, argument: str = "") -> click.Command:
    """A command about a running match, with a word after it if it has an argument."""

    def command(table: PlayTable, match: str, yes: bool, word: str = "") -> None:
        _say(table, match, f"{name} {match} {word}".strip(), yes)

    return _about_match(name, help_)(click.argument("word", metavar=argument)(command) if argument else command)


@click.command()
@click.argument("tournament")
@click.option("--team", default="", metavar="NAME", help="The team that you play for.")
@yes_option
@at_table
def enter(table: PlayTable, tournament: str, team: str, yes: bool) -> None:
    """Enter a tournament, and so accept all your matches in it, by the hash of its terms."""
    asked = table.letters.ask(f"tournament {tournament}", table.now())
    table.send()
    table.wait(lambda _: state(table.letters, asked) not in {"ready", "sent"}, "the terms")
    from pbem.letters.render import Templates

    terms, hash_ = tournament_terms(table.letters, tournament, Templates())
    click.echo(terms)
    _tell(table, f"enter {tournament} {hash_}" + (f" team {team}" if team else ""), yes)


@click.command()
@click.argument("tournament")
@yes_option
@at_table
def leave(table: PlayTable, tournament: str, yes: bool) -> None:
    """Leave a tournament."""
    _tell(table, f"leave {tournament}", yes)


COMMANDS = (
    *(new, accept, press, reveal, take_back, resign, clear, enter, leave),
    _simple("join", "Take a seat in a match on the open list."),
    _simple("decline", "Decline a proposed match."),
    _simple("withdraw", "Withdraw your proposal."),
    _sentence("claim", "Claim the game from a player who missed the deadline and the grace period."),
    _sentence("draw", "Offer a draw, or answer such an offer.", "offer|accept|decline"),
    _sentence("annul", "Offer to annul the match, or answer such an offer.", "offer|accept|decline"),
    _sentence("extend", "Give your opponent more time, such as 3d.", "TIME"),
)
