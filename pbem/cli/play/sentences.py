"""What a player says beside orders: proposals and agreements, press, sentences about a match that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pbem.cli.play.display import DOUBTFUL, list_rows, show, title_of
from pbem.cli.play.event_text import line_of
from pbem.cli.play.foundation import at_table, confirm, troubles, yes_option
from pbem.games import GAMES

if TYPE_CHECKING:
    from pbem.cli.play.foundation import PlayTable

__all__ = ["COMMANDS"]


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
    with troubles():
        table.fetch()
    known = {standing.match for standing in table.letters.matches.standings}
    _tell(table, head, yes, text=options)
    list_rows(table, [standing for standing in table.letters.matches.standings if standing.match not in known])


@click.command()
@click.argument("match")
@yes_option
@at_table
def accept(table: PlayTable, match: str, yes: bool) -> None:
    """Agree to a proposed match, by the hash of the terms that you were mailed."""
    with troubles():
        table.fetch()
        standing = table.letters.matches.standing(match)
        show(table, standing)
        confirm(table, yes, standing)
        table.settle(table.letters.accept(match, table.now()))


@click.command()
@click.argument("match")
@click.argument("text", nargs=-1, required=True)
@click.option("--public", is_flag=True, help="For observers, too.")
@yes_option
@at_table
def press(table: PlayTable, match: str, text: tuple[str, ...], public: bool, yes: bool) -> None:
    """Write to the other players of a match."""
    _tell(table, f"press {match}" + (" public" if public else ""), yes, match=match, text=" ".join(text))


def _tell(table: PlayTable, words: str, yes: bool, *, match: str = "", text: str = "") -> None:
    with troubles():
        table.fetch()
        click.echo("\n".join(filter(None, [words, text])))
        confirm(table, yes)
        table.settle(table.letters.tell(words, table.now(), match=match, text=text))


def _simple(name: str, help_: str) -> click.Command:
    """A command about a match that is signed as it stands."""

    @click.command(name, help=help_)
    @click.argument("match")
    @yes_option
    @at_table
    def command(table: PlayTable, match: str, yes: bool) -> None:
        _tell(table, f"{name} {match}", yes, match=match)

    return command


def _sentence(name: str, help_: str, argument: str = "") -> click.Command:
    """A sentence about a running match, with a word after it or without."""

    @click.command(name, help=help_)
    @click.argument("match")
    @click.argument("word", nargs=1 if argument else -1, metavar=argument or "")
    @yes_option
    @at_table
    def command(table: PlayTable, match: str, word: str | tuple[str, ...], yes: bool) -> None:
        if isinstance(word, tuple) and word:
            raise click.UsageError(f"{name} wants nothing behind {match}")
        with troubles():
            table.fetch()
            words = f"{name} {match} {word if isinstance(word, str) else ''}".strip()
            standing = table.letters.matches.standing(match)
            click.echo(f"{title_of(table.letters, standing)}: {words}")
            confirm(table, yes, standing)
            table.settle(table.letters.say(match, words, table.now()))

    return command


@click.command()
@click.argument("match")
@yes_option
@at_table
def reveal(table: PlayTable, match: str, yes: bool) -> None:
    """Reveal your secrets after a sealed game that did not end by its rules: after an agreed draw, say."""
    with troubles():
        table.fetch()
        standing = table.letters.matches.standing(match)
        click.echo(f"{title_of(table.letters, standing)}: {DOUBTFUL}")
        confirm(table, yes, standing)
        table.settle(table.agent.reveal(match, table.now()))


@click.command("take-back")
@click.argument("match")
@yes_option
@at_table
def take_back(table: PlayTable, match: str, yes: bool) -> None:
    """Go on in a sealed match: take back an accusation, or accept a signed text that could not be read."""
    with troubles():
        table.fetch()
        click.echo(f"{match}: {line_of(table.agent.held.what(match))}")
        if not yes:
            click.confirm("Take it back, and go on?", default=False, abort=True)
        table.take_back(match)


@click.command()
@click.argument("match")
@click.option("--whole", is_flag=True, help="The whole match, not only this game.")
@yes_option
@at_table
def resign(table: PlayTable, match: str, whole: bool, yes: bool) -> None:
    """Resign the game, or the whole match."""
    with troubles():
        table.fetch()
        standing = table.letters.matches.standing(match)
        words = f"resign {match} " + ("match" if whole else f"game {standing.game}")
        click.echo(f"{title_of(table.letters, standing)}: {words}")
        confirm(table, yes, standing)
        table.settle(table.letters.say(match, words, table.now()))


COMMANDS = (
    *(new, accept, press, reveal, take_back, resign),
    _simple("join", "Take a seat in a match on the open list."),
    _simple("decline", "Decline a proposed match."),
    _simple("withdraw", "Withdraw your proposal."),
    _sentence("claim", "Claim the game from a player who missed the deadline and the grace period."),
    _sentence("draw", "Offer a draw, or answer such an offer.", "offer|accept|decline"),
    _sentence("annul", "Offer to annul the match, or answer such an offer.", "offer|accept|decline"),
    _sentence("extend", "Give your opponent more time, such as 3d.", "TIME"),
    _sentence("clear", "Withdraw your orders for this turn, or your setup."),
)
