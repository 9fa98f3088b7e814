"""Snapshots of matches: the result of replaying a transcript, kept so that a letter does not need another replay.

A snapshot caches the replay, and is never an authority: it counts at the head at which it was made, for the code that
made it. If it is missing, damaged or made by other code, the match is replayed. Snapshots are pickles, and opening a
pickle runs whatever its maker wished. So the vault seals them with match, head and code: nobody
can make one without the store's key, and somebody with that key can read and write every secret here anyway.

Submissions and clocks, which have their own rows, are not in a snapshot. It holds the latest turn of a game; the
others are in rows, one more each turn, and are fetched only when needed: what is written and read for a letter
does not grow with the game. Implements design.md, "The rules interface": a state is the replay of its orders.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

import pbem
from pbem.match.turns import Past, Played, Reports, Turns
from pbem.store.errors import StoreError
from pbem.store.vault import Sealed

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from pbem.match.state import Match
    from pbem.store.snapshots import SnapshotRows

__all__ = ["Snapshot", "Snapshots", "fingerprint"]

AT_HAND = 32
"""How many turns of a match may be in memory once they lie in the store."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A match without the parts that have their own rows."""

    match: Match
    setups: tuple[int, ...]
    """The seats whose setups the match holds."""
    turns: int
    """How many turns of the game were played."""
    latest: Played | None
    """The last of them, with what its readers know by then."""


@cache
def fingerprint() -> str:
    """The fingerprint of the code that makes and reads a snapshot: the rooms `match` and `games`, and Python."""
    root = Path(pbem.__file__).parent
    parts = ("desk/snapshots.py", "phrase.py", "match/**/*.py", "games/**/*.py")
    made = hashlib.sha256(sys.version.encode())
    for file in sorted(file for part in parts for file in root.glob(part)):
        made.update(f"\n{file.relative_to(root)}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return made.hexdigest()


class Snapshots:
    """The snapshots of a store, by code of this fingerprint."""

    def __init__(self, rows: SnapshotRows, code: str) -> None:
        self._rows = rows
        self._code = code
        self._log: FilteringBoundLogger = structlog.get_logger("snapshots")

    def read(self, number: int, head: str, retraced: Callable[[int], Match]) -> Snapshot | None:
        """The match as it stood at this head; None if no snapshot tells.

        `retraced` gives the match after a number of entries, in case turns are missing when they are needed.
        """
        try:
            content = self._rows.read(number, head, self._code)
            if content is None:
                return None
            found = pickle.loads(content)  # noqa: S301 - see above
            if not isinstance(found, Snapshot):
                raise TypeError("no snapshot")
        except StoreError:
            raise
        except Exception as error:  # whatever is wrong with it, the transcript tells
            self._unusable(number, error)
            return None
        late = (found.latest,) if found.latest else ()
        past = self._past(number, found.match, found.turns - len(late), retraced)
        return replace(found, match=replace(found.match, turns=Turns(late, past)))

    def _past(self, number: int, match: Match, count: int, retraced: Callable[[int], Match]) -> Past:
        """The first turns, this many, of the game that is played at this head."""
        place = (number, match.phase, match.game)
        seq = match.seq

        def fetch() -> tuple[Played, ...]:
            return self._turns(*place, count) or retraced(seq).turns[:count]

        return Past(count, fetch)

    def _turns(self, number: int, phase: str, game: int, count: int) -> tuple[Played, ...]:
        """The first turns of the game, this many; none if they are not all there."""
        turns: list[Played] = []
        if phase != "playing":  # the game is over, and they were forgotten
            return ()
        try:
            for first, content in self._rows.turns(number, game):
                if first == len(turns):
                    block = pickle.loads(content)  # noqa: S301 - see above
                    turns += [Played(prev, orders, Reports(reports)) for prev, orders, reports in block]
            if len(turns) < count:
                raise LookupError("turns are missing")
        except StoreError:
            raise
        except Exception as error:  # whatever is wrong with them, the transcript tells
            self._unusable(number, error)
            return ()
        return tuple(turns[:count])

    def write(self, number: int, before: Match, match: Match, retraced: Callable[[int], Match]) -> Match:
        """Keep the state of a match after a step; `before` is the state at which the latest snapshot may be.

        Returns the same match, to be kept in memory, with only a few turns at hand.
        """
        kept = Snapshot(
            replace(match, setups={}, orders={}, stored={}, turns=Turns(), clocks={}, banks={}, resolve_at=None),
            tuple(match.setups),
            len(match.turns),
            _with_views(match) if match.turns else None,
        )
        try:
            content = pickle.dumps(kept, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # without a snapshot nothing is lost but time
            self._unusable(number, error)
            return match
        goes_on = self._rows.move(number, before.head, match.head, self._code, content)
        if not goes_on:
            self._rows.begin(number, match.head, self._code, content)
        elif before.phase == "playing" != match.phase:
            self._rows.forget_turns(number)
        first = len(before.turns) if goes_on and before.game == match.game else 0
        if match.phase == "playing" and len(match.turns) > first:
            block = [(turn.prev, dict(turn.orders), tuple(turn.reports)) for turn in match.turns[first:]]
            content = pickle.dumps(block, pickle.HIGHEST_PROTOCOL)
            self._rows.add_turns(number, match.game, first, content)
            if match.turns.at_hand > AT_HAND:
                past = self._past(number, match, len(match.turns) - 1, retraced)
                match = replace(match, turns=Turns((match.turns[-1],), past))
        return match

    def _unusable(self, number: int, error: Exception) -> None:
        # Nothing of the error but its kind: its text may tell of what was in there.
        why = "does not open" if isinstance(error, Sealed) else type(error).__name__
        self._log.warning("snapshot not used", match=number, why=why)


def _with_views(match: Match) -> Played:
    """The latest turn, with what every reader knows after it: the next view continues from there."""
    latest = match.turns[-1]
    for reader in (*match.seats, None):
        told = latest.reports.shown.get(reader)
        if told is None or told.memory is None:
            match.view(reader)
    return latest
