"""6.1 From octets to text."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import TYPE_CHECKING, Any

from verifier.conventions import No, must

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Part:
    kind: str
    name: str
    attached: bool
    content: bytes
    text: str
    source: int
    """The entity that it was read from."""

    @property
    def file(self) -> str:
        """The content, as a file that bears no charset."""
        return self.content.decode("utf-8", "replace")


CHARSETS = (
    r"utf-(8|16|32).*|ascii|latin_1|iso8859.*|iso2022.*|cp\d+|koi8.*|mac-.*|gb.*|big5.*|shift_jis.*|euc_.*|hz|johab"
    r"|tis-620|kz1048|ptcp154"
)


def known_charset(charset: str | None) -> str:
    try:
        name = codecs.lookup(charset or "").name
    except LookupError:
        return ""
    return name if re.fullmatch(CHARSETS, name) else ""


def decoded(content: bytes, charset: str | None) -> str:
    known = known_charset(charset)
    if known not in {"", "ascii"}:
        try:
            return content.decode(known, "replace")
        except UnicodeError:
            return content.decode("cp1252", "replace")
    for one in ("utf-8", "cp1252"):
        try:
            return content.decode(one)
        except UnicodeError:
            continue
    return content.decode("cp1252", "replace")


class Entity(Message):
    """A letter, or a part of one; without a type it is text, in a digest, too."""

    def set_default_type(self, ctype: str) -> None:
        """Nothing has another type by default."""

    def get_content_type(self) -> str:
        """A letter within the letter has no parts."""
        kind = super().get_content_type()
        return "text/plain" if kind.startswith("message/") else kind

    def get_boundary(self, failobj: Any = None) -> Any:
        """An empty one is none."""
        return super().get_boundary() or failobj


def entity(raw: bytes) -> Message:
    """A letter with its parts; a part whose first line is no header, as it begins with a blank, has none."""
    raw = re.sub(rb"\r(?!\r*(?:\n|\Z))", LONE, raw)  # it ends no line
    starts = [rb"\A"]
    for mark in set(re.findall(rb'(?i)boundary="?([^"\r\n;]+)', raw)):
        delimiter = rb"^--" + re.escape(mark.rstrip()) + rb"[ \t]*(?:\r?\n)"
        raw = re.sub(rb"(?m)(" + delimiter + rb")(?=[ \t])", rb"\1\n", raw)
        starts.append(delimiter)
    for start in starts:  # a header may have blanks before its colon
        raw = re.sub(rb"(?m)" + start + HEADERS, lambda head: BLANKS.sub(rb"\1:", head[0]), raw)
    return message_from_bytes(raw, Entity)


LONE = b"\x0b\x0c\x0b"
"""A CR without LF."""
HEADERS = rb"(?:[!-9;-~]+[ \t]*:.*\n|[ \t].*\n|From .*\n)*"
BLANKS = re.compile(rb"(?m)^([!-9;-~]+)[ \t]+:")


def leaves(message: Message) -> Iterator[Message]:
    """Those of a forwarded letter are not the letter's. A multipart without a boundary is a leaf."""
    if message.get_content_maintype() != "multipart" or not message.is_multipart():
        yield message
        return
    for part in message.get_payload():
        assert isinstance(part, Message)
        yield from leaves(part)


def word(part: Message, name: str) -> str:
    """The first word of a header, in lower case, without parameters and comments."""
    return re.split(r"[;(\s]", str(part[name] or "").strip())[0].lower()


def undone(content: bytes, encoding: str) -> bytes:
    """Octets without their transfer encoding."""
    if encoding == "quoted-printable":
        return binascii.a2b_qp(re.sub(rb"=[ \t]+(?=\r?\n|\Z)", b"=", content))
    if encoding == "base64":  # its padding is foreign, too
        digits = re.sub(rb"[^A-Za-z0-9+/]", b"", content)
        digits = digits[: len(digits) - (len(digits) % 4 == 1)]
        return base64.b64decode(digits + b"=" * (-len(digits) % 4))
    return content


def parts_of(message: Message) -> Iterator[Part]:
    for part in leaves(message):
        encoding = word(part, "Content-Transfer-Encoding")
        del part["Content-Transfer-Encoding"]  # so that the octets come as they are
        content = part.get_payload(decode=True)
        content = content.replace(LONE, b"\r") if isinstance(content, bytes) else b""
        content = undone(content, encoding)
        kind = word(part, "Content-Type")
        kind = kind if re.fullmatch("[!-.0-~]+/[!-.0-~]+", kind) else "text/plain"
        names = (part.get_param("filename", "", "content-disposition"), part.get_param("name", ""))
        name = next(filter(None, map(collapse_rfc2231_value, names)), "").strip()
        attached = word(part, "Content-Disposition") == "attachment"
        text = decoded(content, part.get_content_charset()).removeprefix("\ufeff")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        yield Part(kind, name, attached, content, text, id(part))


def uncommented(value: str) -> str | None:
    """A header without its comments, and with one quote for each quoted string; None if one does not end."""
    bare, depth, quoted, escaped = "", 0, False, False
    for one in value:
        inside = quoted or depth > 0
        if escaped or (inside and one == "\\"):
            escaped = not escaped
        elif quoted:
            quoted = one != '"'
        elif depth or one == "(":
            depth += {"(": 1, ")": -1}.get(one, 0)
            bare += " "
        else:
            quoted = one == '"'
            bare += one
    return None if depth or quoted else bare


def author_of(message: Message) -> str:
    """The one plain address of the one From, in lower case; empty if there is none (RFC 5322 3.4)."""
    found = [str(value) for name, value in message.raw_items() if name.lower() == "from"]
    value = "".join(found).encode("ascii", "surrogateescape").decode("utf-8", "replace")
    bare = uncommented(re.sub("[\r\n]", "", value)) if len(found) == 1 else None
    address = PLAIN_FROM.fullmatch(bare or "")
    return (address[1] or address[2]).lower() if address else ""


ATOMS = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
PLAIN = rf"(?!=\?)(?=[^@]{{1,64}}@[^@<>\s]{{1,253}}(?:[>\s]|\Z)){ATOMS}@{LABEL}(?:\.{LABEL})*"
PLAIN_FROM = re.compile(rf"[^<@,;:]*<\s*({PLAIN})\s*>\s*|\s*({PLAIN})\s*")


def unbase64(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise No("no base64") from error


def of_ssh(text: str) -> bytes:
    """The octets of SSH's base64, which has one form."""
    octets = unbase64(text)
    must(base64.b64encode(octets).decode() == "".join(text.split()), "base64 in another form")
    return octets


INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
LINE_END = re.compile("\r\n|[\r\n\x0b\x0c\x85\u2028\u2029]")


NAME = r"(?:mailto:|https?://)?([!-+\--:=?-~]{1,320}?)/?"
TO = r"(?:mailto:|https?://)"
LINKED = re.compile(
    rf"(?<![^\s,;])(?:({NAME})(?: |(\n))?<(?:{TO}|(?=[^\s<>]*@))\2/?>|\[({NAME})\]\({TO}\5/?\))(?![^\s,;.:])",
    re.IGNORECASE | re.ASCII,
)


def visible(text: str) -> str:
    """White space is blanks and LF, and nothing is invisible."""
    text = INVISIBLE.sub("", LINE_END.sub("\n", text))
    return "\n".join(re.sub(r"\s", " ", line) for line in text.split("\n"))


def unlinked(text: str) -> str:
    """Without the links that repeat names, and the line ends before them."""
    return LINKED.sub(r"\1\4", text)


def plain(text: str) -> str:
    """A text as commands are read from it."""
    return LINKED.sub(r"\1\3\4", visible(text))


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def clean(text: str) -> str:
    return trimmed(plain(text))
