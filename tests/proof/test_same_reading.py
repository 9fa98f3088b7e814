"""Both verifiers read the same in an unsigned letter, whatever its parts and words are; each case once differed."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from proof.test_one_letter import LINES, PIECES

from pbem.identity.sender_auth import vouch
from pbem.mail.commands import clean, parse
from pbem.mail.message import read_letter
from verifier.commands import read_commands, text_of, texts_in
from verifier.conventions import No
from verifier.mailbox import server_vouched
from verifier.text import author_of, entity, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = (*PIECES, *LINES)
HEADERS = (
    "Content-Type: text/plain",
    "Content-Type: text/",
    "Content-Type: /plain",
    "Content-Type: text/plain (x)",
    "Content-Type: text/plain; charset*=utf-8''utf-8",
    'Content-Type: text/plain; name=" "',
    "Content-Type: text/html",
    "Content-Type: text/plain; name=a",
    'Content-Disposition: inline; filename=""',
    "Content-Disposition: attachment (x)",
    "Content-Disposition: inline; filename==?utf-8?q?_?=",
    "Content-Disposition: inline",
    "Content-Transfer-Encoding: base64 (x)",
    "Content-Transfer-Encoding: quoted-printable",
    "Content-Transfer-Encoding: x-uuencode",
    "Content-Disposition: Attachment; filename=a",
    "Content-Disposition : attachment",
    "Content-Type \t: text/html",
)


def letters() -> Iterator[bytes]:
    """Letters of up to three parts, with odd headers, and here and there a CR without LF."""
    random = Random(11)
    for _ in range(2500):
        parts = b""
        for _ in range(random.randrange(1, 4)):
            headers = "\r\n".join({one.partition(":")[0]: one for one in random.choices(HEADERS, k=2)}.values())
            parts += f"--b\r\n{headers}\r\n\r\n{random.choice(WORDS)}\r\n{random.choice(WORDS)}\r\n".encode()
        parts = re.sub(rb"(?<=[^\r\n])\r\n(?=[^\r\n])", lambda _: random.choice((b"\r\n",) * 20 + (b"\r",)), parts)
        yield b"From: bob@mail.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" + parts + b"--b--\r\n"


def test_the_same_text_of_several_parts() -> None:
    several = 0
    for raw in letters():
        letter = read_letter(raw)
        several += letter.several
        assert clean(text_of(entity(raw))).rstrip() == clean(letter.text or "").rstrip(), raw
        first, second = (
            [clean(one).rstrip() for one in texts] for texts in (letter.texts, texts_in([*parts_of(entity(raw))]))
        )
        assert first == second, raw
    assert several > 50


@pytest.mark.parametrize(
    "words",
    [
        *(f"enter t1 {'0' * 64} team {name}x" for name in ("İ", "\u212a", "\u017f", "\u0131")),
        *(f"substitute m1 {name} for bob" for name in ("İn", "\u212a", "\u017f")),
        *(f"substitute m1 carl for {name}" for name in ("İn", "\u212a", "\u017f")),
        *(f"block {name}" for name in ("İn", "\u212a", "\u017f")),
    ],
)
def test_the_same_names(words: str) -> None:
    """Lower case first: it makes two characters of one letter, and one of a to z of another."""
    first, second = parse(words).commands, read_commands(words)
    assert [(one.name, bool(one.faults)) for one in first] == [(one.name, one.fault) for one in second]


@pytest.mark.parametrize(
    "value",
    [
        "Bob <bob@mail.example>",
        '"Bob, B." <bob@mail.example>',
        "(=?utf-8?q?=28?=) <bob@mail.example>",
        "\\) <bob@mail.example>",
        "> Bob <bob@mail.example>",
        "<bob@mail.example>\x0b",
        "\u00a0bob@mail.example\u00a0",
        "bob@mail.example (Bob)",
        "Bob <bob@mail.example>, eve@mail.example",
        "bob@mail.example <bob@mail.example>",
        "=?utf-8?q?B?=bob@mail.example",
        "grp: bob@mail.example;",
        "bob@mail.example.",
        "(bob@mail.example",
        "Bob <bob@mail.example> x",
    ],
)
def test_the_same_author(value: str) -> None:
    raw = f"From: {value}\r\n\r\nGx3\r\n".encode()
    letter = read_letter(raw)
    assert author_of(entity(raw)) == ("" if letter.from_defect else letter.sender)


DKIM = "DKIM-Signature: v=1; a=rsa-sha256; d=mail.example; s=s1; h=from:to; bh=; b="
PASS = "mx.example; dkim=pass header.d=mail.example"


@pytest.mark.parametrize(
    ("counts", "others"),
    [
        (True, ["mx.example; spf=pass smtp.mailfrom=dkim=1@mail.example", PASS]),
        (True, ['mx.example; spf=pass smtp.mailfrom="a; dkim=fail"@mail.example', PASS]),
        (True, ["mx.example; spf=pass (dkim=none)", PASS]),
        (True, ["mx.example.evil.example; dkim=fail", PASS]),
        (True, ["MX.example 1; DKIM = pass header.d=mail.example"]),
        (True, ["mx.example (dkim=fail); dkim=pass (x; y) header.d=mail.example"]),
        (False, ["mx.example; dkim=fail", PASS]),
        (False, ["mx.example; spf=pass smtp.mailfrom=dkim=pass@mail.example"]),
        (False, ["mx.example; x=y (dkim=pass)"]),
        (False, ["mx.example 2; dkim=pass header.d=mail.example"]),
        (False, ["mx.example.evil.example; dkim=pass header.d=mail.example"]),
    ],
)
def test_the_same_word_of_a_server(others: list[str], *, counts: bool) -> None:
    """One header for each filter; a sender chooses the name in the return path, which another one repeats."""
    told = "".join(f"Authentication-Results: {one}\r\n" for one in others)
    raw = f"{told}{DKIM}{'A' * 171}=\r\nFrom: bob@mail.example\r\nTo: x@y.example\r\n\r\nGx3\r\n".encode()
    record = vouch(read_letter(raw), {}, "mx.example", datetime(2026, 3, 1, tzinfo=UTC)).told
    assert bool(record) is counts
    letter: Any = SimpleNamespace(message=entity(raw), raw=raw)
    for written in {record, *others} - {""}:
        try:
            server_vouched(letter, {"name": "mx.example", "record": written, "received": "2026-03-01T00:00:00Z"})
        except No:
            assert written != record
        else:
            assert written == record
