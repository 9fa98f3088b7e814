"""Every sample of every format through a real letter, and what mail does to signed text on its way."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pysequoia
import pytest
from asn1crypto import algos, cms
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from data.material import IN_FORCE, KEYS, SIGNED
from judges.reasons import is_whole
from signing.cms_maker import ENTITY, attribute, signed_data, signer
from signing.decryptors import by_smime

from pbem import identity
from pbem.identity import BadKey, Key, Verdict, encryption, parse_key
from pbem.mail.message import read_letter
from pbem.proof.normal_form import VOCABULARY, normal_text
from verifier.entries import UNREADABLE
from verifier.signature import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable

judge = partial(identity.judge, words=VOCABULARY)

SERVER = "play.example"
SAMPLES = "pbem-order@play.example"
RECEIVED = datetime(2026, 11, 21, 12, tzinfo=UTC)


def key(name: str) -> Key:
    return parse_key((KEYS / name).read_bytes(), RECEIVED)


PGP = {name: key(f"pgp-{name}.pub.asc") for name in ("anna", "rolf", "nora", "subi", "exie", "revo", "weak")}
SMIME = {name: key(f"sm-{name}.crt") for name in ("rsa", "p256", "ed25519", "self")}
SECURE = ("ed25519-sk", "ecdsa-sk", "passkey")
SSH = {name: key(f"ssh-{name}.pub") for name in (*SECURE, "ed25519", "ecdsa", "rsa", "withcert", "untouched")}
ALL = [*PGP.values(), *SMIME.values(), *SSH.values()]


def order(player: str) -> str:
    return (SIGNED / "order.txt").read_text().replace("player: anna", f"player: {player}")


def plain(text: str) -> str:
    return text.replace("\r\n", "\n").rstrip("\n") + "\n"


def verdict(raw: bytes, keys: list[Key] | None = None, at: datetime = RECEIVED) -> Verdict:
    found = judge(read_letter(raw), ALL if keys is None else keys, SERVER, namespace=SAMPLES, at=at)
    assert is_whole(found.reason)
    return found


ACCEPTED = {
    **{f"openpgp/{way}-{name}": PGP[name] for way in ("clear", "mime") for name in ("anna", "rolf", "nora", "subi")},
    "openpgp/hardclear-anna": PGP["anna"],
    "openpgp/mime-thunderbird": PGP["anna"],
    **{
        f"smime/smime-{way}-{name}": SMIME[name] for way in ("detached", "opaque") for name in ("p256", "rsa", "self")
    },
    **{f"smime/cms-{way}-{name}": SMIME[name] for way in ("detached", "opaque") for name in SMIME},
    **{f"smime/cms-{way}-p256-keyid": SMIME["p256"] for way in ("detached", "opaque")},
    **{f"smime/cms-{way}-rsa-pss": SMIME["rsa"] for way in ("detached", "opaque")},
    **{f"sshsig/{name}": SSH[name] for name in (*SECURE, "ed25519", "ecdsa", "rsa")},
    "attach/pgp": PGP["anna"],
    "attach/ssh": SSH["ed25519"],
}
REFUSED = {
    **{f"openpgp/{way}-evil": "unknown key" for way in ("clear", "mime")},
    **{f"openpgp/{way}-exie": "expired" for way in ("clear", "mime")},
    **{f"openpgp/{way}-revo": "revoked" for way in ("clear", "mime")},
    **{f"openpgp/{way}-weak": "refused" for way in ("clear", "mime")},
    **{f"openpgp/opaque-{name}": "refused" for name in ("anna", "rolf")},
    **{f"smime/{form}-{way}-evil": "unknown key" for form in ("smime", "cms") for way in ("detached", "opaque")},
    **{f"smime/cms-{way}-p256-noattr": "refused" for way in ("detached", "opaque")},
    "sshsig/evil": "unknown key",
    "sshsig/untouched": "refused",
    "sshsig/withcert": "refused",
    "sshsig/wrongnamespace": "refused",
}


def test_no_sample_is_left_out() -> None:
    folders = ("openpgp", "smime", "sshsig", "attach")
    found = {
        path.relative_to(SIGNED).with_suffix("").as_posix()
        for name in folders
        for path in SIGNED.glob(f"{name}/*.eml")
    }
    assert found == ACCEPTED.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", ACCEPTED)
@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
def test_samples_that_are_accepted(name: str, line_end: bytes) -> None:
    raw = (SIGNED / f"{name}.eml").read_bytes().replace(b"\r\n", line_end)
    found = verdict(raw)
    assert (found.kind, found.key, found.format) == ("valid", ACCEPTED[name].fingerprint, ACCEPTED[name].format)
    text = plain(normal_text(found))
    if name.endswith("hardclear-anna"):
        assert "\n- dash line\n--\nFrom here on\n\n" in text
        assert text.endswith("grüße\nend\n")
    elif name.endswith("thunderbird"):
        assert text == order("anna").replace("end\n", "# grüße — end of orders\nend\n")
    else:
        player = re.search(r"^player: ([\w-]+)$", text, re.M)
        assert player is not None
        assert text == order(player[1])


@pytest.mark.parametrize("name", REFUSED)
def test_samples_that_are_refused(name: str) -> None:
    found = verdict((SIGNED / f"{name}.eml").read_bytes())
    assert (found.kind, found.signed) == (REFUSED[name], b"")
    assert found.format == name.partition("/")[0].replace("sshsig", "ssh")


@pytest.mark.parametrize("name", ACCEPTED)
def test_no_sample_passes_without_its_key_or_changed(name: str) -> None:
    raw = (SIGNED / f"{name}.eml").read_bytes()
    others = [other for other in ALL if other != ACCEPTED[name]]
    assert verdict(raw, others).kind in {"unknown key", "bad"}
    if b"fire C7" in raw:
        found = verdict(raw.replace(b"fire C7", b"fire C8"))
        assert (found.kind, found.signed) == ("bad", b"")


def test_a_certificate_expires() -> None:
    letter = read_letter((SIGNED / "smime/cms-detached-self.eml").read_bytes())
    late = datetime(2029, 1, 1, tzinfo=UTC)
    assert judge(letter, ALL, SERVER, at=late).kind == "expired"
    assert parse_key((KEYS / "sm-self.crt").read_bytes(), late).state == "expired"


def test_the_key_before_its_revocation_still_signs() -> None:
    assert verdict((SIGNED / "openpgp/clear-revo.eml").read_bytes(), [key("pgp-revo.before.pub.asc")]).kind == "valid"


def test_fingerprints_are_those_of_each_format() -> None:
    listed = dict(line.split() for line in (KEYS / "pgp-fprs.txt").read_text().splitlines())
    assert {name: found.fingerprint for name, found in PGP.items()} == {name: listed[name] for name in PGP}
    assert re.fullmatch(r"([0-9A-F]{2}:){31}[0-9A-F]{2}", SMIME["rsa"].fingerprint)
    assert (PGP["exie"].state, PGP["revo"].state, PGP["anna"].state) == ("expired", "revoked", "pinned")
    for found in ALL:
        again = parse_key(found.public)
        assert (again.format, again.fingerprint, again.public) == (found.format, found.fingerprint, found.public)


@pytest.mark.parametrize(
    ("data", "prints"),
    [
        (b"", "one line"),
        (b"\x99\x01", "gpg --export"),
        (b"\x30\x82", ".pem"),
        (b"\xff" * 40, "gpg --export"),
        (b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----", "OpenPGP key"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", ".pem"),
        (b"-----BEGIN CERTIFICATE-----\nA*\n-----END CERTIFICATE-----", ".pem"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "begins with its type"),
    ],
)
def test_what_is_no_key_is_told_apart_by_what_prints_it(data: bytes, prints: str) -> None:
    with pytest.raises(BadKey) as refused:
        parse_key(data)
    assert is_whole(refused.value.reason)
    assert prints in refused.value.reason


@pytest.mark.parametrize("name", ["pgp-anna.pub.asc", "sm-rsa.crt", "ssh-ed25519.pub"])
def test_a_key_may_come_in_a_file_of_windows(name: str) -> None:
    """With a byte order mark, and other line ends."""
    text = (KEYS / name).read_text()
    dressed = "\ufeff" + text.replace("\n", "\r\n")
    for data in (dressed, dressed.encode()):
        assert parse_key(data).fingerprint == parse_key(text).fingerprint


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        (b"\x55\x1d\x23", b"\x55\x1d\x0e"),  # one extension twice
        (b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x09"),  # version 10
        (b"\x81\x14rolf", b"\xa3\x14rolf"),  # an X.400 address
    ],
)
def test_a_certificate_of_which_the_library_has_errors_of_its_own(said: bytes, instead: bytes) -> None:
    certificate = x509.load_pem_x509_certificate((KEYS / "sm-rsa.crt").read_bytes()).public_bytes(Encoding.DER)
    assert certificate.count(said) == 1
    with pytest.raises(BadKey, match="damaged"):
        parse_key(certificate.replace(said, instead))


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
def test_a_certificate_with_a_negative_number_is_not_registered() -> None:
    """Later releases of the library will not read one."""
    certificate = x509.load_pem_x509_certificate((KEYS / "sm-rsa.crt").read_bytes()).public_bytes(Encoding.DER)
    negative = certificate.replace(b"\x02\x0c\x0e\xbd", b"\x02\x0c\x8e\xbd")
    with pytest.raises(BadKey, match="damaged"):
        parse_key(negative, RECEIVED)
    assert parse_key(negative).format == "smime", "one that was registered before is read as ever"


def test_a_second_verifier_reads_no_certificate_of_another_version() -> None:
    certificate = x509.load_pem_x509_certificate((KEYS / "sm-rsa.crt").read_bytes()).public_bytes(Encoding.DER)
    tenth = certificate.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x09")
    pem = f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(tenth).decode()}-----END CERTIFICATE-----\n"
    with pytest.raises(UNREADABLE):
        fingerprint("smime", pem)


def test_two_keys_are_not_one() -> None:
    both = (KEYS / "pgp-anna.pub.asc").read_text() + (KEYS / "pgp-evil.pub.asc").read_text()
    assert parse_key(both).fingerprint == PGP["anna"].fingerprint  # the first block alone is read
    raw = b"".join(bytes(pysequoia.Cert.from_file(str(KEYS / f"pgp-{name}.pub.asc"))) for name in ("anna", "evil"))
    with pytest.raises(BadKey):
        parse_key(raw)
    with pytest.raises(BadKey):
        parse_key((KEYS / "sm-rsa.crt").read_text() + (KEYS / "sm-ca.crt").read_text())


# What mail does to signed text.

FORM = f"orders m17 turn 5\nserver play.example\nplayer anna\nprev {'8c1f' * 16}\nrev 1\nGx3 bGx1Gx3 m2 Ox4\nend\n"


def letter(text: str, headers: str = "Content-Type: text/plain; charset=utf-8\n") -> bytes:
    return f"From: anna@players.example\n{headers}\n{text}".encode().replace(b"\n", b"\r\n")


def pair(content: bytes, name: str, signature: bytes) -> bytes:
    parts = "".join(
        f'--x\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename="{file}"\n'
        f"Content-Transfer-Encoding: base64\n\n{base64.b64encode(data).decode()}\n"
        for file, data in (("orders.txt", content), (name, signature))
    )
    return letter(f"{parts}--x--\n", "Content-Type: multipart/mixed; boundary=x\n")


def clear(text: str) -> str:
    signer = pysequoia.Tsk.from_bytes((KEYS / "pgp-anna.sec.asc").read_bytes())
    return (
        pysequoia.sign(signer.signer(), text.encode(), mode=pysequoia.SignatureMode.CLEAR).decode().replace("\r", "")
    )


def detached(text: bytes, *, armor: bool = True) -> bytes:
    signer = pysequoia.Tsk.from_bytes((KEYS / "pgp-anna.sec.asc").read_bytes()).signer()
    return pysequoia.sign(signer, text, mode=pysequoia.SignatureMode.DETACHED, armor=armor)


def head(text: str, change: str, to: str) -> str:
    """Change the signed text, and not the armor."""
    before, mark, after = text.partition("-----BEGIN PGP SIGNATURE")
    return before.replace(change, to) + mark + after


REPAIRED: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "trailing blanks": lambda text: head(text, "\n", " \n"),
    "NBSP": lambda text: head(text, " turn", "\u00a0turn"),
    "zero width": lambda text: head(text, "m17", "m\u200b17"),
    "flowed": lambda text: head(text, "prev ", " prev "),
    "wrapped": lambda text: head(text, " bGx1", "\nbGx1"),
    "footer beneath": lambda text: text + "\n-- \nSent from my phone\n_____\nlist@lists.example\n",
    "quote above": lambda text: "> -----BEGIN PGP SIGNED MESSAGE-----\n> old\n\n" + text,
}


@pytest.mark.parametrize("trait", REPAIRED)
def test_what_can_be_repaired_in_a_clear_signed_text(trait: str) -> None:
    found = verdict(letter(REPAIRED[trait](clear(FORM))), at=IN_FORCE)
    assert (found.kind, plain(normal_text(found))) == ("valid", FORM)


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "quoted": (lambda text: head(text, "rev 1", "> rev 1"), "quoted"),
    "re-encoded": (lambda text: head(text, "Gx3", "GÃ¼"), "re-encoded"),
    "footer": (lambda text: head(text, "end\n", "end\n_______________\nlist@lists.example\n"), "footer"),
    "altered": (lambda text: head(text, "Ox4", "Ox5"), "changed after signing"),
}


@pytest.mark.parametrize("trait", BROKEN)
def test_what_cannot_be_repaired_is_explained(trait: str) -> None:
    change, reason = BROKEN[trait]
    found = verdict(letter(change(clear(FORM).replace("8c1f" * 16, "8c1f")).replace("x" * 99, "")), at=IN_FORCE)
    assert found.kind == "bad"
    assert "orders.txt.asc" in found.reason
    assert reason in found.reason


def test_typographic_quotes_are_undone() -> None:
    form = FORM.replace("Ox4", "Ox4 # that's it...")
    found = verdict(letter(head(head(clear(form), "'", "\u2019"), "...", "\u2026")), at=IN_FORCE)
    assert (found.kind, plain(normal_text(found))) == ("valid", form)


@pytest.mark.parametrize(
    ("headers", "beside", "named"),
    [
        ("Content-Type: text/plain; format=flowed\n", "", "format=flowed"),
        ("Content-Type: multipart/alternative; boundary=x\n", "Content-Type: text/html\n\nx", "as HTML too"),
        ("Content-Type: multipart/mixed; boundary=x\n", "Content-Type: image/png\n\nx", "changed after signing"),
    ],
)
@pytest.mark.parametrize("signed", ["clear", "bare"])
def test_what_a_program_does_to_a_text_is_named(headers: str, beside: str, named: str, signed: str) -> None:
    form = FORM.replace("8c1f" * 16, "8c1f")
    text = head(clear(form) if signed == "clear" else form + detached(form.encode()).decode(), "Ox4", "Ox5")
    if beside:
        text = f"--x\n\n{text}\n--x\n{beside}\n--x--\n"
    assert named in verdict(letter(text, headers), at=IN_FORCE).reason


@pytest.mark.parametrize("above", ["\n", "\n\n", "Hash: of what?\n", "\nHash: of what?\n"])
def test_a_clear_signed_text_may_begin_as_its_armor_does(above: str) -> None:
    found = verdict(letter(clear(above + FORM)), at=IN_FORCE)
    assert (found.kind, plain(normal_text(found))) == ("valid", above + FORM)


def test_armor_that_lost_its_last_line_is_damaged() -> None:
    for text in (clear(FORM), FORM + detached(FORM.encode()).decode().replace("\r", "")):
        cut = text.replace("-----END PGP SIGNATURE-----", "")
        assert cut != text
        assert verdict(letter(cut), at=IN_FORCE).kind == "bad"


def test_a_text_that_lost_its_signature_is_named() -> None:
    text = clear(FORM).partition("-----BEGIN PGP SIGNATURE-----")[0]
    found = verdict(letter(text), at=IN_FORCE)
    assert (found.kind, found.format) == ("refused", "openpgp")
    assert "ends without its signature" in found.reason


@pytest.mark.parametrize("name", ["mime-anna", "mime-rolf"])
def test_a_broken_container_is_explained(name: str) -> None:
    raw = (SIGNED / f"openpgp/{name}.eml").read_bytes()
    found = verdict(raw.replace(b"end\r\n\r\n-", b"end\r\n_____\r\nlist footer\r\n\r\n-"))
    assert found.kind == "bad"
    assert "mailing list" in found.reason
    assert verdict(raw.replace(b"multipart/signed", b"multipart/mixed")).kind == "refused"


@pytest.mark.parametrize(("kind", "name"), [("openpgp", "mime-anna"), ("smime", "smime-detached-rsa")])
def test_a_container_that_was_taken_apart_is_explained(kind: str, name: str) -> None:
    raw = (SIGNED / f"{kind}/{name}.eml").read_bytes().replace(b"multipart/signed", b"multipart/mixed")
    found = verdict(re.sub(rb"; *(?:\r\n *)?(?:file)?name=.*", b"", raw))
    assert (found.kind, found.format) == ("refused", kind)
    assert "The signed part of this letter was taken apart on its way" in found.reason
    assert "orders.txt.asc" in found.reason


def test_blanks_that_a_container_got_at_its_line_ends_are_none() -> None:
    raw = (SIGNED / "openpgp/mime-anna.eml").read_bytes()
    found = verdict(raw.replace(b"fire C7", b"fire C7 \t").replace(b"fire D7", b"fire D7 "))
    assert (found.kind, plain(normal_text(found))) == ("valid", order("anna"))


@pytest.mark.parametrize("name", ["anna.asc", "anna.sig"])
@pytest.mark.parametrize("kind", ["application/pgp-keys", "application/octet-stream"])
def test_a_key_beside_a_signed_text_is_no_signature(name: str, kind: str) -> None:
    public = (KEYS / "pgp-anna.pub.asc").read_text()
    parts = f'--x\n\n{clear(FORM)}\n--x\nContent-Type: {kind}; name="{name}"\n\n{public}\n--x--\n'
    found = verdict(letter(parts, "Content-Type: multipart/mixed; boundary=x\n"), at=IN_FORCE)
    assert (found.kind, plain(normal_text(found))) == ("valid", FORM)


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("orders.txt.asc", detached),
        ("orders.txt.sig", lambda data: detached(data, armor=False)),
        ("orders.txt.asc", lambda _data: clear(FORM).encode()),
    ],
)
def test_attached_openpgp_files(name: str, signature: Callable[[bytes], bytes]) -> None:
    found = verdict(pair(FORM.encode(), name, signature(FORM.encode())), at=IN_FORCE)
    assert (found.kind, plain(normal_text(found))) == ("valid", FORM)


def test_two_signatures_of_other_formats_are_refused() -> None:
    assert verdict(letter(clear(FORM) + clear(FORM))).kind == "refused"
    mime = (SIGNED / "openpgp/mime-anna.eml").read_bytes()
    assert verdict(mime.replace(b"pbem-order: 1", clear(FORM).replace("\n", "\r\n").encode())).kind == "refused"
    one = detached(FORM.encode(), armor=False)
    assert verdict(pair(FORM.encode(), "orders.txt.sig", one + one)).kind == "refused"


def test_smime_that_is_no_signature_is_named() -> None:
    """Whatever its header says, or does not say."""
    _, encrypted = encryption.encrypt([by_smime().key], FORM.encode())
    packed = cms.ContentInfo({"content_type": "data", "content": FORM.encode()}).dump()
    headers = "Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\n"
    sealed = signed_data(signer()).replace(
        bytes.fromhex("2a864886f70d010701"), bytes.fromhex("2a864886f70d010703"), 1
    )
    for der, reason in (
        (sealed, "does not sign a letter"),
        (encrypted, "no key to read them"),
        (packed, "must be signed but not encrypted; this is 'data'"),
    ):
        found = verdict(letter(base64.encodebytes(der).decode(), headers))
        assert (found.kind, found.format) == ("refused", "smime")
        assert reason in found.reason


def by_algorithm(name: str) -> cms.SignerInfo:
    made = signer()
    made["signature_algorithm"] = algos.SignedDigestAlgorithm({"algorithm": name})
    return made


SMIME_SIGNERS = {
    "must have one signer; this has 2": (signer(), signer()),
    "must have one signer; this has 0": (),
    "not 'sha1'": (signer(digest="sha1"),),
    "not 'sha224'": (signer(digest="sha224"),),
    "of the kind 'sha1_rsa' are not accepted": (by_algorithm("sha1_rsa"),),
    "of the kind 'sha256_dsa' are not accepted": (by_algorithm("sha256_dsa"),),
    "has no signed attributes": (signer(bare=True),),
    "lacks its content type or message digest": (signer(without="message_digest"),),
    "holds an attribute twice": (signer(ENTITY, attribute("content_type", cms.ContentType("data"))),),
    "does not sign a letter": (signer(kind="signed_data"),),
}


@pytest.mark.parametrize("reason", SMIME_SIGNERS)
def test_an_smime_signature_that_does_not_count_is_told_why(reason: str) -> None:
    headers = "Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\n"
    found = verdict(letter(base64.encodebytes(signed_data(*SMIME_SIGNERS[reason])).decode(), headers))
    assert (found.kind, found.format) == ("refused", "smime")
    assert reason in found.reason
