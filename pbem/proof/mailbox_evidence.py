"""The evidence of the mailbox level, judged again: whether the evidence kept with a letter still vouches for it.

The desk decided whether the letter counts; here the same question is answered years later, from the
letter and its evidence alone. Implements protocol.md, "Identity", level `mailbox`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.mail.mail_addresses import ADDRESSED, mailboxes
from pbem.mail.message import unencoded
from pbem.mail.one_reading import is_open
from pbem.match.transcript import is_time, sha256_hex, utc

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.mail.message import Letter
    from pbem.match.documents import Evidence
    from pbem.match.state import Match

TOKEN = re.compile(r"\.([a-z2-7]{20})@")
_DETAIL = re.compile(r"([a-z0-9]{0,20}\.[a-z2-7]{20})@")

_OPEN = "its domain does not sign how it is encoded, and with another encoding its quotes would say something else"
_SIGNATURE = re.compile(r"(?:\A|;)\s*b\s*=([^;]*)")
_SHORTEST = 64
"""The octets of the shortest signature, by Ed25519."""
_SEARCHED = 20_000
"""The number of characters of a text that are searched for a quoted address."""


def place(game: int, turn: int) -> str:
    """The place of the letter that brought a token, as evidence writes it (turn 0: the setup, or the agreement)."""
    return f"game {game} turn {turn}"


def shown_tokens(letter: Letter) -> set[str]:
    """SHA-256 of each reply token that a letter shows: in its addresses, in a quote, or in the letter it answers."""
    answers = (message_id.lower() for message_id in (*letter.in_reply_to, *letter.references))
    addressed = (value for name in ADDRESSED for value in letter.values(name))
    headers = " ".join([*addressed, *answers]).encode("ascii", "replace").decode()  # no other letter becomes `k`
    seen = f"{headers} {(letter.text or '')[:_SEARCHED]}".lower()
    return {sha256_hex(token.encode()) for token in TOKEN.findall(seen)}


def marks(letter: Letter) -> frozenset[str]:
    """SHA-256 of its author and each DKIM signature of a letter: the same in each copy, whatever was added or folded.

    The author, because anybody may put the signature of another's letter above their own.
    """
    author = f"{letter.sender or ''}\n".lower().encode()
    signed = (_SIGNATURE.search(value) for value in letter.values("dkim-signature"))
    octets = (unencoded(found[1].encode("ascii", "replace"), "base64") for found in signed if found)
    return frozenset(sha256_hex(author + one) for one in octets if len(one) >= _SHORTEST)


def detail_in_to(letter: Letter) -> str:
    """The detail of the one reply address in To, such as `m17.` and a token; empty if there are several, or none."""
    to = " ".join(address.lower() for value in letter.values("to") for address in mailboxes(value))
    found = {*_DETAIL.findall(to)}
    return found.pop() if len(found) == 1 else ""


def token_hash(detail: str) -> str:
    """SHA-256 of the token in a detail, as evidence and the store have it."""
    return sha256_hex(detail.partition(".")[2].encode())


def signed_detail(letter: Letter, evidence: Evidence) -> str:
    """The same, if the token is that of the evidence, and a DKIM signature that the evidence proves covers To."""
    detail = detail_in_to(letter)
    if evidence.by != "dkim" or token_hash(detail) != evidence.token:
        return ""
    return "" if _signed(letter, evidence, utc(evidence.received), over="to") else detail


def vouched(letter: Letter, evidence: Evidence, match: Match | None, *, waited: bool) -> str:
    """Judge a letter again by the kept evidence; returns why it does not hold, or an empty text if it does.

    A letter that `waited` may have been sent in an earlier turn of its game than the one in which it counts. Without
    a match, it may answer any letter.
    """
    if letter.from_defect:
        return f"its From is no plain one: {letter.from_defect}"
    if evidence.token not in shown_tokens(letter):
        return "the letter does not show the reply address that the evidence names"
    if match is not None and match.seq and not _was_here(evidence.place, match, waited=waited):
        return f"the letter that it answers was about {evidence.place}"
    if evidence.mail != sha256_hex(letter.raw):
        return "the evidence is about another letter"
    if not is_time(evidence.received):
        return "the evidence does not say when the letter was received"
    received = utc(evidence.received)
    if evidence.by == "dkim":
        return _signed(letter, evidence, received)
    from pbem.identity.sender_auth import vouch

    voucher = vouch(letter, {}, evidence.name, received)
    if voucher.told != evidence.record:
        return f"the letter does not carry what {evidence.name} is said to have written of a signature that counts"
    return "" if voucher.covers_encoding or not is_open(letter.root) else _OPEN


def _signed(letter: Letter, evidence: Evidence, received: datetime, over: str = "from") -> str:
    """The reason why no DKIM signature over this header holds with the kept record of its key."""
    from pbem.identity import dkim

    found, verdict = dkim.signatures(letter)
    named = [one for one in found if one.name == evidence.name and one.covers(letter, over)]
    if found and not named:
        return f"none of its DKIM signatures that may count is by the key {evidence.name}"
    if named and is_open(letter.root) and not (named := [one for one in named if one.covers_encoding]):
        return _OPEN
    for signature in named:
        verdict = dkim.verify(letter, signature, evidence.record, received)
        if verdict.kind == "valid":
            return ""
    return verdict.reason


def _was_here(written: str, match: Match, *, waited: bool) -> bool:
    """True if an answer to a letter about that place can count here."""
    found = re.fullmatch(r"game ([0-9]{1,9}) turn ([0-9]{1,9})", written)
    if found is None or int(found[1]) != match.game:
        return False
    return int(found[2]) <= match.turn if waited else int(found[2]) == match.turn
