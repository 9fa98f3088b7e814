"""Past and present of matches: lists, all on one page, the diary, reports, transcripts and record sheets.

The answers come from what everybody may know (the transcript, who wrote when) and from the reader's own seat. They
tell nothing of another seat's orders, nor whether there are any. Implements protocol.md, "Commands" (`list`,
`status`, `diary`, `report`, `transcript`, `sheet`).
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from pbem.desk import bulletin
from pbem.desk.caller import Caller, refused
from pbem.desk.commands import orders
from pbem.desk.commands.help import no_such_game
from pbem.desk.commands.proposals import is_blocked
from pbem.desk.match_archive import at_rest
from pbem.desk.outcomes import NOT_REGISTERED, Reply
from pbem.desk.seats import SeatContext, Seats, seat_at, seated_at
from pbem.games import GAMES, Refused, part_of, rules
from pbem.json_object import JsonObject
from pbem.match import events
from pbem.match.naming import hides_players, seen_by
from pbem.match.state import AGREEING, RUNNING
from pbem.match.transcript import Entry, written
from pbem.match.view import MatchView, view
from pbem.pages import served
from pbem.phrase import Phrase
from pbem.store.database import from_db

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pbem.desk.letter_writer import LetterWriter
    from pbem.desk.match_archive import MatchRepository
    from pbem.desk.match_environment import OutagesAndZones
    from pbem.desk.match_letters import MatchLetters
    from pbem.letters.draft import Facts
    from pbem.mail.commands import Command
    from pbem.match.state import Match
    from pbem.requests import ListMatches, MailReports, MailSheet, MailTranscript, ShowDiary, ShowStatus
    from pbem.store.matches import Matches
    from pbem.store.people import People

_READ = 50
"""The most matches of a player whose state one answer tells."""

_NAMED = 200
"""The most of a player's own matches that the list names, beside those under way."""

_LISTED = 50
"""The most matches that the open list shows."""

_NO_BOARDS = Phrase("this game has no boards")


def status(seats: Seats, caller: Caller, command: Command[ShowStatus]) -> Reply:
    """`status`: what is stored and awaited in a match, or all matches of the player."""
    name = caller.known_player.name
    if command.match:
        seated = seated_at(seats, command, name, caller.now)
        match, seat = seated.match, seated.seat
        facts = {
            "stored": orders.stored(match, seat),
            "rev_of_next": after.rev + 1 if (after := match.submission(seat, match.turn + 1)) else 1,
            "view": match.view(seat),
        }
        return Reply("status", facts | seated.facts(), at=seated)
    # Those under way first, and what is due in each; the others are counted.
    of_player = seats.archive.matches.of_player
    told = [*of_player(name, RUNNING), *of_player(name, AGREEING)]
    # To read one may mean to replay it, while the store is locked; and anybody may propose one to the player.
    matches = [seat_at(seats, number, name).facts()["m"] for number in told[:_READ]]
    matches.sort(key=lambda m: not m.asked)
    counted = {"more": len(told) - len(matches), "over": len(of_player(name)) - len(told)}
    return Reply("status_all", {"matches": matches, **counted})


def diary(
    matches: Matches, time: OutagesAndZones, seated: SeatContext, caller: Caller, _: Command[ShowDiary]
) -> Reply:
    """`diary`: what happened in a match, and when, in the reader's own zone."""
    if not seated.match.seq:
        raise refused("diary", seated.match.id, Phrase("nothing has happened yet: not everybody has accepted"))
    zone = time.zone(caller.known_player.name)
    days: dict[str, list[Facts]] = {}
    for moment, line in sorted(_happenings(matches, seated), key=itemgetter(0)):
        local = moment.astimezone(ZoneInfo(zone))
        days.setdefault(f"{local:%Y-%m-%d}", []).append({"clock": f"{local:%H:%M}", **line})
    return Reply("diary", {"days": days, "zone": zone} | seated.facts(), at=seated)


def _happenings(matches: Matches, seated: SeatContext) -> Iterator[tuple[datetime, Facts]]:
    """The lines of the diary: the type of an entry, or `press`; what it says; and who sat where."""
    match, hidden, names = seated.match, hides_players(seated.match), dict[int, str]()
    shown = seen_by(match, seated.seat).names
    for row in matches.entries(seated.row.number):
        entry = Entry.read(row.entry)
        if hidden and events.TYPES[entry.type].of_player:
            continue
        if entry.type == "agreed":
            names = {int(seat): player["name"] for seat, player in entry.body["players"].items()}
            names = dict(enumerate(shown, start=1)) if hidden else names
        if not events.TYPES[entry.type].silent:
            yield from_db(entry.time), {"kind": entry.type, "body": entry.body, "names": dict(names)}
        if entry.type == "substituted":
            names[entry.body["seat"]] = entry.body["player"]["name"]
    # Of a player who has left a hidden seat since, nothing is told.
    here = dict(zip(match.names, shown, strict=True)) if hidden else {}
    for player, time in matches.press_times(seated.row.number):
        if not hidden or player in here:
            yield from_db(time), {"kind": "press", "body": {"by": here.get(player, player)}, "names": {}}


def report(letters: MatchLetters, seated: SeatContext, _caller: Caller, command: Command[MailReports]) -> Reply:
    """`report`: reports of turns are sent again."""
    match, request = seated.match, command.request
    kept = letters.files_of(match)
    game = kept.latest_game(match) if request.game is None else request.game
    last = match.games[game - 1].turns if 1 <= game <= len(match.games) else len(match.turns)
    wanted = [last if request.turn is None else request.turn]
    if request.all:
        wanted = list(range(1, last + 1))
    letter = letters.old_turns(match, seated.row, seated.seat, game, wanted)
    files, again = kept.again(letters, match, seated.row, seated.seat, game)
    if letter is None and not files:
        raise refused("report", None, Phrase("there is no report of that turn of game {game}", game=game))
    facts = {"count": len(letter.attachments) if letter else 0, "state": bool(files)}
    return Reply("report", facts | seated.facts(), files, seated, [*([letter] if letter else ()), *again])


def transcript(
    archive: MatchRepository, letters: MatchLetters, seated: SeatContext, _caller: Caller, _: Command[MailTranscript]
) -> Reply:
    """`transcript`: the bundle of a match, as its seat may see it."""
    if not seated.match.seq:
        raise refused("transcript", seated.match.id, Phrase("the transcript begins when everybody has accepted"))
    if hides_players(seated.match):
        raise refused(
            "transcript", seated.match.id, Phrase("it names the players: you get it once the match is over")
        )
    match, row, seat = seated.match, seated.row, seated.seat
    name, content = f"{match.id}.pbem.zip", archive.bundle(match, row, seat)
    apart = letters.proof(match, row, seat, match, (name, content))
    facts = {"file_name": name, "apart": apart is not None} | seated.facts()
    if apart is not None:
        return Reply("transcript", facts, at=seated, letters=[apart])
    return Reply("transcript", facts, [(name, "application/zip", content)], seated)


def sheet(seats: Seats, letters: LetterWriter, caller: Caller, command: Command[MailSheet]) -> Reply:
    """`sheet`: a record sheet to print, for a game or for a match."""
    if command.match is not None:
        return _filled_sheet(seats, letters, caller, command)
    game = command.request.rules
    if game not in GAMES:
        raise Refused(no_such_game("sheet", game))
    if part_of(game, "boards") is None:
        raise refused("sheet", game, _NO_BOARDS)
    title, name = rules(game).title, f"{game}-sheet.pdf"
    content = partial(letters.blank_sheet, game, title, caller.language)
    return Reply("sheet", {"title": title, "file_name": name, "m": None}, [(name, "application/pdf", content)])


def _filled_sheet(seats: Seats, letters: LetterWriter, caller: Caller, command: Command[MailSheet]) -> Reply:
    """The sheet of a match as its player would have kept it: what the reports told, and the player's orders."""
    if caller.player is None:
        raise refused("sheet", command.match, NOT_REGISTERED)
    seated = seated_at(seats, command, caller.player.name, caller.now)
    match, boards = seated.match, part_of(seated.match.terms.game, "boards")
    view = match.view(seated.seat)
    if boards is None or view is None:
        early = Phrase("the game has not begun; `sheet GAME` brings an empty one")
        raise refused("sheet", match.id, early if boards else _NO_BOARDS)
    facts = seated.facts()
    mine = [turn.orders.get(seated.seat, "").split("\n") for turn in match.turns]
    title, name = match.rules.title, f"{match.id}-game-{match.game}-sheet.pdf"
    draft = letters.template(f"{match.terms.game}/sheet.txt", mine=mine, **facts)
    content = partial(letters.sheet, title, boards.boards(view), draft, caller.language)
    return Reply("sheet", {"title": title, "file_name": name} | facts, [(name, "application/pdf", content)], seated)


def list_matches(seats: Seats, people: People, pages: str, caller: Caller, command: Command[ListMatches]) -> Reply:
    """`list`: the open proposals with their pages, if these are served at `pages`, or the caller's own matches."""
    if command.request.which == "open" or caller.player is None:
        matches, items = _open(seats, people, pages, caller.player.name if caller.player else None)
        return Reply("list_open", {"matches": matches}, items=items)
    name = caller.player.name
    of_player = seats.archive.matches.of_player
    read = set(of_player(name, RUNNING)[:_READ])
    every = of_player(name)
    latest = set(every[-_NAMED:])
    told = [number for number in every if number in read | latest]
    rows = []
    for number in told:
        seated = seat_at(seats, number, name) if number in read else None
        rows.append(_stands(people, seated.match, seated.seat) if seated else _named(seats, people, number))
    return Reply("list", {"matches": rows, "more": len(every) - len(told)})


def _stands(people: People, match: Match, seat: int) -> MatchView:
    match = seen_by(match, seat)
    return view(match, seat, programs=people.programs(match.names))


def _named(seats: Seats, people: People, number: int) -> MatchView:
    """A match by its row alone: where it stands is not read."""
    return _stands(people, at_rest(seats.archive.matches.known(number)), 0)


def _open(
    seats: Seats, people: People, pages: str, reader: str | None
) -> tuple[list[dict[str, object]], list[JsonObject]]:
    """The open list in words, and for programs."""
    found, items = list[dict[str, object]](), list[JsonObject]()
    for number in people.open_matches()[:_LISTED]:
        match, _ = seats.archive.known(number)
        if reader and is_blocked(people, match, reader):
            continue
        free = [seat for seat, kept in people.free(number).items() if kept is None]
        stands = _stands(people, match, 0)
        proposer = people.standing(match.terms.game, str(stands.names[1]))
        offer = {"free": len(free), "terms": match.terms, "by": proposer, "page": served(pages, match.id)}
        found.append({"m": stands} | offer)
        since = written(from_db(seats.archive.matches.created(number)))
        items.append(bulletin.of_open(match, free, stands.programs, since))
    return found, items
