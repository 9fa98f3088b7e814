"""Both verifiers read the same in an unsigned letter, whatever its parts and words are; each case once differed."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from vectors.make import good

from pbem.identity.sender_auth import vouch
from pbem.mail.commands import clean, holds_commands, parse
from pbem.mail.message import read_letter
from pbem.mail.quotes import marked as marked_by_first
from pbem.match.changed import replace
from pbem.match.transcript_replay import begin, replay_transcript
from pbem.proof import one_letter
from pbem.proof.signed_letters import BundleLetters
from verifier.commands import holds_commands as held
from verifier.commands import read_commands, text_of, texts_in
from verifier.conventions import No
from verifier.letters import whole
from verifier.mailbox import server_vouched
from verifier.one_letter import Place, given
from verifier.text import author_of, entity, marked, parts_of, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = (
    "Gx3 Gy4",
    "yes",
    "help",
    "stop",
    "new idea here",
    "new spaceships",
    "block him please",
    "confirm this letter",
    "orders m1 turn 1\nGx3\nend",
    "end.",
    "end;",
    "> help",
    "> Gx3",
    "status",
    "status m\u0661",
    "12:30",
    "m",
    "key add",
    "resign",
    "resign game 1",
    " --",
    "--",
    "vacation 2026-01-01 to 2026-01-03",
    "claim m1",
    "draw m1 offer",
    "challenge end",
    "server",
    "rev 1",
    "accept m1 deadbeef",
    "İn",
    "\u017fent: x",
    "From: x",
    "To: y",
    "Subject: z",
    "Date: 1",
    "On 1 March 2026, 12:00 x wrote:",
    "On 1 March 2026",
    "x <x@y.example> wrote on 1 March at 12:00:",
    "clear default",
    "x:",
    "",
    "",
    "\u00a0",
    "\ufeff",
    "-- Original message --",
    "final",
    "rules are",
)
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
    for _ in range(1500):
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


@pytest.mark.parametrize("phase", ["proposed", "setup", "playing"])
def test_the_same_commands_and_what_is_given_without_one(phase: str) -> None:
    found = good("one-letter")
    match = begin(found.entries[0])
    if phase != "proposed":
        match = replay_transcript(found.entries, BundleLetters(found.papers), until=1 if phase == "setup" else 2)
    match = replace(match, phase=phase, replies="0" * 64)
    prev = match.rules_hash if phase == "proposed" else match.prev
    here = Place(match.server, match.id, phase, match.game, match.turn, prev, match.name(2), 2, 1, match.replies)
    random = Random(phase)
    count = 0
    for _ in range(4000):
        text = "".join(random.choice(WORDS) + random.choice(" \n\n\n") for _ in range(random.randrange(1, 9)))
        assert marked(plain(text)) == marked_by_first(clean(text)), repr(text)
        reading, commands = parse(text, signed=False), read_commands(text, signed=False)
        assert holds_commands(text) == held(text), repr(text)
        if commands:
            named = [(one.name, bool(one.faults)) for one in reading.commands]
            assert named == [(one.name, one.fault) for one in commands], repr(text)
        if any(map(whole, commands)) or not reading.short:
            continue
        first = dict(one_letter.counting(match, 2, 1, f"m1.{here.token}", [text])).get(text)
        second = given(here, plain(text))
        assert (first and first.name) == (second and second.name), repr(text)
        assert first is None or second is None or (first.block or "") == second.block, repr(text)
        count += first is not None
    assert count > 300 or phase == "proposed"


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
