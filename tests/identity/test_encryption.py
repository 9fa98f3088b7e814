"""Encryption to players' keys: which can decrypt, and what GnuPG and OpenSSL read of it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from data.material import KEYS
from pysequoia.packet import PacketPile, Tag
from signing.decryptors import BORN, by_openpgp, by_smime
from signing.openpgp_maker import Signer, packet, x25519_body

from pbem.identity import Key, encryption, parse_key

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ENTITY = b"Content-Type: text/plain\r\n\r\nThe fleet lies at Rv1.\r\n" + b" " * 4000


def sample(name: str) -> Key:
    return parse_key((KEYS / name).read_bytes())


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("pgp-exie.pub.asc", "it expired on 2024-01-31"),
        ("pgp-revo.pub.asc", "it is revoked"),
        ("pgp-anna.pub.asc", "it has no subkey that can decrypt now"),
        ("ssh-rsa.pub", "no mail program decrypts with such a key"),
        ("sm-p256.crt", "letters are encrypted to S/MIME certificates of RSA keys alone"),
        ("sm-ed25519.crt", "letters are encrypted to S/MIME certificates of RSA keys alone"),
        ("sm-rsa.crt", "it is not meant for encryption"),
    ],
)
def test_a_key_that_cannot_decrypt_is_told_why(key: str, reason: str) -> None:
    fault = encryption.fault(sample(key), NOW)
    assert fault is not None
    assert reason in fault
    assert "backtrace" not in fault
    assert encryption.usable([sample(key)], NOW) == []


def test_a_key_of_which_all_subkeys_for_encryption_expired_cannot_decrypt() -> None:
    signer, at = Signer(), BORN + timedelta(days=31)
    passing = signer.subkey(x25519_body(b"\x09" + bytes(31)), valid_days=30)
    lasting = signer.subkey(x25519_body(b"\x10" + bytes(31)))
    assert encryption.fault(parse_key(signer.certificate(passing)), BORN + timedelta(days=29)) is None
    assert encryption.fault(parse_key(signer.certificate(passing)), at) == "it has no subkey that can decrypt now"
    revoked = signer.subkey(x25519_body(b"\x12" + bytes(31)), revoked=True)
    assert encryption.fault(parse_key(signer.certificate(revoked)), at) == "it has no subkey that can decrypt now"
    unbound = packet(14, x25519_body(b"\x11" + bytes(31)))
    both = parse_key(signer.certificate(passing, revoked, lasting, unbound))
    assert encryption.fault(both, at) is None
    _, armor = encryption.encrypt([both], ENTITY)
    assert [one.tag for one in PacketPile.from_bytes(armor)].count(Tag.PKESK) == 1


def test_an_undated_word_about_a_subkey_is_none() -> None:
    """Anybody can write one into a key; the library leaves it in its place."""
    signer = Signer()
    key = parse_key(signer.certificate(signer.subkey(x25519_body(b"\x09" + bytes(31)), valid_days=30, undated=True)))
    assert encryption.fault(key, BORN + timedelta(days=29)) is None
    expired = encryption.fault(key, BORN + timedelta(days=31))
    assert expired == "it has no subkey that can decrypt now"


def test_a_certificate_that_says_nothing_of_its_use_will_do() -> None:
    reader = by_smime(usage=None)
    assert encryption.usable([reader.key], NOW) == [reader.key]
    late = BORN + timedelta(days=36500)
    assert encryption.usable([reader.key], late) == []
    assert encryption.fault(reader.key, late) == f"it expired on {late.date()}"


def test_nothing_is_compressed() -> None:
    key = by_openpgp().key
    _, same = encryption.encrypt([key], b"a" * 4096)
    _, other = encryption.encrypt([key], bytes(range(256)) * 16)
    assert abs(len(same) - len(other)) < 8


@pytest.mark.skipif(not shutil.which("gpg"), reason="needs GnuPG")
def test_gnupg_reads_it() -> None:
    home = tempfile.mkdtemp()  # short: the name of the agent's socket has room for a hundred characters

    def gpg(*arguments: str, given: bytes = b"") -> bytes:
        command = ["gpg", "--homedir", home, "--batch", "--quiet", "--passphrase", "", *arguments]
        return subprocess.run(command, input=given, check=True, capture_output=True).stdout

    try:
        gpg("--quick-generate-key", "Ann <ann@mail.example>", "default", "default", "never")
        key = parse_key(gpg("--export", "--armor"))
        other = by_openpgp()
        assert encryption.fault(key, datetime.now(UTC)) is None
        _, armor = encryption.encrypt([key, other.key], ENTITY)
        assert gpg("--decrypt", given=armor) == ENTITY
    finally:
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False, capture_output=True)
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs OpenSSL")
def test_openssl_reads_it(tmp_path: Path) -> None:
    reader = by_smime()
    (tmp_path / "certificate").write_bytes(reader.certificate.public_bytes(Encoding.PEM))
    (tmp_path / "key").write_bytes(reader.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    kind, content = encryption.encrypt([reader.key], ENTITY)
    assert kind == "smime"
    command = "openssl cms -decrypt -inform DER -recip certificate -inkey key"
    found = subprocess.run(command.split(), input=content, check=True, capture_output=True, cwd=tmp_path)
    assert found.stdout == ENTITY
