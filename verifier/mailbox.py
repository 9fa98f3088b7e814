"""6.6 Level mailbox: evidence, DKIM."""

from __future__ import annotations

import hashlib
import itertools
import re
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import load_der_public_key

from verifier.commands import Reading, text_of
from verifier.conventions import No, ed25519, moment, must, sha256
from verifier.papers import read_evidence
from verifier.signature import good_rsa
from verifier.text import author_of, decoded, entity, parts_of, plain, unbase64, uncommented, undone, word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from verifier.letters import Letter, Player
    from verifier.state import Match

ANYWHERE = {"agreed", "announced", "entered", "left", "challenged", "ruled"}
"""The entries whose letters answer ones that need not be about this match, or be about any (5.1 and 12.1)."""


def evidence(letter: Letter, digest: str, player: Player, *, turn: int | None) -> str:
    """The text of a letter without a key, and the source of the evidence."""
    match = letter.match
    path = letter.path.replace("letters/", "evidence/").replace(".eml", ".txt")
    found = read_evidence(match.paper(path, digest))
    must(found["server"] == match.server and found["player"] == player.name, "evidence of somebody else")
    must(found["mail"] == sha256(letter.raw), "evidence of another letter")
    anywhere = letter.entry.type in ANYWHERE
    must(anywhere or found["match"] == match.id, "evidence of another match")
    must(found["received"] == letter.received, "received at another time")
    must(author_of(letter.message) == player.address, "from another address")
    tokens_right(letter, found["token"])
    must(anywhere or place_right(found["place"], match, turn), "about something else")
    for only in [found["token"], *marks(letter.raw, player.address)]:
        must(match.tokens.setdefault(only, found["mail"]) == found["mail"], "a token, or a DKIM signature, twice")
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
    ours = [[found["name"].lower()], [found["name"].lower(), "1"]]  # perhaps with the version
    for name, value in headers:
        above += name == "received"
        must(above <= 1, "too far below")
        server, *results = (uncommented(value) or "").split(";")
        if name != "authentication-results" or server.lower().split() not in ours:
            continue
        said = [{key.lower(): one for key, one in RESULT.findall(result)} for result in results]
        said = [one for one in said if next(iter(one), "") == "dkim"]
        if said:
            must(value == " ".join(found["record"].split()), "another result")
            passed = [one.get("header.d", "").lower().rstrip(".") for one in said if one["dkim"].lower() == "pass"]
            signed = dkim_signatures(letter.raw, moment(found["received"]))
            must(any(sig["d"].lower() in passed for _, sig in signed), "no pass of a signature that might count")
            return
    raise No("no such header")


RESULT = re.compile(r"(?<![a-zA-Z0-9_-])([a-zA-Z0-9_-]+(?:\.[a-zA-Z0-9_-]+)?)\s*=\s*(\S+)")
HEAD = re.compile(rb"(?:From [^\r\n]*\r\n)?(?:[!-9;-~]+:[^\r\n]*\r\n(?:[ \t][^\r\n]*\r\n)*)*")


def tags(text: str) -> dict[str, str]:
    """The tags of a signature or a record; none if it is malformed."""
    given = text.removesuffix(";") if text.strip() != ";" else text
    found = [(name.strip(), mark, value) for name, mark, value in (one.partition("=") for one in given.split(";"))]
    if not all(name and mark for name, mark, _ in found) or len({name for name, _, _ in found}) < len(found):
        return {}
    return {name: re.sub(r"\s+", "" if name in {"b", "bh", "p"} else " ", value.strip()) for name, _, value in found}


ENCODING = {"content-type", "content-transfer-encoding"}
PREAMBLE = re.compile(
    rb"\A(?:(?:This is an? [A-Za-z/ -]{9,30} message (?:in MIME format\.|\(RFC 4880 and 3156\)))?\r\n)*"
)
TAG = re.compile(rb"<[!/]?[A-Za-z][A-Za-z0-9]*[\s/>]")
IN_PARTS = re.compile(rb"(?m)^--\S+[ \t]*\r?\n[!-9;-~]+:")


def says_otherwise(raw: bytes, body: bytes) -> bool:
    """True if other headers that encode the body could leave other words outside of its quotes."""
    message = entity(raw)
    if message.get_content_maintype() == "multipart":
        boundary = message.get_boundary() or ""
        first = PREAMBLE.sub(b"", body).split(b"\r\n")[0].rstrip(b" \t\r").decode("utf-8", "surrogateescape")
        return first != f"--{boundary}" or not re.fullmatch(r"(?=.*[A-Za-z0-9])\S+", boundary)
    (part,) = parts_of(message)
    bodies = body, part.content, undone(body, "quoted-printable")
    if any(map(TAG.search, bodies)) or IN_PARTS.search(body):
        return True
    if own_words(part.text) != own_words(decoded(part.content, None)):
        return True
    for way in {"quoted-printable", word(entity(raw), "Content-Transfer-Encoding")}:
        left = decoded(undone(own_text(decoded(body, None)).encode(), way), None)
        left = own_text(left) if way == "base64" else left
        lines = itertools.takewhile(lambda line: line.rstrip() != "--", plain(left).split("\n"))
        if only_ascii("\n".join(lines)) != own_words(decoded(undone(body, way), None)):
            return True
    return False


def own_text(text: str) -> str:
    return Reading(text, signed=False).text


def only_ascii(text: str) -> list[str]:
    """The words of a text, with one mark for each run of other characters than those of ASCII."""
    return re.sub(r"[^\n -~]+", "?", text).split()


def own_words(text: str) -> list[str]:
    return only_ascii(own_text(text))


def parted(raw: bytes) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """The header fields and the body of a letter, which nobody can read in two ways."""
    head, _, body = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n").partition(b"\r\n\r\n")
    must(HEAD.fullmatch(head + b"\r\n"), "a line that is no header")
    fields = [one.partition(b":") for one in re.findall(rb"[^\r\n]+(?:\r\n[ \t][^\r\n]*)*", head)]
    names = [key.lower() for key, _, _ in fields]
    for once in (b"date", b"content-type", b"content-transfer-encoding"):
        must(names.count(once) <= 1, f"two {once.decode()}")
    return [(key, value) for key, _, value in fields], body


def dkim_signatures(raw: bytes, at: datetime) -> Iterator[tuple[int, dict[str, str]]]:
    """The signatures of a letter that would count, their keys apart, each with the number of its header."""
    headers, body = parted(raw)
    openly, author = says_otherwise(raw, body), author_of(entity(raw)).rpartition("@")[2]
    numbers = [number for number, (key, _) in enumerate(headers) if key.strip().lower() == b"dkim-signature"]
    examined = 0
    for number in numbers[:10]:
        sig = tags(headers[number][1].decode("ascii", "replace").replace("\r\n", ""))
        domain = sig.get("d", "").lower()
        fits = (author == domain or author.endswith(f".{domain}")) and len(headers[number][1]) <= 3000
        if examined < 3 and fits and dkim_counts(sig):
            examined += 1
            if is_timely(sig, at.timestamp()) and (not openly or {*signed_headers(sig)} >= ENCODING):
                yield number, sig


def marks(raw: bytes, author: str) -> list[str]:
    """The hashes of the DKIM signatures of a letter, whosever they are, each with the letter's author."""
    values = [value.decode("ascii", "replace") for key, value in parted(raw)[0] if key.lower() == b"dkim-signature"]
    found = [re.search(r"(?:\A|;)\s*b\s*=([^;]*)", value) for value in values]
    octets = [undone(one[1].encode("ascii", "replace"), "base64") for one in found if one]
    return [hashlib.sha256(f"{author}\n".encode() + one).hexdigest() for one in octets if len(one) >= 64]


def signed_headers(sig: Mapping[str, str]) -> list[str]:
    return [one.strip().lower() for one in sig.get("h", "").split(":")]


def dkim_holds(raw: bytes, name: str, record_text: str, at: datetime, over: str = "from") -> None:
    headers, body = parted(raw)
    names = [key.lower() for key, _ in headers]
    must(not re.search(rb"[ \t]{501}", body), "hundreds of blanks")
    must(len(record_text) <= 4000 and re.fullmatch("[ -~]*", record_text), "no record of a key")
    for number, sig in dkim_signatures(raw, at):
        covers = 0 < names.count(over.encode()) <= signed_headers(sig).count(over)
        here = covers and f"{sig['s']}._domainkey.{sig['d'].lower()}" == name
        if here and key_counts(sig, tags(record_text)) and dkim_signed(sig, record_text, headers, number, body):
            return
    raise No("no DKIM signature holds")


def is_timely(sig: Mapping[str, str], stamp: float) -> bool:
    if not all(re.fullmatch("[0-9]{1,12}", sig.get(name, "0")) for name in "tx"):
        return False
    if "x" in sig and (int(sig["x"]) < stamp or int(sig["x"]) < int(sig.get("t", "0"))):
        return False
    return int(sig.get("t", "0")) <= stamp + 36000


def dkim_counts(sig: Mapping[str, str]) -> bool:
    if not {"v", "a", "b", "bh", "d", "h", "s"} <= set(sig) or "from" not in signed_headers(sig):
        return False
    if "l" in sig or sig["a"] not in {"rsa-sha256", "ed25519-sha256"}:
        return False
    if sig["v"] != "1" or sig.get("q", "dns/txt") != "dns/txt" or "." not in sig["d"]:
        return False
    domain, names = sig["d"].lower(), f"{sig['s']}.{sig['d']}"
    whole = all(len(sig[one]) % 4 == 0 and re.fullmatch("[A-Za-z0-9+/]*=*", sig[one]) for one in ("b", "bh"))
    if not whole or not re.fullmatch(
        r"(?i)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)+", names
    ):
        return False
    return sig.get("i", f"@{domain}").lower().endswith((f"@{domain}", f".{domain}"))


def key_counts(sig: Mapping[str, str], rec: Mapping[str, str]) -> bool:
    flags = [one.strip() for one in rec.get("t", "").split(":")]
    services = [one.strip() for one in rec.get("s", "*").split(":")]
    algorithms = [one.strip() for one in rec.get("h", "sha256").split(":")]
    owner = sig.get("i", sig["d"]).rpartition("@")[2].lower()
    strict = "s" not in flags or owner == sig["d"].lower()
    usable = rec.get("v", "DKIM1") == "DKIM1" and bool(rec.get("p")) and "y" not in flags
    return usable and strict and "sha256" in algorithms and bool({"*", "email"} & {*services})


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
        if head_way == "relaxed":
            key, value = key.strip().lower(), re.sub(rb"[ \t]+", b" ", value.replace(b"\r\n", b"")).strip()
        return key + b":" + value

    rest = list(headers)
    said = b""
    for asked in sig["h"].split(":"):
        places = [at for at, (key, _) in enumerate(rest) if key.strip().lower() == asked.strip().lower().encode()]
        if places:
            said += way(*rest.pop(places[-1])) + b"\r\n"
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
