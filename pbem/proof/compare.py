"""What players were told, compared with a bundle: this convicts a server that told two stories.

A bundle can be consistent in itself and yet not be the match that was played, if the server made another one. The
letters that a player kept are evidence against it: each shows a head of the transcript with the server's signature,
and brings papers whose hashes the transcript must name. This module does not care how a letter is read. Implements
protocol.md, "Transcript".
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pbem.identity import ed25519_points
from pbem.match.documents import NotADocument, Opening, Receipt, Withdrawal
from pbem.match.transcript import canonical, sha256_hex, statement, voucher
from pbem.proof import bundle
from pbem.proof.fates import Fates
from pbem.tlog.note import NotANote
from pbem.tlog.proof import InclusionProof
from pbem.verifier_key import LOG, VerifierKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pbem.json_object import JsonObject
    from pbem.match.state import Match
    from pbem.match.step import Notice
    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle

__all__ = ["Against", "Attached", "Finding", "Kept", "Letter", "Logged", "SignedHead", "SignedPaper", "Standing"]

Standing = Literal["silent", "agrees", "later", "open", "broken", "contradicts", "two stories"]
"""How a letter, or one thing in it, stands to the bundle, from the harmless to the worst.

`silent`: says nothing about this match. `agrees`. `later`: about entries that the bundle does not have yet. `open`:
cannot be decided from what is here. `broken`: the letter itself was changed, and proves nothing. `contradicts`: it
says otherwise than the bundle in a part that the server did not sign, which convinces whoever got the letter, and
nobody else. `two stories`: the server signed both, which convinces everybody."""

_ORDER: tuple[Standing, ...] = ("silent", "agrees", "later", "open", "broken", "contradicts", "two stories")


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head of a transcript as a letter shows it, with the server's signature and perhaps its key, in hex."""

    server: str
    match: str
    seq: int
    head: str
    signature: str
    key: str | None


@dataclass(frozen=True, slots=True)
class SignedPaper:
    """The hash of a paper as the letter that brought it shows it, with the server's signature, in hex."""

    server: str
    match: str
    sha256: str
    signature: str
    key: str | None


@dataclass(frozen=True, slots=True)
class Logged:
    """The proof, from a letter's bulletin, that an entry of a match is in the server's log: see `pbem.tlog.proof`."""

    server: str
    match: str
    seq: int
    proof: str


@dataclass(frozen=True, slots=True)
class Attached:
    """An attachment: its name, and its bytes in each form in which they may have been sent."""

    name: str
    ways: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What one kept letter tells about matches."""

    source: str
    message_id: str | None
    subject: str
    servers: frozenset[str] = frozenset()
    """Host names that it may have come from."""
    heads: tuple[SignedHead, ...] = ()
    papers: tuple[SignedPaper, ...] = ()
    commitments: tuple[Mapping[str, str], ...] = ()
    """Commitments by player, as a letter lists them."""
    prevs: tuple[tuple[str, str, str], ...] = ()
    """Match, server and cited head of each form in it."""
    revision: int | None = None
    """Of the setup that an opening is attached for."""
    attached: tuple[Attached, ...] = ()
    faults: tuple[str, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    """Match and hash of each agreement that it tells of."""
    for_programs: tuple[SignedHead, ...] = ()
    """The heads that its bulletin shows: a server might tell programs another story than people."""
    logged: tuple[Logged, ...] = ()
    """The entries that it shows in the server's log."""
    quoted: frozenset[SignedHead | SignedPaper] = frozenset()
    """What stands in quotes alone, where anybody may have written it: unless it is signed, it says nothing."""
    unread: str = ""
    """Why nothing of it was read, if so."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a letter tells, and how it compares with the bundle; `seq` is the entry that it is about."""

    standing: Standing
    what: str
    found: str = ""
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Letter:
    """A kept letter with its findings."""

    kept: Kept
    findings: tuple[Finding, ...]

    @property
    def standing(self) -> Standing:
        """The worst finding."""
        return max((finding.standing for finding in self.findings), key=_ORDER.index, default="silent")


@dataclass(slots=True)
class Against:
    """A verified bundle, and everything with which letters are compared; letters are compared with one another, too.

    `told` are the notices of the match as they follow from the letters and the rules, as far as it is revealed;
    `setup_rev` gives the revision of the setup that a letter of the bundle brought, if it can be read.
    """

    found: Bundle
    match: Match
    told: Sequence[Notice] = ()
    setup_rev: Callable[[str, int, bytes], int | None] = lambda *_: None
    witnesses: Sequence[VerifierKey] = ()
    """Whose cosignatures of the server's log are believed."""
    witnessed: dict[str, tuple[int, int]] = field(init=False, default_factory=dict)
    """By witness the last entry of the bundle that it saw, and when first, in seconds since 1970."""
    _heads: dict[int, str] = field(init=False)
    _seen: dict[int, str] = field(init=False, default_factory=dict)
    """Signed heads of later entries that letters showed."""
    _named: frozenset[str] = field(init=False)
    _seqs: dict[str, int] = field(init=False)
    """The entries by their heads."""
    _places: dict[tuple[str, object, object], Entry] = field(init=False)
    """The first entry of each type for each game and turn."""
    _restored: str = field(init=False)
    """The entries that tell of a restored backup."""
    _signers: dict[SignedHead | SignedPaper, str | None] = field(init=False, default_factory=dict)
    """Of the letter at hand, who signed what."""
    _ahead: bool = field(init=False, default=False)
    """Whether the letter at hand is of a later time than the bundle, as far as it shows that."""
    _revisions: dict[str, int | None] = field(init=False, default_factory=dict)
    """Of the setups in the bundle, by their letters' paths."""
    _positions: dict[tuple[int, int, str], Match] = field(init=False)
    _fates: Fates = field(init=False)

    def __post_init__(self) -> None:
        self._heads = {entry.seq: entry.head for entry in self.found.entries}
        self._fates = Fates(self.found)
        self._seqs = {head: seq for seq, head in reversed(self._heads.items())}
        self._places = {_place(entry): entry for entry in reversed(self.found.entries)}
        self._restored = ", ".join(str(entry.seq) for entry in self.found.entries if entry.type == "restored")
        hashes = (re.findall(r'"([0-9a-f]{64})"', canonical(entry.body).decode()) for entry in self.found.entries)
        self._named = frozenset(value for values in hashes for value in values)
        self._positions = {
            (notice.match.game, seat, notice.match.prev): notice.match
            for notice in self.told
            if notice.kind in {"begin", "turn", "step", "reveals"}
            # What leads to a position is told to all; whoever told it has it in the answer to the letter.
            for seat in notice.match.seats
        }

    @property
    def _key(self) -> str:
        return str(self.found.entries[0].body["server_key"])

    def judge(self, kept: Kept) -> Letter:
        """Compare a letter with the bundle."""
        if kept.unread:
            return Letter(kept, (Finding("open", "letter", kept.unread),))
        self._signers.clear()
        self._ahead = not kept.heads or any(head.seq > len(self._heads) for head in kept.heads if self._ours(head))
        vouched = {paper.sha256 for paper in kept.papers if self._ours(paper) and self._signed(paper) == self._key}
        findings = [
            *self._by_heads(kept),
            *self._by_papers(kept),
            *self._by_log(kept),
            *self._by_text(kept),
            *(finding for attached in kept.attached for finding in self._by_attachment(kept, attached, vouched)),
        ]
        named = any(self.match.id == word for word in re.findall(r"m[0-9]+", kept.subject))
        if kept.faults and (findings or (named and self.match.server.lower() in kept.servers)):
            findings += [Finding("broken", "letter", f"{fault}: that part proves nothing") for fault in kept.faults]
        return Letter(kept, tuple(findings))

    def _ours(self, signed: SignedHead | SignedPaper) -> bool:
        return (signed.server, signed.match) == (self.match.server, self.match.id)

    def _signed(self, signed: SignedHead | SignedPaper) -> str | None:
        """The key that signed this: the bundle's, or else the one that the letter names; None if neither did."""
        if signed not in self._signers:
            self._signers[signed] = self._signer(signed)
        return self._signers[signed]

    def _signer(self, signed: SignedHead | SignedPaper) -> str | None:
        if isinstance(signed, SignedHead):
            message = statement(signed.server, signed.match, signed.seq, signed.head)
        else:
            message = voucher(signed.server, signed.match, signed.sha256)
        for key in dict.fromkeys((self._key, signed.key or self._key)):
            if _holds(key, signed.signature, message):
                return key
        return None

    def _not_by_the_server(self, what: str, key: str | None, seq: int | None) -> Finding:
        if key is None:
            return Finding("broken", what, f"altered: {self._server} did not sign it, so that it proves nothing", seq)
        return Finding(
            "contradicts",
            what,
            f"signed with another key, {key}; the bundle's is {self._key}. One of the two is not the key of"
            f" {self._server}, or it has two: compare them with what others know, and see --server-key",
            seq,
        )

    @property
    def _server(self) -> str:
        return self.match.server

    # Heads

    def _by_heads(self, kept: Kept) -> Iterator[Finding]:
        # What people read under a signature that does not hold takes no place of what is signed.
        signed = (head for head in kept.heads if self._ours(head) and self._signed(head) == self._key)
        shown = {(head.seq, head.head) for head in signed}
        # What agrees is told of what people read.
        shown.update((head.seq, head.head) for head in kept.for_programs if self._heads.get(head.seq) == head.head)
        others = [head for head in kept.for_programs if (head.seq, head.head) not in shown]
        for head in dict.fromkeys(filter(self._ours, (*kept.heads, *others))):
            key = self._signed(head)
            if key is None and head in kept.quoted:
                continue
            what = f"head of entry {head.seq}"
            if key != self._key:
                yield self._not_by_the_server(what, key, head.seq)
            else:
                yield self._by_head(head, what)

    def _by_head(self, head: SignedHead, what: str) -> Finding:
        ours = self._heads.get(head.seq)
        last = self.found.entries[-1]
        if ours == head.head:
            return Finding("agrees", what, "", head.seq)
        if ours is not None:
            return Finding("two stories", what, self._two_stories(head.seq, head.head, ours, "the bundle"), head.seq)
        other = self._seen.setdefault(head.seq, head.head)
        if other != head.head:
            said = self._two_stories(head.seq, head.head, other, "another letter")
            return Finding("two stories", what, said, head.seq)
        if last.type == "closed":
            return Finding(
                "two stories",
                what,
                f"{self._server} signed an entry {head.seq} of {self.match.id}; in the bundle, signed as well, the"
                f" match was closed with entry {last.seq}, after which nothing follows",
                head.seq,
            )
        return Finding("later", what, f"the bundle ends with entry {last.seq}; ask for a newer one", head.seq)

    def _two_stories(self, seq: int, head: str, other: str, where: str) -> str:
        said = (
            f"{self._server} signed two different entries {seq} of {self.match.id}: with the head {head} in this"
            f" letter, with the head {other} in {where}. It told two stories, and both signatures prove it"
        )
        if self._restored:
            said += f"; the bundle says that the server was restored from a backup (entry {self._restored})"
        return said

    # The log

    def _by_log(self, kept: Kept) -> Iterator[Finding]:
        for logged in kept.logged:
            if (logged.server, logged.match) == (self.match.server, self.match.id):
                yield self._by_logged(kept, logged)

    def _by_logged(self, kept: Kept, logged: Logged) -> Finding:
        what = f"entry {logged.seq} in the log of {self._server}"
        try:
            proof = InclusionProof.read(logged.proof)
            checkpoint = proof.checkpoint
        except NotANote as error:
            return Finding("broken", what, str(error), logged.seq)
        size = checkpoint.size
        if checkpoint.origin != self._server:  # a witness keeps the logs apart by these names
            return Finding("broken", what, "its checkpoint is of another log", logged.seq)
        if proof.note.by(VerifierKey(self._server, LOG, bytes.fromhex(self._key))) is None:
            return Finding("broken", what, "its checkpoint is not signed with the bundle's key", logged.seq)
        ours = self._heads.get(logged.seq)
        if ours is None or not proof.proves(statement(self._server, self.match.id, logged.seq, ours)):
            shown = {head.head for head in (*kept.heads, *kept.for_programs) if head.seq == logged.seq}
            leaves = [statement(self._server, self.match.id, logged.seq, head) for head in shown - {ours}]
            if any(map(proof.proves, leaves)):
                said = f"at size {size} it has another entry {logged.seq} than the bundle"
                return Finding("later" if ours is None and self._goes_on else "two stories", what, said, logged.seq)
            missing = "the bundle has no such entry" if ours is None else "the proof does not lead to the bundle's"
            return Finding("open" if ours is None else "broken", what, missing, logged.seq)
        seen = [(witness, signature) for witness in self.witnesses if (signature := proof.note.by(witness))]
        for witness, signature in seen:
            before = self.witnessed.get(witness.name, (0, 0))
            if logged.seq > before[0] or (logged.seq == before[0] and signature.time < before[1]):
                self.witnessed[witness.name] = logged.seq, signature.time
        if self.witnesses and not seen:
            return Finding("open", what, f"size {size}: cosigned by no witness that was named", logged.seq)
        return Finding(
            "agrees", what, ", ".join([f"size {size}", *(f"seen by {w.name}" for w, _ in seen)]), logged.seq
        )

    # Papers

    def _by_papers(self, kept: Kept) -> Iterator[Finding]:
        attached = {sha256_hex(way) for attachment in kept.attached for way in attachment.ways}
        for paper in dict.fromkeys(filter(self._ours, kept.papers)):
            key = self._signed(paper)
            if key is None and paper in kept.quoted:
                continue
            what = f"paper {paper.sha256[:16]}..."
            if key != self._key:
                yield self._not_by_the_server(what, key, None)
            elif paper.sha256 in attached:
                continue  # judged as the attachment that it is
            elif paper.sha256 in self._named:
                yield Finding("agrees", what, "")
            else:
                reason = "the transcript does not name it, and its file is not in the letter as it was sent"
                yield Finding("open", what, f"{reason}: it may have been replaced by a later one")

    def _by_attachment(self, kept: Kept, attached: Attached, vouched: set[str]) -> Iterator[Finding]:
        """The findings about that form of the attachment which the letter or the bundle names."""
        judges = (
            *(self._by_reports, self._by_position, self._by_opening, self._by_receipt),
            *(self._by_withdrawal, self._by_bundle),
        )
        best: list[Finding] = []
        for way in attached.ways:
            is_signed = sha256_hex(way) in vouched if vouched else None
            found = [finding for judge in judges for finding in judge(kept, attached, way, is_signed)]
            if found and (not best or is_signed or found[0].standing == "agrees"):
                best = found
        if not best and vouched.intersection(map(sha256_hex, attached.ways)):
            best = [Finding("open", attached.name, "signed as a paper of this match, and written as none is")]
        yield from best

    def _otherwise(self, what: str, is_signed: bool | None, reason: str, seq: int) -> Finding:
        """A finding against the bundle: proof for everybody, or only for the player who got the letter.

        A letter that vouches only for other files (`is_signed` is False) was changed.
        """
        if is_signed:
            return Finding("two stories", what, f"{reason}; {self._server} signed both, and told two stories", seq)
        if is_signed is False:
            return Finding("broken", what, f"{reason}; but it is not the file that the letter names, either", seq)
        return Finding("contradicts", what, f"{reason}; {_UNSIGNED}", seq)

    def _by_reports(
        self, _kept: Kept, attached: Attached, content: bytes, is_signed: bool | None
    ) -> Iterator[Finding]:
        document = self._document(content, "reports 1")
        if document is None:
            return
        game, turn, seat = document.get("game"), document.get("turn"), document.get("seat")
        what = f"reports of game {game}, turn {turn}"
        entry = self._turn(game, turn)
        if entry is None:
            yield self._of_no_entry(what, is_signed, game, f"turn {turn} of game {game}")
            return
        if sha256_hex(content) == entry.body.get("shown", {}).get(str(seat)):
            yield Finding("agrees", what, "", entry.seq)
            return
        reason = f"{attached.name} is not the file that entry {entry.seq} names for seat {seat}"
        yield self._otherwise(what, is_signed, reason, entry.seq)

    def _by_receipt(
        self, _kept: Kept, attached: Attached, content: bytes, is_signed: bool | None
    ) -> Iterator[Finding]:
        try:
            receipt = Receipt.read(content.decode())
        except (NotADocument, UnicodeDecodeError):
            return
        if (receipt.server, receipt.match) != (self._server, self.match.id):
            return
        if self.match.bundle > 1:
            yield self._judged(attached.name, content, receipt, is_signed)
            return
        if receipt.received:
            yield self._of_later_version(attached.name, is_signed)
        elif receipt.by_default and not receipt.turn:
            yield self._by_default_orders(receipt)
        else:
            yield from self._by_orders(attached, content, receipt, is_signed)

    def _by_orders(
        self, attached: Attached, content: bytes, receipt: Receipt, is_signed: bool | None
    ) -> Iterator[Finding]:
        """What became of the orders in a receipt of version 1."""
        what = f"receipt of game {receipt.game}, turn {receipt.turn}, rev {receipt.rev}"
        entry = self._turn(receipt.game, receipt.turn)
        if entry is None:
            yield self._of_no_turn(what, receipt)
            return
        named = entry.body.get("orders", {}).get(str(receipt.seat))
        if named == sha256_hex(content):
            yield Finding("agrees", what, "", entry.seq)
            return
        if given_up := self._given_up(receipt, entry.seq):
            yield Finding("agrees", what, f"given up with the seat in entry {given_up}", given_up)
            return
        if named is None:
            yield Finding("open", what, f"the turn was resolved without these orders: {_DROPPED}", entry.seq)
            return
        if not receipt.by_default and receipt.seat in entry.body.get("default", ()):
            yield Finding("open", what, f"default orders were played in their place: {_DROPPED}", entry.seq)
            return
        stood = self._receipt(f"receipts/game-{receipt.game}-turn-{receipt.turn}-seat-{receipt.seat}.txt")
        if stood is None:
            yield Finding(
                "open", what, "other orders stood in the end; the reveal will show whose and when", entry.seq
            )
        elif stood.rev > receipt.rev and not receipt.by_default:
            yield Finding("agrees", what, f"replaced by rev {stood.rev}", entry.seq)
        else:
            reason = (
                f"entry {entry.seq} resolved the turn with rev {stood.rev} and not with what {attached.name} names"
            )
            yield self._otherwise(what, is_signed, reason, entry.seq)

    def _by_default_orders(self, receipt: Receipt) -> Finding:
        """Default orders that were stored, and perhaps never played; but no claim should have met them."""
        what = f"receipt of default orders of game {receipt.game}, rev {receipt.rev}"
        game = 0
        for entry in self.found.entries:
            game = entry.body["game"] if entry.type == "commitments" else game
            if entry.type == "claimed" and game == receipt.game and receipt.seat in entry.body["against"]:
                return Finding("open", what, f"the game was claimed although they were stored: {_DROPPED}", entry.seq)
        return Finding("agrees", what, "")

    def _by_opening(
        self, kept: Kept, attached: Attached, content: bytes, is_signed: bool | None
    ) -> Iterator[Finding]:
        try:
            opening = Opening.read(content.decode())
        except (NotADocument, UnicodeDecodeError):
            return
        if (opening.server, opening.match) != (self._server, self.match.id):
            return
        if self.match.bundle > 1:
            yield self._judged(attached.name, content, opening, is_signed)
            return
        if opening.received:
            yield self._of_later_version(attached.name, is_signed)
            return
        what = f"opening of game {opening.game}, seat {opening.seat}"
        entry = self._places.get(("commitments", opening.game, None))
        if entry is None:
            missing = f"game {opening.game} did not begin"
            yield Finding("later" if self._goes_on else "agrees", what, f"by the bundle {missing}")
            return
        if entry.body.get("commitments", {}).get(str(opening.seat)) == sha256_hex(content):
            yield Finding("agrees", what, "", entry.seq)
            return
        if given_up := self._given_up(opening, entry.seq):
            yield Finding("agrees", what, f"given up with the seat in entry {given_up}", given_up)
            return
        stood = self._revision(opening)
        if stood is not None and kept.revision is not None and stood > kept.revision:
            yield Finding("agrees", what, f"replaced by rev {stood}", entry.seq)
        elif stood is not None and kept.revision is not None:
            reason = f"entry {entry.seq} commits seat {opening.seat} to another setup, rev {stood}"
            yield self._otherwise(what, is_signed, reason, entry.seq)
        else:
            reason = "the game began with another setup: a later one of that player's, or it was exchanged"
            yield Finding("open", what, reason, entry.seq)

    def _revision(self, opening: Opening) -> int | None:
        """The revision of the setup with which the opening's game began, if the bundle has its letter."""
        path = f"letters/game-{opening.game}-setup-seat-{opening.seat}.eml"
        letter = self.found.papers.get(path)
        if letter is not None and path not in self._revisions:
            self._revisions[path] = self.setup_rev(self.match.id, opening.game, letter)
        return self._revisions.get(path)

    def _by_position(
        self, _kept: Kept, attached: Attached, content: bytes, _signed: bool | None
    ) -> Iterator[Finding]:
        document = self._document(content, "position 1")
        if document is None:
            return
        game, seat, prev = document.get("game"), document.get("seat"), document.get("prev")
        what = f"position of game {game}, turn {document.get('turn')}"
        if not isinstance(prev, str) or prev not in self._seqs:
            yield self._unknown_head(what, f"{attached.name} cites the head {prev}")
            return
        seq = self._seqs[prev]
        match = self._positions.get((game, seat, prev)) if isinstance(game, int) and isinstance(seat, int) else None
        if match is None:
            yield Finding("agrees", what, "its head; the rest can be checked after the reveal", seq)
            return
        made = {"turn": match.position.turn if match.position else 0, "view": match.view(seat), **_told(match)}
        if _same(document, json.loads(canonical(made))) and _ends(match, document):
            yield Finding("agrees", what, "", seq)
        else:
            reason = f"{attached.name} shows another position than follows from the letters and the rules"
            yield Finding("contradicts", what, f"{reason}; {_UNSIGNED}", seq)

    def _by_bundle(self, _kept: Kept, attached: Attached, content: bytes, _signed: bool | None) -> Iterator[Finding]:
        if not attached.name.endswith(".zip"):
            return
        try:
            other = bundle.read(content)
            body = other.entries[0].body
            place = (str(body["server"]), str(body["match"]))
        except (bundle.NotABundle, KeyError) as error:
            if f"{self.match.id}." in attached.name or f"{self.match.id}-" in attached.name:
                yield Finding("broken", attached.name, f"damaged: it proves nothing ({error})")
            return
        if place == (self._server, self.match.id):
            yield self._by_other(other, attached.name)

    def _by_other(self, other: Bundle, name: str) -> Finding:
        """An earlier bundle, or a later one: the shorter chain is the beginning of the longer."""
        for ours, theirs, signature in zip(self.found.entries, other.entries, other.signatures, strict=False):
            message = statement(self._server, self.match.id, theirs.seq, theirs.head)
            if not _holds(self._key, signature.hex(), message):
                return Finding(
                    "broken", name, f"its entry {theirs.seq} is not signed with the bundle's key", theirs.seq
                )
            if theirs.head != ours.head:
                said = self._two_stories(theirs.seq, theirs.head, ours.head, "the bundle")
                return Finding("two stories", name, said, theirs.seq)
        for path in sorted(other.papers.keys() & self.found.papers.keys()):
            if other.papers[path] != self.found.papers[path]:
                return Finding("broken", name, f"its {path} is not what its own transcript names")
        ahead = len(other.entries) > len(self.found.entries)
        if ahead and self.found.entries[-1].type == "closed":
            seq = len(self.found.entries) + 1
            message = statement(self._server, self.match.id, seq, other.entries[seq - 1].head)
            if _holds(self._key, other.signatures[seq - 1].hex(), message):
                return Finding("two stories", name, f"it goes on where the match is closed, with entry {seq}", seq)
        found = "longer than this bundle, and begins with it" if ahead else ""
        return Finding("later" if ahead else "agrees", name, found, min(len(other.entries), len(self.found.entries)))

    # Text

    def _by_text(self, kept: Kept) -> Iterator[Finding]:
        if self._server.lower() not in kept.servers:
            return  # somebody else's words
        for match, server, prev in dict.fromkeys(kept.prevs):
            if (match, server) == (self.match.id, self._server) and prev not in self._seqs:
                yield self._unknown_head("form", f"the form in it cites the head {prev}")
        seen = max(
            (head.seq for head in kept.heads if self._ours(head) and self._signed(head) == self._key), default=0
        )
        yield from self._by_terms(kept)
        kinds = {"commitments", "sealed"}
        begun = [entry for entry in self.found.entries if entry.type in kinds and entry.seq <= seen]
        if seen > len(self.found.entries):
            return  # later than the bundle, and so is what it tells
        if not begun or not kept.commitments:
            return
        commitments = begun[-1].body["commitments"]
        names = [
            {name: commitments.get(str(seat)) for seat, name in seated.items()}
            for seated in self._names(begun[-1].seq)
        ]
        for told in kept.commitments:
            if told in names:
                yield Finding("agrees", "commitments", "", begun[-1].seq)
            else:
                reason = f"it tells other commitments than entry {begun[-1].seq}"
                yield Finding("contradicts", "commitments", f"{reason}; {_UNSIGNED}", begun[-1].seq)

    def _by_terms(self, kept: Kept) -> Iterator[Finding]:
        """The hash of the agreed terms in a letter from before or after the match began."""
        ours = str(self.found.entries[0].body["rules"])
        signed = {paper.sha256 for paper in kept.papers if self._ours(paper) and self._signed(paper) == self._key}
        for match, told in dict.fromkeys(kept.terms):
            if match != self.match.id:
                continue
            if told == ours:
                yield Finding("agrees", "terms", "", 1)
            else:
                reason = f"it tells of other terms, with the hash {told}, than entry 1"
                yield self._otherwise("terms", True if told in signed else None, reason, 1)

    # What was acknowledged: played, replaced, withdrawn, or dropped.

    def _by_withdrawal(
        self, _kept: Kept, attached: Attached, content: bytes, is_signed: bool | None
    ) -> Iterator[Finding]:
        try:
            withdrawal = Withdrawal.read(content.decode())
        except (NotADocument, UnicodeDecodeError):
            return
        if (withdrawal.server, withdrawal.match) == (self._server, self.match.id):
            yield self._judged(attached.name, content, withdrawal, is_signed)

    def _judged(
        self, name: str, content: bytes, paper: Opening | Receipt | Withdrawal, is_signed: bool | None
    ) -> Finding:
        """The fate of what a paper acknowledges; anything dropped without a trace convicts the server."""
        fate = self._fates.of(paper, sha256_hex(content))
        if fate.standing == "agrees" or fate.standing in {"later", "open"}:
            return Finding(fate.standing, fate.what, fate.found, fate.seq)
        return self._otherwise(fate.what, is_signed, f"{name}: {fate.found}", fate.seq or len(self.found.entries))

    def _of_later_version(self, name: str, is_signed: bool | None) -> Finding:
        """A server may not claim afterwards that a match began before bundles left traces."""
        reason = f"{name} is a paper of `bundle 2`, and entry 1 says that the match began as `bundle 1`"
        return self._otherwise("version", is_signed, reason, 1)

    # What these have in common.

    def _names(self, since: int) -> Iterator[dict[int, str]]:
        """Who had which seat from an entry on: at that entry, and after each change of seats."""
        names = {int(seat): str(player["name"]) for seat, player in self.found.entries[0].body["players"].items()}
        changes = [entry for entry in self.found.entries if entry.type == "substituted"]
        for entry in changes:
            if entry.seq > since:
                yield dict(names)
            names[entry.body["seat"]] = str(entry.body["player"]["name"])
        yield names

    def _given_up(self, paper: Opening | Receipt, seq: int) -> int | None:
        """The earlier entry by which the paper's player gave up the seat, if any, and what counted then."""
        names = next(self._names(seq))
        changes = [
            e.seq for e in self.found.entries[:seq] if (e.type, e.body.get("seat")) == ("substituted", paper.seat)
        ]
        return changes[-1] if changes and names[paper.seat] != paper.player else None

    def _document(self, content: bytes, kind: str) -> JsonObject | None:
        """The JSON document, if it is of this kind, and about this match."""
        if f'"{kind}"'.encode() not in content or len(content) > bundle.LIMITS.paper_octets:
            return None
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            return None
        if not isinstance(document, dict) or document.get("pbem") != kind:
            return None
        return document if (document.get("server"), document.get("match")) == (self._server, self.match.id) else None

    def _turn(self, game: object, turn: object) -> Entry | None:
        return self._places.get(("turn", game, turn)) if isinstance(game, int) and isinstance(turn, int) else None

    def _receipt(self, path: str) -> Receipt | None:
        content = self.found.papers.get(path)
        try:
            return Receipt.read(content.decode()) if content is not None else None
        except (NotADocument, UnicodeDecodeError):
            return None

    def _unknown_head(self, what: str, reason: str) -> Finding:
        if self._goes_on and self._ahead:
            return Finding("later", what, f"{reason}, which is of no entry of the bundle; ask for a newer one")
        return Finding("contradicts", what, f"{reason}, which is of no entry of the bundle; {_UNSIGNED}")

    def _of_no_entry(self, what: str, is_signed: bool | None, game: object, missing: str) -> Finding:
        if self._goes_on and self._ended(game) is None:
            return Finding("later", what, f"the bundle does not have {missing} yet; ask for a newer one")
        return self._otherwise(what, is_signed, f"the bundle has no {missing}", self.found.entries[-1].seq)

    def _of_no_turn(self, what: str, receipt: Receipt) -> Finding:
        """Orders for a turn that was never resolved: the game went on without it, or ended."""
        missing = f"turn {receipt.turn} of game {receipt.game}"
        ended = self._ended(receipt.game)
        if ended is None and self._goes_on:
            return Finding("later", what, f"the bundle does not have {missing} yet; ask for a newer one")
        reason = ended.body.get("reason") if ended else None
        if reason == "resignation":
            return Finding("agrees", what, f"the game was resigned before {missing}", ended.seq if ended else None)
        return Finding("open", what, f"the game ended ({reason}) without {missing}, although these orders were in")

    def _ended(self, game: object) -> Entry | None:
        return self._places.get(("ended", game, None)) if isinstance(game, int) else None

    @property
    def _goes_on(self) -> bool:
        return self.found.entries[-1].type != "closed"


_UNSIGNED = (
    "the server did not sign this part, so that it convinces whoever got the letter, and others only by its DKIM"
    " signature"
)


_DROPPED = (
    "unless they were withdrawn, or were stored before the turn and not legal when it came, the server dropped them"
)


def _place(entry: Entry) -> tuple[str, object, object]:
    """What an entry is about: its type, the game, and the turn, if any; a strange entry is about nothing."""
    game, turn = entry.body.get("game"), entry.body.get("turn")
    if entry.type != "turn":
        turn = None
    return (entry.type, game, turn) if isinstance(game, int) and isinstance(turn, int | None) else (entry.type, 0, 0)


def _holds(key: str, signature: str, message: bytes) -> bool:
    try:
        return ed25519_points.holds(bytes.fromhex(key), bytes.fromhex(signature), message)
    except ValueError:
        return False


def _told(match: Match) -> dict[str, object]:
    """What letters tell about the steps of a sealed game."""
    if match.sealed_game is None:
        return {}
    steps = [
        {
            "turn": filed.turn,
            "seat": filed.seat,
            "step": filed.step,
            "lines": filed.lines,
            "seq": filed.seq,
            "head": filed.head,
        }
        for filed in match.sealed_game.steps
    ]
    return {"sealed": {"steps": steps}}


def _ends(match: Match, document: JsonObject) -> bool:
    """Whether reveals were requested only when a sealed game was over; `owes` may be empty for other reasons."""
    sealed = document.get("sealed")
    owes = sealed.get("owes") if isinstance(sealed, dict) else None
    return not isinstance(owes, list) or not owes or ("reveal" in owes) == match.revealing


def _same(told: object, made: object) -> bool:
    """Whether what was told equals what is made now; a later version may tell more or less, but nothing different."""
    if isinstance(told, dict) and isinstance(made, dict):
        return all(_same(told[key], made[key]) for key in told.keys() & made.keys())
    if isinstance(told, list) and isinstance(made, list):
        return len(told) == len(made) and all(map(_same, told, made))
    return bool(told == made)
