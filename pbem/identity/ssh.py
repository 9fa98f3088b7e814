"""SSH keys and signatures: public key lines, fingerprints, SSHSIG blobs read, verified and made.

Only bytes and keys live here: `judge` finds out which text of a letter is signed. Nothing here starts
a program or opens a file. Implements PROTOCOL.sshsig of OpenSSH, RFC 4253 section 6.6, RFC 5656, RFC 8332
and RFC 8709; what is refused beyond them follows protocol.md, "Identity".
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from pbem.identity import security_keys
from pbem.identity.ed25519_points import WEAK, holds, is_sound
from pbem.identity.security_keys import mpint, string, take, take_mpint, take_name, unbase64
from pbem.identity.verdict import BadKey, BadSignature, Key, State, check_rsa
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from datetime import datetime

BEGIN = "-----BEGIN SSH SIGNATURE-----"
END = "-----END SSH SIGNATURE-----"

PrivateKey = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey = ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey

_MAGIC = b"SSHSIG"
_VERSION = b"\0\0\0\1"
_WIDTH = 70  # characters a line, as ssh-keygen makes its armor

# Algorithms of the signature that each type of key may make. `ssh-rsa` as an algorithm is SHA-1: not here.
_ALGORITHMS = {
    "ssh-ed25519": frozenset({"ssh-ed25519"}),
    "ecdsa-sha2-nistp256": frozenset({"ecdsa-sha2-nistp256"}),
    "ecdsa-sha2-nistp384": frozenset({"ecdsa-sha2-nistp384"}),
    "ecdsa-sha2-nistp521": frozenset({"ecdsa-sha2-nistp521"}),
    "ssh-rsa": frozenset({"rsa-sha2-256", "rsa-sha2-512"}),
    **security_keys.ALGORITHMS,
}
ON_PAGES = ("ssh-ed25519", *security_keys.PLAIN)
"""The types of keys whose signatures pages can check, too."""
_DIGESTS: dict[str, hashes.HashAlgorithm] = {
    "ecdsa-sha2-nistp256": hashes.SHA256(),
    "ecdsa-sha2-nistp384": hashes.SHA384(),
    "ecdsa-sha2-nistp521": hashes.SHA512(),
    "rsa-sha2-256": hashes.SHA256(),
    "rsa-sha2-512": hashes.SHA512(),
    **dict.fromkeys(security_keys.ALGORITHMS["sk-ecdsa-sha2-nistp256@openssh.com"], hashes.SHA256()),
}
_HASHES = {"sha256": hashlib.sha256, "sha512": hashlib.sha512}


class SshSignature(msgspec.Struct, frozen=True):
    """An SSHSIG blob taken apart, with the names of PROTOCOL.sshsig."""

    publickey: bytes
    namespace: str
    hash_algorithm: str
    algorithm: str
    signature: bytes
    device: security_keys.Device | None = None
    """The additions of a security key or a browser; None for other keys."""

    @property
    def issuer(self) -> str:
        """The fingerprint of the key that made it."""
        return fingerprint(self.publickey)

    def claims(self, key: Key) -> bool:
        """True if the signature names this key."""
        return key.fingerprint == self.issuer

    def covers(self, key: Key, message: bytes, _at: datetime | None) -> tuple[bytes, State] | None:
        """The signed bytes; None when the signature does not hold."""
        return (message, "pinned") if verify(self, key, message) else None


_DAMAGED = Phrase("This public key is damaged: send the line of your .pub file whole.")


@lru_cache(maxsize=256)
def fingerprint(blob: bytes) -> str:
    """Name a public key blob as `ssh-keygen -l` does: `SHA256:` and the hash in base64 without padding."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def parse(line: str) -> Key:
    """Read a public key line, `ssh-ed25519 AAAA… comment`.

    Raises BadKey: options before the type, certificates, DSA, RSA under 2048 bits, damage.
    """
    words = line.split(None, 2)
    if len(words) < 2:
        raise BadKey(Phrase("A public key is one line: its type, the key itself, a comment."))
    kind, text = words[:2]
    _check_type(kind)
    try:
        blob = unbase64(text)
    except ValueError as error:
        raise BadKey(_DAMAGED) from error
    if not blob.startswith(string(kind.encode())):
        raise BadKey(_DAMAGED)
    _public(blob, kind)
    return Key("ssh", fingerprint(blob), f"{kind} {text}")


def _check_type(kind: str) -> None:
    if "-cert-v" in kind:
        raise BadKey(Phrase("Certificates are not accepted: send the plain public key."))
    if kind not in _ALGORITHMS:
        known = ", ".join(_ALGORITHMS)
        raise BadKey(Phrase("A public key line begins with its type, one of {known}.", known=known))


@lru_cache(maxsize=256)  # a player's every letter asks for the same one
def _public(blob: bytes, kind: str) -> PublicKey:
    """Load a key blob; only the one canonical encoding of a key is accepted, so that its hash names it."""
    if kind in security_keys.PLAIN:
        try:
            plain, within, _ = security_keys.taken_apart(blob)
        except BadKey:
            raise
        except ValueError as error:
            raise BadKey(_DAMAGED) from error
        return _public(within, plain)
    try:
        key = _ed25519(blob) if kind == "ssh-ed25519" else _loaded(blob, kind)
    except (ValueError, NotImplementedError, UnsupportedAlgorithm) as error:  # the second: of compressed points
        raise BadKey(_DAMAGED) from error
    if isinstance(key, ed25519.Ed25519PublicKey) and not is_sound(key.public_bytes_raw()):
        raise BadKey(WEAK)
    if isinstance(key, rsa.RSAPublicKey):
        check_rsa(key.public_numbers().n, key.public_numbers().e)
    return key


def _ed25519(blob: bytes) -> ed25519.Ed25519PublicKey:
    """The key of a blob (RFC 8709, section 4); raises ValueError."""
    _, rest = take(blob)
    raw, rest = take(rest)
    if rest:
        raise ValueError("more than a key")
    return ed25519.Ed25519PublicKey.from_public_bytes(raw)


def _loaded(blob: bytes, kind: str) -> PublicKey:
    """The key of a blob of another type; raises what the library does."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_public_key

    line = kind.encode() + b" " + base64.b64encode(blob)
    key = load_ssh_public_key(line)
    if key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) != line or not isinstance(key, PublicKey):
        raise ValueError("not the canonical encoding")
    return key


def read_signature(armor: str) -> SshSignature:
    """Take apart one armored signature, BEGIN and END lines included.

    Raises BadSignature, of kind "bad" if it is damaged and "refused" if its kind is never accepted.
    """
    body = armor.strip()
    try:
        if not (body.startswith(BEGIN) and body.endswith(END) and len(body) > len(BEGIN) + len(END)):
            raise ValueError("no armor")
        blob = unbase64("".join(body[len(BEGIN) : -len(END)].split()))
        head = len(_MAGIC) + len(_VERSION)
        if blob[: len(_MAGIC)] != _MAGIC or len(blob) < head:
            raise ValueError("no signature")
        if blob[len(_MAGIC) : head] != _VERSION:
            raise BadSignature(Phrase("This version of SSH signatures is not supported."))
        publickey, rest = take(blob[head:])
        namespace, rest = take_name(rest)
        reserved, rest = take(rest)
        hash_algorithm, rest = take_name(rest)
        inner, rest = take(rest)
        algorithm, inner = take_name(inner)
        signature, inner = take(inner)
        kind = _check_signature(publickey, algorithm, hash_algorithm)
        device = None
        if kind in security_keys.PLAIN:
            *_, application = security_keys.taken_apart(publickey)
            device, inner = security_keys.read_device(application, algorithm, inner), b""
        # OpenSSH skips what is reserved; nobody uses it, so anything there is none of ours.
        if rest or inner or reserved:
            raise ValueError("more than a signature")
        return SshSignature(publickey, namespace, hash_algorithm, algorithm, signature, device)
    except ValueError as error:
        damaged = Phrase("The SSH signature is damaged: paste it whole, with its first and last line.")
        raise BadSignature(damaged, "bad") from error


def _check_signature(publickey: bytes, algorithm: str, hash_algorithm: str) -> str:
    """The type of the key, if it may sign so; raises `BadSignature`."""
    kind, _ = take_name(publickey)
    try:
        _check_type(kind)
        _public(publickey, kind)
    except BadKey as error:
        raise BadSignature(error.reason) from error
    if algorithm not in _ALGORITHMS[kind]:
        unfit = Phrase(
            "Signatures of the kind {algorithm} are not accepted for a {kind} key.",
            algorithm=ascii(algorithm),
            kind=kind,
        )
        raise BadSignature(unfit)
    if hash_algorithm not in _HASHES:
        raise BadSignature(Phrase("SSH signatures are accepted over SHA-256 and SHA-512 only."))
    return kind


def _to_be_signed(message: bytes, namespace: str, hash_algorithm: str) -> bytes:
    """PROTOCOL.sshsig, section 2: what the key itself signs."""
    digest = _HASHES[hash_algorithm](message).digest()
    fields = (namespace.encode("ascii"), b"", hash_algorithm.encode("ascii"), digest)
    return _MAGIC + b"".join(map(string, fields))


def verify(signature: SshSignature, key: Key, message: bytes) -> bool:
    """Say whether this key made this signature over exactly these bytes; the namespace is the caller's to judge."""
    kind, text = key.public.split()[:2]
    if base64.b64decode(text) != signature.publickey:
        return False
    data = _to_be_signed(message, signature.namespace, signature.hash_algorithm)
    try:
        data = signature.device.signed(data) if signature.device else data
        public_key = _public(signature.publickey, kind)
        if isinstance(public_key, ed25519.Ed25519PublicKey):
            return holds(public_key.public_bytes_raw(), signature.signature, data)
        if isinstance(public_key, ec.EllipticCurvePublicKey):
            r, rest = take_mpint(signature.signature)
            s, rest = take_mpint(rest)
            if rest:
                return False
            public_key.verify(encode_dss_signature(r, s), data, ec.ECDSA(_DIGESTS[signature.algorithm]))
        else:
            public_key.verify(signature.signature, data, padding.PKCS1v15(), _DIGESTS[signature.algorithm])
    except (InvalidSignature, ValueError):
        return False
    return True


class UnusableKey(ValueError):
    """A private key of a kind that cannot sign here, whatever its passphrase."""


def load(data: bytes, passphrase: str | None = None) -> PrivateKey:
    """Load a private key file, OpenSSH's own format or PEM.

    Raises TypeError if a passphrase is needed (or given without need), UnusableKey, and ValueError if the
    passphrase is wrong or the file damaged.
    """
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    password = None if passphrase is None else passphrase.encode()
    loader = load_ssh_private_key if b"BEGIN OPENSSH PRIVATE KEY" in data else load_pem_private_key
    try:
        key = loader(data, password)
    except UnsupportedAlgorithm as error:
        # OpenSSH's encrypted keys among them, where the package bcrypt is not installed.
        raise UnusableKey("This sort of private key cannot be used here.") from error
    if not isinstance(key, PrivateKey):
        raise UnusableKey("This sort of private key cannot be used here.")
    try:
        parse(public(key))
    except ValueError as error:
        raise UnusableKey(str(error)) from error
    return key


def public(key: PrivateKey) -> str:
    """Give the public key line that belongs to a private key, without a comment."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def sign(
    key: PrivateKey, message: bytes, namespace: str, hash_algorithm: Literal["sha256", "sha512"] = "sha512"
) -> str:
    """Sign bytes as `ssh-keygen -Y sign -n namespace` does, and return the armor with its last line end."""
    kind, text = public(key).split()
    algorithm = "rsa-sha2-512" if kind == "ssh-rsa" else kind
    data = _to_be_signed(message, namespace, hash_algorithm)
    if isinstance(key, ed25519.Ed25519PrivateKey):
        signature = key.sign(data)
    elif isinstance(key, rsa.RSAPrivateKey):
        signature = key.sign(data, padding.PKCS1v15(), _DIGESTS[algorithm])
    else:
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(_DIGESTS[algorithm])))
        signature = mpint(r) + mpint(s)
    made = string(algorithm.encode()) + string(signature)
    fields = (base64.b64decode(text), namespace.encode("ascii"), b"", hash_algorithm.encode("ascii"), made)
    blob = _MAGIC + _VERSION + b"".join(map(string, fields))
    body = base64.b64encode(blob).decode()
    lines = [body[at : at + _WIDTH] for at in range(0, len(body), _WIDTH)]
    return "\n".join([BEGIN, *lines, END, ""])
