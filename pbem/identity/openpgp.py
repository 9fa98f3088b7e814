"""OpenPGP keys and signatures: certificates pinned whole, one detached or clear-signed signature at a time.

Sequoia does the cryptography; packets are counted and read here before it sees them, so that nothing compressed or
encrypted is ever unpacked, and nothing costly tried. Sequoia judges a key at the signature's own date, so expiry and
revocation of keys are judged here, on arrival, and signatures that will not last are refused then. Implements RFC
9580 sections 6 and 7 and RFC 3156; what is refused beyond them follows protocol.md, "Identity".
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pbem.identity.ed25519_points import WEAK, is_sound, is_sound_signature
from pbem.identity.openpgp_packets import DSA, ECDH, ELGAMAL, RSA, PublicKey, SignatureBody, Tag, packets
from pbem.identity.verdict import DEMANDS, FUTURE, BadKey, BadSignature, Key, State, check_rsa
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysequoia import Cert, Sig
    from pysequoia.packet import Packet

CLEAR = "-----BEGIN PGP SIGNED MESSAGE-----"
SIGNATURE = "-----BEGIN PGP SIGNATURE-----"
MESSAGE = "-----BEGIN PGP MESSAGE-----"
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

_KEY_BYTES = (
    48 * 1024
)  # keys stand in every transcript; photographs and strangers' certifications do not belong there
_SUBKEYS, _USER_IDS, _SIGNATURES = 20, 50, 200  # in one key; Sequoia tries each signature that it finds astray
_DECRYPTING = 8  # such subkeys in one key: a letter to its owner is encrypted to each, by up to 5 ms
_AHEAD = timedelta(minutes=30)  # more Sequoia does not let pass
_SECRET = frozenset({5, 7})
_OF_A_KEY = frozenset({2, 6, 10, 12, 13, 14, 17, 21})
_VERSIONS = frozenset({4, 6})
_BINARY, _TEXT = 0, 1  # types of signatures (RFC 9580 5.2.1)
_DIGESTS = frozenset({8, 9, 10, 12, 14})  # SHA-256, SHA-384, SHA-512, SHA3-256 and SHA3-512 (RFC 9580 9.5)
_ALGORITHMS = frozenset({1, 3, 19, 22, 27, 28})  # RSA, ECDSA, EdDSA, Ed25519 and Ed448 (RFC 9580 9.1)
_HEADER = re.compile(r"\s*[A-Za-z-]{1,20}: ")
_LONG = Phrase("This OpenPGP key is too long: `gpg --export-options export-minimal --export --armor` is enough.")
_EXPIRED = Phrase("it expired on {day}")
_REVOKED = Phrase("it is revoked")
_SIGNS_ONLY = Phrase("it has no subkey that can decrypt now")
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


def parse(data: bytes | str, at: datetime | None = None) -> Key:
    """Read a public key block, or the bytes of one; raises `BadKey`."""
    damaged = BadKey(Phrase("This OpenPGP key is damaged: send the whole block that `gpg --export --armor` prints."))
    try:
        raw = _unarmored(data.strip(), KEY) if isinstance(data, str) else data
        found = list(packets(raw))
    except (ValueError, binascii.Error) as error:
        raise damaged from error
    tags = [tag for tag, _ in found]
    # Before other faults, because its owner must know.
    if _SECRET & {*tags}:
        raise BadKey(
            Phrase("This is a private key: keep it to yourself, and send what `gpg --export --armor` prints.")
        )
    if tags.count(Tag.KEY) != 1 or tags[0] != Tag.KEY or not _OF_A_KEY.issuperset(tags):
        raise BadKey(Phrase("Send one OpenPGP key, and nothing else."))
    try:
        keys = [PublicKey.read(body) for tag, body in found if tag in {Tag.KEY, Tag.SUBKEY}]
        _check(len(raw), tags, keys, at)
        import pysequoia

        cert = _sequoia(lambda: pysequoia.Cert.from_bytes(raw))
        whole = _sequoia(lambda: bytes(cert))
        armor = _sequoia(lambda: pysequoia.armor(whole, pysequoia.ArmorKind.PublicKey))
        state = _standing(cert, cert.fingerprint, at)
        return Key("openpgp", cert.fingerprint.upper(), armor.replace("\r\n", "\n"), state)
    except (_FailedError, IndexError, ValueError) as error:
        if isinstance(error, BadKey):
            raise
        raise damaged from error


def _check(size: int, tags: list[int], keys: list[PublicKey], at: datetime | None) -> None:
    """Refuse a key that proves nothing, and at registration what is costly or obsolete; raises `BadKey`."""
    # The library would parse it all, however long.
    if size > _KEY_BYTES:
        raise BadKey(_LONG)
    if any(key.point is not None and not is_sound(key.point) for key in keys):
        raise BadKey(WEAK)
    if at is None:
        return
    crowd = {Tag.SUBKEY: _SUBKEYS, Tag.USER_ID: _USER_IDS, Tag.SIGNATURE: _SIGNATURES}
    if any(tags.count(tag) > most for tag, most in crowd.items()):
        raise BadKey(_LONG)
    if sum(key.algorithm in ECDH for key in keys) > _DECRYPTING:
        raise BadKey(_LONG)
    for key in keys:
        if key.version not in _VERSIONS or key.algorithm in {DSA, ELGAMAL}:
            raise BadKey(Phrase("This OpenPGP key is of an obsolete kind (DSA, ElGamal, version 3): make a new one."))
        if key.algorithm in RSA:
            check_rsa(key.modulus, key.exponent)


@lru_cache(maxsize=16)  # a letter that does not verify asks for the same one some hundred times
def _cert(public: str) -> Cert:
    import pysequoia

    return _sequoia(lambda: pysequoia.Cert.from_bytes(_unarmored(public.strip(), KEY)))


@lru_cache(maxsize=16)
def _names(public: str) -> tuple[str, ...]:
    """Fingerprints of a certificate's keys."""
    return tuple(packet.fingerprint for packet in _pile(bytes(_cert(public))) if packet.fingerprint)


@lru_cache(maxsize=16)
def _pile(data: bytes) -> tuple[Packet, ...]:
    from pysequoia.packet import PacketPile

    return _sequoia(lambda: tuple(PacketPile.from_bytes(data)))


def _standing(cert: Cert, signer: str, at: datetime | None) -> State:
    """The state of the certificate and its signing key at this time; None does not check expiry.

    A revocation counts from its arrival, whatever date it or the signature bears.
    """
    from pysequoia.packet import SignatureType

    if _sequoia(lambda: cert.is_revoked):
        return "revoked"
    # One that is dated ahead, or taken back by a later certification, would count another day.
    if at is not None and any(packet.signature_type == SignatureType.KeyRevocation for packet in _pile(bytes(cert))):
        return "revoked"
    ends = [] if at is None else [_sequoia(lambda: cert.expiration)]
    if signer != cert.fingerprint:
        is_revoked, end = _subkey(cert, signer)
        if is_revoked:
            return "revoked"
        ends.append(end)
    return "expired" if at is not None and any(end is not None and end <= at for end in ends) else "pinned"


def _subkey(cert: Cert, fingerprint: str) -> tuple[bool, datetime | None]:
    """The standing of a subkey, revoked or not, and its expiry, by the newest signature that binds it."""
    from pysequoia.packet import SignatureType

    own: list[Packet] = []
    current = ""
    for packet in _pile(bytes(cert)):
        current = packet.fingerprint or current
        if current == fingerprint:
            own.append(packet)
    is_revoked = any(packet.signature_type == SignatureType.SubkeyRevocation for packet in own)
    born = next((packet.key_created for packet in own if packet.key_created), None)
    first = datetime.min.replace(tzinfo=UTC)
    bindings = (packet for packet in own if packet.signature_type == SignatureType.SubkeyBinding)
    newest = max(bindings, key=lambda packet: packet.signature_created or first, default=None)
    if born is None or newest is None or not newest.key_validity_period:
        return is_revoked, None
    return is_revoked, born + newest.key_validity_period


def cannot_encrypt(key: Key, at: datetime) -> Phrase | None:
    """The reason why nothing can be encrypted to this certificate at this time; None if it can."""
    try:
        cert = _cert(key.public)
        if (state := _standing(cert, cert.fingerprint, at)) != "pinned":
            ended = cert.expiration if state == "expired" else None
            day = ended.date().isoformat() if ended else ""
            return _EXPIRED.given(day=day) if day else _REVOKED
        # Without the subkeys that expired: where none is left, Sequoia would encrypt to those.
        import pysequoia

        kept: list[Packet] = []
        keeps = True
        for packet in _pile(bytes(cert)):
            keeps = _standing(cert, packet.fingerprint, at) == "pinned" if packet.fingerprint else keeps
            kept += [packet] if keeps else []
        _encrypt([_sequoia(lambda: pysequoia.Cert.from_packets(kept))], b"")
    except (_FailedError, ValueError):
        return _SIGNS_ONLY
    return None


def encrypt(keys: Sequence[Key], content: bytes) -> bytes:
    """The content, encrypted to all subkeys for that of these certificates, armored; not compressed."""
    return _encrypt([_cert(key.public) for key in keys], content)


def _encrypt(certs: list[Cert], content: bytes) -> bytes:
    import pysequoia

    # Its error says much about itself, for no reader of ours.
    return _sequoia(lambda: pysequoia.encrypt(bytes=content, recipients=certs))


def is_signature(data: bytes) -> bool:
    """True if bytes are a binary OpenPGP signature: packets of this kind alone."""
    try:
        tags = {tag for tag, _ in packets(data)}
    except ValueError:
        return False
    return tags == {Tag.SIGNATURE}


class OpenpgpSignature(msgspec.Struct, frozen=True):
    """One signature, not yet verified; the issuer that it names only selects the key that is tried."""

    sig: Sig
    body: SignatureBody
    issuer: str
    is_text: bool

    def claims(self, key: Key) -> bool:
        """True if the signature names this key or a subkey of it."""
        try:
            names = _names(key.public)
        except (_FailedError, ValueError):
            return False
        # Key IDs are the end of a version 4 fingerprint, and the beginning of a version 6 one (RFC 9580 5.5.4).
        is_id = len(self.issuer) == 16
        return any(self.issuer in ({name, name[-16:], name[:16]} if is_id else {name}) for name in names)

    def covers(self, key: Key, message: bytes, at: datetime | None) -> tuple[bytes, State] | None:
        """The signed bytes, and the state of the key on arrival; None if the signature is not over this message."""
        import pysequoia

        if at is not None:
            # Refuse on arrival what might be judged differently another day, or elsewhere.
            if self.body.expires:
                raise BadSignature(
                    Phrase(
                        "The OpenPGP signature will expire, but what you sign must hold for good: sign without"
                        " `default-sig-expire` in gpg.conf."
                    )
                )
            if self.body.created > at + _AHEAD:
                raise BadSignature(FUTURE)
            if self.body.demands:
                raise BadSignature(DEMANDS)
        try:
            cert = _cert(key.public)
            found = _sequoia(lambda: pysequoia.verify(bytes=message, store=lambda _: [cert], signature=self.sig))
            signers = [(one.certificate, one.signing_key) for one in found.valid_sigs]
            if len(signers) != 1 or signers[0][0].upper() != key.fingerprint or found.bytes != message:
                return None
            signed = canonical(message) if self.is_text else message
            return signed, _standing(cert, signers[0][1], at)
        except (_FailedError, ValueError):
            return None

    def revoked(self, key: Key) -> bool:
        """True if the pinned certificate is revoked: then no signature verifies at all."""
        return _sequoia(lambda: _cert(key.public).is_revoked)


def canonical(message: bytes) -> bytes:
    """Text with each line end CR LF (RFC 9580 5.2.1.2)."""
    return re.sub(rb"\r?\n", b"\r\n", message)


def _damaged() -> BadSignature:
    return BadSignature(Phrase("The OpenPGP signature is damaged: paste or attach it whole."), "bad")


def read_signature(data: bytes | str) -> OpenpgpSignature:
    """Take one signature, armored or not; raises `BadSignature`."""
    try:
        raw = _unarmored(data.strip(), SIGNATURE) if isinstance(data, str) else data
        found = list(packets(raw))
    except (ValueError, binascii.Error) as error:
        raise _damaged() from error
    tags = [tag for tag, _ in found]
    if tags != [Tag.SIGNATURE]:
        if tags and {*tags} == {Tag.SIGNATURE}:
            raise BadSignature(Phrase("A letter may bear one signature; this OpenPGP signature holds more."))
        raise _damaged()
    body = found[0][1]
    if body and body[0] not in _VERSIONS:
        raise BadSignature(Phrase("This version of OpenPGP signatures is not accepted."))
    import pysequoia

    try:
        sig = _sequoia(lambda: pysequoia.Sig.from_bytes(raw))
        return _checked(sig, SignatureBody.read(body))
    except (_FailedError, IndexError, ValueError) as error:
        raise _damaged() from error


def _checked(sig: Sig, body: SignatureBody) -> OpenpgpSignature:
    if body.digest not in _DIGESTS:
        raise BadSignature(
            Phrase(
                "The OpenPGP signature is made over a weak digest such as SHA-1: put"
                " `personal-digest-preferences SHA512` and `cert-digest-algo SHA512` into gpg.conf, and sign again."
            )
        )
    if body.algorithm not in _ALGORITHMS:
        raise BadSignature(Phrase("OpenPGP signatures are accepted from RSA, ECDSA and EdDSA keys."))
    if body.kind not in {_BINARY, _TEXT}:
        raise BadSignature(Phrase("This OpenPGP signature does not sign a document."))
    issuer = sig.issuer_fingerprint or sig.issuer_key_id
    if not issuer:
        raise BadSignature(Phrase("The OpenPGP signature does not say which key made it."))
    if body.ed25519 is not None and not is_sound_signature(body.ed25519):
        raise _damaged()
    return OpenpgpSignature(sig, body, issuer.lower(), body.kind == _TEXT)
