"""SSH keys and SSHSIG blobs, against the samples and, where it is long, against the stock ssh-keygen."""

from __future__ import annotations

import base64
import shutil
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from data.material import SIGNED
from hypothesis import given
from hypothesis import strategies as st
from judges.reasons import is_whole
from msgspec.structs import replace
from signing.passkeys import armored

from pbem.identity import ssh
from pbem.identity.security_keys import string, take
from pbem.identity.verdict import BadKey, BadSignature

if TYPE_CHECKING:
    from pathlib import Path

NAMESPACE = "pbem-order@play.example"

# As `ssh-keygen -l -f` prints them.
FINGERPRINTS = {
    "ed25519": "SHA256:EfuNOFe3lVq2PM6jgE1tE5n3QfsrfqtTPRjMGhVUK6c",
    "ecdsa": "SHA256:Wp9Qow03HtAlVxFuz5gC4Ypqe4ort8x+9sd7P65h/Gk",
    "rsa": "SHA256:fo4+ZCLVB170vHiYZefSuRD8tdvS7CpkWgrxSoV9XGk",
    "ed25519-sk": "SHA256:DNYsd4AKMokf198mCONqUkBTrkAg+/+8xh9d7anE4TI",
    "ecdsa-sk": "SHA256:DoF+qOuDVM5AuT7/GM+BpKIBGmqeP4sFMRdyZHFttLY",
    "passkey": "SHA256:18g1dJbBWA/7kjo5erpmqYhfjkHSJuuPCpqt0s27bww",
}


def key_line(name: str) -> str:
    return (SIGNED / f"keys/ssh-{name}.pub").read_text()


def private(name: str) -> ssh.PrivateKey:
    return ssh.load((SIGNED / f"keys/ssh-{name}").read_bytes())


def sample(name: str) -> tuple[bytes, str]:
    return (SIGNED / f"sshsig/{name}.txt").read_bytes(), (SIGNED / f"sshsig/{name}.txt.sig").read_text()


def blob_of(armor: str) -> bytes:
    return base64.b64decode("".join(armor.split("\n")[1:-2]))


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_fingerprints_are_those_of_ssh_keygen(name: str) -> None:
    key = ssh.parse(key_line(name))
    assert key.fingerprint == FINGERPRINTS[name]
    assert key.public == " ".join(key_line(name).split()[:2])
    assert ssh.parse(key.public).fingerprint == key.fingerprint


@pytest.mark.parametrize("name", ["ed25519", "rsa"])
def test_signing_gives_the_very_armor_of_ssh_keygen(name: str) -> None:
    text, armor = sample(name)
    assert ssh.sign(private(name), text, NAMESPACE) == armor


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()], ids=lambda curve: curve.name)
@pytest.mark.parametrize("hash_algorithm", ["sha256", "sha512"])
def test_ecdsa_of_every_curve_comes_round(curve: ec.EllipticCurve, hash_algorithm: str) -> None:
    key = ec.generate_private_key(curve)
    armor = ssh.sign(key, b"text\n", NAMESPACE, hash_algorithm)  # type: ignore[arg-type]  # one that is not allowed, too
    assert ssh.verify(ssh.read_signature(armor), ssh.parse(ssh.public(key)), b"text\n")
    assert not ssh.verify(ssh.read_signature(armor), ssh.parse(ssh.public(key)), b"text")


def compressed(line: str) -> str:
    """A key whose point is written in half its length."""
    kind, text = line.split()[:2]
    field, marks = string(b"nistp256"), base64.b64decode(text)
    before, _, after = marks.partition(field)
    size = int.from_bytes(after[:4], "big")
    point = bytes([2 + after[3 + size] % 2]) + after[5 : 5 + size // 2]
    whole = before + field + string(point) + after[4 + size :]
    return f"{kind} {base64.b64encode(whole).decode()}"


def test_the_reason_for_a_refused_key_is_named() -> None:
    weak = rsa.generate_private_key(65537, 1024)
    blob = base64.b64decode(key_line("ed25519").split()[1])
    long_form = base64.b64encode(blob + b"\0").decode()
    for line, reason in [
        ("", "one line"),
        ("ssh-ed25519", "one line"),
        ("no-pty " + key_line("ed25519"), "begins with its type"),
        ('from="*" ' + key_line("ed25519"), "begins with its type"),
        (key_line("withcert").replace("ssh-ed25519", "ssh-ed25519-cert-v01@openssh.com"), "Certificates"),
        ((SIGNED / "keys/ssh-withcert-cert.pub").read_text(), "Certificates"),
        ("sk-ssh-ed25519@openssh.com AAAA", "damaged"),
        ("ssh-dss AAAA", "begins with its type"),
        (ssh.public(weak), "2048"),
        (f"ssh-ed25519 {long_form}", "damaged"),
        (key_line("rsa").replace("ssh-rsa ", "ssh-ed25519 "), "damaged"),
        ("ssh-ed25519 not*base64", "damaged"),
        ("ssh-ed25519 AAAA", "damaged"),
        (compressed(key_line("ecdsa")), "damaged"),
        (compressed(key_line("passkey")), "damaged"),
    ]:
        with pytest.raises(BadKey, match=reason):
            ssh.parse(line)


def rebuilt(
    *,
    magic: bytes = b"SSHSIG",
    version: int = 1,
    reserved: bytes = b"",
    digest: bytes = b"sha512",
    algorithm: bytes = b"ssh-ed25519",
    inner_tail: bytes = b"",
    tail: bytes = b"",
) -> str:
    """Give the Ed25519 sample with one field changed."""
    good = ssh.read_signature(sample("ed25519")[1])
    inner = string(algorithm) + string(good.signature) + inner_tail
    fields = (good.publickey, good.namespace.encode(), reserved, digest, inner)
    return armored(magic + struct.pack(">I", version) + b"".join(map(string, fields)) + tail)


@pytest.mark.parametrize(
    ("armor", "kind"),
    [
        (rebuilt(magic=b"SSHSIX"), "bad"),
        (rebuilt(version=2), "refused"),
        (rebuilt(reserved=b"x"), "bad"),
        (rebuilt(digest=b"sha1"), "refused"),
        (rebuilt(digest=b"md5"), "refused"),
        (rebuilt(algorithm=b"ssh-rsa"), "refused"),
        (rebuilt(algorithm=b"rsa-sha2-512"), "refused"),
        (rebuilt(inner_tail=b"\0"), "bad"),
        (rebuilt(tail=b"\0"), "bad"),
        (armored(b""), "bad"),
        (armored(b"SSHSIG"), "bad"),
        (armored(b"SSHSIG\0\0\0\1\xff\xff\xff\xff"), "bad"),
        ("", "bad"),
        (ssh.BEGIN + ssh.END, "bad"),
        (ssh.BEGIN, "bad"),
        (f"{ssh.BEGIN}\n====\n{ssh.END}", "bad"),
    ],
)
def test_strict_reading(armor: str, kind: str) -> None:
    with pytest.raises(BadSignature) as caught:
        ssh.read_signature(armor)
    assert caught.value.kind == kind
    assert is_whole(caught.value.reason)


def test_an_ecdsa_signature_has_one_writing() -> None:
    """Two numbers in their shortest form."""
    text, armor = sample("ecdsa")
    signature, key = ssh.read_signature(armor), ssh.parse(key_line("ecdsa"))
    r, rest = take(signature.signature)
    s, _ = take(rest)
    assert ssh.verify(signature, key, text)
    for other in (
        signature.signature + string(b"\1"),
        string(b"\0" + r) + string(s),
        string(r) + string(b"\0" + s),
        string(r),
        string(b"") + string(s),
    ):
        assert not ssh.verify(replace(signature, signature=other), key, text)


def test_a_signature_by_sha1_is_refused_for_rsa() -> None:
    good = blob_of(sample("rsa")[1])
    with pytest.raises(BadSignature) as caught:
        ssh.read_signature(armored(good.replace(b"\0\0\1\x94\0\0\0\x0crsa-sha2-512", b"\0\0\1\x8f\0\0\0\x07ssh-rsa")))
    assert caught.value.kind == "refused"


@given(st.binary(max_size=300))
def test_reading_a_blob_raises_nothing_else(blob: bytes) -> None:
    with pytest.raises(BadSignature):
        ssh.read_signature(armored(b"SSHSIG\0\0\0\1" + blob))


@given(st.text())
def test_parsing_a_key_raises_nothing_else(text: str) -> None:
    security = "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29t"
    for line in (text, "ssh-ed25519 " + text, "ssh-rsa AAAA" + text, security + text):
        with pytest.raises(BadKey):
            ssh.parse(line)


def pem(key: object, passphrase: str | None = None) -> bytes:
    encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)  # type: ignore[attr-defined, no-any-return]  # keys of any kind


def test_private_keys_in_pem_with_a_passphrase() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    locked = pem(key, "secret")
    with pytest.raises(TypeError):
        ssh.load(locked)
    with pytest.raises(ValueError, match=r"\w"):
        ssh.load(locked, "wrong")
    assert ssh.public(ssh.load(locked, "secret")) == ssh.public(key)


def test_private_keys_that_cannot_sign_here() -> None:
    for key in (
        x25519.X25519PrivateKey.generate(),
        rsa.generate_private_key(65537, 1024),
        ec.generate_private_key(ec.SECP256K1()),
    ):
        with pytest.raises(ssh.UnusableKey):
            ssh.load(pem(key))
    with pytest.raises(ValueError, match=r"\w"):
        ssh.load(b"no key at all")


@pytest.mark.long
@pytest.mark.parametrize("sort", ["ed25519", "ecdsa-256", "ecdsa-384", "ecdsa-521", "rsa-2048", "rsa-4096"])
def test_against_stock_ssh_keygen(sort: str, tmp_path: Path) -> None:
    """Both ways, wherever OpenSSH is installed; the samples say the same without it."""
    keygen = shutil.which("ssh-keygen")
    if keygen is None:
        return
    kind, _, bits = sort.partition("-")
    path, text = tmp_path / "key", b"orders m17 turn 5\r\n\xff\nend"
    size = ["-b", bits] if bits else []
    subprocess.run([keygen, "-q", "-t", kind, *size, "-N", "", "-C", "anna@home", "-f", path], check=True)
    line = path.with_suffix(".pub").read_text()
    key = ssh.parse(line)

    listed = subprocess.run([keygen, "-l", "-f", path], check=True, capture_output=True, text=True).stdout
    assert key.fingerprint == listed.split()[1]

    made = subprocess.run(
        [keygen, "-Y", "sign", "-n", NAMESPACE, "-f", path], input=text, check=True, capture_output=True
    ).stdout.decode()
    assert ssh.verify(ssh.read_signature(made), key, text)

    ours = ssh.sign(ssh.load(path.read_bytes()), text, NAMESPACE)
    assert kind == "ecdsa" or ours == made
    (tmp_path / "sig").write_text(ours)
    (tmp_path / "allowed").write_text(f"anna {line}")
    verify: list[str | Path] = [keygen, "-Y", "verify", "-f", tmp_path / "allowed", "-I", "anna", "-n", NAMESPACE]
    subprocess.run([*verify, "-s", tmp_path / "sig"], input=text, check=True, capture_output=True)
