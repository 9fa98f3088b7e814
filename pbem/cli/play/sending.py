"""The commands of `pbem play` that send: orders and setups, read back before they are signed, and sentences.

Sentences are proposals and agreements, press, draws, resignations.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from pbem.cli.ending import Status
from pbem.cli.play.display import DOUBTFUL, how_to_write, list_rows, list_tournaments, show, when
from pbem.cli.play.terminal import at_table, confirm, is_command, play_in_browser, settle, turn_options, yes_option
from pbem.games import GAMES, Refused
from pbem.match.option_lines import duration
from pbem.player.beginning import see_the_move, setup_at_random
from pbem.player.correspondence.judge import in_words
from pbem.player.correspondence.standings import Impossible, named
from pbem.player.play_facts import title_of, tournament_terms
from pbem.player.refereed_matches import KeptHere
from pbem.player.results import line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.match.view import MatchView
    from pbem.player.correspondence.judge import Judged
    from pbem.player.memory import SentForm
    from pbem.player.play_table import PlayTable


@click.command(hidden=True)
@click.argument("match")
@click.argument("orders", nargs=-1)
@click.option("--final", is_flag=True, help="You will not change these orders: the turn need not wait.")
@click.option("--nothing", is_flag=True, help="Order nothing this turn, where the rules allow it.")
@click.option(
    "--from", "file", type=click.File("r"), help="Read the orders, or the setup, from a file; - is the keyboard."
)
@click.option("--full", is_flag=True, help="Show everything that the letters say.")
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
    full: bool,
    browser: bool,
    turn: int | None,
    yes: bool,
) -> None:
    """Show a match, or order its turn, or another one in advance."""
    table.send()
    standing = table.letters.matches.standing(match)
    texts = [" ".join(orders), "\n".join(orders)] if orders else [file.read()] if file else [""] if nothing else []
    if browser:
        play_in_browser(table, match)
    elif not texts or orders == ("help",):
        show(table, standing, full=full or bool(orders))
    else:
        turn = turn if turn is not None and table.is_later(standing, turn) else None
        if turn is None and standing.phase == "setup":
            texts = ["\n".join(orders) or texts[0]]
        _hand_over(table, standing, texts, final=final, yes=yes, turn=turn)


def _hand_over(
    table: PlayTable,
    standing: MatchView,
    texts: Sequence[str],
    *,
    yes: bool,
    final: bool = False,
    turn: int | None = None,
) -> None:
    """Read back a setup or orders, ask, and send them."""
    try:
        text = read_back(table, standing, texts, asking=not yes, turn=turn)
    except Refused as refused:
        if is_command(word := texts[0].partition(" ")[0]):
            raise Impossible(f"A command comes before the match: pbem play {word} {standing.match}") from refused
        table.front.show(refused)
        click.echo("\n".join(how_to_write(table, standing)), err=True)
        sys.exit(Status.REFUSED)
    waits = table.waits_here(standing, turn)
    confirm(table, yes, standing, "Keep it here, for the agent to commit to when it is due?" if waits else "")
    prepared = table.hand_over(standing, text, final=final, turn=turn)
    table.front.show(prepared)
    if isinstance(prepared, KeptHere):
        return
    settle(table, prepared.form)
    if table.at_home and turn is None and standing.phase == "playing":
        show(table, see_the_move(table, standing))


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
    text, judged, refused = table.read(standing, texts, turn)
    if refused is not None:
        written = text.strip().splitlines()
        blocks = "".join(f"\n  {line}" for line in written) + "\n"
        meant = f"Did you mean: {' '.join(text.split()) if len(written) == 1 else blocks}"
        if not asking:
            click.echo(meant, err=True)
        elif click.confirm(f"{meant}?", default=True, prompt_suffix=" "):
            refused = None
    if refused is not None:
        raise refused
    _print_read(table, standing, judged, turn)
    return text


def _print_read(table: PlayTable, standing: MatchView, judged: Judged, turn: int | None) -> None:
    """Print what was read as a setup, or as orders for a turn, and what to be careful about."""
    match, setup = standing.match, turn is None and standing.phase == "setup"
    if setup:
        click.echo(f"{match}, game {standing.game}: your setup")
    else:
        click.echo(f"{match}, {when(table.turn_due(standing) if turn is None else turn)}: you order")
    for phrase in judged.text.splitlines() if setup else in_words(standing.rules, judged) or ["nothing"]:
        click.echo(f"  {phrase}")
    if judged.unused:
        click.echo(f"Unused: {', '.join(judged.unused)}.")
    if judged.example:
        click.echo("Careful: this is the example in the letters, and your opponent has read it, too.")
    for doubt in judged.doubts:
        click.echo(f"Careful: {doubt}.")
    if judged.faults:
        click.echo(f"Turn {table.turn_due(standing)} is being played; in it they would not be legal:")
        for fault in judged.faults:
            click.echo(f"  - {line_of(fault.message)}")


@click.command()
@click.argument("match")
@click.argument("lines", nargs=-1)
@click.option("--from", "file", type=click.File("r"), help="Read the setup from a file; - is the keyboard.")
@click.option("--random", "at_random", is_flag=True, help="Have it made at random, as a program would.")
@yes_option
@at_table
def setup(table: PlayTable, match: str, lines: tuple[str, ...], file: Any, at_random: bool, yes: bool) -> None:
    """Send the secret setup of a game: each argument is a line of it, such as "DS Rv1-Ow2"."""
    standing = table.letters.matches.standing(match)
    if not (lines or file or at_random):
        show(table, standing)
        return
    table.letters.matches.setup_asked(match)
    text = setup_at_random(table, standing) if at_random else "\n".join(lines) if lines else file.read()
    _hand_over(table, standing, [text], yes=yes)


@click.command()
@click.argument("words", nargs=-1)
@click.pass_obj
def words(table: PlayTable, words: tuple[str, ...]) -> None:
    """Print the six words that open the notes of your sealed matches, or set those of another machine."""
    if words:
        table.agent.use_words(" ".join(words))
    click.echo(table.agent.words)


def _sign(
    table: PlayTable,
    words: str,
    yes: bool,
    prepare: Callable[[], SentForm | None],
    standing: MatchView | None = None,
    question: str = "",
    *,
    likely: bool = True,
) -> bool:
    """Show words, ask, and send the letter that has them; `standing`: the match as its player sees it.

    Returns whether the server has obeyed it.
    """
    click.echo(words.rstrip())
    confirm(table, yes, standing, question, likely=likely)
    form = prepare()
    return form is not None and settle(table, form)


def _tell(table: PlayTable, words: str, yes: bool, text: str = "") -> bool:
    return _sign(table, f"{words}\n{text}", yes, lambda: table.letters.tell(words, table.now(), text=text))


def _say(table: PlayTable, match: str, what: str, word: str, yes: bool, *, likely: bool = True) -> None:
    """Sign and send a sentence about a running match."""
    standing = table.letters.matches.running(match)
    words = f"{title_of(table.letters, standing)}: {what} {match} {word}"
    _sign(table, words, yes, lambda: table.say(match, what, word), standing, likely=likely)


def _about_match(
    name: str | None = None, help_: str | None = None
) -> Callable[[Callable[..., object]], click.Command]:
    """Make a command about one match, which asks before it signs."""

    def made(function: Callable[..., object]) -> click.Command:
        return click.command(name, help=help_)(click.argument("match")(yes_option(at_table(function))))

    return made


def _simple(name: str, help_: str) -> click.Command:
    """A command about a match that has not begun."""
    return _about_match(name, help_)(
        lambda table, match, yes: _sign(table, f"{name} {match}", yes, lambda: table.say(match, name))
    )


_ANSWER = click.Choice(("offer", "accept", "decline"))


class _Time(click.ParamType[str]):
    name = "time"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not duration(value):
            self.fail(f"{value} is no time; write one such as 12h or 3d", param, ctx)
        return value


def _sentence(name: str, help_: str, argument: click.ParamType[str] | None = None) -> click.Command:
    """A command about a running match, with a word after it if it has an argument."""

    def command(table: PlayTable, match: str, yes: bool, word: str = "") -> None:
        _say(table, match, name, word, yes)

    return _about_match(name, help_)(click.argument("word", type=argument)(command) if argument else command)


@click.command()
@click.argument("game", type=click.Choice(list(GAMES)))
@click.argument("words", nargs=-1, metavar="[OPPONENT]... [OPTION: VALUE]...")
@yes_option
@at_table
def new(table: PlayTable, game: str, words: tuple[str, ...], yes: bool) -> None:
    """Propose a match: to players by name or address, or on the open list; options such as "pace: 3d"."""
    opponents = [word for word in words if ":" not in word]
    head = f"new {game}" + (f" with {' '.join(opponents)}" if opponents else "")
    known = {standing.match for standing in table.letters.matches.standings}
    _tell(table, head, yes, "\n".join(word for word in words if ":" in word))
    list_rows(table, [standing for standing in table.letters.matches.standings if standing.match not in known])


@_about_match()
def accept(table: PlayTable, match: str, yes: bool) -> None:
    """Agree to a proposed match, by the hash of the terms that you were mailed."""
    standing = table.letters.matches.standing(match)
    show(table, standing)
    confirm(table, yes, standing)
    settle(table, table.say(match, "accept"))


@_about_match()
@click.argument("text", nargs=-1, required=True)
@click.option("--public", is_flag=True, help="For observers, too.")
@click.option("--to", multiple=True, metavar="NAME", help="Only for this player; may be repeated.")
def press(table: PlayTable, match: str, text: tuple[str, ...], public: bool, to: tuple[str, ...], yes: bool) -> None:
    """Write to the other players of a match, or to some of them alone."""
    if public and to:
        raise click.UsageError("A message is for everybody (--public), or for some (--to).")
    readers = " public" if public else " ".join(["", "to", *to]) if to else ""
    words = f"press {match}{readers}\n{' '.join(text)}"
    _sign(table, words, yes, lambda: table.say(match, "press", " ".join(text), readers=readers))


@_about_match()
@click.argument("word", type=_ANSWER)
@click.option("--for", "sharing", multiple=True, metavar="NAME", help="Only this player shares it; may be repeated.")
def draw(table: PlayTable, match: str, word: str, sharing: tuple[str, ...], yes: bool) -> None:
    """Offer a draw, of all who remain or of some, or answer such an offer."""
    _say(table, match, "draw", " ".join([word, *(["for", *sharing] if sharing else [])]), yes)


@_about_match()
@click.option("--whole", is_flag=True, help="The whole match, not only this game.")
def resign(table: PlayTable, match: str, whole: bool, yes: bool) -> None:
    """Resign the game, or the whole match."""
    standing = table.letters.matches.standing(match)
    _say(table, match, "resign", "match" if whole else f"game {standing.game}", yes, likely=False)
    if table.at_home:
        show(table, see_the_move(table, standing))


@_about_match()
def reveal(table: PlayTable, match: str, yes: bool) -> None:
    """Reveal your secrets after a sealed game that did not end by its rules, such as after an agreed draw."""
    standing = table.agent.to_reveal(match)
    words = f"{title_of(table.letters, standing)}: {DOUBTFUL}"
    _sign(table, words, yes, lambda: table.say(match, "reveal"), standing)


@_about_match()
def take_back(table: PlayTable, match: str, yes: bool) -> None:
    """Resume a sealed match: withdraw the accusation of its server."""
    accused = table.agent.held.accused(match)
    if accused and not yes:
        click.confirm(f"{match}: {line_of(accused)}\nTake it back, and go on?", default=False, abort=True)
    table.take_back(match)


@_about_match()
@turn_options
def clear(table: PlayTable, match: str, turn: int | None, yes: bool) -> None:
    """Withdraw your setup, or your orders: for this turn, for a later one, or default orders."""
    standing = table.letters.matches.standing(match)
    words = f"{title_of(table.letters, standing)}: clear {match} {'' if turn is None else named(turn)}"
    question = "Forget it?" if table.waits_here(standing, turn) else ""
    _sign(table, words, yes, lambda: table.clear(standing, turn), standing, question)


@click.group()
def tournament() -> None:
    """Tournaments: announce one, and rule on it. `pbem play enter t3` and `pbem play leave t3` take part."""


@tournament.command("new")
@click.argument("game", type=click.Choice(list(GAMES)))
@click.argument("lines", nargs=-1, metavar="[OPTION: VALUE]...")
@yes_option
@at_table
def announce(table: PlayTable, game: str, lines: tuple[str, ...], yes: bool) -> None:
    """Announce a tournament: options such as "closes: 2026-12-20" and "pace: 3d"."""
    table.demand_announceable(game, lines)
    known = {told.tournament for told in table.letters.memory.tournaments()}
    _tell(table, f"tournament new {game}", yes, "\n".join(lines))
    made = [told for told in table.letters.memory.tournaments() if told.tournament not in known]
    list_tournaments(table, made)
    for told in made:
        words = f"enter {told.tournament}"
        click.echo(f"Announced. Your friends write to {table.account.server_address}: {words}")
        click.echo(f"or say: pbem play {words}")


@tournament.command("rule")
@click.argument("name", metavar="TOURNAMENT")
@click.argument("ruling", nargs=-1, required=True, metavar="annul MATCH | substitute NAME for NAME | close")
@click.option("--reason", required=True, help="Why: the table and the proof show it as your word.")
@yes_option
@at_table
def rule(table: PlayTable, name: str, ruling: tuple[str, ...], reason: str, yes: bool) -> None:
    """Rule on a tournament that you announced: take a match out of the table, name a substitute, or close it."""
    if _tell(table, f"rule {name} {' '.join(ruling)}", yes, f"reason: {reason}"):
        click.echo("Your ruling counts; everybody in the tournament is told.")


@tournament.command()
@click.argument("name", metavar="TOURNAMENT")
@click.argument("player")
@yes_option
@at_table
def challenge(table: PlayTable, name: str, player: str, yes: bool) -> None:
    """Challenge PLAYER, who stands above you in a ladder."""
    _tell(table, f"challenge {name} {player}", yes)


@click.command()
@click.argument("tournament")
@click.option("--team", default="", metavar="NAME", help="The team that you play for.")
@yes_option
@at_table
def enter(table: PlayTable, tournament: str, team: str, yes: bool) -> None:
    """Enter a tournament, and so accept all your matches in it, by the hash of its terms."""
    asked = table.letters.ask(f"tournament {tournament}", table.now())
    table.send()
    table.wait(lambda: table.state(asked) not in {"ready", "sent"}, "the terms")
    if table.state(asked) == "refused":
        sys.exit(Status.REFUSED)
    from pbem.letters.render import Templates

    terms, hash_ = tournament_terms(table.letters, tournament, Templates())
    click.echo(terms)
    if _tell(table, f"enter {tournament} {hash_}" + (f" team {team}" if team else ""), yes):
        list_tournaments(table, filter(None, [table.letters.memory.tournament(tournament)]))


@click.command()
@click.argument("tournament")
@yes_option
@at_table
def leave(table: PlayTable, tournament: str, yes: bool) -> None:
    """Leave a tournament."""
    _tell(table, f"leave {tournament}", yes)


COMMANDS = (
    *(new, accept, press, draw, reveal, take_back, resign, clear, tournament, enter, leave),
    _simple("join", "Take a seat in a match on the open list."),
    _simple("decline", "Decline a proposed match."),
    _simple("withdraw", "Withdraw your proposal."),
    _sentence("claim", "Claim the game from a player who missed the deadline and the grace period."),
    _sentence("annul", "Offer to annul the match, or answer such an offer.", _ANSWER),
    _sentence("extend", "Give your opponent more time, such as 3d.", _Time()),
)
