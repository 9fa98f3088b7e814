"""6.1 and 6.6: from octets to text, and quotes without marks."""

from __future__ import annotations

import base64
import binascii
import codecs
import contextlib
import itertools
import re
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import TYPE_CHECKING, Any

from verifier.conventions import No, must

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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


def decoded(content: bytes, charset: str | None) -> str:
    known = ""
    with contextlib.suppress(LookupError):
        known = codecs.lookup(charset or "").name
    if known != "ascii" and re.fullmatch(CHARSETS, known):
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


def string(octets: bytes) -> bytes:
    return len(octets).to_bytes(4, "big") + octets


def first(blob: bytes) -> tuple[bytes, bytes]:
    length = int.from_bytes(blob[:4], "big")
    must(len(blob) >= 4 + length, "a cut string")
    return blob[4 : 4 + length], blob[4 + length :]


def strings(blob: bytes) -> list[bytes]:
    found = []
    while blob:
        one, blob = first(blob)
        found.append(one)
    return found


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


def plain(text: str) -> str:
    """A text as commands are read from it."""
    return LINKED.sub(r"\1\3\4", visible(text))


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


DASH = "\u2010\u2011\u2012\u2013\u2014\u2015-"
SAYS = (
    "original( |-)?message|original( |-)?nachricht|(ursprüngliche|urspruengliche) nachricht|forwarded message"
    "|weitergeleitete nachricht"
)
SEPARATOR = re.compile(
    f"[{DASH}][{DASH}]+ ?({SAYS}) ?[{DASH}][{DASH}]+"
    "|begin forwarded message:|anfang der weitergeleiteten (nachricht|e-mail):",
    re.IGNORECASE,
)
RULE = re.compile(f"[_{DASH}]{{5,}}")
FIELD = re.compile(r"[*_]{0,2}([a-z]+)[*_]{0,2} ?:", re.IGNORECASE)
NAMED = re.compile(r"(\| )?[*_]{0,2}[^\W\d_][^|:\uff1a<>@]{0,40}[:\uff1a|].*")
KINDS = {"from": 1, "von": 1, "sent": 2, "date": 2, "gesendet": 2, "datum": 2}
KINDS |= {"to": 3, "an": 3, "subject": 3, "betreff": 3}
MAILBOX = "[^:<>]*<[^<>@ ]+@[^<>@ ]+>"
TIME = re.compile(r"\b[0-9]{1,2}:[0-9]{2}\b")


def marked(text: str) -> str:
    """A clean text whose quotes all have their marks."""
    lines = text.split("\n")
    done: list[str] = []
    level, above = "", False
    while lines:
        count = header(lines)
        here, rest = level, lines[count:]
        if not count:
            above = above or not (quoted(lines[0]) or lines[0].isspace() or not lines[0])
            count = 1
        elif marks_tell(rest, above=above and begun(lines) > 0):
            here += ">"
        else:
            here = level = level + ">"
            count += next((at for at, line in enumerate(rest) if not line.strip()), len(rest))
        done += [f"{here} {line}" if here else line for line in lines[:count]]
        lines = lines[count:]
    return "\n".join(done)


def marks_tell(rest: Sequence[str], *, above: bool) -> bool:
    """True if the lines below a header bear marks, and are not just what our answer repeats."""
    said = [line.strip("> ") for line in itertools.takewhile(lambda line: quoted(line) or not line.strip(), rest)]
    last = max((at for at, line in enumerate(said) if line), default=-1)
    return last >= 0 and (not above or "" in said[:last])


def quoted(line: str) -> bool:
    return line.lstrip(" ").startswith(">")


def header(lines: Sequence[str]) -> int:
    """The number of lines of a header that begins here, with the empty ones below it; 0 if none does."""
    at = 0
    while at < len(lines):
        more = begun(lines[at:]) or (1 if at and kind(lines[at]) else 0) or introduced(lines[at:])
        if not more:
            break
        at += more
        while at < len(lines) and not lines[at].strip():
            at += 1
    return at


def kind(line: str) -> int:
    found = FIELD.match(line.strip())
    return KINDS.get(found[1].casefold(), 0) if found else 0


def begun(lines: Sequence[str]) -> int:
    first = lines[0].strip()
    if not first or quoted(first):
        return 0
    if SEPARATOR.fullmatch(first) or is_block(lines) or (RULE.fullmatch(first) and is_block(below(lines[1:]))):
        return 1
    said = next((said for said in beginnings(lines) if is_attribution(said)), [])
    if not said and len(first) > 4 and all(one in f"_{DASH}" for one in first[:3] + first[-3:]):
        return min(named(below(lines[1:])), 1)
    return len(said) or named(lines)


def named(lines: Sequence[str]) -> int:
    """The number of fields in any language that begin here; the first has an address, another a time."""
    fields = [line.strip() for line in itertools.takewhile(lambda line: NAMED.fullmatch(line.strip()), lines[:6])]
    if len(fields) < 3 or "@" not in fields[0]:
        return 0
    return len(fields) if any(re.search(r"\d[:.]\d\d|\d{4}", line) for line in fields[1:]) else 0


def introduced(lines: Sequence[str]) -> int:
    found = (len(said) for said in beginnings(lines) if introduces(said, below(lines[len(said) :])))
    return next(found, 0)


def beginnings(lines: Sequence[str]) -> Iterator[list[str]]:
    """The first one, two and three lines, as far as none is empty or marked."""
    for count in (1, 2, 3):
        said = [line.strip() for line in lines[:count]]
        if len(said) < count or "" in said or any(map(quoted, said)):
            return
        yield said


def below(lines: Sequence[str]) -> Sequence[str]:
    """The lines from the first that is not empty."""
    return lines[next((at for at, line in enumerate(lines) if line.strip()), len(lines)) :]


def is_block(lines: Sequence[str]) -> bool:
    if not lines or not kind(lines[0]):
        return False
    found: list[int] = []
    for line in lines:
        if quoted(line) or len(found) == 6:
            break
        found += [kind(line)] if line.strip() else []
    return {1, 2, 3} <= {*found}


def is_attribution(said: Sequence[str]) -> bool:
    text = " ".join(said)
    if len(text) > 500 or not re.search(r"\d[:.]\d\d|\d{4}", text):
        return False
    wrote = re.search(r"(?i)\b(wrote|schrieb|geschrieben)\b", text)
    if re.match("(?i)(on|am) ", said[0]) and wrote and re.match(r"[^:]*:( |\Z)", text[wrote.end() :]):
        return True
    return bool(re.match(MAILBOX, said[0]) and re.fullmatch(rf"(?i){MAILBOX} (wrote|schrieb)\b.*:", text))


def introduces(said: Sequence[str], following: Sequence[str]) -> bool:
    if said[-1][-1] not in ":\uff1a" or not following or not quoted(following[0]):
        return False
    return len(said) == 1 or [bool(TIME.search(line)) for line in said] == [True] + [False] * (len(said) - 1)
