"""The signed sentences beside orders: proposals and agreements, press, draws, resignations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pbem.cli.play.display import DOUBTFUL, list_rows, show, show_tournament, title_of
from pbem.cli.play.foundation import at_table, confirm, state, turn_options, yes_option
from pbem.cli.telling import line_of
from pbem.games import GAMES
from pbem.player.correspondence.standings import named

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.cli.play.foundation import PlayTable


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
    _tell(table, f"enter {tournament} {show_tournament(table, tournament)}" + (f" team {team}" if team else ""), yes)


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
