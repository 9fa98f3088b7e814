"""Letters without a key that say the same under whatever encoding, as few domains sign by which one to read them.

DKIM covers the body, and of the headers those that the domain chose: many choose neither Content-Type nor
Content-Transfer-Encoding. Whoever has such a letter can add or change them, so that a line end appears within a
quote, or a part of it, the source of its HTML, is read as plain text. Implements docs/bundle.md, 6.6.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from pbem.mail.commands import clean, own_text
from pbem.mail.message import decoded, unencoded

if TYPE_CHECKING:
    from pbem.mail.message import Part

_BOUNDARY = re.compile(r"(?=.*[A-Za-z0-9])\S+")
"""A boundary that is no line of a text, such as the one above an answered letter."""
_TAG = re.compile(rb"<[!/]?[A-Za-z][A-Za-z0-9]*[\s/>]")
"""The source of a page, in which no quote bears marks; no address or link matches."""
_IN_PARTS = re.compile(rb"^--\S+[ \t]*\r?\n[!-9;-~]+:", re.M)
_BEYOND_ASCII = re.compile(r"[^\n -~]+")


def is_open(letter: Part) -> bool:
    """True if other headers Content-Type and Content-Transfer-Encoding could make others' words the writer's own."""
    body, boundary = letter.body, letter.parameters.get("boundary", "").rstrip(" ")
    if letter.is_multipart:
        first = body.partition(b"\n")[0].rstrip(b" \t\r")
        return not _BOUNDARY.fullmatch(boundary) or first != f"--{boundary}".encode("utf-8", "surrogateescape")
    undone = (unencoded(body, encoding) for encoding in {"", "quoted-printable", letter.encoding})
    if any(map(_TAG.search, undone)) or _IN_PARTS.search(body):
        return True
    if _words(own_text(letter.text)) != _words(own_text(decoded(letter.content, ""))):
        return True
    return any(_moves_quotes(body, encoding) for encoding in {"quoted-printable", letter.encoding})


def _moves_quotes(body: bytes, encoding: str) -> bool:
    """True if other words are left when quotes are left out before the encoding is undone, and not after that."""
    own = decoded(unencoded(own_text(decoded(body, "")).encode(), encoding), "")
    if encoding == "base64":  # whose lines bear no marks
        own = own_text(own)
    lines = takewhile(lambda line: line.rstrip() != "--", clean(own).split("\n"))
    return _words("\n".join(lines)) != _words(own_text(decoded(unencoded(body, encoding), "")))


def _words(text: str) -> list[str]:
    return _BEYOND_ASCII.sub("?", text).split()
