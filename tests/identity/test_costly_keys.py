"""Keys that cost more than a letter is worth, or that are of an obsolete kind, are refused at registration."""

from __future__ import annotations

import base64
import struct
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from data.material import KEYS
from judges.reasons import is_whole
from signing.openpgp_maker import BORN, Signer, armored, packet, rsa_body, seconds, x25519_body

from pbem.identity import BadKey, Key, parse_key
from pbem.identity.security_keys import mpint, string
from pbem.identity.verdict import check_rsa

RECEIVED = BORN + timedelta(days=10)
ANN = Signer()
ODD = 0x9E3779B97F4A7C15F39CC0605CEDC835


def modulus(bits: int) -> int:
    """No product of two primes; nobody looks."""
    return (1 << bits - 1) + ODD


def as_ssh(n: int, e: int) -> str:
    return f"ssh-rsa {base64.b64encode(string(b'ssh-rsa') + mpint(e) + mpint(n)).decode()}"


def certificate(n: int = 0, e: int = 65537, *extensions: tuple[x509.ExtensionType, bool]) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])
    issuer = ec.generate_private_key(ec.SECP256R1())
    key = rsa.RSAPublicNumbers(e, n).public_key() if n else issuer.public_key()
    builder = x509.CertificateBuilder(name, name, key, 1).not_valid_before(BORN)
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    dated = builder.not_valid_after(BORN + timedelta(days=99))
    return dated.sign(issuer, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def as_subkey(n: int, e: int) -> str:
    return ANN.certificate(ANN.subkey(rsa_body(n, e)))


USES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)
FORMATS = {"ssh": as_ssh, "smime": certificate, "openpgp": as_subkey}


def registered(data: str) -> Key:
    return parse_key(data, RECEIVED)


@pytest.mark.parametrize("kind", FORMATS)
class TestRSA:
    @pytest.mark.parametrize(("bits", "e"), [(2048, 65537), (2048, 3), (8192, 65537), (3072, 2**64 - 59)])
    def test_accepted(self, kind: str, bits: int, e: int) -> None:
        assert registered(FORMATS[kind](modulus(bits), e)).format == kind

    @pytest.mark.parametrize(("bits", "e"), [(2047, 65537), (1024, 65537), (8193, 65537), (16384, 3)])
    def test_sizes(self, kind: str, bits: int, e: int) -> None:
        with pytest.raises(BadKey, match=f"this one has {bits}" if kind != "openpgp" else "RSA keys must have"):
            registered(FORMATS[kind](modulus(bits), e))

    @pytest.mark.parametrize("e", [2**64 + 13, 2**2047 + 1])
    def test_exponents_as_long_as_the_modulus(self, kind: str, e: int) -> None:
        """Up to 3072 bits OpenSSL would take the time that signing takes."""
        with pytest.raises(BadKey, match="exponent"):
            registered(FORMATS[kind](modulus(2048), e))


@pytest.mark.parametrize("e", [-1, 0, 1, 2, 65536, 2**63, 2**64 + 1])
def test_exponents_under_which_anybody_signs_or_nobody(e: int) -> None:
    with pytest.raises(BadKey, match="exponent"):
        check_rsa(modulus(2048), e)
    if e > 0:
        with pytest.raises(BadKey):
            registered(as_ssh(modulus(2048), e))


class TestOpenPGP:
    def test_crowds(self) -> None:
        """A key of before, which stands in a transcript, is read as ever."""
        subkey = ANN.subkey(rsa_body(modulus(2048)))
        assert registered(ANN.certificate(*[subkey] * 20)).format == "openpgp"
        assert registered(ANN.certificate(names=50)).format == "openpgp"
        signature = subkey[subkey.rindex(b"\xc2\xff\0\0\0") :]
        for crowded in (
            ANN.certificate(*[subkey] * 21),
            ANN.certificate(names=51),
            ANN.certificate(*[signature] * 200),
        ):
            with pytest.raises(BadKey, match="too long"):
                registered(crowded)
            assert parse_key(crowded).format == "openpgp"

    def test_subkeys_to_which_each_letter_is_encrypted(self) -> None:
        subkey = ANN.subkey(x25519_body(bytes(32)))
        assert registered(ANN.certificate(*[subkey] * 8)).format == "openpgp"
        with pytest.raises(BadKey, match="too long"):
            registered(ANN.certificate(*[subkey] * 9))

    def test_octets(self) -> None:
        with pytest.raises(BadKey, match="too long"):
            registered(ANN.certificate(packet(17, bytes(48 * 1024))))

    @pytest.mark.parametrize("algorithm", [16, 17])
    def test_dsa_and_elgamal(self, algorithm: int) -> None:
        number = struct.pack(">H", 1024) + b"\xff" * 128
        body = b"\x04" + seconds(BORN) + bytes([algorithm]) + number * 4
        with pytest.raises(BadKey, match="obsolete kind"):
            registered(ANN.certificate(ANN.subkey(body)))

    def test_version_3(self) -> None:
        body = b"\x03" + seconds(BORN) + b"\0\0" + rsa_body(modulus(2048))[5:]
        with pytest.raises(BadKey):
            registered(ANN.certificate(packet(14, body)))

    @pytest.mark.parametrize("cut", range(1, 60))
    def test_packets_that_end_early(self, cut: int) -> None:
        body = rsa_body(modulus(2048))
        for data in (ANN.body[:cut], body[:cut]):
            with pytest.raises(BadKey):
                registered(armored("PUBLIC KEY BLOCK", packet(6, data)))


class TestCertificates:
    def test_octets(self) -> None:
        names = x509.SubjectAlternativeName([x509.DNSName(f"{at}.mail.example") for at in range(1000)])
        with pytest.raises(BadKey, match="too long: 16384 octets"):
            registered(certificate(0, 0, (names, False)))
        assert parse_key(certificate(0, 0, (names, False))).format == "smime"

    @pytest.mark.parametrize("use", ["digital_signature", "content_commitment", "key_encipherment"])
    def test_a_certificate_that_is_not_for_signatures(self, use: str) -> None:
        """RFC 8551 4.4.2: for them it has one of two uses, or says nothing of its use."""
        none = dict.fromkeys(USES, False)
        told = certificate(0, 0, (x509.KeyUsage(**none | {use: True}), True))
        if use != "key_encipherment":
            assert registered(told).format == "smime"
            return
        with pytest.raises(BadKey, match="not meant for signatures"):
            registered(told)

    @pytest.mark.parametrize("key", [ec.generate_private_key(ec.SECP256K1()), ed448.Ed448PrivateKey.generate()])
    def test_keys_of_other_kinds(self, key: ec.EllipticCurvePrivateKey | ed448.Ed448PrivateKey) -> None:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])
        builder = x509.CertificateBuilder(name, name, key.public_key(), 1).not_valid_before(BORN)
        made = builder.not_valid_after(BORN + timedelta(days=99)).sign(
            ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()
        )
        with pytest.raises(BadKey, match="accepted") as refused:
            parse_key(made.public_bytes(Encoding.PEM))
        assert is_whole(refused.value.reason)

    def test_conditions_that_nobody_knows(self) -> None:
        unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")
        assert registered(certificate(0, 0, (unknown, False))).format == "smime"
        with pytest.raises(BadKey, match="condition"):
            registered(certificate(0, 0, (unknown, True)))


def test_all_samples_can_still_be_registered() -> None:
    for path in [*KEYS.glob("pgp-*.pub.asc"), *KEYS.glob("sm-*.crt"), *KEYS.glob("ssh-*.pub")]:
        if not path.stem.endswith(("-cert", "-ca")):
            assert parse_key(path.read_bytes(), RECEIVED + timedelta(days=1060)).format in {"openpgp", "smime", "ssh"}


def test_what_is_no_text_is_no_key() -> None:
    with pytest.raises(BadKey):
        parse_key(b"ssh-ed25519 \xff\xfe anna")
