"""A type of entry: the form of its body, how it is made again, and the sentence that says it was found true.

Implements protocol.md, "Transcript"; docs/bundle.md, "Entries".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pbem.match.entry_forms import Form
    from pbem.match.remaking import Remaking
    from pbem.match.step import Step
    from pbem.match.transcript import Entry

__all__ = ["EntryType"]


class EntryType(msgspec.Struct, frozen=True):
    """One type of entry; each is in a module of `events`, with its event."""

    name: str
    form: Form
    """Of its body."""
    says: str | Callable[[Entry, Mapping[str, bytes]], str]
    """What `pbem verify` says of one that it found true: words with parts of the body, or made with the papers."""
    remake: Callable[[Remaking], Step] | None = None
    """The step that it tells of, made again; None for one that only follows from another one."""
    papers: Callable[[Entry], Iterable[tuple[str, str]]] = lambda _entry: ()
    """The papers of a running game that it names, each path with its hash."""
    between: bool = False
    """Whether it may stand between the turns of a game."""
    among: int = 2
    """How many seats the game must have for that."""
    letter: str = ""
    """How the file of the player's letter is called on which it rests, before its number and seat."""
    silent: bool = False
    """Whether it says nothing to people that the one before it did not."""

    def sentence(self, entry: Entry, papers: Mapping[str, bytes]) -> str:
        """The sentence about an entry of this type that was found true."""
        if isinstance(self.says, str):
            return self.says.format(**{"seat": None, "seats": None, "reason": None, **entry.body})
        return self.says(entry, papers)
