"""The reply addresses of a turn: each is good for one letter of one seat, and stands for its place and revision.

The entry that asks for orders commits to a secret, from which, with that entry's head, the addresses are made. So
none is older than its turn, and the bundle, which brings the secret with the reveal, proves what each was for.
Implements protocol.md, "Identity", level `mailbox`; docs/bundle.md, "Replies".
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from pbem.match.changed import replace
from pbem.match.documents import Replies
from pbem.match.step import HIGHEST, Document
from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.match.state import Match
    from pbem.match.step import Step
    from pbem.match.transcript import Entry


def file_replies(step: Step) -> dict[str, str]:
    """File the secret of the addresses for the orders that the next entry asks for; returns how it names that."""
    match = step.match
    path = f"evidence/replies-{match.seq + 1}.txt"
    salt = step.world.reply_salt(match, path)
    step.match = replace(match, replies=salt)
    if not salt:
        return {}
    paper = Replies(match.server, match.id, salt).text().encode()
    step.papers.append(Document(path, paper, match.game))
    return {"replies": sha256_hex(paper)}


def token(match: Match, seat: int, rev: int) -> str:
    """The token in the address for a seat's letter of this revision; empty if the turn has no such addresses."""
    if match.phase != "playing" or not match.replies or rev > HIGHEST:
        return ""
    said = f"pbem reply address 1\nprev {match.prev}\nseat {seat}\nrev {rev}\nsalt {match.replies}\n"
    return base64.b32encode(hashlib.sha256(said.encode()).digest())[:20].decode().lower()


def named_replies(entry: Entry) -> Iterator[tuple[str, str]]:
    """The paper of this kind that an entry names, with its hash."""
    if "replies" in entry.body:
        yield f"evidence/replies-{entry.seq}.txt", entry.body["replies"]
