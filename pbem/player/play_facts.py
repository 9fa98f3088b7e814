"""The state of matches as JSON, for `pbem play` and for its page, which put it into words."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from pbem.games import GAMES, parts, rules
from pbem.mail.calendar import Appointment
from pbem.match import record
from pbem.match.state import RUNNING
from pbem.match.transcript import utc
from pbem.match.view import OVER, TermsView
from pbem.phrase import Moment, clean
from pbem.player.correspondence.standings import Impossible
from pbem.player.player_modes import matches_like
from pbem.player.results import line_of
from pbem.proof import bundle
from pbem.tournament.tournament_terms import LADDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pbem.json_object import JsonObject
    from pbem.letters.render import Templates
    from pbem.match.view import MatchView
    from pbem.player.correspondence import Correspondence
    from pbem.player.sealed_agent import Agent
    from pbem.tournament.tournament_state import TournamentView


def account_facts(agent: Agent, now: datetime) -> JsonObject:
    """An account with all its matches, and its alarms."""
    letters, memory = agent.letters, agent.memory
    return {
        "account": letters.account.id,
        "registered": memory.account().name is not None,
        "key": bool(letters.account.key),
        "matches": [match_facts(agent, standing, now) for standing in reversed(letters.matches.standings)],
        "tournaments": [tournament_facts(letters, told) for told in reversed(memory.tournaments())],
        "alarms": [{"match": alarm.match, "said": alarm.said} for alarm in memory.alarms()],
    }


def match_facts(agent: Agent, standing: MatchView, now: datetime) -> JsonObject:
    """A match in a line: what it is, whose move, until when, and how it ended: who won it, "" for a draw."""
    match, outcome = standing.match, standing.outcome
    letters, matches, own = agent.letters, agent.letters.matches, matches_like(standing, agent)
    asks = own.asks(standing)
    programs, sent = matches.programs, matches.pending(match)
    others = [name for seat, name in enumerate(standing.players, start=1) if seat != standing.seat]
    winners = outcome.winners if outcome and len(outcome.winners) < len(standing.players) else ()
    return {
        **msgspec.to_builtins(standing, str_keys=True),
        "title": standing.title,
        "others": [{"name": name or "", "program": name in programs} for name in others],
        "asked": asks,
        "sent": sent.state if sent else "",
        "yours": sent.form if sent else "",
        "reveal": asks and standing.revealing,
        "accused": agent.held.accused(match) or "",
        **own.in_advance(standing, now),
        "winner": ", ".join(standing.names[seat] for seat in winners) if outcome else None,
        "scores": standing.totals if standing.ended else [],
        "bundle": letters.memory.bundle(match) is not None,
    }


def tournament_facts(letters: Correspondence, told: TournamentView) -> JsonObject:
    """A tournament in a line: what it is, and how the player stands in it."""
    title = str(rules(told.rules).title) if told.rules in GAMES else told.rules
    names = ("tournament", "seq", "format", "phase", "entrants", "entered", "place", "of", "points", "running")
    terms = told.terms_for(letters.account.server)
    return {"title": title, "closes": terms and terms.closes, **{name: getattr(told, name) for name in names}}


def composed(agent: Agent, standing: MatchView) -> JsonObject | None:
    """The composer's facts for a setup or orders that are due, or may be replaced; None if none are."""
    try:
        return (matches_like(standing, agent).to_compose(standing) or None) if standing.phase in RUNNING else None
    except Impossible:
        return None


def seen(agent: Agent, standing: MatchView) -> JsonObject | None:
    """The latest position that the player knows, with the reports of the turn before; None if there is none."""
    return matches_like(standing, agent).seen(standing) if standing.phase in {"playing", "closed"} else None


def revealed(letters: Correspondence, match: str) -> dict[int, Mapping[str, object]] | None:
    """The end of a match's last game as each seat saw it, from the bundle; None until that has come."""
    content = letters.memory.bundle(match)
    if content is None:
        return None
    papers = bundle.read(content).papers
    records = [record.read(papers[name].decode()) for name in papers if name.startswith("records/")]
    last = max(records, key=lambda game: game.round or 0, default=None)
    if last is None:
        return None
    played = list(record.replayed(last))
    _, _, state = played[-1]
    return parts.views(rules(last.game), state, len(last.seats), [reports for _, reports, _ in played[1:]])


# In words, for the terminal and for the templates of the page.


def title_of(letters: Correspondence, standing: MatchView) -> str:
    """The game of a match, and the other players."""
    programs = letters.matches.programs
    others = [
        f"{name} (a program)" if name in programs else name
        for seat, name in standing.names.items()
        if seat != standing.seat
    ]
    return line_of(f"{standing.title} with {', '.join(others)}" if others else standing.title)


def deadlines(letters: Correspondence) -> Iterator[Appointment]:
    """The deadlines of the matches that are not over, for a calendar."""
    server = letters.account.server
    for standing in letters.matches.standings:
        if standing.deadline is None or standing.phase in OVER:
            continue
        what = "reveal" if standing.reveals else f"turn {standing.turn}"
        what = "setup" if standing.phase == "setup" else what
        summary = f"{title_of(letters, standing)}, {standing.match}: {what}"
        told = f"To be sent to {standing.address}"
        time = datetime.fromisoformat(standing.deadline)
        place = server, standing.match, standing.game, what.replace(" ", "-"), standing.seat
        yield Appointment(*place, summary, told, time, standing.seq)


def terms_of(letters: Correspondence, standing: MatchView) -> TermsView:
    """The terms of a match, for the template of letters."""
    levels = dict.fromkeys(standing.names)
    return TermsView(**msgspec.structs.asdict(standing), terms=letters.matches.terms(standing.match), levels=levels)


def tournament_terms(letters: Correspondence, name: str, templates: Templates) -> tuple[str, str]:
    """The terms of a tournament in words, and their hash, which was computed from these; raises `Impossible`."""
    told = letters.memory.tournament(name)
    if told is None:
        raise Impossible("The terms of {tournament} have not come: when they have, say this again.", tournament=name)
    terms = told.terms_for(letters.account.server)
    if terms is None:
        raise Impossible(
            "The hash that the server gives for {tournament} is not that of its terms: do not enter it.",
            tournament=name,
        )
    try:
        matches = terms.of_matches
        facts = {"id": name, "organiser": told.organiser, "format": terms.format, "terms": terms, "hash": told.hash}
        facts |= {
            "closes": Moment(utc(terms.closes)) if terms.closes else None,
            "m": {"match": None, "title": rules(matches.game).title, "terms": matches, "phase": "open"},
        }
        begun = told.phase != "open" and terms.format != LADDER
        text = templates.render("player/tournament.txt", t=facts, entrants=told.entrants, begun=begun)
    except Exception as error:  # the server may have sent anything
        raise Impossible("The terms of {tournament} cannot be shown: do not enter it.", tournament=name) from error
    return clean(text.rstrip("\n")) + "\n", told.hash
