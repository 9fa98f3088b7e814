"""A second verifier of bundles, written from docs/bundle.md alone; a function or two for each of its sections.

The rules of the games come in by `games`. Signatures of OpenPGP and S/MIME are not looked at: such letters count as
signed by the key that the papers name, and stand in `Match.open`.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import contextlib
import email
import email.utils
import hashlib
import hmac
import itertools
import json
import re
import struct
import tomllib
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.message import Message
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
    load_pem_public_key,
    load_ssh_public_key,
)
from verifier.games import Refused, Result, SealedStep, rules, sealed_rules, settled
from verifier.one_letter import Place, given, token_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Body = dict[str, Any]


class Wrong(Exception):
    """What does not hold: the entry, the file, and why."""

    def __init__(self, seq: int | None, path: str | None, reason: str) -> None:
        super().__init__(f"entry {seq}, {path}: {reason}")
        self.seq, self.path, self.reason = seq, path, reason


class No(Exception):
    """Why something does not hold, before it is known where."""


def must(condition: object, reason: str) -> None:
    if not condition:
        raise No(reason)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


def moment(text: str) -> datetime:
    must(TIME.fullmatch(text), "no time")
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise No("no time") from error


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


# 1. The file.

LISTS = ("transcript.jsonl", "heads.txt", "commitments.sha256")
PAPER = re.compile(
    r"(openings|letters|evidence|receipts|withdrawals|steps|traces|reports|records)/[a-z0-9-]{1,100}\.(txt|eml|json|pbem\.toml)"
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


def read_file(content: bytes) -> dict[str, bytes]:
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
    must(tuple(names[:3]) == LISTS, "not the three lists")
    must(all(PAPER.fullmatch(name) for name in names[3:]), "a strange name")
    must(names[3:] == sorted(names[3:]), "names out of order")
    must(write_file(members) == content, "not as a bundle is written")
    for name, paper in members.items():
        must(len(paper) <= limit(name), f"{name} is too big")
    return members


def limit(name: str) -> int:
    if name in LISTS:
        return 64 << 20
    if name.startswith("letters/"):
        return 256 << 10
    return 16 << 20 if name.startswith("records/") else 1 << 20


# 2. The transcript.


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


def read_entry(number: int, line: bytes) -> Entry:
    must(line.isascii(), "not ASCII")
    found = read_json(line.decode())
    must(isinstance(found, dict) and set(found) == {"seq", "prev", "time", "type", "body"}, "no entry")
    must(type(found["seq"]) is int and found["seq"] == number, "a gap in the numbers")
    must(isinstance(found["prev"], str) and HASH.fullmatch(found["prev"]), "no head before it")
    must(isinstance(found["time"], str) and isinstance(found["type"], str), "no entry")
    must(isinstance(found["body"], dict), "no body")
    moment(found["time"])
    return Entry(number, found["prev"], found["time"], found["type"], found["body"], sha256(b"pbem entry 1\n" + line))


def read_transcript(content: bytes) -> list[Entry]:
    must(content.endswith(b"\n"), "no line end")
    entries: list[Entry] = []
    for number, line in enumerate(content[:-1].split(b"\n"), start=1):
        try:
            entry = read_entry(number, line)
            before = entries[-1].head if entries else "0" * 64
            must(entry.prev == before, "the chain is broken")
        except No as error:
            raise Wrong(number, "transcript.jsonl", str(error)) from error
        entries.append(entry)
    return entries


# 2.4 What the server signs.

FIELD = 2**255 - 19
EIGHT = int.from_bytes(bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little")
ORDER_8 = EIGHT & (2**255 - 1)
SMALL = {0, 1, FIELD - 1, ORDER_8, FIELD - ORDER_8}


def good_point(octets: bytes) -> bool:
    y = int.from_bytes(octets, "little") & (2**255 - 1)
    return len(octets) == 32 and y < FIELD and y not in SMALL


def ed25519(public: bytes, signature: bytes, text: bytes) -> bool:
    if len(signature) != 64 or not good_point(public) or not good_point(signature[:32]):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True


def check_heads(entries: Sequence[Entry], content: bytes) -> None:
    lines = content.decode("ascii", "replace").split("\n")
    must(lines.pop() == "" and len(lines) == len(entries), "not a line an entry")
    body = entries[0].body
    for entry, line in zip(entries, lines, strict=True):
        found = re.fullmatch(rf"{entry.seq} {entry.head} ([0-9a-f]{{128}})", line)
        must(found, f"line {entry.seq}")
        assert found
        said = f"pbem head 1\nserver {body['server']}\nmatch {body['match']}\nseq {entry.seq}\nhead {entry.head}\n"
        public = bytes.fromhex(body["server_key"])
        if not ed25519(public, bytes.fromhex(found[1]), said.encode()):
            raise Wrong(entry.seq, "heads.txt", "the server did not sign this head")


def check_commitments(entries: Sequence[Entry], members: Mapping[str, bytes]) -> None:
    made = ""
    for entry in entries:
        for path, commitment in committed(entry, members):
            made += f"{commitment}  {path}\n" if path in members and f"  {path}\n" not in made else ""
    must(members["commitments.sha256"] == made.encode(), "not the commitments")


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


# 4. Papers.


def lines_of(paper: bytes, title: str, keys: Sequence[str], optional: Sequence[str] = ()) -> dict[str, str]:
    """The values of a text paper, which is written again and compared."""
    try:
        text = paper.decode()
    except UnicodeDecodeError as error:
        raise No("not UTF-8") from error
    found: dict[str, str] = {}
    must(text.endswith("\n"), "no line end")
    rest = text.split("\n")
    must(rest.pop(0) == title, f"no {title}")
    for key in keys:
        if rest and rest[0].startswith(f"{key} "):
            found[key] = rest.pop(0)[len(key) + 1 :]
        else:
            must(key in optional, f"no {key}")
    found["*"] = "\n".join(rest)
    for key, pattern in PATTERNS.items():
        must(key not in found or pattern.fullmatch(found[key]), f"no {key}")
    must("salt" not in found or SALT.fullmatch(found["salt"]), "no salt")
    return found


SALT = re.compile("[0-9a-f]{64}")
PATTERNS = {**dict.fromkeys(("game", "turn", "seat", "rev"), NUMBER), "orders": re.compile("default")}


def read_opening(paper: bytes) -> dict[str, str]:
    keys = ["server", "match", "game", "seat", "player", "rules", "mail", "evidence", "received", "rev", "salt"]
    found = lines_of(paper, "pbem opening 2", keys, ["evidence"])
    must(found["*"].startswith("setup\n") and found["*"].endswith("\nend\n"), "no setup")
    found["setup"] = found.pop("*")[6:-5]
    return found


def read_receipt(paper: bytes, *, withdrawal: bool = False) -> dict[str, str]:
    keys = ["server", "match", "game", "turn", "seat", "player", "rev", "level", "key", "mail"]
    keys += ["evidence", "orders", "received", "salt"]
    title = "pbem withdrawal 1" if withdrawal else "pbem receipt 2"
    found = lines_of(paper, title, keys, ["evidence", "orders"])
    must(found.pop("*") == "", "more than a receipt")
    return found


def read_trace(paper: bytes) -> tuple[dict[str, str], dict[str, str]]:
    found = lines_of(paper, "pbem trace 1", ["server", "match", "game", "turn", "salt"])
    lines = found["*"].split("\n")
    must(lines.pop() == "", "no line end")
    listed: dict[str, str] = {}
    for line in lines:
        parts = re.fullmatch(r"([0-9a-f]{64})  (\S+)", line)
        must(parts, "no line of a trace")
        assert parts
        listed[parts[2]] = parts[1]
    must(list(listed) == sorted(listed) and len(listed) == len(lines), "a trace out of order")
    return found, listed


def read_evidence(paper: bytes) -> dict[str, str]:
    keys = ["server", "match", "player", "mail", "received", "token", "place", "by", "name", "record"]
    found = lines_of(paper, "pbem evidence 2", keys)
    must(found.pop("*") == "", "more than evidence")
    return found


def read_mailbox(paper: bytes) -> dict[str, str]:
    found = lines_of(paper, "pbem mailbox 2", ["server", "match", "seat", "player", "address", "salt"])
    must(found.pop("*") == "", "more than a mailbox")
    must(found["address"] == found["address"].lower(), "no lower case")
    return found


def read_replies(match: Match, entry: Entry) -> str:
    """The secret of the reply addresses of the turn that this entry opens; empty if it names none."""
    if "replies" not in entry.body:
        return ""
    paper = match.paper(f"evidence/replies-{entry.seq}.txt", entry.body["replies"])
    found = lines_of(paper, "pbem replies 1", ["server", "match", "salt"])
    must(found.pop("*") == "", "more than replies")
    must((found["server"], found["match"]) == (match.server, match.id), "replies of something else")
    must(HASH.fullmatch(found["salt"]), "no salt")
    return found["salt"]


# 4.8 The record.


def toml_text(text: str, *, lines: bool = False) -> str:
    made = json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")
    return '"""\n' + made.replace("\\n", "\n") + '"""' if lines and "\n" in text else f'"{made}"'


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return toml_text(value) if isinstance(value, str) else str(value)


def record(match: Match, result: Result) -> bytes:
    head = ["record = 1", f'game = "{match.terms["game"]}"', f"rules = {match.terms['edition']}"]
    head += [f'match = "{match.id}"', f"round = {match.game}"]
    head += [f'previous = "{match.previous}"'] if match.previous else []
    tables = ["\n".join(head)]
    if match.options.changed:
        tables.append(
            "\n".join(["[options]", *(f"{key} = {toml(one)}" for key, one in match.options.changed.items())])
        )
    for seat in match.seats:
        setup = toml_text(match.setups[seat].text, lines=True)
        tables.append(f"[[seat]]\nname = {toml_text(match.players[seat].name)}\nsetup = {setup}")
    for played in match.played:
        lines = [f"{seat} = {toml_text(played[seat], lines=True)}" for seat in sorted(played)]
        tables += ["\n".join(["[[turn]]", *lines])]
    tables += [f"[[resigned]]\nseat = {seat}\nturn = {turn}" for turn, seat in sorted(match.left)]
    scores = toml(list(result.scores))
    tables.append(f'[result]\nwinner = {result.winner}\nscores = {scores}\nreason = "{result.reason}"')
    return ("\n\n".join(tables) + "\n").encode()


# 6.1 From octets to text.


@dataclass
class Part:
    kind: str
    name: str
    attached: bool
    content: bytes
    text: str


CHARSETS = (
    r"utf-(8|16|32).*|ascii|latin_1|iso8859.*|iso2022.*|cp\d+|koi8.*|mac-.*|gb.*|big5.*|shift_jis.*|euc_.*|hz|johab"
    r"|tis-620|kz1048|ptcp154"
)


def known_charset(charset: str | None) -> str:
    try:
        name = codecs.lookup(charset or "").name
    except LookupError:
        return ""
    return name if re.fullmatch(CHARSETS, name) else ""


def decoded(content: bytes, charset: str | None) -> str:
    for one in (known_charset(charset), "utf-8", "cp1252"):
        try:
            if one:
                return content.decode(one)
        except UnicodeError:
            continue
    return content.decode("cp1252", "replace")


def leaves(message: Message) -> Iterator[Message]:
    """Those of a forwarded letter are not the letter's."""
    if message.get_content_maintype() != "multipart":
        yield message
    elif message.is_multipart():
        for part in message.get_payload():
            assert isinstance(part, Message)
            yield from leaves(part)


def parts_of(message: Message) -> Iterator[Part]:
    for part in leaves(message):
        if "quoted-printable" in str(part["Content-Transfer-Encoding"]).lower():
            part.set_payload(re.sub(r"=[ \t]+(?=\r?\n|\Z)", "=", str(part.get_payload())))
        content = part.get_payload(decode=True)
        content = content if isinstance(content, bytes) else b""
        name = part.get_filename() or ""
        attached = part.get_content_disposition() == "attachment"
        text = decoded(content, part.get_content_charset())
        yield Part(part.get_content_type(), name, attached, content, text)


def text_of(message: Message) -> str:
    found = (part.text for part in parts_of(message) if part.kind == "text/plain" and not part.attached)
    return next(found, "").replace("\r\n", "\n")


# 6.2 The signature.


@dataclass(frozen=True)
class Key:
    format: str
    fingerprint: str
    public: str


def strings(blob: bytes) -> list[bytes]:
    found = []
    while blob:
        must(len(blob) >= 4, "a cut string")
        length = int.from_bytes(blob[:4], "big")
        must(len(blob) >= 4 + length, "a cut string")
        found.append(blob[4 : 4 + length])
        blob = blob[4 + length :]
    return found


def unbase64(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise No("no base64") from error


def raw_ed25519(public: str) -> bytes:
    if re.fullmatch(r"[0-9a-fA-F]{64}", public.strip()):
        return bytes.fromhex(public.strip())
    found = load_pem_public_key(public.encode())
    assert isinstance(found, Ed25519PublicKey)
    return found.public_bytes(Encoding.Raw, PublicFormat.Raw)


def openpgp_fingerprint(public: str) -> str:
    lines = [line for line in public.strip().split("\n")[1:-1] if ":" not in line and not line.startswith("=")]
    packets = unbase64("".join(lines))
    first, size = packets[1], 2
    length = first
    if packets[0] & 0x40 == 0:
        size = 1 + (1, 2, 4)[packets[0] & 3]
        length = int.from_bytes(packets[1:size], "big")
    elif first >= 192:
        size, length = 3, ((first - 192) << 8) + packets[2] + 192
    body = packets[size : size + length]
    if body[0] == 6:
        return hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body).hexdigest().upper()
    return hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body).hexdigest().upper()


def fingerprint(form: str, public: str) -> str:
    """The fingerprint of a key in its written form."""
    if form == "ssh":
        blob = unbase64(public.split()[1])
        return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    if form == "ed25519":
        return raw_ed25519(public).hex()
    if form == "minisign":
        return public.rsplit(maxsplit=1)[-1]
    if form == "smime":
        octets = x509.load_pem_x509_certificate(public.encode()).fingerprint(hashes.SHA256())
        return octets.hex(":").upper()
    must(form == "openpgp", "an unknown format")
    return openpgp_fingerprint(public)


def form_of(public: str) -> str:
    """The format of a key as it is pasted."""
    if "BEGIN PGP" in public:
        return "openpgp"
    if "BEGIN CERTIFICATE" in public:
        return "smime"
    if "BEGIN PUBLIC KEY" in public or re.fullmatch(r"[0-9a-f]{64}", public.strip()):
        return "ed25519"
    return "minisign" if re.search(r"(^|\s)RW\S{54}$", public.strip()) else "ssh"


SSH = re.compile(r"-----BEGIN SSH SIGNATURE-----\s+([A-Za-z0-9+/=\s]+)-----END SSH SIGNATURE-----")
CURVES: dict[str, Callable[[], hashes.HashAlgorithm]] = {
    "nistp256": hashes.SHA256,
    "nistp384": hashes.SHA384,
    "nistp521": hashes.SHA512,
}


def by_ssh(key: Key, armor: str, text: bytes, server: str) -> bool:
    found = SSH.search(armor)
    blob = unbase64(found[1]) if found else b""
    must(blob[:6] == b"SSHSIG" and blob[6:10] == b"\0\0\0\1", "no SSH signature")
    public, namespace, reserved, algorithm, signature = strings(blob[10:])
    must(namespace == f"pbem@{server}".encode() and not reserved, "another namespace")
    must(algorithm in {b"sha256", b"sha512"}, "another hash")
    if public != unbase64(key.public.split()[1]):
        return False
    digest = hashlib.new(algorithm.decode(), text).digest()
    said = b"SSHSIG" + b"".join(len(one).to_bytes(4, "big") + one for one in (namespace, reserved, algorithm, digest))
    kind, value = strings(signature)
    return ssh_holds(key, kind.decode("ascii", "replace"), value, said)


def ssh_holds(key: Key, kind: str, value: bytes, said: bytes) -> bool:
    loaded = load_ssh_public_key(" ".join(key.public.split()[:2]).encode())
    try:
        if isinstance(loaded, Ed25519PublicKey) and kind == "ssh-ed25519":
            return ed25519(loaded.public_bytes_raw(), value, said)
        if isinstance(loaded, rsa.RSAPublicKey) and kind in {"rsa-sha2-256", "rsa-sha2-512"}:
            good_rsa(loaded, 2048)
            loaded.verify(value, said, padding.PKCS1v15(), hashes.SHA256() if kind[-3:] == "256" else hashes.SHA512())
            return True
        if isinstance(loaded, ec.EllipticCurvePublicKey) and kind.startswith("ecdsa-sha2-nistp"):
            r, s = (int.from_bytes(one, "big") for one in strings(value))
            loaded.verify(encode_dss_signature(r, s), said, ec.ECDSA(CURVES[kind[11:]]()))
            return True
    except InvalidSignature:
        return False
    return False


def good_rsa(key: rsa.RSAPublicKey, least: int) -> None:
    must(least <= key.key_size <= 8192, "an RSA key of another size")
    exponent = key.public_numbers().e
    must(exponent % 2 == 1 and 2 <= exponent.bit_length() <= 64, "a strange exponent")


def by_minisign(key: Key, lines: str, text: bytes) -> bool:
    public = unbase64(key.public.split()[-1])
    found = MINISIGN.search(lines)
    must(found, "no minisign signature")
    assert found
    blob = unbase64(found[1] or found[2])
    must(blob[:2] in {b"ED", b"Ed"} and len(blob) == 74, "no minisign signature")
    said = hashlib.blake2b(text).digest() if blob[:2] == b"ED" else text
    if blob[2:10] != public[2:10] or not ed25519(public[10:], blob[10:], said):
        return False
    return found[1] is not None or ed25519(public[10:], unbase64(found[4]), blob[10:] + found[3].encode())


MINISIGN = re.compile(
    r"(?m)untrusted comment:[^\n]*\n(?:(RU\S{98})(?![^\n]*\ntrusted comment:)|"
    r"(R\S{99})[ \r]*\ntrusted comment: ([^\n]*?)\r?\n(\S{88}))\s*?$"
)
RAW = re.compile(r"(?m)^signature: ([A-Za-z0-9+/]{86}==)\s*$")
PGP = re.compile(r"-----BEGIN PGP SIGNATURE-----.*?-----END PGP SIGNATURE-----", re.DOTALL)
CLEAR = re.compile(
    r"-----BEGIN PGP SIGNED MESSAGE-----\r?\n(?:[^\n]+\n)*?\r?\n(.*?)\r?\n-----BEGIN PGP SIGNATURE", re.DOTALL
)
PASTED = {"ssh": SSH, "minisign": MINISIGN, "ed25519": RAW, "openpgp": PGP}
ALONE = re.compile(
    r"\ufeff?\s*(-----BEGIN (SSH|PGP) SIGNATURE-----|untrusted comment:(?![^\n]*\s+RW\S{54}\s*$)"
    r"|(signature:\s*)?[A-Za-z0-9+/]{86}==\s*$)|(?!\s*-)[^\x00]{0,64}\Z|[^\x09-\x7f]"
)
"""How a file begins that holds a signature and nothing else."""
ENDINGS = re.compile(r"\.(asc|sig|minisig|ed25519|sign)$")


@dataclass(frozen=True)
class Signed:
    """A signature that was found: its format (None where any may be), itself, and the text that it is of."""

    form: str
    signature: str
    text: str
    raw: bytes | None = None


def signatures(message: Message) -> list[Signed]:
    kind = message.get_content_type()
    for part in message.walk():
        if part.get_content_type() == "multipart/signed":
            first = part.get_payload(0)
            smime = "pkcs7" in str(part.get_param("protocol"))
            assert not isinstance(first, str)
            return [Signed("smime" if smime else "openpgp", "", text_of(first))]
    must(not kind.startswith("application/pkcs7"), "an opaque S/MIME letter, which cannot be read here")
    found: list[Signed] = []
    parts = list(parts_of(message))
    for one in parts:
        partner = ENDINGS.sub("", one.name)
        if partner != one.name and ALONE.match(one.text):
            signed = [other for other in parts if other.name == partner]
            must(len(signed) == 1, "not one file of this signature")
            found.append(attached(one, signed[0]))
        elif (one.kind == "text/plain" or one.name) and "-----BEGIN PGP PUBLIC KEY BLOCK-----" not in one.text:
            found += pasted(one.text)
    return found


def attached(part: Part, of: Part) -> Signed:
    form = next((form for form, pattern in PASTED.items() if pattern.search(part.text)), "ed25519")
    text = part.text
    if form == "ed25519" and "signature:" not in text:
        octets = part.content if len(part.content) == 64 else unbase64(part.text)
        text = f"signature: {base64.b64encode(octets).decode()}"
    return Signed(form, text, of.text, of.content)


def pasted(text: str) -> Iterator[Signed]:
    text = re.sub(r"(?m)^>.*\n?", "", text) if re.search(r"(?m)^> ?-----BEGIN|^> ?signature:", text) else text
    must(text.count("-----BEGIN SSH SIGNATURE-----") < 2, "more than one signature")
    for form, pattern in PASTED.items():
        for found in pattern.finditer(text):
            above = found.string[: found.start()]
            clear = CLEAR.search(text) if form == "openpgp" else None
            if clear:
                above = re.sub(r"(?m)^- ", "", clear[1])
            yield Signed(form, found[0], above)


INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
LINE_END = re.compile("\r\n|[\r\n\x0b\x0c\x85\u2028\u2029]")
HEAD_WORDS = r"(?:server|player|prev|rev|challenge|fingerprint|proof) \S+|final(?=\s)"


def clean(text: str) -> str:
    text = INVISIBLE.sub("", LINE_END.sub("\n", text))
    lines = [re.sub(r"\s", " ", line).rstrip() for line in text.split("\n")]
    return "\n".join(lines).strip("\n")


def dense(text: str) -> str:
    return "\n".join(line.strip() for line in clean(text).split("\n") if line.strip())


def ways(text: str) -> Iterator[bytes]:
    """The octets of a text that may have been signed (without what flowed and typographic text would need)."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if first_words(line)][:6]
    for start in dict.fromkeys([0, *starts]):
        rest = "\n".join(lines[start:])
        yield rest.encode()
        for way in (rest.replace("\r\n", "\n"), clean(rest), dense(rest), *broken(dense(rest))):
            for end in ("", "\n"):
                made = way.rstrip("\n") + end
                yield from (made.encode(), made.replace("\n", "\r\n").encode())
        yield rest.replace("\r\n", "\n").encode()


def broken(text: str) -> Iterator[str]:
    """The head of a dense text a field a line, then its body in three ways."""
    first, _, rest = text.partition("\n")
    lines = [first]
    while found := re.match(rf"\s*({HEAD_WORDS})", rest):
        lines.append(found[1])
        rest = rest[found.end() :]
    content = rest.strip()
    if content.endswith("end"):
        content = content.removesuffix("end").strip()
        for way in dict.fromkeys((content, unwrapped(content), " ".join(content.split()))):
            yield "\n".join([*lines, way, "end"])


def unwrapped(text: str) -> str:
    """The lines joined where the next word would have passed column 72."""
    lines = text.split("\n")
    made = lines[:1]
    for before, line in itertools.pairwise(lines):
        if len(before) + 1 + len(line.split(" ")[0]) > 72:
            made[-1] += f" {line}"
        else:
            made.append(line)
    return "\n".join(made)


def first_words(line: str) -> bool:
    words = line.lower().split()
    return bool(words) and (words[0] in COMMANDS or " ".join(words[:2]) in COMMANDS)


def holds(signed: Signed, key: Key, server: str, text: bytes) -> bool:
    if signed.form == "ssh":
        return by_ssh(key, signed.signature, text, server)
    if signed.form == "minisign":
        return by_minisign(key, signed.signature, text)
    found = RAW.search(signed.signature)
    return found is not None and ed25519(raw_ed25519(key.public), unbase64(found[1]), text)


def signed_text(message: Message, key: Key, match: Match) -> str | None:
    """The text of a letter that this key signed."""
    found = signatures(message)
    must(len(found) == 1, "not exactly one signature")
    (signed,) = found
    if signed.form != key.format:
        return None
    if key.format in {"openpgp", "smime"}:
        match.open.append(f"the {key.format} signature by {key.fingerprint}")
        return signed.text
    tried = itertools.chain([signed.raw] if signed.raw is not None else [], ways(signed.text))
    for text in dict.fromkeys(tried):
        if holds(signed, key, match.server, text):
            return text.decode("utf-8", "replace")
    return None


# 6.3 Commands.

M = r"(m?[0-9]\S*|turn|game)( |$)"
B = (
    r"[a-z][a-z0-9_-]*( (server|player|end|#\S*|help|games|whoami|standings|rules|sheet|register|confirm|key|recover"
    r"|address|set|vacation|new|list|accept|decline|join|withdraw|setup|seal|step|reveal|orders|clear|status|preview"
    r"|report|transcript|diary|press|observe|unobserve|block|unblock|resign|draw|annul|extend|claim|substitute))?$"
)
C = r"\S+ (server|challenge|end)$|(server|challenge|end)( |$)|\S*$"
N = r"[a-z][a-z0-9_-]*[,;.:]?( with| server| player| prev| rev| \S+:| end\S?)?$"
R = r"((?=\S{8})\S*[0-9]|[0-9a-f]{4}\b|-----BEGIN|RW|untrusted|end\b|$)"
COMMANDS: dict[str, tuple[str, str, str]] = {
    "help": ("?line", "", ""),
    "games": ("", "", ""),
    "whoami": ("", "", ""),
    "standings": ("", "", ""),
    "rules": ("name", "", ""),
    "sheet": ("name", "", ""),
    "register": ("name ?key", "", ""),
    "confirm": ("name", "fields block", C),
    "key add": ("?key ?fingerprint", "fields", ""),
    "key revoke": ("fingerprint", "fields", ""),
    "key keep": ("", "fields", ""),
    "recover": ("?code ?key", "", R),
    "address add": ("any", "fields", ""),
    "set": ("any any", "fields", r"(format|language|mail|reminders|timezone)( |$)"),
    "vacation": ("days", "fields", r"([0-9]|off\b)"),
    "new": ("name ?with", "fields options", N),
    "list": ("?=open|mine", "", ""),
    "accept": ("match ?hash", "fields", ""),
    "decline": ("match", "fields", ""),
    "join": ("match", "fields", M),
    "withdraw": ("match", "fields", M),
    "setup": ("match ?game", "fields block", M),
    "seal": ("match ?game", "fields block", M),
    "step": ("match ?game turn0", "fields block", M),
    "reveal": ("match ?game", "fields block", M),
    "orders": ("match turn ?final", "fields block", M),
    "clear": ("match ?turn", "fields+", ""),
    "status": ("?match", "", ""),
    "preview": ("match turn ?final", "fields block", M),
    "report": ("match ?game ?turn", "", ""),
    "transcript": ("match", "", ""),
    "diary": ("match", "", M),
    "press": ("match", "message", M),
    "observe": ("match", "fields", M),
    "unobserve": ("match", "fields", M),
    "block": ("name", "fields", B),
    "unblock": ("name", "fields", B),
    "resign": ("match ?game", "fields+", ""),
    "draw": ("match =offer|accept|decline", "fields+", M),
    "annul": ("match =offer|accept|decline", "fields+", M),
    "extend": ("match time", "fields+", M),
    "claim": ("match", "fields+", M),
    "substitute": ("match name for leaver ?hash", "fields+", M),
}
FIELDS = {"server", "player", "prev", "rev", "challenge", "fingerprint", "proof"}
RESERVED = {*FIELDS, "end", "final", "with", "stop"}
NAME = re.compile(
    r"(?!(?:server|player|prev|rev|challenge|fingerprint|proof|end|final|with|stop)$)[a-z][a-z0-9_-]{0,31}"
)
WORDS = {
    "match": re.compile(r"m[1-9][0-9]{0,8}"),
    "number": re.compile(r"[1-9][0-9]{0,4}"),
    "name": NAME,
    "leaver": NAME,
    "hash": re.compile(r"[0-9a-f]{8,64}"),
    "time": re.compile(r"[1-9][0-9]{0,5}[mhd]"),
    "any": re.compile(r"\S+"),
    "for": re.compile("for"),
    "code": re.compile(r"\S+"),
    "final": re.compile("final"),
}
ARMOR = re.compile(
    r"-----BEGIN (PGP PUBLIC KEY BLOCK|CERTIFICATE|PUBLIC KEY)-----(?:[^-]|-(?!----))*-----END \1-----"
    r"|(?:untrusted comment:[^\n]*\s+)?RW[A-Za-z0-9+/]{54}(?!\S)"
)
SSH_KEY = re.compile(r"((?:ssh|ecdsa|sk)-[a-z0-9@.-]+)\s+([A-Za-z0-9+/=]{20,})[^\n]*")


@dataclass
class Command:
    name: str
    said: dict[str, str] = field(default_factory=dict)
    block: str = ""
    options: dict[str, str] = field(default_factory=dict)
    fault: bool = False


class Reading:
    """The row of words of a text."""

    def __init__(self, text: str) -> None:
        text = "\n".join(re.sub(r"\s", " ", line) for line in INVISIBLE.sub("", LINE_END.sub("\n", text)).split("\n"))
        text = text.split("-----BEGIN SSH SIGNATURE-----")[0]
        lines = list(itertools.takewhile(lambda line: line.rstrip() != "--", text.split("\n")))
        self.text = "\n".join(line for line in lines if not line.lstrip().startswith(">"))
        self.at = 0

    def peek(self, number: int = 0) -> str:
        found = re.match(r"\s*(\S+)" * (number + 1), self.text[self.at :])
        return found[number + 1] if found else ""

    def take(self) -> str:
        found = re.compile(r"\s*(\S*)").match(self.text, self.at)
        assert found
        self.at = found.end()
        return found[1]

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def skip_line(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end


def bare(word: str) -> str:
    return word.rstrip(",;.:")


def read_commands(text: str) -> list[Command]:
    reading, found, unknown = Reading(text), list[Command](), 0
    while unknown < 5 and len(found) < 200 and (word := reading.peek().lower()):
        if bare(word) == "stop":
            break
        name = command_here(reading)
        if name is None:
            unknown += not (word.startswith("#") or bare(word) == "end")
            reading.take()
            reading.skip_line()
            continue
        for _ in name.split():
            reading.take()
        command = Command(name)
        arguments(reading, command)
        found.append(command)
    return found


def command_here(reading: Reading) -> str | None:
    for count in (2, 1):
        name = " ".join(reading.peek(number).lower() for number in range(count))
        if name in COMMANDS:
            follow = " ".join(filter(None, (reading.peek(count), reading.peek(count + 1))))
            opens = re.compile(COMMANDS[name][2], re.IGNORECASE)
            shorter = reading.peek(count)
            return name if opens.match(follow) or opens.match(shorter) else None
    return None


def arguments(reading: Reading, command: Command) -> None:
    wanted, then, _ = COMMANDS[command.name]
    for one in wanted.split():
        if not argument(reading, command, one.lstrip("?")) and not one.startswith("?"):
            command.fault = True
            break
    if "fields" in then:
        fields(reading, command, more="+" in then)
    if "block" in then or "options" in then:
        block(reading, command)
        if "options" in then and not command.fault:
            options(command)
    elif command.fault:
        reading.skip_line()
    elif "fields" in then and bare(reading.peek().lower()) == "end":
        reading.take()
    if command.name == "confirm":
        content = re.sub(r"#[^\n]*", "", command.block).strip()
        command.fault |= not {"server", "challenge"} <= set(command.said) or bool(content)


def argument(reading: Reading, command: Command, one: str) -> bool:
    word = bare(reading.peek().lower())
    if one == "turn0" and (word, bare(reading.peek(1))) == ("turn", "0"):
        command.said["*turn"] = "0"
        reading.take()
        reading.take()
        return True
    if one in {"turn", "turn0", "game"}:
        return argument_of_place(reading, command, one.rstrip("0"), word)
    if one == "with":
        return others(reading, command)
    if one in {"key", "fingerprint"}:
        return argument_of_key(reading, command, one)
    pattern = re.compile(one[1:]) if one.startswith("=") else WORDS.get(one)
    if pattern is None or not pattern.fullmatch(word):
        return False
    command.said["word" if one.startswith("=") else f"*{one}"] = word
    if one == "time":
        command.said["seconds"] = str(int(word[:-1]) * {"m": 60, "h": 3600, "d": 86400}[word[-1]])
    reading.take()
    return True


def argument_of_place(reading: Reading, command: Command, one: str, word: str) -> bool:
    if word in {"default", "all", "match"} and (one, word) not in {("game", "default")}:
        command.said[f"*{one}"] = word
        reading.take()
        return True
    number = bare(reading.peek(1))
    if word != one or not WORDS["number"].fullmatch(number):
        return False
    command.said[f"*{one}"] = number
    reading.take()
    reading.take()
    return True


def others(reading: Reading, command: Command) -> bool:
    if reading.peek().lower() != "with":
        return False
    reading.take()
    names: list[str] = []
    while (word := reading.peek()) and not word.endswith(":") and bare(word.lower()) not in RESERVED:
        names += [name.strip("<>;").lower() for name in reading.take().split(",") if name]
    command.said["*with"] = " ".join(names)
    return bool(names)


def argument_of_key(reading: Reading, command: Command, one: str) -> bool:
    found = reading.match(ARMOR) or reading.match(SSH_KEY) if one == "key" else None
    if found:
        command.said["*key"] = found[0]
        return True
    word = bare(reading.peek())
    if one == "key" or word.lower() in FIELDS or not re.fullmatch(r"[A-Za-z0-9+/:=]{4,200}", word):
        return False
    command.said["*fingerprint"] = reading.take()
    while re.fullmatch(r"[0-9A-Fa-f]{4}", command.said["*fingerprint"][-4:]) and len(word) == 4:
        if not re.fullmatch(r"[0-9A-Fa-f]{4}", reading.peek()):
            break
        command.said["*fingerprint"] += reading.take()
    return True


def fields(reading: Reading, command: Command, *, more: bool) -> None:
    known = (
        FIELDS
        | ({"game", "turn"} if more else set())
        | ({"final"} if command.name in {"orders", "preview"} else set())
    )
    while (word := reading.peek().lower()) in known:
        reading.take()
        if word == "final":
            command.said["*final"] = "yes"
            continue
        value = reading.take()
        value = value if word == "fingerprint" else value.lower()
        at_first = (word, value) == ("turn", "0") and command.name != "clear"
        number = word not in {"rev", "game", "turn"} or at_first or re.fullmatch(r"[1-9][0-9]{0,8}", value)
        command.fault |= word in command.said or not value or not number
        command.fault |= word in {"game", "turn"} and command.said.get(f"*{word}", "match") not in {"match", value}
        command.said[word] = value


def block(reading: Reading, command: Command) -> None:
    rest = reading.text[reading.at :]
    for found in re.finditer(r"(?i)(?<![^\s,;])end(?=[\s,;.]|$)", rest):
        line = rest[: found.start()].rpartition("\n")[2]
        if "#" not in line:
            command.block = rest[: found.start()].strip()
            reading.at += found.end()
            return
    command.fault = True
    reading.at = len(reading.text)


def options(command: Command) -> None:
    name = ""
    for word in re.sub(r"#[^\n]*", "", command.block).split():
        if word.endswith(":") and len(word) > 1:
            command.fault |= word[:-1].lower() in command.options
            name = word[:-1].lower()
            command.options[name] = ""
        else:
            command.fault |= not name
            command.options[name] = f"{command.options.get(name, '')} {word}".strip()
    command.fault |= not all(command.options.values())


# 6.4 Place.


@dataclass
class Want:
    """What a command must say to count: its fields, and the heads that it may cite."""

    match: Match
    player: str
    prevs: Sequence[str]
    mailbox: bool
    demanded: tuple[str, ...] = ("server", "player", "prev", "rev")

    def fits(self, command: Command, rev: int | None, **more: str) -> bool:
        if command.fault or command.said.get("*match") != self.match.id:
            return False
        said = command.said
        right = {"server": [self.match.server], "player": [self.player], "prev": self.prevs}
        right |= {key: [value] for key, value in more.items()}
        if rev is not None:
            right["rev"] = [str(rev)]
        if not self.mailbox and not {*self.demanded, *more} <= set(said):
            return False
        return all(said[key] in values for key, values in right.items() if key in said)


# 6.6 Level mailbox.


@dataclass
class Letter:
    """A letter of the bundle, as it is named."""

    match: Match
    entry: Entry
    path: str
    raw: bytes
    received: str | None

    @property
    def message(self) -> Message:
        return email.message_from_bytes(self.raw)


def letter_named(match: Match, entry: Entry, path: str, digest: str, received: str | None) -> Letter:
    raw = match.paper(path, digest)
    letter = Letter(match, entry, path, raw, received)
    if received is not None:
        must(moment(received) <= moment(entry.time), "received after the entry")
        dates = letter.message.get_all("Date") or []
        date = read_date(str(dates[0])) if len(dates) == 1 else None
        if date:
            came = moment(received)
            must(came - timedelta(days=10) <= date <= came + timedelta(days=1), "another date")
    return letter


def read_date(text: str) -> datetime | None:
    try:
        date = email.utils.parsedate_to_datetime(text)
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        return None


@dataclass
class Player:
    """Who sits at a seat."""

    name: str
    keys: dict[str, Key]
    mailbox: str | None = None
    address: str = ""
    former: dict[str, tuple[Key, str]] = field(default_factory=dict)
    keyless: str | None = None


def evidence(letter: Letter, digest: str, player: Player, *, turn: int | None) -> str:
    """The text of a letter without a key, and the source of the evidence."""
    match = letter.match
    path = letter.path.replace("letters/", "evidence/").replace(".eml", ".txt")
    found = read_evidence(match.paper(path, digest))
    must(found["server"] == match.server and found["player"] == player.name, "evidence of somebody else")
    must(found["mail"] == sha256(letter.raw), "evidence of another letter")
    agreement = letter.entry.type == "agreed"
    must(agreement or found["match"] == match.id, "evidence of another match")
    must(found["received"] == letter.received, "received at another time")
    sender = letter.message.get_all("From") or []
    address = email.utils.getaddresses([str(one) for one in sender])
    must(len(sender) == 1 and len(address) == 1, "not one sender")
    must(address[0][1].lower() == player.address, "from another address")
    tokens_right(letter, found["token"])
    must(agreement or place_right(found["place"], match, turn), "about something else")
    must(match.tokens.setdefault(found["token"], found["mail"]) == found["mail"], "a token twice")
    if found["by"] == "dkim":
        dkim_holds(letter.raw, found["name"], found["record"], moment(found["received"]))
    else:
        server_vouched(letter, found)
    match.vouched[letter.path] = f"{found['by']}:{found['name']}"
    return text_of(letter.message)


def tokens_right(letter: Letter, token: str) -> None:
    heads = [
        str(one)
        for name in ("To", "Cc", "Delivered-To", "X-Original-To")
        for one in letter.message.get_all(name) or []
    ]
    heads += re.findall(r"<[!-;=?-~]{1,900}>", f"{letter.message['In-Reply-To']} {letter.message['References']}")
    text = " ".join([*heads, text_of(letter.message)[:20000]]).lower()
    words = re.findall(r"(?<=\.)[a-z2-7]{20}(?=@)", text)
    must(any(sha256(word.encode()) == token for word in words), "another token")


def place_right(place: str, match: Match, turn: int | None) -> bool:
    found = re.fullmatch(r"game ([0-9]+) turn ([0-9]+)", place)
    due = match.turn_due
    if not found or int(found[1]) != match.game:
        return False
    return int(found[2]) == due or (turn is not None and 0 <= int(found[2]) <= due)


def server_vouched(letter: Letter, found: Mapping[str, str]) -> None:
    headers = [(name.lower(), " ".join(str(value).split())) for name, value in letter.message.items()]
    above = 0
    for name, value in headers:
        above += name == "received"
        if name == "authentication-results" and value.startswith(found["name"]) and "dkim=" in value:
            must(above <= 1 and value == " ".join(found["record"].split()), "another result")
            must("dkim=pass" in value, "no pass")
            return
    raise No("no such header")


def tags(text: str) -> dict[str, str]:
    found = (one.partition("=") for one in text.split(";") if one.strip())
    return {
        name.strip(): re.sub(r"\s+", "" if name.strip() in {"b", "bh", "p"} else " ", value.strip())
        for name, _, value in found
    }


def dkim_holds(raw: bytes, name: str, record_text: str, at: datetime, over: str = "from") -> None:
    head, _, body = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n").partition(b"\r\n\r\n")
    headers = [one.partition(b":")[::2] for one in re.findall(rb"[^\r\n]+(?:\r\n[ \t][^\r\n]*)*", head)]
    sender = str(email.message_from_bytes(raw)["From"])
    domain_from = email.utils.parseaddr(sender)[1].lower().rpartition("@")[2]
    names = [key.lower() for key, _ in headers]
    for once in (b"date", b"content-type", b"content-transfer-encoding"):
        must(names.count(once) <= 1, f"two {once.decode()}")
    for number, (key, value) in enumerate(headers):
        if key.strip().lower() != b"dkim-signature":
            continue
        sig = tags(value.decode("ascii", "replace").replace("\r\n", ""))
        if f"{sig.get('s')}._domainkey.{sig.get('d', '').lower()}" != name:
            continue
        domain = sig["d"].lower()
        fits = domain_from == domain or domain_from.endswith(f".{domain}")
        covered = [one.strip().lower() for one in sig.get("h", "").split(":")].count(over)
        fits = fits and 0 < names.count(over.encode()) <= covered
        if fits and dkim_counts(sig, tags(record_text), at) and dkim_signed(sig, record_text, headers, number, body):
            return
    raise No("no DKIM signature holds")


def dkim_counts(sig: Mapping[str, str], rec: Mapping[str, str], at: datetime) -> bool:
    asked = [one.strip().lower() for one in sig.get("h", "").split(":")]
    stamp = at.timestamp()
    if "from" not in asked or "l" in sig or sig.get("a") not in {"rsa-sha256", "ed25519-sha256"}:
        return False
    if not all(re.fullmatch("[0-9]{1,12}", sig.get(name, "0")) for name in "tx"):
        return False
    if "x" in sig and (int(sig["x"]) < stamp or int(sig["x"]) < int(sig.get("t", "0"))):
        return False
    if "t" in sig and int(sig["t"]) > stamp + 36000:
        return False
    if sig.get("v") != "1" or sig.get("q", "dns/txt") != "dns/txt" or "." not in sig["d"]:
        return False
    domain = sig["d"].lower()
    if not re.fullmatch(r".*[@.]", sig.get("i", f"@{domain}").lower().removesuffix(domain)):
        return False
    flags = [one.strip() for one in rec.get("t", "").split(":")]
    services = [one.strip() for one in rec.get("s", "*").split(":")]
    algorithms = [one.strip() for one in rec.get("h", "sha256").split(":")]
    owner = sig.get("i", sig["d"]).rpartition("@")[2].lower()
    strict = "s" not in flags or owner == sig["d"].lower()
    usable = (
        rec.get("v", "DKIM1") == "DKIM1"
        and bool(rec.get("p"))
        and "y" not in flags
        and bool({"*", "email"} & set(services))
    )
    return usable and "sha256" in algorithms and strict


def relaxed(key: bytes, value: bytes) -> bytes:
    value = re.sub(rb"[ \t]+", b" ", value.replace(b"\r\n", b"")).strip()
    return key.strip().lower() + b":" + value


def dkim_signed(
    sig: Mapping[str, str], record_text: str, headers: Sequence[tuple[bytes, bytes]], number: int, body: bytes
) -> bool:
    head_way, _, body_way = sig.get("c", "simple/simple").partition("/")
    if body_way == "relaxed":
        body = b"\r\n".join(re.sub(rb"[ \t]+", b" ", line).rstrip(b" ") for line in body.split(b"\r\n"))
    body = re.sub(rb"(\r\n)*$", b"", body) + b"\r\n"
    body = b"" if body_way == "relaxed" and body == b"\r\n" else body
    if hashlib.sha256(body).digest() != unbase64(sig["bh"]):
        return False

    def way(key: bytes, value: bytes) -> bytes:
        return relaxed(key, value) if head_way == "relaxed" else key + b":" + value

    rest = list(headers)
    said = b""
    for asked in sig["h"].split(":"):
        place = next(
            (
                at
                for at in reversed(range(len(rest)))
                if rest[at][0].strip().lower() == asked.strip().lower().encode()
            ),
            None,
        )
        if place is not None:
            said += way(*rest.pop(place)) + b"\r\n"
    key, value = headers[number]
    said += way(key, re.sub(rb"(?<=[; \t\n])b=[^;]*", b"b=", value, count=1)).rstrip()
    return dkim_key_holds(sig, tags(record_text), said)


def dkim_key_holds(sig: Mapping[str, str], rec: Mapping[str, str], said: bytes) -> bool:
    octets = unbase64(rec["p"])
    if sig["a"] == "ed25519-sha256":
        return rec.get("k") == "ed25519" and ed25519(octets, unbase64(sig["b"]), hashlib.sha256(said).digest())
    key = load_der_public_key(octets)
    if not isinstance(key, rsa.RSAPublicKey) or rec.get("k", "rsa") != "rsa":
        return False
    good_rsa(key, 1024)
    try:
        key.verify(unbase64(sig["b"]), said, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True


# 6.7 Letters without a form.


def in_one_letter(match: Match, letter: Letter, paper: Mapping[str, str], commands: list[Command]) -> list[Command]:
    """The commands of a letter, or what it gives at its reply address if it has none."""
    path = letter.path.replace("letters/", "evidence/").replace(".eml", ".txt")
    bare_letter = all(one.fault and "*match" not in one.said for one in commands)
    if "evidence" not in paper or not bare_letter or match.phase != "playing" or not match.replies:
        return commands
    found, token = read_evidence(match.papers[path]), token_in([str(to) for to in letter.message.get_all("To") or []])
    place = Place(match.id, match.turn_due, match.prev, int(paper["seat"]), int(paper["rev"]), match.replies)
    here = f"game {match.game} turn {match.turn_due}"
    if found["by"] != "dkim" or found["place"] != here or token != place.token:
        return commands
    if sha256(place.token.encode()) != found["token"]:
        return commands
    try:
        dkim_holds(letter.raw, found["name"], found["record"], moment(found["received"]), "to")
    except No:
        return commands
    text = INVISIBLE.sub("", LINE_END.sub("\n", text_of(letter.message)))
    text = "\n".join(re.sub(r"\s", " ", line) for line in text.split("\n")).split("-----BEGIN SSH SIGNATURE-----")[0]
    what, block_said, final = given(place, text)
    said = {"*match": match.id, "*turn": str(place.turn), "server": match.server, "prev": match.prev}
    said |= {"player": paper["player"], "rev": str(place.rev)}
    if what == "quoted":
        form = read_commands(block_said)[0]
        right = all(form.said.get(key) == value for key, value in said.items() if key != "rev")
        if form.fault or not form.block or not right or "rev" not in form.said:
            return commands
        block_said, final = form.block, "*final" in form.said
    if final:
        said["*final"] = "yes"
    return [Command("clear" if what == "clear" else "orders", said, block_said)] if what else commands


# 6.5 Which keys count.


def proven(
    letter: Letter, player: Player, proof: str | None, *, waited: str, turn: int | None = None
) -> Iterator[tuple[list[Command], str]]:
    """The commands of a letter, and by which key they are signed; `proof` is the hash of evidence.

    `waited`: "" at once, "waited" with the former keys of now, "unused" with all that there ever were.
    """
    match = letter.match
    if proof is not None:
        must(match.terms.get("keys") != "demanded", "keys are demanded")
        keyless = not player.keys and not player.former
        must(player.mailbox, "no mailbox")
        must(keyless or player.keyless == match.prev or waited == "unused", "a mailbox no longer counts")
        yield read_commands(evidence(letter, proof, player, turn=turn)), match.vouched[letter.path]
        return
    keys = dict(player.keys)
    if waited:
        keys |= {mark: key for mark, (key, prev) in player.former.items() if waited == "unused" or prev == match.prev}
    for key in keys.values():
        text = signed_text(letter.message, key, match)
        if text is not None:
            yield read_commands(text), key.fingerprint


# 5. The entries: the forms of their bodies.


def is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**9


def is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 200_000


def is_hash(value: Any) -> bool:
    return isinstance(value, str) and HASH.fullmatch(value) is not None


def is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(moment(value))
    except No:
        return False


def is_day(value: Any) -> bool:
    return value is None or (
        isinstance(value, str)
        and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value) is not None
        and is_time(f"{value}T00:00:00Z")
    )


def is_seat(value: Any) -> bool:
    return is_number(value) and 0 < value <= 9


def list_of(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(kind(one) for one in value)


def are_seats(value: Any) -> bool:
    return list_of(is_seat)(value) and bool(value == sorted(set(value)))


def by_seat(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, dict) and all(re.fullmatch("[1-9]", seat) and kind(one) for seat, one in value.items())
    )


def one_of(*values: object) -> Callable[[Any], bool]:
    return lambda value: any(value is one or (isinstance(one, str) and value == one) for one in values)


def is_key(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"format", "fingerprint", "public"}
        and all(map(is_text, value.values()))
    )


def is_player(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) - {"mailbox"} != {"name", "keys"}:
        return False
    return is_text(value["name"]) and list_of(is_key)(value["keys"]) and is_hash(value.get("mailbox", "0" * 64))


def is_letter(value: Any) -> bool:
    if not isinstance(value, dict) or not {"mail", "received"} <= set(value):
        return False
    more = {"level", "evidence"} if "level" in value or "evidence" in value else set()
    fits = set(value) == {"mail", "received", *more} and is_hash(value["mail"]) and is_time(value["received"])
    return fits and (not more or (value["level"] == "mailbox" and is_hash(value["evidence"])))


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def is_changes(value: Any) -> bool:
    return isinstance(value, dict) and set(value) <= {"old", "new"} and all(map(is_hash, value.values()))


def is_scores(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and abs(one) < 10**9 for one in value)


SENTENCES = {"extended", "claimed", "draw", "annul", "substitute", "substituted", "resigned"}
WORD = {"word": one_of("offer", "accept", "decline")}
BARE = {"by": one_of("operator"), "reason": is_text}
FORMS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "agreed": {
        "version": is_text,
        "server": is_text,
        "match": is_text,
        "server_key": is_hash,
        "terms": is_object,
        "rules": is_hash,
        "players": by_seat(is_player),
        "bundle": is_number,
        "letters": by_seat(is_letter),
    },
    "commitments": {"game": is_number, "options": is_object, "commitments": by_seat(is_hash), "trace": is_hash},
    "turn": {
        "game": is_number,
        "turn": is_number,
        "orders": by_seat(is_hash),
        "default": are_seats,
        "shown": by_seat(is_hash),
        "reports": is_hash,
        "trace": is_hash,
    },
    "missed": {"game": is_number, "turn": is_number, "seat": is_seat, "deadline": is_time},
    "extended": {"seat": is_seat, "to": are_seats, "seconds": is_number},
    "forfeited": {"game": is_number, "seats": are_seats},
    "claimed": {"seat": is_seat, "against": are_seats},
    "draw": {"seat": is_seat, **WORD},
    "annul": {"seat": is_seat, **WORD},
    "moved": {
        "seats": are_seats,
        "reason": one_of("outage", "delivery", "unreachable"),
        "until": is_time,
    },
    "halted": {"seat": is_seat, "reason": one_of("delivery", "unreachable")},
    "vacation": {"seat": is_seat, "from": is_day, "to": is_day},
    "keys": {
        "seat": is_seat,
        "change": one_of("added", "revoked", "replaced"),
        "how": is_text,
        "added": list_of(is_key),
        "revoked": list_of(is_text),
        "letters": is_changes,
    },
    "substitute": {"seat": is_seat, "for": is_seat, "name": is_text},
    "substituted": {"seat": is_seat, "player": is_player},
    "paused": BARE,
    "resumed": BARE,
    "stopped": BARE,
    "restored": {"generation": is_number},
    "resigned": {"seat": is_seat, "match": one_of(True, False)},
    "ended": {
        "game": is_number,
        "turns": is_number,
        "winner": is_number,
        "scores": is_scores,
        "reason": is_text,
        "trace": is_hash,
    },
    "revealed": {"game": is_number, "record": is_hash},
    "closed": {"winner": is_number, "scores": is_scores, "reason": is_text},
}


def is_verdict(value: Any) -> bool:
    if isinstance(value, str):
        return value in {"honest", "not revealed"}
    if not isinstance(value, dict) or set(value) != {"false"} or not isinstance(value["false"], dict):
        return False
    kinds = {"turn": is_number, "step": is_text, "ruling": is_text}
    return set(value["false"]) == set(kinds) and all(kind(value["false"][key]) for key, kind in kinds.items())


SEALED_FORMS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "sealed": {
        "game": is_number,
        "options": is_object,
        "commitments": by_seat(is_hash),
        "receipts": by_seat(is_hash),
        "trace": is_hash,
    },
    "step": {
        "game": is_number,
        "turn": is_number,
        "seat": is_seat,
        "step": is_text,
        "paper": is_hash,
        "path": is_text,
        "mail": is_hash,
        "received": is_time,
    },
    "turn": {"game": is_number, "turn": is_number, "shown": by_seat(is_hash), "reports": is_hash},
    "reveal": {"game": is_number, "seat": is_seat, "mail": is_hash, "received": is_time},
    "verdict": {"game": is_number, "verdicts": by_seat(is_verdict)},
    "ended": {key: kind for key, kind in FORMS["ended"].items() if key != "trace"},
}


def check_form(match: Match, entry: Entry) -> None:
    kinds, body = FORMS.get(entry.type), dict(entry.body)
    if match.terms.get("sealed") and entry.type in SEALED_FORMS:
        kinds = SEALED_FORMS[entry.type]
        kinds = {key: kind for key, kind in kinds.items() if key != "path" or "path" in body}
    must(kinds is not None, "an unknown type")
    assert kinds is not None
    kinds = dict(kinds)
    if entry.type in SENTENCES:
        kinds |= {"mail": is_hash, "received": is_time, "rev": is_number}
        if "level" in body or "evidence" in body:
            kinds |= {"level": one_of("mailbox"), "evidence": is_hash}
    if entry.type in {"commitments", "turn"} and "replies" in body and not match.terms.get("sealed"):
        kinds["replies"] = is_hash
    if entry.type == "closed" and match.phase == "setup":
        kinds["trace"] = is_hash
    must(set(body) == set(kinds), "other keys in the body")
    for key, kind in kinds.items():
        must(kind(body[key]), f"another kind of value: {key}")
    seats = range(1, len(body["players"]) + 1) if entry.type == "agreed" else match.seats
    must(all(seat in seats for seat in seats_in(entry)), "a seat that is not there")


BY_SEAT = {"letters", "players", "commitments", "orders", "shown", "receipts", "verdicts"}


def seats_in(entry: Entry) -> Iterator[int]:
    """The seats that a body names, in whatever way."""
    for key, value in entry.body.items():
        if key in {"seat", "for"}:
            yield value
        elif key in {"seats", "to", "against", "default"} and isinstance(value, list):
            yield from value
        elif isinstance(value, dict) and entry.type in {"agreed", "commitments", "turn", "sealed", "verdict"}:
            yield from (int(seat) for seat in value if key in BY_SEAT)


# 5. The state of a match.


@dataclass
class Clock:
    since: datetime
    time: timedelta


@dataclass
class Match:
    """What a verifier keeps; `papers` are those of the bundle, `named` those that some entry named."""

    papers: dict[str, bytes]
    named: set[str] = field(default_factory=set)
    open: list[str] = field(default_factory=list)
    given_up_loses: bool = False
    """Since version 3, of sealed matches."""
    server: str = ""
    id: str = ""
    terms: dict[str, Any] = field(default_factory=dict)
    rules_hash: str = ""
    players: dict[int, Player] = field(default_factory=dict)
    phase: str = ""
    game: int = 0
    options: Any = None
    setups: dict[int, Any] = field(default_factory=dict)
    position: Any = None
    played: list[dict[int, str]] = field(default_factory=list)
    left: list[tuple[int, int]] = field(default_factory=list)
    """Who resigned while others played on: the turn that was due, and the seat."""
    head: str = ""
    prev: str = ""
    replies: str = ""
    """The secret of the reply addresses for the turn that is due."""
    printed: list[str] = field(default_factory=list)
    said: dict[tuple[str, int], int] = field(default_factory=dict)
    missed: dict[int, datetime] = field(default_factory=dict)
    silent: Counter[int] = field(default_factory=Counter)
    unreachable: dict[int, datetime] = field(default_factory=dict)
    offers: dict[str, set[int]] = field(default_factory=dict)
    nominated: dict[int, tuple[str, set[int]]] = field(default_factory=dict)
    paused: bool = False
    pauses: list[tuple[datetime, datetime]] = field(default_factory=list)
    began: datetime | None = None
    defaults: list[tuple[int, int, int, datetime]] = field(default_factory=list)
    clocks: dict[int, Clock] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    previous: str = ""
    used: set[tuple[Any, ...]] = field(default_factory=set)
    tokens: dict[str, str] = field(default_factory=dict)
    vouched: dict[str, str] = field(default_factory=dict)
    due: list[tuple[str, Any]] = field(default_factory=list)
    """What must follow: the type of the entry, and what it says."""
    commitments: dict[int, str] = field(default_factory=dict)
    """Of a sealed game (11), and so the next four."""
    told: list[Told] = field(default_factory=list)
    owing: dict[int, list[str]] = field(default_factory=dict)
    """By seat that owes something the heads that were printed since."""
    ending: tuple[Result, tuple[int, str] | None] | None = None
    reveals: dict[int, tuple[str, dict[int, str]]] = field(default_factory=dict)
    teller: int = 0
    """Whose letter is being entered."""
    mail: tuple[str, str] = ("", "")

    @property
    def seats(self) -> list[int]:
        return sorted(self.players)

    @property
    def rules(self) -> Any:
        return rules(self.terms["game"])

    @property
    def turn_due(self) -> int:
        return self.position.turn if self.phase == "playing" else 0

    @property
    def is_sealed(self) -> bool:
        return bool(self.terms.get("sealed"))

    @property
    def owed(self) -> Any:
        found = sealed_rules(self.terms["game"])
        assert found is not None
        return found

    @property
    def asked(self) -> list[int]:
        return [seat for seat, orders in self.position.due.items() if orders is None]

    def player(self, seat: int) -> Player:
        must(seat in self.players, "no such seat")
        return self.players[seat]

    def paper(self, path: str, digest: str | None = None) -> bytes:
        self.named.add(path)
        if path not in self.papers:
            raise No(f"{path} is missing")
        must(digest is None or sha256(self.papers[path]) == digest, f"{path} is another")
        return self.papers[path]

    def once(self, *what: Any) -> None:
        must(what not in self.used, "used twice")
        self.used.add(what)


# 5.1 and 7. The agreement.

TERMS = {
    "bank": is_number,
    "edition": is_number,
    "game": is_text,
    "grace": is_number,
    "kind": one_of("single", "scored", "continued"),
    "miss": one_of("wait", "pass", "forfeit", "default"),
    "options": is_object,
    "pace": is_number,
    "players": list_of(is_text),
    "privacy": one_of("public", "private"),
    "settle": is_number,
    "victory": one_of("sum of scores", "last game"),
    "weekends": one_of("count", "free"),
    "games": lambda value: value is None or is_number(value),
    "target": lambda value: value is None or is_number(value),
    "keys": one_of("demanded"),
    "sealed": one_of(True),
    "unreachable": one_of("loses"),
}
RANGES = {"settle": (0, 604800), "grace": (0, 7776000), "bank": (0, 31622400)}


def check_terms(terms: Mapping[str, Any]) -> None:
    must(set(terms) | {"keys", "sealed", "unreachable"} == set(TERMS), "other keys in the terms")
    for key, value in terms.items():
        must(TERMS[key](value), f"terms: {key}")
    must(terms["edition"] in rules(terms["game"]).editions, "an unknown edition")
    for key, (least, most) in RANGES.items():
        must(least <= terms[key] <= most, f"terms: {key}")
    must(terms["pace"] == 0 or 3600 <= terms["pace"] <= 7776000, "terms: pace")
    for key in ("games", "target"):
        must(terms[key] is None or 1 <= terms[key] <= 9999, f"terms: {key}")
    if terms["kind"] == "single":
        must(terms["games"] == 1 and terms["target"] is None, "a single match")
    must(terms["miss"] != "pass" or terms["game"] == "spaceships", "nobody can pass")
    must(len(set(terms["players"])) == len(terms["players"]), "a player twice")
    made = rules(terms["game"]).options(terms["options"], len(terms["players"]))
    must(dict(made.changed) == terms["options"], "options that are the default")


def read_player(match: Match, seat: int, said: Mapping[str, Any], seq: int) -> Player:
    keys = {}
    for one in said["keys"]:
        must(fingerprint(one["format"], one["public"]) == one["fingerprint"], "a key of another fingerprint")
        keys[one["fingerprint"]] = Key(one["format"], one["fingerprint"], one["public"])
    must(len(keys) == len(said["keys"]), "a key twice")
    player = Player(said["name"], keys, said.get("mailbox"))
    must(keys or player.mailbox, "neither key nor mailbox")
    if player.mailbox:
        path = f"evidence/mailbox-{seq}-seat-{seat}.txt"
        found = read_mailbox(match.paper(path, player.mailbox))
        right = {"server": match.server, "match": match.id, "seat": str(seat), "player": player.name}
        must(all(found[key] == value for key, value in right.items()), "a mailbox of something else")
        player.address = found["address"]
    return player


def agreed(match: Match, entry: Entry) -> None:
    body = entry.body
    match.server, match.id, match.terms = body["server"], body["match"], body["terms"]
    must(re.fullmatch("m[1-9][0-9]{0,8}", match.id), "no match")
    check_terms(match.terms)
    document = canonical({"match": match.id, "server": match.server, "terms": match.terms})
    match.rules_hash = sha256(f"pbem terms 1\n{document}".encode())
    must(body["rules"] == match.rules_hash, "another hash of the terms")
    seats = [str(seat) for seat in range(1, len(match.terms["players"]) + 1)]
    must(list(body["players"]) == seats, "other seats")
    for seat in seats:
        match.players[int(seat)] = read_player(match, int(seat), body["players"][seat], 1)
    must([player.name for player in match.players.values()] == match.terms["players"], "other names")
    must(match.is_sealed or not match.given_up_loses, "a version of sealed matches")
    newest = match.given_up_loses or not match.is_sealed
    must(newest or "unreachable" not in match.terms, "a version before such terms")
    must(list(body["letters"]) == seats, "letters of other seats")
    for seat in seats:
        check_agreement(match, entry, int(seat), body["letters"][seat])
    match.totals = [0] * len(seats)
    match.head = entry.head
    ask_setups(match, entry, Result(0, tuple(match.totals)))


def check_agreement(match: Match, entry: Entry, seat: int, said: Mapping[str, str]) -> None:
    letter = letter_named(match, entry, f"letters/agreed-seat-{seat}.eml", said["mail"], said["received"])
    player = match.players[seat]
    match.once(said["mail"], "agreed", seat)
    for commands, _ in proven(letter, player, said.get("evidence"), waited=""):
        for command in commands:
            given = {"server": match.server, "player": player.name}
            right = all(command.said.get(key, value) == value for key, value in given.items())
            if right and not command.fault and agrees(match, seat, command):
                return
    raise No("no agreement to these terms")


def agrees(match: Match, seat: int, command: Command) -> bool:
    if command.name == "accept":
        return (command.said.get("*match"), command.said.get("*hash")) == (match.id, match.rules_hash)
    return command.name == "new" and seat == 1 and proposes(match, command)


def proposes(match: Match, command: Command) -> bool:
    names = command.said.get("*with", "").split()
    others_ = match.terms["players"][1:]
    fits = all(name == other or "@" in name for name, other in zip(names, others_, strict=False))
    if command.said.get("*name") != match.terms["game"] or len(names) > len(others_) or not fits:
        return False
    seats = command.options.get("seats", str(min(rules(match.terms["game"]).seats)))
    if not seats.isdecimal() or len(match.terms["players"]) != max(len(names) + 1, int(seats)):
        return False
    made = terms_of(command.options, match.terms)
    return made is not None and made == {
        key: one for key, one in match.terms.items() if key not in {"game", "players"}
    }


GENERAL = {*TERMS, "rules"} - {"options"}
"""The lines whose words count in any letter case."""


def terms_of(lines: Mapping[str, str], terms: Mapping[str, Any]) -> dict[str, Any] | None:
    made: dict[str, Any] = {
        "kind": "single",
        "games": None,
        "target": None,
        "victory": "sum of scores",
        "settle": terms["settle"],
        "pace": 604800,
        "grace": 259200,
        "miss": "wait",
        "weekends": "count",
        "bank": 0,
        "privacy": "public",
        "edition": terms["edition"],
    }
    raw = {}
    lines = {name: " ".join(value.lower().split()) if name in GENERAL else value for name, value in lines.items()}
    for name, value in lines.items():
        if name in {"settle", "pace", "grace", "bank"}:
            made[name] = 0 if (name, value) == ("pace", "none") else time_of(value)
        elif name in {"games", "target"}:
            made[name] = int(value) if re.fullmatch("[1-9][0-9]{0,3}", value) else "?"
        elif name == "rules":
            made["edition"] = int(value) if value.isdecimal() else "?"
        elif name == "keys":
            made |= {"keys": "demanded"} if value == "demanded" else {}
        elif name == "sealed":
            made |= {"sealed": True} if value == "yes" else {}
        elif name == "unreachable":
            made |= {"unreachable": "loses"} if value == "loses" else {}
        elif name in made:
            made[name] = value
        elif name != "seats":
            raw[name] = value
    if "sealed" in made:
        must(lines.get("keys", "demanded") == "demanded" and lines.get("settle", "0") == "0", "no sealed match")
        must(made["miss"] in {"wait", "forfeit"}, "no sealed match")
        made |= {"keys": "demanded", "settle": 0}
    if "unreachable" not in lines and "unreachable" in terms and made["pace"]:
        made["unreachable"] = "loses"
    must("unreachable" not in made or made["pace"], "no deadlines")
    if made["kind"] == "single":
        made["games"] = 1
    made["options"] = game_options(raw, terms)
    return made


def time_of(text: str) -> int | None:
    found = re.fullmatch(r"([0-9]{1,6}) ?([smhd])|0", text)
    if not found:
        return None
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]] if found[1] else 0


def game_options(lines: Mapping[str, str], terms: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options that these lines give: each value is TOML, or text where only that is accepted."""
    made: dict[str, Any] = {}
    game, seats = rules(terms["game"]), len(terms["players"])
    for name, value in lines.items():
        made[name] = value
        with contextlib.suppress(ValueError):
            made[name] = tomllib.loads(f"v = {value}")["v"]
        for one in (made[name], value):
            with contextlib.suppress(Refused):
                game.options({name: one}, seats)
                made[name] = one
                break
    try:
        return dict(game.options(made, seats).changed)
    except Refused:
        return None


# 5.3 Asking.


def ask_setups(match: Match, entry: Entry, last: Result) -> None:
    match.game += 1
    match.phase = "setup"
    first = match.rules.options(match.terms["options"], len(match.seats))
    carried = match.terms["kind"] == "continued" and match.game > 1
    match.options = match.rules.carry(first, last) if carried else first
    match.prev, match.printed = entry.head, []
    match.setups, match.position, match.played, match.left = {}, None, [], []
    match.commitments, match.told, match.owing, match.ending, match.reveals = {}, [], {}, None, {}
    match.said.clear()
    match.missed.clear()
    match.offers.clear()
    start_clocks(match, entry, match.seats)


def ask_orders(match: Match, entry: Entry) -> None:
    match.missed.clear()
    match.offers.clear()
    start_clocks(match, entry, match.asked)
    if not match.asked:
        match.due.append(("turn", None))


def start_clocks(match: Match, entry: Entry, seats: Sequence[int]) -> None:
    pace = match.terms["pace"]
    match.clocks = {seat: Clock(moment(entry.time), seconds(pace)) for seat in seats if pace}


# 5.2 commitments.


def commitments(match: Match, entry: Entry) -> None:
    body = entry.body
    must(not match.is_sealed, "a sealed match")
    must(match.phase == "setup" and not match.paused and body["game"] == match.game, "no setups are asked for")
    must(dict(match.options.changed) == body["options"], "other options")
    must(list(body["commitments"]) == [str(seat) for seat in match.seats], "other seats")
    aside = trace(match, entry, f"game-{match.game}-setup", 0)
    for seat in match.seats:
        match.setups[seat] = opening(match, entry, seat, body["commitments"][str(seat)], aside)
    match.position = match.rules.begin(match.options, [match.setups[seat] for seat in match.seats])
    match.phase, match.prev, match.printed = "playing", entry.head, [entry.head]
    match.replies = read_replies(match, entry)
    match.said.clear()
    match.silent.clear()
    ask_orders(match, entry)


def opening(match: Match, entry: Entry, seat: int, commitment: str, aside: Sequence[dict[str, str]]) -> Any:
    paper = read_opening(match.paper(f"openings/game-{match.game}-seat-{seat}.txt", commitment))
    player = match.players[seat]
    right = {"server": match.server, "match": match.id, "game": str(match.game), "seat": str(seat)}
    right |= {"player": player.name, "rules": match.rules_hash}
    must(all(paper[key] == value for key, value in right.items()), "an opening of something else")
    path = f"letters/game-{match.game}-setup-seat-{seat}.eml"
    letter = letter_named(match, entry, path, paper["mail"], paper["received"])
    rev = int(paper["rev"])
    must(all(int(one["rev"]) < rev for one in aside if one["seat"] == str(seat)), "set aside later")
    match.once(paper["mail"], "setup", seat, match.game, 0)
    for commands, _ in proven(letter, player, paper.get("evidence"), waited="waited", turn=0):
        want = Want(match, player.name, [match.prev], "evidence" in paper)
        due = {match.game, 0} if want.mailbox else {match.game}
        fits = [one for one in commands if one.name == "setup" and want.fits(one, rev) and game_of(one) in due]
        withdrawn = any(clears(match, want, one, "setup") for one in commands)
        must(not withdrawn, "a setup and its withdrawal")
        for command in fits:
            try:
                made = match.rules.setup(match.options, seat, command.block)
            except Refused:
                continue
            if made.text == paper["setup"]:
                return made
    raise No(f"{path} holds no such setup")


def game_of(command: Command) -> int:
    return int(command.said.get("*game", "0"))


def clears(match: Match, want: Want, command: Command, what: str, turn: int = 0) -> bool:
    """Whether this is `clear` for a setup, a turn, or default orders."""
    if command.name != "clear" or not want.fits(command, None):
        return False
    said = command.said
    game, about = said.get("game"), said.get("*turn", said.get("turn"))
    if what == "setup":
        return about is None and game in {str(match.game), *([None] if want.mailbox else [])}
    if about is None and want.mailbox:  # it may leave out the turn, which is that of the moment
        about = str(turn)
    return game in {None, str(match.game)} and about == ("default" if what == "default" else str(turn))


# 4.4 What was set aside.


def trace(match: Match, entry: Entry, name: str, turn: int) -> list[dict[str, str]]:
    head, listed = read_trace(match.paper(f"traces/{name}.txt", entry.body["trace"]))
    right = {"server": match.server, "match": match.id, "game": str(match.game), "turn": str(turn)}
    must(all(head[key] == value for key, value in right.items()), "a trace of something else")
    return [set_aside(match, entry, (name, turn), path, digest) for path, digest in listed.items()]


def set_aside(match: Match, entry: Entry, of: tuple[str, int], path: str, digest: str) -> dict[str, str]:
    name, turn = of
    withdrawal = path.startswith("withdrawals/")
    must(withdrawal or path.startswith("receipts/"), "a strange path")
    paper = read_receipt(match.paper(path, digest), withdrawal=withdrawal)
    default = "orders" in paper
    what = "setup" if name.endswith("-setup") or match.phase == "setup" else "default" if default else "turn"
    right = {"server": match.server, "match": match.id, "game": str(match.game), "turn": str(0 if default else turn)}
    right |= {"level": "mailbox" if "evidence" in paper else "key"}
    must(all(paper[key] == value for key, value in right.items()), "a paper of something else")
    must(not default or name.endswith("-end"), "default orders in another trace")
    must(what != "setup" or withdrawal, "an unused setup")
    seat = int(paper["seat"])
    player = match.player(seat)
    must(paper["player"] == player.name, "somebody else")
    for game, other, rev, over in match.defaults:
        late = (game, other) != (match.game, seat) or rev >= int(paper["rev"]) or moment(paper["received"]) >= over
        must(not (withdrawal and default) or late, "played, although it was withdrawn")
    kind = "withdrawn" if withdrawal else "unused"
    said = f"turn-{turn}" if what == "turn" else what
    stem = f"game-{match.game}-{said}-{kind}-seat-{seat}-rev-{paper['rev']}"
    must(path.rpartition("/")[2] == f"{stem}.txt", "another name")
    letter = letter_named(match, entry, f"letters/{stem}.eml", paper["mail"], paper["received"])
    if withdrawal:
        match.once(paper["mail"], "withdrawal", seat, match.game, paper["turn"], paper["rev"], default)
    prove_set_aside(match, letter, player, paper, what)
    return paper


def prove_set_aside(match: Match, letter: Letter, player: Player, paper: dict[str, str], what: str) -> None:
    withdrawal = "withdrawn" in letter.path
    seat, turn = int(paper["seat"]), int(paper["turn"])
    prevs = match.printed if what != "setup" else [match.prev]
    waited = "waited" if withdrawal else "unused"
    for read, key in proven(letter, player, paper.get("evidence"), waited=waited, turn=turn):
        if key != paper["key"]:
            continue
        commands = in_one_letter(match, letter, paper, read)
        want = Want(match, player.name, prevs, "evidence" in paper)
        if not withdrawal:
            must(not any(clears(match, want, one, what, turn) for one in commands), "orders and their withdrawal")
        for command in commands:
            if not want.fits(command, int(paper["rev"])):
                continue
            if withdrawal and clears(match, want, command, what, turn):
                return
            ordered = command.name == "orders" and command.said.get("*turn") == (
                "default" if what == "default" else paper["turn"]
            )
            if not withdrawal and ordered and unplayable(match, player, paper, seat, command):
                return
    raise No(f"{letter.path} does not prove it")


def unplayable(match: Match, player: Player, paper: dict[str, str], seat: int, command: Command) -> bool:
    former = player.former.get(paper["key"])
    if "evidence" in paper:
        counts = (not player.keys and not player.former) or player.keyless == match.prev
    else:
        counts = paper["key"] in player.keys or (former is not None and former[1] == match.prev)
    if not counts or seat not in match.asked:
        return True
    try:
        match.rules.order(match.position, seat, command.block)
    except Refused:
        return True
    return False


# 5.4 turn.


def turn(match: Match, entry: Entry) -> None:
    body, state = entry.body, match.position
    must(match.phase == "playing" and not match.paused and not match.is_sealed, "no orders are asked for")
    must((body["game"], body["turn"]) == (match.game, state.turn), "another turn")
    default = body["default"]
    must(default == sorted(set(default)), "default")
    aside = trace(match, entry, f"game-{match.game}-turn-{state.turn}", state.turn)
    must(all(int(seat) in match.asked for seat in body["orders"]), "orders of a seat that is not asked")
    must({str(seat) for seat in default} <= set(body["orders"]), "default orders without a receipt")
    orders = {seat: forced for seat, forced in state.due.items() if forced is not None}
    for seat in match.asked:
        mine = [one for one in aside if one["seat"] == str(seat)]
        if str(seat) in body["orders"]:
            must(seat not in default or (seat in match.missed and match.terms["miss"] == "default"), "not missed")
            orders[seat] = receipt(match, entry, seat, mine, default=seat in default)
        else:
            passes = seat in match.missed and match.terms["miss"] == "pass" and match.silent[seat] < 2
            must(passes, "orders are missing")
            orders[seat] = match.rules.order(state, seat, "")
    after, reports = match.rules.turn(state, orders)
    check_reports(match, entry, reports)
    match.played.append({seat: one.text for seat, one in orders.items()})
    for seat in map(int, body["orders"]):
        if seat not in default:
            match.silent[seat] = 0
    match.position, match.prev = after, entry.head
    match.replies = read_replies(match, entry)
    match.printed.append(entry.head)
    match.said.clear()
    if after.result:
        end_game(match, after.result)
    else:
        ask_orders(match, entry)


def receipt(match: Match, entry: Entry, seat: int, aside: Sequence[dict[str, str]], *, default: bool) -> Any:
    number = match.position.turn
    stem = f"game-{match.game}-turn-{number}-seat-{seat}"
    paper = read_receipt(match.paper(f"receipts/{stem}.txt", entry.body["orders"][str(seat)]))
    player = match.players[seat]
    right = {"server": match.server, "match": match.id, "game": str(match.game), "turn": str(number)}
    right |= {"seat": str(seat), "player": player.name}
    right |= {"level": "mailbox" if "evidence" in paper else "key"}
    must(all(paper[key] == value for key, value in right.items()), "a receipt of something else")
    must(("orders" in paper) == default, "orders by default or not")
    must(default or all(int(one["rev"]) < int(paper["rev"]) for one in aside), "set aside later")
    if seat in match.missed and not default:
        over = match.missed[seat]
        late = all(moment(one["received"]) > over for one in aside)
        must(not late or moment(paper["received"]) >= over, "these orders came in time")
    if default and seat in match.missed:
        match.defaults.append((match.game, seat, int(paper["rev"]), match.missed[seat]))
    letter = letter_named(match, entry, f"letters/{stem}.eml", paper["mail"], paper["received"])
    match.once(paper["mail"], "orders", seat, match.game, number)
    for read, key in proven(letter, player, paper.get("evidence"), waited="waited", turn=number):
        if key == paper["key"]:
            commands = in_one_letter(match, letter, paper, read)
            want = Want(match, player.name, match.printed, "evidence" in paper)
            found = ordered(match, want, commands, seat, int(paper["rev"]), default=default)
            if found is not None:
                return found
    raise No(f"letters/{stem}.eml holds no such orders")


def untouched(command: Command) -> bool:
    return not command.block and "*final" not in command.said


def ordered(match: Match, want: Want, commands: Sequence[Command], seat: int, rev: int, *, default: bool) -> Any:
    number = match.position.turn
    said = "default" if default else str(number)
    withdrawn = any(clears(match, want, one, "default" if default else "turn", number) for one in commands)
    must(not withdrawn, "orders and their withdrawal")
    numbered = [one for one in commands if one.said.get("rev") == str(rev)]
    for command in sorted([*numbered, *commands], key=untouched):
        if command.name == "orders" and command.said.get("*turn") == said and want.fits(command, rev):
            try:
                return match.rules.order(match.position, seat, command.block)
            except Refused:
                continue
    return None


def check_reports(match: Match, entry: Entry, reports: Sequence[Body], turn: int | None = None) -> None:
    body = entry.body
    must(list(body["shown"]) == [str(seat) for seat in match.seats], "reports of other seats")
    turn = match.position.turn if turn is None else turn
    stem = f"reports/game-{match.game}-turn-{turn}"
    for seat in (None, *match.seats):
        path = f"{stem}.json" if seat is None else f"{stem}-seat-{seat}.json"
        digest = body["reports"] if seat is None else body["shown"][str(seat)]
        paper = match.paper(path, digest)
        must(paper.isascii(), "not ASCII")
        found = read_json(paper.decode())
        must(isinstance(found, dict) and isinstance(found.get("salt"), str), "no salt")
        must(SALT.fullmatch(found["salt"]), "no salt of 64 digits")
        all_of_it = seat is None or match.is_sealed
        shown = reports if all_of_it else [match.rules.show(one, seat) for one in reports]
        made = {"pbem": "reports 1", "server": match.server, "match": match.id, "game": match.game, "seat": seat}
        made |= {
            "turn": turn,
            "salt": found["salt"],
            "reports": [one for one in shown if one is not None],
        }
        must(canonical(made).encode() == paper, f"{path} does not come out")


# 5.5 to 5.8. Time.

SLACK = timedelta(hours=3)


def with_pauses(match: Match, start: datetime, time: timedelta) -> datetime:
    """When the time is over, if pauses do not count."""
    for began, ended in match.pauses:
        if began <= start < ended:
            start = ended
        elif start < began < start + time:
            start, time = ended, time - (began - start)
    return start + time


def missed(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, deadline = body["seat"], moment(body["deadline"])
    must((body["game"], body["turn"]) == (match.game, match.turn_due), "another turn")
    must(seat in match.clocks and seat not in match.missed, "a seat that is not asked")
    must(not match.paused, "missed in a pause")
    must(seat not in match.reveals, "missed, although it had revealed")
    clock, over = match.clocks[seat], with_pauses(match, deadline, seconds(match.terms["grace"]))
    must(deadline >= with_pauses(match, clock.since, clock.time) - SLACK, "a deadline too early")
    must(moment(entry.time) >= over - SLACK, "missed before the end of grace")
    match.silent[seat] += 1
    if match.phase == "setup" and match.terms["miss"] == "pass" and match.silent[seat] == 1:
        match.clocks[seat] = Clock(moment(entry.time), seconds(match.terms["pace"]))
    else:
        match.missed[seat] = min(deadline + seconds(match.terms["grace"]), moment(entry.time))


def extended(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, to = body["seat"], body["to"]
    must(to and to == sorted(set(match.clocks) - {seat}), "other seats")
    must(3600 <= body["seconds"] <= 2592000, "too much or too little")
    sentence(match, entry, "extend", seconds=str(body["seconds"]))
    for other in to:
        clock = match.clocks[other]
        if other in match.missed:
            match.clocks[other] = Clock(moment(entry.time), seconds(body["seconds"]))
            del match.missed[other]
            match.silent[other] -= 1
        else:
            clock.time += seconds(body["seconds"])


def forfeited(match: Match, entry: Entry) -> None:
    body = entry.body
    must(body["game"] == match.game and not match.paused, "another game, or a pause")
    must(match.ending is None, "a game that is over")
    must(body["seats"] and body["seats"] == sorted(set(body["seats"])), "other seats")
    miss = match.terms["miss"]
    for seat in body["seats"]:
        twice = match.silent[seat] >= 2 and miss not in {"wait", "default"}
        must(seat in match.missed and (miss == "forfeit" or twice), "a seat that did not lose")
    lose(match, body["seats"])


def lose(match: Match, losers: Sequence[int]) -> None:
    playing = match.position.remaining if match.phase == "playing" else match.seats
    left = [seat for seat in playing if seat not in losers]
    winner = left[0] if len(left) == 1 else 0
    reason = "forfeit" if left else "abandoned"
    if match.phase == "playing":
        end_game(match, Result(winner, match.position.scores, reason))
    else:
        match.due.append(("closed", (winner, reason)))


def claimed(match: Match, entry: Entry) -> None:
    body = entry.body
    against = body["against"]
    must(against and against == sorted(set(against)) and body["seat"] not in against, "other seats")
    must(set(against) <= set(match.seats), "no such seat")
    sentence(match, entry, "claim")
    silence = match.terms["miss"] in {"wait", "default"} and match.ending is None
    if silence and all(seat in match.missed for seat in against):
        lose(match, against)
    else:
        must(all(lost(match, entry, seat) for seat in against), "they are not away for so long")
        abandon(match, "abandoned")


def lost(match: Match, entry: Entry, seat: int) -> bool:
    pace = match.terms["pace"]
    least = max(pace + match.terms["grace"], 604800) if pace else 2592000
    return seat in match.unreachable and moment(entry.time) - match.unreachable[seat] >= seconds(least)


def abandon(match: Match, reason: str) -> None:
    if match.phase == "playing":
        end_game(match, Result(0, match.position.scores, "abandoned"), (0, reason))
    else:
        match.due.append(("closed", (0, reason)))


# Sentences (5.6 to 5.15).


def sentence(
    match: Match, entry: Entry, what: str, player: Player | None = None, *, game: str = "", **said: str | None
) -> Command:
    body = entry.body
    seat = body["seat"]
    player = player or match.player(seat)
    must(seat in match.players, "no such seat")
    path = f"letters/{what}-{entry.seq}-seat-{seat}.eml"
    letter = letter_named(match, entry, path, body["mail"], body["received"])
    want = Want(match, player.name, [match.prev], "level" in body)
    name = "substitute" if what == "substituted" else what
    match.once(body["mail"], what, body.get("word"), seat, match.game, match.turn_due, body["rev"])
    for commands, _ in proven(letter, player, body.get("evidence"), waited=""):
        for command in commands:
            fits = command.name == name and want.fits(command, body["rev"]) and here(match, command, body)
            fits = fits and game in {"", command.said.get("*game", command.said.get("game"))}
            if fits and all(command.said.get(key) == value for key, value in said.items()):
                check_revision(match, what, seat, body)
                return command
    raise No(f"{path} holds no such sentence")


def here(match: Match, command: Command, body: Body) -> bool:
    """Whether a sentence says the turn, or the game, that is due."""
    place, number = ("turn", match.turn_due) if match.phase == "playing" else ("game", match.game)
    given = [command.said[key] for key in (place, f"*{place}") if command.said.get(key, "match") != "match"]
    other = "game" if place == "turn" else "turn"
    right = {"game": match.game, "turn": match.turn_due}[other]
    if command.said.get(other, str(right)) != str(right):
        return False
    return all(one == str(number) for one in given) and (bool(given) or "level" in body)


def check_revision(match: Match, what: str, seat: int, body: Body) -> None:
    must(body["rev"] > match.said.get((what, seat), 0), "not obeyed twice")
    match.said[what, seat] = body["rev"]


def offered(match: Match, entry: Entry) -> None:
    kind, seat, word = entry.type, entry.body["seat"], entry.body["word"]
    who = match.seats
    if kind == "draw":
        must(match.phase == "playing", "no game is played")
        who = list(match.position.remaining)
    must(seat in who, "a seat that is out")
    sentence(match, entry, kind, word=word)
    standing = match.offers.get(kind, set())
    must(word == "offer" or standing, "no offer stands")
    must(word == "decline" or seat not in standing, "said already")
    match.offers[kind] = set() if word == "decline" else standing | {seat}
    if set(who) <= match.offers[kind]:
        if kind == "draw":
            must(match.ending is None, "a game that is over")
            end_game(match, Result(0, match.position.scores, "agreement"))
        else:
            abandon(match, "annulled")


# 5.10 The server's bare word.


def told(match: Match, entry: Entry) -> None:
    body = entry.body
    if body.get("reason") == "unreachable":
        must("unreachable" not in match.terms, "no clock stands for that")
    if entry.type == "halted" and body.get("reason") == "unreachable":
        match.unreachable[body["seat"]] = moment(entry.time)
    if entry.type == "moved" and body.get("reason") == "unreachable":
        for seat in body["seats"]:
            match.unreachable.pop(seat, None)
    if entry.type == "halted":
        match.player(body["seat"])


# 5.11 and 4.9. keys.

CHANGES = {
    ("added", "signed"): ("old", "new"),
    ("revoked", "signed"): ("old",),
    ("replaced", "recovery code"): ("new",),
    ("replaced", "mailbox, after notice and delay"): ("new",),
}
PROOFS = {"signed": "old-key", "recovery code": "recovery-code", "mailbox, after notice and delay": "mailbox"}


def keys(match: Match, entry: Entry) -> None:
    body = entry.body
    player, how = match.player(body["seat"]), (body["change"], body["how"])
    must(how in CHANGES and set(body["letters"]) == set(CHANGES[how]), "no such change")
    must(len(body["added"]) == ("new" in body["letters"]), "not one added key")
    revoked = body["revoked"]
    if body["change"] == "added":
        must(not revoked, "an added key revokes none")
    elif body["change"] == "replaced":
        must(revoked == sorted(player.keys), "not all that counted")
    else:
        must(len(revoked) == 1 and revoked[0] in player.keys and len(player.keys) > 1, "not one of several")
    added = read_added(player, body)
    for which, digest in body["letters"].items():
        path = f"letters/keys-{entry.seq}-seat-{body['seat']}-{which}.eml"
        letter = letter_named(match, entry, path, digest, None)
        match.once(digest, "keys", which, body["seat"], body["change"])
        if which == "old":
            old_says(letter, player, body)
        else:
            assert added
            new_says(letter, player, added, body)
    keyless = not player.keys and not player.former
    player.former |= {mark: (player.keys.pop(mark), match.prev) for mark in revoked}
    if added:
        player.keys[added.fingerprint] = added
        player.keyless = match.prev if keyless else player.keyless


def read_added(player: Player, body: Body) -> Key | None:
    for one in body["added"]:
        must(fingerprint(one["format"], one["public"]) == one["fingerprint"], "a key of another fingerprint")
        must(one["fingerprint"] not in {*player.keys, *player.former}, "a key that was there")
        return Key(one["format"], one["fingerprint"], one["public"])
    return None


def given_right(match: Match, player: Player, command: Command) -> bool:
    said = command.said
    return said.get("server", match.server) == match.server and said.get("player", player.name) == player.name


def old_says(letter: Letter, player: Player, body: Body) -> None:
    match = letter.match
    for commands, _ in proven(letter, player, None, waited=""):
        for command in commands:
            if command.fault or not given_right(match, player, command):
                continue
            if command.name == "key add" and body["change"] == "added" and brings(letter, command, body["added"][0]):
                return
            revokes = command.name == "key revoke" and body["change"] == "revoked"
            placed = {"server", "player"} <= set(command.said)
            if revokes and placed and named_keys(player, command) == body["revoked"]:
                return
    raise No(f"{letter.path} does not say so")


def brings(letter: Letter, command: Command, added: Mapping[str, str]) -> bool:
    if public := command.said.get("*key"):
        return form_of(public) == added["format"] and fingerprint(added["format"], public) == added["fingerprint"]
    if mark := command.said.get("*fingerprint"):
        return plain_mark(mark) == plain_mark(added["fingerprint"])
    return any(added["public"].strip() in part.text for part in parts_of(letter.message) if part.name)


def plain_mark(mark: str) -> str:
    return re.sub(r"^sha256:|:|=$", "", mark.lower())


def named_keys(player: Player, command: Command) -> list[str]:
    mark = plain_mark(command.said.get("*fingerprint", ""))
    return [one for one in player.keys if len(mark) >= 6 and plain_mark(one).startswith(mark)]


def new_says(letter: Letter, player: Player, added: Key, body: Body) -> None:
    text = signed_text(letter.message, added, letter.match)
    for command in read_commands(text or ""):
        right = command.name == "confirm" and not command.fault and given_right(letter.match, player, command)
        named = command.said.get("*name") == player.name and command.said.get("fingerprint") == added.fingerprint
        if right and named and command.said.get("proof") == PROOFS[body["how"]]:
            return
    raise No(f"{letter.path} does not say so")


# 5.12, 5.13 substitutes.


def gone(match: Match, entry: Entry, seat: int) -> bool:
    return seat in match.missed or match.silent[seat] >= 1 or lost(match, entry, seat)


def substitute(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, leaver, name = body["seat"], body["for"], body["name"]
    must(not match.is_sealed, "a sealed match")
    player = match.player(leaver)
    sentence(match, entry, "substitute", **{"*name": name, "*leaver": player.name, "*hash": None})
    before, who = match.nominated.get(leaver, ("", set()))
    if name == "none":
        must(leaver in match.nominated, "nobody is nominated")
        del match.nominated[leaver]
        return
    who = who if before == name else set()
    must(name not in {one.name for one in match.players.values()}, "a player of this match")
    must(all(one[0] != name for other, one in match.nominated.items() if other != leaver), "nominated elsewhere")
    must(seat == leaver or leaver in who or gone(match, entry, leaver), f"{player.name} plays on")
    must(seat not in who, "said already")
    match.nominated[leaver] = (name, who | {seat})


def substituted(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, name = body["seat"], body["player"]["name"]
    leaver = match.player(seat)
    nominated, who = match.nominated.get(seat, ("", set()))
    must(nominated == name, f"{name} was not asked")
    must(all(one in who or gone(match, entry, one) for one in match.seats), "not all said so")
    player = read_player(match, seat, body["player"], entry.seq)
    match.said.pop(("substituted", seat), None)
    said = {"*name": name, "*leaver": leaver.name, "*hash": match.rules_hash}
    sentence(match, entry, "substituted", player, **said)
    match.players[seat] = player
    for kept in (match.missed, match.unreachable, match.nominated, match.silent):
        kept.pop(seat, None)
    match.offers = {kind: offers - {seat} for kind, offers in match.offers.items()}
    match.said = {key: rev for key, rev in match.said.items() if key[1] != seat}
    if seat in match.clocks:
        match.clocks[seat] = Clock(moment(entry.time), seconds(match.terms["pace"]))


# 5.14, 5.15.


def operator(match: Match, entry: Entry) -> None:
    if entry.type == "stopped":
        abandon(match, f"operator: {entry.body['reason']}")
        return
    must(entry.type == "restored" or match.paused == (entry.type == "resumed"), "paused or not")
    match.paused = entry.type != "resumed"
    if match.paused:
        match.began = match.began or moment(entry.time)
    elif match.began:
        match.pauses.append((match.began, moment(entry.time)))
        match.began = None


def resigned(match: Match, entry: Entry) -> None:
    seat, whole = entry.body["seat"], entry.body["match"]
    must(whole or match.phase == "playing", "no game is played")
    sentence(match, entry, "resign", game="match" if whole else str(match.game))
    must(match.ending is None, "a game that is over")
    others_ = [other for other in match.seats if other != seat]
    last = others_[0] if len(others_) == 1 else 0
    winner = last
    if match.phase == "playing":
        must(seat in match.position.remaining, "a seat that is out")
        left = [other for other in match.position.remaining if other != seat]
        winner = left[0] if len(left) == 1 else 0
        plays_on = match.terms["game"] == "shoot-em-up" and match.terms["edition"] == 2 and len(left) > 1
        if plays_on and not (whole and match.terms["kind"] != "single"):
            match.left.append((match.position.turn, seat))
            match.position = match.rules.without(match.position, seat, 2)
            must(match.position is not None and seat not in match.position.due, "the seat plays on")
            match.missed.pop(seat, None)
            match.clocks.pop(seat, None)
            match.offers.clear()
            return
    closing = (winner if match.terms["kind"] == "single" else last, "resignation")
    if match.phase == "playing":
        end_game(match, Result(winner, match.position.scores, "resignation"), closing if whole else None)
    else:
        match.due.append(("closed", closing))


# 5.16, 5.17 and 7.4. Ends.


def end_game(match: Match, result: Result, closing: tuple[int, str] | None = None) -> None:
    """The game is over; `closing` says how the match is, where it does not go on."""
    if not match.is_sealed:
        match.due += [("ended", result), ("revealed", (result, closing, None))]
    elif match.owed.reveals and result.reason != "abandoned":
        match.due.append(("reveals", (result, closing)))
    else:
        end_sealed(match, result, open_record(match), closing)


def ended(match: Match, entry: Entry, result: Result, turns: int | None = None) -> None:
    turns = len(match.played) if turns is None else turns
    made = {"game": match.game, "turns": turns, "winner": result.winner, "reason": result.reason}
    made |= {"scores": list(result.scores)}
    if not match.is_sealed:
        trace(match, entry, f"game-{match.game}-end", match.position.turn)
    must({key: one for key, one in entry.body.items() if key != "trace"} == made, "another end")


def revealed(match: Match, entry: Entry, said: tuple[Result, tuple[int, str] | None, Any]) -> None:
    result, closing, _ = said
    must(entry.body["game"] == match.game, "another game")
    path = f"records/game-{match.game}.pbem.toml"
    must(match.paper(path, entry.body["record"]) == record(match, result), f"{path} does not come out")
    match.previous = entry.body["record"]
    go_on_or_close(match, entry, result, closing)


def go_on_or_close(match: Match, entry: Entry, result: Result, closing: tuple[int, str] | None) -> None:
    match.results.append(result)
    match.totals = [total + score for total, score in zip(match.totals, result.scores, strict=True)]
    match.phase = "ended"
    if closing is not None:
        match.due.append(("closed", closing))
    elif over(match):
        single = match.terms["kind"] == "single" and result.reason != "rules"
        match.due.append(("closed", (winner_of(match), result.reason if single else "agreed length")))
    else:
        ask_setups(match, entry, result)


def over(match: Match) -> bool:
    target = match.terms["target"]
    return match.terms["games"] == match.game or (target is not None and max(match.totals) >= target)


def winner_of(match: Match) -> int:
    if match.terms["kind"] == "single" or match.terms["victory"] == "last game":
        return match.results[-1].winner
    best = [seat for seat in match.seats if match.totals[seat - 1] == max(match.totals)]
    return best[0] if len(best) == 1 else 0


def closed(match: Match, entry: Entry, said: tuple[int, str]) -> None:
    made = {"winner": said[0], "scores": match.totals, "reason": said[1]}
    if match.phase == "setup":
        trace(match, entry, f"game-{match.game}-end", 0)
    must({key: one for key, one in entry.body.items() if key != "trace"} == made, "another end of the match")
    match.phase = "closed"


# 11. Sealed matches.


@dataclass
class Told:
    """A step that was told; `path` is empty for a commitment."""

    turn: int
    seat: int
    step: str
    lines: tuple[str, ...]
    paper: str
    path: str
    prev: str
    heads: dict[str, str]


HASHES = {"open", "answers", "flash", "departs", "setup"}


def sections(command: Command) -> list[tuple[str, list[str], str]]:
    """The sections of a block: name, words, and text (11.2)."""
    text = re.sub(r"#[^\n]*", lambda one: " " * len(one[0]), command.block)
    words = list(re.finditer(r"\S+", text))
    found: list[tuple[str, list[str], str]] = []
    while words:
        name = words.pop(0)[0].lower()
        if name == "note":
            must(command.name != "reveal", "a note in a reveal")
            octets = base64.b64decode("".join(word[0] for word in words), validate=True)
            must(0 < len(octets) <= 4096, "a note that is none")
            words = []
            continue
        allowed = {"seal": {"commitment"}, "step": {"commit", *HASHES}, "reveal": {"seed", "setup", "orders"}}
        must(name in allowed[command.name], "an unknown section")
        said: list[str] = []
        count = 1 if name in {"commitment", "commit", "seed", "orders"} else 99 if command.name == "step" else 0
        pattern = r"[1-9][0-9]{0,8}" if name == "orders" else "[0-9a-fA-F]{64}"
        while words and len(said) < count and re.fullmatch(pattern, words[0][0]):
            said.append(words.pop(0)[0].lower())
        must(count == 99 or len(said) == count, "a section without its word")
        lines = ""
        if name not in {"commitment", "commit", "seed"}:
            at = next((at for at, word in enumerate(words) if word[0].lower() == "done"), None)
            must(at is not None, "no done")
            assert at is not None
            lines = text[words[0].start() : words[at].start()]
            words = words[at + 1 :]
        found.append((name, said, "\n".join(line.strip() for line in lines.split("\n")).strip()))
    names = [(name, *said[: name == "orders"]) for name, said, _ in found]
    must(len(names) == len(set(names)), "a section twice")
    return found


def sealed_paper(
    match: Match, name: str, seat: int, turn: int, heads: Mapping[str, str], lines: Sequence[str]
) -> str:
    place = {"server": match.server, "match": match.id, "game": match.game, "turn": turn, "seat": seat}
    place |= {"player": match.players[seat].name, **heads}
    said = [f"{key} {value}" for key, value in place.items() if (name, key) != ("setup", "turn")]
    return "\n".join([f"pbem sealed {name} 1", *said, name, *lines, "end", ""])


def sealed_path(match: Match, name: str, seat: int, turn: int, number: int = 1) -> str:
    if name == "setup":
        return f"openings/game-{match.game}-seat-{seat}.txt"
    stem = f"game-{match.game}-turn-{turn}-seat-{seat}"
    if name == "orders":
        return f"openings/{stem}.txt"
    return f"steps/{stem}-{name}{'' if number == 1 else f'-{number}'}.txt"


def sealed_salt(match: Match, seed: str, seat: int, turn: int, name: str) -> str:
    label = f"pbem salt 1\nserver {match.server}\nmatch {match.id}\ngame {match.game}\nseat {seat}\nturn {turn}\n"
    return hmac.new(bytes.fromhex(seed), f"{label}what {name}\n".encode(), "sha256").hexdigest()


def sealed(match: Match, entry: Entry) -> None:
    body = entry.body
    right = match.is_sealed and match.phase == "setup" and not match.paused and body["game"] == match.game
    must(right, "no seals are asked for")
    must(dict(match.options.changed) == body["options"], "other options")
    for key in ("commitments", "receipts"):
        must(list(body[key]) == [str(seat) for seat in match.seats], "other seats")
    aside = trace(match, entry, f"game-{match.game}-setup", 0)
    for seat in match.seats:
        match.commitments[seat] = seal(match, entry, seat, aside)
        must(match.commitments[seat] == body["commitments"][str(seat)], "another commitment")
    match.position = match.owed.begin(match.options)
    match.phase, match.prev = "playing", entry.head
    match.said.clear()
    match.silent.clear()
    match.clocks.clear()
    match.due.append(("asks", 0))


def seal(match: Match, entry: Entry, seat: int, aside: Sequence[dict[str, str]]) -> str:
    stem = f"game-{match.game}-setup-seat-{seat}"
    paper = read_receipt(match.paper(f"receipts/{stem}.txt", entry.body["receipts"][str(seat)]))
    player = match.players[seat]
    right = {"server": match.server, "match": match.id, "game": str(match.game), "turn": "0", "seat": str(seat)}
    right |= {"player": player.name, "level": "key"}
    must(all(paper[key] == value for key, value in right.items()), "a receipt of something else")
    must(not {"orders", "evidence"} & set(paper), "no receipt of a seal")
    must(all(int(one["rev"]) < int(paper["rev"]) for one in aside if one["seat"] == str(seat)), "set aside later")
    path = f"letters/game-{match.game}-seal-seat-{seat}.eml"
    letter = letter_named(match, entry, path, paper["mail"], paper["received"])
    match.once(paper["mail"], "seal", seat, match.game, 0)
    for commands, key in proven(letter, player, None, waited="waited", turn=0):
        want = Want(match, player.name, [match.prev], mailbox=False)
        for command in commands if len(commands) == 1 else ():
            fits = command.name == "seal" and game_of(command) == match.game and want.fits(command, int(paper["rev"]))
            if fits and key == paper["key"]:
                (said,) = [words[0] for name, words, _ in sections(command) if name == "commitment"]
                return said
    raise No(f"{path} holds no such seal")


def letter_of_steps(match: Match, entry: Entry) -> None:
    """The steps of a letter, the first of which this entry is."""
    body = entry.body
    seat, player = body["seat"], match.player(body["seat"])
    must(match.is_sealed and match.phase == "playing" and not match.paused and match.ending is None, "no step is due")
    path = f"letters/step-{entry.seq}-seat-{seat}.eml"
    letter = letter_named(match, entry, path, body["mail"], body["received"])
    match.once(body["mail"], "step", seat, match.game, match.turn_due)
    prevs = [match.prev, *match.owing.get(seat, [])]
    command = said_in(match, letter, player, "step", prevs, str(match.position.turn))
    made = steps_of(match, seat, command)
    must(made, "no step")
    match.due[:0] = made[1:]
    match.due.append(("asks", seat))
    one_step(match, entry, made[0][1])


def said_in(match: Match, letter: Letter, player: Player, name: str, prevs: Sequence[str], turn: str) -> Command:
    for commands, _ in proven(letter, player, None, waited=""):
        want = Want(match, player.name, prevs, mailbox=False, demanded=("server", "player", "prev"))
        for command in commands if len(commands) == 1 else ():
            fits = command.name == name and command.said.get("*turn", turn) == turn
            if fits and game_of(command) == match.game and want.fits(command, None):
                return command
    raise No(f"{letter.path} holds no such {name}")


def steps_of(match: Match, seat: int, command: Command) -> list[tuple[str, Any]]:
    """The entries that the steps of a letter make."""
    table, steps = match.position, [*match.told]
    made: list[tuple[str, Any]] = []
    for step, words, text in sections(command):
        must(match.owed.owed(table, seat)[:1] == (step,), "another step is due")
        lines, turn = match.owed.judge(table, seat, step, text), table.turn
        this = [one for one in reversed(steps) if one.turn == turn]
        mine = [one for one in this if one.seat == seat]
        commit = mine[0] if mine and not mine[0].path else None
        one = Told(turn, seat, step, lines, words[0] if words else "", "", command.said["prev"], {})
        if step != "commit":
            kind = match.owed.papers[step]
            must(len(words) == len(kind.values), "other hashes")
            right = {"rules": match.rules_hash, "setup": match.commitments[seat]}
            right["after"] = commit.prev if commit else command.said["prev"]
            right["to"] = next((old.paper for old in this if old.seat != seat and old.step in kind.to), "0" * 64)
            right["own"] = next((old.paper for old in mine if old.step == "open"), "0" * 64)
            said = dict(zip(kind.values, words, strict=True))
            must(all(right.get(key, value) == value for key, value in said.items()), "a head is wrong")
            one.heads = {key: said.get(key) or right[key] for key in kind.heads}
            number = 1 + sum(old.step == step for old in mine)
            one.path = sealed_path(match, kind.name, seat, turn, number)
            one.paper = sha256(sealed_paper(match, kind.name, seat, turn, one.heads, lines).encode())
            bound = match.commitments[seat] if kind.name == "setup" else commit.paper if commit else one.paper
            must(one.paper == bound, "not what was committed to")
        steps.append(one)
        before = len(table.played)
        table = match.owed.enter(table, seat, step, lines)
        made.append(("step", (one, table)))
        made += [("told", (before + at, reports)) for at, reports in enumerate(table.played[before:], 1)]
    return made


def one_step(match: Match, entry: Entry, said: tuple[Told, Any]) -> None:
    one, match.position = said
    body = {key: value for key, value in entry.body.items() if key not in {"mail", "received"}}
    made = {"game": match.game, "turn": one.turn, "seat": one.seat, "step": one.step, "paper": one.paper}
    must(body == made | ({"path": one.path} if one.path else {}), "another step")
    if match.teller:
        must((entry.body["mail"], entry.body["received"]) == match.mail, "another letter")
    match.mail = (entry.body["mail"], entry.body["received"])
    match.teller = one.seat
    if one.path:
        match.paper(one.path, one.paper)
    match.told.append(one)


def turn_told(match: Match, entry: Entry, said: tuple[int, Any]) -> None:
    number, reports = said
    must((entry.body["game"], entry.body["turn"]) == (match.game, number), "another turn")
    check_reports(match, entry, reports, number)
    match.played.append({})
    match.offers.clear()


def asks(match: Match, entry: Entry, by: int) -> None:
    """The letter of this seat is entered: who owes something now?"""
    match.prev, match.teller = entry.head, 0
    match.said.clear()
    if by:
        match.silent[by] = 0
    asked = [seat for seat in match.seats if seat in match.position.due]
    pace = match.terms["pace"]
    new = Clock(moment(entry.time), seconds(pace))
    match.clocks = {
        seat: match.clocks[seat] if seat in match.owing and seat in match.clocks else replace(new)
        for seat in asked
        if pace
    }
    match.missed = {seat: over for seat, over in match.missed.items() if seat in asked and seat in match.owing}
    match.owing = {seat: [*(match.owing.get(seat, []) if seat != by else []), match.prev] for seat in asked}
    if match.position.result:
        end_game(match, match.position.result)


def ask_reveals(match: Match, entry: Entry, ending: tuple[Result, tuple[int, str] | None]) -> None:
    match.ending, match.prev = ending, entry.head
    match.owing = {}
    match.missed.clear()
    match.offers.clear()
    match.said.clear()
    start_clocks(match, entry, match.seats)


def reveal(match: Match, entry: Entry) -> None:
    body = entry.body
    seat, player = body["seat"], match.player(body["seat"])
    must(match.ending is not None and not match.paused and body["game"] == match.game, "no reveal is due")
    must(seat not in match.reveals, "revealed before")
    path = f"letters/reveal-{entry.seq}-seat-{seat}.eml"
    letter = letter_named(match, entry, path, body["mail"], body["received"])
    match.once(body["mail"], "reveal", seat, match.game)
    command = said_in(match, letter, player, "reveal", [match.prev], "")
    texts = {(name, *words): text for name, words, text in sections(command)}
    (seed,) = [key[1] for key in texts if key[0] == "seed"]
    heads = {"rules": match.rules_hash, "salt": sealed_salt(match, seed, seat, 0, "setup")}
    setups = [texts["setup",], " ".join(texts["setup",].split())]
    with contextlib.suppress(Refused):
        setups.append(match.rules.setup(match.options, seat, setups[0]).text)
    setup = opened(match, ("setup", seat, 0), heads, match.commitments[seat], setups)
    orders = {}
    for one in match.told:
        if one.seat == seat and "orders" in one.heads:
            text = texts["orders", str(one.turn)]
            heads = {"setup": match.commitments[seat], "salt": sealed_salt(match, seed, seat, one.turn, "orders")}
            of = ("orders", seat, one.turn)
            orders[one.turn] = opened(match, of, heads, one.heads["orders"], [text, " ".join(text.split())])
    match.reveals[seat] = (setup, orders)
    match.missed.pop(seat, None)
    if judged(match):
        match.due.append(("verdict", None))


def opened(
    match: Match, of: tuple[str, int, int], heads: Mapping[str, str], digest: str, texts: Sequence[str]
) -> str:
    for text in texts:
        made = sealed_paper(match, *of, heads, text.split("\n") if text else [])
        if sha256(made.encode()) == digest:
            match.paper(sealed_path(match, *of), digest)
            return text
    raise No("does not open what was committed to")


def judged(match: Match) -> bool:
    return all(seat in match.reveals or seat in match.missed for seat in match.seats)


def late_verdict(match: Match, entry: Entry) -> None:
    must(match.ending is not None and not match.paused and judged(match), "reveals are due")
    verdict(match, entry, None)


def verdict(match: Match, entry: Entry, _: None) -> None:
    assert match.ending
    result, closing = match.ending
    found: dict[int, Any] = {}
    steps = [SealedStep(one.turn, one.seat, one.step, one.lines) for one in match.told]
    for seat in match.seats:
        found[seat] = "not revealed"
        if seat in match.reveals:
            false = match.owed.first_false(match.options, seat, *match.reveals[seat], steps)
            found[seat] = {"false": false._asdict()} if false else "honest"
    must(entry.body == {"game": match.game, "verdicts": {str(seat): one for seat, one in found.items()}}, "another")
    liars = [seat for seat, one in found.items() if one != "honest"]
    played: list[dict[int, str]] | None = None
    if not liars:
        done = len(match.played)
        setups = {seat: setup for seat, (setup, _) in match.reveals.items()}
        orders = {
            seat: {at: one for at, one in texts.items() if at <= done} for seat, (_, texts) in match.reveals.items()
        }
        end = settled(match.rules, match.options, setups, orders)
        result = end.result or Result(result.winner, end.scores, result.reason)
        match.setups = {seat: match.rules.setup(match.options, seat, setup) for seat, setup in setups.items()}
        played = [dict(texts) for texts in end.orders]
    elif len(liars) == len(match.seats):
        result = Result(0, tuple(0 for _ in match.seats), "annulled")
    else:
        (honest,) = set(match.seats) - set(liars)
        reason = "not revealed" if found[liars[0]] == "not revealed" else "false"
        scores = tuple(one if at == honest else 0 for at, one in enumerate(result.scores, 1))
        lost = match.given_up_loses and result.reason in {"resignation", "forfeit"} and honest != result.winner
        result = Result(0 if lost else honest, scores, reason)
    if match.given_up_loses and closing is not None:
        if found[closing[0]] != "honest":
            closing = (result.winner, result.reason)
        elif match.terms["kind"] == "single":
            closing = None
    if played is None and closing is None and (match.terms["kind"] == "continued" or result.reason == "annulled"):
        closing = (result.winner, result.reason)
    end_sealed(match, result, played, closing)


def end_sealed(
    match: Match, result: Result, played: list[dict[int, str]] | None, closing: tuple[int, str] | None
) -> None:
    if played is None:
        match.due.append(("ended sealed", (result, closing)))
        return
    match.played = played
    match.due += [("ended", result), ("revealed", (result, closing, None))]


def ended_sealed(match: Match, entry: Entry, said: tuple[Result, tuple[int, str] | None]) -> None:
    result, closing = said
    ended(match, entry, result)
    go_on_or_close(match, entry, result, closing)


def open_record(match: Match) -> list[dict[int, str]] | None:
    """The orders of the turns, where all was opened as the game went on."""
    opened_ = {(one.turn, one.seat): "\n".join(one.lines) for one in match.told if one.path.startswith("openings/")}
    if match.owed.reveals or not all((0, seat) in opened_ for seat in match.seats):
        return None
    match.setups = {seat: match.rules.setup(match.options, seat, opened_[0, seat]) for seat in match.seats}
    return [{seat: opened_[at, seat] for seat in match.seats} for at in range(1, len(match.played) + 1)]


# The order of work.

BEGIN: dict[str, Callable[[Match, Entry], None]] = {
    "commitments": commitments,
    "turn": turn,
    "missed": missed,
    "extended": extended,
    "forfeited": forfeited,
    "claimed": claimed,
    "draw": offered,
    "annul": offered,
    "moved": told,
    "halted": told,
    "vacation": told,
    "keys": keys,
    "substitute": substitute,
    "substituted": substituted,
    "resigned": resigned,
    **dict.fromkeys(("paused", "resumed", "restored", "stopped"), operator),
    "sealed": sealed,
    "step": letter_of_steps,
    "reveal": reveal,
    "verdict": late_verdict,
}
FOLLOW: dict[str, Callable[[Match, Entry, Any], None]] = {
    "ended": ended,
    "revealed": revealed,
    "closed": closed,
    "step": one_step,
    "told": turn_told,
    "verdict": verdict,
    "ended sealed": ended_sealed,
}
AT_ONCE: dict[str, Callable[[Match, Entry, Any], None]] = {"asks": asks, "reveals": ask_reveals}
"""What happens after an entry without one of its own."""


def step(match: Match, entry: Entry, before: Entry | None) -> None:
    check_form(match, entry)
    must(before is None or entry.time >= before.time, "time runs backwards")
    if entry.seq == 1:
        must(entry.type == "agreed", "not agreed first")
        agreed(match, entry)
        return
    assert before
    if match.due:
        kind, said = match.due.pop(0)
        type_ = {"told": "turn", "ended sealed": "ended"}.get(kind, kind)
        must((entry.type, entry.time) == (type_, before.time), f"{type_} must follow")
        if kind == "turn":
            turn(match, entry)
        else:
            FOLLOW[kind](match, entry, said)
    else:
        must(match.phase in {"setup", "playing"} and entry.type in BEGIN, f"{entry.type} cannot stand here")
        BEGIN[entry.type](match, entry)
    while match.due and match.due[0][0] in AT_ONCE:
        kind, said = match.due.pop(0)
        AT_ONCE[kind](match, entry, said)


# 9. Matches that still run.

BETWEEN = {
    *("paused", "resumed", "restored", "keys", "missed", "moved", "halted", "vacation", "extended", "draw", "annul"),
    *("substitute", "substituted", "resigned", "turn"),
}
LETTER_OF = {"extended": "extend", "claimed": "claim", "resigned": "resign"}


def running_step(match: Match, entry: Entry, before: Entry, turns: int) -> None:
    check_form(match, entry)
    must(entry.time >= before.time, "time runs backwards")
    body = entry.body
    if entry.type == "commitments":
        must(match.phase == "setup" and not match.paused and turns < 0, "no setups are asked for")
        must((body["game"], body["options"]) == (match.game, dict(match.options.changed)), "another game")
        hidden(match, f"traces/game-{match.game}-setup.txt", body.get("trace"))
        hidden(match, f"evidence/replies-{entry.seq}.txt", body.get("replies"))
        for seat, digest in body["commitments"].items():
            paper = hidden(match, f"openings/game-{match.game}-seat-{seat}.txt", digest)
            if paper:
                said = here_in(match, read_opening(paper), seat=seat)
                hidden_letter(match, f"game-{match.game}-setup-seat-{seat}", said)
        return
    must(
        entry.type in BETWEEN and (entry.type != "resigned" or len(match.seats) > 2),
        f"{entry.type} cannot stand here",
    )
    if entry.type == "turn":
        must((body["game"], body["turn"]) == (match.game, turns), "another turn")
        hidden(match, f"evidence/replies-{entry.seq}.txt", body.get("replies"))
        running_turn(match, body)
    elif entry.type == "keys":
        for which, digest in body["letters"].items():
            hidden(match, f"letters/keys-{entry.seq}-seat-{body['seat']}-{which}.eml", digest)
    elif "mail" in body:
        what = LETTER_OF.get(entry.type, entry.type)
        hidden_letter(match, f"{what}-{entry.seq}-seat-{body['seat']}", body)
        if entry.type == "substituted":
            hidden(match, f"evidence/mailbox-{entry.seq}-seat-{body['seat']}.txt", body["player"].get("mailbox"))


def running_turn(match: Match, body: Body) -> None:
    stem = f"game-{match.game}-turn-{body['turn']}"
    hidden(match, f"traces/{stem}.txt", body.get("trace"))
    hidden(match, f"reports/{stem}.json", body["reports"])
    for seat, digest in body["shown"].items():
        hidden(match, f"reports/{stem}-seat-{seat}.json", digest)
    for seat, digest in body["orders"].items():
        paper = hidden(match, f"receipts/{stem}-seat-{seat}.txt", digest)
        if paper:
            said = here_in(match, read_receipt(paper), seat=seat, turn=str(body["turn"]))
            hidden_letter(match, f"{stem}-seat-{seat}", said)


def hidden(match: Match, path: str, digest: str | None) -> bytes | None:
    """A paper, if it is here and named."""
    return match.paper(path, digest) if digest is not None and path in match.papers else None


def here_in(match: Match, paper: dict[str, str], **more: str) -> dict[str, str]:
    """A paper of the running game, which says where it belongs."""
    right = {"server": match.server, "match": match.id, "game": str(match.game), **more}
    must(all(paper[key] == value for key, value in right.items()), "a paper of something else")
    must("received" not in paper or is_time(paper["received"]), "received at no time")
    return paper


def hidden_letter(match: Match, stem: str, said: Mapping[str, Any]) -> None:
    hidden(match, f"letters/{stem}.eml", said["mail"])
    hidden(match, f"evidence/{stem}.txt", said.get("evidence"))


def runs_from(entries: Sequence[Entry]) -> int | None:
    """The first commitments whose game has not been revealed; there are none in a sealed match."""
    if entries[0].body["terms"].get("sealed"):
        return None
    shown = {entry.body.get("game") for entry in entries if entry.type == "revealed"}
    starts = (entry.seq for entry in entries if entry.type == "commitments" and entry.body.get("game") not in shown)
    return next(starts, None)


UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, AssertionError, Refused, UnsupportedAlgorithm)


def check_entries(match: Match, entries: Sequence[Entry]) -> None:
    running = runs_from(entries)
    turns = -1
    before: Entry | None = None
    for entry in entries:
        try:
            if running is None or entry.seq < running:
                step(match, entry, before)
            else:
                assert before
                must((not match.due and match.phase == "setup") or entry.seq > running, "cannot stand here")
                turns += entry.type == "turn"
                running_step(match, entry, before, turns)
                turns = max(turns, 0)
        except No as error:
            found = re.match(r"[a-z]+/\S+", str(error))
            raise Wrong(entry.seq, found[0] if found else None, str(error)) from error
        except UNREADABLE as error:
            raise Wrong(entry.seq, None, f"cannot be read: {error!r}") from error
        before = entry
    if match.due:
        raise Wrong(len(entries) + 1, None, f"{match.due[0][0]} must follow")


def verify(content: bytes) -> None:
    """Nothing, if the bundle holds; else `Wrong`."""
    verified(content)


def verified(content: bytes) -> Match:
    """The match as it stands at the end of a bundle that holds."""
    path = None
    try:
        members = read_file(content)
        path = "transcript.jsonl"
        entries = read_transcript(members[path])
        match = Match({name: paper for name, paper in members.items() if name not in LISTS})
        version = entries[0].body.get("bundle")
        if type(version) is not int or version not in {2, 3}:
            raise Wrong(1, path, "a version that cannot be read")
        match.given_up_loses = version == 3
        check_form(match, entries[0])
        path = "heads.txt"
        check_heads(entries, members[path])
        check_entries(match, entries)
        path = "commitments.sha256"
        check_commitments(entries, members)
    except (No, *UNREADABLE) as error:
        raise Wrong(None, path, str(error)) from error
    foreign = sorted(set(match.papers) - match.named)
    if foreign:
        raise Wrong(len(entries), foreign[0], "nobody names it")
    return match
