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


class EntryType(msgspec.Struct, frozen=True):
    """One type of entry; each is in a module of `events`, with its event."""

    name: str
    form: Form
    """The form of its body."""
    says: str | Callable[[Entry, Mapping[str, bytes]], str]
    """The sentence of `pbem verify` about a true one: words with parts of the body, or made with the papers."""
    remake: Callable[[Remaking], Step] | None = None
    """The step that it tells of, made again; None for one that only follows from another one."""
    papers: Callable[[Entry], Iterable[tuple[str, str]]] = lambda _entry: ()
    """The papers of a running game that it names, each path with its hash."""
    between: bool = False
    """True if it may stand between the turns of a game."""
    among: int = 2
    """The least number of seats of a game in which it may."""
    letter: str = ""
    """The name of the file of its player's letter, before number and seat."""
    silent: bool = False
    """True if it says nothing to people that the one before it did not."""

    def sentence(self, entry: Entry, papers: Mapping[str, bytes]) -> str:
        """The sentence about an entry of this type that was found true."""
        if isinstance(self.says, str):
            return self.says.format(**{"seat": None, "seats": None, "reason": None, **entry.body})
        return self.says(entry, papers)
