"""The desk of a server: the outside world that it is handed, and the parts that are made from it.

Only wiring: each part is made from the others when it is first needed; the modules that are handed the desk say what
they do with them. Implements design.md, "The way of a letter".
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING

from pbem.desk.letter_writer import LetterWriter
from pbem.desk.match_letters import MatchLetters
from pbem.desk.matches import MatchRepository
from pbem.desk.position_files import PositionFiles
from pbem.desk.reply_tokens import ReplyTokens
from pbem.desk.strangers import Strangers
from pbem.desk.timekeeper import Timekeeper
from pbem.failpoints import passing
from pbem.match.step import Environment
from pbem.store.daily import Daily
from pbem.store.digest_queue import DigestQueue
from pbem.store.inbox import Inbox
from pbem.store.keychanges import KeyChanges
from pbem.store.lookups import Lookups
from pbem.store.matches import Matches
from pbem.store.operator import Instructions
from pbem.store.outbox import Outbox
from pbem.store.people import People
from pbem.store.players import Players
from pbem.store.tlog import TransparencyLog
from pbem.store.tokens import Tokens
from pbem.store.vouched import Vouched
from pbem.store.witness_requests import WitnessRequests

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.config.server import Config
    from pbem.desk.reading import Reader
    from pbem.failpoints import Failpoints
    from pbem.identity import Key
    from pbem.mail.compose import Composer
    from pbem.store.database import Database
    from pbem.store.vault import Vault

__all__ = ["Desk"]


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
    """What runs here, as transcripts name it."""
    in_doubt: bool = False
    """Whether letters may be leased, known here or not: those of a call that broke off are given back by the next."""
    offered: OrderedDict[str, list[Key]] = field(default_factory=OrderedDict)
    """The keys that were last offered for an address; which they are now is looked up when it matters."""
    pruned_on: str = ""
    """The day for which old rows were last deleted."""
    warned_on: str = ""
    """The day on which the operator was last told that the disk is filling up."""
    logged_all: bool = False
    """Whether the heads of times when no log was kept are in its queue."""

    def world(self, now: datetime) -> Environment:
        """The environment that a match is handed at a time."""
        return Environment(
            now,
            self.random,
            self.software,
            self.server_key,
            calendar=lambda player: self.time.calendar(player, now),
            outages=cache(self.time.outages),
        )

    @cached_property
    def server_key(self) -> str:
        """The server's public key, in hexadecimal digits."""
        return self.signing_key.public_key().public_bytes_raw().hex()

    # Rows of the store.

    @cached_property
    def inbox(self) -> Inbox:
        """The letters that came."""
        return Inbox(self.database, self.vault)

    @cached_property
    def outbox(self) -> Outbox:
        """The letters that leave."""
        return Outbox(self.database, self.vault)

    @cached_property
    def players(self) -> Players:
        """Accounts, keys and settings."""
        return Players(self.database)

    @cached_property
    def people(self) -> People:
        """Addresses, invitations, observers and standings."""
        return People(self.database, self.players)

    @cached_property
    def changes(self) -> KeyChanges:
        """Keys that wait for their first signature, or for a delay."""
        return KeyChanges(self.database, self.vault)

    @cached_property
    def lookups(self) -> Lookups:
        """What the DNS said."""
        return Lookups(self.database)

    @cached_property
    def instructions(self) -> Instructions:
        """What the operator ordered."""
        return Instructions(self.database)

    @cached_property
    def daily(self) -> Daily:
        """What is counted by the day."""
        return Daily(self.database)

    @cached_property
    def log(self) -> TransparencyLog:
        """The log of all heads."""
        return TransparencyLog(self.database)

    @cached_property
    def witness_requests(self) -> WitnessRequests:
        """What witnesses are asked by HTTP."""
        return WitnessRequests(self.database)

    # What is made of them.

    @cached_property
    def archive(self) -> MatchRepository:
        """Matches, brought from the store and back."""
        return MatchRepository(
            Matches(self.database, self.vault),
            self.people,
            self.config.server,
            self.signing_key.sign,
            self.server_key,
            self.log if self.config.witness.cosigners else None,
        )

    @cached_property
    def time(self) -> Timekeeper:
        """The server's up-time, and the players' calendars."""
        return Timekeeper(self.database, self.players, self.archive.matches, self.config.clock.outage)

    @cached_property
    def mailboxes(self) -> ReplyTokens:
        """Reply addresses, and letters judged by them."""
        tokens = Tokens(self.database)
        return ReplyTokens(self.config, tokens, self.random, self.composer.reply_address)

    @cached_property
    def strangers(self) -> Strangers:
        """How letters are answered for whose sender nobody vouches."""
        vouched = Vouched(self.database)
        return Strangers(self.mailboxes, vouched, self.daily, self.config.limits.answers_to_strangers)

    @cached_property
    def letters(self) -> LetterWriter:
        """The writer of letters."""
        return LetterWriter(
            self.composer,
            self.outbox,
            self.players,
            self.archive,
            self.random,
            self.mailboxes,
            DigestQueue(self.database, self.vault),
            self.config.operator,
            self.config.language,
            return_paths=self.config.return_paths,
        )

    @cached_property
    def match_letters(self) -> MatchLetters:
        """The writer of what is told of matches."""
        files = PositionFiles(self.letters, self.composer, self.players, self.archive.matches, self.config.pages)
        return MatchLetters(
            self.letters, files, self.composer, self.players, self.people, self.archive, self.mailboxes
        )
