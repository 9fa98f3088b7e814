"""The facts in a kept letter about matches: heads, papers, commitments, and attached files.

Shapes alone: `pbem.proof.kept_letters` finds all of it in letters, and `pbem.proof.compare` judges it. Implements
protocol.md, "Transcript".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping


class SignedHead(msgspec.Struct, frozen=True):
    """A head of a transcript as a letter shows it, with the server's signature and perhaps its key, in hex."""

    server: str
    match: str
    seq: int
    head: str
    signature: str
    key: str | None


class SignedPaper(msgspec.Struct, frozen=True):
    """The hash of a paper as the letter that brought it shows it, with the server's signature, in hex."""

    server: str
    match: str
    sha256: str
    signature: str
    key: str | None


class Logged(msgspec.Struct, frozen=True):
    """The proof, from a letter's bulletin, that an entry is in the server's log: see `pbem.tlog.checkpoint`."""

    server: str
    match: str
    """The match, or the tournament."""
    seq: int
    proof: str
    head: str | None = None
    """The entry's head by the server's word; of a match, the bulletin shows it elsewhere."""


class ToldStanding(msgspec.Struct, frozen=True):
    """The server's generation and the phase with a head, from a bulletin, with its hash and signature, in hex."""

    server: str
    match: str
    seq: int
    head: str
    generation: int
    phase: str
    paused: object
    """True or False of a match; None of a tournament."""
    bulletin: str
    signature: str


class ReplyAddress(msgspec.Struct, frozen=True):
    """A reply address and its place, from a letter's bulletin, with the bulletin's hash and signature, in hex."""

    server: str
    match: str
    token: str
    """SHA-256 of the token in it."""
    place: str
    """As evidence writes it."""
    bulletin: str
    signature: str


class Answered(msgspec.Struct, frozen=True):
    """The outcome of a command of a letter, from the bulletin of its answer, with its hash and signature, in hex."""

    server: str
    mail: str
    """SHA-256 of the letter."""
    received: str
    about: tuple[str, str]
    """The match and the tournament; no such name if the command named none."""
    command: str
    words: str
    """SHA-256 of the command; empty if bare words were understood as one."""
    outcome: str
    bulletin: str
    signature: str


class ToldFiles(msgspec.Struct, frozen=True):
    """The hashes of the files for programs in a bulletin, with the bulletin's hash and signature, in hex."""

    server: str
    hashes: frozenset[str]
    bulletin: str
    signature: str


class Attached(msgspec.Struct, frozen=True):
    """An attachment: its name, and its bytes in each form in which they may have been sent."""

    name: str
    ways: tuple[bytes, ...]


class Kept(msgspec.Struct, frozen=True):
    """The facts in one kept letter about matches."""

    source: str
    message_id: str | None
    subject: str
    servers: frozenset[str] = frozenset()
    """Host names that it may have come from."""
    heads: tuple[SignedHead, ...] = ()
    papers: tuple[SignedPaper, ...] = ()
    commitments: tuple[tuple[str, int, Mapping[str, str]], ...] = ()
    """Match and game of each list of commitments, and these by player."""
    prevs: tuple[tuple[str, str, str], ...] = ()
    """Match, server and cited head of each form in it."""
    attached: tuple[Attached, ...] = ()
    faults: tuple[str, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    """Match and hash of each agreement that it tells of."""
    for_programs: tuple[SignedHead, ...] = ()
    """The heads that its bulletin shows: a server might tell programs another story than people."""
    logged: tuple[Logged, ...] = ()
    """The entries that it shows in the server's log."""
    addresses: tuple[ReplyAddress, ...] = ()
    """The addresses that it brought for answers without a key."""
    standings: tuple[ToldStanding, ...] = ()
    """The generation and phase in which the server showed each head to programs."""
    answered: tuple[Answered, ...] = ()
    """The outcomes of commands that it tells programs."""
    files: tuple[ToldFiles, ...] = ()
    """The files for programs that its bulletin names."""
    notes: tuple[str, ...] = ()
    """The signed notes in its text, such as the two that prove that a log forked."""
    quoted: frozenset[SignedHead | SignedPaper] = frozenset()
    """Heads and papers found only in quotes, where anybody may have written them: unsigned, they prove nothing."""
    unread: str = ""
    """The reason why the letter could not be read, if so."""

    def heads_of(self, logged: Logged) -> set[str]:
        """All heads that the letter shows of an entry in the log: for people, for programs, and with its proof."""
        heads = {head.head for head in (*self.heads, *self.for_programs) if head.seq == logged.seq}
        return heads | {logged.head} if logged.head else heads
