"""A caller: the sender of a letter, and the right by which the letter counts, as `authenticate` decides.

Only plain values live here; `dispatch` decides who may do what. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

from pbem.games import Fault, Refused
from pbem.match.step import Signed
from pbem.match.transcript import written
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pbem.desk.reading import Understood
    from pbem.identity import Verdict
    from pbem.mail.commands import AnyCommand, Reading
    from pbem.mail.message import Letter
    from pbem.store.inbox import InboxRow
    from pbem.store.players import HandledRow, PlayerRow
    from pbem.store.tokens import Place, Token


class Trust(IntEnum):
    """The right by which a letter counts, from the least."""

    STRANGER = 0
    """Nobody vouches for its sender: little is answered, and nothing that was written is repeated."""
    VOUCHED = 1
    """It is from where it says, or brings back what only its sender was told."""
    MAILBOX = 2
    """It proves the mailbox of a player without a key, or of somebody who registers."""
    KEY = 3
    """A key of its player signed it."""


class Novelty(IntEnum):
    """The novelty of words that were proved: said for the first time, or before."""

    NEW = 0
    SEEN = 1
    """Said before, and from their sender again."""
    REPEATED = 2
    """Said before, and somebody else may have sent them again."""
    SILENT = 3
    """The same, and an answer would be one too many today: they get one only if they are obeyed now."""


class MailboxProof(msgspec.Struct, frozen=True):
    """The extent to which a letter proves the mailbox from which it came."""

    missing: Phrase | None = None
    """A sentence for the player: what it lacks; None when it counts."""
    token: Token | None = None
    """The token that it brought back."""
    again: str | None = None
    """The time at which the very same text had its effect; then it counts, and changes nothing."""
    key: str = ""
    """The key that it rests on, as receipts name it."""
    evidence: bytes = b""

    @property
    def holds(self) -> bool:
        """True if the letter counts at level `mailbox`."""
        return self.missing is None


class Incoming(msgspec.Struct, frozen=True):
    """A letter that a person may have written, with what is known of its sender so far."""

    row: InboxRow
    letter: Letter
    understood: Understood
    now: datetime
    player: PlayerRow | None
    verdict: Verdict
    mailed: Sequence[Token]
    """The reply tokens that it brings."""
    secret: Sequence[Token]
    """The tokens among them that only readers of the mail of their address were shown."""
    tokens: tuple[Token, ...]
    """The secret tokens that came back unused from that address."""
    spoken: str
    """The proof that its words are, as they came."""
    received: datetime
    """The time at which it counts as received."""
    by_key: bool = False
    """True if a key of its player's signed it."""
    proof: MailboxProof | None = None
    """The proof of its mailbox, if it has no signature and needs one."""
    seen: HandledRow | None = None
    """The outcome of its signed words when they came before."""

    @property
    def address(self) -> str:
        """The address of its From."""
        return self.letter.sender or ""

    @property
    def reading(self) -> Reading:
        """Its commands."""
        return self.understood.reading

    @property
    def keyless_name(self) -> str | None:
        """The name of its player, if that one has no key."""
        return self.player.name if self.player is not None and self.player.keyless else None

    @property
    def answers(self) -> Place | None:
        """The place that our letter to a player without a key names, if this one's addresses name it."""
        ours = (token.place for token in self.mailed if token.purpose == "reply" and token.name == self.keyless_name)
        return next(filter(None, ours), None)

    @property
    def best_proof(self) -> str:
        """The best proof that it may turn out to be: marks of machines that even this does not lift stay."""
        if self.verdict.kind == "valid":
            return "key"
        return "mailbox" if self.tokens and self.verdict.kind == "none" else self.spoken

    @property
    def came_before(self) -> bool:
        """True if the same was proved before."""
        return self.seen is not None or (self.proof is not None and self.proof.again is not None)

    @property
    def proved_by(self) -> str:
        """The proof that a person wrote it, if it did not come before."""
        if self.verdict.kind == "valid":
            return "key"
        return "mailbox" if self.proof is not None and self.proof.holds and self.reading.commands else self.spoken

    @property
    def may_ask(self) -> bool:
        """True if it says something, or may: hidden or attached text may say anything."""
        parts = self.letter.parts
        in_a_file = any(part.filename and not part.content_type.endswith("-signature") for part in parts)
        hidden = self.verdict.kind == "refused" or in_a_file or not (self.letter.text or "").strip()
        return hidden or bool(self.reading.commands)

    @property
    def words(self) -> str:
        """SHA-256 of what was signed, whatever its dress; empty where nothing was."""
        return self.understood.judged.words


class Caller(Incoming, frozen=True, kw_only=True):
    """The sender of a letter that is read, and the right by which it counts."""

    language: str
    """The language of the answer."""
    trust: Trust
    novelty: Novelty
    misdated: Phrase | None
    """The reason why the letter's date cannot be true: then it proves nothing later."""
    quiet: bool
    """True if the letter bears the mark of a machine with which an answer could begin a loop."""

    @property
    def new(self) -> bool:
        """True if this is proved to be by its sender, and nobody else could have sent it before."""
        return self.trust >= Trust.MAILBOX and self.novelty is Novelty.NEW

    @property
    def repeated(self) -> bool:
        """True if somebody else may have sent these words again."""
        return self.novelty >= Novelty.REPEATED

    @property
    def may_get_form(self) -> bool:
        """True if its words may go back as a form: they are the player's, or a key has to sign them."""
        has_key = self.player is not None and not self.player.keyless
        return self.trust >= Trust.MAILBOX or (has_key and self.trust is Trust.VOUCHED)

    @property
    def is_elsewhere(self) -> bool:
        """True if it answers a letter that went to a player's address, and its own is no player's."""
        return self.player is None and any(one.name and not one.is_of(self.address, None) for one in self.mailed)

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses of its sender: reports go to a player's first one, whichever the letter came from."""
        return self.player.addresses if self.player is not None else (self.address,)

    @property
    def waits(self) -> bool:
        """True if the key or the address is not the player's yet: then nothing but `confirm` counts.

        With such a key anybody can sign what the player is going to say.
        """
        return self.verdict.kind == "valid" and self.player is not None and self.trust is not Trust.KEY

    @property
    def known_player(self) -> PlayerRow:
        """The player, where only a player may give the command."""
        assert self.player is not None
        return self.player

    @property
    def again(self) -> str | None:
        """The time at which these words had an effect that they have only once; None if they had none."""
        return self.seen.time if self.seen is not None and self.seen.effect else None

    @property
    def signed(self) -> Signed:
        """The letter as one that counts for its player, at the caller's level."""
        if self.verdict.kind == "valid":
            key = self.verdict.key or ""
            return Signed(self.letter.raw, "key", key, written(self.received), pasted=self.verdict.pasted)
        assert self.proof is not None
        assert self.proof.holds
        return Signed(self.letter.raw, "mailbox", self.proof.key, written(self.received), self.proof.evidence)


def refused(rule: str, token: str | None, message: Phrase) -> Refused:
    """The refusal of a command for one fault."""
    return Refused(Fault(rule, token, message))


_AS_TEXT = Phrase(
    "your opponent checks what you sign, so sign it as text: with an SSH key, or with OpenPGP in the clear"
    " (`gpg --clearsign`)"
)

_UNLIKE = Phrase(
    "your opponent gets what you sign as text, with the signature below it, and could not verify yours there: sign"
    " only the form, as UTF-8, with the same line end after every line, including the last, and nothing like"
    " `-----BEGIN` in a comment"
)


def demand_text(caller: Caller, command: AnyCommand, keys: Sequence[str]) -> None:
    """Refuse a letter whose words the other players' programs would not find signed as the server does.

    A program that cannot read what its opponent signed does not answer, and loses by the clock. The sandbox read it
    by the keys that the player has here; those of the match, `keys`, are among them.
    """
    signed = caller.signed
    if not signed.pasted:
        raise refused(command.name, None, _AS_TEXT)
    read, tried = caller.understood.judged_by_others, {key.public: key.fingerprint for key in caller.understood.keys}
    pinned = [tried.get(public) for public in keys]
    known = signed.key in pinned and None not in pinned
    if not known or read is None or (read.verdict.key, read.words) != (signed.key, caller.words):
        raise refused(command.name, None, _UNLIKE)
