"""The same words are known again in whatever dress; two texts that ask for different things never are the same."""

from __future__ import annotations

import base64
import quopri
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from asn1crypto import cms
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key, pkcs7
from data.material import IN_FORCE, KEYS
from hypothesis import assume, given
from hypothesis import strategies as st
from in_a_box.referee import Mailbox
from judges.reasons import is_whole
from signing.openpgp_maker import TEXT, Signer
from signing.signers import WAYS, by_openpgp_mime, by_smime, head

from pbem import identity
from pbem.identity import Verdict, parse_key
from pbem.mail import commands
from pbem.mail.message import read_letter
from pbem.phrase import Phrase
from pbem.proof.normal_form import VOCABULARY, JudgedText, hash_of_words, judged_text, normal_text

if TYPE_CHECKING:
    from collections.abc import Callable

judge = partial(identity.judge, words=VOCABULARY)

ANN = Mailbox("ann", "ann@mail.example", Ed25519PrivateKey.from_private_bytes(b"a" * 32))
PGP = Signer()
PINNED = [*(parse_key((KEYS / file).read_bytes()) for _, file, _ in WAYS.values()), parse_key(PGP.certificate())]
FORM = "orders m17 turn 5\nserver play.example\nplayer ann\nrev 1\n# gr\u00fc\u00dfe\nGx3 bGx1Gx3\n- Ox4\nend\n"


def taken(raw: bytes) -> JudgedText:
    """A letter at receipt."""
    letter = read_letter(raw)
    found = judged_text(letter, judge(letter, PINNED, "play.example", at=IN_FORCE))
    assert is_whole(found.verdict.reason)
    return found


def asked(text: str) -> list[Any]:
    """The requests in a text, without the blanks at the ends of a block's lines."""
    reading = commands.parse(text)
    return [
        (
            one.name,
            one.form if one.block is None else (one.request.__class__, one.match, one.form.game, one.form.turn),
            one.fields,
            re.sub(r"[ \n]*\n *", "\n", one.block or ""),
            len(one.faults),
        )
        for one in reading.commands
    ] + [reading.optout]


ORIGINAL = hash_of_words(FORM)


# One text, each format.


@pytest.mark.parametrize("way", WAYS)
def test_in_each_format(way: str) -> None:
    said = taken(WAYS[way][2](ANN, FORM))
    assert (said.verdict.kind, said.words) == ("valid", ORIGINAL)
    assert asked(said.text) == asked(FORM)


DRESS: dict[str, tuple[str, Callable[[str], str]]] = {
    "base64": ("base64", lambda text: base64.encodebytes(text.encode()).decode()),
    "quoted-printable": ("quoted-printable", lambda text: quopri.encodestring(text.encode()).decode()),
    "8bit": ("8bit", lambda text: text),
}


@pytest.mark.parametrize("sign", [by_openpgp_mime, by_smime])
@pytest.mark.parametrize("encoding", DRESS)
@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1"])
def test_signed_anew_in_another_dress(sign: Callable[..., bytes], encoding: str, charset: str) -> None:
    """Another boundary, another transfer encoding, another character set, further headers within the signature."""
    name, encoded = DRESS[encoding]
    text = encoded(FORM) if charset == "utf-8" else FORM.replace("\u00fc", "=FC").replace("\u00df", "=DF")
    name = name if charset == "utf-8" else "quoted-printable"
    kind = f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: {name}\nX-Of: Monday\n\n"
    said = taken(by_openpgp_mime(ANN, text, content_type=kind) if sign is by_openpgp_mime else smime(kind + text)[0])
    assert (said.verdict.kind, said.words) == ("valid", ORIGINAL)


def smime(entity: str) -> tuple[bytes, bytes]:
    """One S/MIME signature of an entity: opaque, and detached from it."""
    certificate = x509.load_pem_x509_certificate((KEYS / "sm-p256.crt").read_bytes())
    private = load_pem_private_key((KEYS / "sm-p256.key").read_bytes(), None)
    content = entity.replace("\n", "\r\n").encode()
    builder = pkcs7.PKCS7SignatureBuilder().set_data(content)
    signer = builder.add_signer(certificate, private, hashes.SHA256())  # type: ignore[arg-type]  # RSA and EC alone
    opaque = signer.sign(Encoding.DER, [pkcs7.PKCS7Options.Binary])
    info = cms.ContentInfo.load(opaque)
    info["content"]["encap_content_info"] = cms.ContentInfo({"content_type": "data"})
    detached = info.dump(force=True)
    top = head(ANN).encode()
    encoding = b"Content-Transfer-Encoding: base64\r\n\r\n"
    one = top + b"Content-Type: application/pkcs7-mime\r\n" + encoding + base64.encodebytes(opaque)
    two = (
        top
        + b'Content-Type: multipart/signed; protocol="application/pkcs7-signature"; boundary=q\r\n\r\n--q\r\n'
        + content
        + b"\r\n--q\r\nContent-Type: application/pkcs7-signature\r\n"
        + encoding
        + base64.encodebytes(detached)
        + b"\r\n--q--\r\n"
    )
    return one, two


def test_one_smime_signature_opaque_and_detached() -> None:
    found = [taken(raw) for raw in smime(f"Content-Type: text/plain; charset=utf-8\n\n{FORM}")]
    assert [(one.verdict.kind, one.words) for one in found] == [("valid", ORIGINAL)] * 2


# One signature, whatever it may stand under.

LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r", "\r\r\n", "\n\r", "\v", "\f", "\x85", "\u2028", "\0\n"])
USUAL = st.sampled_from(["\n", "\n", "\r\n", "\r\n", "\r"])
TAILS = st.sampled_from(["", " ", "\t", "\u00a0", "\u200b", " \t "])


@st.composite
def mangled(draw: st.DrawFn, text: str, ends: st.SearchStrategy[str] = LINE_ENDS) -> str:
    """The text with other line ends, and blanks before them, here and there."""
    usual = draw(USUAL)
    odd = draw(st.dictionaries(st.integers(0, text.count("\n") - 1), st.tuples(TAILS, ends), max_size=3))
    lines = text.split("\n")
    return "".join(line + "".join(odd.get(at, ("", usual))) for at, line in enumerate(lines[:-1])) + lines[-1]


def one_of_them(raw: bytes) -> None:
    """Whatever the library verifies is the same words, asks for the same, or is refused."""
    letter = read_letter(raw)
    verdict = judge(letter, PINNED, "play.example", at=IN_FORCE)
    found = judged_text(letter, verdict)
    if verdict.kind == "valid" and found.verdict.kind == "valid":
        assert found.words == ORIGINAL
        assert asked(found.text) == asked(FORM)
    else:
        assert found.verdict.kind in {"none", "bad", "refused"}


OVER_THE_TEXT = PGP.over(FORM.encode())


@given(mangled(FORM), st.sampled_from(["base64", "8bit"]), st.sampled_from(["b", "another--boundary"]))
def test_an_attached_text(text: str, encoding: str, boundary: str) -> None:
    content = base64.encodebytes(text.encode()).decode() if encoding == "base64" else text
    file = 'Content-Disposition: attachment; filename="{}"\n'
    one_of_them(
        f"From: a@b.example\nContent-Type: multipart/mixed; boundary={boundary}\n\n--{boundary}\n"
        f"Content-Transfer-Encoding: {encoding}\n{file.format('orders.txt')}\n{content}\n--{boundary}\n"
        f"{file.format('orders.txt.asc')}\n{OVER_THE_TEXT}\n--{boundary}--\n".encode()
    )


@given(mangled(FORM), st.sampled_from(["", "utf-8", "us-ascii", "iso-8859-1", "utf-16"]))
def test_a_pasted_text(text: str, charset: str) -> None:
    kind = f"Content-Type: text/plain; charset={charset}\n" if charset else ""
    one_of_them(f"From: a@b.example\n{kind}\n{text}{OVER_THE_TEXT}".encode())


CLEAR = PGP.over(FORM.rstrip("\n").encode())
ARMOR_HEADERS = st.lists(
    st.sampled_from(
        ["Hash: SHA256", "Hash: MD5", "NotDashEscaped: x", "Comment: resign m17 match", "Charset: x", "x"]
    ),
    max_size=3,
)


@given(mangled(FORM), ARMOR_HEADERS, st.booleans(), st.booleans())
def test_a_text_signed_in_the_clear(text: str, headers: list[str], escaped: bool, blank: bool) -> None:
    """Hash lines and others, dashes escaped or not, the empty line there or not."""
    lines = re.sub(r"(?m)^(?=-)", "- ", text) if escaped else text
    top = "".join(f"{line}\n" for line in ["-----BEGIN PGP SIGNED MESSAGE-----", *headers])
    between = "\n" if blank else ""
    one_of_them(
        f"From: a@b.example\nContent-Type: text/plain; charset=utf-8\n\n{top}{between}{lines}{CLEAR}".encode()
    )


ENTITY = f"Content-Type: text/plain; charset=utf-8\nX-More: of the signed part\n\n{FORM}"
OVER_THE_ENTITY = PGP.over(ENTITY.encode(), kind=TEXT)


@given(mangled(ENTITY), st.sampled_from(["b", "another"]), st.sampled_from(["", "\n", "preamble\n"]))
def test_a_text_signature_of_a_mime_entity(entity: str, boundary: str, preamble: str) -> None:
    """With a CR for the LF a header swallows what follows it, and the signature would still hold."""
    one_of_them(
        f"From: a@b.example\nContent-Type: multipart/signed; boundary={boundary}\n\n{preamble}--{boundary}\n{entity}"
        f"\n--{boundary}\nContent-Type: application/pgp-signature\n\n{OVER_THE_ENTITY}\n--{boundary}--\n".encode()
    )


@given(mangled(ENTITY), st.booleans())
def test_an_smime_entity(entity: str, opaque: bool) -> None:
    one_of_them(smime(ENTITY)[0 if opaque else 1].replace(ENTITY.replace("\n", "\r\n").encode(), entity.encode()))


# What others might read otherwise is refused, whoever signed it.


def signed_pair(content: bytes) -> bytes:
    signature = PGP.over(content, kind=0)
    return (
        b"From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Transfer-Encoding: base64\n"
        b"Content-Disposition: attachment; filename=o\n\n" + base64.encodebytes(content) + b"\n--b\n"
        b"Content-Disposition: attachment; filename=o.asc\n\n" + signature.encode() + b"\n--b--\n"
    )


UNCLEAR = ["\r", "\0", "\v", "\f", "\x1b", "\x7f", "\x85", "\x9f", "\u2028", "\u2029"]


@pytest.mark.parametrize("odd", UNCLEAR)
def test_characters_that_are_refused(odd: str) -> None:
    text = FORM.replace(" bGx1", f"{odd}bGx1")
    kind = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    encoded = base64.encodebytes(text.encode()).decode()
    for raw in (
        signed_pair(text.encode()),
        by_openpgp_mime(ANN, encoded, content_type=kind),
        smime(kind + encoded)[0],
    ):
        found = taken(raw)
        assert found.verdict.kind == "refused"
        assert f"U+{ord(odd):04X}" in found.verdict.reason
        old = judge(read_letter(raw), PINNED, "play.example")
        assert old.kind == "valid"  # taken up before
        assert asked(normal_text(old)) == asked(text)


@pytest.mark.parametrize("kept", ["\t", "\u00a0", "\u200b", "\ufeff", "\u2003", "\U0001f600", "\u202e"])
def test_characters_that_are_not(kept: str) -> None:
    assert taken(signed_pair(FORM.replace("gr", f"gr{kept}").encode())).verdict.kind == "valid"


@pytest.mark.parametrize(
    ("charset", "content", "kind"),
    [
        ("utf-8", b"# gr\xfc", "refused"),
        ("us-ascii", b"# gr\xfc", "refused"),
        ("x-unheard-of", b"# gr\xfc", "refused"),
        ("us-ascii", "# gr\u00fc".encode(), "valid"),
        ("iso-8859-1", b"# gr\xfc", "valid"),
        ("shift_jis", b"# \x82", "refused"),
        ("utf-16", "# gr".encode("utf-16"), "valid"),
        ("utf-16", b"#", "refused"),
    ],
)
def test_bytes_that_are_no_text(charset: str, content: bytes, kind: str) -> None:
    top = f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\n"
    encoded = base64.encodebytes(content + (b"" if charset == "utf-16" else b"\nhelp\n")).decode()
    assert taken(by_openpgp_mime(ANN, encoded, content_type=top)).verdict.kind == kind


def test_an_attached_file_is_utf8() -> None:
    assert taken(signed_pair(FORM.encode("latin-1"))).verdict.kind == "refused"


PLAIN = "Content-Type: text/plain; charset=utf-8\n"
PAGE = "Content-Type: text/html; charset=utf-8\n"
IN_BASE64 = "Content-Transfer-Encoding: base64\n"
CODE = base64.encodebytes(b"help\n").decode()
MORE_CODE = base64.encodebytes(b"help\nresign m1 match\n").decode()


def several(kind: str, *parts: str, boundary: str = "k", end: str = "--") -> str:
    opened = "".join(f"--{boundary}\n{part}\n" for part in parts)
    return f"Content-Type: multipart/{kind}; boundary={boundary}\n\n{opened}--{boundary}{end}\n"


DOUBTFUL = {
    "two of Content-Type": f"{PLAIN}{PAGE}\nhelp\n",
    "two of Content-Transfer-Encoding": f"{IN_BASE64}Content-Transfer-Encoding: 7bit\n\n{CODE}",
    "two of Content-Type in a part": several("mixed", f"{PLAIN}{PAGE}\nhelp\n"),
    "two of Content-Disposition": several("mixed", PLAIN + "Content-Disposition: inline\n" * 2 + "\nhelp\n"),
    "blanks before a colon": f"{PLAIN}Content-Transfer-Encoding : base64\n\nhelp\n",
    "a line that is no header": f"{PLAIN}x\n\nhelp\n",
    "a blank line that folds": f"{PLAIN} \n{IN_BASE64}\n{CODE}",
    "two charsets": "Content-Type: text/plain; charset=utf-8; charset=utf-7\n\nhelp\n",
    "a charset in pieces": "Content-Type: text/plain; charset*0=utf; charset*1=-8\n\nhelp\n",
    "an unknown charset": "Content-Type: text/plain; charset=utf-7\n\nhelp\n# +AHI-esign m1 match\n",
    "two boundaries": several("mixed", f"{PLAIN}\nhelp\n").replace("boundary=k", "boundary=k; boundary=r"),
    "a boundary that is encoded": several("mixed", f"{PLAIN}\nhelp\n").replace("boundary=", "boundary*=utf-8''"),
    "a type with more behind it": "Content-Type: text/plain html; charset=utf-8\n\nhelp\n",
    "a type with a comment": "Content-Type: text/plain (text/html); charset=utf-8\n\nhelp\n",
    "a type without a subtype": "Content-Type: html\n\nhelp\n",
    "an unknown encoding": f"{PLAIN}Content-Transfer-Encoding: x-base64\n\nhelp\n",
    "an encoding with more behind it": f"{PLAIN}Content-Transfer-Encoding: base64, 7bit\n\n{CODE}",
    "an unknown disposition": several("mixed", f"{PLAIN}Content-Disposition: extension-token\n\nhelp\n"),
    "base64 with foreign characters": f"{PLAIN}{IN_BASE64}\n{CODE[:4]}!{CODE[4:]}",
    "base64 that goes on behind its end": f"{PLAIN}{IN_BASE64}\n{MORE_CODE[:6]}==\n{MORE_CODE[6:]}",
    "quoted-printable that is none": f"{PLAIN}Content-Transfer-Encoding: quoted-printable\n\nhelp\n# =ZZ\n",
    "an encoded container": several("mixed", f"{PLAIN}\nhelp\n").replace("Content", f"{IN_BASE64}Content", 1),
    "a container in quoted-printable": several("mixed", f"{PLAIN}\nhelp\n").replace(
        "Content", "Content-Transfer-Encoding: quoted-printable\nContent", 1
    ),
    "parts without an end": several("mixed", f"{PLAIN}\nhelp\n", end=""),
    "parts behind the end": several("mixed", f"{PLAIN}\nhelp\n") + f"--k\n{PLAIN}\nresign m1 match\n--k--\n",
    "a boundary used again": several("mixed", f"{PLAIN}\nhelp\n", several("mixed", f"{PLAIN}\nresign m1 match\n")),
    "a boundary that begins another": several(
        "mixed", f"{PLAIN}\nhelp\n", several("mixed", f"{PLAIN}\nresign m1 match\n", boundary="k2")
    ),
    "HTML that asks for something else": several(
        "alternative", f"{PLAIN}\nhelp\n", f"{PAGE}\n<p>resign m1 match</p>\n"
    ),
    "HTML that asks for nothing": several("alternative", f"{PLAIN}\nhelp\n", f"{PAGE}\n<p>Hello!</p>\n"),
    "HTML without the comment": several(
        "alternative",
        f"{PLAIN}\norders m1 turn 1\nGx3 # no\nGx4\nend\n",
        f"{PAGE}\n<p>orders m1 turn 1<br>Gx3 # no Gx4<br>end</p>\n",
    ),
    "two plain texts to choose from": several("alternative", f"{PLAIN}\nhelp\n", f"{PLAIN}\nresign m1 match\n"),
    "another kind of text": several("alternative", f"{PLAIN}\nhelp\n", "Content-Type: text/enriched\n\nhelp\n"),
    "a page in a container": several(
        "alternative", f"{PLAIN}\nhelp\n", several("related", f"{PAGE}\n<p>resign m1 match</p>\n", boundary="r")
    ),
    "lines that some join": "Content-Type: text/plain; format=flowed; delsp=yes\n\nhelp\nresi \ngn m1 match\n",
}


@pytest.mark.parametrize("entity", DOUBTFUL.values(), ids=DOUBTFUL)
def test_an_entity_that_programs_read_in_different_ways_is_refused(entity: str) -> None:
    """In each format; what was accepted before is verified as before."""
    for raw in (by_openpgp_mime(ANN, entity, content_type=""), *smime(entity)):
        found = taken(raw)
        assert (found.verdict.kind, found.words) == ("refused", "")
        assert "different ways" in found.verdict.reason
        assert judge(read_letter(raw), PINNED, "play.example").kind == "valid"


def test_each_way_of_reading_differently_is_named() -> None:
    unlike = (
        "two of Content-Type",
        "blanks before a colon",
        "two charsets",
        "an encoding with more behind it",
        "an unknown charset",
        "an unknown encoding",
        "lines that some join",
        "parts without an end",
        "HTML that asks for nothing",
    )
    reasons = {str(taken(by_openpgp_mime(ANN, DOUBTFUL[one], content_type="")).verdict.reason) for one in unlike}
    assert len(reasons) == len(unlike)


CERTAIN = {
    "quoted values, folded": 'Content-Type: text/plain;\n\tcharset="UTF-8";\n format=flowed;\n\nhelp\n',
    "base64": f"{PLAIN}{IN_BASE64}Content-Disposition: inline\n\n{CODE}",
    "quoted-printable": f"{PLAIN}Content-Transfer-Encoding: quoted-printable\n\nhe=\nlp =3D\n",
    "no header": "\nhelp\n",
    "an empty part beside it": several("mixed", f"{PLAIN}\nhelp\n", f"{PLAIN}\n"),
    "a boundary of one letter": several("mixed", f"{PLAIN}\nhelp\n", boundary="X"),
    "a key in two names": several(
        "mixed",
        f"{PLAIN}\nhelp\n",
        'Content-Type: application/pgp-keys; name="a b.asc"\nContent-Disposition: attachment; filename="a b.asc";\n'
        " filename*=utf-8''a%20b.asc\n\nx\n",
    ),
    "HTML that asks for the same": several(
        "alternative",
        f"{PLAIN}\n> you wrote\nHelp\n-- \nAnn",
        several(
            "related",
            f"{PAGE}\n<blockquote>you wrote</blockquote><div>help</div><div class=moz-signature>Ann</div>\n",
            "Content-Type: image/png\nContent-ID: <1@x>\nContent-Transfer-Encoding: base64\n\nAAAA\n",
            boundary="r",
        ),
    ),
}


@pytest.mark.parametrize("entity", CERTAIN.values(), ids=CERTAIN)
def test_an_entity_that_all_programs_read_alike_is_accepted(entity: str) -> None:
    for raw in (by_openpgp_mime(ANN, entity, content_type=""), *smime(entity)):
        found = taken(raw)
        assert (found.verdict.kind, [one.name for one in commands.parse(found.text).commands]) == ("valid", ["help"])


# Different words.

PIECES = st.sampled_from(
    [*"\n\r\v\f\x85\u2028 \t\u00a0\u200b>#-", "\r\n", "-- \n", "end", "orders m17 turn 5", "Gx3"]
)
MORE = st.sampled_from(
    ["press m17 public", "server play.example", "help", "stop", "new toy", "seats: 2", "rev 1", "x"]
)
TEXTS = st.lists(PIECES | MORE, max_size=25).map("".join)


def plainly(text: str) -> str:
    return normal_text(Verdict("valid", Phrase("x"), signed=text.encode()))


@given(TEXTS)
def test_the_one_form_asks_for_the_same(text: str) -> None:
    assert asked(plainly(text)) == asked(text)
    assert plainly(plainly(text)) == plainly(text)


@given(TEXTS, st.data())
def test_the_same_words_ask_for_the_same(text: str, data: st.DataObject) -> None:
    """Changed a little, so that they meet often."""
    at = data.draw(st.integers(0, len(text)))
    other = text[:at] + data.draw(PIECES | st.just("")) + text[at + data.draw(st.integers(0, 1)) :]
    assume(hash_of_words(plainly(text)) == hash_of_words(plainly(other)))
    assert asked(text) == asked(other)


def test_keys_that_were_signed_with_the_same_words_are_not_the_same() -> None:
    """`key add` with a file: another file asks for another key, and its dress is none of it."""

    def with_file(name: str, encoding: str) -> bytes:
        content = (KEYS / name).read_bytes()
        encoded = base64.encodebytes(content).decode() if encoding == "base64" else content.decode()
        return by_openpgp_mime(
            ANN,
            f"--q\n\nkey add\n--q\nContent-Transfer-Encoding: {encoding}\n"
            f"Content-Disposition: attachment; filename={name}\n\n{encoded}\n--q--\n",
            content_type="Content-Type: multipart/mixed; boundary=q\n\n",
        )

    one, same = (taken(with_file("ssh-rsa.pub", encoding)) for encoding in ("base64", "7bit"))
    other = taken(with_file("ssh-ecdsa.pub", "base64"))
    assert {found.verdict.kind for found in (one, same, other)} == {"valid"}
    assert one.words == same.words != other.words
