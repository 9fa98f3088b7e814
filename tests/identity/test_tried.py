"""Attacks on signatures of each format, as docs/threats.md lists them ("Attacks that were tried")."""

from __future__ import annotations

import base64
import struct
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from data.material import KEYS
from signing.cms_maker import ENTITY, FORM, attribute, signed_data, signer
from signing.openpgp_maker import BINARY, BINDING, BORN, TEXT, Signer, armored, notation, packet, sub

from pbem import identity
from pbem.config.limits import Limits
from pbem.desk.reading import Question, find
from pbem.identity import Key, Verdict, parse_key
from pbem.mail.message import read_letter
from pbem.proof.normal_form import VOCABULARY

SERVER = "play.example"
AT = datetime(2026, 11, 22, tzinfo=UTC)
judge = partial(identity.judge, server=SERVER, words=VOCABULARY, at=AT)
HEAD = b"From: ann@mail.example\r\nMIME-Version: 1.0\r\n"


# S/MIME.


RSA = parse_key((KEYS / "sm-rsa.crt").read_bytes(), AT)


def opaque(data: bytes) -> bytes:
    """A MIME entity that is signed data."""
    text = base64.encodebytes(data).replace(b"\n", b"\r\n")
    return (
        b"Content-Type: application/pkcs7-mime; smime-type=signed-data\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        + text
    )


def detached(entity: bytes, data: bytes, *more: bytes) -> bytes:
    """A signed MIME entity, and what else is put beside it."""
    kind = (
        b'Content-Type: multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256; boundary=s\r\n\r\n'
    )
    signature = opaque(data).replace(b"pkcs7-mime; smime-type=signed-data", b"pkcs7-signature")
    whole = kind + b"--s\r\n" + entity + b"\r\n--s\r\n" + signature + b"\r\n--s--\r\n"
    if not more:
        return whole
    parts = b"".join(b"--m\r\n" + one + b"\r\n" for one in (whole, *more))
    return b"Content-Type: multipart/mixed; boundary=m\r\n\r\n" + parts + b"--m--\r\n"


def said(entity: bytes, *keys: Key) -> Verdict:
    return judge(read_letter(HEAD + entity), keys or [RSA])


def obeyed(entity: bytes, *keys: Key) -> list[str]:
    """The commands that a letter gives, in the words that were signed."""
    found = find(Question(HEAD + entity, AT, SERVER, [*keys] or [RSA]), Limits()).understood
    assert found is not None
    return [command.name for command in found.reading.commands] if found.judged.verdict.kind == "valid" else []


DATA, DIGESTED = b"\x06\x09*\x86H\x86\xf7\r\x01\x07\x01", b"\x06\x09*\x86H\x86\xf7\r\x01\x07\x05"
COUNTERSIGNED = attribute("counter_signature", signer())
OTHER = b"Content-Type: text/plain\r\n\r\nresign m1\r\n"

SMIME = {
    "one beside text": detached(ENTITY, signed_data(signer(), content=None), opaque(signed_data(signer()))),
    "a text of its own beside the one it stands under": detached(ENTITY, signed_data(signer())),
    "another text of its own": detached(OTHER, signed_data(signer())),
    "no text": opaque(signed_data(signer(), content=None)),
    "a text that was not signed": opaque(signed_data(signer(), content=OTHER)),
    "no content type": opaque(signed_data(signer(without="content_type"))),
    "another content type": opaque(signed_data(signer(kind="digested_data")).replace(DATA, DIGESTED, 1)),
    "a countersignature in the place of the signature": opaque(
        signed_data(signer(OTHER, unsigned=[COUNTERSIGNED]), content=ENTITY)
    ),
    "encrypted": opaque(b"0\x0b\x06\x09*\x86H\x86\xf7\r\x01\x07\x03"),
    "deep": opaque(b"\x30\x80" * 5000 + b"\0\0" * 5000),
    "a huge number": opaque(b"\x30\x84\0\x02\0\x06\x02\x84\0\x02\0\0" + b"\x7f" * 0x20000),
    "a long identifier": opaque(b"\x30\x82\x20\x04\x06\x82\x20\0" + b"\x81" * 0x2000),
    "lengths that are open": opaque(b"\x24\x80" * 60 + b"\x04\x01x" * 6000 + b"\0\0" * 60),
}


@pytest.mark.parametrize("name", SMIME)
def test_smime(name: str) -> None:
    found = said(SMIME[name])
    assert (found.kind, found.signed) in {("bad", b""), ("refused", b"")}, found


def test_smime_that_holds() -> None:
    """A countersignature, and an address that is not the certificate's, change nothing."""
    for entity in (
        opaque(signed_data(signer())),
        opaque(signed_data(signer(unsigned=[COUNTERSIGNED]))),
        detached(ENTITY, signed_data(signer(), content=None)),
    ):
        assert (said(entity).kind, said(entity).signed) == ("valid", ENTITY)


def test_an_smime_signature_over_another_one() -> None:
    """One counts: the outer, where it is over a text that can be read; two that lie open are refused."""
    assert obeyed(opaque(signed_data(signer()))) == ["orders"]
    hidden, open_ = opaque(signed_data(signer())), detached(ENTITY, signed_data(signer(), content=None))
    assert obeyed(opaque(signed_data(signer(open_), content=open_))) == ["orders"]
    assert not obeyed(opaque(signed_data(signer(hidden), content=hidden)))
    for inner in (hidden, open_):
        assert said(detached(inner, signed_data(signer(inner), content=None))).kind == "refused"


# OpenPGP.


ANN, SUB, EVE = (Signer(key=Ed25519PrivateKey.from_private_bytes(seed * 32)) for seed in (b"a", b"s", b"e"))
BACK = 0x19
SIGNS = sub(27, b"\x02")


def certified(signer: Signer = SUB, *said: bytes, back: bytes | None = None) -> Key:
    """Ann's key with a subkey that may sign; `back` is what says that the subkey belongs to it."""
    data = ANN.hashed(ANN.body) + ANN.hashed(signer.body)
    if back is None:
        back = signer.signature(BACK, data)
    inner = back[6:] if back else b""
    embedded = b"\xff" + struct.pack(">I", len(inner) + 1) + b"\x20" + inner if back else b""
    return parse_key(
        ANN.certificate(packet(14, signer.body) + ANN.signature(BINDING, data, BORN, SIGNS, *said, embedded))
    )


def by(signer: Signer, *said: bytes, kind: int = BINARY, count: int = 1, unhashed: bytes = b"") -> bytes:
    """The form and its signature."""
    made = signer.signature(
        kind, FORM.encode().replace(b"\n", b"\r\n") if kind == TEXT else FORM.encode(), BORN, *said
    )
    if unhashed:
        body, size = made[6:], struct.unpack(">H", made[10:12])[0]
        body = body[: 6 + size] + struct.pack(">H", len(unhashed)) + unhashed + body[8 + size :]
        made = packet(2, body)
    return f"Content-Type: text/plain\r\n\r\n{FORM}{armored('SIGNATURE', made * count)}".encode()


def clear(
    text: str = FORM, head: str = "Hash: SHA256\n\n", before: str = "", behind: str = "", signed: str = FORM
) -> bytes:
    """A clear-signed text, as it is written and as it was signed."""
    signature = armored("SIGNATURE", ANN.signature(TEXT, signed.rstrip("\n").replace("\n", "\r\n").encode()))
    begin = "-----BEGIN PGP SIGNED MESSAGE-----\n"
    return f"Content-Type: text/plain\r\n\r\n{before}{begin}{head}{text}{signature}{behind}".encode()


PLAIN = parse_key(ANN.certificate())
OPENPGP: dict[str, tuple[bytes, Any]] = {
    "a subkey that does not certify back": (by(SUB), lambda: certified(back=b"")),
    "a subkey certified back by another": (
        by(SUB),
        lambda: certified(back=EVE.signature(BACK, ANN.hashed(ANN.body) + ANN.hashed(SUB.body))),
    ),
    "a subkey certified back to another key": (
        by(SUB),
        lambda: certified(back=SUB.signature(BACK, EVE.hashed(EVE.body) + EVE.hashed(SUB.body))),
    ),
    "a subkey that has expired": (by(SUB), lambda: certified(SUB, sub(9, struct.pack(">I", 86400)))),
    "a subkey for encryption": (by(SUB), lambda: parse_key(ANN.certificate(ANN.subkey(SUB.body)))),
    "a key that has expired": (by(ANN), lambda: parse_key(ANN.certificate(valid_days=1), BORN)),
    "a key that was revoked": (
        by(ANN),
        lambda: parse_key(ANN.certificate(behind=ANN.signature(0x20, ANN.hashed(ANN.body)))),
    ),
    "a critical notation": (by(ANN, notation(critical=True)), PLAIN),
    "an unknown critical subpacket": (by(ANN, sub(101, b"x", critical=True)), PLAIN),
    "an unknown critical subpacket that is not hashed": (by(ANN, unhashed=sub(101, b"x", critical=True)), PLAIN),
    "a creation time that is not hashed": (by(ANN, unhashed=sub(2, struct.pack(">I", 2**32 - 1))), PLAIN),
    "two signatures": (by(ANN, count=2), PLAIN),
    "a signature over a key": (by(ANN, kind=0x13), PLAIN),
    "a standalone signature": (by(ANN, kind=2), PLAIN),
    "another's signature": (by(EVE), PLAIN),
    "a dash that was signed": (clear(text=FORM.replace("Rv1", "- Rv1"), signed=FORM.replace("Rv1", "- Rv1")), PLAIN),
    "a line that looks like the end": (
        clear(text=FORM.replace("end", "-----BEGIN PGP SIGNATURE-----\n\nend")),
        PLAIN,
    ),
    "two clear-signed texts": (clear() + clear().partition(b"\r\n\r\n")[2], PLAIN),
    "one within another": (clear(text="- -----BEGIN PGP SIGNED MESSAGE-----\n" + FORM), PLAIN),
}


@pytest.mark.parametrize("name", OPENPGP)
def test_openpgp(name: str) -> None:
    entity, key = OPENPGP[name]
    found = said(entity, key() if callable(key) else key)
    assert found.kind != "valid", found
    assert not found.signed


def test_openpgp_that_holds() -> None:
    assert said(by(ANN), PLAIN).kind == "valid"
    assert said(by(SUB), certified()).kind == "valid"
    # What the head of a clear-signed text says of the digest is not signed, and believed by nobody (RFC 9580 7).
    for head in ("Hash: SHA256\n\n", "Hash: MD5\n\n", "\n", "Hash: SHA256,SHA512\nHash: SHA1\n\n"):
        assert obeyed(clear(head=head), PLAIN) == ["orders"], head


@pytest.mark.parametrize(
    "entity",
    [
        clear(before="resign m1\n\n", behind="resign m1\n"),
        clear(head="Hash: SHA256\nComment: x\nresign: m1\n\n"),
        clear(head="Hash: SHA256\n\nresign m1\n"),
        clear(text=FORM.replace("end\n", "end\n- -----END PGP\n"), signed=FORM + "-----END PGP\n"),
        clear(text="\n".join(f"- {line}" for line in FORM.splitlines()) + "\n"),
    ],
    ids=["around it", "in its head", "behind its head", "escaped", "escaped everywhere"],
)
def test_openpgp_speaks_by_what_was_signed_alone(entity: bytes) -> None:
    assert obeyed(entity, PLAIN) == ["orders"]
