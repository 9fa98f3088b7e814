"""OpenPGP certificates and signatures made packet by packet, dated and qualified as a test wants (RFC 9580)."""

from __future__ import annotations

import base64
import hashlib
import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

BORN = datetime(2024, 1, 1, tzinfo=UTC)
_ED25519 = bytes.fromhex("092b06010401da470f01")  # length and OID, as of the older EdDSA keys
BINARY, TEXT, CERTIFICATION, BINDING, REVOCATION, SUBKEY_REVOCATION = 0, 1, 0x13, 0x18, 0x20, 0x28


def packet(tag: int, body: bytes) -> bytes:
    return bytes([0xC0 | tag, 0xFF]) + struct.pack(">I", len(body)) + body


def number(octets: bytes) -> bytes:
    value = int.from_bytes(octets, "big")
    return struct.pack(">H", value.bit_length()) + value.to_bytes((value.bit_length() + 7) // 8, "big")


def seconds(time: datetime) -> bytes:
    return struct.pack(">I", int(time.timestamp()))


def sub(kind: int, body: bytes, *, critical: bool = False) -> bytes:
    return bytes([len(body) + 1, kind | 0x80 * critical]) + body


def expires(days: int) -> bytes:
    return sub(3, struct.pack(">I", days * 86400))


def notation(*, critical: bool) -> bytes:
    name, value = b"proof@pbem.example", b"once"
    return sub(20, b"\x80\0\0\0" + struct.pack(">HH", len(name), len(value)) + name + value, critical=critical)


def armored(kind: str, data: bytes) -> str:
    return f"-----BEGIN PGP {kind}-----\n\n{base64.encodebytes(data).decode()}-----END PGP {kind}-----\n"


@dataclass
class Signer:
    """Somebody with an Ed25519 key and whatever certificate is to be made of it."""

    key: Ed25519PrivateKey = field(default_factory=lambda: Ed25519PrivateKey.from_private_bytes(b"s" * 32))
    born: datetime = BORN
    point: bytes = b""
    """In place of the key's own."""

    @property
    def body(self) -> bytes:
        point = self.point or self.key.public_key().public_bytes_raw()
        return b"\x04" + seconds(self.born) + b"\x16" + _ED25519 + number(b"\x40" + point)

    @property
    def fingerprint(self) -> bytes:
        return hashlib.sha1(self.hashed(self.body)).digest()

    @staticmethod
    def hashed(body: bytes) -> bytes:
        """A key as it is signed (RFC 9580 5.2.4)."""
        return b"\x99" + struct.pack(">H", len(body)) + body

    def signature(
        self,
        kind: int,
        data: bytes,
        at: datetime | None = BORN,
        *said: bytes,
        made: bytes = b"",
        issuer: bytes | None = None,
    ) -> bytes:
        """A packet, undated if made at no time; `made` takes the place of R and S, `issuer` of the key's name."""
        dated = sub(2, seconds(at), critical=True) if at else b""
        named = sub(33, b"\x04" + self.fingerprint) if issuer is None else issuer
        area = dated + named + b"".join(said)
        signed = bytes([4, kind, 22, 8]) + struct.pack(">H", len(area)) + area
        digest = hashlib.sha256(data + signed + b"\x04\xff" + struct.pack(">I", len(signed))).digest()
        made = made or self.key.sign(digest)
        return packet(2, signed + b"\0\0" + digest[:2] + number(made[:32]) + number(made[32:]))

    def over(self, text: bytes, at: datetime = BORN, *said: bytes, kind: int = TEXT, made: bytes = b"") -> str:
        """The armored signature of a document; a text's has its line ends made CR LF."""
        data = text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") if kind == TEXT else text
        return armored("SIGNATURE", self.signature(kind, data, at, *said, made=made))

    def certificate(self, *more: bytes, valid_days: int = 0, names: int = 1, behind: bytes = b"") -> str:
        """The public key block: primary key, what stands behind it, certified user ids, and more."""
        flags = sub(27, b"\x03") + (sub(9, struct.pack(">I", valid_days * 86400)) if valid_days else b"")
        users = [f"Ann {at} <ann@mail.example>".encode() for at in range(names)]
        packets = [packet(6, self.body), behind]
        for user in users:
            data = self.hashed(self.body) + b"\xb4" + struct.pack(">I", len(user)) + user
            packets += [packet(13, user), self.signature(CERTIFICATION, data, self.born, flags)]
        return armored("PUBLIC KEY BLOCK", b"".join([*packets, *more]))

    def subkey(self, body: bytes, *, valid_days: int = 0, undated: bool = False, revoked: bool = False) -> bytes:
        """A subkey that the primary key binds, by a second signature that is `undated`, too; and perhaps revokes."""
        data = self.hashed(self.body) + self.hashed(body)
        said = sub(27, b"\x04") + (sub(9, struct.pack(">I", valid_days * 86400)) if valid_days else b"")
        more = self.signature(BINDING, data, None, said) if undated else b""
        more += self.signature(SUBKEY_REVOCATION, data, self.born) if revoked else b""
        return packet(14, body) + self.signature(BINDING, data, self.born, said) + more


def x25519_body(point: bytes) -> bytes:
    """The body of an X25519 key packet (RFC 9580 5.5.5.7)."""
    return b"\x04" + seconds(BORN) + b"\x19" + point


def rsa_body(modulus: int, exponent: int = 65537) -> bytes:
    """The body of an RSA key packet."""
    numbers = [number(value.to_bytes((value.bit_length() + 7) // 8, "big")) for value in (modulus, exponent)]
    return b"\x04" + seconds(BORN) + b"\x01" + b"".join(numbers)
