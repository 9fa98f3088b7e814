"""OpenPGP keys and signatures: certificates pinned whole, one detached or clear-signed signature at a time.

Here live bytes and keys alone: which text of a letter is signed is for `judge` to find. The cryptography is
Sequoia's; packets are counted here before it sees them, so that nothing compressed or encrypted is ever
unpacked. Sequoia judges a key at the signature's own date, therefore expiry and revocation are judged here, at
receipt. Implements RFC 9580 sections 6 and 7 and RFC 3156; what is refused beyond them follows protocol.md,
"Identity".
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from pbem.identity.verdict import BadKey, BadSignature, Key, State
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pysequoia import Cert, Sig
    from pysequoia.packet import Packet

__all__ = ["CLEAR", "MESSAGE", "SIGNATURE", "Signature", "canonical", "is_signature", "parse", "read"]

CLEAR = "-----BEGIN PGP SIGNED MESSAGE-----"
SIGNATURE = "-----BEGIN PGP SIGNATURE-----"
MESSAGE = "-----BEGIN PGP MESSAGE-----"
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

_KEY_BYTES = (
    48 * 1024
)  # keys stand in every transcript; photographs and strangers' certifications do not belong there
_SECRET = frozenset({5, 7})
_OF_A_KEY = frozenset({2, 6, 10, 12, 13, 14, 17, 21})
_VERSIONS = frozenset({4, 6})
_HEADER = re.compile(r"\s*[A-Za-z-]{1,20}: ")
_Value = TypeVar("_Value")


class _FailedError(Exception):
    """Sequoia refused, for whatever reason."""


def _sequoia(call: Callable[[], _Value]) -> _Value:
    try:
        return call()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the library is no Exception
        raise _FailedError from error


def _unarmored(text: str, begin: str) -> bytes:
    """The bytes within armor (RFC 9580 6.2), headers and checksum skipped; raises ValueError."""
    head, mark, rest = text.partition(begin)
    body, closed, _ = rest.partition(begin.replace("BEGIN", "END"))
    if not mark or not closed or head.strip():
        raise ValueError("no armor")
    words = " ".join(line for line in body.splitlines() if not _HEADER.match(line)).split()
    if words and len(words[-1]) == 5 and words[-1].startswith("="):
        words.pop()
    return base64.b64decode("".join(words), validate=True)


def _packets(data: bytes) -> Iterator[tuple[int, int]]:
    """Tag and size of each packet (RFC 9580 4.2); raises ValueError at partial, open or broken lengths."""
    at = 0
    while at < len(data):
        first = data[at]
        if not first & 0x80:
            raise ValueError("no packet")
        if first & 0x40:
            tag, (size, start) = first & 0x3F, _new_length(data, at + 1)
        else:
            tag, width = first >> 2 & 0x0F, (1, 2, 4, 0)[first & 3]
            if not width:
                raise ValueError("open length")
            start = at + 1 + width
            size = int.from_bytes(data[at + 1 : start], "big")
        if start + size > len(data):
            raise ValueError("cut off")
        yield tag, size
        at = start + size


def _new_length(data: bytes, at: int) -> tuple[int, int]:
    first = data[at] if at < len(data) else 255
    if first < 192:
        return first, at + 1
    if first < 224:
        return (first - 192 << 8) + int.from_bytes(data[at + 1 : at + 2], "big") + 192, at + 2
    if first < 255:
        raise ValueError("partial length")
    return int.from_bytes(data[at + 1 : at + 5], "big"), at + 5


def parse(data: bytes | str, at: datetime | None = None) -> Key:
    """Read a public key block, or the bytes of one; raises `BadKey`."""
    damaged = BadKey(Phrase("This OpenPGP key is damaged: send the whole block that `gpg --export --armor` prints."))
    if isinstance(data, bytes) and data[:1] < b"\x80":
        data = data.decode("utf-8", "replace").lstrip("\ufeff")
    try:
        raw = _unarmored(data.strip(), KEY) if isinstance(data, str) else data
        tags = [tag for tag, _ in _packets(raw)]
    except (ValueError, binascii.Error) as error:
        raise damaged from error
    if _SECRET & {*tags}:
        raise BadKey(
            Phrase("This is a private key: keep it to yourself, and send what `gpg --export --armor` prints.")
        )
    if tags.count(6) != 1 or tags[0] != 6 or not _OF_A_KEY.issuperset(tags):
        raise BadKey(Phrase("Send one OpenPGP key, and nothing beside it."))
    if len(raw) > _KEY_BYTES:
        raise BadKey(
            Phrase("This OpenPGP key is too long: `gpg --export-options export-minimal --export --armor` is enough.")
        )
    try:
        return _key(raw, at)
    except _FailedError as error:
        raise damaged from error


def _key(raw: bytes, at: datetime | None) -> Key:
    import pysequoia  # noqa: PLC0415 - a large library, and most commands need none of it

    cert = _sequoia(lambda: pysequoia.Cert.from_bytes(raw))
    whole = _sequoia(lambda: bytes(cert))
    armor = _sequoia(lambda: pysequoia.armor(whole, pysequoia.ArmorKind.PublicKey))
    names = _sequoia(lambda: [str(name) for name in cert.user_ids])
    comment = " ".join((names or [""])[0].split())[:80]
    state = _standing(cert, cert.fingerprint, at)
    return Key("openpgp", cert.fingerprint.upper(), armor.replace("\r\n", "\n"), comment, state)


def _cert(key: Key) -> Cert:
    import pysequoia  # noqa: PLC0415 - see above

    return _sequoia(lambda: pysequoia.Cert.from_bytes(_unarmored(key.public.strip(), KEY)))


def _pile(data: bytes) -> list[Packet]:
    from pysequoia.packet import PacketPile  # noqa: PLC0415 - see above

    return _sequoia(lambda: list(PacketPile.from_bytes(data)))


def _standing(cert: Cert, signer: str, at: datetime | None) -> State:
    """Whether the certificate and the key in it that signed count at this time; None asks not about expiry.

    A revocation counts from its receipt, whatever date it or the signature bears.
    """
    from pysequoia.packet import SignatureType  # noqa: PLC0415 - see above

    if _sequoia(lambda: cert.is_revoked):
        return "revoked"
    ends = [_sequoia(lambda: cert.expiration)]
    if signer != cert.fingerprint:
        bindings, born = [], None
        current = ""
        for packet in _pile(bytes(cert)):
            current = packet.fingerprint or current
            if current != signer:
                continue
            born = born or packet.key_created
            if packet.signature_type == SignatureType.SubkeyRevocation:
                return "revoked"
            if packet.signature_type == SignatureType.SubkeyBinding:
                bindings.append(packet)
        newest = max(bindings, key=lambda packet: packet.signature_created or datetime.min.replace(tzinfo=UTC))
        if born is not None and newest.key_validity_period:
            ends.append(born + newest.key_validity_period)
    return "expired" if at is not None and any(end is not None and end <= at for end in ends) else "pinned"


def is_signature(data: bytes) -> bool:
    """Whether bytes are a binary OpenPGP signature: packets of this kind alone."""
    try:
        tags = {tag for tag, _ in _packets(data)}
    except ValueError:
        return False
    return tags == {2}


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature, not yet verified; what it says of its issuer only chooses the key that is tried."""

    sig: Sig
    issuer: str
    is_text: bool

    def claims(self, key: Key) -> bool:
        """Whether the signature names this key or a subkey of it."""
        try:
            names = [packet.fingerprint for packet in _pile(bytes(_cert(key))) if packet.fingerprint]
        except (_FailedError, ValueError):
            return False
        return any(name == self.issuer or (len(self.issuer) == 16 and self.issuer in _ids(name)) for name in names)

    def covers(self, key: Key, message: bytes, at: datetime | None) -> tuple[bytes, State] | None:
        """The signed bytes, and how the key stood at receipt; None when the signature is not over this message."""
        import pysequoia  # noqa: PLC0415 - see above

        try:
            cert = _cert(key)
            found: Any = _sequoia(lambda: pysequoia.verify(bytes=message, store=lambda _: [cert], signature=self.sig))
            signers = [(one.certificate, one.signing_key) for one in found.valid_sigs]
            if len(signers) != 1 or signers[0][0].upper() != key.fingerprint or found.bytes != message:
                return None
            signed = canonical(message) if self.is_text else message
            return signed, _standing(cert, signers[0][1], at)
        except (_FailedError, ValueError):
            return None

    def revoked(self, key: Key) -> bool:
        """Whether the pinned certificate is revoked: then no signature verifies at all."""
        try:
            return _sequoia(lambda: _cert(key).is_revoked)
        except (_FailedError, ValueError):
            return False


def _ids(fingerprint: str) -> tuple[str, str]:
    """Key IDs of a version 4 and of a version 6 fingerprint (RFC 9580 5.5.4)."""
    return fingerprint[-16:], fingerprint[:16]


def canonical(message: bytes) -> bytes:
    """Text with each line end CR LF (RFC 9580 5.2.1.2)."""
    return re.sub(rb"\r?\n", b"\r\n", message)


def read(data: bytes | str) -> Signature:
    """Take one signature, armored or not; raises `BadSignature`."""
    damaged = BadSignature(Phrase("The OpenPGP signature is damaged: paste or attach it whole."), "bad")
    try:
        raw = _unarmored(data.strip(), SIGNATURE) if isinstance(data, str) else data
        tags = [tag for tag, _ in _packets(raw)]
    except (ValueError, binascii.Error) as error:
        raise damaged from error
    if tags != [2]:
        if tags and {*tags} == {2}:
            raise BadSignature(Phrase("A letter may bear one signature; this OpenPGP signature holds more."))
        raise damaged
    import pysequoia  # noqa: PLC0415 - see above

    try:
        sig = _sequoia(lambda: pysequoia.Sig.from_bytes(raw))
        return _checked(sig)
    except _FailedError as error:
        raise damaged from error


def _checked(sig: Sig) -> Signature:
    from pysequoia.packet import HashAlgorithm, PublicKeyAlgorithm, SignatureType  # noqa: PLC0415 - see above

    hashes = (
        HashAlgorithm.SHA256,
        HashAlgorithm.SHA384,
        HashAlgorithm.SHA512,
        HashAlgorithm.SHA3_256,
        HashAlgorithm.SHA3_512,
    )
    algorithms = (
        PublicKeyAlgorithm.RSAEncryptSign,
        PublicKeyAlgorithm.RSASign,
        PublicKeyAlgorithm.ECDSA,
        PublicKeyAlgorithm.EdDSA,
        PublicKeyAlgorithm.Ed25519,
        PublicKeyAlgorithm.Ed448,
    )
    if sig.version not in _VERSIONS:
        raise BadSignature(Phrase("This version of OpenPGP signatures is not accepted."))
    if _sequoia(lambda: sig.hash_algorithm) not in hashes:
        raise BadSignature(
            Phrase(
                "The OpenPGP signature is made over a weak digest such as SHA-1: put"
                " `personal-digest-preferences SHA512` and `cert-digest-algo SHA512` into gpg.conf, and sign again."
            )
        )
    if _sequoia(lambda: sig.key_algorithm) not in algorithms:
        raise BadSignature(Phrase("OpenPGP signatures are accepted by RSA, ECDSA and EdDSA keys."))
    kind = _sequoia(lambda: sig.signature_type)
    if kind not in (SignatureType.Binary, SignatureType.Text):
        raise BadSignature(Phrase("This OpenPGP signature is not one over a document."))
    issuer = sig.issuer_fingerprint or sig.issuer_key_id
    if not issuer:
        raise BadSignature(Phrase("The OpenPGP signature does not say which key made it."))
    return Signature(sig, issuer.lower(), kind == SignatureType.Text)
