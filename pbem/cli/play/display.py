"""Matches as `pbem play` shows them: the list of all, whose move it is, and the boards of one."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import TYPE_CHECKING

import click

from pbem.games import GAMES
from pbem.games.outside import PACKAGES, coded, not_enabled
from pbem.phrase import Span, clean
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.play_facts import match_facts, seen, terms_of, title_of
from pbem.player.results import indented, line_of
from pbem.player.secret_vault import BadSecrets
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pbem.match.view import MatchView
    from pbem.player.play_table import PlayTable


DOUBTFUL = (
    "The steps that came do not end the game. Reveal your secrets only if it ended otherwise, as by an agreed draw."
)
"""The warning if only the server says that a sealed game is over."""

_STATES = {
    "ready": "not sent yet",
    "sent": "sent, not answered yet",
    "done": "it stands",
    "bounced": "it came back",
    "here": "it waits here, and nobody else knows it",
}


def list_matches(table: PlayTable) -> None:
    """Fetch and send letters, and list all matches; and what alarms there are."""
    table.fetch()
    table.send()
    letters = table.letters
    account = table.account
    click.echo(f"{account.id}" + ("" if letters.memory.account().name else "  (not registered yet)"))
    rows = letters.matches.standings
    list_rows(table, rows)
    if not rows:
        click.echo("  No matches. pbem play new GAME OPPONENT proposes one; pbem play ask list open shows who waits.")
    for told in letters.memory.tournaments():
        is_own = told.organiser == letters.memory.account().name
        if (told.entered or is_own) and told.phase != "ended":
            running = f"{told.running} game{'' if told.running == 1 else 's'} running"
            at = f"number {told.place} of {told.of}, {running}" if told.place else f"{told.entrants} entered so far"
            if told.phase == "open" and is_own:
                at += f"; to enter: pbem play enter {told.tournament}"
            click.echo(f"  {line_of(f'{told.tournament}: {told.format}, {at}')}")
    for alarm in letters.memory.alarms():
        click.echo(f"ALARM {alarm.time} {alarm.match}: {line_of(alarm.said)}", err=True)


def list_rows(table: PlayTable, standings: Sequence[MatchView]) -> None:
    """A line for each of these matches: what it is, and whose move."""
    for standing in standings:
        click.echo(f"  {standing.match:5} {title_of(table.letters, standing):34} {_whose(table, standing)}".rstrip())


def _whose(table: PlayTable, standing: MatchView) -> str:
    """The state of a match for the player, in words: the move that is due, and its deadline."""
    match standing.phase:
        case "proposed" if standing.accepted:
            return "proposed; others have not agreed yet"
        case "proposed":
            return f"proposed: pbem play accept {standing.match}"
        case "open":
            return "on the open list"
        case "setup":
            what = f"setup of game {standing.game}"
        case "playing":
            what = f"turn {standing.turn}"
        case "closed" if (outcome := standing.outcome) is not None:
            winner = standing.players[outcome.winner - 1] if outcome.winner else ""
            who = "a draw" if not winner else "you won" if outcome.winner == standing.seat else f"{winner} won"
            scores = " : ".join(map(str, standing.totals if standing.ended else ()))
            return f"closed: {who}" + (f", {scores}" if scores else "")
        case _:
            return standing.phase
    return f"{what}: {_move(table, standing)}"


def _move(table: PlayTable, standing: MatchView) -> str:
    """The move that is due, in words."""
    match, facts = standing.match, match_facts(table.agent, standing, table.now())
    if facts["accused"]:
        return f"your agent has stopped: {line_of(facts['accused'])}. To go on anyway: pbem play take-back {match}"
    if facts["reveal"]:
        return f"the server asks for your secrets. {DOUBTFUL} Then: pbem play reveal {match}"
    said = "waiting for the others"
    if facts["asked"]:
        said = "your move"
    elif standing.asked:
        said = {"ready": "yours is not sent yet", "bounced": "yours came back: send it again"}.get(
            facts["sent"], "yours is on its way"
        )
    unused = "; what you had ordered does not count" if facts["unused"] else ""
    early = [stored["turn"] for stored in facts["stored"]]
    return said + _until(standing.deadline, table.now()) + unused + _besides(standing, early)


def _besides(standing: MatchView, early: Iterable[int]) -> str:
    """Offers, a pause, and the turns for which orders are stored, in words."""
    stored = ", ".join(f"turn {turn}" if turn else "default orders" for turn in early)
    offers = "".join(f"; {what} offered" for what in standing.offers)
    return offers + ("; paused" if standing.paused else "") + (f"; stored: {stored}" if stored else "")


def _until(deadline: str | None, now: datetime) -> str:
    if not deadline:
        return ""
    end = datetime.fromisoformat(deadline)
    left = int((end - now).total_seconds())
    return f", until {end.astimezone():%a %d %b %H:%M}" + (f" ({Span(left)} left)" if left > 0 else " (over)")


def show(table: PlayTable, standing: MatchView) -> None:
    """The boards of a match, or what it waits for."""
    if standing.rules not in GAMES:
        raise Impossible(f"{standing.match} cannot be shown: {not_enabled(standing.rules)}.")
    try:
        _show_letters(table, standing)
    except (BadSecrets, BrokenPipeError, Contradiction, Impossible, sqlite3.Error):
        raise
    except Exception as error:  # the server may have sent anything
        said = f"The letters about {standing.match} cannot be shown. `pbem play letter {standing.match}` prints it."
        raise Impossible(said) from error


def _show_letters(table: PlayTable, standing: MatchView) -> None:
    from pbem.letters.render import Templates

    letters = table.letters
    name, rules, seat = standing.match, standing.rules, standing.seat
    names = standing.names

    def display(template: str, **facts: object) -> None:
        text = Templates().render(f"player/{template}.txt", rules=rules, seat=seat, **facts)
        click.echo(clean(text.rstrip("\n")))

    click.echo(f"{title_of(letters, standing)}, {name}: {_whose(table, standing)}")
    click.echo(f"You are {names[seat]}, seat {seat}.\n")
    if standing.phase == "setup":
        asked = letters.matches.setup_asked(name)
        display("setup", options=asked["options"])
        click.echo(f"\nSend it: pbem play setup {name} LINE LINE ..., or --from FILE, or pbem play {name} --open")
    elif (found := seen(table.agent, standing)) is not None:
        display("match", names=names, reports=found["reports"], view=found["view"])
    elif standing.agreement:
        click.echo(clean(Templates().render("letters/terms.txt", m=terms_of(letters, standing))))
        if (agreed := letters.matches.terms(name).rules_package) != (here := PACKAGES.get(rules)):
            click.echo(f"Careful: here is {coded(here)}; the server plays by {coded(agreed)}.")
    if (sent := letters.matches.pending(name) if standing.phase in {"setup", "playing"} else None) is not None:
        click.echo(f"\nYours ({_STATES[sent.state]}):\n\n{indented(sent.form)}")
    facts = match_facts(table.agent, standing, table.now())
    for stored in facts["stored"]:
        state = "stored" if stored["state"] == "done" else _STATES[stored["state"]]
        click.echo(f"\nYours, {when(stored['turn'])} ({state}):\n\n{indented(stored['form'])}")
    if facts["unused"]:
        why = "" if facts["refused"] else ", as the letter about the turn says"
        click.echo(f"\nYours, but it does not count{why}:\n\n{indented(facts['unused'])}")
    for fault in facts["refused"]:
        click.echo(f"  - {line_of(fault)}")


def when(turn: int) -> str:
    """The turn for which orders are, or the turns for which default orders are."""
    return f"turn {turn}" if turn != DEFAULT else "whenever you miss a turn"
