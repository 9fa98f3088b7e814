"""`pbem match`: matches as the operator may see and control them. Thin: the desk obeys."""

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
from pbem.store.matches import Matches
from pbem.store.operator import matches as all_matches
from pbem.store.operator import paused_by_restore
from pbem.store.people import People

if TYPE_CHECKING:
    from pbem.match.state import Match
    from pbem.server.operators_store import OperatorsStore
    from pbem.store.matches import MatchRow

_LONGEST = 20
"""The most matches that are read for the overview of all."""

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
@as_json
def show(number: int, config_file: Path, *, as_json: bool) -> None:
    """Show MATCH: its terms, where it stands, whom it waits for, and its transcript."""
    with opened(config_file) as store:
        archive = _archive(store)
        found, _ = _loaded(archive, number)
        entries = [_told(Entry.read(row.entry)) for row in archive.matches.entries(number)]
    stands = view(found, 0)
    turn = f", turn {stands.turn}" if stands.turn else ""
    facts = {
        "match": stands.match,
        "game": stands.rules,
        "kind": found.terms.kind,
        "players": [f"{seat} {name}" for seat, name in stands.names.items()],
        "phase": stands.phase,
        "paused": found.paused,
        "at": f"game {stands.game}{turn}" if stands.game else "",
        "waits for": list(_asked(found)),
        "settles at": found.resolve_at.strftime("%Y-%m-%d %H:%M UTC") if found.resolve_at else "",
        "scores": stands.totals if stands.ended else "",
        "rules": stands.hash,
        "head": found.head,
    }
    if as_json:
        click.echo(json.dumps(facts | {"entries": entries}, indent=1))
        return
    fields(facts)
    if entries:
        click.echo()
        table(entries, ("seq", "time", "type", "head", "says"))


@match.command("bundle")
@_match_argument
@click.argument("file", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@config_option
def bundle_(number: int, file: Path, config_file: Path) -> None:
    """Write the bundle of MATCH to FILE, with the papers of its finished games: some are too long for a letter."""
    with opened(config_file) as store:
        archive = _archive(store)
        found, row = _loaded(archive, number)
        if not found.seq:
            raise click.ClickException(f"m{number} has not begun.")
        content = archive.bundle(found, row)
    file.write_bytes(content)
    click.echo(f"{file} has the proof of {found.id}: `pbem verify {file}`.")


def _archive(store: OperatorsStore) -> MatchRepository:
    return MatchRepository(Matches(store.database, store.vault), People(store.database), store.config.server)


def waiting(store: OperatorsStore) -> list[dict[str, str]]:
    """The matches that wait for somebody, the longest idle first: for whom, since when, until when."""
    rows = sorted(all_matches(store.database), key=itemgetter("last"))
    archive = _archive(store)
    found = [(row, _loaded(archive, int(row["match"][1:]))[0]) for row in rows[:_LONGEST]]
    return [
        {
            "match": row["match"],
            "turn": _turn(match),
            "waits for": ", ".join(asked),
            "since": row["last"],
            "until": min(filter(None, asked.values()), default=""),
        }
        for row, match in found
        if (asked := _asked(match))
    ]


def _asked(match: Match) -> dict[str, str | None]:
    """The players for whom a match waits, each with the deadline."""
    return {own.player: own.deadline for seat in match.seats if (own := view(match, seat)).asked and own.player}


def _turn(match: Match) -> str:
    stands = view(match, 0)
    return f"turn {stands.turn}" if stands.phase == "playing" else stands.phase


def _loaded(archive: MatchRepository, number: int) -> tuple[Match, MatchRow]:
    loaded = archive.load(number)
    if loaded is None:
        raise click.ClickException(f"There is no match m{number}.")
    return loaded


def _told(entry: Entry) -> dict[str, object]:
    return {
        "seq": entry.seq,
        "time": entry.time,
        "type": entry.type,
        "head": entry.head[:16],
        "says": _says(entry),
    }


def _says(entry: Entry) -> str:
    """The parts of an entry that are neither hashes nor lists; a flag that is set by its name alone."""
    shown = ((key, value) for key, value in entry.body.items() if isinstance(value, str | int) and value is not False)
    return ", ".join(key if value is True else f"{key} {value}" for key, value in shown if len(str(value)) < 64)


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
