"""Signed letters: the letter that brought a form, and the place that a form names.

Implements protocol.md, "Commands" and "Identity".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.match.changed import replace
from pbem.match.transcript import sha256_hex
from pbem.requests import SignedForm

if TYPE_CHECKING:
    from pbem.match.state import Match
    from pbem.requests import Requested


class Signed(msgspec.Struct, frozen=True):
    """The signed letter that brought a form: its raw bytes, its level and the fingerprint of its key.

    At level `mailbox`, the evidence replaces the signature, and `key` names its basis.
    """

    raw: bytes
    level: str
    key: str
    received: str
    """The time of its arrival, UTC to the second, as papers write it."""
    evidence: bytes = b""
    rev: int = 0
    """The revision of the reply address that stood for the whole form of an agreement; 0: the letter has the form."""
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


def here(match: Match, seat: int, rev: int | None, request: Requested) -> SignedForm[Requested]:
    """The form of a request at the present place in the match, as this seat names it."""
    playing = match.phase == "playing"
    return SignedForm(
        request,
        match.server,
        match.name(seat),
        match.prev,
        rev,
        game=None if playing else match.game,
        turn=match.turn if playing else None,
    )


def at_reply_address(form: SignedForm[Requested], match: Match, seat: int) -> SignedForm[Requested]:
    """A form at level `mailbox` with its place completed from the address that it answers.

    A missing revision stays missing.
    """
    place = here(match, seat, None, form.request)
    return replace(
        form,
        server=form.server or place.server,
        player=form.player or place.player,
        prev=form.prev or place.prev,
        game=form.game or place.game,
        turn=place.turn if form.turn is None else form.turn,
    )
