"""Matches as `pbem play` shows them: the list of all, whose move it is, and the boards of one."""

from __future__ import annotations

import re
import shlex
import sqlite3
from datetime import datetime
from typing import TYPE_CHECKING

import click

from pbem.cli.play.terminal_boards import drawn, in_lines, shaped, width
from pbem.games import GAMES, parts, rules
from pbem.games.outside import PACKAGES, coded, not_enabled
from pbem.phrase import Span, clean
from pbem.player import forms
from pbem.player.correspondence.judge import in_words
from pbem.player.correspondence.standings import Contradiction, Impossible
from pbem.player.mail_in import NoMail
from pbem.player.play_facts import match_facts, revealed, seen, terms_of, title_of, tournament_facts
from pbem.player.results import indented, line_of
from pbem.player.secret_vault import BadSecrets
from pbem.requests import DEFAULT
from pbem.tournament.tournament_terms import LADDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pbem.games.squares import Glance
    from pbem.json_object import JsonObject
    from pbem.match.view import MatchView
    from pbem.player.memory import SentForm
    from pbem.player.play_table import PlayTable
    from pbem.tournament.tournament_state import TournamentView


_ROWS = 24
"""The lines of the smallest terminal, of which the shell's prompt has one."""
_TITLE, _LONGEST_TITLE = 34, 60
"""The columns of the titles in a list, and the longest title that is not cut."""

_PART_END = re.compile(r"(?<=[;.]) ")
_FEWEST = 4
"""The lines for what changed that are shown in any case."""

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


def list_matches(table: PlayTable) -> bool:
    """Fetch and send letters, and list all matches and alarms; returns False if the mailbox cannot be reached."""
    reached = True
    try:
        table.fetch()
        table.send()
    except NoMail as error:
        click.echo(f"No letters were fetched: {clean(str(error))}. This is known from earlier ones:", err=True)
        reached = False
    letters = table.letters
    account = table.account
    click.echo(f"{account.id}" + ("" if letters.memory.account().name else "  (not registered yet)"))
    rows = letters.matches.standings
    list_rows(table, rows)
    if not rows:
        click.echo("  No matches. pbem play new GAME OPPONENT proposes one; pbem play ask list open shows who waits.")
    mine = letters.memory.account().name
    list_tournaments(table, [told for told in letters.memory.tournaments() if told.entered or told.organiser == mine])
    for alarm in letters.memory.alarms():
        click.echo(f"ALARM {_time(alarm.time)} {alarm.match}: {line_of(alarm.said)}", err=True)
    return reached


def list_rows(table: PlayTable, standings: Sequence[MatchView]) -> None:
    """A line for each of these matches: what it is, and whose move."""
    titles = [title_of(table.letters, standing) for standing in standings]
    widest = min(max(map(len, titles), default=0), _TITLE)
    for standing, title in zip(standings, titles, strict=True):
        click.echo(_row(standing.match, title, widest, _whose(table, standing)))


def _row(about: str, title: str, widest: int, stands: str) -> str:
    """A line of a list; what does not fit goes below, where no line ends within a deadline or a command to type."""
    shown = title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 3]}..."
    line = f"  {about:5} {shown:{widest}}  {stands}".rstrip()
    if len(line) <= width():
        return line
    below = in_lines(["       ", *_PART_END.split(stands)], indent=8)
    return "\n".join([f"  {about:5} {shown}", *below])


def list_tournaments(table: PlayTable, found: Iterable[TournamentView]) -> None:
    """A line for each of these tournaments: what it is, and how the player stands in it."""
    for told in found:
        title = f"{tournament_facts(table.letters, told)['title']}, {told.format}"
        click.echo(_row(told.tournament, line_of(title), _TITLE, line_of(_standing(table, told))))


def _standing(table: PlayTable, told: TournamentView) -> str:
    """How a tournament stands for the player, in words: entries and their end, or the player's place."""
    if told.phase == "open":
        until = _until(tournament_facts(table.letters, told)["closes"], table.now())
        entered = ", you too" if told.entered else f"; to enter: pbem play enter {told.tournament}"
        return f"open{until}; {told.entrants} entered{entered}"
    points = "" if told.format == LADDER else f", {told.points} point{'' if told.points == 1 else 's'}"
    place = f"number {told.place} of {told.of}{points}" if told.place else f"{told.entrants} entered"
    if told.phase == "ended":
        return f"over: {place}"
    return f"{place}, {told.running} of your games under way" if told.entered else f"being played: {place}"


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
            winners = outcome.winners if len(outcome.winners) < len(standing.players) else ()
            names = ", ".join(standing.names[seat] for seat in winners)
            lost = f"you lost to {names}" if standing.seat and standing.seat not in winners else f"{names} won"
            who = "a draw" if not winners else "you won" if winners == (standing.seat,) else lost
            totals = [*enumerate(standing.totals, start=1)] if standing.ended else []
            scores = " : ".join(str(total) for seat, total in sorted(totals, key=lambda one: one[0] != standing.seat))
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
    return f", until {_time(deadline)}" + (f" ({Span(left)} left)" if left > 0 else " (over)")


def _time(moment: str) -> str:
    """A moment, as this machine's clock shows it."""
    return f"{datetime.fromisoformat(moment).astimezone():%a %d %b %H:%M}"


def show(table: PlayTable, standing: MatchView, *, full: bool = False) -> None:
    """A match in the 24 lines of a terminal, or what it waits for; in full: everything, as in letters."""
    if standing.rules not in GAMES:
        raise Impossible(f"{standing.match} cannot be shown: {not_enabled(standing.rules)}.")
    try:
        _show_letters(table, standing, full=full)
    except (BadSecrets, BrokenPipeError, Contradiction, Impossible, sqlite3.Error):
        raise
    except Exception as error:  # the server may have sent anything
        said = f"The letters about {standing.match} cannot be shown. `pbem play letter {standing.match}` prints it."
        raise Impossible(said) from error


def _show_letters(table: PlayTable, standing: MatchView, *, full: bool) -> None:
    from pbem.letters.render import Templates

    letters = table.letters
    name, game, seat = standing.match, standing.rules, standing.seat
    names = standing.names

    def display(template: str, **facts: object) -> None:
        text = Templates().render(f"player/{template}.txt", rules=game, seat=seat, **facts)
        click.echo(clean(text.rstrip("\n")))

    click.echo("\n".join(in_lines(f"{title_of(letters, standing)}, {name}: {_whose(table, standing)}".split())))
    sent = letters.matches.pending(name) if standing.phase in {"setup", "playing"} else None
    found = None if standing.phase == "setup" else seen(table.agent, standing)
    glance = None if full or found is None else parts.glance(rules(game), found["view"], names)
    if standing.phase == "setup":
        asked = letters.matches.setup_asked(name)
        click.echo(f"You are {names[seat]}, seat {seat}.\n")
        display("setup", options=asked["options"])
        called = _called(table, name)
        click.echo(f"\nSend it: {called} setup {name} LINE LINE ..., or --random, or --from FILE,")
        click.echo(f"or on the page: {called} {name} --open")
    elif found is not None and glance is not None:
        _show_position(table, standing, found, glance, sent, display)
    elif found is not None:
        click.echo(f"You are {names[seat]}, seat {seat}.\n")
        display("match", names=names, reports=found["reports"], view=found["view"])
    elif standing.agreement:
        click.echo(clean(Templates().render("letters/terms.txt", m=terms_of(letters, standing))))
        if (agreed := letters.matches.terms(name).rules_package) != (here := PACKAGES.get(game)):
            click.echo(f"Careful: here is {coded(here)}; the server plays by {coded(agreed)}.")
    if sent is not None and glance is None:
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


def _show_position(
    table: PlayTable,
    standing: MatchView,
    found: JsonObject,
    glance: Glance,
    sent: SentForm | None,
    display: Callable[..., None],
) -> None:
    """The position in the lines of a terminal, with what was ordered or may be; or the end."""
    names, seat, game = standing.names, standing.seat, rules(standing.rules)
    if standing.phase == "closed" and (views := revealed(table.letters, standing.match)) is not None:
        _show_glance([], parts.end_at_a_glance(game, views, names, seat) or glance, _what_next(table, standing))
        return
    changed = []
    if found["reports"]:
        display("headline", names=names, reports=found["reports"])
        for line in parts.in_brief(game, found["reports"], seat, names):
            changed += in_lines(f"{line.label}: {'; '.join(line.parts)}".split(), indent=2)
    next_ = _what_to_order(table, standing, glance) if sent is None else _what_was_ordered(table, sent)
    _show_glance(changed, glance, next_)


def _show_glance(changed: Sequence[str], glance: Glance, next_: Sequence[str]) -> None:
    """Show the changes, the boards, and the next commands; and as far as there is room, the meaning of the signs."""
    boards, signs = [*drawn(glance)], shaped("\n".join(in_lines(glance.signs, "  "))).split("\n")
    # The prompt, the match and the headline have a line each; boards without end hide nothing of what changed.
    room = _ROWS - 3 - len(boards) - len(next_)
    if len(changed) > max(room, _FEWEST):
        changed = [*changed[: max(room, _FEWEST) - 1], "  ... (--full says it all)"]
    lines = [*changed, *boards, *signs[: max(0, room - len(changed))]]
    click.echo("\n".join([*lines, *next_]))


def _what_was_ordered(table: PlayTable, sent: SentForm) -> list[str]:
    """The lines about orders that were given, which others may still replace."""
    said = f"Yours ({_STATES[sent.state]}): {forms.text_of(sent.form)}"
    return [
        *in_lines(said.split(), indent=2),
        f"  {_called(table, sent.match)} {sent.match} --full    shows all of it",
    ]


def _what_to_order(table: PlayTable, standing: MatchView, glance: Glance) -> list[str]:
    """The lines about orders that are due, with an example."""
    called = f"  {_called(table, standing.match)} {standing.match}"
    if not glance.due:
        return [f"{called} --full    shows all of it"]
    due = in_lines(f"{glance.due.label}: {', '.join(glance.due.parts)}".split(), indent=2)
    return [*due, f"{called} {shlex.join(map(clean, glance.example))}    (--full explains it)"]


def how_to_write(table: PlayTable, standing: MatchView) -> list[str]:
    """The lines that show a player whose orders were refused how orders are written, with an example."""
    called, match = _called(table, standing.match), standing.match
    if standing.phase == "setup":
        return [f"{called} setup {match}    shows how a setup is written; --random makes one"]
    found = seen(table.agent, standing)
    glance = found and parts.glance(rules(standing.rules), found["view"], standing.names)
    if not glance:
        return [f"{called} {match} --full    shows what may be ordered"]
    meaning = []
    if example := glance.example:
        _, judged, _ = table.read(standing, [" ".join(example), "\n".join(example)])
        said = "; ".join(map(str, in_words(standing.rules, judged)))
        meaning = in_lines(f"which is: {said}".split(), indent=2)
    return [*_what_to_order(table, standing, glance), *meaning]


def _what_next(table: PlayTable, standing: MatchView) -> list[str]:
    """The commands that are of use once a match is over."""
    others = " ".join(name for seat, name in standing.names.items() if seat != standing.seat)
    called, match = _called(table, standing.match), standing.match
    again = f"{_play()} try {standing.rules}" if table.at_home else f"{_called(table)} new {standing.rules} {others}"
    rows = {"Again": again, "See each turn": f"{called} {match} --open", "Check it all": f"{called} verify {match}"}
    return [f"{what:13}  {command}" for what, command in rows.items()]


def _called(table: PlayTable, match: str = "") -> str:
    """The command for this account, which must be named if a match alone, or nothing, does not mean it."""
    name = table.account.id
    meant = table.meant_by(match) if match else table.folders.usual
    return _play() if meant == [name] else f"{_play()} --account {name}"


def _play() -> str:
    """The command that plays with the games of other packages that are enabled here."""
    return " ".join(["pbem", *(f"--game {game}" for game in PACKAGES), "play"])


def when(turn: int) -> str:
    """The turn for which orders are, or the turns for which default orders are."""
    return f"turn {turn}" if turn != DEFAULT else "whenever you miss a turn"
