"""Information for anybody: help from the table of commands, games and their rules, standings, matches to watch.

Implements protocol.md, "Commands" (`help`, `games`, `rules`, `observe`, `unobserve`, `standings`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk import account_keys, bulletin
from pbem.desk.caller import Caller, refused
from pbem.desk.outcomes import Reply
from pbem.desk.ratings import PROVISIONAL, tables
from pbem.desk.seats import Seats, number_of
from pbem.games import BUILT_IN, GAMES, Fault, Refused, rules, titles
from pbem.letters.draft import OutgoingLetter
from pbem.mail.commands import COMMANDS, Command
from pbem.match.state import RUNNING
from pbem.pages import served
from pbem.phrase import Phrase
from pbem.store.database import to_db

if TYPE_CHECKING:
    from pbem.config.server import Config
    from pbem.desk.letter_writer import LetterWriter
    from pbem.letters.draft import Facts
    from pbem.requests import AskHelp, ListGames, MailRules, Observe, ShowStandings, Unobserve
    from pbem.store.people import People

_TOPICS = {spec.name.partition(" ")[0]: spec.topic for spec in COMMANDS.values() if spec.topic}
"""The topics that help tells of together, by the first words of their commands."""


_RANKED = 50
"""The most players of a game that the standings show."""


def explain(config: Config, options: Facts, _caller: Caller, command: Command[AskHelp]) -> Reply:
    """`help`: one command, a topic, a game, or how to begin and all commands."""
    topic, pages = command.request.topic, config.pages
    if topic is None:
        return Reply("help", {"commands": COMMANDS.values(), "games": titles(), "pages": served(pages, "index")})
    spec = COMMANDS.get(topic)
    if spec is not None and spec.topic is None:
        return Reply("help_command", {"form": spec, **options, "games": titles()})
    if topic in {"signing", "mailbox"}:
        return Reply(f"help_{topic}")
    topic = _TOPICS.get(topic.partition(" ")[0], topic)
    if forms := [one for one in COMMANDS.values() if one.topic == topic]:
        return Reply(f"help_{topic}", {"forms": forms, "delay": account_keys.delay(config)})
    if topic in GAMES:
        page = served(pages, topic) if topic in BUILT_IN else {}
        return Reply("help_game", {"name": topic, "title": rules(topic).title, "page": page})
    raise refused("help", topic, Phrase("no such command; `help` alone lists them all"))


def games(_caller: Caller, _command: Command[ListGames]) -> Reply:
    """`games`: the games that are played here."""
    return Reply("games", {"games": titles()})


def mail_rules(letters: LetterWriter, _caller: Caller, command: Command[MailRules]) -> Reply:
    """`rules`: the rules of a game, in a separate letter."""
    game = command.request.rules
    if game not in GAMES:
        raise Refused(no_such_game("rules", game))
    subject = Phrase("[pbem] The rules of {title}", title=rules(game).title)
    out = OutgoingLetter(subject, letters.template(f"{game}/rules.txt"), bulletin=[bulletin.of_rules(game)])
    return Reply("rules", {"title": rules(game).title}, letters=[out])


def no_such_game(command: str, game: str) -> Fault:
    """The fault of a game that is not played here."""
    return Fault(command, game, Phrase("no such game; there are: {games}", games=", ".join(GAMES)))


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
    people.opt_in(caller.addresses)
    people.observe(row.number, caller.known_player.name, to_db(caller.now))
    return Reply("observe", {"m": seats.match_letters.view(match, row), "view": match.view(None)})


def unobserve(people: People, caller: Caller, command: Command[Unobserve]) -> Reply:
    """`unobserve`: the caller no longer observes it."""
    if not people.unobserve(number_of(command), caller.known_player.name):
        raise refused("unobserve", command.match, Phrase("you do not watch this match"))
    return Reply("unobserve", {"name": command.match})


def standings(people: People, _caller: Caller, _command: Command[ShowStandings]) -> Reply:
    """`standings`: the best rated players of each game that was played, among people and with programs."""
    return Reply("standings", {"tables": tables(people, _RANKED), "few": PROVISIONAL})
