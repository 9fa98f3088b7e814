"""The accusations of an agent in sealed matches, and those that its owner took back.

A *contradiction* accuses the server: nothing more is sent in the match. A text that another player signed and that
cannot be read (`Unread`) accuses nobody: nothing is sent automatically, and the owner decides. Whatever the owner
takes back is as if it had never been found; anything else is held anew. Facts in the memory; no letters.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pbem.match.transcript import written
from pbem.phrase import Phrase
from pbem.player.correspondence.standings import Impossible
from pbem.player.sealed_view import Changed, Contradiction
from pbem.player.signed_texts import Unread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pbem.player.memory import Memory


class Accusations:
    """The accusations in the matches of one account."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def accused(self, match: str) -> str | None:
        """The contradiction found in a match, if any."""
        return self._memory.fact(f"accused {match}")

    def unread(self, match: str) -> tuple[str, str] | None:
        """The reason why a signed text of a match cannot be read, and the text; None if all can."""
        fact = self._memory.fact(f"unread {match}")
        if fact is None:
            return None
        reason, text = json.loads(fact)
        return reason, text

    def accuse(self, match: str, wrong: Contradiction, now: datetime) -> None:
        """Hold a contradiction against the server."""
        with self._memory.transaction():
            self._memory.know(f"accused {match}", str(wrong))
            self._memory.alarm(written(now), match, str(wrong))

    def doubt(self, match: str, unread: Unread) -> bool:
        """Note that a signed text cannot be read; returns whether that is new."""
        held = str(unread), unread.content.decode("utf-8", "replace")
        new = self.unread(match) != held
        self._memory.know(f"unread {match}", json.dumps(held))
        return new

    def read(self, match: str) -> None:
        """Note that every signed text can be read, or was taken as it is."""
        self._memory.forget(f"unread {match}")

    def what(self, match: str) -> str:
        """The accusation or doubt held in a match; raises `Impossible` if there is none."""
        if (accused := self.accused(match)) is not None:
            return accused
        if (unread := self.unread(match)) is not None:
            return unread[0]
        raise Impossible(Phrase("Nothing is held against anybody in {match}.", match=match))

    def take_back(self, match: str) -> None:
        """Take back what is held in a match; raises `Impossible` if it is nothing."""
        held = self.what(match)
        for fact in ("accused", "unread"):
            self._memory.forget(f"{fact} {match}")
        self._memory.forget_alarm(match, held)
        self._memory.know(f"taken back {match}", json.dumps([*self._taken_back(match), held]))

    @contextmanager
    def unless_taken_back(self, match: str) -> Iterator[None]:
        """Pass over a contradiction or an unread text that was taken back; any other is raised.

        If something was told otherwise before, that was forgotten when it was taken back: it may not change again.
        """
        try:
            yield
        except Changed:
            raise
        except (Contradiction, Unread) as wrong:
            if str(wrong) not in self._taken_back(match):
                raise

    def _taken_back(self, match: str) -> list[str]:
        found: list[str] = json.loads(self._memory.fact(f"taken back {match}") or "[]")
        return found
