"""The proof of letters without a key, whose forms say their place by the address that they answer."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import both, fails_for_both, holds, index, proof, with_entry, with_papers
from in_a_box.referee import Mailbox, Referee
from judges.honest import accused
from msgspec.structs import replace
from vectors.matches import asked, good, home, keyless, reply
from world.mutations import signed_again

from pbem.match.documents import Evidence
from pbem.match.transcript import sha256_hex
from pbem.proof import bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pbem.proof.bundle import Bundle

SIGNED = ("from", "to", "subject", "message-id", "content-type")
TEXT = b"text/plain; charset=utf-8"
ANOTHER = home().craft(b"From: bob@mail.example\r\n\r\n").partition(b"From:")[0]
"""A signature of the same domain that does not hold."""
PARTS = b"--B\r\n%b\r\n\r\nresign m1 match\r\n--B\r\n\r\nresign m1 game 1\r\n--B--\r\n"


def address(person: Mailbox) -> str:
    """The reply address of the latest letter of the match."""
    letter = next(one for one in reversed(person.letters) if "+m1" in str(one["Reply-To"]))
    return str(letter["Reply-To"]).rpartition("<")[2].rstrip(">")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Referee, Bundle]]:
    """Bob has no key: one letter orders two turns, the second in vain; another withdraws twice what it may once."""
    referee = Referee(tmp_path_factory.mktemp("mailbox"))
    domain = home()
    ann, bob = keyless(referee)
    ahead = re.sub(r"(?m)^rev .*\n", "", bob.filled("orders", "final\nmRv1 Rv5")).replace("turn 1", "turn 2", 1)
    reply(referee, domain, bob, f"{bob.filled('orders', 'final')}\n{ahead}", asked(bob, "orders"))
    referee.turn((ann, "Rv1"))
    reply(referee, domain, bob, bob.filled("orders", ""), asked(bob, "orders"))
    reply(referee, domain, bob, "clear m1\nclear m1 turn 2\n", address(bob))
    reply(referee, domain, bob, "resign m1 match\n", address(bob))
    yield referee, proof(referee, ann)
    referee.close()


def test_what_was_not_used_and_what_was_withdrawn(table: tuple[Referee, Bundle]) -> None:
    referee, found = table
    holds(found)
    assert {path.partition("seat-2-")[2] for path in found.papers if path.startswith("evidence/game-1-turn-2")} == {
        *("rev-1.txt", "rev-3.txt")
    }
    assert accused(referee) == []


def resigning(
    change: Callable[[bytes], bytes],
    added: bytes = b"",
    tags: dict[str, str] | None = None,
    signed: tuple[str, ...] = SIGNED,
    **vouching: str,
) -> bytes:
    """A bundle in which Bob's resignation is changed, signed by his domain anew, and gets a header above it.

    Its evidence says what is `vouching` for it.
    """
    found = good("mailbox")
    paper, path = "evidence/resign-5-seat-2.txt", "letters/resign-5-seat-2.eml"
    raw = found.papers[path]
    letter = added + home().craft(change(raw[raw.index(b"From:") :]), headers=signed, **(tags or {}))
    evidence = (
        replace(Evidence.read(found.papers[paper].decode()), mail=sha256_hex(letter), **vouching).text().encode()
    )
    forged = with_papers(found, {paper: evidence, path: letter})
    at = index(found, "resigned")
    said = {"mail": sha256_hex(letter), "evidence": sha256_hex(evidence)}
    return bundle.write(signed_again(with_entry(forged, at, lambda body: body.update(said)), at))


def parts(first: bytes) -> Callable[[bytes], bytes]:
    dressed = PARTS % first
    return lambda raw: raw.replace(TEXT, b"multipart/mixed; boundary=B").replace(b"resign m1 game 1\r\n", dressed)


def encoded(text: bytes) -> Callable[[bytes], bytes]:
    head = b"Content-Transfer-Encoding: quoted-printable\r\n"
    return lambda raw: head + raw.replace(b"resign m1 game 1", text)


@pytest.mark.parametrize(
    ("change", "added", "tags", "counts"),
    [
        (bytes, b"", {}, True),
        (bytes, b"", {"d": "MAIL.example"}, True),
        (bytes, b"", {"d": "MAIL.example", "i": "bob@Out.mail.EXAMPLE"}, True),
        (bytes, b"", {"i": "mail.example"}, False),
        (bytes, b"", {"v": "2"}, False),
        (bytes, b"", {"q": "dns/other"}, False),
        (bytes, b"", {"t": "-5"}, False),
        (bytes, b"From bob Sun Mar  1 12:00:00 2026\r\n", {}, True),
        (bytes, b"From : bob@mail.example\r\n", {}, False),
        (bytes, b"Subject: another\r\n", {}, True),
        (bytes, ANOTHER * 2, {}, True),
        (bytes, ANOTHER * 3, {}, False),
        (bytes, b"Content-Type: text/plain\r\n", {}, False),
        (lambda raw: b"Content-Transfer-Encoding: 7bit\r\n" + raw, b"", {}, True),
        (lambda raw: b"Content-Transfer-Encoding: 7bit\r\n" + raw, b"content-transfer-encoding: 7bit\r\n", {}, False),
        (encoded(b"resign m1 =\r\ngame 1"), b"", {}, True),
        (encoded(b"resign m1 = \t\r\ngame 1"), b"", {}, True),
        (encoded(b"> no = \r\nresign m1 game 1"), b"", {}, False),
        (lambda raw: raw.replace(b"utf-8", b"utf-7"), b"", {}, True),
        (lambda raw: raw.replace(b"utf-8", b"utf-7").replace(b"resign", b"+AHI-esign"), b"", {}, False),
        (parts(b"Content-Type: text/html"), b"", {}, True),
        (parts(b"Content-Type: message/rfc822"), b"", {}, True),
        (parts(b"Content-Disposition: attachment"), b"", {}, True),
        (parts(b"Content-Disposition: inline; filename=a.txt"), b"", {}, True),
        (parts(b"Content-Type: text/plain"), b"", {}, False),
    ],
)
def test_both_verifiers_read_a_letter_alike(
    change: Callable[[bytes], bytes], added: bytes, tags: dict[str, str], *, counts: bool
) -> None:
    """They agree on its text, and on whether its domain vouches for it (docs/bundle.md)."""
    content = resigning(change, added, tags)
    assert both(content) is counts


def test_a_letter_counts_once_at_each_address_and_came_when_its_evidence_says() -> None:
    papers = good("mailbox").papers
    fails_for_both(resigning(bytes, received="2026-03-01T11:59:00Z"), "its evidence names another time")
    used = Evidence.read(papers["evidence/game-1-turn-2-seat-2.txt"].decode()).token
    (there,) = re.findall(rb"\nTo: (.*)\n", papers["letters/game-1-turn-2-seat-2.eml"].replace(b"\r", b""))
    again = resigning(lambda raw: re.sub(rb"\nTo: [^\r]*", b"\nTo: " + there, raw), token=used)
    fails_for_both(again, "let another letter count before")
    for year in (2025, 2026):
        assert both(resigning(bytes, b"Date: 1 Mar %d 12:00 +0000\r\n" % year)) is (year == 2026)


QUOTED_PRINTABLE, BASE64 = (b"Content-Transfer-Encoding: %b\r\n" % way for way in (b"quoted-printable", b"base64"))
ORDERED = b"resign m1 game 1\r\n"
IN_PARTS = b"--B\r\nContent-Type: text/plain\r\n\r\n%b\r\n--B--\r\n" % ORDERED
IN_BASE64 = b"".join(re.findall(b".{1,76}", b64encode(b"nothing\n" + ORDERED)))
DELIMITED = b"Content-Type: multipart/mixed; boundary=B\r\n"
OUTLOOK = b"-----Original Message-----\r\nFrom: ann\r\nSent: Sunday\r\nTo: bob\r\n\r\n"
LATIN = b"Content-Type: text/plain; charset=%b\r\n"

WORDS_OF_OTHERS: dict[str, tuple[bytes, bytes]] = {
    "an encoded line end in a quote": (QUOTED_PRINTABLE, b"Well.\r\n> so=0Aresign m1 game 1=0A\r\n"),
    "one that Unicode has": (QUOTED_PRINTABLE, b"Well.\r\n> so=E2=80=A8resign m1 game 1=E2=80=A8\r\n"),
    "a quote in base64": (BASE64, b"Well\r\n> " + IN_BASE64 + b"\r\n"),
    "a line that went on": (b"", b"Well.\r\n> so =\r\n" + ORDERED),
    "a line that goes on": (QUOTED_PRINTABLE, ORDERED + b"> so =\r\nrev 7\r\n"),
    "who wrote, in two lines": (b"", b"Well.\r\n\r\nOn 1 March 2026 at 12:00 ann wrot=\r\ne:\r\n\r\n" + ORDERED),
    "the source of a page": (b"Content-Type: text/plain\r\n", b"<pre>\r\n" + ORDERED + b"</pre>\r\n"),
    "the source of a page without a head": (
        b"Content-Type: text/plain\r\n",
        b"Well<br><pre>\r\n" + ORDERED + b"</pre>\r\n",
    ),
    "the source of a page in base64": (
        BASE64,
        b64encode(b"<html>\n<pre>\n" + ORDERED + b"</pre></html>\n") + b"\r\n",
    ),
    "the source of a page behind U+FEFF": (
        QUOTED_PRINTABLE,
        b"=EF=BB=BF=3Chtml>\r\n=3Cpre>\r\n" + ORDERED + b"=3C/pre>\r\n",
    ),
    "the source of a page behind half a line end": (QUOTED_PRINTABLE, ORDERED + b"=\r><pre>\r\n"),
    "a part of parts, as plain text": (LATIN % b"utf-8", b"Several parts\r\n" + IN_PARTS),
    "another delimiter than the first": (DELIMITED, b"--A\r\n\r\nhello\r\n--A--\r\n" + IN_PARTS),
    "the same below an empty line": (DELIMITED, b"\r\n--A\r\n\r\nhello\r\n--A--\r\n" + IN_PARTS),
    "a delimiter below words": (DELIMITED, b"This is a multi-part message in MIME format. So?\r\n" + IN_PARTS),
    "a delimiter of an answer": (DELIMITED.replace(b"=B", b'="---Original Message-----"'), OUTLOOK + ORDERED),
    "another line end of another charset": (LATIN % b"iso-8859-1", b"Well\r\n> so\x85" + ORDERED),
}
WORDS_OF_HIS_OWN: dict[str, tuple[bytes, bytes]] = {
    "plain": (b"", ORDERED + b"> so\r\n"),
    "quoted-printable": (QUOTED_PRINTABLE, b"resign m1=20=\r\n game 1=20\r\n\r\n> caf=C3=A9\r\n--=20\r\nBob\r\n"),
    "base64": (BASE64, b64encode(ORDERED + b"\n> so\n-- \nBob\n") + b"\r\n"),
    "parts": (DELIMITED, IN_PARTS.replace(b"1\r\n", b"1\r\n\r\n> resign m1 match\r\n")),
    "parts as Apple Mail writes them": (DELIMITED, b"\r\n" + IN_PARTS),
    "parts as Thunderbird writes them": (DELIMITED, b"This is a multi-part message in MIME format.\r\n" + IN_PARTS),
    "parts as Outlook writes them": (DELIMITED, b"This is a multipart message in MIME format.\r\n\r\n" + IN_PARTS),
    "parts as Thunderbird signs them": (
        DELIMITED,
        b"This is an OpenPGP/MIME signed message (RFC 4880 and 3156)\r\n" + IN_PARTS,
    ),
    "Cyrillic": (LATIN % b"windows-1251", ORDERED + b"# \xcf\xf0\xe8\xe2\xe5\xf2\r\n> so\r\n"),
    "links and addresses": (b"", ORDERED + b"# <https://play.example/> <ann@mail.example> a <b, 1<2\r\n"),
    "below an answer": (b"", ORDERED + OUTLOOK + b"well =0A so\r\n"),
}


@pytest.mark.parametrize("way", [*WORDS_OF_OTHERS, *WORDS_OF_HIS_OWN])
def test_no_header_that_the_domain_did_not_sign_makes_words_of_a_quote(way: str) -> None:
    """Many domains sign neither Content-Type nor Content-Transfer-Encoding: others may change or add them."""
    head, body = {**WORDS_OF_OTHERS, **WORDS_OF_HIS_OWN}[way]
    kind = b"Content-Type: text/plain; charset=utf-8\r\n"

    def written(raw: bytes) -> bytes:
        fields = raw[: raw.index(b"\r\n\r\n") + 2].replace(kind, b"" if b"Content-Type" in head else kind)
        return head + fields + b"\r\n" + body

    names = ("from", "to", "subject", "message-id", "date")
    for signed, counts in (
        (names, way in WORDS_OF_HIS_OWN),
        ((*names, "content-type"), way in WORDS_OF_HIS_OWN),
        ((*names, "content-type", "content-transfer-encoding"), True),
    ):
        content = resigning(written, b"", {}, signed)
        assert both(content) is counts, signed
