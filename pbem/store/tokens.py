"""Single-use reply tokens: each is mailed to a mailbox, and comes back once from the person who reads it there.

Only the hashes of tokens are kept, with the player and purpose of each: nobody who reads the store can answer in a
player's name. Every call is part of the caller's transaction. Implements protocol.md, "Identity", level `mailbox`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING, Literal

import msgspec

from pbem.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Purpose = Literal["register", "reply", "stop", "write"]
"""An answer registers, counts for its player, stops all mail, or is read however many others came."""
Place = tuple[int, int, int]
"""Match, game and turn (0: the setup, or before the agreement) at which a match stood when the token was mailed."""

RANDOM = 12  # bytes: 20 letters and digits, so that the longest mailbox and match fit into 64 (RFC 5321 4.5.3.1.1)
TOKEN = re.compile(r"[a-z2-7]{20}")


class Token(msgspec.Struct, frozen=True):
    """A token as stored: its hash, to whom it was mailed and what for, and the letter that used it up, if any."""

    hash: str
    address: str
    name: str
    """The player's name, or the one to be registered; empty for a stranger."""
    purpose: Purpose
    match: int | None
    game: int
    turn: int
    used: str | None
    letter: str | None
    """SHA-256 of the text that used it up."""

    @property
    def place(self) -> Place | None:
        """The place of the match, if it is about one."""
        return None if self.match is None else (self.match, self.game, self.turn)

    def is_of(self, address: str, player: str | None) -> bool:
        """True if it was mailed to this address, and for this player, if the address has one."""
        return self.address.lower() == address.lower() and player in {None, self.name}

    def came_back(self, address: str, player: str | None) -> bool:
        """True if it comes back for the first time, and from where it was mailed to, or from its player."""
        own = self.purpose == "write" and self.name == player
        return self.used is None and (own or self.address.lower() == address.lower())


def new(random: Callable[[int], bytes]) -> str:
    """A token that nobody can guess."""
    return base64.b32encode(random(RANDOM)).decode().lower().rstrip("=")


class Tokens(Rows):
    """The reply tokens of a store."""

    def issue(
        self, token: str, address: str, name: str, purpose: Purpose, place: Place | None, *, time: str, too_old: str
    ) -> None:
        """Keep a token that is mailed to this address; those of the address from before `too_old` are forgotten."""
        self._database.execute(
            "DELETE FROM reply_tokens WHERE address = ? COLLATE NOCASE AND created < ?", (address, too_old)
        )
        at = dict(zip(("match", "game", "turn"), place or (None, 0, 0), strict=True))
        row = {"address": address, "name": name, "purpose": purpose, "created": time}
        # One of a turn stands in several letters.
        self._database.put("reply_tokens", "hash", hash=_hash(token), **row, **at)

    def find(self, token: str) -> Token | None:
        """The token of this text; None if it was never given out."""
        if not TOKEN.fullmatch(token):
            return None
        return self._database.read_one(Token, "SELECT * FROM reply_tokens WHERE hash = ?", (_hash(token),))

    def use(self, hashed: str, letter: str, time: str) -> None:
        """Use a token up by a letter; raises RuntimeError if it was used before."""
        used = self._database.execute(
            "UPDATE reply_tokens SET used = ?, letter = ? WHERE hash = ? AND used IS NULL", (time, letter, hashed)
        )
        if used.rowcount != 1:
            raise RuntimeError("the reply token was used before")

    def count(self, marks: Iterable[str], time: str) -> None:
        """Note that a letter with these marks counted."""
        for mark in marks:
            self._database.add("counted", mark=mark, time=time)

    def counted(self, marks: Iterable[str]) -> str | None:
        """The time at which a letter with one of these marks counted; None if none did."""
        query = "SELECT time FROM counted WHERE mark = ?"
        return next((str(row["time"]) for mark in marks for row in self._database.rows(query, (mark,))), None)

    def waiting(self, address: str, purpose: Purpose, since: str) -> int:
        """The number of unused tokens for this purpose that were mailed to the address since then."""
        query = (
            "SELECT count(*) FROM reply_tokens"
            " WHERE address = ? COLLATE NOCASE AND purpose = ? AND created >= ? AND used IS NULL"
        )
        return int(self._database.scalar(query, (address, purpose, since)))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
