"""People around a match: observers, who get only the public view; and the standings.

Implements protocol.md, "Commands" (`observe`, `unobserve`, `standings`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.caller import Reply, refused
from pbem.desk.ratings import PROVISIONAL, tables
from pbem.desk.seats import number_of
from pbem.match.state import RUNNING
from pbem.phrase import Phrase
from pbem.store.database import to_db

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.seats import Seats
    from pbem.mail.commands import Command
    from pbem.requests import Observe, ShowStandings, Unobserve
    from pbem.store.people import People

_RANKED = 50
"""The most players of a game that the standings show."""


def observe(seats: Seats, people: People, caller: Caller, command: Command[Observe]) -> Reply:
    """`observe`: the caller observes a public match from now on."""
    name, loaded = command.match, seats.archive.load(number_of(command))
    if loaded is None or loaded[0].terms.privacy != "public" or not loaded[0].seq:
        raise refused("observe", name, Phrase("there is no such match to watch"))
    match, row = loaded
    if match.phase not in RUNNING:
        raise refused("observe", name, Phrase("this match is over, and there is nothing more to watch"))
    if match.seat_of(caller.known_player.name):
        raise refused("observe", name, Phrase("you play in it; `status` and `report` show what you may know"))
    people.opt_in(caller.address)
    people.observe(row.number, caller.known_player.name, to_db(caller.now))
    return Reply("observe", {"m": seats.match_letters.public_facts(match, row), "view": match.view(None)})


def unobserve(people: People, caller: Caller, command: Command[Unobserve]) -> Reply:
    """`unobserve`: the caller no longer observes it."""
    if not people.unobserve(number_of(command), caller.known_player.name):
        raise refused("unobserve", command.match, Phrase("you do not watch this match"))
    return Reply("unobserve", {"name": command.match})


def standings(people: People, _caller: Caller, _command: Command[ShowStandings]) -> Reply:
    """`standings`: the best rated players of each game that was played, among people and with programs."""
    return Reply("standings", {"tables": tables(people, _RANKED), "few": PROVISIONAL})
