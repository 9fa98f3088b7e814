"""Orders that neither stand nor were replaced: withdrawn by their player, or not legal when their turn came.

No order disappears without a trace: each such letter is in the bundle beside those that were obeyed, and a salted
list names it. The list's hash is in the entry that closes the turn, the setups or the game. So anybody with a
receipt can tell whether the server dropped what it acknowledged. The list is secret until the game is revealed; its
presence reveals nothing, as each such entry has one. Implements protocol.md, "Transcript"; the papers are in
docs/bundle.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from pbem.match.documents import NotADocument, Receipt, Withdrawal
from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_FORM = re.compile(
    r"pbem trace 1\nserver (\S+)\nmatch (\S+)\ngame ([0-9]{1,9})\nturn ([0-9]{1,9})\nsalt ([0-9a-f]{64})\n"
    r"((?:[0-9a-f]{64}  (?:receipts|withdrawals)/[a-z0-9-]+\.txt\n)*)"
)


@dataclass(frozen=True, slots=True)
class SetAside:
    """One letter that was set aside, and its paper: a withdrawal, or the receipt of unused orders."""

    paper: str
    letter: bytes = field(repr=False)
    evidence: bytes = field(default=b"", repr=False)

    @property
    def stem(self) -> str:
        """The name of its files in the bundle."""
        return stem(read(self.paper))

    @property
    def path(self) -> str:
        """The path of the paper in the bundle."""
        return f"{'withdrawals' if isinstance(read(self.paper), Withdrawal) else 'receipts'}/{self.stem}.txt"

    @property
    def hash(self) -> str:
        """SHA-256 of the paper."""
        return sha256_hex(self.paper.encode())


def read(text: str) -> Receipt | Withdrawal:
    """The paper of something that was set aside; raises `NotADocument`."""
    return Withdrawal.read(text) if text.startswith("pbem withdrawal ") else Receipt.read(text)


def stem(paper: Receipt | Withdrawal) -> str:
    """The name of the files of something that was set aside."""
    what = "default" if paper.by_default else f"turn-{paper.turn}" if paper.turn else "setup"
    kind = "withdrawn" if isinstance(paper, Withdrawal) else "unused"
    return f"game-{paper.game}-{what}-{kind}-seat-{paper.seat}-rev-{paper.rev}"


class Trace(msgspec.Struct, frozen=True):
    """The list of what was set aside for a turn (0: for the setups), by path and hash."""

    server: str
    match: str
    game: int
    turn: int
    salt: str
    named: Mapping[str, str]

    @classmethod
    def of(cls, place: tuple[str, str, int, int], salt: str, found: Iterable[SetAside]) -> Trace:
        """The trace of these, at server, match, game and turn."""
        return cls(*place, salt, {one.path: one.hash for one in found})

    def text(self) -> str:
        """The file whose SHA-256 the entry names."""
        lines = "".join(f"{value}  {path}\n" for path, value in sorted(self.named.items()))
        head = f"server {self.server}\nmatch {self.match}\ngame {self.game}\nturn {self.turn}\nsalt {self.salt}\n"
        return f"pbem trace 1\n{head}{lines}"

    @classmethod
    def read(cls, text: str) -> Trace:
        """The trace of this very text; raises `NotADocument`."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise NotADocument("not 'pbem trace 1'")
        named = {path: sha256 for sha256, path in (line.split("  ") for line in found[6].splitlines())}
        trace = cls(found[1], found[2], int(found[3]), int(found[4]), found[5], named)
        if trace.text() != text:  # neither sorted nor each once
            raise NotADocument("not as a trace is written")
        return trace
