"""The two sides of each comparison: a verified bundle by heads, hashes, games and seats; a letter's facts about it.

Of a letter it is known who signed what: a signature is verified once for each letter.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pbem.identity import ed25519_points
from pbem.match.documents import Evidence, NotADocument, Opening, Receipt, Withdrawal
from pbem.match.events import BEGIN
from pbem.match.naming import seat_name
from pbem.match.transcript import announcement, canonical, sha256_hex, statement, voucher
from pbem.proof.kept import SignedHead
from pbem.proof.signed_letters import signed_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pbem.match.state import Match
    from pbem.match.transcript import Entry
    from pbem.proof.bundle import Bundle
    from pbem.proof.kept import Attached, Kept, SignedPaper


class TranscriptIndex:
    """The entries of a verified transcript, of a match or a tournament, as letters are compared with them."""

    LAST = "ended"
    """The type of the entry after which none follows."""

    def __init__(self, entries: Sequence[Entry], name: str, about: Callable[[str, str, int, str], bytes]) -> None:
        """`about` makes the statement about a head, which the server signs, of its name, this name, and the head."""
        self.server = str(entries[0].body["server"])
        self.place = (self.server, name)
        self._about = about
        self.key = str(entries[0].body["server_key"])
        """The key with which the server signed this transcript, in hex."""
        self.last = entries[-1]
        self.goes_on = self.last.type != self.LAST
        """True if entries may follow."""
        self.heads = {entry.seq: entry.head for entry in entries}
        """The heads, by the number of the entry."""
        restores = [entry for entry in entries if entry.type == "restored"]
        self.generations = [(entry.seq, entry.body["generation"]) for entry in restores]
        """The entries that tell of a restored backup, each with the generation that began."""
        kinds = {"paused": True, "restored": True, "resumed": False}
        self.pauses = [(entry.seq, kinds[entry.type]) for entry in entries if entry.type in kinds]
        """The entries that pause a match, and that end a pause."""
        self.used = {
            (entry.body["mail"], _SAID_BY.get(entry.type, entry.type)): UsedLetter(
                f"entry {entry.seq}", entry.body["received"]
            )
            for entry in entries
            if "mail" in entry.body and "received" in entry.body
        }
        """The letters that counted, by hash and command."""
        told = ", ".join(str(entry.seq) for entry in restores)
        self.restored = f"; the bundle says that the server was restored from a backup (entry {told})" if told else ""
        """The backups that may explain two stories, if there were any."""

    @property
    def said(self) -> Mapping[str, frozenset[str]]:
        """The hashes of each letter's commands, by the letter's hash; none if no key of these players signed it."""
        return {}

    def leaf(self, seq: int, head: str) -> bytes:
        """The statement about a head, which is a leaf of the server's log."""
        return self._about(*self.place, seq, head)


class BundleIndex(TranscriptIndex):
    """The entries of a verified bundle by what they are about, and the match that they tell of."""

    LAST = "closed"

    def __init__(self, bundle: Bundle, match: Match) -> None:
        entries = bundle.entries
        super().__init__(entries, match.id, statement)
        self.bundle = bundle
        self.match = match
        self.seqs = {head: seq for seq, head in self.heads.items()}
        """The entries by their heads."""
        hashes = (re.findall(r'"([0-9a-f]{64})"', canonical(entry.body).decode()) for entry in entries)
        self.named = frozenset(value for values in hashes for value in values)
        """All hashes in the entries."""
        self.addresses: dict[str, UsedAddress] = {}
        """The reply addresses by which letters counted, by the hash of their token."""
        for path, paper in bundle.papers.items():
            if paper.startswith(b"pbem evidence "):
                with suppress(NotADocument, UnicodeDecodeError):
                    evidence = Evidence.read(paper.decode())
                    self.addresses[evidence.token] = UsedAddress(evidence.match, evidence.place, path)
        self.used |= dict(_used(bundle))
        self._places = first_entries(entries)

    @cached_property
    def said(self) -> Mapping[str, frozenset[str]]:
        """The hashes of each letter's commands, by the letter's hash; none if no key of these players signed it."""
        keys = [player.ever for player in self.match.players]
        letters = [paper for path, paper in self.bundle.papers.items() if path.endswith(".eml")]
        words = [frozenset[str]().union(*(signed_words(one, of, self.server) for of in keys)) for one in letters]
        return dict(zip(map(sha256_hex, letters), words, strict=True))

    def turn(self, game: object, turn: object) -> Entry | None:
        """The entry of a turn, as a paper names it."""
        return self._places.get(("turn", game, turn)) if isinstance(game, int) and isinstance(turn, int) else None

    def ended(self, game: object) -> Entry | None:
        """The entry of the end of a game, as a paper names it."""
        return self._places.get(("ended", game, None)) if isinstance(game, int) else None

    def begun(self, game: int) -> Entry | None:
        """The entry of the beginning of a game."""
        return self._places.get(("begun", game, None))

    def commitments(self, begun: Entry) -> list[dict[str, str | None]]:
        """The commitments of a game that begins with this entry, by the names that players had since."""
        listed = begun.body["commitments"]
        return [{name: listed.get(str(seat)) for seat, name in seated.items()} for seated in self.names(begun.seq)]

    def names(self, since: int) -> Iterator[dict[int, str]]:
        """The players' names by seat from an entry on: at that entry, and after each change of seats."""
        names = {int(seat): str(player["name"]) for seat, player in self.bundle.entries[0].body["players"].items()}
        changes = [entry for entry in self.bundle.entries if entry.type == "substituted"]
        for entry in changes:
            if entry.seq > since:
                yield from self._shown(names)
            names[entry.body["seat"]] = str(entry.body["player"]["name"])
        yield from self._shown(names)

    def _shown(self, names: dict[int, str]) -> Iterator[dict[int, str]]:
        """These names; of players whom the match hid, those that each of them was told."""
        readers = names if self.bundle.entries[0].body["terms"].get("anonymous") else ()
        yield dict(names)
        for reader in readers:
            yield {seat: name if seat == reader else seat_name(seat) for seat, name in names.items()}


class UsedLetter(NamedTuple):
    """Where a bundle says that a letter was obeyed, and when it came."""

    where: str
    received: str


_SAID_BY = {
    "extended": "extend",
    "claimed": "claim",
    "resigned": "resign",
    "substituted": "substitute",
    "entered": "enter",
    "left": "leave",
    "challenged": "challenge",
    "ruled": "rule",
}
"""The commands of letters, by the type of the entry that they made, where that has another name."""


def _used(bundle: Bundle) -> Iterator[tuple[tuple[str, str], UsedLetter]]:
    """The letters of papers, each with the command that it gave."""
    kinds: tuple[tuple[str, type[Opening | Receipt | Withdrawal], str], ...] = (
        ("openings/", Opening, "setup"),
        ("receipts/", Receipt, "orders"),
        ("withdrawals/", Withdrawal, "clear"),
    )
    for path, paper in bundle.papers.items():
        for folder, kind, command in kinds:
            if path.startswith(folder):
                with suppress(NotADocument, UnicodeDecodeError):
                    said = kind.read(paper.decode())
                    name = "seal" if kind is Receipt and "-setup-" in path else command
                    yield (said.mail, name), UsedLetter(path, said.received)


class UsedAddress(NamedTuple):
    """The place for which a bundle says that a reply address was, and the paper in which it does."""

    match: str
    place: str
    path: str


def first_entries(entries: Sequence[Entry]) -> dict[tuple[str, int, int | None], Entry]:
    """The entries by which games were begun, their turns resolved, and they ended; by that word, game and turn."""
    kinds = {"turn": "turn", "ended": "ended", **dict.fromkeys(BEGIN, "begun")}
    about = [entry for entry in entries if entry.type in kinds]
    return {(kinds[entry.type], entry.body["game"], entry.body.get("turn")): entry for entry in reversed(about)}


def is_signature(key: str, signature: str, message: bytes) -> bool:
    """True if an Ed25519 signature holds; key and signature in hex, and they may be anything."""
    try:
        return ed25519_points.holds(bytes.fromhex(key), bytes.fromhex(signature), message)
    except ValueError:
        return False


class ShownLetter:
    """A kept letter that is compared with a transcript."""

    def __init__(self, kept: Kept, index: TranscriptIndex) -> None:
        self.kept = kept
        self.index = index
        self._signers: dict[SignedHead | SignedPaper, str | None] = {}
        heads, ours = kept.heads or kept.for_programs, len(index.heads)
        self.ahead = not heads or any(head.seq > ours for head in heads if self.is_ours(head))
        """True if it is of a later time than the bundle, as far as it shows that."""
        self.vouched = {paper.sha256 for paper in kept.papers if self.is_ours(paper) and self.is_signed(paper)}
        """The hashes of the papers of this match for which it shows a signature by the bundle's key."""

    def is_ours(self, signed: SignedHead | SignedPaper) -> bool:
        """True if this is about the bundle's match."""
        return (signed.server, signed.match) == self.index.place

    def is_signed(self, signed: SignedHead | SignedPaper) -> bool:
        """True if the bundle's key signed this."""
        return self.signer(signed) == self.index.key

    def signer(self, signed: SignedHead | SignedPaper) -> str | None:
        """The key that signed this: the bundle's, or else the one that the letter names; None if neither did."""
        if signed not in self._signers:
            if isinstance(signed, SignedHead):
                message = self.index.leaf(signed.seq, signed.head)
            else:
                message = voucher(signed.server, signed.match, signed.sha256)
            keys = dict.fromkeys((self.index.key, signed.key or self.index.key))
            holding = (key for key in keys if is_signature(key, signed.signature, message))
            self._signers[signed] = next(holding, None)
        return self._signers[signed]


class ShownMatchLetter(ShownLetter):
    """A kept letter that is compared with the bundle of a match."""

    index: BundleIndex

    def __init__(self, kept: Kept, index: BundleIndex) -> None:
        super().__init__(kept, index)
        bulletins = [
            told.hashes
            for told in kept.files
            if told.server == index.server
            and is_signature(index.key, told.signature, announcement(told.server, told.bulletin))
        ]
        self._in_bulletin = frozenset().union(*bulletins) if bulletins else None
        """The hashes of files for programs that the server signed with the letter; None without such a signature."""

    def files(self, attached: Attached) -> Iterator[AttachedFile]:
        """An attachment in each form in which it may have been sent."""
        for way in attached.ways:
            hashed = sha256_hex(way)
            is_signed = hashed in self.vouched if self.vouched else None
            in_bulletin = hashed in self._in_bulletin if self._in_bulletin is not None else None
            yield AttachedFile(self, attached.name, way, is_signed, in_bulletin)


class AttachedFile(msgspec.Struct, frozen=True):
    """An attached file in one of its forms, with the letter that brought it."""

    letter: ShownMatchLetter
    name: str
    content: bytes
    is_signed: bool | None
    """True if the letter vouches for it; None if the letter vouches for no file."""
    in_bulletin: bool | None
    """True if the letter's bulletin, which the server signed, names its hash; None without such a bulletin."""
