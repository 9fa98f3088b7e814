"""Players with keys that decrypt, and their letters opened: by our libraries, which stand for a mail program."""

from __future__ import annotations

import email
import email.policy
import functools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pysequoia
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7
from cryptography.x509.oid import NameOID

from pbem.identity import Key, parse_key

if TYPE_CHECKING:
    from email.message import EmailMessage

BORN = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class OpenpgpReader:
    """A reader of PGP/MIME."""

    tsk: pysequoia.Tsk

    @property
    def key(self) -> Key:
        return parse_key(str(self.tsk.extract_certificate()))

    def entity(self, letter: EmailMessage) -> bytes:
        assert letter.get_content_type() == "multipart/encrypted"
        assert letter.get_param("protocol") == "application/pgp-encrypted"
        version, content = letter.iter_parts()
        assert version.get_content_type() == "application/pgp-encrypted"
        assert version.get_payload(decode=True) == b"Version: 1\r\n"
        armor = content.get_payload(decode=True)
        assert isinstance(armor, bytes)
        found = pysequoia.decrypt(armor, decryptor=self.tsk.decryptor()).bytes
        assert found is not None
        return found


@dataclass(frozen=True)
class SmimeReader:
    """A reader of S/MIME."""

    private: rsa.RSAPrivateKey
    certificate: x509.Certificate

    @property
    def key(self) -> Key:
        return parse_key(self.certificate.public_bytes(Encoding.PEM))

    def entity(self, letter: EmailMessage) -> bytes:
        assert letter.get_content_type() == "application/pkcs7-mime"
        assert letter.get_param("smime-type") == "enveloped-data"
        content = letter.get_payload(decode=True)
        assert isinstance(content, bytes)
        return pkcs7.pkcs7_decrypt_der(content, self.certificate, self.private, [])


Reader = OpenpgpReader | SmimeReader


def opened(reader: Reader, letter: EmailMessage) -> EmailMessage:
    """The letter that was encrypted."""
    found: EmailMessage = email.message_from_bytes(reader.entity(letter), policy=email.policy.default)
    return found


def by_openpgp(*, days: int | None = None) -> OpenpgpReader:
    """Somebody with a new OpenPGP key."""
    seconds = None if days is None else days * 86400
    return OpenpgpReader(pysequoia.Tsk.generate("Ann <ann@mail.example>", validity_seconds=seconds))


@functools.cache  # to make one takes long
def _rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def by_smime(*, until: datetime | None = None, usage: bool | None = True) -> SmimeReader:
    """Somebody with an RSA certificate of their own, which says that it is for encryption, or not, or nothing."""
    private = _rsa_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Ann")])
    builder = (
        x509.CertificateBuilder(name, name, private.public_key(), 17)
        .not_valid_before(BORN)
        .not_valid_after(until or BORN + timedelta(days=36500))
    )
    if usage is not None:
        told = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=usage,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=False,
            crl_sign=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = builder.add_extension(told, critical=True)
    return SmimeReader(private, builder.sign(private, hashes.SHA256()))
