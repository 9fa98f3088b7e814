"""The heaviest letter of each kind, as large as letters may be: what it costs, and what must not come of it.

Each is one that somebody made to keep the reader busy, or to have words counted that nobody signed for us.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

from asn1crypto import algos, cms, core
from attackers.hostile_inputs import der
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7
from data.material import KEYS
from signing.openpgp_maker import Signer, armored, packet, sub
from signing.signers import private_key

from pbem.config.limits import Limits
from pbem.identity import Key, parse_key, ssh
from pbem.identity.security_keys import string

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 250_000
LINES = 4900
HEAD = "From: ann@mail.example\r\nTo: pbem@play.example\r\nSubject: orders\r\nMessage-ID: <1@mail.example>\r\n"
WORDS = "the quick brown fox jumps over lazy dogs "
ORDERS = "orders m1 turn 1\r\nserver play.example\r\nplayer ann\r\nprev x\r\nrev 1\r\nRw1\r\nend\r\n"

SIGNER = Signer()


@dataclass(frozen=True)
class Heavy:
    """A letter, and the verdicts that are right for it."""

    raw: bytes
    kinds: frozenset[str] = frozenset({"none"})


def full(unit: str, size: int = SIZE) -> str:
    """As much of this as a letter holds, in no more lines than it may have."""
    ends = unit.count("\r\n") + 1
    times = max(1, -(-size // (len(unit) + 2) // LINES)) if ends == 1 else 1
    line = (unit * times)[:60_000]
    return f"{line}\r\n" * min(size // (len(line) + 2), LINES // ends)


def plain(text: str, head: str = "") -> bytes:
    return f"{HEAD}{head}\r\n{text}".encode()[: Limits().message_bytes]


def noise(octets: int) -> str:
    return base64.b64encode(Random(1).randbytes(octets)).decode()


def wrapped(data: bytes) -> str:
    return base64.encodebytes(data).decode().replace("\n", "\r\n")


@cache
def keys() -> tuple[Key, ...]:
    """One of each format, which letters are judged by."""
    names = ("pgp-anna.pub.asc", "sm-p256.crt", "ssh-ed25519.pub")
    return (*(parse_key((KEYS / name).read_bytes()) for name in names), parse_key(SIGNER.certificate()))


def letters() -> Iterator[tuple[str, Heavy]]:
    """All of them by name."""
    yield from _marks()
    yield from _texts()
    yield from _commands()
    yield from _mime()
    yield from _armors()
    yield from _smime()
    yield from _bounces()


_MARKS = (
    "-----BEGIN SSH SIGNATURE-----", "-----BEGIN PGP SIGNATURE-----", "-----BEGIN PGP SIGNED MESSAGE-----",
    "-----BEGIN PGP MESSAGE-----", "-----BEGIN PKCS7-----", "-----BEGIN CERTIFICATE-----", "-----",
    "-- ", ">", "#", "- ",
)  # fmt: skip


def _marks() -> Iterator[tuple[str, Heavy]]:
    unsigned = frozenset({"none", "refused", "bad"})
    for mark in _MARKS:
        name = mark.replace("\r\n", "/")
        yield f"marks {name}", Heavy(plain(full(mark)), unsigned)
        yield f"lines of marks {name}", Heavy(plain(full(f"{mark}\r\n")), unsigned)
        yield f"quoted marks {name}", Heavy(plain(full(f"> {mark}")), unsigned)


def _texts() -> Iterator[tuple[str, Heavy]]:
    """Texts under signatures over something else: every reading is tried."""
    key = ssh.load((KEYS / "ssh-ed25519").read_bytes())
    other = ssh.sign(key, b"another text", "pbem@play.example").replace("\n", "\r\n")
    bad = frozenset({"bad"})
    clear = armored("SIGNATURE", SIGNER.signature(1, b"another text")).replace("\n", "\r\n")
    form = "orders m1 turn 1 server play.example player ann prev x rev 1 Rw1 "
    all_repairs = " orders m1 turn 1 server x \u2019 a <mailto:a> b \u00a0 end "
    repaired_lines = f"{form}\u2019 a <mailto:a> \u00ad \r\n"
    for unit in (WORDS, "orders ", "x ", "a \u2019 ", form, "help end ", all_repairs, repaired_lines):
        text = full(unit, SIZE - 2000)
        while len(text.encode()) > SIZE - 2000:
            text = text[: len(text) * 9 // 10]
        yield f"a signature over another text: {unit}", Heavy(plain(f"{text}\r\n{other}"), bad)
        signed = f"-----BEGIN PGP SIGNED MESSAGE-----\r\nHash: SHA512\r\n\r\n{text}\r\n{clear}"
        yield f"the same, signed in the clear: {unit}", Heavy(plain(signed), bad)
        lines = text.replace("\r\n", "\n").encode()[: SIZE * 6 // 10].decode("utf-8", "ignore")
        hidden = wrapped(f"{lines}\n{other}".encode())
        head = "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n"
        yield f"the same in base64: {unit}", Heavy(plain(hidden, head), bad)
    hidden = wrapped(b"help\n" * 30_000)
    yield "lines in base64", Heavy(plain(hidden, "Content-Transfer-Encoding: base64\r\n"), frozenset({"unreadable"}))


def _commands() -> Iterator[tuple[str, Heavy]]:
    for unit in (
        "list ", "help me ", "orders m1 turn 1\r\n", "press m1 x\r\n", "press m1 public\r\n", "accept m1 server x ",
        "register x ssh-ed25519 AAAA ", "register x\r\nssh-ed25519 " + "AAAA " * 64 + "\r\n",
        "register x -----BEGIN CERTIFICATE-----", "recover abcd ", "abcd-",
        "key revoke ABCD ", "confirm x server y challenge z end ", "set format text server x player y rev 1 ",
    ):  # fmt: skip
        yield f"commands {unit[:30].strip()!r}", Heavy(plain(full(unit)))
    yield "a list of players", Heavy(plain("new spaceships with " + full("bob ") + "end\r\n"))
    yield "options", Heavy(plain("new spaceships\r\n" + full("a: b ") + "end\r\n"))
    yield "groups of a fingerprint", Heavy(plain("key revoke " + full("ABCD ")))


def _mime() -> Iterator[tuple[str, Heavy]]:
    any_unsigned = frozenset({"none", "refused", "unreadable"})
    nested = "".join(f"Content-Type: multipart/mixed; boundary=b{at}\r\n\r\n--b{at}\r\n" for at in range(9))
    yield "nesting", Heavy(f"{HEAD}{nested}\r\n{full(WORDS)}".encode()[:SIZE])
    deep = "".join(f"Content-Type: multipart/mixed; boundary=b{at}\r\n\r\n--b{at}\r\n" for at in range(2000))
    yield "deeper nesting", Heavy(f"{HEAD}{deep}\r\nx\r\n".encode()[:SIZE], any_unsigned)
    part = "--b\r\nContent-Disposition: attachment; filename=x.txt.sig\r\n\r\n" + full(WORDS, 4800)
    mixed = "Content-Type: multipart/mixed; boundary=b\r\n"
    yield "signature files", Heavy(plain(part * 48 + "--b--\r\n", mixed), any_unsigned)
    yield "delimiters", Heavy(plain("--b\r\n\r\n" * 2400, mixed), any_unsigned)
    yield "near delimiters", Heavy(plain(full("--b x"), mixed), any_unsigned)
    signed = 'Content-Type: multipart/signed; protocol="application/pgp-signature"; boundary=b\r\n'
    files = "--b\r\nContent-Type: application/pgp-signature\r\n\r\nx\r\n" * 40
    yield "signatures in a container", Heavy(plain(files + "--b--\r\n", signed), any_unsigned)
    for name, header in {
        "encoded words": "Subject: " + ("=?utf-8?q?a?= " * 300 + "\r\n ") * 14,
        "half encoded words": "Subject: " + ("=?" * 10_000 + "\r\n ") * 3,
        "open encoded words": "Subject: " + ("=?utf-8?q?" * 2000 + "\r\n ") * 3,
        "references": "References: " + ("<" * 20_000 + "\r\n ") * 3,
        "no addresses": "Cc: " + ("a" * 20_000 + "\r\n ") * 3,
        "half addresses": "Cc: " + ("a@" * 10_000 + "\r\n ") * 3,
        "dots": "Cc: " + ("a@a." * 5000 + "\r\n ") * 3,
        "parameters": "Content-Type: text/plain; " + ('a*0*="x;' * 5000),
        "semicolons": "Content-Type: " + ";" * 50_000,
        "comments": "From: " + "(" * 900 + "\r\nX-From: " + "(" * 50_000,
        "languages": "Accept-Language: " + "de;q=0.1, " * 5000,
        "results": "Authentication-Results: play.example; " + "dkim = " * 7000,
        "folds": "X: " + "\r\n " * 4000,
        "headers": "\r\n".join(f"X-{at}: {'x' * 300}" for at in range(190)),
    }.items():
        yield name, Heavy(plain("help\r\n", f"{header}\r\n"), any_unsigned)
    for charset in ("utf-7", "utf-16", "utf-32", "iso-2022-jp", "hz", "gb18030", "punycode", "idna", "unicode_escape",
                    "big5hkscs", "shift_jisx0213", "zip", "rot13", "cp037"):  # fmt: skip
        head = f"Content-Type: text/plain; charset={charset}\r\n"
        yield f"charset {charset}", Heavy(plain(full("+AGg~{VP\x1b$B0!"), head))
        encoded = f"{head}Content-Transfer-Encoding: base64\r\n"
        yield f"noise as {charset}", Heavy(plain(full(noise(600)), encoded), any_unsigned)
    for unit in (
        "<div><b>&#x41;", "<", "<!--", "<body><div>", "&#99999999;", "<p>" + WORDS, "<table><tr><td>", "</p>",
        "<b><i><p>", "<a href=", "<div style='", "<p style='display : none", "<p class='gmail_ signature _",
        "<blockquote>", "<script>", "&", "<br>", "<![CDATA[", "<select><option>", "<svg><math>", "----- ",
    ):  # fmt: skip
        yield f"HTML {unit[:20]}", Heavy(plain(full(unit), "Content-Type: text/html\r\n"))
    yield "quoted-printable", Heavy(plain(full("=3D=\r\n="), "Content-Transfer-Encoding: quoted-printable\r\n"))


def _armors() -> Iterator[tuple[str, Heavy]]:
    """Signatures that are none, or by what is no key of a player."""
    wrong = frozenset({"bad", "refused", "unknown key"})
    clear = f"-----BEGIN PGP SIGNED MESSAGE-----\r\n\r\n{full('orders m1 ' * 9, SIZE // 2)}"
    armor = f"-----BEGIN PGP SIGNATURE-----\r\n\r\n{full(noise(480), SIZE // 3)}-----END PGP SIGNATURE-----\r\n"
    yield "OpenPGP armor of noise", Heavy(plain(clear + armor), wrong)
    body = f"{ORDERS}-----BEGIN SSH SIGNATURE-----\r\n"
    yield "SSH armor of noise", Heavy(plain(f"{body}{full(noise(48))}-----END SSH SIGNATURE-----\r\n"), wrong)
    text = ORDERS.encode()
    one = SIGNER.signature(1, text)
    for name, packets in {
        "one OpenPGP signature many times": one * (150_000 // len(one)),
        "OpenPGP packets": packet(2, b"") * 20_000,
        "OpenPGP markers": packet(10, b"PGP") * 15_000 + one,
    }.items():
        many = armored("SIGNATURE", packets).replace("\n", "\r\n")
        yield name, Heavy(plain(f"{ORDERS}{many}"), wrong)
    stuffed = armored("SIGNATURE", _with_subpackets(text, 9000)).replace("\n", "\r\n")
    yield "an OpenPGP signature with much beside it", Heavy(plain(f"{ORDERS}{stuffed}"), frozenset({"valid"}))
    subkey = Signer(key=Ed25519PrivateKey.from_private_bytes(b"t" * 32))
    stranger = armored("SIGNATURE", subkey.signature(1, text)).replace("\n", "\r\n")
    yield "OpenPGP by a key that is nobody's", Heavy(plain(f"{ORDERS}{stranger}"), frozenset({"unknown key"}))
    yield from _ssh_armors()


def _with_subpackets(text: bytes, count: int) -> bytes:
    """A signature whose unhashed area is as long as it can be."""
    made = SIGNER.signature(1, text)
    body = made[6:]
    hashed = struct.unpack(">H", body[4:6])[0]
    at = 6 + hashed
    area = (sub(20, b"\x00\x00\x00\x00\x00\x01\x00\x00x") * count)[:65_000]
    area = area[: len(area) // 11 * 11]
    return packet(2, body[:at] + struct.pack(">H", len(area)) + area + body[at + 2 :])


def _ssh_armors() -> Iterator[tuple[str, Heavy]]:
    private = Ed25519PrivateKey.from_private_bytes(b"u" * 32)
    public = private.public_key().public_bytes_raw()
    plain_key = string(b"ssh-ed25519") + string(public)
    signed = b"SSHSIG" + string(b"pbem@play.example") + string(b"") + string(b"sha512")
    signed += string(hashlib.sha512(ORDERS.replace("\r\n", "\n").encode()).digest())
    made = private.sign(signed)
    certificate = string(b"ssh-ed25519-cert-v01@openssh.com") + string(b"n" * 32) + string(public) + bytes(8)
    certificate += struct.pack(">I", 1) + string(b"ann") + string(string(b"ann")) + bytes(8) + b"\xff" * 8
    certificate += string(b"") * 3 + string(plain_key) + string(string(b"ssh-ed25519") + string(made))
    security = string(b"sk-ssh-ed25519@openssh.com") + string(public) + string(b"ssh:")
    for name, blob, sort, more in (
        ("an SSH certificate", certificate, b"ssh-ed25519", b""),
        ("an SSH certificate as its signature's sort", certificate, b"ssh-ed25519-cert-v01@openssh.com", b""),
        ("a security key", security, b"sk-ssh-ed25519@openssh.com", b"\x01\0\0\0\x01"),
        ("a security key that signs as a plain one", security, b"ssh-ed25519", b""),
        ("a plain key that signs as a security key", plain_key, b"sk-ssh-ed25519@openssh.com", b"\x01\0\0\0\x01"),
    ):
        parts = (blob, b"pbem@play.example", b"", b"sha512", string(sort) + string(made) + more)
        data = b"SSHSIG" + struct.pack(">I", 1) + b"".join(map(string, parts))
        armor = f"{ssh.BEGIN}\r\n{wrapped(data)}{ssh.END}\r\n"
        yield name, Heavy(plain(f"{ORDERS}{armor}"), frozenset({"refused", "unknown key", "bad"}))


def _signed_data(*signers: str, content: bytes = b"Content-Type: text/plain\r\n\r\nhelp\r\n") -> cms.ContentInfo:
    builder: Any = pkcs7.PKCS7SignatureBuilder().set_data(content)
    for name in signers:
        certificate = x509.load_pem_x509_certificate((KEYS / f"sm-{name}.crt").read_bytes())
        builder = builder.add_signer(certificate, private_key(f"sm-{name}.key"), hashes.SHA256())
    return cms.ContentInfo.load(builder.sign(Encoding.DER, [pkcs7.PKCS7Options.Binary]))


_OPAQUE_HEAD = (
    'Content-Type: application/pkcs7-mime; smime-type=signed-data; name="smime.p7m"\r\n'
    "Content-Transfer-Encoding: base64\r\n"
)


def _opaque(der: bytes) -> bytes:
    return plain(wrapped(der), _OPAQUE_HEAD)


def _smime() -> Iterator[tuple[str, Heavy]]:
    wrong = frozenset({"bad", "refused", "unknown key"})
    most = 180_000
    yield "two S/MIME signers", Heavy(_opaque(_signed_data("p256", "rsa").dump()), wrong)
    within = b"Content-Type: text/plain\r\n\r\n" + ORDERS.encode()
    for deep in range(1, 10):
        octets = _signed_data("p256", content=within).dump()
        within = f"{_OPAQUE_HEAD}\r\n{wrapped(octets)}".encode()
        yield f"S/MIME in S/MIME, {deep} deep", Heavy(plain(wrapped(octets), _OPAQUE_HEAD), frozenset({"valid"}))
    nested = b"".join(b"\x30\x84" + inner.to_bytes(4, "big") for inner in range(most - most % 6, -1, -6))
    for name, octets in {
        "DER of nested sequences": nested,
        "DER of nested sequences without lengths": b"\x30\x80" * (most // 2),
        "DER of empty sequences": der(0x30, b"\x30\x00" * (most // 2)),
        "DER of noise": Random(1).randbytes(most),
        "DER that is long": b"\x30\x84\x7f\xff\xff\xff" + bytes(most),
        "DER with long tags": b"\x3f" + b"\xff" * most + b"\x7f\x00",
        "DER with a long number": der(0x30, der(0x06, b"\x2a" + b"\xff" * most + b"\x01")),
    }.items():
        yield name, Heavy(_opaque(octets), wrong)
    for name, changed in _changed(most):
        right = {"valid"} if name == "many certificates" else wrong
        yield name, Heavy(_opaque(changed), frozenset(right))


def _changed(most: int) -> Iterator[tuple[str, bytes]]:
    """SignedData that was signed in earnest, with something in it many times."""
    made = _signed_data("p256")
    signed = made["content"]
    certificate = signed["certificates"][0]
    many = cms.CertificateSet([certificate] * (most // len(certificate.dump())))
    yield "many certificates", _with(made, certificates=many)
    signer = signed["signer_infos"][0]
    yield "many signers", _with(made, signer_infos=cms.SignerInfos([signer] * (most // len(signer.dump()))))
    algorithm = algos.DigestAlgorithm({"algorithm": "sha256"})
    many_digests = cms.DigestAlgorithms([algorithm] * (most // len(algorithm.dump())))
    yield "many digests", _with(made, digest_algorithms=many_digests)
    attribute = next(one for one in signer["signed_attrs"] if one["type"].native == "signing_time")
    odd = cms.CMSAttribute({"type": "1.2.3.4", "values": [core.Integer(1)]})
    for name, one in (("many attributes", odd), ("many times of signing", attribute)):
        changed = signer.copy()
        changed["signed_attrs"] = cms.CMSAttributes([*signer["signed_attrs"], *[one] * (most // len(one.dump()))])
        yield name, _with(made, signer_infos=cms.SignerInfos([changed]))
    chunk = b"\x04\x01x"
    pieces = b"\x24\x80" + chunk * (most // 3) + b"\0\0"
    head = b"\x30\x80\x06\x09" + bytes.fromhex("2a864886f70d010702") + b"\xa0\x80\x30\x80"
    content = b"\x30\x80\x06\x09" + bytes.fromhex("2a864886f70d010701") + b"\xa0\x80" + pieces + b"\0\0" + b"\0\0"
    rest = signed["certificates"].untag().dump()
    certificates = b"\xa0" + rest[1:]
    whole = head + b"\x02\x01\x01" + signed["digest_algorithms"].dump() + content + certificates
    yield "content in pieces", whole + signed["signer_infos"].dump() + b"\0\0" * 3


_PARTS = ("version", "digest_algorithms", "encap_content_info", "certificates", "signer_infos")


def _with(made: cms.ContentInfo, **changed: Any) -> bytes:
    signed = cms.SignedData({name: changed.get(name, made["content"][name]) for name in _PARTS})
    return bytes(cms.ContentInfo({"content_type": "signed_data", "content": signed}).dump())


_SAID = (
    "here is your list of failed recipients", "the following addresses had",
    "this message was created automatically by mail delivery software", "failed addresses follow:",
    "This is the machine generated message from mail service.", "Your message", "-- Failed Recipients ------",
    "The following addresses did NOT receive a copy of your message:", "User's mailbox is full:",
    "The email below could not be delivered to the following user:", "Invalid final delivery userid:",
    "Unable to deliver message to the following address(es).", "Delivery to the following recipient failed",
    "A message that you sent could not be delivered", "Your message could not be delivered to",
    "Your message has encountered delivery problems", "Did not reach the following recipient",
    "did not reach the following recipient", "This is the deliver program at", "this is the email server at",
    "- no such user here", "The following address failed:", "The following recipient(s) could not be reached",
    "Could not deliver message to the following recipient", "Message not delivered to the following addresses",
    "A message that you sent was rejected", "Message could not be delivered to some recipients.",
    "The address to which the message has not yet been delivered is", "Your message with Subject:",
    "Delivery to the following recipient has been delayed", "This is an advisory-only email",
    "This Message was undeliverable due to the following reason:",
)  # fmt: skip
"""Lines by which flufl.bounce recognises old bounces: what follows is searched for addresses, with each a pattern."""


def _bounces() -> Iterator[tuple[str, Heavy]]:
    """Reports of mail servers on undelivered letters, without any address."""
    unsigned = frozenset({"none", "refused", "unreadable"})
    said = "".join(f"{line}\r\n" for line in _SAID)
    for unit in (
        "x",
        "x@",
        "<",
        " ",
        "a ",
        "\u2028 ",
        "<\u2028",
        "a@\u00e4",
        "*",
        "(",
        "user mailbox",
        "Error: a ",
        ",",
    ):
        for width in (1, 190, 60_000):
            line = f"{unit}" * max(1, width // len(unit.encode()))
            text = said + f"{line}\r\n" * min(LINES - 100, (SIZE - 3000) // (len(line.encode()) + 2))
            name = f"a bounce of {unit!r}, {width} wide"
            yield name, Heavy(plain(text, "Content-Type: text/plain; charset=utf-8\r\n"), unsigned)
            hidden = wrapped(f"{said}{line[:30_000]}\nthe{line[:30_000]}\n".encode())
            head = "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n"
            yield f"{name}, in base64", Heavy(plain(hidden, head), unsigned)
            part = f"--b\r\n{head}Content-Description: notification\r\n\r\n{hidden}"
            for kind in ("report", "mixed"):
                whole = f"Content-Type: multipart/{kind}; boundary=b\r\nX-Mailer: novell\r\n"
                body = f"{part}--b\r\n\r\nx\r\n--b--\r\n"
                yield f"{name}, multipart/{kind}", Heavy(plain(body, whole), unsigned)
    yield from _bounces_of_many_parts()
    mixed = "Content-Type: multipart/report; boundary=b\r\n"
    for unit in (";", '";', "a=b;", '"a;', "rfc822;<", "(", "<", "@,", "\\"):
        folded = f"{unit * (900 // len(unit))}\r\n " * 34
        yield f"failed recipients {unit!r}", Heavy(plain("x", f"X-Failed-Recipients: {folded}\r\n"), unsigned)
        status = f"Action: failed\r\nFinal-Recipient: {folded}\r\n"
        for kind in ("delivery-status", "Delivery-Status"):
            part = f"--b\r\nContent-Type: message/{kind}\r\n\r\nReporting-MTA: x\r\n\r\n{status}--b--\r\n"
            yield f"message/{kind} of {unit!r}", Heavy(plain(part, mixed), unsigned)
        groups = full(f"Action: x{unit}\r\n")
        part = f"--b\r\nContent-Type: message/delivery-status\r\n\r\n{groups}--b--\r\n"
        yield f"groups of {unit!r}", Heavy(plain(part, mixed), unsigned)


def _bounces_of_many_parts() -> Iterator[tuple[str, Heavy]]:
    """Within the octets that are searched for an old form: letters in letters, and parts beside each other."""
    any_unsigned = frozenset({"none", "refused", "unreadable"})
    for name, end in (("", "\r\n"), (", by CR alone", "\r")):
        letters = f"Content-Type: message/rfc822{end * 2}" * 900
        yield f"a bounce of 900 letters{name}", Heavy(f"{HEAD}{letters}X: y\r\n\r\nx\r\n".encode(), any_unsigned)
    digest = "Content-Type: multipart/digest; boundary=b\r\n"
    yield "a bounce of many parts", Heavy(plain("--b\r\n\r\n" * 4000, digest), any_unsigned)
