"""The result of a match for its tournament: read from the transcript of the match, by the server and by verifiers.

Implements docs/bundle.md, 12.3 (`result`) and 12.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.json_object import JsonObject
    from pbem.match.transcript import Entry

WIN, DRAW, LOSS = 2, 1, 0

_DRAWN = ("agreed length", "agreement", "rules")
"""The reasons with which a match without a winner is a draw. With any other, it has no result."""


class MatchResult(msgspec.Struct, frozen=True):
    """The body of an entry `result`, but for the match's name."""

    closed: str
    """The head of the match's last entry."""
    players: tuple[str, ...]
    """The players at the end: a substitute may have taken a seat."""
    winner: int
    scores: tuple[int, ...]
    reason: str
    turns: int
    """The turns of all games."""
    missed: tuple[int, ...]
    """The missed deadlines of each seat."""
    silent: tuple[int, ...]
    """The seats that lost a game by silence."""

    @classmethod
    def read(cls, body: JsonObject) -> MatchResult:
        """The result in the body of an entry."""
        return msgspec.convert({key: value for key, value in body.items() if key != "match"}, cls)

    @property
    def points(self) -> tuple[int, int]:
        """The points of each seat."""
        if self.winner:
            return (WIN, LOSS) if self.winner == 1 else (LOSS, WIN)
        return (DRAW, DRAW) if self.played else (LOSS, LOSS)

    @property
    def played(self) -> bool:
        """True if it counts in tie-breaks: a turn was resolved, and there was a winner or a draw."""
        return self.turns > 0 and (self.winner > 0 or self.reason in _DRAWN)


def result_of(entries: Sequence[Entry]) -> JsonObject | None:
    """The body of the entry `result` about the match of this transcript; None if it is not over."""
    agreed, closed = entries[0].body, entries[-1]
    if closed.type != "closed":
        return None
    players = {int(seat): player["name"] for seat, player in agreed["players"].items()}
    missed = dict.fromkeys(players, 0)
    silent: set[int] = set()
    for entry in entries:
        if entry.type == "substituted":
            players[entry.body["seat"]] = entry.body["player"]["name"]
        elif entry.type == "missed":
            missed[entry.body["seat"]] += 1
        elif entry.type in {"forfeited", "claimed"}:
            silent |= {*entry.body.get("seats", ()), *entry.body.get("against", ())}
    return {
        "match": agreed["match"],
        "closed": closed.head,
        "players": [players[seat] for seat in sorted(players)],
        **{key: closed.body[key] for key in ("winner", "scores", "reason")},
        "turns": sum(entry.type == "turn" for entry in entries),
        "missed": [missed[seat] for seat in sorted(missed)],
        "silent": sorted(silent),
    }
