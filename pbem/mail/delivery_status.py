"""Letters that come back: which of our letters it was, and whether its address is dead or only slow.

A bounce is believed only if it comes to the return path of one letter (VERP), which only its receiver can know, or
quotes the letter's header field that holds the same secret; a Message-ID is none. Read are delivery status
notifications (RFC 3464), and the older forms that flufl.bounce knows. `pbem/desk/bounces.py` decides what follows.
Implements reliability.md, case 28.
"""

from __future__ import annotations

import email
import logging
import re
from email.policy import compat32
from itertools import islice
from typing import TYPE_CHECKING, Literal

import msgspec

from pbem.mail.compose import RETURN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pbem.mail.message import Letter

RETURN_PATH = "b"
"""The beginning of a return path's sub-address; the rest is the letter's token."""

REPORT = "multipart/report"

QUOTED = re.compile(rb"(?im)^[ \t>]*x-pbem-return:[ \t]*([0-9a-f]{20})[ \t\r]*$")
SEARCHED = 256 * 1024  # octets of a bounce that are searched for the letter in it
TOKEN = re.compile(r"[0-9a-f]{20}")
STATUS = re.compile(r"[245]\.[0-9]{1,3}\.[0-9]{1,3}")  # RFC 3463 2
OLD_FORMS = 32 * 1024  # octets; what an old bounce has to say stands at its beginning, and the rest is our own letter
OLD_TEXT = 8 * 1024  # octets of text that are searched for an old form, within these
OLD_LINE = 200  # octets of a line; flufl.bounce has patterns that take its square, and nearly a hundred of them
NO_TEXT = re.compile(rb"[^!-~\n]+")
OLD_PARTS = 64  # parts of an old bounce, and types that it names: each of two dozen detectors walks through all
TYPED = re.compile(rb"(?im)^content-type:")
WARNING = re.compile(r"\b(?:warning|delay(?:ed)?)\b", re.IGNORECASE)

Kind = Literal["permanent", "temporary", "unclear"]

# What it says of a letter that it cannot make out quotes the letter.
logging.getLogger("flufl.bounce").setLevel(logging.CRITICAL + 1)


class DeliveryReport(msgspec.Struct, frozen=True):
    """The report of a letter to a return path: how bad it is, and the status (RFC 3463), if any."""

    kind: Kind
    status: str = ""


def token(recipients: Iterable[str], address: str, delimiter: str) -> str | None:
    """The token of the return path among a letter's envelope recipients, or None."""
    local, _, domain = address.rpartition("@")
    start = f"{local}{delimiter}{RETURN_PATH}"
    for recipient in recipients:
        name, _, host = recipient.lower().rpartition("@")
        if host == domain and name.startswith(start) and TOKEN.fullmatch(name.removeprefix(start)):
            return name.removeprefix(start)
    return None


def quoted_tokens(letter: Letter, envelope_sender: str) -> list[str]:
    """The tokens that a letter quotes, if a machine wrote it about a delivery; the letter's own is not among them."""
    if envelope_sender and letter.root.content_type != REPORT:
        return []
    quoted = (found.decode("ascii") for found in QUOTED.findall(letter.raw[:SEARCHED]))
    return [token for token in dict.fromkeys(quoted) if token not in letter.values(RETURN)][:10]


def read_report(letter: Letter) -> DeliveryReport:
    """The report of a letter to a return path; a vacation answer, for example, is unclear."""
    statuses = [
        bounce
        for part in letter.parts
        if part.content_type == "message/delivery-status"
        for bounce in _statuses(part.content)
    ]
    if statuses:
        worst: tuple[Kind, ...] = ("permanent", "temporary", "unclear")
        return min(statuses, key=lambda bounce: worst.index(bounce.kind))
    if any(value.lower().startswith("auto-replied") for value in letter.values("auto-submitted")):
        return DeliveryReport("unclear")
    bounce = _old_form(letter.raw[:OLD_FORMS])
    # Some warnings name the same addresses in the same words as the failure that may follow.
    return DeliveryReport("temporary") if bounce.kind == "permanent" and WARNING.search(letter.subject) else bounce


def _statuses(content: bytes) -> Iterator[DeliveryReport]:
    """The statement about each recipient (RFC 3464 2.3); the first group of fields is about the message."""
    groups = re.split(r"\n[ \t]*\n", content.decode("latin-1").replace("\r\n", "\n").strip())
    for group in groups:
        fields = dict(line.lower().partition(":")[::2] for line in group.split("\n"))
        if "action" not in fields and "status" not in fields:
            continue
        found = STATUS.search(fields.get("status", ""))
        status = found[0] if found else ""
        match fields.get("action", "").split("(")[0].strip():
            case "failed":
                # Also with a status of 4.x.x: then the other server tried for days, and has given up.
                yield DeliveryReport("permanent", status)
            case "delayed":
                yield DeliveryReport("temporary", status)
            case "":
                kinds: dict[str, Kind] = {"5": "permanent", "4": "temporary"}
                yield DeliveryReport(kinds.get(status[:1], "unclear"), status)
            case _:  # delivered, relayed, expanded: no trouble
                yield DeliveryReport("unclear", status)


def _old_form(raw: bytes) -> DeliveryReport:
    from flufl.bounce import all_failures

    text = b"\n".join(line[:OLD_LINE] for line in raw.splitlines())
    # The email package parses parts within parts in the square of their depth.
    if len(TYPED.findall(text)) > OLD_PARTS:
        return DeliveryReport("unclear")
    try:
        message = email.message_from_bytes(text, policy=compat32)
        parts = list(islice(message.walk(), OLD_PARTS + 1))
        if len(parts) > OLD_PARTS:
            return DeliveryReport("unclear")
        # What each part says, up to a bound: base64 may hide long lines, and a charset odd blanks.
        left = OLD_TEXT
        for part in parts:
            content = part.get_payload(decode=True)
            if isinstance(content, bytes):
                lines = NO_TEXT.sub(b" ", content).split(b"\n")
                short = b"\n".join(line[:OLD_LINE] for line in lines)[:left]
                left -= len(short)
                del part["content-transfer-encoding"]
                part.set_payload(short.decode("ascii"))
        slow, dead = all_failures(message)
    except Exception:  # hostile mail meets old parsers; what they make of it is theirs
        return DeliveryReport("unclear")
    return DeliveryReport("permanent" if dead else "temporary" if slow else "unclear")
