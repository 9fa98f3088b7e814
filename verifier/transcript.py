"""1 and 2. The file; its transcript: entries, chain, heads, commitments."""

from __future__ import annotations

import json
import re
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verifier.conventions import Body, No, OtherVersion, Wrong, ed25519, must, sha256
from verifier.forms import is_hash, is_number, is_object, is_text, is_time, object_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


TOURNAMENT_LISTS = ("tournament.jsonl", "heads.txt")
LISTS = ("transcript.jsonl", "heads.txt", "commitments.sha256")
PAPER = re.compile(
    r"(openings|letters|evidence|receipts|withdrawals|steps|traces|reports|records)/[a-z0-9-]{1,100}\.(txt|eml|json|pbem\.toml)"
)


TOURNAMENT_PAPER = re.compile(
    r"letters/(announced|entered|left|challenged|ruled)-[0-9]{1,5}\.eml"
    r"|evidence/(announced|entered|left|challenged|ruled|mailbox)-[0-9]{1,5}\.txt"
)


def write_file(members: Mapping[str, bytes]) -> bytes:
    made, listed = b"", b""
    for name, content in members.items():
        common = struct.pack(
            "<HHHHHIIIHH", 20, 0, 0, 0, 0x21, zlib.crc32(content), len(content), len(content), len(name), 0
        )
        listed += b"PK\x01\x02" + struct.pack("<H", 0x0314) + common
        listed += struct.pack("<HHHII", 0, 0, 0, 0x01A40000, len(made)) + name.encode()
        made += b"PK\x03\x04" + common + name.encode() + content
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(listed), len(made), 0)
    return made + listed + b"PK\x05\x06" + end


def read_file(
    content: bytes, lists: tuple[str, ...] = LISTS, paper_name: re.Pattern[str] = PAPER
) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    at = 0
    while content[at : at + 4] == b"PK\x03\x04":
        must(len(content) >= at + 30, "the file is cut")
        size, length = struct.unpack("<IH", content[at + 22 : at + 28])
        name = content[at + 30 : at + 30 + length].decode("ascii", "replace")
        must(name not in members, "a member twice")
        members[name] = content[at + 30 + length : at + 30 + length + size]
        at += 30 + length + size
    names = list(members)
    rest = names[len(lists) :]
    must(tuple(names[: len(lists)]) == lists, "not the lists that are first")
    must(all(paper_name.fullmatch(name) for name in rest), "a strange name")
    must(rest == sorted(rest), "names out of order")
    must(write_file(members) == content, "not as a bundle is written")
    for name, paper in members.items():
        folder = "" if name in lists else name.partition("/")[0]
        most = {"": 64 << 20, "letters": 256 << 10, "records": 16 << 20}.get(folder, 1 << 20)
        must(len(paper) <= most, f"{name} is too big")
    return members


@dataclass(frozen=True)
class Entry:
    seq: int
    prev: str
    time: str
    type: str
    body: Body
    head: str


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def no_fraction(text: str) -> None:
    raise No(f"no whole number: {text}")


def read_json(text: str) -> Any:
    try:
        found = json.loads(text, parse_float=no_fraction, parse_constant=no_fraction)
        ascii_keys(found)
        must(canonical(found) == text, "not canonical")
    except (ValueError, RecursionError) as error:
        raise No("no JSON") from error
    return found


def ascii_keys(value: object) -> None:
    if isinstance(value, dict):
        must(all(key.isascii() for key in value), "a key that is not ASCII")
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            ascii_keys(one)


IS_ENTRY = object_of(seq=is_number, prev=is_hash, time=is_time, type=is_text, body=is_object)


def read_transcript(content: bytes, path: str = "transcript.jsonl", title: str = "pbem entry 1") -> list[Entry]:
    must(content.endswith(b"\n"), "no line end")
    entries: list[Entry] = []
    for number, line in enumerate(content[:-1].split(b"\n"), start=1):
        try:
            must(line.isascii(), "not ASCII")
            found = read_json(line.decode())
            must(IS_ENTRY(found) and found["seq"] == number, "no entry, or not the next")
            head = sha256(f"{title}\n".encode() + line)
            entry = Entry(number, found["prev"], found["time"], found["type"], found["body"], head)
            must(entry.prev == (entries[-1].head if entries else "0" * 64), "the chain is broken")
        except No as error:
            raise Wrong(number, path, str(error)) from error
        entries.append(entry)
        version = entries[0].body.get("register" if "tournament" in title else "bundle")
        if type(version) is int and version != 1:  # nothing is said of what follows
            raise OtherVersion(1, path, f"version {version} is not read here")
    return entries


def check_heads(entries: Sequence[Entry], content: bytes, title: str = "pbem head 1", of: str = "match") -> None:
    lines = content.decode("ascii", "replace").split("\n")
    must(lines.pop() == "" and len(lines) == len(entries), "not a line an entry")
    body = entries[0].body
    for entry, line in zip(entries, lines, strict=True):
        found = re.fullmatch(rf"{entry.seq} {entry.head} ([0-9a-f]{{128}})", line)
        must(found, f"line {entry.seq}")
        assert found
        said = f"{title}\nserver {body['server']}\n{of} {body[of]}\nseq {entry.seq}\nhead {entry.head}\n"
        public = bytes.fromhex(body["server_key"])
        if not ed25519(public, bytes.fromhex(found[1]), said.encode()):
            raise Wrong(entry.seq, "heads.txt", "the server did not sign this head")


def committed(entry: Entry, members: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """The files whose hashes an entry commits to (1 and 11.5)."""
    body = entry.body
    if entry.type in {"commitments", "sealed"}:
        for seat, commitment in sorted(body["commitments"].items(), key=lambda one: int(one[0])):
            yield f"openings/game-{body['game']}-seat-{seat}.txt", commitment
    elif entry.type == "step" and "path" in body:
        yield body["path"], body["paper"]
        found = re.search(rb"\norders ([0-9a-f]{64})\n", members.get(body["path"], b""))
        if found:
            yield f"openings/game-{body['game']}-turn-{body['turn']}-seat-{body['seat']}.txt", found[1].decode()
