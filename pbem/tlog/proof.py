"""The proof in a letter that a leaf is in a tree that witnesses cosigned.

Implements C2SP tlog-proof. Which witnesses are trusted is decided elsewhere.
"""

from __future__ import annotations

import msgspec

from pbem.tlog.checkpoint import Checkpoint, hash_of, hash_text, size_of
from pbem.tlog.note import NotANote, Note
from pbem.tlog.tree import is_included, leaf_hash

_TITLE = "c2sp.org/tlog-proof@v1"
_MOST = 63


class InclusionProof(msgspec.Struct, frozen=True):
    """The place of a leaf, the hashes up to the root, and the note that names the root."""

    index: int
    hashes: tuple[bytes, ...]
    note: Note

    @classmethod
    def read(cls, text: str) -> InclusionProof:
        """The proof in this text; raises `NotANote`."""
        try:
            text.encode()
        except UnicodeEncodeError as error:  # half a character, as JSON can have it
            raise NotANote("no text") from error
        head, blank, note = text.partition("\n\n")
        title, *lines = head.split("\n")
        if lines and lines[0].startswith("extra "):
            del lines[0]
        if not blank or title != _TITLE or not lines or not lines[0].startswith("index ") or len(lines) > _MOST:
            raise NotANote("no proof of a transparency log")
        return cls(size_of(lines[0].removeprefix("index ")), tuple(map(hash_of, lines[1:])), Note.read(note))

    def __str__(self) -> str:
        hashes = "".join(f"{hash_text(one)}\n" for one in self.hashes)
        return f"{_TITLE}\nindex {self.index}\n{hashes}\n{self.note}"

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint in its note; raises `NotANote`."""
        return Checkpoint.read(self.note.text)

    def proves(self, leaf: bytes) -> bool:
        """True if the leaf is in the note's tree; signatures are not verified. Raises `NotANote`."""
        tree = self.checkpoint
        return is_included(leaf_hash(leaf), self.index, tree.size, self.hashes, tree.root)
