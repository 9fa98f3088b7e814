"""Commands that only look: an answer of the server's, a letter, a proof, and the wait for one's move."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from pbem.cli.ending import Status
from pbem.cli.play.display import is_due, list_matches
from pbem.cli.play.foundation import at_table, state
from pbem.cli.play.proved import proved
from pbem.cli.telling import clean
from pbem.phrase import Phrase
from pbem.player.correspondence.standings import Impossible
from pbem.player.standing import OVER

if TYPE_CHECKING:
    from pbem.cli.play.foundation import PlayTable


@click.command()
@click.argument("words", nargs=-1, required=True)
@at_table
def ask(table: PlayTable, words: tuple[str, ...]) -> None:
    """Ask the server something that needs no signature, such as `list open`, and print its answer."""
    sent = table.letters.ask(" ".join(words), table.now())
    table.send()
    if table.wait(lambda _: state(table.letters, sent) == "done", "the answer"):
        click.echo(clean(table.letters.memory.last_text()))
    else:
        click.echo("No answer yet.")


@click.command()
@click.argument("match", required=False)
@at_table
def wait(table: PlayTable, match: str | None) -> None:
    """Wait until it is your move, in a match or in any, or the match is over; `pbem play --wait` says how long."""
    letters = table.letters

    def due(_: object) -> bool:
        return any(
            is_due(table, one)
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
    found = table.letters.memory.text(match)
    if found is None:
        raise Impossible(Phrase("No letter about {match} has come.", match=match))
    click.echo(clean(f"{found[0]}\n\n{found[1]}"))


@click.command()
@click.argument("match")
@at_table
def verify(table: PlayTable, match: str) -> None:
    """Verify a match's bundle again, and compare all its letters with it."""
    if not proved(table.letters, match):
        sys.exit(Status.REFUSED)
