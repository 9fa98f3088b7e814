"""Tournaments by mail: announcing one, entering and leaving it, challenges, and the organiser's rulings.

What an entry may follow on is judged by `pbem.tournament.fold`; here stands only what a register cannot know: who has
a key, who is a program, who wants to hear from whom. Implements protocol.md, "Commands", and docs/bundle.md, 12.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pbem.desk.caller import Caller, refused
from pbem.desk.outcomes import Outcome, Reply
from pbem.desk.seats import demand_leisure, find_seat, pinned
from pbem.games import Fault, Refused
from pbem.mail import commands
from pbem.match.transcript import BEFORE, canonical
from pbem.pages import served
from pbem.phrase import Phrase
from pbem.proof.normal_form import hash_of_entry_words
from pbem.requests import Rule
from pbem.store.operator import REASON
from pbem.tournament.tournament_step import SaidLetter, announce
from pbem.tournament.tournament_terms import LADDER, TournamentTerms

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from pbem.desk.seats import Seats
    from pbem.desk.tournament.tournament_director import Director
    from pbem.json_object import JsonObject
    from pbem.mail.commands import Command
    from pbem.match.pinned_keys import Player
    from pbem.requests import AnnounceTournament, ChallengePlayer, Enter, InTournament, Leave, ShowTournament
    from pbem.store.operator import Instruction
    from pbem.store.people import People
    from pbem.tournament.tournament_state import Tournament

_LETTER = 32 * 1024
"""The most octets of a letter that a tournament keeps."""

_ENTRIES, _KEYS = 10, 64 * 1024
"""The most letters of entry of one player, and the most octets of a player's keys, which each of them enters: a
transcript that is full takes no more of anybody."""

_ANNOUNCED = 3
"""The most tournaments, not over yet, that one player may have announced."""

_TOGETHER = 150
"""The most matches that may begin together: all in one transaction, while no other letter is handled."""


def new(
    director: Director,
    seats: Seats,
    settle: timedelta,
    pages: str,
    caller: Caller,
    command: Command[AnnounceTournament],
) -> Reply:
    """`tournament new`: a tournament is announced.

    `settle` is the server's default; `pages` is the address at which it serves pages, or "".
    """
    name, world = caller.known_player.name, seats.world(caller.now)
    terms = TournamentTerms.propose(command.request.rules, command.request.options, settle)
    running = map(director.archive.load, director.archive.rows.running())
    if sum(t is not None and t.organiser.name == name for t in running) >= _ANNOUNCED:
        says = Phrase("{count} tournaments of yours are not over yet", count=_ANNOUNCED)
        raise refused("tournament", "new", says)
    if terms.entrants * terms.games_at_once > terms.seats * _TOGETHER:
        says = Phrase(
            "up to {count} matches would begin together, and at most {most} may: give fewer `entrants`, or"
            " `at-once: {fewer}`",
            count=terms.entrants * terms.games_at_once // terms.seats,
            most=_TOGETHER,
            fewer=terms.seats * _TOGETHER // terms.entrants,
        )
        raise refused("entrants", str(terms.entrants), says)
    _demand_key(director, terms, name)
    number = director.archive.rows.create(BEFORE)
    secret = None if terms.format == LADDER else world.salt()
    step = announce(
        f"t{number}",
        terms,
        _player(director, seats, caller, f"t{number}"),
        _said(caller),
        server=director.server,
        server_key=world.server_key,
        version=world.version,
        secret=secret,
        now=caller.now,
        match_name=lambda: director.next_match(caller.now),
    )
    director.archive.rows.keep_secret(number, secret or "")
    director.commit(step, caller.signed)
    return _told(director, caller, step.tournament, "announced", page=served(pages, step.tournament.id))


def show(director: Director, caller: Caller, command: Command[ShowTournament]) -> Reply:
    """`tournament`: its terms, its table, and the caller's games in it."""
    return _told(director, caller, _tournament(director, command), "shown")


def enter(director: Director, seats: Seats, people: People, caller: Caller, command: Command[Enter]) -> Reply:
    """`enter`: a player accepts all matches of a tournament, takes a place as a substitute, or renews the keys."""
    t, name, given = _tournament(director, command), caller.known_player.name, command.request.hash
    if given is None:
        return _told(director, caller, t, "asked", outcome="asked")
    if given != t.rules_hash:
        raise refused("enter", given, Phrase("the hash of these terms is {rules_hash}", rules_hash=t.rules_hash))
    _demand_key(director, t.terms, name)
    if t.terms.programs == "no" and people.is_program(name):
        raise refused("enter", t.id, Phrase("programs may not enter this tournament"))
    if t.entered.get(name, 0) >= _ENTRIES:
        says = Phrase("{name} has entered {most} times, and may not again", name=name, most=_ENTRIES)
        raise refused("enter", t.id, says)
    if t.entrant_of(name) is None:
        demand_leisure(seats, name, director.to_begin(name) + t.terms.games_at_once)
    people.opt_in(caller.addresses)
    director.begin_matches(seats, t, caller.now, name)
    step = director.step(t, caller.now)
    step.enter(_player(director, seats, caller, t.id), command.request.team, _said(caller))
    director.archive.rows.forget_keys(t.number, name)
    director.commit(step, caller.signed)
    return _told(director, caller, step.tournament, "entered")


def leave(director: Director, caller: Caller, command: Command[Leave]) -> Reply:
    """`leave`: a player leaves, before the lot or after it."""
    t, name = _tournament(director, command), caller.known_player.name
    _demand_entered(director, t, name, caller)
    step = director.step(t, caller.now)
    step.leave(name, _said(caller))
    director.commit(step, caller.signed)
    return _told(director, caller, step.tournament, "left")


def challenge(director: Director, seats: Seats, caller: Caller, command: Command[ChallengePlayer]) -> Reply:
    """`challenge`: a match for a place of a ladder begins.

    Neither blocks nor other matches of the challenged player matter: they would keep a place from everybody else.
    """
    name, against = caller.known_player.name, command.request.name
    t = _tournament(director, command)
    _demand_entered(director, t, name, caller)
    demand_leisure(seats, name)
    step = director.step(t, caller.now)
    step.challenge(name, against, _said(caller))
    director.commit(step, caller.signed)
    return _told(director, caller, step.tournament, "challenged")


def rule(director: Director, seats: Seats, caller: Caller, command: Command[Rule]) -> Reply:
    """`rule`: the organiser's bare word, which the table shows as such."""
    t, asked = _tournament(director, command), command.request
    if caller.known_player.name != t.organiser.name:
        raise refused(
            "rule", t.id, Phrase("only {organiser}, who announced it, may rule", organiser=t.organiser.name)
        )
    faults = [Fault("rule", key, Phrase("a ruling has one line: reason")) for key in asked.options if key != "reason"]
    reason = asked.options.get("reason", "")
    if not 0 < len(reason) <= REASON:
        says = Phrase("say why, below the ruling: `reason:`, up to {most} characters, and `end`", most=REASON)
        faults.append(Fault("reason", None, says))
    if faults:
        raise Refused(*faults)
    if asked.match and find_seat(seats, int(asked.match[1:]), t.organiser.name):
        raise refused("rule", asked.match, Phrase("nobody rules on a match of one's own; ask the operator"))
    step = director.step(t, caller.now)
    other = None if _is_pinned(director, t, t.organiser, caller) else _player(director, seats, caller, t.id)
    step.rule(_ruling(asked, reason), _said(caller), other)
    director.commit(step, caller.signed)
    return _told(director, caller, step.tournament, "ruled")


def instructed(director: Director, instruction: Instruction) -> Callable[[datetime], str]:
    """The operator pauses or resumes a tournament, or rules on it in the words of a letter's `rule`."""
    if instruction.what != "rule":
        return partial(_obey, director, instruction, None)
    (command,) = commands.parse(f"rule {instruction.about} {instruction.ruling}\nend\n").commands
    if command.faults or not isinstance(command.request, Rule):
        raise Refused(*command.faults)
    return partial(_obey, director, instruction, command.request)


def _obey(director: Director, instruction: Instruction, asked: Rule | None, now: datetime) -> str:
    what, number = instruction.what, int(instruction.about[1:])
    t = director.archive.load(number)
    if t is None:
        raise refused(what, None, Phrase("there is no tournament t{number}", number=number))
    if t.phase == "ended":
        raise refused(what, None, Phrase("the tournament is over"))
    if asked is None:
        director.archive.rows.pause(number, paused=what == "pause")
        director.wake(number, now)
        return f"{t.id} is paused" if what == "pause" else f"{t.id} goes on"
    step = director.step(t, now)
    step.rule(_ruling(asked, instruction.short_reason))
    director.commit(step)
    return f"{t.id}: {instruction.ruling} is entered"


def _ruling(asked: Rule, reason: str) -> JsonObject:
    """The ruling that a command asks for, as its entry has it."""
    named = {"match": asked.match, "player": asked.name, "for": asked.leaver}
    return {"what": asked.what, "reason": reason, **{key: value for key, value in named.items() if value}}


def _tournament(director: Director, command: Command[InTournament]) -> Tournament:
    name = command.request.tournament or "t0"
    found = director.archive.load(int(name[1:]))
    if found is None:
        raise refused(command.name, name, Phrase("there is no such tournament here"))
    return found


def _player(director: Director, seats: Seats, caller: Caller, tournament: str) -> Player:
    """The caller as a tournament pins one; raises `Refused`."""
    salt = seats.world(caller.now).salt()
    found = pinned(director.players, caller.known_player.name, (director.server, tournament, 0), salt)
    if len(canonical(found.document())) > _KEYS:
        says = Phrase(
            "all in the tournament get your keys as proof, and they have more than {most} KiB: first"
            " `key revoke` those that you need not",
            most=_KEYS >> 10,
        )
        raise refused("key", None, says)
    return found


def _said(caller: Caller) -> SaidLetter:
    """The caller's letter, as the proof of a tournament keeps it for all who take part; raises `Refused`."""
    if len(caller.signed.raw) > _LETTER:
        says = Phrase(
            "all in the tournament get this letter as proof, and it has more than {most} KiB: send a plain one,"
            " without pictures and attached files",
            most=_LETTER >> 10,
        )
        raise refused("letter", None, says)
    return SaidLetter(caller.signed, hash_of_entry_words(caller.understood.judged.text))


def _demand_entered(director: Director, t: Tournament, name: str, caller: Caller) -> None:
    """Refuse what no verifier could take for the player's: a letter by a key or an address that entered later."""
    entrant = t.entrant_of(name)
    if entrant is not None and not _is_pinned(director, t, entrant.player, caller):
        says = Phrase(
            "your entry names another key or address than this letter's: first send `enter {id} {hash}`",
            id=t.id,
            hash=t.rules_hash,
        )
        raise refused("enter", t.id, says)


def _is_pinned(director: Director, t: Tournament, player: Player, caller: Caller) -> bool:
    """True if the letter is by a key, or from the mailbox, that the tournament pins for its player."""
    signed = caller.signed
    if signed.level == "key":
        return any(key["fingerprint"] == signed.key for key in player.keys)
    named = director.archive.mailbox(t, player)
    return not player.keys and named is not None and named.address == caller.known_player.address.lower()


def _demand_key(director: Director, terms: TournamentTerms, name: str) -> None:
    if terms.match.get("keys") == "demanded" and director.players.level(name) == "mailbox":
        says = Phrase("the tournament demands keys, and {name} is registered without one", name=name)
        raise refused("keys", name, says)


def _told(
    director: Director, caller: Caller, t: Tournament, done: str, outcome: Outcome = "done", **more: object
) -> Reply:
    reader = caller.player.name if caller.player else ""
    facts = director.facts(t, reader)
    files, letters = director.proof(t, reader) if facts["line"] and done == "shown" else ([], [])
    told = {"t": facts, "done": done, "apart": bool(letters), **more}
    items = director.archive.items(t, reader)
    return Reply("tournament", told, files, letters=letters, outcome=outcome, items=items)
