"""CMS signed data by the sample's RSA key, field by field: as a sound program makes it, and otherwise."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any

from asn1crypto import algos, cms, core
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from data.material import KEYS
from signing.signers import private_key

if TYPE_CHECKING:
    from collections.abc import Sequence

FORM = "orders m1 turn 1\nserver play.example\nplayer ann\nRv1\nend\n"
ENTITY = b"Content-Type: text/plain\r\n\r\n" + FORM.encode().replace(b"\n", b"\r\n")


@cache
def certificate() -> cms.Certificate:
    loaded = x509.load_pem_x509_certificate((KEYS / "sm-rsa.crt").read_bytes())
    return cms.Certificate.load(loaded.public_bytes(Encoding.DER))


def attribute(kind: str, *values: core.Asn1Value) -> cms.CMSAttribute:
    return cms.CMSAttribute({"type": kind, "values": list(values)})


def signer(
    content: bytes = ENTITY,
    *more: cms.CMSAttribute | bytes,
    kind: str = "data",
    digest: str = "sha256",
    without: str = "",
    unsigned: Sequence[cms.CMSAttribute] = (),
    bare: bool = False,
) -> cms.SignerInfo:
    """A signer by the sample's RSA key, with these attributes beside the two that must be."""
    private = private_key("sm-rsa.key")
    assert isinstance(private, rsa.RSAPrivateKey)
    given = {
        "content_type": attribute("content_type", cms.ContentType(kind)),
        "message_digest": attribute("message_digest", core.OctetString(hashlib.new(digest, content).digest())),
    }
    octets = [one.dump() for name, one in given.items() if name != without]
    octets += [one if isinstance(one, bytes) else one.dump() for one in more]
    signed = cms.CMSAttributes(contents=b"".join(octets))
    name = certificate()
    algorithm: Any = {"sha1": hashes.SHA1(), "sha224": hashes.SHA224(), "sha256": hashes.SHA256()}[digest]
    facts: dict[str, Any] = {
        "version": "v1",
        "sid": cms.SignerIdentifier(
            "issuer_and_serial_number",
            cms.IssuerAndSerialNumber({"issuer": name.issuer, "serial_number": name.serial_number}),
        ),
        "digest_algorithm": algos.DigestAlgorithm({"algorithm": digest}),
        "signature_algorithm": algos.SignedDigestAlgorithm({"algorithm": f"{digest}_rsa"}),
        "signature": private.sign(content if bare else signed.dump(), padding.PKCS1v15(), algorithm),
    }
    if not bare:
        facts["signed_attrs"] = signed
    if unsigned:
        facts["unsigned_attrs"] = cms.CMSAttributes(list(unsigned))
    return cms.SignerInfo(facts)


def signed_data(*signers: cms.SignerInfo, content: bytes | None = ENTITY) -> bytes:
    made: bytes = cms.ContentInfo(
        {
            "content_type": "signed_data",
            "content": cms.SignedData(
                {
                    "version": "v1",
                    "digest_algorithms": [algos.DigestAlgorithm({"algorithm": "sha256"})],
                    "encap_content_info": {"content_type": "data", **({"content": content} if content else {})},
                    "signer_infos": list(signers),
                }
            ),
        }
    ).dump()
    return made
