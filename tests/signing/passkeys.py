"""A passkey as a browser and its device have it: signatures that are SSH's, of a page that asks for them.

Every field can be made wrong: `Wish` says what is signed otherwise than an honest browser would.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from pbem.identity import ssh
from pbem.identity.security_keys import mpint, string

if TYPE_CHECKING:
    from collections.abc import Iterable

WEBAUTHN = b"webauthn-sk-ecdsa-sha2-nistp256@openssh.com"
TYPE = b"sk-ecdsa-sha2-nistp256@openssh.com"


class Wish(msgspec.Struct, frozen=True):
    """The parameters of an assertion."""

    origin: str = "https://play.example"
    host: str = "play.example"
    """The host whose hash the device signs."""
    flags: int = 0x1D
    counter: int = 0
    extensions: bytes = b""
    start: str = '{"type":"webauthn.get","challenge":"'
    challenge: bytes = b""
    """What the page asked for, if not the octets of SSH's signature."""
    rest: str = ',"crossOrigin":false}'
    shown: str = ""
    """The page that the signature names, if not the one in the browser's JSON."""
    behind: bytes = b""


HONEST = Wish()


def public(key: ec.EllipticCurvePrivateKey, application: str = "play.example") -> str:
    """The line of a key."""
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return f"{TYPE.decode()} {base64.b64encode(_blob(point, application)).decode()}"


def _blob(point: bytes, application: str) -> bytes:
    return b"".join(map(string, (TYPE, b"nistp256", point, application.encode())))


def sign(
    key: ec.EllipticCurvePrivateKey,
    text: bytes,
    namespace: str = "pbem@play.example",
    wish: Wish = HONEST,
    application: str = "play.example",
) -> str:
    """The signature of a text, as the page writes it."""
    fields = (namespace.encode(), b"", b"sha512", hashlib.sha512(text).digest())
    asked = base64.urlsafe_b64encode(wish.challenge or b"SSHSIG" + _strings(fields)).decode().rstrip("=")
    client = f'{wish.start}{asked}","origin":"{wish.origin}"{wish.rest}'.encode()
    state = bytes([wish.flags]) + wish.counter.to_bytes(4, "big")
    signed = hashlib.sha256(wish.host.encode()).digest() + state + wish.extensions + hashlib.sha256(client).digest()
    r, s = decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA256(), deterministic_signing=True)))
    shown = (wish.shown or wish.origin).encode()
    inner = (
        _strings((WEBAUTHN, mpint(r) + mpint(s))) + state + _strings((shown, client, wish.extensions)) + wish.behind
    )
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    blob = b"SSHSIG\0\0\0\1" + _strings((_blob(point, application), *fields[:3], inner))
    return armored(blob)


def _strings(fields: Iterable[bytes]) -> bytes:
    return b"".join(map(string, fields))


def armored(blob: bytes) -> str:
    lines = base64.encodebytes(blob).decode()
    return f"{ssh.BEGIN}\n{lines}{ssh.END}\n"
