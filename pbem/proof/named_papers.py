"""The papers of a match that its entries name: by path and hash, and the letters that papers name in turn.

Nothing here is judged by the rules of a game. Implements docs/bundle.md, 9 and 13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.documents import Opening, Receipt
from pbem.match.events import BEGIN, OPEN, TYPES
from pbem.match.transcript import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.match.play import Play
    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle


def revealed(found: Bundle, play: Play) -> int:
    """The number of entries that can be checked in full: those before a game that is not revealed yet."""
    over = {entry.body["game"] for entry in found.entries if entry.type in OPEN}
    for at, entry in enumerate(found.entries if play.hides else ()):
        if entry.type in BEGIN and entry.body["game"] not in over:
            return at
    return len(found.entries)


def named(entry: Entry) -> Sequence[tuple[str, str]]:
    """The papers of a running game that an entry names, each path with its hash."""
    try:
        return list(TYPES[entry.type].papers(entry))
    except (KeyError, AttributeError) as error:
        raise TranscriptError(entry.seq, None, f"not an entry `{entry.type}`") from error


def named_letter(entry: Entry) -> Iterator[tuple[str, str]]:
    """The letter of a player that an entry between the turns names."""
    if what := TYPES[entry.type].letter:
        place = f"{entry.seq}-seat-{entry.body['seat']}"
        yield f"letters/{what}-{place}.eml", entry.body["mail"]
        if "mailbox" in entry.body.get("player", ()):
            yield f"evidence/mailbox-{place}.txt", entry.body["player"]["mailbox"]
        if "evidence" in entry.body:
            yield f"evidence/{what}-{place}.txt", entry.body["evidence"]


def letter_of(found: Bundle, path: str) -> Iterator[tuple[str, str]]:
    """The letter that an opening or receipt names, by path and hash; raises ValueError if the path is of neither."""
    agreed = found.entries[0].body
    name = path.partition("/")[2].removesuffix(".txt")
    paper = (Opening if path.startswith("openings/") else Receipt).read(found.papers[path].decode())
    place = f"game-{paper.game}-seat-{paper.seat}"
    if isinstance(paper, Receipt):
        place = f"game-{paper.game}-turn-{paper.turn}-seat-{paper.seat}"
    if (paper.server, paper.match, place) != (agreed["server"], agreed["match"], name):
        raise ValueError("it does not belong here")
    name = name if isinstance(paper, Receipt) else name.replace("-seat-", "-setup-seat-")
    yield f"letters/{name}.eml", paper.mail
    if paper.evidence:
        yield f"evidence/{name}.txt", paper.evidence


def keys_in(entries: Sequence[Entry]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """All keys that a transcript holds, each with the seat of its player."""
    for entry in entries:
        body = entry.body
        if entry.type == "agreed":
            yield from ((int(seat), key) for seat, player in body["players"].items() for key in player["keys"])
        elif entry.type == "substituted":
            yield from ((body["seat"], key) for key in body["player"]["keys"])
        elif entry.type == "keys":
            yield from ((body["seat"], key) for key in body["added"])
