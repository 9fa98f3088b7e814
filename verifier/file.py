"""1. The file."""

from __future__ import annotations

import re
import struct
import zlib
from typing import TYPE_CHECKING

from verifier.conventions import must

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        must(len(paper) <= limit(name), f"{name} is too big")
    return members


def limit(name: str) -> int:
    if name in {*LISTS, *TOURNAMENT_LISTS}:
        return 64 << 20
    if name.startswith("letters/"):
        return 256 << 10
    return 16 << 20 if name.startswith("records/") else 1 << 20
