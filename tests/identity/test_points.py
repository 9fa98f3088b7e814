"""Ed25519: points of small order and second ways of writing, made by arithmetic on the curve, count for nobody."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from data.material import SIGNED
from hypothesis import given
from hypothesis import strategies as st
from signing.openpgp_maker import BORN, Signer

from pbem import identity
from pbem.identity import BadKey, parse_key
from pbem.identity.ed25519_points import SMALL, holds, is_sound, is_sound_signature
from pbem.identity.security_keys import string
from pbem.identity.sender_auth import vouch
from pbem.mail.message import read_letter
from pbem.proof.compare.index import is_signature
from pbem.proof.normal_form import VOCABULARY

judge = partial(identity.judge, words=VOCABULARY)

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SIGN = 1 << 255
Point = tuple[int, int]
ZERO: Point = (0, 1)


def x_of(y: int) -> int | None:
    """RFC 8032 5.1.3, either root."""
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P == u:
        return x
    return x * pow(2, (P - 1) // 4, P) % P if v * x * x % P == -u % P else None


def plus(one: Point, two: Point) -> Point:
    (x1, y1), (x2, y2) = one, two
    k = D * x1 * x2 * y1 * y2 % P
    return (x1 * y2 + x2 * y1) * pow(1 + k, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - k, -1, P) % P


def times(count: int, point: Point) -> Point:
    total = ZERO
    while count:
        if count & 1:
            total = plus(total, point)
        point, count = plus(point, point), count >> 1
    return total


def octets(y: int, sign: int = 0) -> bytes:
    return (y | (SIGN if sign else 0)).to_bytes(32, "little")


def written(point: Point) -> bytes:
    return octets(point[1], point[0] & 1)


def base() -> Point:
    y = 4 * pow(5, -1, P) % P
    x = x_of(y)
    assert x is not None
    return (P - x if x & 1 else x), y


BASE = base()


def small() -> set[Point]:
    """The eight points whose order divides eight: what the order of the prime group leaves of any point."""
    found = (times(L, (x, y)) for y in range(2, 60) if (x := x_of(y)) is not None)
    eight = next(point for point in found if times(4, point) != ZERO)
    return {times(count, eight) for count in range(8)}


POINTS = small()
ENCODINGS = sorted({octets(y, sign) for _, y in POINTS for sign in (0, 1)})
"""With both signs, that of an x of nothing too."""
TWICE = sorted({octets(y + P, sign) for y in range(19) for sign in (0, 1)})
"""All that is written with a y beyond the field: two of them are small points once more."""
UNSOUND = [*ENCODINGS, *TWICE]
HONEST = Ed25519PrivateKey.from_private_bytes(b"h" * 32)


def test_the_table_is_that_of_the_curve() -> None:
    assert len(POINTS) == 8
    assert {y for _, y in POINTS} == SMALL
    assert (len(ENCODINGS), len(TWICE)) == (10, 38)


@pytest.mark.parametrize("point", UNSOUND)
def test_no_such_key_is_sound(point: bytes) -> None:
    assert not is_sound(point)
    assert not is_sound_signature(point + bytes(32))


@given(st.integers(1, L - 1))
def test_honest_points_are_sound(count: int) -> None:
    assert is_sound(written(times(count, BASE)))


def challenge(r: bytes, key: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % L


@pytest.mark.parametrize(("r", "key"), list(product(ENCODINGS, ENCODINGS)))
def test_small_keys_and_small_points(r: bytes, key: bytes) -> None:
    """The cases of "Taming the many EdDSAs" 0 and 1: S = 0, and both points small."""
    assert not any(holds(key, r + bytes(32), bytes([count])) for count in range(8))


def test_mixed_order_is_told_apart_by_nobody_but_the_equation() -> None:
    """Cases 2 to 5: what only the equation times eight would accept is not accepted."""
    secret = 12345
    torsion = next(point for point in POINTS if times(4, point) != ZERO)
    mixed = written(plus(times(secret, BASE), torsion))
    assert is_sound(mixed)
    for count in range(16):
        message = bytes([count])
        r = 777 + count
        point = written(times(r, BASE))
        k = challenge(point, mixed, message)
        signature = point + ((r + k * secret) % L).to_bytes(32, "little")
        assert holds(mixed, signature, message) == (k % 8 == 0)


def test_a_number_s_that_is_not_reduced() -> None:
    """Cases 6 and 7: S + L signs the same, where it fits."""
    key = HONEST.public_key().public_bytes_raw()
    signature = HONEST.sign(b"x")
    s = int.from_bytes(signature[32:], "little")
    for more in range(L, 2**256 - s, L):
        again = signature[:32] + (s + more).to_bytes(32, "little")
        assert not is_sound_signature(again)
        assert not holds(key, again, b"x")


def test_a_second_way_of_writing_r_or_a() -> None:
    """Cases 8 to 11, with the only points that have a second way: the small ones, and those that nobody knows."""
    key = HONEST.public_key().public_bytes_raw()
    for point in TWICE:
        assert not holds(key, point + HONEST.sign(b"x")[32:], b"x")
        assert not holds(point, HONEST.sign(b"x"), b"x")


# Each format's own keys.


def as_ssh(point: bytes) -> str:
    return f"ssh-ed25519 {base64.b64encode(string(b'ssh-ed25519') + string(point)).decode()}"


def as_openpgp(point: bytes) -> str:
    return Signer(point=point).certificate()


def as_certificate(point: bytes) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])
    builder = x509.CertificateBuilder(name, name, Ed25519PublicKey.from_public_bytes(point), 1)
    dated = builder.not_valid_before(BORN).not_valid_after(BORN + timedelta(days=1))
    return dated.sign(HONEST, None).public_bytes(Encoding.PEM).decode()


FORMATS = {
    "ssh": as_ssh,
    "openpgp": as_openpgp,
    "smime": as_certificate,
}


@pytest.mark.parametrize("kind", FORMATS)
def test_no_format_takes_such_a_key(kind: str) -> None:
    assert parse_key(FORMATS[kind](HONEST.public_key().public_bytes_raw())).format == kind
    for point in UNSOUND:
        with pytest.raises(BadKey):
            parse_key(FORMATS[kind](point))


@pytest.mark.parametrize("point", UNSOUND)
def test_no_domain_has_such_a_key(point: bytes) -> None:
    records = {"ed._domainkey.players.example": f"v=DKIM1; k=ed25519; p={base64.b64encode(point).decode()}"}
    letter = read_letter((SIGNED / "dkim/ed25519.eml").read_bytes())
    assert vouch(letter, records, "", datetime(2026, 11, 21, 8, tzinfo=UTC)).verdict.kind == "refused"


@pytest.mark.parametrize("point", ENCODINGS)
def test_nobody_is_convicted_by_such_a_key(point: bytes) -> None:
    assert not any(is_signature(point.hex(), (r + bytes(32)).hex(), b"head") for r in ENCODINGS)


@pytest.mark.parametrize("made", [point + bytes(32) for point in ENCODINGS] + [b"\x11" * 32 + octets(L)])
def test_no_openpgp_signature_with_such_numbers(made: bytes) -> None:
    """Sequoia sees it no more."""
    signer = Signer()
    text = "orders m1 turn 1\nend\n"
    letter = read_letter(f"From: a@b.example\n\n{text}{signer.over(text.encode(), made=made)}".encode())
    found = judge(letter, [parse_key(signer.certificate())], "play.example")
    assert found.kind == "bad"
    assert "damaged" in found.reason
