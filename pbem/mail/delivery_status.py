"""Letters that come back: which of our letters it was, and whether its address is dead or only slow.

A bounce is believed only if it comes to the return path of one letter (VERP), which only its receiver can know, or
quotes the letter's header field that holds the same secret; a Message-ID is none. Read are delivery status
notifications (RFC 3464), and Exim's header field. `pbem/desk/bounces.py` decides what follows.
Implements reliability.md, case 28.
"""

from __future__ import annotations

import re
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
WARNING = re.compile(r"\b(?:warning|delay(?:ed)?)\b", re.IGNORECASE)

Kind = Literal["permanent", "temporary", "unclear"]


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
    if not letter.values("x-failed-recipients"):
        return DeliveryReport("unclear")
    # Some warnings name the same addresses in the same words as the failure that may follow.
    return DeliveryReport("temporary" if WARNING.search(letter.subject) else "permanent")


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
