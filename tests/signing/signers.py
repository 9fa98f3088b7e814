"""Letters signed in each format, by the throw-away keys among the samples: what players' programs would send."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pysequoia
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key, pkcs7
from data.material import KEYS
from in_a_box.referee import SERVER
from signing import passkeys
from signing.passkeys import Wish

from pbem.identity import ssh

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox


def head(person: Mailbox) -> str:
    return f"From: {person.address}\r\nTo: pbem@{SERVER}\r\nSubject: orders\r\nMIME-Version: 1.0\r\n"


def pasted(person: Mailbox, text: str) -> bytes:
    return f"{head(person)}Content-Type: text/plain; charset=utf-8\n\n{text}".encode().replace(b"\n", b"\r\n")


@functools.cache
def private_key(file: str) -> object:
    """A key among the samples, which are sound: to examine one of RSA takes as long as a hundred signatures."""
    return load_pem_private_key((KEYS / file).read_bytes(), None, unsafe_skip_rsa_key_validation=True)


@functools.cache
def _ssh_key(name: str) -> ssh.PrivateKey:
    return ssh.load((KEYS / f"ssh-{name}").read_bytes())


def pgp_signer(name: str) -> pysequoia.PySigner:
    return pysequoia.Tsk.from_bytes((KEYS / f"pgp-{name}.sec.asc").read_bytes()).signer()


def by_clear_openpgp(person: Mailbox, text: str) -> bytes:
    signed = pysequoia.sign(pgp_signer("anna"), text.encode(), mode=pysequoia.SignatureMode.CLEAR)
    return pasted(person, signed.decode().replace("\r", ""))


TEXT = "Content-Type: text/plain; charset=utf-8\n\n"


def by_openpgp_mime(person: Mailbox, text: str, *, content_type: str = TEXT) -> bytes:
    entity = f"{content_type}{text}".replace("\n", "\r\n").encode()
    signature = pysequoia.sign(pgp_signer("anna"), entity, mode=pysequoia.SignatureMode.DETACHED)
    kind = (
        'Content-Type: multipart/signed; protocol="application/pgp-signature"; micalg=pgp-sha512; boundary=b\r\n\r\n'
    )
    return (
        f"{head(person)}{kind}--b\r\n".encode()
        + entity
        + b"\r\n--b\r\nContent-Type: application/pgp-signature; name=signature.asc\r\n\r\n"
        + signature.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        + b"\r\n--b--\r\n"
    )


def by_smime(person: Mailbox, text: str) -> bytes:
    certificate = x509.load_pem_x509_certificate((KEYS / "sm-p256.crt").read_bytes())
    private = private_key("sm-p256.key")
    letter = (
        pkcs7.PKCS7SignatureBuilder()
        .set_data(f"Content-Type: text/plain\n\n{text}".encode())
        .add_signer(certificate, private, hashes.SHA256())  # type: ignore[arg-type]  # RSA and EC alone
        .sign(Encoding.SMIME, [pkcs7.PKCS7Options.DetachedSignature])
    )
    return head(person).replace("MIME-Version: 1.0\r\n", "").encode() + letter.replace(b"\r", b"").replace(
        b"\n", b"\r\n"
    )


def by_ssh(person: Mailbox, text: str, name: str = "rsa") -> bytes:
    return pasted(person, text + ssh.sign(_ssh_key(name), text.encode(), f"pbem@{SERVER}"))


def by_passkey(person: Mailbox, text: str) -> bytes:
    private = private_key("ssh-passkey")
    assert isinstance(private, EllipticCurvePrivateKey)
    return pasted(person, text + passkeys.sign(private, text.encode(), f"pbem@{SERVER}", AT_HOME, "localhost"))


AT_HOME = Wish("http://localhost:40321", "localhost")
WAYS = {
    "openpgp, clear-signed": ("openpgp", "pgp-anna.pub.asc", by_clear_openpgp),
    "PGP/MIME": ("openpgp", "pgp-anna.pub.asc", by_openpgp_mime),
    "smime": ("smime", "sm-p256.crt", by_smime),
    "ssh": ("ssh", "ssh-rsa.pub", by_ssh),
    "passkey": ("ssh", "ssh-passkey.pub", by_passkey),
}
