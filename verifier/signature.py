"""6.2 The signature, of security keys and passkeys, too."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from verifier.commands import COMMANDS, FIELDS, text_in, text_of
from verifier.conventions import ed25519, must
from verifier.text import LINKED, Part, first, leaves, of_ssh, parts_of, string, strings, trimmed, unbase64, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verifier.state import Match


@dataclass(frozen=True)
class Key:
    format: str
    fingerprint: str
    public: str


def openpgp_fingerprint(public: str) -> str:
    lines = [line for line in public.strip().split("\n")[1:-1] if ":" not in line and not line.startswith("=")]
    packets = unbase64("".join(lines))
    length, size = packets[1], 2
    if packets[0] & 0x40 == 0:
        size = 1 + (1, 2, 4)[packets[0] & 3]
        length = int.from_bytes(packets[1:size], "big")
    elif length >= 192:
        size, length = 3, ((length - 192) << 8) + packets[2] + 192
    body = packets[size : size + length]
    if body[0] == 6:
        return hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body).hexdigest().upper()
    digest = hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body)  # noqa: S324 - so version 4 names keys
    return digest.hexdigest().upper()


def fingerprint(form: str, public: str) -> str:
    """The fingerprint of a key in its written form."""
    if form == "ssh":
        blob = of_ssh(public.split()[1])
        return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    if form == "smime":
        octets = x509.load_pem_x509_certificate(public.encode()).fingerprint(hashes.SHA256())
        return octets.hex(":").upper()
    must(form == "openpgp", "an unknown format")
    return openpgp_fingerprint(public)


def form_of(public: str) -> str:
    """The format of a key as it is pasted."""
    if "BEGIN PGP" in public:
        return "openpgp"
    return "smime" if "BEGIN CERTIFICATE" in public else "ssh"


SSH = re.compile(r"-----BEGIN SSH SIGNATURE-----([A-Za-z0-9+/=\s]+)-----END SSH SIGNATURE-----")
CURVES: dict[str, Callable[[], hashes.HashAlgorithm]] = {
    "nistp256": hashes.SHA256,
    "nistp384": hashes.SHA384,
    "nistp521": hashes.SHA512,
}


RSA = {"rsa-sha2-256", "rsa-sha2-512"}


def by_ssh(key: Key, armor: str, text: bytes, server: str) -> bool:
    found = SSH.match(armor)
    blob = of_ssh(found[1]) if found else b""
    must(blob[:6] == b"SSHSIG" and blob[6:10] == b"\0\0\0\1", "no SSH signature")
    fields = strings(blob[10:])
    must(len(fields) == 5, "more or less than a signature")
    public, namespace, reserved, digest_of, signature = fields
    must(namespace == f"pbem@{server}".encode() and not reserved, "another namespace")
    must(digest_of in {b"sha256", b"sha512"}, "another hash")
    if public != of_ssh(key.public.split()[1]):
        return False
    digest = hashlib.new(digest_of.decode(), text).digest()
    said = b"SSHSIG" + b"".join(map(string, (namespace, reserved, digest_of, digest)))
    kind, rest = first(signature)
    value, tail = first(rest)
    return ssh_holds(key, kind.decode("ascii", "replace"), value, tail, said)


def ssh_holds(key: Key, kind: str, value: bytes, tail: bytes, said: bytes) -> bool:
    sort, blob, application = without_device(key.public)
    loaded = load_ssh_public_key(f"{sort} {blob}".encode())
    of_page = application and not application.startswith("ssh:")
    fit = RSA if sort == "ssh-rsa" else {WEBAUTHN if of_page else key.public.split()[0]}
    must(kind in fit and bool(application) == bool(tail), "another algorithm, or more than a signature")
    if application:
        of_device = touched(application, tail, said)
        if of_device is None:
            return False
        said = of_device
    try:
        if isinstance(loaded, Ed25519PublicKey):
            return ed25519(loaded.public_bytes_raw(), value, said)
        if isinstance(loaded, rsa.RSAPublicKey):
            good_rsa(loaded, 2048)
            loaded.verify(value, said, padding.PKCS1v15(), hashes.SHA256() if kind[-3:] == "256" else hashes.SHA512())
            return True
        if isinstance(loaded, ec.EllipticCurvePublicKey):
            numbers = strings(value)
            r, s = (int.from_bytes(one, "big") for one in numbers)
            must([shortest(r), shortest(s)] == numbers, "a number in another form")
            loaded.verify(encode_dss_signature(r, s), said, ec.ECDSA(CURVES[sort[11:]]()))
            return True
    except InvalidSignature:
        return False
    return False


def shortest(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def good_rsa(key: rsa.RSAPublicKey, least: int) -> None:
    must(least <= key.key_size <= 8192, "an RSA key of another size")
    exponent = key.public_numbers().e
    must(exponent % 2 == 1 and 2 <= exponent.bit_length() <= 64, "a strange exponent")


SSH_BEGINS, PGP_BEGINS = "-----BEGIN SSH SIGNATURE-----", "-----BEGIN PGP SIGNATURE-----"
CLEAR = "-----BEGIN PGP SIGNED MESSAGE-----"
HIDDEN = ("-----BEGIN PKCS7-----", "-----BEGIN CMS-----", "-----BEGIN PGP MESSAGE-----")
PACKETS = {b"\x88", b"\x89", b"\x8a", b"\x8b", b"\xc2"}
"""The octets with which a signature of OpenPGP begins that is not in text."""
ENDINGS = (".asc", ".sig", ".sign")


@dataclass(frozen=True)
class Signed:
    """A signature that was found: its format, itself, and the text that it is of."""

    form: str
    signature: str
    text: str
    raw: bytes | None = None


def signatures(message: Message) -> Iterator[Signed]:
    """All signatures of a letter; raises No for one that cannot be read."""
    must(message.get_content_type() not in OPAQUE, "an opaque S/MIME letter, which cannot be read here")
    parts = list(parts_of(message))
    # Whatever is there twice counts once, if the reader sees it.
    shown = [part.text for part in parts if part.kind == "text/plain" and not (part.attached or part.name)]
    read = {tuple(text.split()): text for text in [text_in(parts), *shown]}
    for text in read.values():
        yield from pasted(text)
    beside: list[int] = []
    for entity in message.walk():
        if entity.get_content_type() == "multipart/signed":
            inner = [*leaves(entity)]
            beside += map(id, inner[1:])
            yield whole(entity)
    for part in parts:
        name = part.name.lower()
        if part.source in beside:
            continue
        must(part.kind not in OPAQUE and not name.endswith((".p7m", ".p7s")), "S/MIME that was taken apart")
        must("pkcs7-signature" not in part.kind, "S/MIME that was taken apart")
        if name.endswith(ENDINGS) or part.kind == "application/pgp-signature":
            yield from of_file(part, parts)
        elif name and tuple(part.file.split()) not in read:
            yield from pasted(part.file)


OPAQUE = {"application/pkcs7-mime", "application/x-pkcs7-mime"}


def whole(entity: Message) -> Signed:
    inner = [part for part in entity.get_payload() if isinstance(part, Message)]
    must(len(inner) == 2, "signed in an unknown way")
    kind = inner[1].get_content_type()
    must(kind == "application/pgp-signature" or kind.endswith("pkcs7-signature"), "signed in an unknown way")
    return Signed("openpgp" if "pgp" in kind else "smime", "", text_of(inner[0]))


def of_file(part: Part, parts: Sequence[Part]) -> Iterator[Signed]:
    """The signature in a file that is named as one."""
    text = part.file.lstrip("\ufeff").strip()
    if text.startswith((SSH_BEGINS, PGP_BEGINS)) or (part.content[:1] in PACKETS and "\ufffd" in text):
        stem = part.name.rpartition(".")[0]
        signed = [other for other in parts if stem and other.name == stem]
        must(len(signed) == 1, "not one file of this signature")
        must(SSH.fullmatch(text) or not text.startswith(SSH_BEGINS), "a file that holds more than a signature")
        yield Signed("ssh" if text.startswith(SSH_BEGINS) else "openpgp", text, signed[0].file, signed[0].content)
        return
    must(part.content[:2] not in {b"\xff\xfe", b"\xfe\xff"}, "a file in UTF-16")
    if "-----BEGIN PGP PUBLIC KEY BLOCK-----" in text or part.kind == "application/pgp-keys":
        return
    found = [*pasted(part.file)] if part.name else []
    must(found or part.name.lower().endswith(".asc"), "a file that is no signature")
    yield from found


def unquoted(text: str, mark: str) -> list[int]:
    """The places of a mark outside of quotes."""
    found = [one.start() for one in re.finditer(re.escape(mark), text)]
    return [at for at in found if not text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith(">")]


def pasted(text: str) -> Iterator[Signed]:
    must(not any(unquoted(text, mark) for mark in HIDDEN), "a message that hides its text")
    clear, signed = unquoted(text, CLEAR), unquoted(text, PGP_BEGINS)
    for at in unquoted(text, SSH_BEGINS):
        yield Signed("ssh", text[at:], text[:at])
    for number, at in enumerate(signed):
        above = text[:at]
        if number < len(clear) and clear[number] < at:
            above = re.sub(r"\A[^\n]*\n(?:[A-Za-z]{1,20}:[^\n]*\n)*(?:[^\S\n]*\n)?", "", text[clear[number] : at])
            above = re.sub(r"(?m)^- ", "", above.removesuffix("\n"))
        yield Signed("openpgp", text[at:], above)
    must(len(clear) <= len(signed), "a clear-signed text without its signature")


OPENING = re.compile(rf"(?im)^[^\S\n]*({'|'.join(sorted({name.split()[0] for name in COMMANDS}))})\b")
"""A line that begins with the first word of a command."""


def dense(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n") if line.strip())


def ways(text: str) -> Iterator[bytes]:
    """The octets of a text that may have been signed."""
    for start in dict.fromkeys([0, *(found.start(1) for found in itertools.islice(OPENING.finditer(text), 6))]):
        rest = text[start:]
        yield rest.encode()
        seen = visible(rest)
        unlinked = LINKED.sub(r"\1\4", seen)  # without the links that repeat names, and the line ends before them
        files = [form for one in (trimmed(seen), trimmed(unlinked)) for form in (one, dense(one))]
        untyped = files[2].translate(TYPOGRAPHIC)
        laid_out = [*files, untyped, dense(untyped), *unflowed(rest.replace("\r\n", "\n"))]
        taken_apart = (way for one in (files[1], files[3], dense(untyped)) for way in broken(one))
        for way in (rest.replace("\r\n", "\n"), *laid_out, *taken_apart):
            for end in ("", "\n"):
                made = way.rstrip("\n") + end
                yield from (made.encode(), made.replace("\n", "\r\n").encode())
        yield rest.replace("\r\n", "\n").encode()
        for file, line_end in itertools.product(files, ("\n", "\r\n")):
            made = file.replace("\n", line_end)
            for end in ("", line_end, "\r\n", line_end + "\r\n", " \r\n"):
                yield from (f"{made}{end}".encode(), f"\ufeff{made}{end}".encode())


TYPOGRAPHIC = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "--", "\u2026": "..."}
)


def unflowed(text: str) -> Iterator[str]:
    """RFC 3676, 4: without the blank that stuffs a line, and then with its soft line ends joined."""
    stuffed = [line.removeprefix(" ") for line in text.strip("\n").split("\n")]
    yield "\n".join(stuffed)
    yield "".join(line if line.endswith(" ") and line != "-- " else f"{line}\n" for line in stuffed)


def broken(text: str) -> Iterator[str]:
    """The head of a dense text a field a line, then its body in three ways, and `end` if it is there."""
    closed = re.search(r"\s(end)$", text, re.IGNORECASE)
    content = text[: closed.start()] if closed else text
    words = list(itertools.islice(re.finditer(r"\S+", content), 400))
    fields = [at for at, word in enumerate(words) if at and word[0].lower() in FIELDS]
    at = fields[0] if fields else 400
    head = [" ".join(word[0] for word in words[:at])]
    while at < len(words) and words[at][0].lower() in FIELDS:
        head.append(" ".join(word[0] for word in words[at : at + 2]))
        at += 2
    if at < len(words) and words[at][0].lower() == "final":
        head.append(words[at][0])
        at += 1
    if at < 400:
        content = content[words[at].start() :] if at < len(words) else ""
    tail = [closed[1]] if closed else []
    # On one line, an empty body is an empty one.
    for body in ([content] if content else [], [unwrapped(content)], [content.replace("\n", " ")]):
        yield "\n".join([*(head if at < 400 else []), *body, *tail])


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


def signed_text(message: Message, key: Key, match: Match) -> str | None:
    """The text of a letter that this key signed."""
    found = list(itertools.islice(signatures(message), 2))
    must(len(found) == 1, "not exactly one signature")
    (signed,) = found
    if signed.form != key.format:
        return None
    if key.format in {"openpgp", "smime"}:
        match.open.append(f"the {key.format} signature by {key.fingerprint}")
        return signed.text
    tried = itertools.chain([signed.raw] if signed.raw is not None else [], ways(signed.text))
    for text in dict.fromkeys(tried):
        if by_ssh(key, signed.signature, text, match.server):
            return text.decode("utf-8", "replace")
    return None


PLAIN = {"sk-ssh-ed25519@openssh.com": "ssh-ed25519", "sk-ecdsa-sha2-nistp256@openssh.com": "ecdsa-sha2-nistp256"}
WEBAUTHN = "webauthn-sk-ecdsa-sha2-nistp256@openssh.com"
OPENSSH = re.compile(r"ssh:[!-~]{0,100}", re.ASCII)
HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


def ascii_text(octets: bytes) -> str:
    must(octets.isascii(), "no ASCII")
    return octets.decode()


def without_device(public: str) -> tuple[str, str, str]:
    """The type of the key without its device, that key in base64, and the application: "" for any other key."""
    kind, text = public.split()[:2]
    if kind not in PLAIN:
        return kind, text, ""
    name, *middle, last = strings(unbase64(text))
    application = ascii_text(last)
    must(name == kind.encode(), "another type of key")
    must(OPENSSH.fullmatch(application) or (HOST.fullmatch(application) and "ecdsa" in kind), "no application")
    plain = PLAIN[kind]
    return plain, base64.b64encode(b"".join(map(string, [plain.encode(), *middle]))).decode(), application


def touched(application: str, tail: bytes, said: bytes) -> bytes | None:
    """The octets that the device signed for the octets of SSHSIG; None if a browser was asked for other octets."""
    must(len(tail) >= 5, "a cut signature")
    flags, rest, extensions = tail[0], tail[5:], b""
    must(flags & 0x01 and not flags & 0x40, "nobody touched the key")
    if not application.startswith("ssh:"):
        origin, rest = first(rest)
        client, rest = first(rest)
        extensions, rest = first(rest)
        scheme = "https?" if application == "localhost" else "https"
        page = ascii_text(origin)
        must(re.fullmatch(rf"{scheme}://{re.escape(application)}(:[1-9][0-9]{{0,4}})?", page), "another page")
        challenge = base64.urlsafe_b64encode(said).decode().rstrip("=")
        start = f'{{"type":"webauthn.get","challenge":"{challenge}","origin":"{page}"'.encode()
        if not client.startswith(start) or client[len(start) :].startswith(b',"crossOrigin":true'):
            return None
        said = client
    must(not rest and bool(flags & 0x80) == bool(extensions), "more or less than a signature")
    return hashlib.sha256(application.encode()).digest() + tail[:5] + extensions + hashlib.sha256(said).digest()
