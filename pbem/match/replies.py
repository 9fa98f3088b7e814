"""Reply addresses that the transcript proves: each is good for one letter of one seat, and stands for its place.

A secret and the head under which something is asked for make them: the hash of the terms for the agreement, else the
head that the letters cite. So none is older than that head. The entry that asks commits to the secret, and the bundle
shows it once the place is past. Implements protocol.md, "Identity", level `mailbox`; docs/bundle.md, "Replies".
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

ADDRESSED = ("proposed", "setup", "playing")
"""The phases in which something is asked for at such addresses."""


def file_replies(step: Step) -> dict[str, str]:
    """File the secret of the addresses for the orders that the next entry asks for; returns how it names that."""
    path = f"evidence/replies-{step.match.seq + 1}.txt"
    return _file(step, path, step.match.game)


def file_replies_of_setups(step: Step, game: int) -> dict[str, str]:
    """The same for the setups of a game."""
    return _file(step, of_setups(game), game) or step.world.hidden_replies(step.match, game)


def file_replies_of_proposal(step: Step) -> dict[str, str]:
    """The same for the agreement, whose addresses were used before the transcript begins."""
    paper = _paper(step.match)
    step.papers.append(Document(of_setups(0), paper))
    return {"proposal": sha256_hex(paper)}


def show_replies_of_setups(step: Step) -> None:
    """Show the secret of the addresses for setups, if the match closes before their game begins."""
    if step.match.replies:
        step.papers.append(Document(of_setups(step.match.game), _paper(step.match), step.match.game - 1))


def of_setups(game: int) -> str:
    """The path of the paper for the setups of a game; of game 0: for the agreement."""
    return f"evidence/replies-game-{game}.txt"


def _file(step: Step, path: str, game: int) -> dict[str, str]:
    step.match = replace(step.match, replies=step.world.reply_salt(step.match, path, game))
    if not step.match.replies:
        return {}
    paper = _paper(step.match)
    step.papers.append(Document(path, paper, game))
    return {"replies": sha256_hex(paper)}


def _paper(match: Match) -> bytes:
    return Replies(match.server, match.id, match.replies).text().encode()


def token(match: Match, seat: int, rev: int) -> str:
    """The token in the address for a seat's letter of this revision; empty if there are no such addresses now."""
    if match.phase not in ADDRESSED or not match.replies or rev > HIGHEST:
        return ""
    asked = match.rules_hash if match.phase == "proposed" else match.prev
    said = f"pbem reply address 1\nprev {asked}\nseat {seat}\nrev {rev}\nsalt {match.replies}\n"
    return base64.b32encode(hashlib.sha256(said.encode()).digest())[:20].decode().lower()


def named_replies(entry: Entry) -> Iterator[tuple[str, str]]:
    """The paper of this kind that an entry names for orders, with its hash."""
    if "replies" in entry.body:
        yield f"evidence/replies-{entry.seq}.txt", entry.body["replies"]


def named_proposal(entry: Entry) -> Iterator[tuple[str, str]]:
    """The same of the agreement."""
    if "proposal" in entry.body:
        yield of_setups(0), entry.body["proposal"]
