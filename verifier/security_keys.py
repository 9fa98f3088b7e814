"""6.2 Security keys and passkeys."""

from __future__ import annotations

import base64
import hashlib
import re

from verifier.conventions import must
from verifier.text import unbase64

PLAIN = {"sk-ssh-ed25519@openssh.com": "ssh-ed25519", "sk-ecdsa-sha2-nistp256@openssh.com": "ecdsa-sha2-nistp256"}
WEBAUTHN = "webauthn-sk-ecdsa-sha2-nistp256@openssh.com"
OPENSSH = re.compile(r"ssh:[!-~]{0,100}", re.ASCII)
HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


def algorithm(public: str, application: str) -> str:
    return WEBAUTHN if application and not application.startswith("ssh:") else public.split(maxsplit=1)[0]


def string(octets: bytes) -> bytes:
    return len(octets).to_bytes(4, "big") + octets


def first(blob: bytes) -> tuple[bytes, bytes]:
    length = int.from_bytes(blob[:4], "big")
    must(len(blob) >= 4 + length, "a cut string")
    return blob[4 : 4 + length], blob[4 + length :]


def strings(blob: bytes) -> list[bytes]:
    found = []
    while blob:
        one, blob = first(blob)
        found.append(one)
    return found


def ascii_text(octets: bytes) -> str:
    must(octets.isascii(), "no ASCII")
    return octets.decode()


def parted(public: str) -> tuple[str, str, str]:
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
