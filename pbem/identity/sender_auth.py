"""Verification of the From of a letter without a person's signature: by its domain, or by our own mail server.

This module combines the two, for the desk on arrival and for verification later; DKIM is in `dkim`, the server's
word in `authres`. Implements protocol.md, "Identity", level `mailbox`, and reliability.md, case 24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.identity import authres, dkim
from pbem.identity.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pbem.identity.dkim import DkimSignature
    from pbem.mail.message import Letter


class Voucher(msgspec.Struct, frozen=True):
    """The verification of a letter's From, and by whom."""

    verdict: Verdict
    """`valid` when From's domain vouches for the letter by a DKIM signature that we verified."""
    name: str = ""
    """The name in the DNS of the key of that signature."""
    record: str = ""
    """The DNS's record of that key."""
    until: int | None = None
    """The time at which that signature expires (RFC 6376 3.5, x=)."""
    wanted: tuple[str, ...] = ()
    """The names in the DNS of the keys of all signatures that might count, unless it was asked for them."""
    told: str = ""
    """The Authentication-Results header in which our own server says that such a signature holds."""
    sent: bool = False
    """True if our own server says that the client may send for From's domain (SPF)."""
    marks: tuple[str, ...] = ()
    """The fingerprints of the signatures that might count, the same however their headers are folded."""
    covers_to: bool = False
    """True if that signature covers To."""
    covers_encoding: bool = False
    """True if that signature, or each in which our own server may trust, covers the headers that decode the text."""
    addressed: tuple[str, ...] = ()
    """The headers with recipients to which nobody added one where the domain signs any, as some do not."""


RECIPIENTS = ("to", "cc")

_WANTING = frozenset({"bad", "revoked", "expired"})
"""The verdicts that no other server's word can mend."""


def vouch(
    letter: Letter, records: Mapping[str, str | None], authserv_id: str, at: datetime, *, strictly: bool = False
) -> Voucher:
    """Say who vouches for From; never raises.

    `records` are the key records by name: "" if the DNS has none, None if it could not be asked. `authserv_id`
    names our own server (empty: none), whose word is taken only about a signature that would count, its key apart,
    and that we did not find bad ourselves; `strictly`, on arrival, none that its filter may have missed. `at` is when
    the letter was received.
    """
    if strictly and authres.is_unclear(letter, authserv_id):
        authserv_id = ""
    said = authres.passed(letter, authserv_id)
    sent = (letter.sender or "").lower().rpartition("@")[2] in authres.sent_from(letter, authserv_id)
    found, verdict = dkim.signatures(letter)
    name = told = record = ""
    until = None
    wanting = set()
    for signature in sorted(found, key=lambda one: (not one.covers(letter, "to"), not one.covers_encoding)):
        verdict = dkim.verify(letter, signature, records.get(signature.name), at)
        if verdict.kind == "valid":
            name, record, until = signature.name, records[signature.name] or "", signature.until
            break
        if verdict.kind in _WANTING:
            wanting.add(signature.index)
    telling = [one for one in found if said and one.domain in said[1] and one.index not in wanting]
    if said is not None and telling:
        told = said[0]
    wanted = () if records else tuple(sorted({signature.name for signature in found}))
    marks = tuple(dict.fromkeys(signature.mark for signature in found))
    holding = [signature] if verdict.kind == "valid" else telling
    return Voucher(
        verdict,
        name,
        record,
        until,
        wanted,
        told,
        sent,
        marks,
        verdict.kind == "valid" and signature.covers(letter, "to"),
        bool(holding) and all(one.covers_encoding for one in holding),
        _addressed([name for name, _ in letter.root.headers], holding),
    )


def _addressed(there: Sequence[str], holding: Sequence[DkimSignature]) -> tuple[str, ...]:
    """The recipient headers that the author's domain signed, if it signed any."""
    signed = [signature.headers for signature in holding]
    if not any(b"to" in names or b"cc" in names for names in signed):
        return RECIPIENTS
    return tuple(
        name for name in RECIPIENTS if all(there.count(name) <= names.count(name.encode()) for names in signed)
    )
