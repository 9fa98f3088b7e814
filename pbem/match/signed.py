"""What a player signed: the form around the words, its place, and the letter that brought it.

Implements protocol.md, "Commands" and "Identity".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pbem.match.changed import replace
from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from pbem.match.state import Match

__all__ = ["Section", "Signed", "SignedForm", "at_reply_address", "here"]


class Section(NamedTuple):
    """One section of a letter of a sealed match: `commitment`, `open`, `answers` and so on."""

    name: str
    words: tuple[str, ...]
    """Its arguments; hashes in lower case."""
    text: str
    """Its lines, ended as they came: mail programs break lines anew. Of a note the base64, joined."""


class SignedForm(msgspec.Struct, frozen=True):
    """The signed form around a setup, orders, a withdrawal or a step: what ties the words to one place and moment."""

    server: str | None
    player: str | None
    prev: str | None
    rev: int | None
    game: int | None = None
    turn: int | None = None
    final: bool = False
    text: str = ""
    sections: tuple[Section, ...] = ()
    """Of a letter of a sealed match, in their order."""


class Signed(msgspec.Struct, frozen=True):
    """The signed letter that brought a form: its raw bytes, its level and the fingerprint of its key.

    At level `mailbox`, the evidence replaces the signature, and `key` names its basis.
    """

    raw: bytes
    level: str
    key: str
    received: str
    """When it was received, UTC to the second, as papers write it."""
    evidence: bytes = b""
    pasted: str = ""
    """The signed text with its signature beneath, where both are text: what other players can check themselves."""

    @property
    def evidence_hash(self) -> str:
        """SHA-256 of the evidence; empty where a key signed."""
        return sha256_hex(self.evidence) if self.evidence else ""

    @property
    def hash(self) -> str:
        """SHA-256 of the letter as it was received."""
        return sha256_hex(self.raw)


def here(match: Match, seat: int, rev: int) -> SignedForm:
    """The present place in the match, as a form of this seat and revision names it."""
    playing = match.phase == "playing"
    return SignedForm(
        match.server,
        match.name(seat),
        match.prev,
        rev,
        game=None if playing else match.game,
        turn=match.turn if playing else None,
    )


def at_reply_address(form: SignedForm, match: Match, seat: int) -> SignedForm:
    """A form at level `mailbox` with its place completed from the address that it answers.

    A missing revision stays missing.
    """
    place = here(match, seat, 0)
    return replace(
        form,
        server=form.server or place.server,
        player=form.player or place.player,
        prev=form.prev or place.prev,
        game=form.game or place.game,
        turn=place.turn if form.turn is None else form.turn,
    )
