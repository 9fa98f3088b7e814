"""DKIM on outgoing letters: what is signed verifies by the key in the DNS, and its bytes stay those of the letter."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dkim
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from pbem.letters.render import Templates
from pbem.mail.compose import Composer, Content, Generation
from pbem.mail.dkim_signing import BadDkimKey, DkimSigner

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def write(path: Path, key: PrivateKeyTypes, form: str = "PKCS8") -> Path:
    plain = serialization.NoEncryption()
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, getattr(serialization.PrivateFormat, form), plain))
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def letter(key_file: Path) -> bytes:
    signer = DkimSigner("pbem", "play.example", key_file)
    composer = Composer("play.example", "pbem", Templates(), sign=signer)
    return composer.compose(
        "anna@example.org",
        "Zug 5 für Anna",
        Content("Hallo\n.\n", "<p>Hallo</p>"),
        message_id="<1@play.example>",
        date=NOW,
    )


def record(key: rsa.RSAPrivateKey) -> bytes:
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return b"v=DKIM1; k=rsa; p=" + b"".join(pem.splitlines()[1:-1])


@pytest.mark.parametrize("form", ["PKCS8", "TraditionalOpenSSL"])
def test_a_signed_letter_verifies_and_a_changed_one_does_not(
    tmp_path: Path, key: rsa.RSAPrivateKey, form: str
) -> None:
    asked = []

    def dns(name: bytes, timeout: float = 5) -> bytes:
        del timeout
        asked.append(name)
        return record(key)

    raw = letter(write(tmp_path / "dkim.key", key, form))
    assert dkim.verify(raw, dnsfunc=dns)
    assert asked == [b"pbem._domainkey.play.example."]
    assert not dkim.verify(raw.replace(b"Hallo", b"Hullo"), dnsfunc=dns)
    assert not dkim.verify(b"From: mallory@example.org\r\n" + raw, dnsfunc=dns)
    assert all(len(line) <= 998 for line in raw.split(b"\r\n"))


def test_the_same_letter_has_the_same_bytes_at_any_hour(tmp_path: Path, key: rsa.RSAPrivateKey) -> None:
    path = write(tmp_path / "dkim.key", key)
    assert letter(path) == letter(path)
    assert b"t=%d;" % NOW.timestamp() in letter(path)


def test_a_key_that_cannot_sign_is_refused_in_plain_words(tmp_path: Path, key: rsa.RSAPrivateKey) -> None:
    other = write(tmp_path / "ed.key", ed25519.Ed25519PrivateKey.generate())
    with pytest.raises(BadDkimKey, match="an RSA key of 1024 bits or more is needed"):
        DkimSigner("pbem", "play.example", other)
    with pytest.raises(BadDkimKey, match="No such file"):
        DkimSigner("pbem", "play.example", tmp_path / "missing")
    (tmp_path / "text").write_text("hello")
    (tmp_path / "text").chmod(0o600)
    with pytest.raises(BadDkimKey, match="no private key in PEM"):
        DkimSigner("pbem", "play.example", tmp_path / "text")
    path = write(tmp_path / "dkim.key", key)
    path.chmod(0o644)
    with pytest.raises(BadDkimKey, match="chmod o-rwx"):
        DkimSigner("pbem", "play.example", path)


def test_letters_of_a_restored_store_are_marked() -> None:
    facts: dict[str, Any] = {"message_id": "<1@play.example>", "date": NOW}
    for generation, marks in ((1, 0), (2, 1)):
        composer = Composer("play.example", "pbem", Templates(), generation=Generation(generation))
        raw = composer.compose("anna@example.org", "x", Content("x"), **facts)
        assert raw.count(b"X-Pbem-Generation: %d\r\n" % generation) == marks
