"""Letters that programs read in different ways: why a signed MIME entity is not accepted, or a letter without a key.

Who wrote such an entity can show one text to the server and another to whoever reads it with a mail program, and deny
either; so on arrival nothing about a part may be in doubt (`doubt`). DKIM covers few headers in many letters: whoever
has one can add Content-Type or Content-Transfer-Encoding, so that a line end appears within a quote, or the source of
its HTML is read as plain text (`is_open`). Implements protocol.md, "Identity", and docs/bundle.md, 6.6.
"""

from __future__ import annotations

import binascii
import re
from itertools import takewhile
from typing import TYPE_CHECKING

from pbem.mail.commands import clean, own_text, parse
from pbem.mail.message import PARAMETERS, decoded, unencoded
from pbem.phrase import Phrase
from pbem.structured_header import ONCE, is_repeated

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from pbem.mail.message import Part


_KINDS = ("content-type", "content-transfer-encoding", "content-disposition")
_ENCODINGS = frozenset({"", "7bit", "8bit", "binary", "quoted-printable", "base64"})
_DISPOSITIONS = frozenset({"", "inline", "attachment"})  # RFC 2183 2.8: any other is an attachment, and shown by some

_WORD = r"[!#-'*+.0-9A-Z^-~-]++"  # RFC 2045 5.1
_PARAMETER = rf';[ \t]*+({_WORD})[ \t]*+=[ \t]*+("(?:[^"\\]|\\.)*+"|[^\s;"]++)'
_FIELD = rf"{_WORD}(?:/{_WORD})?(?:[ \t]*+{_PARAMETER})*+[ \t]*+;?[ \t]*+"
_READ_BY = frozenset({"charset", "boundary"})
"""Parameters that decide how a part is read: RFC 2231 lets no program decode or continue them."""

_NO_HEADER = re.compile(rb"(?m)^(?![!-9;-~]++:|[ \t]++[^ \t\r\n]|\r?$)")
"""A line of headers that other programs skip, or at which they end: a blank one, or with blanks before its colon."""
_ENDED = re.compile(rb"(?:\A|\n)\r?\n\Z")
_BROKEN = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*+(?:\r?\n|\Z))")


def doubt(entity: Part) -> Phrase | None:
    """The reason why programs may read a signed MIME entity in different ways, or None."""
    # One by one: where headers are malformed, what reads them would find nothing true, and it may take long.
    causes = (cause for part in entity.walk() for look in (_in_headers, _in_content) for cause in look(part))
    cause = next(causes, None)
    if cause is None:
        return None
    return Phrase("Programs may read this signed letter in different ways: {cause}. Send plain text.", cause=cause)


def _in_headers(part: Part) -> Iterator[Phrase]:
    head = part.raw[: len(part.raw) - len(part.body)]
    if _NO_HEADER.search(head) or (part.body and not _ENDED.search(head)):
        yield Phrase("its headers are malformed")
    if is_repeated(part.headers, (*ONCE, *_KINDS)):
        yield Phrase("one of its headers is there twice")
    for name in _KINDS:
        if not all(_is_plain(name, value) for value in part.values(name)):
            yield Phrase("its header {name} is malformed", name=name.title())


def _in_content(part: Part) -> Iterator[Phrase]:
    # Programs guess at unknown encodings, and repair damage in different ways.
    if part.encoding not in _ENCODINGS or part.disposition not in _DISPOSITIONS or _is_damaged(part):
        yield Phrase("a part of it is damaged, or encoded in an unknown way")
    if part.content_type.startswith("text/") and not part.is_in_known_charset:
        yield Phrase("its character set is unknown")
    if part.parameters.get("delsp", "").lower() == "yes" and re.search(r"(?m)(?<!^--) $", part.text):
        yield Phrase("its lines are joined in a way that few programs know (`DelSp`)")
    if part.is_multipart and not _is_cut_cleanly(part):
        yield Phrase("its parts are not clearly separated")
    # Each reader shows only one of the alternatives.
    if part.content_type == "multipart/alternative" and len(set(map(_asked, part.children))) > 1:
        yield Phrase("as plain text it says something else than as HTML")


def _is_plain(name: str, value: str) -> bool:
    """Return whether a header has one word, without comments, and parameters, each once (RFC 2045 5.1)."""
    if len(value) > PARAMETERS or not re.fullmatch(_FIELD, value):
        return False
    if ("/" in value.partition(";")[0]) != (name == "content-type"):
        return False
    names = [parameter.lower() for parameter, _ in re.findall(_PARAMETER, value)]
    return len(set(names)) == len(names) and not any(f"{one}*" in name for name in names for one in _READ_BY)


def _is_damaged(part: Part) -> bool:
    if part.encoding == "quoted-printable":
        return part.is_multipart or _BROKEN.search(part.body) is not None
    if part.encoding != "base64":
        return False
    try:
        # Our reader skips foreign octets and reads on behind the padding; others stop there.
        binascii.a2b_base64(re.sub(rb"[ \t\r\n]++", b"", part.body), strict_mode=True)
    except binascii.Error:
        return True
    return False


def _is_cut_cleanly(part: Part) -> bool:
    """Return whether each line that begins like a delimiter is one, and the last one ends the parts (RFC 2046 5.1.1).

    So no boundary is used again within, nor is one the beginning of another.
    """
    delimiter = f"--{part.parameters.get('boundary', '').rstrip(' ')}".encode("utf-8", "surrogateescape")
    lines = (line for line in part.body.split(b"\n") if line.startswith(delimiter))
    rests = [line[len(delimiter) :].rstrip(b" \t\r") for line in lines]
    return len(rests) > 1 and rests[-1] == b"--" and not any(rests[:-1])


def _asked(part: Part) -> Hashable:
    """The commands of one of several alternative parts; None if it is no text that we can read."""
    kinds = {"text/plain", "text/html"}
    shown = (leaf for leaf in part.walk() if leaf.content_type in kinds and leaf.disposition != "attachment")
    leaf = next(shown, None)
    if leaf is None:
        return None
    text = leaf.text
    if leaf.content_type == "text/html":
        from pbem.mail.html import own_words

        text = own_words(text)
    reading = parse(text)
    # Where there are comments, line ends say which words count.
    lines = ((one.block or "").split("\n") if "#" in (one.block or "") else () for one in reading.commands)
    blocks = [tuple(tuple(line.split()) for line in block if line.strip()) for block in lines]
    return (reading.optout, tuple(one.same for one in reading.commands), tuple(blocks))


_BOUNDARY = re.compile(r"(?=.*[A-Za-z0-9])\S+")
"""A boundary that is no line of a text, such as the one above an answered letter."""
_PREAMBLE = re.compile(
    rb"\A(?:(?:This is an? [A-Za-z/ -]{9,30} message (?:in MIME format\.|\(RFC 4880 and 3156\)))?\r?\n)*+"
)
"""The lines that mail programs write above the first part, in which no answer begins."""
_TAG = re.compile(rb"<[!/]?[A-Za-z][A-Za-z0-9]*[\s/>]")
"""The source of a page, in which no quote bears marks; no address or link matches."""
_IN_PARTS = re.compile(rb"^--\S+[ \t]*\r?\n[!-9;-~]+:", re.M)
_BEYOND_ASCII = re.compile(r"[^\n -~]+")


def is_open(letter: Part) -> bool:
    """True if other headers Content-Type and Content-Transfer-Encoding could make others' words the writer's own."""
    body, boundary = letter.body, letter.parameters.get("boundary", "").rstrip(" ")
    if letter.is_multipart:
        first = _PREAMBLE.sub(b"", body).partition(b"\n")[0].rstrip(b" \t\r")
        return not _BOUNDARY.fullmatch(boundary) or first != f"--{boundary}".encode("utf-8", "surrogateescape")
    encodings = {"quoted-printable", letter.encoding}
    if any(_TAG.search(unencoded(body, encoding)) for encoding in {"", *encodings}) or _IN_PARTS.search(body):
        return True
    if _words(own_text(letter.text)) != _words(own_text(decoded(letter.content))):
        return True
    return any(_moves_quotes(body, encoding) for encoding in encodings)


def _moves_quotes(body: bytes, encoding: str) -> bool:
    """True if other words are left when quotes are left out before the encoding is undone, and not after that."""
    own = decoded(unencoded(own_text(decoded(body)).encode(), encoding))
    if encoding == "base64":  # whose lines bear no marks
        own = own_text(own)
    lines = takewhile(lambda line: line.rstrip() != "--", clean(own).split("\n"))
    return _words("\n".join(lines)) != _words(own_text(decoded(unencoded(body, encoding))))


def _words(text: str) -> list[str]:
    return _BEYOND_ASCII.sub("?", text).split()
