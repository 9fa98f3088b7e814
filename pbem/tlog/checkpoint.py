"""What a log says of its tree: checkpoints, the request to a witness to cosign one, and the proof of a leaf.

Implements C2SP tlog-checkpoint, the body of a request of C2SP tlog-witness, and C2SP tlog-proof. Which witnesses are
trusted is decided elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from pbem.tlog.note import NotANote, Note
from pbem.tlog.tree import is_included, leaf_hash

_SIZE = re.compile(r"0|[1-9][0-9]{0,14}")
"""Up to where the scripts of a page count without error."""
_MOST = 63
"""The most hashes that a proof can have."""


def hash_text(content: bytes) -> str:
    """A hash as these formats write it."""
    return base64.b64encode(content).decode()


def hash_of(text: str) -> bytes:
    """The hash on a line; raises `NotANote`."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NotANote("no hash") from error
    if len(content) != 32 or hash_text(content) != text:
        raise NotANote("no hash")
    return content


def size_of(text: str) -> int:
    """The size on a line; raises `NotANote`."""
    if not _SIZE.fullmatch(text):
        raise NotANote("no size of a tree")
    return int(text)


class Checkpoint(msgspec.Struct, frozen=True):
    """A log's tree at one size, given by its root."""

    origin: str
    size: int
    root: bytes

    @classmethod
    def read(cls, text: str) -> Checkpoint:
        """The checkpoint of a note's text; raises `NotANote`. Lines after the third are refused: we write none."""
        lines = text.split("\n")
        if len(lines) != 4 or lines[3] or not lines[0]:
            raise NotANote("a checkpoint has three lines")
        return cls(lines[0], size_of(lines[1]), hash_of(lines[2]))

    def __str__(self) -> str:
        return f"{self.origin}\n{self.size}\n{hash_text(self.root)}\n"


class CosignRequest(msgspec.Struct, frozen=True):
    """A log's request to a witness: the size that the witness knows, the proof that the tree only grew, the note."""

    old: int
    proof: tuple[bytes, ...]
    note: Note

    @classmethod
    def read(cls, text: str) -> CosignRequest:
        """The request of this text; raises `NotANote`."""
        head, blank, note = text.partition("\n\n")
        first, *hashes = head.split("\n")
        if not blank or not first.startswith("old ") or len(hashes) > _MOST:
            raise NotANote("a request begins with `old` and the size that the witness knows")
        return cls(size_of(first.removeprefix("old ")), tuple(map(hash_of, hashes)), Note.read(note))

    def __str__(self) -> str:
        return f"old {self.old}\n" + "".join(f"{hash_text(one)}\n" for one in self.proof) + f"\n{self.note}"


_TITLE = "c2sp.org/tlog-proof@v1"


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
