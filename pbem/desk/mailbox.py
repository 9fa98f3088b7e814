"""The mailbox level: what a letter without a signature needs so that it counts for its player, and what it lacks.

It brings back a reply token that was mailed to that mailbox, once, and the domain of its From vouches for it: by a
DKIM signature that we verify, or by the word of our own mail server, where the operator trusts that. Both are kept as
evidence beside the letter, and judged again from it at verification. What the DNS is to be asked is only named here.
Implements protocol.md, "Identity", level `mailbox`, and reliability.md, case 24.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.identity.vouching import vouch
from pbem.mail.letter import ADDRESSES
from pbem.match.papers import Evidence
from pbem.match.transcript import digest
from pbem.phrase import Phrase
from pbem.store import tokens
from pbem.store.database import moment, stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pbem.config import Config
    from pbem.identity.vouching import Voucher
    from pbem.mail.letter import Letter
    from pbem.store.inbox import InboxRow
    from pbem.store.lookups import Lookups
    from pbem.store.players import PlayerRow
    from pbem.store.tokens import Place, Purpose, Token, Tokens

__all__ = ["Awaited", "Mailboxes", "Proof", "vouched"]

TRIES = 4
"""How often the DNS is asked before a letter is answered without it."""

_AGE = timedelta(days=400)
"""How long an unused token is good: longer than the slowest match waits for a turn."""

_WAITING = 5
"""How many registrations without a key of one address may wait for their answers."""

_QUOTED = 20_000
"""How many characters of a text are searched for a quoted address."""


class Awaited(Exception):  # noqa: N818 - no error: the letter waits for what the DNS says
    """The letter cannot be judged before these names were looked up, so many times at the most."""

    def __init__(self, names: Sequence[str], tries: int) -> None:
        super().__init__(", ".join(names))
        self.names = names
        self.tries = tries


@dataclass(frozen=True, slots=True)
class Proof:
    """How far a letter proves the mailbox that it came from."""

    missing: Phrase | None = None
    """A sentence for the player: what it lacks; None when it counts."""
    token: Token | None = None
    """The token that it brought back."""
    again: str | None = None
    """When the very same text had its effect; then it counts, and changes nothing."""
    text: str = ""
    """SHA-256 of its text."""
    key: str = ""
    """What it rests on, as receipts name it."""
    evidence: bytes = b""

    @property
    def holds(self) -> bool:
        """Whether the letter counts at level `mailbox`."""
        return self.missing is None


class Mailboxes:
    """Reply tokens given out and taken back, and letters judged by them.

    Randomness is handed in, and `vouch`, which takes strangers' bytes apart.
    """

    def __init__(
        self,
        config: Config,
        kept: Tokens,
        lookups: Lookups,
        random: Callable[[int], bytes],
        vouch: Callable[[Letter, Mapping[str, str | None], str, datetime], Voucher],
    ) -> None:
        self._config = config
        self._tokens = kept
        self._lookups = lookups
        self._random = random
        self._vouch = vouch

    def draw(self, match: str = "reply") -> str:
        """The detail of a sub-address that a letter is to be answered to; good for one letter, once it is given."""
        return f"{match}.{tokens.new(self._random)}"

    def give(self, detail: str, player: PlayerRow, place: Place | None, now: datetime) -> None:
        """Note that such a detail goes to this player, in a letter about this place."""
        self._issue(detail, player.address, player.name, "reply", place, now)

    def invite(self, address: str, name: str, now: datetime) -> str:
        """The same, for the answer that registers this name; raises `Refused` when too many wait already."""
        if self._tokens.waiting(address, "register", stamp(now - timedelta(days=1))) >= _WAITING:
            raise Refused(
                Fault("register", None, Phrase("too many registrations of this address wait; come back in a day"))
            )
        detail = self.draw("register")
        self._issue(detail, address, name, "register", None, now)
        return detail

    def _issue(  # noqa: PLR0913, PLR0917 - whose it is, and what for
        self, detail: str, address: str, name: str, purpose: Purpose, place: Place | None, now: datetime
    ) -> None:
        token = detail.partition(".")[2]
        self._tokens.issue(token, address, name, purpose, place, time=stamp(now), too_old=stamp(now - _AGE))

    def tokens_of(self, letter: Letter, row: InboxRow) -> list[Token]:
        """The reply tokens that a letter was sent to, by envelope, header or quoted address, each once."""
        details = dict.fromkeys(self._details(letter, row))
        return list(filter(None, (self._tokens.find(detail) for detail in list(details)[:20])))

    def _details(self, letter: Letter, row: InboxRow) -> Iterator[str]:
        mailbox = self._config.mail_address.partition("@")[0]
        text = (letter.text or "")[:_QUOTED].lower()
        quoted = ADDRESSES.findall(text) if f"{mailbox}{self._config.delimiter}" in text else ()
        for address in (*row.envelope.recipients, *letter.recipients, *quoted):
            local, _, detail = address.partition("@")[0].lower().partition(self._config.delimiter)
            if local == mailbox and "." in detail:
                yield detail.partition(".")[2]

    def judge(self, letter: Letter, row: InboxRow, found: Sequence[Token], player: PlayerRow | None) -> Proof:
        """What the letter proves, given the tokens found in it; raises `Awaited` while the DNS is to be asked."""
        sender = (letter.sender or "").lower()
        name = player.name if player else None
        own = [token for token in found if token.address.lower() == sender and name in {None, token.name}]
        text = digest((letter.text or "").encode("utf-8", "replace"))
        if not own:
            return Proof(_FOREIGN if found else _NO_REPLY, text=text)
        token = min(own, key=lambda token: (token.used is not None, token.letter != text))
        if token.used is not None and token.letter != text:
            return Proof(
                _USED.given(day=f"{moment(token.used):%Y-%m-%d}", time=f"{moment(token.used):%H:%M}"), text=text
            )
        reason, evidence = self._evidence(letter, row, token)
        if evidence is None:
            return Proof(_WITHOUT_DKIM.given(reason=reason), token, text=text)
        return Proof(None, token, token.used, text, evidence.key, evidence.text().encode())

    def _evidence(self, letter: Letter, row: InboxRow, token: Token) -> tuple[Phrase, Evidence | None]:
        """Whether somebody vouches for From: what is wrong, or the evidence."""
        trusted = self._config.identity.authserv_id
        known = self._lookups.found(row.id)
        found = self._vouch(letter, known, trusted, row.received)
        if found.wanted and not known:
            # With our own server's word at hand, the DNS need not be asked twice.
            raise Awaited(found.wanted, 1 if found.told else TRIES)
        if found.verdict.kind == "valid":
            word = ("dkim", found.name, known[found.name] or "")
        elif found.told:
            word = ("server", trusted, found.told)
        else:
            return found.verdict.reason, None
        place = f"m{token.place[0]}" if token.place else "-"
        received = row.received.astimezone(UTC).strftime(_TIME)
        about = (self._config.server, place, token.name, digest(letter.raw), received, token.hash)
        return found.verdict.reason, Evidence(*about, *word)

    def use(self, proof: Proof, now: datetime) -> None:
        """Use the proof's token up: the letter had effect."""
        assert proof.token is not None
        self._tokens.use(proof.token.hash, proof.text, stamp(now))


def vouched(letter: Letter, evidence: Evidence) -> str:
    """Judge a letter again by the evidence that was kept; why it does not hold, or an empty text when it does."""
    received = _moment(evidence.received)
    if evidence.mail != digest(letter.raw):
        return "the evidence is about another letter"
    if received is None:
        return "the evidence does not say when the letter was received"
    if evidence.by == "dkim":
        verdict = vouch(letter, {evidence.name: evidence.record}, "", received).verdict
        return "" if verdict.kind == "valid" else verdict.reason
    if vouch(letter, {}, evidence.name, received).told != evidence.record:
        return f"the letter does not carry what {evidence.name} is said to have written of a signature that counts"
    return ""


_TIME = "%Y-%m-%dT%H:%M:%SZ"

_NO_REPLY = Phrase(
    "without a key of yours, this must be a reply to one of our letters: the address that it answers to is good for"
    " one letter. Answer the letter that asks for it, or this one"
)
_FOREIGN = Phrase(
    "the reply address that your letter was sent to was given to somebody else. Answer a letter that was written to"
    " you, such as this one"
)
_USED = Phrase(
    "the reply address that your letter was sent to was good for one letter, which came on {day} at {time} UTC."
    " Answer our latest letter, such as this one"
)
_WITHOUT_DKIM = Phrase(
    "{reason} Without a key, that is needed: see `help mailbox`; a key works from everywhere: see `help signing`"
)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
