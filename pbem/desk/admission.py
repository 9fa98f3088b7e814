"""Admission when a network sent too many letters today: of senders who are known here, by proof and not by name.

Many senders share a network: all customers of one provider, for example. Only letters beyond the network's limit
are examined, one after the other, each network in its turn, on a separate connection and in a separate reader, with
little time for each: the rest of the server does not wait for them. Implements reliability.md, "Limits" and case
34.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.config.values import Duration
from pbem.desk.reading import Findings, Question, Reader, ReaderError
from pbem.desk.reply_tokens import token_in
from pbem.identity import Key
from pbem.mail import delivery_status
from pbem.match.changed import replace
from pbem.store.outbox import Outbox
from pbem.store.players import Players
from pbem.store.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.config.limits import Limits
    from pbem.config.server import Config
    from pbem.store.database import Database
    from pbem.store.inbox import Envelope
    from pbem.store.vault import Vault

BOUNCES = 3
"""The most bounces to one return path that are taken in beyond the limit."""

READING = Duration(seconds=2)
"""The time limit for reading one letter."""


class DeskAdmission:
    """Checks whether letters beyond a network's limit are by players; its reader is started for the first of them."""

    def __init__(self, config: Config, database: Database, vault: Vault, reader: Callable[[Limits], Reader]) -> None:
        self._config = config
        self._outbox = Outbox(database, vault)
        self._players = Players(database)
        self._tokens = Tokens(database)
        self._open_reader = reader
        self._reader: Reader | None = None

    def knows(self, envelope: Envelope, raw: bytes, now: datetime) -> bool:
        """True if a letter answers one of ours, is a bounce of one, or says something new that a player signed."""
        if not envelope.sender:
            return self._comes_back(envelope)
        return any(map(self._is_awaited, envelope.recipients)) or self._is_by_a_player(raw, now)

    def close(self) -> None:
        """Examine no more letters."""
        if self._reader is not None:
            self._reader.close()

    def _comes_back(self, envelope: Envelope) -> bool:
        """True if this goes to the return path of one of our letters, to which little has come yet."""
        if not self._config.return_paths:
            return False
        token = delivery_status.token(envelope.recipients, self._config.mail_address, self._config.delimiter)
        returned = self._outbox.returned(token) if token else None
        return returned is not None and self._outbox.bounces(returned.id).total() < BOUNCES

    def _is_awaited(self, recipient: str) -> bool:
        """True if this is a reply address that was given out and not used yet."""
        token = self._tokens.find(token_in(recipient, self._config))
        return token is not None and token.used is None

    def _is_by_a_player(self, raw: bytes, now: datetime) -> bool:
        if self._reader is None:
            self._reader = self._open_reader(msgspec.structs.replace(self._config.limits, reading=READING))
        question = Question(raw, now, self._config.server)
        found = self._findings(self._reader, question)
        player = self._players.by_address(found.letter.sender) if found and found.letter.sender else None
        if player is None:
            return False
        keys = [Key(row.format, row.fingerprint, row.public) for row in player.keys]
        found = self._findings(self._reader, replace(question, keys=keys))
        if found is None or found.understood is None or found.understood.heard.verdict.kind != "valid":
            return False
        # Anybody can send again what others were shown.
        return self._players.handled(player.name, found.understood.heard.words) is None

    @staticmethod
    def _findings(reader: Reader, question: Question) -> Findings | None:
        """The findings about a letter; None if it cannot be read."""
        try:
            reader.ask([question])
            (found,) = reader.found()
        except ReaderError:
            return None
        return found if isinstance(found, Findings) else None
