"""The bundle: one file with the transcript of a match and all papers that prove it.

A zip file without compression, written in one canonical way, so that stock tools can open it (`unzip`,
`sha256sum -c commitments.sha256`, `ssh-keygen -Y verify`) and so that no byte of it can be changed unseen: reading
compares each header with the one that would be written. Here are also the limits beyond which nothing is examined.
Nothing is judged here; see `verify`. A tournament has a file of the same kind. Implements protocol.md, "Transcript".
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pbem.json_object import DEPTH, depth
from pbem.match.transcript import VERSION, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


class BundleLimits(msgspec.Struct, frozen=True):
    """The most that is read of a bundle, and of the letters that are compared with it."""

    octets: int = 1 << 30
    """The file: twice what two need who pad each letter of a thousand turns to the post office's limit."""
    members: int = 65_535
    """The most files in a ZIP file without ZIP64: a match of two players needs seven per turn."""
    member_octets: int = 64 << 20
    """The transcript, and the heads."""
    record_octets: int = 16 << 20
    """A record; a game of a thousand turns has less than one mebibyte."""
    paper_octets: int = 1 << 20
    """Any other paper."""
    letter_octets: int = 256 << 10
    """A letter of the bundle, as the post office takes it."""
    entries: int = 20_000
    entry_octets: int = 1 << 20
    values: int = 300_000
    """Commas and opening brackets in the transcript: each may become an object that outweighs its text by far."""
    keys: int = 40
    """Keys of one player at once; the desk takes ten, and those revoked since the last report count, too."""
    letters: int = 100_000
    """Letters compared with a bundle at once."""
    kept_octets: int = 64 << 20
    """One such letter: it may bring a bundle."""
    all_kept_octets: int = 4 << 30
    """All these letters together."""


LIMITS: Final = BundleLimits()

_EPOCH = (1980, 1, 1, 0, 0, 0)
_LISTS = ("transcript.jsonl", "heads.txt", "commitments.sha256")
_TOURNAMENT_LISTS = ("tournament.jsonl", "heads.txt")
_PATH = re.compile(
    r"(openings|letters|evidence|receipts|withdrawals|steps|traces|reports|records)/"
    r"[a-z0-9-]{1,100}\.(txt|eml|json|pbem\.toml)"
)


class NotABundle(ValueError):
    """The file is not a bundle, or not byte for byte as a bundle is written; names the wrong part."""


class BeyondLimits(NotABundle):
    """The file exceeds a limit: it may hold or not."""


class OtherVersion(NotABundle):
    """The file has a version that this program does not read: it may hold or not."""


class Bundle(msgspec.Struct, frozen=True):
    """The entries, the server's signatures of their heads (64 bytes each), and the papers by path."""

    entries: Sequence[Entry]
    signatures: Sequence[bytes]
    papers: Mapping[str, bytes]


def write(bundle: Bundle) -> bytes:
    """The bundle's bytes: the same for the same match."""
    return _packed("transcript.jsonl", bundle, {"commitments.sha256": _commitments(bundle).encode()})


def write_tournament(bundle: Bundle) -> bytes:
    """The file of a tournament."""
    return _packed("tournament.jsonl", bundle, {})


def _packed(transcript: str, bundle: Bundle, lists: Mapping[str, bytes]) -> bytes:
    import zipfile

    files = {
        transcript: b"".join(entry.canonical() + b"\n" for entry in bundle.entries),
        "heads.txt": "".join(
            f"{entry.seq} {entry.head} {signature.hex()}\n"
            for entry, signature in zip(bundle.entries, bundle.signatures, strict=True)
        ).encode(),
        **lists,
        **{path: bundle.papers[path] for path in sorted(bundle.papers)},
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path, content in files.items():
            info = zipfile.ZipInfo(path, _EPOCH)
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def _commitments(bundle: Bundle) -> str:
    """The list for `sha256sum -c`: each commitment with the path of its opening, if that is in the bundle."""
    listed: dict[str, str] = {}
    for entry in bundle.entries:
        body = entry.body
        if "commitments" in body:
            for seat, commitment in sorted(body["commitments"].items(), key=lambda item: int(item[0])):
                listed.setdefault(f"openings/game-{body['game']}-seat-{seat}.txt", commitment)
        elif entry.type == "step" and "path" in body:
            listed.setdefault(body["path"], body["paper"])
            if orders := _ORDERS.search(bundle.papers.get(body["path"], b"")):
                path = f"openings/game-{body['game']}-turn-{body['turn']}-seat-{body['seat']}.txt"
                listed.setdefault(path, orders[1].decode())
    return "".join(f"{commitment}  {path}\n" for path, commitment in listed.items() if path in bundle.papers)


_ORDERS = re.compile(rb"\norders ([0-9a-f]{64})\n")
"""The line in the paper of a step that commits to orders."""


def load(path: Path) -> bytes:
    """The bytes of a bundle's file; raises `NotABundle` and OSError."""
    if path.is_dir():  # Safari unpacks what it saves
        raise NotABundle("this is a folder: take the .zip as it came with the letter, not unpacked")
    with path.open("rb") as file:
        content = file.read(LIMITS.octets + 1)
    _refuse_more("the file", len(content), LIMITS.octets, "octets")
    if _is_packed_anew(content):
        raise NotABundle("unpacked and packed again: take the .zip as it came with the letter")
    return content


def _is_packed_anew(content: bytes) -> bool:
    """True for the files of a bundle in a ZIP of another program, such as Finder: in a folder, or compressed.

    That is no verdict on the match: the server's file may hold.
    """
    firsts = [lists[0].encode() for lists in (_LISTS, _TOURNAMENT_LISTS)]
    if not content.startswith(b"PK\3\4") or not any(first in content for first in firsts):
        return False
    return content[_METHOD] != _STORED or not any(content.startswith(first, _LOCAL.size) for first in firsts)


def read(content: bytes) -> Bundle:
    """The bundle of these bytes; raises `NotABundle`."""
    bundle, files = _unpacked(content, _LISTS, Entry, "bundle")
    try:
        listed = files.pop("commitments.sha256")
        if listed != _commitments(bundle).encode():
            raise NotABundle("commitments.sha256 does not list the commitments of the transcript")
    except NotABundle:
        raise
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise NotABundle(f"the commitments cannot be listed: {error}") from error
    return bundle


def first_body(content: bytes) -> Any:
    """What the first entry says in a file that is packed as a bundle, damaged or not; raises `NotABundle`."""
    members = dict(_Members(content, _LISTS))
    try:
        return msgspec.json.decode(members["transcript.jsonl"].partition(b"\n")[0])["body"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise NotABundle(f"transcript.jsonl: entry 1: {error}") from error


def is_tournament(content: bytes) -> bool:
    """True if these bytes begin as the file of a tournament does."""
    return content.startswith(_TOURNAMENT_LISTS[0].encode(), _LOCAL.size)


def read_tournament(content: bytes, kind: type[Entry]) -> Bundle:
    """The tournament of these bytes, with entries of its own kind; raises `NotABundle`."""
    return _unpacked(content, _TOURNAMENT_LISTS, kind, "register")[0]


def _unpacked(content: bytes, lists: Sequence[str], kind: type[Entry], named: str) -> tuple[Bundle, dict[str, bytes]]:
    """The bundle in a file, and its files, of which it has all but the lists; its version is `named` in entry 1."""
    _refuse_more("the file", len(content), LIMITS.octets, "octets")
    files = dict(_Members(content, lists))
    entries = tuple(_entries(lists[0], files.pop(lists[0]), kind))
    version = entries[0].body.get(named)
    if type(version) is int and version != VERSION:  # anything else has not the form of a first entry
        raise OtherVersion(f"it has version {version}, and this pbem reads version {VERSION}")
    signatures = tuple(_signatures(files.pop("heads.txt"), entries))
    return Bundle(entries, signatures, files), files


def _refuse_more(what: str, count: int, most: int, of: str) -> None:
    if count > most:
        raise BeyondLimits(f"{what} has more than {most:,} {of}, which is over the limit")


# Headers as `zipfile` writes them: version 2.0, nothing compressed, Unix, the first second that a ZIP file can tell.
_LOCAL = struct.Struct("<4s5H3I2H")
_LISTED = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_HOW = (20, 0, 0, 0, 0x21)
_METHOD, _STORED = slice(8, 10), b"\0\0"


class _Members:
    """The files in a bundle, in order; each byte around them is checked to be the one that would be written."""

    def __init__(self, content: bytes, lists: Sequence[str]) -> None:
        self._content = content
        self._lists = lists
        self._at = 0
        self._list: list[bytes] = []
        self._last = ""

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        while self._content.startswith(b"PK\3\4", self._at):
            start = self._at + _LOCAL.size
            header = self._content[self._at : start].ljust(_LOCAL.size, b"\0")
            *_, size, length, _ = _LOCAL.unpack(header)
            raw = self._content[start : start + length]
            name = raw.decode("ascii", "replace")
            self._place(name)
            start += length
            content = self._content[start : start + size]
            _refuse_more(name, len(content), _most(name, self._lists), "octets")
            sizes = (zlib.crc32(content), len(content), len(content), len(raw), 0)
            if header != _LOCAL.pack(b"PK\3\4", *_HOW, *sizes):
                raise NotABundle(f"{name} was changed, or is not stored as a bundle stores it")
            place = (0, 0, 0, 0o644 << 16, self._at)
            self._list.append(_LISTED.pack(b"PK\1\2", 3 << 8 | 20, *_HOW, *sizes, *place) + raw)
            self._at = start + size
            yield name, content
        if len(self._list) < len(self._lists):
            raise NotABundle(f"not a bundle: {self._lists[len(self._list)]} is missing")
        files = b"".join(self._list)
        end = _END.pack(b"PK\5\6", 0, 0, len(self._list), len(self._list), len(files), self._at, 0)
        if self._content[self._at :] != files + end:
            raise NotABundle("the list of files at its end is not as a bundle has it")

    def _place(self, name: str) -> None:
        """Refuse a name that may not be at this position: the three lists come first, then the papers by name."""
        count = len(self._list)
        _refuse_more("the bundle", count + 1, LIMITS.members, "files")
        if count < len(self._lists):
            if name != self._lists[count]:
                raise NotABundle(f"not a bundle: {self._lists[count]} is missing before {name[:80]!r}")
            return
        if not _PATH.fullmatch(name):
            raise NotABundle(f"{name[:80]!r} has no place in a bundle")
        if name <= self._last:
            raise NotABundle(f"{name} stands in a wrong place, or twice")
        self._last = name


def _most(name: str, lists: Sequence[str]) -> int:
    """The most octets of a file in the bundle."""
    if name.startswith("letters/"):
        return LIMITS.letter_octets
    if name in lists:
        return LIMITS.member_octets
    return LIMITS.record_octets if name.startswith("records/") else LIMITS.paper_octets


def _entries(name: str, content: bytes, kind: type[Entry]) -> Iterator[Entry]:
    _refuse_more(name, content.count(b"\n"), LIMITS.entries, "entries")
    _refuse_more(name, sum(map(content.count, (b",", b"[", b"{"))), LIMITS.values, "values")
    if not content.endswith(b"\n"):
        raise NotABundle(f"{name} does not end with an entry")
    for number, ended in enumerate(io.BytesIO(content), start=1):
        line = ended[:-1]
        what = f"{name}: entry {number}"
        _refuse_more(what, len(line), LIMITS.entry_octets, "octets")
        _refuse_more(what, depth(line), DEPTH, "lists and objects in one another")
        try:
            yield kind.read(line)
        except (ValueError, TypeError) as error:
            raise NotABundle(f"{what}: {error}") from error


_SIGNED_HEAD = re.compile(rb"([0-9]{1,9} [0-9a-f]{64}) ([0-9a-f]{128})")


def _signatures(content: bytes, entries: Sequence[Entry]) -> Iterator[bytes]:
    if content.count(b"\n") != len(entries) or not content.endswith(b"\n"):
        raise NotABundle("heads.txt does not have one line for each entry")
    for entry, line in zip(entries, content.split(b"\n"), strict=False):
        found = _SIGNED_HEAD.fullmatch(line)
        if not found or found[1] != f"{entry.seq} {entry.head}".encode():
            raise NotABundle(f"heads.txt: entry {entry.seq}: not the head of this entry")
        yield bytes.fromhex(found[2].decode())
