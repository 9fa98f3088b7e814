"""The desk of a server: the outside world that it is handed, the parts that are made from it, and its decisions.

Each part is made from those before it; the modules that are handed the desk say what they do with them. A decision
is one transaction. Implements design.md, "The way of a letter".
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from pbem.desk.account_keys import Keyring
from pbem.desk.commands.proposals import Offers
from pbem.desk.daily_limits import DailyCounts
from pbem.desk.letter_writer import LetterWriter
from pbem.desk.match_archive import MatchRepository
from pbem.desk.match_environment import OutagesAndZones, rehearse
from pbem.desk.match_letters import MatchLetters
from pbem.desk.position_files import PositionFiles
from pbem.desk.reply_tokens import ReplyTokens
from pbem.desk.seats import Seats
from pbem.desk.strangers import Strangers
from pbem.desk.tournament_archive import TournamentRepository
from pbem.desk.tournament_director import Director
from pbem.failpoints import Failpoints, passing
from pbem.match.step import Environment
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.config.server import Config
    from pbem.desk.reading import Reader
    from pbem.identity import Key
    from pbem.mail.compose import Composer
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
    reader: Reader
    points: Failpoints = passing
    software: str = field(default_factory=_software)
    """The software and its version, as transcripts name it."""
    in_doubt: bool = False
    """True if letters may be leased, known here or not: those of a call that broke off are given back by the next."""
    offered: OrderedDict[str, list[Key]] = field(default_factory=OrderedDict)
    """The keys that were last offered for an address; which they are now is looked up when it matters."""
    tables_told: str = ""
    """The month in which the tables of tournaments last went into digests."""
    pruned_on: str = ""
    """The day for which old rows were last deleted."""
    warned_on: str = ""
    """The day on which the operator was last told that the disk is filling up."""
    logged_all: bool = False
    """True if the heads of times when no log was kept are in its queue."""

    def __post_init__(self) -> None:
        config, database, vault = self.config, self.database, self.vault
        self.server_key = self.signing_key.public_key().public_bytes_raw().hex()
        """The server's public key, in hexadecimal digits."""

        # Rows of the store.
        self.inbox = Inbox(database, vault, config.mailbox_account)
        self.outbox = Outbox(database, vault)
        self.held = DigestQueue(database, vault)
        """The letters that wait for a digest."""
        self.players = Players(database)
        self.people = People(database, self.players)
        self.changes = KeyChanges(database, vault)
        """Keys that wait for their first signature, or for a delay."""
        self.lookups = Lookups(database)
        """The answers of the DNS."""
        self.instructions = Instructions(database)
        """The operator's instructions."""
        self.notifications = Notifications(database, vault)
        """The players' topics beside the mail."""
        self.log = TransparencyLog(database)
        """The log of all heads."""
        self.witness_requests = WitnessRequests(database)
        """The requests to witnesses."""

        # What is made of them.
        self.counts = DailyCounts(database)
        log = self.log if config.witness.cosigners else None
        matches, sign = Matches(database, vault), self.signing_key.sign
        self.archive = MatchRepository(matches, self.people, config.server, sign, self.server_key, log)
        self.time = OutagesAndZones(Outages(database), self.players, config.clock.outage)
        self.mailboxes = ReplyTokens(config, Tokens(database), self.random, self.composer.reply_address)
        """Reply addresses, and letters judged by them."""
        self.strangers = Strangers(database, self.counts, self.mailboxes, config.limits.answers_to_strangers)
        """The answers to letters whose sender nobody vouches for."""
        self.letters = LetterWriter(
            config,
            self.composer,
            self.outbox,
            self.players,
            self.archive,
            self.random,
            vault.digest,
            self.mailboxes,
            self.held,
            self.notifications,
            self.counts,
        )
        files = PositionFiles(self.letters, self.composer, matches, config.pages)
        rows = Tournaments(database, vault)
        tournaments = TournamentRepository(rows, config.server, sign, log)
        self.match_letters = MatchLetters(
            self.letters, files, self.composer, self.players, self.people, self.archive, self.mailboxes, tournaments
        )

        # What commands are handed of these.
        self.seats = Seats(
            self.archive,
            self.letters,
            self.match_letters,
            self.world,
            config.house_name,
            over=lambda match, now: self.tournaments.over(match, now),  # noqa: PLW0108 - it is made after this
        )
        self.tournaments = Director(
            tournaments,
            self.seats,
            self.players,
            self.people,
            self.letters,
            self.inbox,
            config.server,
            self.composer.address,
        )
        self.keys = Keyring(
            self.players,
            self.changes,
            self.counts,
            self.mailboxes,
            self.seats,
            self.time,
            config,
            tournaments,
            self.notifications,
        )
        self.offers = Offers(self.seats, self.players, self.people, self.strangers, self.counts, self.time)

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
        with self._forgotten_if_undone(), self.database.transaction():
            yield

    @contextmanager
    def part(self) -> Iterator[None]:
        """A part of the open decision: if the block raises, what it did is undone, in the store and in memory."""
        with self._forgotten_if_undone(), self.database.savepoint():
            yield

    @contextmanager
    def _forgotten_if_undone(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.forget()
            raise

    def forget(self) -> None:
        """Empty the caches of a decision that is not going to be written."""
        self.archive.forget()
        self.players.forget()
