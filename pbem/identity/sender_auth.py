"""Verification of the From of a letter without a person's signature: by its domain, or by our own mail server.

The domain's word is a DKIM signature (`dkim`). Our server's is the Authentication-Results (RFC 8601) that it wrote,
the topmost of that name, with at most one Received above it. It must remove such headers from letters that it
accepts, and its filter (config/postfix/pbem_headers) is one regular expression: on arrival a header counts only in a
form that any filter recognises (`_is_strict`), and whatever else might be read as that server's word voids it
(`is_unclear`). Implements protocol.md, "Identity", level `mailbox`, and reliability.md, case 24.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from pbem.identity import dkim
from pbem.identity.verdict import Verdict
from pbem.structured_header import without_comments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pbem.identity.dkim import DkimSignature
    from pbem.mail.message import Letter

LINE = 4000  # octets of a header that is taken apart
_PLAIN = re.compile(r"[\t -~]*+")
_SPACED = re.compile(rb"(?im)^authentication-results[ \t]++:")
_PAIR = re.compile(r"(?<![a-z0-9_-])([a-z0-9_-]++)(?:\s*+\.\s*+([a-z0-9_-]++))?\s*+=\s*+(\S++)", re.IGNORECASE)


_SIGNED = ("dkim", ("header", "d"))
_SENT = ("spf", ("smtp", "mailfrom"))
"""The methods that we ask about, each with the property that names a domain."""


def passed(letter: Letter, authserv_id: str) -> tuple[str, list[str]] | None:
    """The header of the server `authserv_id` that mentions DKIM, and the domains whose signatures it found good."""
    return _passed(letter, authserv_id, *_SIGNED)


def sent_from(letter: Letter, authserv_id: str) -> list[str]:
    """The domains of the return path for which the server `authserv_id` found the client entitled (SPF, RFC 7208)."""
    _, named = _passed(letter, authserv_id, *_SENT) or ("", [])
    return [name.rpartition("@")[2] for name in named]


def _passed(letter: Letter, authserv_id: str, method: str, of: tuple[str, str]) -> tuple[str, list[str]] | None:
    """The topmost header of our server that mentions a method, and the property `of` each result that is a pass."""
    if not authserv_id:
        return None
    hops = 0
    for name, value in letter.root.headers:
        hops += name == "received"
        if hops > 1:
            return None  # what stands here was written before the letter came to our server
        if name == "authentication-results" and (found := _results(value, authserv_id, method, of)) is not None:
            return value, found
    return None


def is_unclear(letter: Letter, authserv_id: str) -> bool:
    """Return whether the server `authserv_id` may have missed, and so not removed, a header that we would read.

    Such a header has blanks before its colon (RFC 5322 4.5), follows a bare LF among lines that end in CR LF, or is
    not in the one form that filters recognise. This is checked on arrival: what was accepted before stays as it is.
    """
    head = letter.raw[: len(letter.raw) - len(letter.root.body)]
    if 0 < head.count(b"\r\n") < head.count(b"\n") or _SPACED.search(head) is not None:
        return True
    read = (_passed(letter, authserv_id, *asked) for asked in (_SIGNED, _SENT))
    return not all(_is_strict(found[0], authserv_id) for found in read if found is not None)


def _is_strict(value: str, authserv_id: str) -> bool:
    """Return whether an unfolded value is in the one form that every filter for this server recognises.

    A comment, an escaped or a control character before the name, or a letter that only Unicode calls equal (U+212A),
    would hide it from the filter.
    """
    name, after = value[: len(authserv_id)], value[len(authserv_id) :]
    if not _PLAIN.fullmatch(value) or name.lower() != authserv_id.lower():
        return False
    return after[:1] in {"", " ", "\t", ";", "("} and "\\" not in (without_comments(value) or "\\")


def _results(value: str, authserv_id: str, method: str, of: tuple[str, str]) -> list[str] | None:
    """The property of each pass; None if the header is another server's or does not mention the method."""
    bare = without_comments(value) if len(value) <= LINE else None
    if bare is None:
        return None
    server, *results = (part.strip() for part in bare.split(";"))
    if server.lower().split() not in ([authserv_id.lower()], [authserv_id.lower(), "1"]):  # 1: its version
        return None
    found: list[str] = []
    spoke = False
    for result in results:
        pairs = [(what.lower(), kind.lower(), text) for what, kind, text in _PAIR.findall(result)]
        if not pairs or pairs[0][:2] != (method, ""):
            continue
        spoke = True
        named = [text for what, kind, text in pairs if (what, kind) == of]
        if pairs[0][2].lower() == "pass" and len(named) == 1:
            found.append(named[0].lower().rstrip("."))
    return found if spoke else None


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
    told, domains, sent = _word_of_ours(letter, authserv_id, strictly=strictly)
    found, verdict = dkim.signatures(letter)
    good: DkimSignature | None = None
    wanting = set()
    for signature in sorted(found, key=lambda one: (not one.covers(letter, "to"), not one.covers_encoding)):
        verdict = dkim.verify(letter, signature, records.get(signature.name), at)
        if verdict.kind == "valid":
            good = signature
            break
        if verdict.kind in _WANTING:
            wanting.add(signature.index)
    telling = [one for one in found if one.domain in domains and one.index not in wanting]
    covers_encoding, addressed = _covered(letter, telling if good is None else [good])
    voucher = Voucher(
        verdict,
        wanted=() if records else tuple(sorted({signature.name for signature in found})),
        told=told if telling else "",
        sent=sent,
        covers_encoding=covers_encoding,
        addressed=addressed,
    )
    if good is None:
        return voucher
    return msgspec.structs.replace(
        voucher,
        name=good.name,
        record=records[good.name] or "",
        until=good.until,
        covers_to=good.covers(letter, "to"),
    )


def _word_of_ours(letter: Letter, authserv_id: str, *, strictly: bool) -> tuple[str, list[str], bool]:
    """Our own server's word: the header, the domains with good signatures, and whether From's sent the letter."""
    if strictly and is_unclear(letter, authserv_id):
        return "", [], False
    told, domains = passed(letter, authserv_id) or ("", [])
    return told, domains, (letter.sender or "").lower().rpartition("@")[2] in sent_from(letter, authserv_id)


def _covered(letter: Letter, holding: Sequence[DkimSignature]) -> tuple[bool, tuple[str, ...]]:
    """The headers that each of these signatures covers: those that decode the text, and those with recipients.

    Of recipients, those to which nobody added one; all where the author's domain signed none.
    """
    covers_encoding = bool(holding) and all(signature.covers_encoding for signature in holding)
    signed = [signature.headers for signature in holding]
    if not any(b"to" in names or b"cc" in names for names in signed):
        return covers_encoding, RECIPIENTS
    fixed = (
        name for name in RECIPIENTS if all(len(letter.values(name)) <= names.count(name.encode()) for names in signed)
    )
    return covers_encoding, tuple(fixed)
