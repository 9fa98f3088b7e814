"""Letters of a server, forged or with another bulletin, for tests of what a player's side believes."""

from __future__ import annotations

import base64
import json
from email.message import EmailMessage
from email.policy import SMTP
from typing import TYPE_CHECKING, Any

from in_a_box.bulletins import FIELD, unpacked
from in_a_box.referee import SERVER, Mailbox, Referee
from in_a_box.table import TO, Side

from pbem.match.transcript import announcement, canonical, sha256_hex

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.player.memory import SentForm


def memory_of(side: Side) -> list[object]:
    """All that a side believes: how matches stand, what is due, whose key it is."""
    papers = [side.memory.latest("m1", kind) for kind in ("setup", "position", "reports")]
    return [side.letters.matches.standings, papers, side.memory.account().server_key, side.memory.account().name]


def forged(key: Ed25519PrivateKey, items: list[dict[str, Any]], **other: Any) -> bytes:
    """A letter as a server with this key would write it."""
    document = {
        "pbem": "bulletin 1",
        "server": SERVER,
        "to": "ann@mail.example",
        "time": "2026-03-01T12:00:00Z",
        "generation": 1,
        "forgotten": {},
        "items": items,
        "files": {},
        "key": key.public_key().public_bytes_raw().hex(),
    } | other
    said = announcement(str(document["server"]), sha256_hex(canonical(document)))
    return with_bulletin(canonical(document | {"signature": key.sign(said).hex()}))


def with_bulletin(content: bytes) -> bytes:
    letter = EmailMessage(SMTP)
    letter["From"] = f"pbem <{TO}>"
    letter["To"] = "ann@mail.example"
    letter["Subject"] = "[pbem m1] a letter"
    letter.set_content("Words.\n")
    packed = base64.b64encode(content).decode()
    return f"{FIELD}: {packed}\r\n".encode() + letter.as_bytes()


def last(side: Side) -> bytes:
    """The last letter about the match, as it came."""
    return next(raw for raw in reversed(side.person.letters.came) if b"position.json" in raw)


def rewritten(
    side: Side,
    change: Callable[[dict[str, Any]], object],
    *,
    key: Ed25519PrivateKey | None = None,
    raw: bytes = b"",
) -> bytes:
    """The last letter, or this one, with its bulletin changed, and signed anew where a key is given."""
    raw = raw or last(side)
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.replace(b"\r\n ", b"").split(b"\r\n")
    at = next(number for number, line in enumerate(lines) if line.startswith(FIELD.encode()))
    document = json.loads(unpacked(lines[at].decode().partition(":")[2]))
    document.pop("signature") if key else None
    change(document)
    if key:
        said = announcement(str(document["server"]), sha256_hex(canonical(document)))
        document["signature"] = key.sign(said).hex()
    lines[at] = FIELD.encode() + b": " + base64.b64encode(canonical(document))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def posted(side: Side, sent: SentForm) -> SentForm:
    """A letter that left, and may be anywhere."""
    side.letters.outbox.has_left(sent)
    return sent


def bob_of(referee: Referee) -> Mailbox:
    return referee.people["bob@mail.example"]
