"""What a letter acknowledged: a setup, orders, or that they were withdrawn; and what the bundle says became of it.

A bundle of version 2 accounts for each of these papers: `pbem.proof.fates`. One of version 1 has no traces, so that
less can be said of what was not played.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.documents import NotADocument, Opening, Receipt, Withdrawal
from pbem.match.transcript import sha256_hex
from pbem.proof.compare.difference import differs
from pbem.proof.compare.finding import Finding
from pbem.proof.fates import Fates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pbem.proof.compare.index import BundleIndex
    from pbem.proof.compare.shown import AttachedFile

__all__ = ["Acknowledged"]

_DROPPED = (
    "unless they were withdrawn, or were stored before the turn and not legal when it came, the server dropped them"
)


class Acknowledged:
    """What became of openings, receipts and withdrawals, by a bundle."""

    def __init__(self, index: BundleIndex, setup_rev: Callable[[str, int, bytes], int | None]) -> None:
        self.index = index
        self.setup_rev = setup_rev
        self._fates = Fates(index.found)
        self._revisions: dict[str, int | None] = {}
        """Of the setups in the bundle, by their letters' paths."""

    def compare(self, file: AttachedFile) -> Iterator[Finding]:
        """What an opening, a receipt or a withdrawal says about the bundle."""
        paper = _read(file.content)
        if paper is None or (paper.server, paper.match) != self.index.place:
            return
        if self.index.match.bundle > 1 or isinstance(paper, Withdrawal):
            yield self._fate(file, paper)
        elif paper.received:
            yield self._later_version(file)
        elif isinstance(paper, Opening):
            yield self._opening(file, paper)
        elif paper.by_default and not paper.turn:
            yield self._default_orders(paper)
        else:
            yield self._orders(file, paper)

    def _fate(self, file: AttachedFile, paper: Opening | Receipt | Withdrawal) -> Finding:
        """The fate of what a paper acknowledges; anything dropped without a trace convicts the server."""
        fate = self._fates.of(paper, sha256_hex(file.content))
        if fate.standing == "agrees" or fate.standing in {"later", "open"}:
            return Finding(fate.standing, fate.what, fate.found, fate.seq)
        seq = fate.seq or len(self.index.found.entries)
        return differs(self.index, fate.what, f"{file.name}: {fate.found}", seq, is_signed=file.is_signed)

    # Matches that began as `bundle 1`.

    def _later_version(self, file: AttachedFile) -> Finding:
        """A server may not claim afterwards that a match began before bundles left traces."""
        reason = f"{file.name} is a paper of `bundle 2`, and entry 1 says that the match began as `bundle 1`"
        return differs(self.index, "version", reason, 1, is_signed=file.is_signed)

    def _opening(self, file: AttachedFile, opening: Opening) -> Finding:
        what = f"opening of game {opening.game}, seat {opening.seat}"
        entry = self.index.begun(opening.game)
        if entry is None:
            missing = f"game {opening.game} did not begin"
            return Finding("later" if self.index.goes_on else "agrees", what, f"by the bundle {missing}")
        if entry.body.get("commitments", {}).get(str(opening.seat)) == sha256_hex(file.content):
            return Finding("agrees", what, "", entry.seq)
        if given_up := self.index.given_up(opening, entry.seq):
            return Finding("agrees", what, f"given up with the seat in entry {given_up}", given_up)
        stood, acknowledged = self._revision(opening), file.letter.kept.revision
        if stood is None or acknowledged is None:
            reason = "the game began with another setup: a later one of that player's, or it was exchanged"
            return Finding("open", what, reason, entry.seq)
        if stood > acknowledged:
            return Finding("agrees", what, f"replaced by rev {stood}", entry.seq)
        reason = f"entry {entry.seq} commits seat {opening.seat} to another setup, rev {stood}"
        return differs(self.index, what, reason, entry.seq, is_signed=file.is_signed)

    def _revision(self, opening: Opening) -> int | None:
        """The revision of the setup with which the opening's game began, if the bundle has its letter."""
        path = f"letters/game-{opening.game}-setup-seat-{opening.seat}.eml"
        letter = self.index.found.papers.get(path)
        if letter is not None and path not in self._revisions:
            self._revisions[path] = self.setup_rev(self.index.match.id, opening.game, letter)
        return self._revisions.get(path)

    def _orders(self, file: AttachedFile, receipt: Receipt) -> Finding:
        what = f"receipt of game {receipt.game}, turn {receipt.turn}, rev {receipt.rev}"
        entry = self.index.turn(receipt.game, receipt.turn)
        if entry is None:
            return self._of_no_turn(what, receipt)
        named = entry.body.get("orders", {}).get(str(receipt.seat))
        if named == sha256_hex(file.content):
            return Finding("agrees", what, "", entry.seq)
        if given_up := self.index.given_up(receipt, entry.seq):
            return Finding("agrees", what, f"given up with the seat in entry {given_up}", given_up)
        if named is None:
            return Finding("open", what, f"the turn was resolved without these orders: {_DROPPED}", entry.seq)
        if not receipt.by_default and receipt.seat in entry.body.get("default", ()):
            return Finding("open", what, f"default orders were played in their place: {_DROPPED}", entry.seq)
        stood = self.index.receipt(receipt.game, receipt.turn, receipt.seat)
        if stood is None:
            reason = "other orders stood in the end; the reveal will show whose and when"
            return Finding("open", what, reason, entry.seq)
        if stood.rev > receipt.rev and not receipt.by_default:
            return Finding("agrees", what, f"replaced by rev {stood.rev}", entry.seq)
        reason = f"entry {entry.seq} resolved the turn with rev {stood.rev} and not with what {file.name} names"
        return differs(self.index, what, reason, entry.seq, is_signed=file.is_signed)

    def _of_no_turn(self, what: str, receipt: Receipt) -> Finding:
        """Orders for a turn that was never resolved: the game went on without it, or ended."""
        missing = f"turn {receipt.turn} of game {receipt.game}"
        ended = self.index.ended(receipt.game)
        if ended is None and self.index.goes_on:
            return Finding("later", what, f"the bundle does not have {missing} yet; ask for a newer one")
        reason = ended.body.get("reason") if ended else None
        if reason == "resignation":
            return Finding("agrees", what, f"the game was resigned before {missing}", ended.seq if ended else None)
        return Finding("open", what, f"the game ended ({reason}) without {missing}, although these orders were in")

    def _default_orders(self, receipt: Receipt) -> Finding:
        """Default orders that were stored, and perhaps never played; but no claim should have met them."""
        what = f"receipt of default orders of game {receipt.game}, rev {receipt.rev}"
        game = 0
        for entry in self.index.found.entries:
            game = entry.body["game"] if entry.type == "commitments" else game
            if entry.type == "claimed" and game == receipt.game and receipt.seat in entry.body["against"]:
                return Finding("open", what, f"the game was claimed although they were stored: {_DROPPED}", entry.seq)
        return Finding("agrees", what, "")


def _read(content: bytes) -> Opening | Receipt | Withdrawal | None:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    for kind in (Opening, Receipt, Withdrawal):
        try:
            return kind.read(text)
        except NotADocument:
            continue
    return None
