"""Letters in: limits before parsing, one reading of the bytes, no exception on any."""

from __future__ import annotations

import base64
import time
from encodings.aliases import aliases
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pbem.config.limits import Limits
from pbem.mail.mail_addresses import mailboxes
from pbem.mail.marks import Arrival, asked_for, marks_of
from pbem.mail.message import Letter, Unreadable, read_letter, received
from pbem.mail.one_reading import is_open

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEAD = b"From: Anna <anna@example.org>\r\nSubject: hi\r\nMessage-ID: <1@example.org>\r\n"


def letter(head: bytes = b"", body: bytes = b"text\r\n") -> Letter:
    return read_letter(HEAD + head + b"\r\n" + body)


def multipart(*parts: bytes, kind: bytes = b"mixed", boundary: bytes = b"b1") -> bytes:
    lines = b"".join(b"--" + boundary + b"\r\n" + part + b"\r\n" for part in parts)
    head = b"Content-Type: multipart/" + kind + b'; boundary="' + boundary + b'"\r\n'
    return head + b"\r\n" + lines + b"--" + boundary + b"--\r\n"


@pytest.mark.odd
def test_every_odd_mail_is_read_alike_each_time(odd_mail: list[Path]) -> None:
    for path in odd_mail:
        raw = path.read_bytes()
        for variant in (raw, raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")):
            begun = time.process_time()
            found = read_letter(variant)
            for part in found.parts:
                assert part.raw in variant, path
                assert isinstance(part.text, str)
            found.subject.encode("utf-8")
            marks_of(Arrival(found, "a@b.example", "pbem@play.example", 50))
            assert time.process_time() - begun < 2, path


@given(st.binary(max_size=2000))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        found = read_letter(raw)
    except Unreadable:
        return
    assert all(isinstance(part.text, str) for part in found.parts)
    found.subject.encode("utf-8")


@pytest.mark.parametrize(
    ("value", "sender"),
    [
        (b"anna@example.org", "anna@example.org"),
        (b"<Anna@EXAMPLE.org>", "Anna@example.org"),
        (b'"Anna, the (first)" <anna@example.org>', "anna@example.org"),
        (b"=?utf-8?q?Ann=C3=A4?= <anna@example.org>", "anna@example.org"),
        ("Ännä <anna@example.org>".encode(), "anna@example.org"),
        (b"anna@example.org (Anna)", "anna@example.org"),
        (b'"evil@x.example" <anna@example.org>', "anna@example.org"),
        (b"J. Public\r\n <anna@example.org>", "anna@example.org"),
        (b"anna@example.org, bert@example.org", None),
        (b"<anna@example.org> <bert@example.org>", None),
        (b"anna@example.org <bert@example.org>", None),
        (b"< anna@example.org >", "anna@example.org"),
        (b"anna", None),
        (b"", None),
        (b'"a b"@example.org', None),
        (b"anna@[127.0.0.1]", None),
        ("ännä@example.org".encode(), None),
        (b"anna@example.org\x00", None),
        (b"=?utf-8?q?anna?=@example.org", None),
        (b"a" * 260 + b"@example.org", None),
        (b"<" * 60000, None),
    ],
)
def test_a_sender_is_one_plain_address_or_none(value: bytes, sender: str | None) -> None:
    found = read_letter(b"From: " + value + b"\r\n\r\n")
    assert found.sender == sender
    assert (found.from_defect is None) == (sender is not None)


def test_two_from_or_none_give_no_sender() -> None:
    for head in (b"From: bert@example.org\r\n", b"FROM: bert@example.org\r\n"):
        found = letter(head)
        assert (found.sender, found.from_defect) == (None, "more than one From")
    assert read_letter(b"Subject: x\r\n\r\n").from_defect == "no From"


@pytest.mark.parametrize(
    "value",
    [
        b"anna@example.org <anna@example.org>",
        b"'anna@example.org' <anna@example.org>",
        b"Mueller, Anna <anna@example.org>",
        b"Anna @ Home <anna@example.org>",
        b"Anna: home <anna@example.org>",
        b"Anna :( <anna@example.org>",
        b'Anna "the first <anna@example.org>',
        b"mailto:anna@example.org",
        b"Anna <mailto:anna@example.org>",
        b"Anna <anna@example.org>,",
        b"anna@example.org;",
        b"Anna <anna@example.org> (home) mobile",
        b"<anna@example.org",
        b"Group: anna@example.org;",
        b"Anna [home] <anna@example.org> <anna@EXAMPLE.org>",
    ],
)
def test_a_malformed_from_means_its_only_address(value: bytes) -> None:
    found = read_letter(b"From: " + value + b"\r\n\r\n")
    assert found.sender == "anna@example.org"
    assert found.from_defect, "so that only a key shows who wrote it"


@pytest.mark.parametrize(
    "value",
    [
        b"bert@example.org <anna@example.org>",
        b"Anna <anna@example.org>, bert@work",
        b"Anna: anna@example.org, Bert: bert@example.org;",
        "Änna, x <änna@example.org>".encode(),
        b"Anna, x <anna@@example.org>",
        b"Anna, x <anna@example.org.>",
        b"Anna, x <" + b"b" * 65 + b"anna@example.org>",
        b"Anna, at home",
        b"Anna, at @ home",
        b"anna@example.org\r\nFrom: anna@example.org",
    ],
)
def test_a_malformed_from_with_other_addresses_means_nobody(value: bytes) -> None:
    assert read_letter(b"From: " + value + b"\r\n\r\n").sender is None


def test_blanks_before_the_colon_of_from_are_a_defect() -> None:
    found = read_letter(b"From : anna@example.org\r\n\r\n")
    assert (found.sender, found.from_defect) == ("anna@example.org", "blanks before the colon of From")


@pytest.mark.parametrize(
    ("raw", "text"),
    [(b"hello\n", "hello\n"), (b"\r\nhello", "hello"), (b"\n\nhello", "\nhello"), (b": x\n", ": x\n")],
)
def test_a_letter_may_have_no_headers(raw: bytes, text: str) -> None:
    assert (read_letter(raw).text, read_letter(raw).root.headers) == (text, ())


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r", b"\x0b", "\u2028".encode()])
@pytest.mark.parametrize("more", [0, 1])
def test_lines_that_an_encoding_hides_are_counted(line_end: bytes, more: int) -> None:
    """Those of a new letter: what was accepted before is read as before."""
    encoded = base64.b64encode(line_end * (10 + more))
    raw = HEAD + b"Content-Transfer-Encoding: base64\r\n\r\n" + encoded
    limits = Limits(message_lines=10)
    assert read_letter(raw, limits).text
    if not more:
        assert received(raw, limits).text
        return
    with pytest.raises(Unreadable, match="10 lines") as refused:
        received(raw, limits)
    assert refused.value.letter is not None
    assert refused.value.letter.sender == "anna@example.org"


def test_a_line_that_an_encoding_hides_is_measured() -> None:
    limits = Limits(line_bytes=100)
    for length, encoding in ((100, "base64"), (101, "base64"), (101, "quoted-printable")):
        body = b"x\r" + b"=78" * 30 + b"=\r\n" + b"x" * (length - 30)
        if encoding == "base64":
            body = base64.encodebytes(b"x\r" + b"x" * length)
        raw = HEAD + f"Content-Transfer-Encoding: {encoding}\r\n\r\n".encode() + body
        if length == 100:
            assert received(raw, limits).text
            continue
        with pytest.raises(Unreadable, match="a line of more than 100 octets"):
            received(raw, limits)


def test_what_follows_the_headers_is_no_header() -> None:
    found = read_letter(b"Subject: x\r\nno header\r\nFrom: anna@example.org\r\n\r\n")
    assert found.from_defect == "no From"
    assert found.text == "no header\nFrom: anna@example.org\n\n"


def test_headers_are_unfolded_and_decoded() -> None:
    found = letter(
        b"To: pbem+m17.tok@Play.example, Bert <bert@example.org>\r\nDelivered-To: pbem@play.example\r\n"
        b"In-Reply-To: <a@b>\r\nReferences: <r@b>\r\n <a@b> junk <c d>\r\nReceived: x\r\nReceived: y\r\n"
    )
    assert found.recipients == ("pbem+m17.tok@play.example", "bert@example.org", "pbem@play.example")
    assert (found.message_id, found.in_reply_to, found.references) == (
        "<1@example.org>",
        ("<a@b>",),
        ("<r@b>", "<a@b>"),
    )
    assert found.hops == 2
    subject = read_letter(
        b"Subject: =?iso-8859-1?q?Gr=FC=DFe?= =?utf-8?b?IGFu?=\r\n =?x-none?q?_x?= =?utf-8?q?\xff\r\n\r\n"
    )
    assert subject.subject.startswith("Grüße an x")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("anna@mail.example", ["anna@mail.example"]),
        ("Anna <anna@mail.example>, bob@mail.example.", ["anna@mail.example", "bob@mail.example"]),
        (
            '"bob@mail.example" <anna@mail.example>;(carl@mail.example) dora@mail.example',
            ["anna@mail.example", "dora@mail.example"],
        ),
        ("friends: <anna@mail.example>, bob@mail.example;", ["anna@mail.example", "bob@mail.example"]),
        ("bob@mail.example <anna@mail.example>", ["anna@mail.example"]),
        ("undisclosed-recipients:;", []),
        ('anna@mail.example "', []),
        ("", []),
    ],
)
def test_a_header_of_recipients_sends_a_letter_to_its_addresses_alone(value: str, found: list[str]) -> None:
    assert mailboxes(value) == found


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        (b"utf-8", "é".encode(), "é"),
        (b"us-ascii", "é".encode(), "é"),
        (b"us-ascii", b"\xe9", "é"),
        (b"iso-8859-1", b"\xe9", "é"),
        (b"windows-1252", b"\x80", "€"),
        (b"no-such", b"\xe9", "é"),
        (b"punycode", b"abc", "abc"),
        (b"unicode_escape", b"\\x41", "\\x41"),
        (b"utf-8", b"a\xffb", "a\ufffdb"),
        (b"utf-16", b"a", "\ufffd"),
        (b"\x00", b"abc", "abc"),
        (b"utf-8", b"\xef\xbb\xbfabc", "abc"),
        (b"hex", b"abc", "abc"),
    ],
)
def test_charsets_may_lie(charset: bytes, data: bytes, text: str) -> None:
    found = read_letter(b"Content-Type: text/plain; charset=" + charset + b"\r\n\r\n" + data)
    assert found.text == text


def in_charset(name: str, data: bytes) -> Letter:
    return read_letter(f"Content-Type: text/plain; charset={name}\r\n\r\n".encode() + data)


KNOWN = sorted(name for name in {*aliases, *aliases.values()} if in_charset(name, b"").root.is_in_known_charset)


@given(st.sampled_from(KNOWN), st.binary(max_size=30))
def test_any_octets_in_a_known_charset_are_some_text(charset: str, data: bytes) -> None:
    text = in_charset(charset, data).text
    assert text is not None
    assert text.encode().decode() == text


@pytest.mark.parametrize(
    ("encoding", "data", "text"),
    [
        (b"base64", base64.b64encode(b"orders\r\n"), "orders\n"),
        (b"BASE64", b"b3J!kZXJz", "orders"),
        (b"base64", b"b3JkZXJzC", "orders"),
        (b"base64", b"", ""),
        (b"quoted-printable", b"a=3Db=\r\nc=ZZ", "a=bc=ZZ"),
        (b"x-unknown", b"as it is", "as it is"),
    ],
)
def test_transfer_encodings_may_be_damaged(encoding: bytes, data: bytes, text: str) -> None:
    assert read_letter(b"Content-Transfer-Encoding: " + encoding + b"\r\n\r\n" + data).text == text


def test_parts_are_cut_with_the_bytes_received() -> None:
    signed = b"Content-Type: text/plain; charset=utf-8\r\nX-Odd:   kept  \r\n\r\norders  \r\n-- \r\n"
    signature = b"Content-Type: application/pgp-signature\r\n\r\nsig"
    found = read_letter(HEAD + multipart(signed, signature, kind=b"signed; micalg=pgp-sha512"))
    assert found.root.parameters["micalg"] == "pgp-sha512"
    assert [part.raw for part in found.root.children] == [signed, signature]
    assert found.parts[0].content == b"orders  \r\n-- \r\n"
    assert found.text == "orders  \n-- \n"


def test_boundaries_match_whole_lines_only() -> None:
    body = b"\r\n--b12\r\n --b1\r\nx--b1\r\n"
    (part,) = read_letter(HEAD + multipart(body)).parts
    assert part.content == b"--b12\r\n --b1\r\nx--b1\r\n"


PICTURE = b"Content-Type: image/png; name=board.png\r\nContent-Disposition: inline\r\n\r\nx"


@pytest.mark.parametrize(
    ("texts", "spoken"),
    [
        ([b"", b"rules spaceships"], "rules spaceships"),
        ([b"[outside]", b"rules spaceships"], "rules spaceships"),
        ([b"rules spaceships", b"-- \r\nscanned for viruses"], "rules spaceships"),
        ([b"Hello", b"board below", b"stop"], "stop"),
        ([b"\r\n \r\n", b"Gx3 Gx4"], "Gx3 Gx4"),
        ([b"Gx3 Gx4", b"Sent from my phone"], "Gx3 Gx4"),
        ([b"", b""], ""),
        ([b"help", b"> help"], "help"),
    ],
)
def test_the_one_text_with_a_command_is_read(texts: list[bytes], spoken: str) -> None:
    parts = [piece for text in texts for piece in (b"\r\n" + text, PICTURE)]
    found = read_letter(HEAD + multipart(*parts))
    assert (found.text, found.several) == (spoken, False)


def test_a_file_beside_the_text_is_no_text() -> None:
    file = b"Content-Type: text/plain; name=form.txt\r\nContent-Disposition: inline\r\n\r\nresign m1"
    assert read_letter(HEAD + multipart(file, b"\r\nhelp")).text == "help"
    assert read_letter(HEAD + multipart(b"\r\n\r\n", file)).text == "resign m1"
    assert read_letter(HEAD + multipart(b"\r\n\r\n", file.replace(b"inline", b"attachment"))).text == "\n"


@pytest.mark.parametrize("texts", [[b"help", b"games"], [b"orders m1 turn 1\r\nGx3\r\nend", b"words", b"stop"]])
def test_two_texts_with_commands_are_not_read(texts: list[bytes]) -> None:
    html = b"Content-Type: text/html\r\n\r\nhelp"
    found = read_letter(HEAD + multipart(*[b"\r\n" + text for text in texts], html))
    assert (found.text, found.several, found.plain, found.html) == ("", True, None, None)


def test_forwarded_letters_are_not_looked_into() -> None:
    forwarded = b"Content-Type: message/rfc822\r\n\r\nFrom: bert@example.org\r\n\r\nresign m17\r\n"
    found = read_letter(HEAD + multipart(forwarded))
    assert (found.text, len(found.parts)) == (None, 1)


def nested(depth: int) -> bytes:
    raw = b"\r\ninnermost"
    for level in range(depth - 1):
        raw = multipart(raw, boundary=b"b%d." % level)
    return HEAD + raw


@pytest.mark.parametrize(
    ("limit", "reaching", "reason"),
    [
        ("message_bytes", lambda most: (HEAD + b"\r\n").ljust(most, b"x"), "more than 99 octets"),
        ("message_lines", lambda most: HEAD + b"\r\n" * (most - 3), "more than 99 lines"),
        ("line_bytes", lambda most: HEAD + b"\r\n" + b"x" * most + b"\n", "a line of more than 99 octets"),
        ("headers", lambda most: HEAD + b"a: b\r\n" * (most - 3), "more than 99 headers"),
        ("header_bytes", lambda most: HEAD + b"a: ".ljust(most - len(HEAD), b"b"), "more than 99 octets of headers"),
        ("parts", lambda most: HEAD + multipart(*[b"\r\nx"] * (most - 1)), "more than 99 parts"),
        ("depth", nested, "parts nested deeper than 99"),
    ],
)
def test_a_letter_may_reach_each_limit_and_not_exceed_it(
    limit: str, reaching: Callable[[int], bytes], reason: str
) -> None:
    """The beginning of one that does says whom to answer."""
    limits = replace(Limits(parts=200), **{limit: 99})
    assert read_letter(reaching(99), limits).text is not None
    with pytest.raises(Unreadable) as caught:
        read_letter(reaching(100), limits)
    found = caught.value.letter
    assert (str(caught.value.reason), str(caught.value), found.sender) == (reason, reason, "anna@example.org")
    assert len(found.root.headers) <= 99


@pytest.mark.parametrize(
    "raw",
    [
        b"From: " + b"a@b.c, " * 9000 + b"\r\n\r\n",
        b"From: " + b"(" * 60_000 + b"\r\n\r\n",
        b"Subject: " + b"=?utf-8?q?=41?= " * 4000 + b"\r\n\r\n",
        b"Subject: " + b"=?" * 30_000 + b"\r\n\r\n",
        b"Subject: " + b"=?utf-8?b?" * 6000 + b"\r\n\r\n",
        b"Content-Type: text/plain; a=" + b'";' * 30_000 + b"\r\n\r\n",
        b"Content-Type: text/plain" + b"; a*0*=x" * 7000 + b"\r\n\r\n",
        b"To: " + b"a" * 60_000 + b"\r\n\r\n",
        b"To: " + b"a@" * 30_000 + b"\r\n\r\n",
        b"References: " + b"<" * 60_000 + b"\r\n\r\n",
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b" * 20_000,
        b"Content-Type: text/plain; charset=utf-7\r\n\r\n" + b"+" * 60_000,
    ],
    ids=lambda raw: raw[:30].decode(),
)
def test_hostile_headers_cost_little(raw: bytes) -> None:
    begun = time.process_time()
    read_letter(raw, Limits(line_bytes=300_000))
    assert time.process_time() - begun < 2


BASE64, QUOTED = ("Content-Transfer-Encoding: " + name + "\r\n" for name in ("base64", "quoted-printable"))
LATIN = "Content-Type: text/plain; charset=iso-8859-1\r\n"
MIXED = "Content-Type: multipart/mixed; boundary=b1\r\n"


@pytest.mark.parametrize(
    ("head", "body", "is_open_"),
    [
        ("", "Gx3\n> resign m1\n-- \nAnna", False),
        ("", "Gx3\n> a=0Aresign m1", True),
        (QUOTED, "Gx3\n> a=\n> b=0A> c", False),
        (QUOTED, "Gx3\n> a=0Aresign m1", True),
        (BASE64, base64.encodebytes(b"Gx3\n> resign m1\n-- \nAnna").decode(), False),
        (LATIN, "Gr\u00fc\u00dfe\n> resign m1", False),
        ("Content-Type: text/plain; charset=utf-16\r\n", "Gx3", True),
        ("", "Gx3 < Gx4, or <b@c.example>", False),
        ("", "<p>Gx3", True),
        ("", "=3Cp>Gx3", True),
        (QUOTED, "Gx3\n=2D-\nAnna", False),
        ("", "Gx3\n--b1 \nContent-Type: text/plain\n\nresign m1", True),
        ("", "Gx3\n--b1\n\nresign m1", False),
        (MIXED, "--b1 \n\n<p>Gx3\n--b1--", False),
        (MIXED, "\n--b1\n\nGx3\n--b1--", False),
        (MIXED, "Gy3\n--b1\n\nGx3\n--b1--", True),
        (MIXED.replace("b1", "--"), "----\n\nGx3\n------", True),
    ],
)
def test_a_letter_is_open_where_added_headers_turn_a_quote_into_words(
    head: str, body: str, *, is_open_: bool
) -> None:
    assert is_open(letter(head.encode(), body.encode("latin-1")).root) is is_open_


@pytest.mark.parametrize(
    ("headers", "language"),
    [
        ("Accept-Language: de-CH, en;q=0.5", "de"),
        ("Accept-Language: en;q=0.3, DE ; q=0.7", "de"),
        ("Accept-Language: de;q=0, en", "en"),
        ("Accept-Language: fr, tlh", None),
        ("Accept-Language: *, fr\r\nContent-Language: de-AT", "de"),
        ("Accept-Language: en\r\nContent-Language: de", "en"),
        ("Content-Language: de, en", "de"),
        ("Content-Language: deutsch", None),
        ("Content-Language: =?utf-8?q?de?= ,;q=9,,q", None),
        ("X-Other: de", None),
    ],
)
def test_the_language_that_a_letter_asks_for(headers: str, language: str | None) -> None:
    assert asked_for(read_letter(f"From: anna@mail.example\r\n{headers}\r\n\r\nhelp\r\n".encode())) == language
