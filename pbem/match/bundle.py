"""The bundle: one file with the transcript of a match and all papers that prove it.

A zip file without compression, written in one canonical way, so that stock tools can open it (`unzip`,
`sha256sum -c commitments.sha256`, `ssh-keygen -Y verify`) and so that no byte of it can be changed unseen: reading
writes it again and compares. Nothing is judged here; see `verify`. Implements protocol.md, "Transcript".
"""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbem.match.transcript import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Bundle", "NotABundle", "read", "write"]

_EPOCH = (1980, 1, 1, 0, 0, 0)
_PATH = re.compile(r"(openings|letters|evidence|receipts|reports|records)/[a-z0-9-]+\.(txt|eml|json|pbem\.toml)")


class NotABundle(ValueError):  # noqa: N818 - what it says of the file
    """The file is no bundle, or not byte for byte as a bundle is written; names the part that is wrong."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The entries, the server's signatures of their heads (64 bytes each), and the papers by path."""

    entries: Sequence[Entry]
    signatures: Sequence[bytes]
    papers: Mapping[str, bytes]


def write(bundle: Bundle) -> bytes:
    """The bundle's bytes: the same for the same match."""
    files = {
        "transcript.jsonl": b"".join(entry.canonical() + b"\n" for entry in bundle.entries),
        "heads.txt": "".join(
            f"{entry.seq} {entry.head} {signature.hex()}\n"
            for entry, signature in zip(bundle.entries, bundle.signatures, strict=True)
        ).encode(),
        "commitments.sha256": _commitments(bundle).encode(),
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
    """What `sha256sum -c` reads: each commitment with the path of its opening, where that is here."""
    lines = []
    for entry in bundle.entries:
        if entry.type == "commitments":
            for seat, commitment in sorted(entry.body["commitments"].items(), key=lambda item: int(item[0])):
                path = f"openings/game-{entry.body['game']}-seat-{seat}.txt"
                if path in bundle.papers:
                    lines.append(f"{commitment}  {path}\n")
    return "".join(lines)


def read(content: bytes) -> Bundle:
    """The bundle of these bytes; raises `NotABundle`."""
    files = _files(content)
    try:
        entries = tuple(_entries(files.pop("transcript.jsonl")))
        signatures = tuple(_signatures(files.pop("heads.txt"), entries))
        files.pop("commitments.sha256")
        bundle = Bundle(entries, signatures, files)
        again = write(bundle)
    except KeyError as error:
        raise NotABundle(f"{error.args[0]} is missing") from error
    except (TypeError, AttributeError, ValueError, RecursionError) as error:
        raise NotABundle(str(error)) from error
    for path in files:
        if not _PATH.fullmatch(path):
            raise NotABundle(f"{path[:80]!r} has no place in a bundle")
    if again != content:
        raise NotABundle(_first_difference(again, content))
    return bundle


def _files(content: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files: dict[str, bytes] = {}
            # Before anything is read: entries that share their bytes could swell a small file a thousandfold.
            if sum(max(info.file_size, info.compress_size) for info in archive.infolist()) > len(content):
                raise NotABundle("its files are larger than the bundle itself")
            for info in archive.infolist():
                if info.compress_type != zipfile.ZIP_STORED or info.filename in files:
                    raise NotABundle(f"{info.filename[:80]!r} is not stored as a bundle stores it")
                try:
                    files[info.filename] = archive.read(info)
                except zipfile.BadZipFile as error:
                    raise NotABundle(f"{info.filename[:80]} was changed: {error}") from error
            return files
    except NotABundle:
        raise
    except Exception as error:  # zipfile raises many kinds on hostile bytes, and all mean the same here
        raise NotABundle(f"not a bundle: {error}") from error


def _entries(content: bytes) -> list[Entry]:
    entries = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            entries.append(Entry.read(line))
        except (ValueError, TypeError, RecursionError) as error:
            raise NotABundle(f"transcript.jsonl: entry {number}: {error}") from error
    if not entries:
        raise NotABundle("transcript.jsonl has no entry")
    return entries


def _signatures(content: bytes, entries: Sequence[Entry]) -> list[bytes]:
    lines = content.decode("ascii", "replace").splitlines()
    if len(lines) != len(entries):
        raise NotABundle("heads.txt does not have one line for each entry")
    signatures = []
    for entry, line in zip(entries, lines, strict=True):
        found = re.fullmatch(r"([0-9]+) ([0-9a-f]{64}) ([0-9a-f]{128})", line)
        if not found or found[1] != str(entry.seq) or found[2] != entry.head:
            raise NotABundle(f"heads.txt: entry {entry.seq}: not the head of this entry")
        signatures.append(bytes.fromhex(found[3]))
    return signatures


def _first_difference(wanted: bytes, found: bytes) -> str:
    at = next((i for i, (one, other) in enumerate(zip(wanted, found, strict=False)) if one != other), len(wanted))
    return f"not as a bundle is written, from byte {at} on (near {_near(wanted, at)})"


def _near(content: bytes, at: int) -> str:
    """The name of the file that a position of the archive belongs to."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        before = [info.filename for info in archive.infolist() if info.header_offset <= at < archive.start_dir]
    return before[-1] if before else "the list of files"
