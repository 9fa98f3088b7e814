"""The mailbox level: the proofs by which a letter without a signature counts for its player.

It brings back, once, a reply token that was mailed to that mailbox, and the domain of its From vouches for it: by a
DKIM signature that we verify, or by the word of our own mail server, if the operator trusts that. Both are kept as
evidence beside the letter, and verification judges them again. This module only names the queries to the DNS.
Implements protocol.md, "Identity", level `mailbox`, and reliability.md, case 24.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pbem.desk.caller import MailboxProof
from pbem.letters.draft import TALK
from pbem.mail.mail_addresses import ADDRESSES, mailboxes
from pbem.mail.one_reading import is_open
from pbem.match import asking
from pbem.match.documents import Evidence
from pbem.match.transcript import sha256_hex, written
from pbem.phrase import Moment, Phrase
from pbem.proof import mailbox_evidence
from pbem.store import tokens
from pbem.store.database import from_db, to_db

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pbem.config.server import Config
    from pbem.desk.caller import Incoming
    from pbem.identity.sender_auth import Voucher
    from pbem.mail.message import Letter
    from pbem.match.state import Match
    from pbem.store.inbox import InboxRow
    from pbem.store.players import PlayerRow
    from pbem.store.tokens import Place, Purpose, Token, Tokens

TRIES = 4
"""The number of queries to the DNS before a letter is answered without it."""

_AGE = timedelta(days=400)
"""The lifetime of an unused token: longer than the slowest match waits for a turn."""

_LATEST = 100
"""The number of addresses of a turn, used ones included, among which that of a letter is sought."""

_QUOTED = 20_000
"""The most characters of a text that are searched for a quoted address."""


class NeedsDns(Exception):
    """The letter cannot be judged before these names are looked up, at most this many times.

    It `counts` if it may have an effect in a match then; otherwise they only tell how it may be answered.
    """

    def __init__(self, names: Sequence[str], tries: int, *, counts: bool = True) -> None:
        super().__init__(", ".join(names))
        self.names = names
        self.tries = tries
        self.counts = counts


@dataclass(eq=False, repr=False)
class ReplyTokens:
    """Reply tokens given out and taken back, and letters judged by them; randomness is handed in."""

    _config: Config
    _tokens: Tokens
    _random: Callable[[int], bytes]
    _reply_address: Callable[[str], str]

    def draw(self, match: str = "reply") -> str:
        """The detail of a reply address for the answer to a letter; good for one letter, once it is given."""
        return f"{match}.{tokens.new(self._random)}"

    def detail_for(self, match: Match, seat: int, *, talks: bool = False) -> str:
        """The detail of the reply address for a letter about a match: one that the transcript proves, if possible.

        For one that `talks`, it has a token of its own: a message uses up none at which orders are due.
        """
        if talks and self._config.delimiter:
            return self.draw(f"{TALK}{match.id}")
        token = asking.token(match, seat, self._next(match, seat)) if self.stand_for_place(match) else ""
        return f"{match.id}.{token}" if token else self.draw(match.id)

    def stand_for_place(self, match: Match) -> bool:
        """True if what is due needs no form, because its reply address proves its place."""
        return bool(self._config.delimiter and match.replies) and match.phase in asking.ADDRESSED

    def revision(self, match: Match, seat: int, token: Token) -> int:
        """The revision of the letter that this token lets count at this place, or let count before; 0 if none."""
        last = self._next(match, seat)
        for rev in range(last, max(last - _LATEST, 0), -1):
            if sha256_hex(asking.token(match, seat, rev).encode()) == token.hash:
                return rev
        return 0

    def _next(self, match: Match, seat: int) -> int:
        """The revision for which a seat's next letter at this place brings an address."""
        rev = least(match, seat)
        while (token := asking.token(match, seat, rev)) and self._tokens.find(token):
            rev += 1
        return rev

    def give(self, detail: str, player: PlayerRow, place: Place | None, now: datetime) -> None:
        """Record that such a detail goes to this player, in a letter about this place."""
        self._issue(detail, player.address, player.name, "reply", place, now)

    def ask(self, purpose: Purpose, address: str, name: str, now: datetime) -> str:
        """The same for a letter to an address, perhaps a stranger's; returns the whole reply address."""
        detail = self.draw(purpose)
        self._issue(detail, address, name, purpose, None, now)
        return self._reply_address(detail)

    def write_back(self, address: str, player: PlayerRow | None, now: datetime) -> str | None:
        """The address for an answer that will be read, whatever others send in that name.

        None for a player without a key, for whom every letter has such a reply address.
        """
        if player is not None and player.keyless:
            return None
        return self.ask("write", address, player.name if player else "", now)

    def go_on(self, tokens: Sequence[Token], letter: Letter, player: PlayerRow | None, now: datetime) -> str | None:
        """The same for the answer to somebody who wrote to such an address, which is then used up; otherwise None."""
        spent = [token for token in tokens if token.purpose == "write"]
        for token in spent:
            self.use(token, letter, now)
        return self.write_back(spent[0].address, player, now) if spent else None

    def asked(self, purpose: Purpose, address: str, period: timedelta, now: datetime) -> int:
        """The number of unanswered requests to an address within this time."""
        return self._tokens.waiting(address, purpose, to_db(now - period))

    def _issue(
        self, detail: str, address: str, name: str, purpose: Purpose, place: Place | None, now: datetime
    ) -> None:
        token = detail.partition(".")[2]
        self._tokens.issue(token, address, name, purpose, place, time=to_db(now), too_old=to_db(now - _AGE))

    def tokens_of(self, letter: Letter, row: InboxRow) -> list[Token]:
        """The reply tokens that a letter was sent to (by envelope, header or quote) or answers; each once."""
        details = dict.fromkeys(self._details(letter, row))
        return list(filter(None, (self._tokens.find(detail) for detail in list(details)[:20])))

    def _details(self, letter: Letter, row: InboxRow) -> Iterator[str]:
        if not self._config.delimiter:
            # The one that it answers first: its thread may name older ones that were never used.
            for message_id in (*letter.in_reply_to, *reversed(letter.references)):
                local, _, host = message_id.strip("<>").lower().rpartition("@")
                if host == self._config.server:
                    yield local.rpartition(".")[2]
            return
        mailbox = self._config.mail_address.partition("@")[0]
        text = (letter.text or "")[:_QUOTED].lower()
        quoted = ADDRESSES.findall(text) if f"{mailbox}{self._config.delimiter}" in text else ()
        for address in (*row.envelope.recipients, *letter.recipients, *quoted):
            if detail := token_in(address, self._config):
                yield detail

    def judge(self, mail: Incoming, found: Sequence[Token], *, talks: bool) -> MailboxProof:
        """The proof that a letter brings, by its voucher and the tokens found in it; raises `NeedsDns`.

        If it only `talks`, it may be an afterthought, to an address that was used before.
        """
        letter, name = mail.letter, mail.player.name if mail.player else None
        if letter.from_defect:
            return MailboxProof(_MALFORMED_FROM.given(defect=letter.from_defect))
        # The evidence must show which token it was: one that only the envelope knew proves nothing later.
        shown = mailbox_evidence.shown_tokens(letter)
        given = [token for token in found if token.is_of(letter.sender or "", name)]
        own = [token for token in given if token.hash in shown]
        if not own:
            return MailboxProof(_UNSEEN if given else _FOREIGN if found else _NO_REPLY)
        # The one in To before others: for orders without a form, no other counts.
        to = mailbox_evidence.token_hash(mailbox_evidence.detail_in_to(letter))
        token = min(own, key=lambda one: (is_spent(one, letter), one.hash != to, bool(one.used)))
        spent = is_spent(token, letter)
        if token.used is not None and spent and not talks:
            return MailboxProof(_USED.given(moment=Moment(from_db(token.used))))
        demand_dns(mail.understood.voucher)
        # What somebody wrote to others, such as a forwarded letter of ours, they may send here.
        if not self.is_written_to_us(letter, mail.understood.voucher.addressed):
            return MailboxProof(_TO_OTHERS)
        reason, evidence = self._evidence(mail, token)
        if evidence is None:
            return MailboxProof(_WITHOUT_DKIM.given(reason=reason), token)
        # Opponents may have the letter: they could send it to another address, where its domain does not sign To.
        again = (None if spent else token.used) or self._tokens.counted(mailbox_evidence.marks(letter))
        return MailboxProof(None, token, again, evidence.key, evidence.text().encode())

    def _evidence(self, mail: Incoming, token: Token) -> tuple[Phrase, Evidence | None]:
        """The evidence that somebody vouches for From, or else the fault."""
        letter, found, received = mail.letter, mail.understood.voucher, mail.received
        if found.verdict.kind == "valid" and found.until is not None and received.timestamp() > found.until:
            # It counts as received later than it came.
            return _EXPIRED.given(domain=found.name.partition("._domainkey.")[2]), None
        if found.verdict.kind == "valid":
            by, name, record = "dkim", found.name, found.record
        elif found.told:
            by, name, record = "server", self._config.identity.authserv_id, found.told
        else:
            return found.verdict.reason, None
        if not found.covers_encoding and is_open(letter.root):
            return _OPEN, None
        return found.verdict.reason, Evidence(
            server=self._config.server,
            match=f"m{token.place[0]}" if token.place else "-",
            player=token.name,
            mail=sha256_hex(letter.raw),
            received=written(received),
            token=token.hash,
            place=mailbox_evidence.place(*token.place[1:]) if token.place else "none",
            by=by,
            name=name,
            record=record,
        )

    def is_talk(self, letter: Letter) -> bool:
        """True if a letter is to such an address of ours: its plain words are a message."""
        locals_of = (address.partition("@")[0].lower() for address in letter.recipients)
        return any(split(local, self._config)[1].startswith(TALK) for local in locals_of)

    def is_written_to_us(self, letter: Letter, headers: Sequence[str]) -> bool:
        """True if one of these headers sends a letter to an address of ours; a name that looks like one does not."""
        mailbox, _, domain = self._config.mail_address.lower().rpartition("@")
        for value in (value for header in headers for value in letter.values(header)):
            for recipient in mailboxes(value.lower()):
                local, _, host = recipient.rpartition("@")
                if host == domain and split(local, self._config)[0] == mailbox:
                    return True
        return False

    def use(self, token: Token, letter: Letter, now: datetime) -> None:
        """Use a token up, unless it was used before: the letter had effect."""
        if token.used is None:
            self._tokens.use(token.hash, _text_of(letter), to_db(now))
        self._tokens.count(mailbox_evidence.marks(letter), to_db(now))


def is_spent(token: Token, letter: Letter) -> bool:
    """True if a token let another text count before."""
    return token.used is not None and token.letter != _text_of(letter)


def least(match: Match, seat: int) -> int:
    """The lowest revision at which a seat may submit what is due, or withdraw it."""
    before = match.submissions.get(seat)
    return before.rev + 1 if before else 1


def demand_dns(voucher: Voucher, *, counts: bool = True) -> None:
    """Raise `NeedsDns` if the DNS is to be asked; it `counts` unless only the answer depends on it."""
    if voucher.wanted:
        # With our own server's word at hand, the DNS need not be asked twice.
        raise NeedsDns(voucher.wanted, 1 if voucher.told else TRIES, counts=counts)


def token_in(address: str, config: Config) -> str:
    """The token that a reply address of ours ends with; empty for all other addresses."""
    local, detail = split(address.partition("@")[0].lower(), config)
    mailbox = config.mail_address.partition("@")[0]
    return detail.partition(".")[2] if local == mailbox else ""


def split(local: str, config: Config) -> tuple[str, str]:
    """The local part of an address, and its detail where there are sub-addresses."""
    mailbox, _, detail = local.partition(config.delimiter) if config.delimiter else (local, "", "")
    return mailbox, detail


def _text_of(letter: Letter) -> str:
    return sha256_hex((letter.text or "").encode("utf-8", "replace"))


_NO_REPLY = Phrase(
    "without a key, this must be a reply to one of our letters, whose reply address is good for one letter. Answer"
    " the letter that asks for it, or this one"
)
_FOREIGN = Phrase(
    "the reply address that your letter was sent to was given to somebody else. Answer a letter that was written to"
    " you, such as this one"
)
_MALFORMED_FROM = Phrase(
    "the line From of your letter is malformed ({defect}), so nothing proves later who sent it. Set your name and"
    " address anew in your mail program"
)
_UNSEEN = Phrase(
    "the reply address that your letter was sent to does not appear in it, so nobody could check it later."
    " Send your letter with that address as To"
)
_TO_OTHERS = Phrase("your letter was written to others, and not to us. Send it with our address as To")
_USED = Phrase(
    "the reply address that your letter was sent to was good for one letter, which came on {moment} UTC."
    " Answer our latest letter, such as this one"
)
_OPEN = Phrase(
    "Your mail provider does not sign how your letter is encoded, and somebody could make what it quotes look like"
    " your own words: send the answer again as plain text, without what you answer."
)
_EXPIRED = Phrase("The DKIM signature of {domain} had expired.")
_WITHOUT_DKIM = Phrase(
    "{reason} Without a key, you need this: see `help mailbox`; a key works from everywhere: see `help signing`"
)
