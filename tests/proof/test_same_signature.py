"""Both verifiers find the same signature in a letter that a key signed, wherever it is; each case once differed."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives import serialization
from in_a_box.referee import own_key
from msgspec.structs import replace
from signing.dresses import DRESSES, WAYS, by_ssh, part, several

from pbem import identity
from pbem.identity import parse_key
from pbem.mail.commands import parse
from pbem.mail.message import read_letter
from pbem.proof.normal_form import VOCABULARY, normal_text
from verifier.commands import read_commands
from verifier.conventions import No
from verifier.signature import Key, signed_text
from verifier.text import entity

if TYPE_CHECKING:
    from collections.abc import Callable

SSH = own_key("ann").public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
KEY = replace(parse_key(SSH.decode()), state="pinned")
PLACE = f"server play.example\nplayer ann\nprev {'ab' * 32}\nrev 1\n"
ORDERS = f"orders m1 turn 1\n{PLACE}Gx3 Gy3\nend\n".encode()
REMARK = ORDERS.replace(b"Gy3", b"Gy3 # it's -- well ...\n Gz3")
REMARKED = b"status: well\n" + ORDERS
RESIGN = f"resign m1 match\n{PLACE}game 1\n".encode()
ACCEPT = f"accept m1 {'cd' * 32}\n".encode()
WHOLE = ORDERS + by_ssh(ORDERS)


def mixed(*parts: bytes) -> bytes:
    return several("multipart/mixed", *parts)


def pasted(text: bytes, shown: Callable[[bytes], bytes]) -> bytes:
    return part(shown(text) + b"\n" + by_ssh(text))


def wrapped(text: bytes) -> bytes:
    return text.replace(b" cd", b"\ncd")


def typeset(text: bytes) -> bytes:
    return text.decode().replace("...", "\u2026").replace("--", "\u2014").replace("'", "\u2019").encode()


def softened(text: bytes) -> bytes:
    return text.replace(b"it's ", b"it's \n").replace(b"\n Gz3", b"\n  Gz3")


def in_one_line(text: bytes) -> bytes:
    return b" ".join(text.split())


def from_windows(text: bytes) -> bytes:
    """A file of Notepad, pasted into Outlook."""
    file = b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")
    return part(text.replace(b"play.example", b"play.example<http://play.example>") + by_ssh(file))


CASES = {
    "an ending in capitals": (
        mixed(part(ORDERS, "o.txt"), part(by_ssh(ORDERS), "o.txt.SIG", "application/octet-stream")),
        ORDERS,
    ),
    "a file before the text that repeats it": (
        mixed(part(WHOLE, "o.txt", "application/octet-stream"), part(WHOLE)),
        ORDERS,
    ),
    "a text with a name, and its file": (
        mixed(part(WHOLE, "o.txt"), part(WHOLE, kind="text/plain; name=a.txt")),
        ORDERS,
    ),
    "the same as an attachment without a name": (
        mixed(part(WHOLE), b"Content-Disposition: attachment\r\n" + part(WHOLE + b"x")),
        ORDERS,
    ),
    "a file that is a letter": (
        mixed(part(RESIGN, "o.txt", "message/rfc822"), part(by_ssh(RESIGN), "o.txt.sig", "text/plain")),
        RESIGN,
    ),
    "an agreement that was wrapped": (pasted(ACCEPT, wrapped), ACCEPT),
    "orders in one line": (pasted(ORDERS, in_one_line), ORDERS),
    "typographic marks": (pasted(REMARK, typeset), REMARK),
    "soft line ends": (pasted(REMARK, softened), REMARK),
    "stuffed lines": (pasted(REMARK, lambda text: b"\n".join(b" " + line for line in text.split(b"\n"))), REMARK),
    "below a greeting, from a line that begins like a command": (
        part(b"Hello\n\n" + REMARKED + by_ssh(REMARKED)),
        REMARKED,
    ),
    "a file that says it has parts, and has none": (part(WHOLE, "o.txt", "multipart/mixed"), ORDERS),
    "parts without a boundary": (part(WHOLE + b"-- \n", "o.txt", "multipart/mixed; boundary="), ORDERS),
    "a sentence in one line": (pasted(RESIGN, in_one_line), RESIGN),
    "an empty block between empty lines": (
        pasted(ORDERS.replace(b"Gx3 Gy3", b""), lambda text: text.replace(b"\n\n", b"\n\n\n")),
        ORDERS.replace(b"Gx3 Gy3", b""),
    ),
    "a margin": (part(b"  " + (ORDERS + by_ssh(ORDERS).strip()).replace(b"\n", b"\n  ")), ORDERS),
    "a part without a name that says it is a signature": (mixed(part(WHOLE, kind="application/pgp-signature")), None),
    "two files": (mixed(part(WHOLE, "a.txt"), part(WHOLE, "b.txt")), None),
    "a key beside it": (mixed(part(WHOLE), part(b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n", "key.asc")), ORDERS),
}


def found_in(dressed: bytes) -> tuple[str | None, str | None]:
    """The signed text of a letter with this content, as each verifier finds it."""
    raw = b"From: ann@mail.example\r\nTo: pbem@play.example\r\n" + dressed
    verdict = identity.judge(read_letter(raw), [KEY], "play.example", words=VOCABULARY)
    match: Any = SimpleNamespace(server="play.example", open=[])
    second = None
    with contextlib.suppress(No):
        second = signed_text(entity(raw), Key(KEY.format, KEY.fingerprint, KEY.public), match)
    return normal_text(verdict) if verdict.kind == "valid" else None, second


@pytest.mark.parametrize("name", CASES)
def test_both_find_the_same_text(name: str) -> None:
    dressed, expected = CASES[name]
    first, second = found_in(dressed)
    assert first == second == (expected and expected.decode())


@pytest.mark.parametrize(
    "dressed",
    [
        from_windows(RESIGN),
        part(RESIGN + by_ssh(RESIGN + b"\r\n")),  # through a pipe
        WAYS["inline ssh"](DRESSES["no last line feed"](RESIGN)),
        WAYS["in_one_file ssh"](DRESSES["mixed line ends"](RESIGN)),
    ],
)
def test_both_read_the_same_sentence(dressed: bytes) -> None:
    first, second = found_in(dressed)
    assert first
    assert second
    assert [one.name for one in parse(first).commands] == [one.name for one in read_commands(second)] == ["resign"]
