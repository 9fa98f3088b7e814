"""Checkpoints: a log's statement about its tree, and the request to a witness to cosign it.

Implements C2SP tlog-checkpoint, and the body of a request of C2SP tlog-witness.
"""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from pbem.tlog.note import NotANote, Note

_SIZE = re.compile(r"0|[1-9][0-9]{0,14}")
"""Up to where the scripts of a page count without error."""
_MOST = 63
"""The most hashes that a consistency proof can have."""


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
