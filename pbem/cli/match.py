"""`pbem match` and `pbem tournament`: both as the operator may see and control them. Thin: the desk obeys.

Secrets (setups, orders) are shown only on demand, and with a warning.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.cli.common import as_json, config_option, fields, listed, opened, table
from pbem.desk.match_archive import MatchRepository
from pbem.desk.tournament_archive import TournamentRepository
from pbem.match.transcript import Entry
from pbem.match.view import view
from pbem.proof import bundle
from pbem.store.matches import Matches
from pbem.store.operator import matches as all_matches
from pbem.store.operator import paused_by_restore
from pbem.store.people import People
from pbem.store.tournament_rows import Tournaments

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.match.state import Match
    from pbem.server.operators_store import OperatorsStore

SECRETS = (
    "This shows setups and orders that nobody else may know while the game runs. An operator who tells a player"
    " breaks the game, and no signature shows it. Play in no match that you looked into."
)


def _number(_context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """The number of a match, written as m17 or 17, or of a tournament."""
    if value is None:
        return None
    what = str(parameter.metavar).lower()
    digits = value.lower().removeprefix(what[0])
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        raise click.BadParameter(f"{value} is no {what}; write one such as {what[0]}17")
    return int(digits)


_match_argument = click.argument("number", metavar="MATCH", callback=_number)
_tournament_argument = click.argument("number", metavar="TOURNAMENT", callback=_number)


def _reason(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.UsageError("The reason is empty.")
    return value


def _reason_option(
    why: str = "Why: the reason is in the transcript for ever, and in a letter to every player.",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option("--reason", required=True, callback=_reason, help=why)


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
        stands = view(found, 0)
        hidden = _secrets(store, number) if secrets else []
    turn = f", turn {stands.turn}" if stands.turn else ""
    facts = {
        "match": stands.match,
        "game": stands.rules,
        "kind": found.terms.kind,
        "players": [f"{seat} {name}" for seat, name in stands.names.items()],
        "phase": stands.phase,
        "paused": found.paused,
        "at": f"game {stands.game}{turn}" if stands.game else "",
        "waits for": [own.player for seat in found.seats if (own := view(found, seat)).asked],
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


def _found(store: OperatorsStore, number: int) -> tuple[Match, list[dict[str, object]]]:
    matches = Matches(store.database, store.vault)
    # Nothing is written here, and so nothing is signed.
    archive = MatchRepository(matches, People(store.database), store.config.server, lambda _: b"", "")
    loaded = archive.load(number)
    if loaded is None:
        raise click.ClickException(f"There is no match m{number}.")
    entries = [Entry.read(row.entry) for row in archive.matches.entries(number)]
    told = [
        {"seq": entry.seq, "time": entry.time, "type": entry.type, "head": entry.head[:16], "says": _says(entry)}
        for entry in entries
    ]
    return loaded[0], told


def _secrets(store: OperatorsStore, number: int) -> list[dict[str, object]]:
    return [
        {
            "game": game,
            "turn": turn or "setup",
            "seat": seat,
            "rev": content["rev"],
            "standing": "yes" if content["standing"] else "withdrawn",
            "text": " / ".join(content["text"].split("\n")),
        }
        for (game, turn, seat), content in Matches(store.database, store.vault).submitted(number).items()
    ]


def _says(entry: Entry) -> str:
    """The parts of an entry that are neither hashes nor lists; a flag that is set by its name alone."""
    shown = ((key, value) for key, value in entry.body.items() if isinstance(value, str | int) and value is not False)
    return ", ".join(key if value is True else f"{key} {value}" for key, value in shown if len(str(value)) < 64)


def _instruction(group: click.Group, what: str, says: str) -> click.Command:
    """A command by which the operator instructs the desk about a match or a tournament."""
    of_match = group is match

    @group.command(what, help=says)
    @(_match_argument if of_match else _tournament_argument)
    @(_reason_option() if of_match else _reason_option("Why, for your own record."))
    @config_option
    def instructed(number: int, reason: str, config_file: Path) -> None:
        about = (number, None) if of_match else (None, number)
        with opened(config_file) as store:
            click.echo(f"{store.instruct(what, about[0], reason, tournament=about[1])}.")

    return instructed


@match.command()
@click.argument("number", metavar="MATCH", callback=_number, required=False)
@click.option("--all", "everything", is_flag=True, help="All matches that stand still only because of a restore.")
@_reason_option()
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
            click.echo(f"{store.instruct('resume', each, reason)}.")


_instruction(match, "pause", "Pause MATCH: what players send is kept; nothing begins, resolves or runs out.")
click.confirmation_option(prompt="The game is abandoned and its secrets are revealed. Shall the match end?")(
    _instruction(match, "end", "End MATCH for good: a game under way is abandoned and revealed, and nobody wins.")
)


@click.group()
def tournament() -> None:
    """Tournaments: list them; pause or resume one, or rule on it."""


@tournament.command("list")
@config_option
@click.option("--all", "everything", is_flag=True, help="Also those that have ended.")
@as_json
def list_tournaments(config_file: Path, *, everything: bool, as_json: bool) -> None:
    """List the tournaments that are open or played."""
    with opened(config_file) as store:
        rows = Tournaments(store.database, store.vault)
        archive = TournamentRepository(rows, store.config.server)
        found = [t for t in map(archive.load, rows.numbers()) if t is not None]
        shown = [
            {
                "tournament": t.id,
                "game": t.terms.match["game"],
                "format": t.terms.format,
                "phase": t.phase,
                "paused": "yes" if rows.paused(int(t.id[1:])) else "",
                "organiser": t.organiser.name,
                "entrants": len(t.entrants),
                "matches": len([pairing for pairing in t.pairings if pairing.match]),
                "last": t.time,
            }
            for t in found
            if everything or t.phase != "ended"
        ]
    columns = ("tournament", "game", "format", "phase", "paused", "organiser", "entrants", "matches", "last")
    over = f"All tournaments ({len(found)}) have ended: `pbem tournament list --all` has them."
    listed(shown, columns, over if found else "There are no tournaments.", as_json=as_json)


@tournament.command()
@_tournament_argument
@click.argument("words", nargs=-1, required=True, metavar="annul MATCH|substitute PLAYER for PLAYER|close")
@_reason_option()
@config_option
def rule(number: int, words: tuple[str, ...], reason: str, config_file: Path) -> None:
    """Rule on TOURNAMENT, as its organiser may by letter: table and proof show it as the operator's bare word.

    `annul m17` takes a match out of the table, `substitute dave for bob` lets dave enter in bob's place, `close` ends
    the tournament. On a match of the organiser's own, only you may rule.
    """
    with opened(config_file) as store:
        click.echo(f"{store.instruct('rule', None, reason, tournament=number, ruling=' '.join(words))}.")


_instruction(
    tournament,
    "pause",
    "Pause TOURNAMENT: it does not start, and no round begins because of the time. Matches under way are not paused.",
)
_instruction(tournament, "resume", "Resume TOURNAMENT: whatever became due meanwhile happens now.")
