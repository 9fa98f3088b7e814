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
from verifier.conventions import No, moment, must, sha256
from verifier.ed25519 import ed25519
from verifier.papers import read_evidence
from verifier.signature import good_rsa
from verifier.text import author_of, decoded, entity, parts_of, plain, unbase64, uncommented, undone, word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
        must(above <= 1, "too far below")
        server, *results = (uncommented(value) or "").split(";")
        if name != "authentication-results" or server.lower().split() not in written_by(found["name"]):
            continue
        said = [pass_or_not[1].lower() for one in results if (pass_or_not := DKIM_RESULT.match(one))]
        if said:
            must(value == " ".join(found["record"].split()), "another result")
            must("pass" in said, "no pass")
            return
    raise No("no such header")


def written_by(server: str) -> list[list[str]]:
    """How a header of this server begins: with its name, and perhaps the version."""
    return [[server.lower()], [server.lower(), "1"]]


DKIM_RESULT = re.compile(r"\s*dkim\s*=\s*(\S+)", re.IGNORECASE)
HEAD = re.compile(rb"(?:From [^\r\n]*\r\n)?(?:[!-9;-~]+:[^\r\n]*\r\n(?:[ \t][^\r\n]*\r\n)*)*")


def tags(text: str) -> dict[str, str]:
    found = (one.partition("=") for one in text.split(";") if one.strip())
    return {
        name.strip(): re.sub(r"\s+", "" if name.strip() in {"b", "bh", "p"} else " ", value.strip())
        for name, _, value in found
    }


ENCODING = {"content-type", "content-transfer-encoding"}
IN_PARTS = re.compile(rb"(?m)^--\S+[ \t]*\r?\n[!-9;-~]+:")


def says_otherwise(raw: bytes, body: bytes) -> bool:
    """Whether other headers that encode the body could leave other words outside of its quotes."""
    message = entity(raw)
    if message.get_content_maintype() == "multipart":
        boundary = message.get_boundary() or ""
        first = body.split(b"\r\n")[0].rstrip(b" \t\r").decode("utf-8", "surrogateescape")
        return first != f"--{boundary}" or not re.fullmatch(r"(?=.*[A-Za-z0-9])\S+", boundary)
    if body.lstrip().startswith(b"<") or IN_PARTS.search(body):
        return True
    (part,) = parts_of(message)
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


def dkim_holds(raw: bytes, name: str, record_text: str, at: datetime, over: str = "from") -> None:
    head, _, body = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n").partition(b"\r\n\r\n")
    must(HEAD.fullmatch(head + b"\r\n"), "a line that is no header")
    headers = [one.partition(b":")[::2] for one in re.findall(rb"[^\r\n]+(?:\r\n[ \t][^\r\n]*)*", head)]
    domain_from = author_of(entity(raw)).rpartition("@")[2]
    names = [key.lower() for key, _ in headers]
    for once in (b"date", b"content-type", b"content-transfer-encoding"):
        must(names.count(once) <= 1, f"two {once.decode()}")
    openly = says_otherwise(raw, body)
    for number, (key, value) in enumerate(headers):
        if key.strip().lower() != b"dkim-signature":
            continue
        sig = tags(value.decode("ascii", "replace").replace("\r\n", ""))
        if f"{sig.get('s')}._domainkey.{sig.get('d', '').lower()}" != name:
            continue
        domain = sig["d"].lower()
        fits = domain_from == domain or domain_from.endswith(f".{domain}")
        covered = [one.strip().lower() for one in sig.get("h", "").split(":")]
        fits = fits and 0 < names.count(over.encode()) <= covered.count(over)
        fits = fits and (not openly or {*covered} >= ENCODING)
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
