"""`pbem tournament`: tournaments as the operator may see and control them. Thin: the desk obeys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pbem.cli.common import as_json, config_option, instruction, listed, named, opened, reason_option
from pbem.desk.tournament.tournament_archive import TournamentRepository
from pbem.store.tournament_rows import Tournaments

if TYPE_CHECKING:
    from pathlib import Path

    from pbem.server.operators_store import OperatorsStore

_WHY = "Why, for your own record."


def tournaments(store: OperatorsStore) -> list[dict[str, Any]]:
    """All tournaments, each in a row."""
    rows = Tournaments(store.database, store.vault)
    archive = TournamentRepository(rows, store.config.server)
    return [
        {
            "tournament": t.id,
            "game": t.terms.match["game"],
            "format": t.terms.format,
            "phase": t.phase,
            "paused": "yes" if rows.paused(t.number) else "",
            "organiser": t.organiser.name,
            "entrants": len(t.entrants),
            "matches": len([pairing for pairing in t.pairings if pairing.match]),
            "last": t.time,
        }
        for t in map(archive.load, rows.numbers())
        if t is not None
    ]


@click.group()
def tournament() -> None:
    """Tournaments: list them; pause or resume one, or rule on it."""


@tournament.command("list")
@config_option
@click.option("--all", "everything", is_flag=True, help="Also those that have ended.")
@as_json
def list_(config_file: Path, *, everything: bool, as_json: bool) -> None:
    """List the tournaments that are open or played."""
    with opened(config_file) as store:
        found = tournaments(store)
    shown = [t for t in found if everything or t["phase"] != "ended"]
    columns = ("tournament", "game", "format", "phase", "paused", "organiser", "entrants", "matches", "last")
    over = f"All tournaments ({len(found)}) have ended: `pbem tournament list --all` has them."
    listed(shown, columns, over if found else "There are no tournaments.", as_json=as_json)


@tournament.command()
@click.argument("number", metavar="TOURNAMENT", callback=named)
@click.argument("words", nargs=-1, required=True, metavar="annul MATCH|substitute PLAYER for PLAYER|close")
@reason_option()
@config_option
def rule(number: int, words: tuple[str, ...], reason: str, config_file: Path) -> None:
    """Rule on TOURNAMENT, as its organiser may by letter: table and proof show it as the operator's bare word.

    `annul m17` takes a match out of the table, `substitute dave for bob` lets dave enter in bob's place, `close` ends
    the tournament. On a match of the organiser's own, only you may rule.
    """
    with opened(config_file) as store:
        click.echo(f"{store.instruct('rule', f't{number}', reason, ruling=' '.join(words))}.")


_PAUSE = (
    "Pause TOURNAMENT: it does not start, and no round begins because of the time. Matches under way are not paused."
)
instruction(tournament, "pause", "TOURNAMENT", _PAUSE, _WHY)
_RESUME = "Resume TOURNAMENT: whatever became due meanwhile happens now."
instruction(tournament, "resume", "TOURNAMENT", _RESUME, _WHY)
