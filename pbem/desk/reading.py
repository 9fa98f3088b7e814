"""Reading: the interface by which the desk has strangers' letters taken apart, judged and parsed.

A letter is asked about before anything is decided on it, and the answer has all that a decision needs of what
strangers wrote. Here live the question, the answer, the `LetterReader` that the desk is handed, and one that reads
in the same process (tests). The one with a separate process is the server's sandbox. Mail, identity and proof define
what reading means; nothing here decides anything. Implements reliability.md, "Ground facts", case 16.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from pbem import identity
from pbem.config.limits import Limits
from pbem.identity import BadKey, Key, Verdict
from pbem.identity.security_keys import check_host
from pbem.identity.sender_auth import Voucher, vouch
from pbem.mail import commands, delivery_status
from pbem.mail.commands import Reading
from pbem.mail.delivery_status import DeliveryReport
from pbem.mail.html import own_words
from pbem.mail.message import Letter, Unreadable, received
from pbem.match.modes import MODES
from pbem.phrase import Phrase
from pbem.proof import key_changes
from pbem.proof.normal_form import VOCABULARY, JudgedText, judged_by_others, judged_text
from pbem.requests import AddKey, Recover, Register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BATCH = 8  # letters that are read together

_READ_BY_OTHERS = frozenset[str]().union(*(mode.read_by_others for mode in MODES))
"""The commands whose signed text the others' programs read, in some mode."""


BringsKey = Register | AddKey | Recover


class ReaderError(Exception):
    """Reading took too long or too much memory; whose fault that is remains unknown."""


class Question(msgspec.Struct, frozen=True):
    """A letter to be read, and what it is judged by."""

    raw: bytes
    at: datetime
    """The time of arrival."""
    server: str = ""
    keys: list[Key] | None = None
    """Those that may have signed it; None where nobody will ask what it says."""
    authserv_id: str = ""
    """The mail server whose word about a sender counts; empty: none."""
    records: dict[str, str | None] = {}
    """The DNS records of its DKIM keys, if they were asked for."""
    returned: bool | None = None
    """True if it came as a letter comes back; None if only its type can say so."""
    pages_host: str = ""
    """The host to which new passkeys must belong; empty: no passkey of a page on the web is taken."""


class Brought(msgspec.Struct, frozen=True):
    """The new key that a request brings."""

    request: BringsKey
    key: Key | None = None
    """None if there is none."""
    fault: Phrase | None = None
    """The reason why it cannot be taken."""


class Understood(msgspec.Struct, frozen=True):
    """The signer of a letter, by the keys that were named; its text; and its commands."""

    keys: list[Key]
    judged: JudgedText
    reading: Reading
    voucher: Voucher
    """The voucher for its From."""
    brought: list[Brought] = []
    judged_by_others: JudgedText | None = None
    """The signed text as the other players of a sealed match will read it by any of these keys, if they are to."""
    adds: bool = False
    """True if words of the sender's own stand above what a key signed."""

    def new_key(self, request: BringsKey) -> Key | None:
        """The new key that a request brings; None if it brings none. Raises `BadKey`."""
        found = next((one for one in self.brought if one.request == request), None)
        if found is not None and found.fault is not None:
            raise BadKey(found.fault)
        return found.key if found is not None else None


class Findings(msgspec.Struct, frozen=True, tag=True):
    """The answer to a question: everything that a decision needs of a letter."""

    letter: Letter
    """Only headers, as many as the limits allow, of one beyond them."""
    beyond: Phrase | None = None
    """The limit that it exceeds."""
    understood: Understood | None = None
    """Its text and commands; None where keys were not named, or it is beyond the limits."""
    delivery_report: DeliveryReport | None = None
    """Its report of a delivery, if it may be a bounce: `bounces.judge` decides whether it is."""


class LetterReader(Protocol):
    """Reads what strangers wrote, within the limits it was made with."""

    def get_ready(self) -> None:
        """Make sure that reading is possible at all, before any letter is leased; raises `ReaderError`."""

    def read(self, questions: Sequence[Question]) -> list[Findings | ReaderError]:
        """The answers to these questions, in order. Raises `ReaderError` if nothing can be read at all."""

    def close(self) -> None:
        """Read no more."""


class InProcess:
    """A reader without a worker."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def get_ready(self) -> None:
        """There is nothing to wait for."""

    def read(self, questions: Sequence[Question]) -> list[Findings | ReaderError]:
        """Read and judge now."""
        return [find(question, self._limits) for question in questions]

    def close(self) -> None:
        """There is nothing to end."""


def find(question: Question, limits: Limits) -> Findings:
    """Read a letter within the limits, and answer the question about it."""
    read = partial(received, limits=limits)
    try:
        letter = read(question.raw)
    except Unreadable as error:
        # Its headers are enough to see that it may be a bounce.
        return Findings(error.letter, error.reason, delivery_report=_delivery_report(error.letter, question))
    understood = _understood(letter, question.keys, question, read) if question.keys is not None else None
    return Findings(letter, understood=understood, delivery_report=_delivery_report(letter, question))


def _delivery_report(letter: Letter, question: Question) -> DeliveryReport | None:
    is_report = letter.root.content_type == delivery_status.REPORT
    may_be = is_report if question.returned is None else question.returned
    return delivery_status.read_report(letter) if may_be else None


def _understood(
    letter: Letter, keys: Sequence[Key], question: Question, read: Callable[[bytes], Letter]
) -> Understood:
    verdict = identity.judge(letter, keys, question.server, words=VOCABULARY, at=question.at)
    said = judged_text(letter, verdict, read)
    if letter.html is not None and not said.text.strip():
        reading = commands.without_effect(commands.parse(own_words(letter.html.text), signed=False))
    else:
        reading = commands.parse(said.text, signed=said.verdict.kind == "valid")
    voucher = vouch(letter, question.records, question.authserv_id, question.at, strictly=True)
    others = None
    if said.verdict.pasted and any(command.name in _READ_BY_OTHERS for command in reading.commands):
        # Other programs may try these keys in any order: with the signer's last, no other key must fit.
        tried = sorted(keys, key=lambda key: key.fingerprint == said.verdict.key)
        others = judged_by_others(said.verdict.pasted.encode(), [key.public for key in tried], question.server)
    asking = [one.request for one in reading.commands if isinstance(one.request, BringsKey)]
    brought = list(_brought(letter, said.verdict, asking, question, read)) if asking else []
    adds = said.verdict.kind == "valid" and _adds(letter.text or "", said.text)
    return Understood([*keys], said, reading, voucher, brought, others, adds)


def _adds(text: str, signed: str) -> bool:
    """True if a text has own words above the signed ones, such as a message; the line above a quote is none."""
    first = " ".join(signed.strip().partition("\n")[0].split()[:2])  # the rest of its line may have been broken off
    above = commands.clean(text).partition(first)[0].partition("-----BEGIN")[0] if first else ""
    reading = commands.parse(above, signed=False)
    return bool(reading.commands or reading.short)


def _brought(
    letter: Letter, verdict: Verdict, asking: Sequence[BringsKey], question: Question, read: Callable[[bytes], Letter]
) -> Iterator[Brought]:
    """The new keys that the commands bring; each part of the letter is parsed once, however many ask for it."""

    @cache
    def parsed(data: str | bytes) -> Key | BadKey:
        try:
            key = identity.parse_key(data, question.at)
            check_host(key, question.pages_host)
            return key
        except BadKey as error:
            return error

    def parse_key(data: str | bytes) -> Key:
        found = parsed(data)
        if isinstance(found, BadKey):
            raise found
        return found

    read_once = cache(read)
    unsigned = Verdict("none", verdict.reason)
    for request in dict.fromkeys(asking):
        # A key that registers proves itself later: nothing need cover it.
        covering = unsigned if isinstance(request, Register) else verdict
        try:
            key = key_changes.asked(request, covering, letter, read=read_once, parse_key=parse_key)
            yield Brought(request, key)
        except BadKey as error:
            yield Brought(request, fault=error.reason)
