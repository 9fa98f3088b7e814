"""A verified bundle, searched by what letters tell of: heads, hashes, games, turns and seats.

The bundle's side of each comparison; nothing of a letter is known here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.match.transcript import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.match.state import Match
    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle

__all__ = ["BundleIndex"]


class BundleIndex:
    """The entries of a verified bundle by what they are about, and the match that they tell of."""

    def __init__(self, found: Bundle, match: Match) -> None:
        self.found = found
        self.match = match
        entries = found.entries
        self.heads = {entry.seq: entry.head for entry in entries}
        """By entry."""
        self.seqs = {head: seq for seq, head in reversed(self.heads.items())}
        """The entries by their heads."""
        hashes = (re.findall(r'"([0-9a-f]{64})"', canonical(entry.body).decode()) for entry in entries)
        self.named = frozenset(value for values in hashes for value in values)
        """All hashes in the entries."""
        self.restored = ", ".join(str(entry.seq) for entry in entries if entry.type == "restored")
        """The entries that tell of a restored backup."""
        self._places = {_place(entry): entry for entry in reversed(entries)}
        """The first entry of each type for each game and turn."""

    @property
    def server(self) -> str:
        """The server's name."""
        return self.match.server

    @property
    def place(self) -> tuple[str, str]:
        """Server and match."""
        return self.match.server, self.match.id

    @property
    def key(self) -> str:
        """The key with which the server signed this transcript, in hex."""
        return str(self.found.entries[0].body["server_key"])

    @property
    def last(self) -> Entry:
        """The entry with which the bundle ends."""
        return self.found.entries[-1]

    @property
    def goes_on(self) -> bool:
        """Whether entries may follow."""
        return self.last.type != "closed"

    def turn(self, game: object, turn: object) -> Entry | None:
        """The entry of a turn, as a paper names it."""
        return self._places.get(("turn", game, turn)) if isinstance(game, int) and isinstance(turn, int) else None

    def ended(self, game: object) -> Entry | None:
        """The entry of the end of a game, as a paper names it."""
        return self._places.get(("ended", game, None)) if isinstance(game, int) else None

    def names(self, since: int) -> Iterator[dict[int, str]]:
        """Who had which seat from an entry on: at that entry, and after each change of seats."""
        names = {int(seat): str(player["name"]) for seat, player in self.found.entries[0].body["players"].items()}
        changes = [entry for entry in self.found.entries if entry.type == "substituted"]
        for entry in changes:
            if entry.seq > since:
                yield dict(names)
            names[entry.body["seat"]] = str(entry.body["player"]["name"])
        yield names


def _place(entry: Entry) -> tuple[str, object, object]:
    """What an entry is about: its type, the game, and the turn, if any; a strange entry is about nothing."""
    game, turn = entry.body.get("game"), entry.body.get("turn")
    if entry.type != "turn":
        turn = None
    return (entry.type, game, turn) if isinstance(game, int) and isinstance(turn, int | None) else (entry.type, 0, 0)
