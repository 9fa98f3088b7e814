"""Mail domains for tests: a throw-away key, its record as the DNS would give it, and letters signed with it.

`sign` is dkimpy's but for the arithmetic; `craft` makes, by RFC 6376 3.7 alone, the signatures that no honest program
would.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import dkim
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from dkim.canonicalization import Relaxed

if TYPE_CHECKING:
    from datetime import datetime

    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

HEADERS = ("from", "to", "subject", "date", "message-id")


@cache
def rsa_key(bits: int = 2048, number: int = 0) -> RSAPrivateKey:  # noqa: ARG001 - the number asks for another one
    return rsa.generate_private_key(65537, bits)


def _signature(text: Any, key: RSAPrivateKey) -> bytes:
    """RSASSA-PKCS1-v1_5 over what was hashed: dkimpy's own arithmetic is Python's, and slow."""
    return key.sign(text.digest(), padding.PKCS1v15(), Prehashed(hashes.SHA256()))


@dataclass
class Domain:
    """A domain that signs what its users send."""

    name: str
    selector: str = "s1"
    key: RSAPrivateKey = field(default_factory=rsa_key)

    @property
    def where(self) -> str:
        return f"{self.selector}._domainkey.{self.name}"

    @property
    def record(self) -> str:
        public = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return f"v=DKIM1; k=rsa; p={base64.b64encode(public).decode()}"

    def sign(self, raw: bytes, at: datetime) -> bytes:
        """The letter with the signature that dkimpy makes at this time."""
        with (
            mock.patch.object(dkim, "time", SimpleNamespace(time=at.timestamp)),
            mock.patch.object(dkim, "parse_pem_private_key", return_value=self.key),
            mock.patch.object(dkim, "RSASSA_PKCS1_v1_5_sign", _signature),
        ):
            made: bytes = dkim.sign(
                raw, self.selector.encode(), self.name.encode(), b"", canonicalize=(b"relaxed", b"relaxed")
            )
        return made + raw

    def craft(self, raw: bytes, *, headers: tuple[str, ...] = HEADERS, drop: str = "", **tags: str) -> bytes:
        """The letter with a signature that has these tags, over these headers."""
        head, _, text = raw.partition(b"\r\n\r\n")
        algorithm = hashes.SHA1() if tags.get("a") == "rsa-sha1" else hashes.SHA256()
        digest = hashlib.sha1 if tags.get("a") == "rsa-sha1" else hashlib.sha256
        body = Relaxed.canonicalize_body(text)
        if "l" in tags:
            body = body[: int(tags["l"])]
        bh = base64.b64encode(digest(body).digest()).decode()
        found = {"v": "1", "a": "rsa-sha256", "c": "relaxed/relaxed", "d": self.name, "s": self.selector}
        found |= {"h": ":".join(headers), "bh": bh, **tags, "b": ""}
        value = "; ".join(f"{name}={text}" for name, text in found.items() if name != drop)
        fields = re.findall(rb"(?m)^([!-9;-~]+):((?:.*\r\n[ \t])*.*)", head + b"\r\n")
        fields = [(name, value.rstrip(b"\r") + b"\r\n") for name, value in fields]
        canonical = Relaxed.canonicalize_headers(dkim.select_headers(fields, [name.encode() for name in headers]))
        own = Relaxed.canonicalize_headers([(b"dkim-signature", value.encode())])[0]
        data = b"".join(name + b":" + text for name, text in canonical) + own[0] + b":" + own[1].rstrip()
        signature = self.key.sign(data, padding.PKCS1v15(), algorithm)
        return b"DKIM-Signature: " + value.encode() + base64.b64encode(signature) + b"\r\n" + raw
