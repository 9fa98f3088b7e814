"""The desk of a server: the outside world that it is handed, the parts that are made from it, and its decisions.

Each part is made from those before it, and takes what it uses. Only the loop (`letter_handling`) has the whole desk.
A decision is one transaction. Implements design.md, "The way of a letter".
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pbem.desk.account_keys import Keyring
from pbem.desk.answer_letter import AnswerWriter
from pbem.desk.authenticate import Authentication
from pbem.desk.bounces import Bounces
from pbem.desk.commands import (
    account,
    beside_orders,
    help,  # noqa: A004 - the command's own name
    history,
    key_commands,
    orders,
    press,
    proposals,
    sealed_steps,
    substitutes,
)
from pbem.desk.commands.proposals import Offers
from pbem.desk.daily_limits import DailyCounts
from pbem.desk.dispatch import Dispatch
from pbem.desk.due_tasks import DueTasks
from pbem.desk.instructions import Operator
from pbem.desk.letter_writer import LetterWriter
from pbem.desk.match_archive import MatchRepository
from pbem.desk.match_environment import OutagesAndZones, rehearse
from pbem.desk.match_letters import MatchLetters
from pbem.desk.position_files import PositionFiles
from pbem.desk.reply_tokens import ReplyTokens
from pbem.desk.sealed_files import SealedFiles
from pbem.desk.seats import SeatContext, Seats, seated_at
from pbem.desk.strangers import Strangers
from pbem.desk.tournament import tournament_commands
from pbem.desk.tournament.tournament_archive import TournamentRepository
from pbem.desk.tournament.tournament_director import Director
from pbem.desk.witnesses import Witnesses
from pbem.failpoints import Failpoints, passing
from pbem.mail.commands import SETTINGS
from pbem.match.refereed import RefereedMode
from pbem.match.sealed_mode import SealedMode
from pbem.match.step import Environment
from pbem.match.terms import OPTIONS
from pbem.store.inbox import Inbox
from pbem.store.matches import Matches
from pbem.store.noted_time import Outages
from pbem.store.operator import Instructions
from pbem.store.outbox import DigestQueue, Outbox
from pbem.store.people import People
from pbem.store.players import KeyChanges, Players
from pbem.store.questions import Lookups, Notifications, WitnessRequests
from pbem.store.tlog import TransparencyLog
from pbem.store.tokens import Tokens
from pbem.store.tournament_rows import Tournaments
from pbem.tournament import tournament_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.config.server import Config
    from pbem.desk.caller import Caller
    from pbem.desk.outcomes import Handler, Reply
    from pbem.desk.reading import LetterReader
    from pbem.mail.commands import Command
    from pbem.mail.compose import Composer
    from pbem.match.play import Play
    from pbem.store.database import Database
    from pbem.store.vault import Vault


@cache  # to look it up is to search the folders of all that is installed
def _software() -> str:
    return f"pbem {version('pbem')}"


@dataclass(eq=False, repr=False)
class Desk:
    """The desk of a server, on its own connection to the store; keys and randomness are handed in."""

    config: Config
    database: Database
    vault: Vault
    signing_key: Ed25519PrivateKey
    composer: Composer
    random: Callable[[int], bytes]
    reader: LetterReader
    points: Failpoints = passing
    software: str = field(default_factory=_software)
    """The software and its version, as transcripts name it."""
    in_doubt: bool = False
    """True while letters may be leased. If a call fails, the next one returns them to the inbox."""

    def __post_init__(self) -> None:
        config, database, vault, composer = self.config, self.database, self.vault, self.composer
        random, points, decision, part = self.random, self.points, self.decision, self.part
        self.server_key = self.signing_key.public_key().public_bytes_raw().hex()
        """The server's public key, in hexadecimal digits."""

        # Rows of the store.
        inbox = self.inbox = Inbox(database, vault, config.mailbox_account)
        self.lookups = Lookups(database)
        """The answers of the DNS."""
        outbox = self.outbox = Outbox(database, vault)
        held = DigestQueue(database, vault)  # letters that wait for a digest
        players = self.players = Players(database)
        people = self.people = People(database, players)
        changes = self.changes = KeyChanges(database, vault)
        """Keys that wait for their first signature, or for a delay."""
        topics = self.notifications = Notifications(database, vault)
        """The players' topics beside the mail."""
        matches = Matches(database, vault)
        log = TransparencyLog(database)

        # Matches and tournaments in memory, and what may be written to whom.
        counts = self.counts = DailyCounts(database)
        logged = log if config.witness.cosigners else None
        sign = self.signing_key.sign
        archive = self.archive = MatchRepository(matches, people, config.server, sign, self.server_key, logged)
        tournaments = TournamentRepository(Tournaments(database, vault), config.server, sign, logged)
        time = self.time = OutagesAndZones(Outages(database), players, config.clock.outage)
        mailboxes = ReplyTokens(config, Tokens(database), random, composer.reply_address)
        strangers = self.strangers = Strangers(database, counts, mailboxes, config.limits.answers_to_strangers)

        # Letters.
        letters = self.letters = LetterWriter(
            config, composer, outbox, players, archive, random, vault.digest, mailboxes, held, topics, counts
        )
        kept = letters, composer, matches, config.pages
        sealed = SealedFiles(*kept)
        modes: dict[type[Play], PositionFiles] = {RefereedMode: PositionFiles(*kept), SealedMode: sealed}
        match_letters = self.match_letters = MatchLetters(
            letters, modes, composer, players, people, archive, mailboxes, tournaments.beside
        )

        # What commands change.
        director = self.director = Director(
            tournaments, matches, players, people, letters, inbox, config.server, composer.address
        )
        seats = Seats(
            archive, letters, match_letters, self.world, config.house_name, director.over, director.time_beside
        )
        keys = Keyring(players, changes, counts, mailboxes, seats, time, config, topics, tournaments.change_keys)
        offers = Offers(seats, players, people, strangers, counts, time)

        def at_seat(handle: Callable[[SeatContext, Caller, Command[Any]], Reply]) -> Handler:
            return lambda by, said: handle(seated_at(seats, said, by.known_player.name, by.now), by, said)

        tables = {"options": OPTIONS, "tournament": tournament_terms.OPTIONS, "settings": SETTINGS}

        # The functions of commands, each with what it may touch, by the names of their rows.
        handlers: dict[str, Handler] = {
            "help": partial(help.explain, config, tables),
            "games": help.games,
            "rules": partial(help.mail_rules, letters),
            "sheet": partial(history.sheet, seats, letters),
            "status": partial(history.status, seats),
            "report": at_seat(partial(history.report, match_letters)),
            "diary": at_seat(partial(history.diary, matches, time)),
            "transcript": at_seat(partial(history.transcript, archive, match_letters)),
            "register": partial(account.register, keys, offers),
            "confirm": partial(account.confirm, keys, offers),
            "whoami": partial(account.whoami, keys, people),
            "set": partial(account.choose, players, people, director.of_player, held),
            "set notify": partial(account.notify, keys),
            "key add": partial(key_commands.add, keys),
            "key revoke": partial(key_commands.revoke, keys),
            "key keep": partial(key_commands.keep, keys),
            "recover": partial(key_commands.recover, keys),
            "address add": partial(key_commands.add_address, keys, people, strangers),
            "vacation": partial(beside_orders.vacation, seats, players, time, config.clock.vacation_days),
            "extend": at_seat(beside_orders.extend),
            "claim": at_seat(beside_orders.claim),
            "new": partial(proposals.new, offers, config.clock.settle, config.pages),
            "list": partial(history.list_matches, seats, people, config.pages),
            "accept": at_seat(partial(proposals.accept, offers)),
            "decline": at_seat(partial(proposals.give_up, offers, held)),
            "join": partial(proposals.join, offers),
            "withdraw": at_seat(partial(proposals.give_up, offers, held)),
            "tournament new": partial(tournament_commands.new, director, seats, config.clock.settle, config.pages),
            "tournament": partial(tournament_commands.show, director),
            "enter": partial(tournament_commands.enter, director, seats, people),
            "leave": partial(tournament_commands.leave, director),
            "challenge": partial(tournament_commands.challenge, director, seats),
            "rule": partial(tournament_commands.rule, director, seats),
            "setup": at_seat(orders.setup),
            "orders": at_seat(orders.orders),
            "clear": at_seat(orders.clear),
            "preview": at_seat(orders.preview),
            "seal": at_seat(partial(sealed_steps.seal, sealed, match_letters)),
            "step": at_seat(partial(sealed_steps.take, sealed, match_letters)),
            "reveal": at_seat(partial(sealed_steps.reveal, sealed, match_letters)),
            "press": at_seat(partial(press.press, people)),
            "resign": at_seat(beside_orders.resign),
            "observe": partial(help.observe, seats, people),
            "unobserve": partial(help.unobserve, people),
            "standings": partial(help.standings, people),
            "block": partial(account.block, people),
            "unblock": partial(account.unblock, people),
            "draw": at_seat(beside_orders.agree),
            "annul": at_seat(beside_orders.agree),
            "substitute": partial(substitutes.substitute, offers),
        }

        # The way of a letter, the operator's instructions, and the clock.
        bounces = Bounces(config, outbox, players, seats, letters, counts, time)
        self.authentication = Authentication(
            config, players, keys, strangers, mailboxes, seats, letters, counts, bounces
        )
        answers = AnswerWriter(config, players, mailboxes, letters, match_letters, seats)
        self.dispatch = Dispatch(
            config, part, database, players, people, keys, seats, mailboxes, counts, bounces, answers, handlers
        )
        self.operator = Operator(
            Instructions(database),
            decision,
            part,
            database,
            seats,
            offers,
            direct=partial(tournament_commands.instructed, director),
            restored=partial(director.restored, seats),
        )
        requests = WitnessRequests(database)
        witnesses = Witnesses(config, decision, log, requests, letters, counts, self.signing_key)
        queues = (
            (held.next_due, letters.send_digest),
            (people.next_held_back, partial(proposals.send_held_back, offers)),
        )
        others = (director.start_due, director.plan_tables, partial(director.carry_out_planned, seats))
        self.due_tasks = DueTasks(
            config, database, decision, points, random, inbox, queues, others, seats, time, keys, bounces, witnesses
        )

    def world(self, now: datetime) -> Environment:
        """The environment that a match is handed at a time."""
        return Environment(
            now,
            self.random,
            self.software,
            self.server_key,
            calendar=lambda player: self.time.calendar(player, now),
            outages=cache(self.time.outages),
            rehearse=partial(rehearse, self.letters, now),
        )

    @contextmanager
    def decision(self) -> Iterator[None]:
        """A decision, in one transaction: if the block raises, nothing of it is left, in the store or in memory."""
        self.archive.begin()
        try:
            with self.database.transaction():
                yield
        except BaseException:
            self.forget()
            raise

    @contextmanager
    def part(self) -> Iterator[None]:
        """A part of the open decision: if the block raises, what it did is undone, in the store and in memory."""
        try:
            with self.database.savepoint():
                yield
        except BaseException:
            self.forget()
            raise

    def forget(self) -> None:
        """Empty the caches of a decision that is not going to be written."""
        self.archive.forget()
        self.players.forget()
