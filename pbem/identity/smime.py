"""S/MIME certificates and signatures: one signer, signed attributes, the certificate pinned by its fingerprint.

No chain is built and no authority trusted: the registered certificate is the key, and certificates within a signature
count for nothing. asn1crypto takes the structure apart, cryptography verifies. Implements RFC 5652 section 5, RFC
8551, RFC 8419 and RFC 4056; what is refused beyond them follows protocol.md, "Identity".
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from pbem.identity.ed25519_points import WEAK, holds, is_sound
from pbem.identity.verdict import (
    AHEAD,
    CERTIFICATE_BYTES,
    DEMANDS,
    ENCRYPTED,
    FUTURE,
    BadKey,
    BadSignature,
    Key,
    State,
    check_rsa,
)
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asn1crypto import algos, cms, core
    from cryptography import x509

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----([^-]*+)-----END CERTIFICATE-----")
_CURVES = frozenset({"secp256r1", "secp384r1", "secp521r1"})
_DIGESTS: dict[str, hashes.HashAlgorithm] = {
    "sha256": hashes.SHA256(),
    "sha384": hashes.SHA384(),
    "sha512": hashes.SHA512(),
}
_LABEL, _POLICY = "1.2.840.113549.1.9.16.2.2", "1.2.840.113549.1.9.16.2.15"
"""Attributes by which a signer says who may use a signature, or how to judge it (RFC 2634 3, RFC 5126 5.8)."""
_DAMAGED = Phrase("The S/MIME signature is damaged.")
# The errors that asn1crypto may raise on hostile bytes.
_BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)


# DER and BER (X.690), walked through once before asn1crypto takes them apart: for tag numbers, object identifiers and
# contents in pieces, it takes time that grows with the square of the length (reliability.md, case 31).
PIECES = 20_000  # a letter with a chain of certificates has a thousand
DEPTH = 64
IDENTIFIER = 100  # octets of an object identifier
WORD = 10_000  # octets of any other primitive that is no string of octets or bits
_OBJECT_IDENTIFIERS = frozenset({0x06, 0x0D})
_STRINGS = frozenset({0x03, 0x04})
_CONSTRUCTED, _HIGH = 0x20, 0x1F


def walk_der(data: bytes) -> None:
    """Walk through one element and its contents; raises ValueError if it is damaged, or unreasonably large."""
    at = 0
    # Where each open element ends at the latest, and True if a mark ends it; below them, the octets as a whole.
    ends = [(len(data), True)]
    for _ in range(PIECES):
        tag, length, at = _head(data, at)
        last, is_marked = ends[-1]
        # An element of indefinite length (X.690 8.1.3.6) ends at two zero octets.
        if length is None:
            ends.append((len(data), True))
        elif at + length > last:
            raise ValueError("longer than what it is in")
        elif is_marked and tag == length == 0:
            ends.pop()
        # Constructed: go into it. Anything else is skipped, unless parsers would take long for it.
        elif tag & _CONSTRUCTED:
            ends.append((at + length, False))
        else:
            if tag not in _STRINGS and length > (IDENTIFIER if tag in _OBJECT_IDENTIFIERS else WORD):
                raise ValueError("too long a word")
            at += length
        # Leave the elements that end here.
        while ends[-1:] == [(at, False)]:
            ends.pop()
        if len(ends) < 2:
            return
        if len(ends) > DEPTH + 1:
            raise ValueError("too deep")
    raise ValueError("too many pieces")


def _head(data: bytes, at: int) -> tuple[int, int | None, int]:
    """Tag and length of an element (None: up to a mark), and where it begins; raises ValueError."""
    if at + 2 > len(data):
        raise ValueError("ends too early")
    tag, first = data[at], data[at + 1]
    if tag & _HIGH == _HIGH:
        raise ValueError("no such tag in a signature")
    at += 2
    if first == 0x80:
        if not tag & _CONSTRUCTED:
            raise ValueError("a primitive without a length")
        return tag, None, at
    if first < 0x80:
        return tag, first, at
    octets = first & 0x7F
    if octets > 4:
        raise ValueError("too long a length")
    return tag, int.from_bytes(data[at : at + octets], "big"), at + octets


def parse(data: bytes | str, at: datetime | None = None) -> Key:
    """Read one certificate, PEM or DER; raises `BadKey`."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    damaged = BadKey(Phrase("This certificate is damaged: send it whole, as .pem or .crt."))
    try:
        text = data if isinstance(data, str) else data.decode("ascii")
    except UnicodeDecodeError:
        octets = bytes(data)  # type: ignore[arg-type]
    else:
        found = _CERTIFICATE.findall(text)
        if len(found) != 1:
            raise BadKey(Phrase("Send one certificate, your own, without those of its authorities."))
        try:
            octets = base64.b64decode("".join(found[0].split()), validate=True)
        except ValueError as error:
            raise damaged from error
    try:
        certificate = x509.load_der_x509_certificate(octets)
        public = certificate.public_key()
        usages = (one.value for one in certificate.extensions if isinstance(one.value, x509.KeyUsage))
        usage = next(usages, None)
    except (
        *(ValueError, TypeError, UnsupportedAlgorithm),
        *(x509.DuplicateExtension, x509.InvalidVersion, x509.UnsupportedGeneralNameType),  # of no common kind
    ) as error:
        raise damaged from error
    _check_key(public)
    if at is not None:
        if certificate.serial_number <= 0:  # RFC 5280 4.1.2.2; later releases of the library will not read it
            raise damaged
        _check_certificate(certificate, octets, at)
    if usage is not None and not (usage.digital_signature or usage.content_commitment):
        raise BadKey(Phrase("This certificate is not meant for signatures."))
    fingerprint = hashlib.sha256(octets).digest().hex(":").upper()
    pem = certificate.public_bytes(Encoding.PEM).decode()
    return Key("smime", fingerprint, pem, _standing(certificate, at))


def _check_certificate(certificate: x509.Certificate, octets: bytes, at: datetime) -> None:
    """Refuse at registration what is costly, or would be judged differently on another day; raises `BadKey`."""
    from cryptography import x509

    if len(octets) > CERTIFICATE_BYTES:
        raise BadKey(Phrase("This certificate is too long: {most} octets are enough.", most=CERTIFICATE_BYTES))
    if certificate.not_valid_before_utc > at + AHEAD:
        raise BadKey(Phrase("This certificate is not valid yet."))
    # RFC 5280 4.2: who does not know a critical extension must refuse the certificate.
    if any(one.critical and isinstance(one.value, x509.UnrecognizedExtension) for one in certificate.extensions):
        raise BadKey(Phrase("This certificate has an unknown condition (a critical extension)."))


def _check_key(public: object) -> None:
    if isinstance(public, rsa.RSAPublicKey):
        check_rsa(public.public_numbers().n, public.public_numbers().e)
    elif isinstance(public, ec.EllipticCurvePublicKey):
        if public.curve.name not in _CURVES:
            raise BadKey(Phrase("The elliptic curves accepted are P-256, P-384, P-521 and Ed25519."))
    elif not isinstance(public, ed25519.Ed25519PublicKey):
        raise BadKey(Phrase("Certificates are accepted with RSA, ECDSA and Ed25519 keys."))
    elif not is_sound(public.public_bytes_raw()):
        raise BadKey(WEAK)


def _standing(certificate: x509.Certificate, at: datetime | None) -> State:
    return "expired" if at is not None and certificate.not_valid_after_utc <= at else "pinned"


def _certificate(key: Key) -> x509.Certificate:
    from cryptography import x509

    return x509.load_pem_x509_certificate(key.public.encode())


def cannot_encrypt(key: Key, at: datetime) -> Phrase | None:
    """The reason why nothing can be encrypted to this certificate at this time; None if it can."""
    from cryptography import x509

    certificate = _certificate(key)
    if certificate.not_valid_after_utc <= at:
        return Phrase("it expired on {day}", day=certificate.not_valid_after_utc.date().isoformat())
    if not isinstance(certificate.public_key(), rsa.RSAPublicKey):
        return Phrase(
            "letters are encrypted to S/MIME certificates of RSA keys alone: an OpenPGP key can be of any kind"
        )
    usages = (one.value for one in certificate.extensions if isinstance(one.value, x509.KeyUsage))
    if not all(usage.key_encipherment for usage in usages):
        return Phrase("it is not meant for encryption")
    return None


def encrypt(keys: Sequence[Key], content: bytes) -> bytes:
    """The content, encrypted to these certificates, as DER (RFC 5652 6, AES-256-CBC)."""
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.hazmat.primitives.serialization.pkcs7 import PKCS7EnvelopeBuilder, PKCS7Options

    builder = PKCS7EnvelopeBuilder().set_data(content).set_content_encryption_algorithm(AES256)
    for key in keys:
        builder = builder.add_recipient(_certificate(key))
    return builder.encrypt(Encoding.DER, [PKCS7Options.Binary])


class SmimeSignature(msgspec.Struct, frozen=True):
    """SignedData with one SignerInfo, with the names of RFC 5652."""

    content: bytes | None
    """The content that it carries; None when it is detached."""
    issuer: str
    """For the player: how the signer's certificate is named."""
    signer: cms.SignerInfo
    digest: str
    message_digest: bytes
    signed: bytes
    """The octets of the attributes, which are signed."""
    signature: bytes

    def claims(self, key: Key) -> bool:
        """True if the signature names this certificate."""
        from asn1crypto import x509 as asn1
        from cryptography.hazmat.primitives.serialization import Encoding

        try:
            certificate = asn1.Certificate.load(_certificate(key).public_bytes(Encoding.DER))
            sid = self.signer["sid"]
            if sid.name == "subject_key_identifier":
                return bool(certificate.key_identifier == sid.chosen.native)
            return bool(
                certificate.serial_number == sid.chosen["serial_number"].native
                and certificate.issuer.dump() == sid.chosen["issuer"].dump()
            )
        except _BROKEN:
            return False

    def covers(self, key: Key, message: bytes, at: datetime | None) -> tuple[bytes, State] | None:
        """The signed bytes, and the state of the key on arrival; None if the signature is not over this message."""
        if not hmac.compare_digest(hashlib.new(self.digest, message).digest(), self.message_digest):
            return None
        try:
            certificate = _certificate(key)
            self._verify(certificate.public_key())
        except (InvalidSignature, UnsupportedAlgorithm, *_BROKEN):
            return None
        if at is not None:
            try:
                # Refuse on arrival what might be judged differently another day, or elsewhere.
                for attribute in self.signer["signed_attrs"]:
                    kind, values = attribute["type"], attribute["values"]
                    if kind.dotted in {_LABEL, _POLICY}:
                        raise BadSignature(DEMANDS)
                    if kind.native != "signing_time":
                        continue
                    if len(values) != 1 or not isinstance(values[0].native, datetime):
                        raise BadSignature(Phrase("The S/MIME signature holds an attribute twice."))
                    if values[0].native > at + AHEAD:
                        raise BadSignature(FUTURE)
            except _BROKEN as error:
                raise BadSignature(_DAMAGED, "bad") from error
        return message, _standing(certificate, at)

    def _verify(self, public: object) -> None:
        """Verify the signature over the signed attributes; raises InvalidSignature, or ValueError."""
        algorithm, data = self.signer["signature_algorithm"], self.signed
        name = algorithm["algorithm"].native
        if isinstance(public, ed25519.Ed25519PublicKey):
            if name != "ed25519" or not holds(public.public_bytes_raw(), self.signature, data):
                raise InvalidSignature
        elif isinstance(public, ec.EllipticCurvePublicKey):
            if not name.endswith("_ecdsa"):
                raise InvalidSignature
            public.verify(self.signature, data, ec.ECDSA(_DIGESTS[name.removesuffix("_ecdsa")]))
        elif isinstance(public, rsa.RSAPublicKey):
            if name == "rsassa_pss":
                method, digest = _pss(algorithm["parameters"])
                public.verify(self.signature, data, method, digest)
            elif name == "rsassa_pkcs1v15":
                public.verify(self.signature, data, padding.PKCS1v15(), _DIGESTS[self.digest])
            elif name.endswith("_rsa"):
                public.verify(self.signature, data, padding.PKCS1v15(), _DIGESTS[name.removesuffix("_rsa")])
            else:
                raise InvalidSignature
        else:
            raise InvalidSignature


def _pss(parameters: algos.RSASSAPSSParams) -> tuple[padding.PSS, hashes.HashAlgorithm]:
    name = parameters["hash_algorithm"]["algorithm"].native
    mask = parameters["mask_gen_algorithm"]
    salt = parameters["salt_length"].native
    if mask["algorithm"].native != "mgf1" or mask["parameters"]["algorithm"].native != name or not 20 <= salt <= 1024:
        raise InvalidSignature
    return padding.PSS(padding.MGF1(_DIGESTS[name]), salt), _DIGESTS[name]


def read_signature(data: bytes) -> SmimeSignature:
    """Take apart the one signature of a CMS structure; raises `BadSignature`."""
    from asn1crypto import cms

    try:
        walk_der(data)
        info = cms.ContentInfo.load(data)
        kind = info["content_type"].native
        if kind == "enveloped_data":
            raise BadSignature(ENCRYPTED)
        if kind != "signed_data":
            raise BadSignature(
                Phrase(
                    "An S/MIME letter must be signed but not encrypted; this is {kind}.", kind=ascii(str(kind)[:40])
                )
            )
        return _taken_apart(info["content"])
    except _BROKEN as error:
        raise BadSignature(_DAMAGED, "bad") from error


def _taken_apart(signed: cms.SignedData) -> SmimeSignature:
    if signed["encap_content_info"]["content_type"].native != "data":
        raise BadSignature(Phrase("The S/MIME signature does not sign a letter."))
    encapsulated = signed["encap_content_info"]["content"]
    content = None if encapsulated.native is None else bytes(encapsulated.native)
    signers = signed["signer_infos"]
    if len(signers) != 1:
        raise BadSignature(Phrase("An S/MIME letter must have one signer; this has {count}.", count=len(signers)))
    signer = signers[0]
    digest = signer["digest_algorithm"]["algorithm"].native
    if digest not in _DIGESTS:
        raise BadSignature(
            Phrase(
                "S/MIME signatures are accepted over SHA-256, SHA-384 and SHA-512, not {digest}.",
                digest=ascii(digest),
            )
        )
    values = _attributes(signer["signed_attrs"])
    if values["content_type"].native != "data":
        raise BadSignature(Phrase("The S/MIME signature does not sign a letter."))
    algorithm = signer["signature_algorithm"]
    name = str(algorithm["algorithm"].native)
    plain = name.removesuffix("_rsa").removesuffix("_ecdsa")
    if plain not in {*_DIGESTS, "ed25519", "rsassa_pkcs1v15", "rsassa_pss"}:
        raise BadSignature(Phrase("S/MIME signatures of the kind {name} are not accepted.", name=ascii(name[:40])))
    if name == "rsassa_pss" and algorithm["parameters"]["hash_algorithm"]["algorithm"].native not in _DIGESTS:
        raise BadSignature(Phrase("S/MIME signatures are accepted over SHA-256, SHA-384 and SHA-512."))
    # RFC 5652 5.4: what is signed has the tag of a SET OF, not that of the field.
    attributes = b"\x31" + signer["signed_attrs"].dump()[1:]
    sid = signer["sid"]
    issuer = (
        sid.chosen["issuer"].human_friendly if sid.name == "issuer_and_serial_number" else sid.chosen.native.hex()
    )
    return SmimeSignature(
        content, issuer[:100], signer, digest, values["message_digest"].native, attributes, signer["signature"].native
    )


def _attributes(attributes: cms.CMSAttributes) -> dict[str, core.Asn1Value]:
    """Content type and message digest, each there once with one value (RFC 5652 11.1 and 11.2)."""
    if attributes.native is None or not len(attributes):
        raise BadSignature(
            Phrase("The S/MIME signature has no signed attributes: sign with them (openssl: not -noattr).")
        )
    values: dict[str, core.Asn1Value] = {}
    for attribute in attributes:
        name = attribute["type"].native
        if name in {"content_type", "message_digest"}:
            if name in values or len(attribute["values"]) != 1:
                raise BadSignature(Phrase("The S/MIME signature holds an attribute twice."))
            values[name] = attribute["values"][0]
    if len(values) != 2:
        raise BadSignature(Phrase("The S/MIME signature lacks its content type or message digest."))
    return values
