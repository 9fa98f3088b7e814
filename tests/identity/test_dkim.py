"""DKIM: which letters a domain vouches for, and which it does not, whatever dkimpy alone would say."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime, timedelta
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from data.material import KEYS, SIGNED
from judges.reasons import is_whole
from signing.domains import Domain, rsa_key

from pbem.identity import dkim, sender_auth
from pbem.identity.sender_auth import vouch
from pbem.mail.message import read_letter
from pbem.proof.mailbox_evidence import marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.identity import Verdict

CONFIG = Path(__file__).parents[2] / "config"

AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
LETTER = (
    b"From: Bob <bob@mail.example>\r\nTo: pbem@play.example\r\nSubject: orders\r\n"
    b"Date: Sat, 21 Nov 2026 07:30:00 +0000\r\nMessage-ID: <1@mail.example>\r\n\r\norders m1 turn 1 end\r\n"
)
SAMPLES = {
    "rsa": "valid",
    "rsa-simple": "valid",
    "ed25519": "valid",
    "rsa-ltag": "refused",
}


def judged(raw: bytes, domain: Domain, record: str | None = "its own", at: datetime = AT) -> Verdict:
    records = {domain.where: domain.record if record == "its own" else record}
    found = vouch(read_letter(raw), records, "", at).verdict
    assert is_whole(found.reason)
    assert found.format == "dkim"
    return found


def zone() -> dict[str, str | None]:
    """The records of the samples' keys."""
    private = Ed25519PrivateKey.from_private_bytes(base64.b64decode((KEYS / "dkim-ed25519.key.b64").read_text()))
    public = base64.b64encode(private.public_key().public_bytes_raw()).decode()
    return {
        "s1._domainkey.players.example": f"v=DKIM1; p={(KEYS / 'dkim-rsa.pub.b64').read_text().strip()}",
        "ed._domainkey.players.example": f"v=DKIM1; k=ed25519; p={public}",
    }


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name: str) -> None:
    raw = (SIGNED / f"dkim/{name}.eml").read_bytes()
    verdict = vouch(read_letter(raw), zone(), "", AT).verdict
    assert (verdict.kind, verdict.format) == (SAMPLES[name], "dkim")
    assert bool(verdict.signed) == (verdict.kind == "valid")


def test_every_sample_is_tried_above() -> None:
    assert {path.stem for path in (SIGNED / "dkim").glob("*.eml")} == set(SAMPLES)


def test_a_letter_that_dkimpy_signed_counts() -> None:
    domain = Domain("mail.example")
    verdict = judged(domain.sign(LETTER, AT), domain)
    assert (verdict.kind, verdict.key) == ("valid", "dkim:s1._domainkey.mail.example")
    assert "mail.example" in verdict.reason
    assert judged(LETTER, domain).kind == "none"


def test_a_kept_record_verifies_years_later_and_is_judged_by_the_time_of_receipt() -> None:
    domain = Domain("mail.example")
    raw = domain.craft(LETTER, t=str(int(AT.timestamp())), x=str(int(AT.timestamp()) + 600))
    assert judged(raw, domain, at=AT + timedelta(seconds=600)).kind == "valid"
    assert judged(raw, domain, at=AT + timedelta(seconds=601)).kind == "expired"
    assert judged(raw, domain, at=AT - timedelta(hours=10)).kind == "valid", "its clock may be in another zone"
    assert judged(raw, domain, at=AT - timedelta(hours=10, seconds=1)).kind == "bad"
    # The clock of this machine has no part in it.
    old = datetime(2001, 1, 1, tzinfo=UTC)
    raw = domain.craft(LETTER, x=str(int(old.timestamp()) + 600))
    assert judged(raw, domain, at=old).kind == "valid"


@pytest.mark.parametrize(
    ("tags", "kind"),
    [
        ({"l": "10"}, "refused"),
        ({"l": "99999"}, "refused"),
        ({"a": "rsa-sha1"}, "refused"),
        ({"a": "rsa-md5"}, "refused"),
        ({"headers": ("to", "subject")}, "refused"),
        ({"q": "http"}, "bad"),
        ({"v": "2"}, "bad"),
        ({"i": "@elsewhere.example"}, "bad"),
        ({"t": "soon"}, "bad"),
        ({"x": "1" * 13}, "bad"),
        ({"c": "relaxed/other"}, "bad"),
        ({"drop": "bh"}, "bad"),
        ({"drop": "d"}, "bad"),
    ],
)
def test_signatures_that_do_not_count(tags: dict[str, Any], kind: str) -> None:
    domain = Domain("mail.example")
    assert judged(domain.craft(LETTER), domain).kind == "valid"
    raw = domain.craft(LETTER, **tags)
    verdict = judged(raw, domain)
    assert verdict.kind == kind
    assert not verdict.signed


@pytest.mark.parametrize(
    ("author", "signer", "aligned"),
    [
        ("mail.example", "mail.example", True),
        ("mail.example", "MAIL.example", True),
        ("students.mail.example", "mail.example", True),
        ("mail.example", "students.mail.example", False),
        ("mail.example", "evil.example", False),
        ("evilmail.example", "mail.example", False),
        ("mail.example", "example", False),
    ],
)
def test_alignment(author: str, signer: str, aligned: bool) -> None:
    domain = Domain(signer)
    raw = LETTER.replace(b"bob@mail.example", b"bob@" + author.encode())
    records = {domain.where.lower(): domain.record}
    found = vouch(read_letter(domain.craft(raw)), records, "", AT).verdict
    assert (found.kind == "valid") == aligned
    assert is_whole(found.reason)


def test_a_foreign_signature_beside_it_does_no_harm() -> None:
    own, other = Domain("mail.example"), Domain("list.example", key=rsa_key(2048, 1))
    raw = other.craft(own.craft(LETTER))
    assert judged(raw, own).kind == "valid"
    assert [signature.domain for signature in dkim.signatures(read_letter(raw))[0]] == ["mail.example"]
    assert vouch(read_letter(raw), {}, "", AT).wanted == (own.where,)
    assert vouch(read_letter(raw), {own.where: ""}, "", AT).wanted == (), "it was asked for"


@pytest.mark.parametrize(
    "head",
    [
        b"From: Eve <eve@evil.example>\r\n",
        b"From: eve@evil.example, bob@mail.example\r\n",
        b"from: bob@mail.example\r\n",
    ],
)
def test_two_from(head: bytes) -> None:
    domain = Domain("mail.example")
    for raw in (head + domain.craft(LETTER), domain.craft(head + LETTER)):
        assert judged(raw, domain).kind == "refused"
        assert dkim.signatures(read_letter(raw))[0] == []


def test_changed_on_the_way() -> None:
    domain = Domain("mail.example")
    raw = domain.craft(LETTER)
    body = judged(raw + b"-- \r\na footer\r\n", domain)
    assert (body.kind, "text was changed" in body.reason) == ("bad", True)
    assert judged(raw.replace(b"turn 1", b"turn 2"), domain).kind == "bad"
    assert judged(raw.replace(b"Bob <bob", b"Rob <bob"), domain).kind == "bad"
    assert judged(raw.replace(b"Bob <bob@", b"Bob <eve@"), domain).kind == "bad"
    assert judged(raw.replace(b"\r\n", b"\n"), domain).kind == "valid"


SHORT = {
    512: "v=DKIM1; k=rsa; p="
    "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAMLoAoGmy/O2KXsG/m0hzBD5eiAEiGppwRrB6oOtChn/vhhFMFjUnObHjxoMtELJyXKJ"
    "gMYnwwsaGMbDwcXQfmsCAwEAAQ==",
    1016: "v=DKIM1; k=rsa; p="
    "MIGeMA0GCSqGSIb3DQEBAQUAA4GMADCBiAKBgADRw5EW1MgJ/Gzx8IbOULPKlpbD6q7cXlCFJ7EsfiomBvb71gveBVS6g21XB29f"
    "GiwDMrGsyybAnNWbXDD8UCbLFfP7pvdkVXXtk87QCU1g5JZAUMOG+MyY5JTAT6U8YkucCBv7kagsGdgJ+BGs85OxpYwTFor4/tLZ"
    "7WWIw7oXAgMBAAE=",
}
"""Records of RSA keys that are too short (made with openssl)."""


@pytest.mark.parametrize("bits", SHORT)
def test_rsa_keys_below_1024_bits_are_refused(bits: int) -> None:
    domain = Domain("mail.example")
    verdict = judged(domain.craft(LETTER), domain, SHORT[bits])
    assert (verdict.kind, f"of {bits} bits" in verdict.reason) == ("refused", True)


def public_der(key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey) -> str:
    """A public key as a record holds it."""
    return base64.b64encode(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (None, "unknown key"),
        ("", "unknown key"),
        ("v=DKIM1; k=rsa; p=", "revoked"),
        ("v=DKIM2; {}", "refused"),
        ("v=DKIM1; t=y; {}", "refused"),
        ("v=DKIM1; s=tlsrpt; {}", "refused"),
        ("v=DKIM1; h=sha1; {}", "refused"),
        ("v=DKIM1; k=ed25519; p=" + base64.b64encode(bytes(32)).decode(), "refused"),
        ("v=DKIM1; k=dsa; {}", "refused"),
        ("v=DKIM1; p=AAAA", "refused"),
        ("v=DKIM1; p=!", "refused"),
        ("v=DKIM1; p=" + public_der(ec.generate_private_key(ec.SECP256R1()).public_key()), "refused"),
        ("v=DKIM1; p=" + public_der(rsa.RSAPublicNumbers(2**65 + 1, 2**2047 + 5).public_key()), "refused"),
        ("no record at all", "refused"),
        ("v=DKIM1; {}; n=\u00e9", "refused"),
        ("v=DKIM1; {}; n=" + "x" * 5000, "refused"),
        ("v=DKIM1; s=*; h=sha1:sha256; t=s; {}", "valid"),
        ("{}", "valid"),
    ],
)
def test_records(record: str | None, kind: str) -> None:
    domain = Domain("mail.example")
    public = domain.record.rpartition("; ")[2]
    given = record.replace("{}", public) if record else record
    assert judged(domain.craft(LETTER), domain, given).kind == kind


@pytest.mark.parametrize(
    ("identity", "strictly", "loosely"),
    [
        ("b\u00fc@mail.example", "valid", "valid"),
        ("b\u00fc@x.mail.example", "refused", "valid"),
        ("@MAIL.example", "valid", "valid"),
    ],
)
def test_a_record_may_want_the_very_domain_in_a_signatures_identity(
    identity: str, strictly: str, loosely: str
) -> None:
    """`t=s`, RFC 6376 3.6.1."""
    domain = Domain("mail.example")
    raw = domain.craft(LETTER, i=identity)
    for flags, kind in (("s", strictly), ("", loosely)):
        assert judged(raw, domain, domain.record.replace("k=rsa;", f"k=rsa; t={flags};")).kind == kind


def test_another_domains_key_does_not_verify() -> None:
    domain, other = Domain("mail.example"), Domain("mail.example", key=rsa_key(2048, 1))
    found = vouch(read_letter(domain.craft(LETTER)), {domain.where: other.record}, "", AT)
    assert found.verdict.kind == "bad"
    assert (found.name, found.record, found.until, found.told, found.covers_to) == ("", "", None, "", False)


@pytest.mark.parametrize(
    "inserted",
    [
        b"From nobody Sat Nov 21\r\nX:\r\n orders m1 turn 1 server play.example end\r\n",
        b"no header at all\r\n",
        b"X-Spaced : a\r\n",
        b"\x00: a\r\n",
    ],
)
def test_what_is_verified_is_what_is_read(inserted: bytes) -> None:
    """dkimpy skips a line `From ...` among the headers; for us the text would begin there."""
    domain = Domain("mail.example")
    raw = domain.craft(LETTER)
    changed = raw.replace(b"\r\n\r\n", b"\r\n" + inserted + b"\r\n", 1)
    assert read_letter(changed).sender == "bob@mail.example"
    assert judged(changed, domain).kind == "refused"


@pytest.mark.parametrize(
    "added",
    [
        b"Content-Transfer-Encoding: quoted-printable\r\n",
        b"content-type: multipart/mixed; boundary=B\r\n",
        b"Date: Thu, 01 Jan 2026 00:00:00 +0000\r\n",
    ],
)
def test_nothing_is_put_above_what_was_signed_that_makes_it_say_something_else(added: bytes) -> None:
    """DKIM verifies the lowest header of a name, and the topmost would be read."""
    domain = Domain("mail.example")
    names = ("content-type", "content-transfer-encoding")
    dressed = b"Content-Type: text/plain\r\nContent-Transfer-Encoding: 7bit\r\n" + LETTER
    raw = domain.craft(dressed, headers=("from", "to", "subject", "date", "message-id", *names))
    assert judged(raw, domain).kind == "valid"
    assert judged(added + raw, domain).kind == "refused"
    assert judged(b"X-Spam: no\r\nReceived: from a by b\r\nReceived: from b by c\r\n" + raw, domain).kind == "valid"


@pytest.mark.parametrize(
    "hostile",
    [
        b"DKIM-Signature: \r\n",
        b"DKIM-Signature: v=1; v=1\r\n",
        b"DKIM-Signature: v=1; a=rsa-sha256; d=mail.example; s=a/../b; h=from; bh=aaaa; b=aaaa\r\n",
        b"DKIM-Signature: v=1; a=rsa-sha256; d=mail.example; s=" + b"a" * 4000 + b"; h=from; bh=aaaa; b=aaaa\r\n",
        b"DKIM-Signature: v=1; a=rsa-sha256; d=mail.example; s=s1; h=from; bh=aaaa; b=aaaa; c=x/y/z\r\n",
        b"DKIM-Signature: v=1; a=rsa-sha256; d=\xff; s=s1; h=from; bh=aaaa; b=aaaa\r\n",
        b"DKIM-Signature: v=1; a=rsa-sha256; d=mail.example; s=s1; h=from; bh=a; b=a\r\n",
        b"DKIM-Signature: v=1; a=rsa-sha256; d=mail.example; i=mail.example; s=s1; h=from; bh=aaaa; b=aaaa\r\n",
    ],
)
def test_hostile_signatures(hostile: bytes) -> None:
    domain = Domain("mail.example")
    assert judged(hostile + LETTER, domain).kind in {"bad", "refused"}
    assert judged(hostile + domain.craft(LETTER), domain).kind == "valid", "it does no harm to another"


def test_letters_that_dkimpy_would_take_long_for() -> None:
    domain = Domain("mail.example")
    raw = domain.craft(LETTER)
    assert judged(raw + b" " * 60_000 + b"x\r\n", domain).kind == "bad"
    many = b"".join(b"DKIM-Signature: v=1; d=mail.example; n=%d\r\n" % number for number in range(50))
    assert judged(many + raw, domain).kind == "bad"


# Authentication-Results.

OURS = "mx.play.example"


def told(*heads: str) -> list[str] | None:
    raw = "".join(f"{head}\r\n" for head in heads).encode() + LETTER
    found = sender_auth.passed(read_letter(raw), OURS)
    return None if found is None else found[1]


def result(rest: str, server: str = OURS) -> str:
    return f"Authentication-Results: {server}; {rest}"


@pytest.mark.parametrize(
    ("rest", "domains"),
    [
        ("dkim=pass header.d=mail.example", ["mail.example"]),
        ("dkim=pass (2048-bit key; d=evil.example) header.d=MAIL.example header.i=@mail.example", ["mail.example"]),
        ('dkim=pass reason="good; dkim=pass header.d=evil.example" header.d=mail.example', ["mail.example"]),
        ("spf=pass smtp.mailfrom=evil.example; dkim=pass header.d=mail.example", ["mail.example"]),
        (
            "dkim=pass header.d=a.example; dkim=fail header.d=b.example; dkim=pass header.d=c.example",
            ["a.example", "c.example"],
        ),
        ("dkim=fail header.d=mail.example", []),
        ("dkim=none", []),
        ("dkim=pass", []),
        ("dkim=pass header.d=a.example header.d=b.example", []),
        ("spf=pass header.d=mail.example", None),
        ("spf=pass smtp.helo=dkim=pass header.d=mail.example", None),
        ("dkim=pass header.d=mail.example (never closed", None),
        ("none", None),
    ],
)
def test_what_our_server_says(rest: str, domains: list[str] | None) -> None:
    assert told(result(rest)) == domains


def test_case_24_injected_authentication_results() -> None:
    """Only the word of the named server, and only where nobody else can have put it."""
    forged = result("dkim=pass header.d=mail.example")
    received = "Received: from a by b; Sat, 21 Nov 2026 07:31:00 +0000"
    assert told(forged) == ["mail.example"]
    assert told(received, forged) == ["mail.example"]
    assert told(received, received, forged) is None
    assert told(result("dkim=fail header.d=mail.example"), forged) == []
    assert told(received, result("dkim=none"), forged) == []
    assert told(result("dkim=pass header.d=mail.example", "mx.evil.example")) is None
    assert told(result("dkim=pass header.d=mail.example", "mx.play.example.evil.example")) is None
    assert told(result("dkim=pass header.d=mail.example", f"(a) mx.evil.example {OURS}")) is None
    assert told("X-Authentication-Results: " + forged.partition(": ")[2]) is None
    assert sender_auth.passed(read_letter(f"{forged}\r\n".encode() + LETTER), "") is None


@pytest.mark.parametrize(
    "head",
    [
        result("x").replace(":", " :").replace("x", "dkim=pass header.d=mail.example"),
        result("x").replace(":", "\t:").replace("x", "dkim=pass header.d=mail.example"),
        "X: y\n" + result("dkim=pass header.d=mail.example"),
        "X: y\n" + result("dkim=pass header.d=mail.example") + "\nX: y",
        "X: y\r" + result("dkim=pass header.d=mail.example"),
        "X: y\r\n\r\n" + result("dkim=pass header.d=mail.example"),
        result("dkim=pass header.d=mail.example", f'"{OURS}"'),
        result("dkim=pass header.d=mail.example", f"{OURS} 2"),
        result("dkim=pass header.d=mail.example", f"({OURS}) mx.evil.example"),
        result(f"x=y\r\n {OURS}; dkim=pass header.d=mail.example", "mx.evil.example"),
        result("dkim=pass header.d=mail.example", OURS.replace(".p", "\\x.p")),
        result("dkim=pass header.d=mail.example", OURS.replace(".p", "\\.p")),
        result("dkim=pass header.d=mail.example", f"(\0) {OURS}"),
        result("dkim=pass header.d=mail.example", f"(mine) {OURS}"),
        result("dkim=pass header.d=mail.example", f"\u00a0{OURS}"),
        result("dkim=pass header.d=mail.example", f"{OURS}\u00a0"),
        result("dkim=pass header.d=mail.example; spf=pass\\", OURS),
        result("dkim=pass header.d=mail.example; x=\0", OURS),
    ],
)
def test_case_24_what_our_server_may_not_have_taken_out_is_not_its_word(head: str) -> None:
    """Our server leaves in place what it does not read as such a header, or reads as part of another one."""
    assert not told(head) or sender_auth.is_unclear(read_letter(f"{head}\r\n".encode() + LETTER), OURS)


def test_no_letter_of_the_servers_name_is_one_that_only_unicode_calls_so() -> None:
    """U+212A is the Kelvin sign: a `k` to Python, and to no filter."""
    head = result("dkim=pass header.d=mail.example", "mx.du\u212ae.example")
    letter = read_letter(f"{head}\r\n".encode() + LETTER)
    assert not sender_auth.passed(letter, "mx.duke.example") or sender_auth.is_unclear(letter, "mx.duke.example")


def test_a_quotation_mark_that_is_escaped_ends_no_quote() -> None:
    assert told(result(r'spf=fail reason="a\"; dkim=pass header.d=evil.example; x=\""')) is None


# The recommended filter (config/postfix) against our reader: `filtered` leaves in place all that it would not match.

FILTERED = "mks.play.example"
"""A name with the letters that have doubles in Unicode: U+212A and U+017F."""

_EXPRESSION = re.search(r"(?m)^/(.+)/ +IGNORE$", (CONFIG / "postfix" / "pbem_headers").read_text())
assert _EXPRESSION is not None
FILTER = re.compile(
    _EXPRESSION[1].replace("[:space:]", r"\s").replace(r"play\.example", re.escape(FILTERED)).encode(), re.I | re.S
)


def filtered(raw: bytes, line_end: bytes) -> bytes:
    """A letter behind a mail server with this filter and these line ends; the filter sees nothing behind a NUL."""
    lines = re.split(line_end, raw)
    kept: list[bytes] = []
    while lines and re.match(rb"[!-9;-~]+[ \t]*:", lines[0]):
        field = [lines.pop(0)]
        while lines and lines[0][:1] in {b" ", b"\t"}:
            field.append(lines.pop(0))
        if not FILTER.match(b"\n".join(field).partition(b"\0")[0]):
            kept += field
    return b"\r\n".join([b"Received: from x by y; Sat, 21 Nov 2026 07:31:00 +0000", *kept, *lines])


ODD: tuple[str, ...] = (
    " ",
    "\t",
    "\r\n ",
    "\r\n\t\r\n ",
    "\n ",
    "\r ",
    "\r",
    "\n",
    "\r\n",
    "\r\n\r\n",
    "\0",
    "\x1b",
    "\x1c",
    "\x85",
)
ODD += ("(x)", "(\0)", "(a(b)\\))", "(\u00e9)", "(", ")", "\\", "\\x", '"', ";", "x=y;", "1", " 1", "2")
ODD += ("\u00a0", "\u00ad", "\u2028", "\ufeff", "=?utf-8?q?x?=")
SLOTS = {
    "above": ("X: y\r\n", "X: y\n", "X: y\r", "X: y\r\r\n", "X: y\r\n \r\n", "X: y\0\r\n", "From x\r\n", "\r\n"),
    "name": (
        "aUTHENTICATION-rESULTS",
        "Authentication-Results ",
        "Authentication-Re\u017fults",
        "Authentication-Results\0",
    ),
    "before": ODD,
    "server": (FILTERED.upper(), FILTERED.replace("k", "\u212a"), FILTERED.replace("s", "\u017f"), f'"{FILTERED}"'),
    "early": ODD,
    "late": ODD,
    "after": ODD,
}
USUAL = {"name": "Authentication-Results", "before": " ", "server": FILTERED}


def heads() -> Iterator[str]:
    """Headers in the server's name, in which up to two things are not as usual."""
    odd = [(slot, value) for slot, values in SLOTS.items() for value in values]
    for one, other in combinations_with_replacement(odd, 2):
        at = dict.fromkeys(SLOTS, "") | USUAL | dict((one, other))
        first, second, third = at["server"][:2], at["server"][2:4], at["server"][4:]
        server = f"{first}{at['early']}{second}{at['late']}{third}"
        yield f"{at['above']}{at['name']}:{at['before']}{server}{at['after']}; dkim=pass header.d=mail.example\r\n"


def test_what_our_server_is_taken_to_say_the_recommended_filter_removes() -> None:
    read_at_all = 0
    for head in heads():
        read_at_all += bool(told_by(head.encode() + LETTER, FILTERED))
        for line_end in (rb"\r\n", rb"\r?\n", rb"\r\n|\r|\n"):
            assert not told_by(filtered(head.encode() + LETTER, line_end), FILTERED), head
    assert read_at_all > 100, "without the filter, many are read"


def told_by(raw: bytes, server: str) -> list[str]:
    """The domains whose signatures the server is taken to have found good."""
    letter = read_letter(raw)
    found = sender_auth.passed(letter, server)
    return [] if found is None or sender_auth.is_unclear(letter, server) else found[1]


def test_our_servers_word_in_any_dress() -> None:
    """Folded, in capitals, with comments: it is as RFC 8601 lets it be."""
    for head in (
        f"AUTHENTICATION-results: {OURS.upper()}; DKIM=PASS HEADER.D=mail.example",
        f"Authentication-Results:\r\n {OURS};\r\n\tdkim=pass\r\n header.d=mail.example",
        f"Authentication-Results: {OURS}(a) 1; dkim(b)=(c)pass(d) header(e).(f)d=mail.example",
    ):
        assert told(head) == ["mail.example"]
        assert not sender_auth.is_unclear(read_letter(f"{head}\r\n".encode() + LETTER), OURS)
        bare = f"{head}\r\n".encode().replace(b"\r", b"") + LETTER.replace(b"\r", b"")
        assert not sender_auth.is_unclear(read_letter(bare), OURS)


@pytest.mark.parametrize(
    ("headers", "more"),
    [
        (("from", "to"), b"To: list@example.org\r\n"),
        (("from", "from", "to", "to"), b"To: list@example.org\r\n"),
        (("from", "to"), b"Cc: list@example.org\r\n"),
        (("from", "subject"), b"Subject: other\r\n"),
    ],
)
def test_headers_that_were_added_above(headers: tuple[str, ...], more: bytes) -> None:
    """One that is signed once more than it is there cannot be added to; of others it is told which are covered."""
    domain = Domain("mail.example")
    raw = domain.craft(LETTER, headers=headers)
    records = {domain.where: domain.record}
    alone = vouch(read_letter(raw), records, "", AT)
    assert (alone.verdict.kind, alone.covers_to) == ("valid", "to" in headers)
    found = vouch(read_letter(more + raw), records, "", AT)
    if headers.count("to") == 2:
        assert found.verdict.kind == "bad"
    else:
        added = more.partition(b":")[0].decode().lower()
        assert found.verdict.kind == "valid"
        assert (added in found.addressed) == ("to" not in headers and added in {"to", "cc"})


def test_our_servers_word_for_a_signature_whose_key_we_do_not_find() -> None:
    """It is taken about a signature that would count, unless we found that bad; on arrival, only in a strict form."""
    domain = Domain("mail.example")
    raw, head = domain.craft(LETTER), f"{result('dkim=pass header.d=mail.example')}\r\n".encode()
    other = Domain("mail.example", key=rsa_key(2048, 1))
    for records, strictly, above, told_so in (
        ({domain.where: None}, True, head, True),
        ({domain.where: ""}, True, head, True),
        ({domain.where: other.record}, True, head, False),
        ({domain.where: None}, True, head.replace(b": ", b" : ", 1), False),
        ({domain.where: None}, False, head.replace(OURS.encode(), b"(a) " + OURS.encode()), True),
        ({domain.where: None}, True, head.replace(OURS.encode(), b"(a) " + OURS.encode()), False),
        ({domain.where: None}, True, head.replace(b"mail.example", b"other.example"), False),
    ):
        found = vouch(read_letter(above + raw), records, OURS, AT, strictly=strictly)
        assert found.verdict.kind != "valid"
        assert bool(found.told) == told_so
        assert not found.told or "dkim=pass" in found.told


def test_two_signatures_of_which_one_holds() -> None:
    """The verdict is that of the one that holds, whichever comes first, and both are marks of the letter."""
    domain = Domain("mail.example")
    records = {domain.where: domain.record}
    good = domain.craft(LETTER)
    bad = Domain("mail.example", key=rsa_key(2048, 1)).craft(LETTER).partition(b"\r\n")[0] + b"\r\n"
    old = domain.craft(LETTER, x="1000000000").partition(b"\r\n")[0] + b"\r\n"
    for more in (bad, old):
        found = vouch(read_letter(more + good), records, "", AT)
        assert (found.verdict.kind, found.name) == ("valid", domain.where)
        assert marks(read_letter(good)) < marks(read_letter(more + good))
        assert vouch(read_letter(more + LETTER), records, "", AT).verdict.kind in {"bad", "expired"}
