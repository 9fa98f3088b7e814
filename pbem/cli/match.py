"""`pbem match`: matches as the operator may see and control them. Thin: the desk obeys.

Secrets (setups, orders) are shown only on demand, and with a warning.
"""

from __future__ import annotations

import json
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.cli.common import (
    as_json,
    config_option,
    fields,
    instruction,
    listed,
    named,
    opened,
    reason_option,
    table,
)
from pbem.desk.match_archive import MatchRepository
from pbem.match.transcript import Entry
from pbem.match.view import view
from pbem.proof import bundle
from pbem.store.matches import Matches
from pbem.store.operator import matches as all_matches
from pbem.store.operator import paused_by_restore
from pbem.store.people import People

if TYPE_CHECKING:
    from pbem.match.state import Match
    from pbem.server.operators_store import OperatorsStore

_LONGEST = 20
"""The most matches that are read for the overview of all."""
SECRETS = (
    "This shows setups and orders that nobody else may know while the game runs. An operator who tells a player"
    " breaks the game, and no signature shows it. Play in no match that you looked into."
)


_match_argument = click.argument("number", metavar="MATCH", callback=named)


@click.group()
def match() -> None:
    """Matches: list and show them; pause, resume or end one."""


@match.command("list")
@config_option
@click.option("--all", "everything", is_flag=True, help="Also closed and declined ones.")
@as_json
def list_(config_file: Path, *, everything: bool, as_json: bool) -> None:
    """List the matches that are proposed or played."""
    with opened(config_file) as store:
        rows = all_matches(store.database, everything=everything)
        over = 0 if rows else len(all_matches(store.database, everything=True))
    columns = ("match", "game", "phase", "paused", "players", "entries", "last")
    none = f"All matches ({over}) are over: `pbem match list --all` has them." if over else "There are no matches."
    listed(rows, columns, none, as_json=as_json)


@match.command()
@_match_argument
@config_option
@click.option(
    "--secrets", is_flag=True, help="Show setups and orders, too. Nobody may know them while the game runs."
)
@as_json
def show(number: int, config_file: Path, *, secrets: bool, as_json: bool) -> None:
    """Show MATCH: its terms, where it stands, whom it waits for, and its transcript."""
    with opened(config_file) as store:
        found, entries = _found(store, number)
        stands, hidden = view(found, 0), _secrets(store, number) if secrets else []
    turn = f", turn {stands.turn}" if stands.turn else ""
    facts = {
        "match": stands.match,
        "game": stands.rules,
        "kind": found.terms.kind,
        "players": [f"{seat} {name}" for seat, name in stands.names.items()],
        "phase": stands.phase,
        "paused": found.paused,
        "at": f"game {stands.game}{turn}" if stands.game else "",
        "waits for": _asked(found),
        "settles at": found.resolve_at.strftime("%Y-%m-%d %H:%M UTC") if found.resolve_at else "",
        "scores": stands.totals if stands.ended else "",
        "rules": stands.hash,
        "head": found.head,
    }
    if secrets:
        click.echo(SECRETS, err=True)
    if as_json:
        shown = facts | ({"secrets": hidden} if secrets else {}) | {"entries": entries}
        click.echo(json.dumps(shown, indent=1))
        return
    fields(facts)
    if entries:
        click.echo()
        table(entries, ("seq", "time", "type", "head", "says"))
    if hidden:
        click.echo()
        table(hidden, ("game", "turn", "seat", "rev", "standing", "text"))


@match.command("bundle")
@_match_argument
@click.argument("file", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@config_option
def bundle_(number: int, file: Path, config_file: Path) -> None:
    """Write the bundle of MATCH to FILE, with the papers of its finished games: some are too long for a letter."""
    with opened(config_file) as store:
        found, _ = _found(store, number)
        if not found.seq:
            raise click.ClickException(f"m{number} has not begun.")
        matches = Matches(store.database, store.vault)
        rows, papers = matches.entries(number), matches.papers(number, len(found.games), 0, None)
    entries = [Entry.read(row.entry) for row in rows]
    file.write_bytes(bundle.write(bundle.Bundle(entries, [row.signature for row in rows], papers)))
    click.echo(f"{file} has the proof of {found.id}: `pbem verify {file}`.")


def waiting(store: OperatorsStore) -> list[dict[str, str]]:
    """The matches that wait for somebody, those first in which nothing happened for longest: for whom, since when."""
    rows = sorted(all_matches(store.database), key=itemgetter("last"))
    found = [(row, _found(store, int(row["match"][1:]))[0]) for row in rows[:_LONGEST]]
    return [
        {"match": row["match"], "turn": _turn(match), "waits for": ", ".join(asked), "since": row["last"]}
        for row, match in found
        if (asked := _asked(match))
    ]


def _asked(match: Match) -> list[str]:
    return [own.player for seat in match.seats if (own := view(match, seat)).asked and own.player]


def _turn(match: Match) -> str:
    stands = view(match, 0)
    return f"turn {stands.turn}" if stands.phase == "playing" else stands.phase


def _found(store: OperatorsStore, number: int) -> tuple[Match, list[dict[str, object]]]:
    matches = Matches(store.database, store.vault)
    archive = MatchRepository(matches, People(store.database), store.config.server, _nothing_is_signed, "")
    loaded = archive.load(number)
    if loaded is None:
        raise click.ClickException(f"There is no match m{number}.")
    entries = [Entry.read(row.entry) for row in archive.matches.entries(number)]
    told = [
        {"seq": entry.seq, "time": entry.time, "type": entry.type, "head": entry.head[:16], "says": _says(entry)}
        for entry in entries
    ]
    return loaded[0], told


def _nothing_is_signed(_statement: bytes) -> bytes:
    raise AssertionError("nothing is written here")


def _says(entry: Entry) -> str:
    """The parts of an entry that are neither hashes nor lists; a flag that is set by its name alone."""
    shown = ((key, value) for key, value in entry.body.items() if isinstance(value, str | int) and value is not False)
    return ", ".join(key if value is True else f"{key} {value}" for key, value in shown if len(str(value)) < 64)


def _secrets(store: OperatorsStore, number: int) -> list[dict[str, object]]:
    submitted = Matches(store.database, store.vault).submitted(number)
    return [
        {
            "game": game,
            "turn": turn or "setup",
            "seat": seat,
            "rev": content["rev"],
            "standing": "yes" if content["standing"] else "withdrawn",
            "text": " / ".join(content["text"].split("\n")),
        }
        for (game, turn, seat), content in submitted.items()
    ]


@match.command()
@click.argument("number", metavar="MATCH", callback=named, required=False)
@click.option("--all", "everything", is_flag=True, help="All matches that stand still only because of a restore.")
@reason_option()
@config_option
def resume(number: int | None, reason: str, config_file: Path, *, everything: bool) -> None:
    """Resume MATCH, or with --all those that `pbem restore` paused."""
    if (number is None) != everything:
        raise click.UsageError("Name a match, or give --all.")
    with opened(config_file) as store:
        numbers = [number] if number is not None else paused_by_restore(store.database)
        if not numbers:
            click.echo("No match stands still because of a restore.")
        for each in numbers:
            click.echo(f"{store.instruct('resume', f'm{each}', reason)}.")


instruction(match, "pause", "MATCH", "Pause MATCH: what players send is kept; nothing begins, resolves or runs out.")
_END = "End MATCH for good: a game under way is abandoned and revealed, and nobody wins."
click.confirmation_option(prompt="The game is abandoned and its secrets are revealed. Shall the match end?")(
    instruction(match, "end", "MATCH", _END)
)
