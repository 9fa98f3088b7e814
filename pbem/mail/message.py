"""Letters in: from received bytes to a `Letter`, safely.

The MIME parts are cut here once, with the very bytes that were received, and the texts of which one is read for
commands are chosen here, so that no letter can be read in one way and verified in another. The email package is used
only for what it does in linear time. Implements reliability.md, "Ground facts", "Limits" and cases 16, 17 and 28b.
"""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Mapping
from email.message import Message
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from pbem.config.limits import Limits
from pbem.mail.commands import holds_commands
from pbem.mail.mail_addresses import ADDRESSED, ADDRESSES, author
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_ENDS = "\n\v\f\x85\u2028\u2029"
"""Ends of lines, for the command language, too; CR was brought to LF."""

PARAMETERS = 2000  # octets of a header whose parameters are read: the email package's splitter is quadratic
_TYPE = re.compile(r"[!-.0-~]+/[!-.0-~]+")
MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,900}>")
ENCODED_WORD = re.compile(r"=\?([A-Za-z0-9_.:-]{1,40})(?:\*[A-Za-z0-9-]{0,20})?\?([BbQq])\?([!->@-~ ]*)\?=")
BETWEEN_WORDS = re.compile(r"(\?=)[ \t\r\n]+(?==\?)")
# Codecs that map bytes to text in linear time; the others of Python's (punycode, unicode_escape, hex …) do not.
CHARSETS = re.compile(
    r"utf-(8|8-sig|16|16-le|16-be|32|32-le|32-be)|ascii|latin_1|iso8859-\d+|iso2022_\w+|cp\d+|koi8-\w|mac-\w+"
    r"|gb2312|gbk|gb18030|big5|big5hkscs|shift_jis\w*|euc_\w+|hz|johab|tis-620|kz1048|ptcp154"
)


class Unreadable(Exception):
    """A letter beyond the limits; `letter` has its headers, or as many of them as the limits allow."""

    def __init__(self, reason: Phrase, letter: Letter) -> None:
        super().__init__(reason)
        self.reason = reason
        self.letter = letter


class _ExceededError(Exception):
    """A limit that a letter exceeds."""

    def __init__(self, reason: Phrase) -> None:
        super().__init__(reason)
        self.reason = reason


class Part(msgspec.Struct, frozen=True):
    """One MIME entity, the whole letter or a part of it, at any depth."""

    raw: bytes
    """The very bytes received, own headers included, without the line end that belongs to the delimiter."""
    body: bytes
    """The end of `raw` that follows the empty line, still encoded."""
    headers: tuple[tuple[str, str], ...]
    content_type: str
    """Type and subtype in lower case; text/plain when absent or malformed."""
    parameters: Mapping[str, str]
    """Those of Content-Type, by lower-case names."""
    disposition: str
    filename: str | None
    encoding: str
    children: tuple[Part, ...] = ()

    @property
    def is_multipart(self) -> bool:
        """True if this is a container, with or without parts in it."""
        return self.content_type.startswith("multipart/")

    @property
    def content(self) -> bytes:
        """The body with its transfer encoding undone; damaged encodings give what can be read of them."""
        return unencoded(self.body, self.encoding)

    @property
    def text(self) -> str:
        """The content as text, each line end one line feed, without a byte order mark."""
        text = decoded(self.content, self.parameters.get("charset", ""))
        return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")

    @property
    def unaltered(self) -> str | None:
        """The content as text with its own line ends; None if it is not text in the declared charset."""
        name = _codec(self.parameters.get("charset", ""))
        try:
            return self.content.decode("utf-8" if name in {None, "ascii"} else name)
        except ValueError:
            return None

    @property
    def is_in_known_charset(self) -> bool:
        """True if the declared charset is one that we read as it says; none is UTF-8."""
        charset = self.parameters.get("charset", "")
        return not charset or _codec(charset) is not None

    def walk(self) -> Iterator[Part]:
        """The part itself and all below it, in the order in which they stand."""
        yield self
        for child in self.children:
            yield from child.walk()

    def values(self, name: str) -> list[str]:
        """The values of all headers of this name, unfolded, encoded words left as they are."""
        name = name.lower()
        return [value for key, value in self.headers if key == name]


class Letter(msgspec.Struct, frozen=True):
    """A received letter, decoded as far as possible; nothing in it is true just because it is written there."""

    raw: bytes
    root: Part
    sender: str | None
    """The one address of the one From (its domain in lower case). With a `from_defect`, the only address that From
    can mean, or None."""
    from_defect: str | None
    """The fault of a From that is none by RFC 5322: then only a key can show who wrote the letter."""
    message_id: str | None
    in_reply_to: tuple[str, ...]
    references: tuple[str, ...]
    subject: str
    recipients: tuple[str, ...]
    """All addresses in To, Cc, Delivered-To and X-Original-To, in lower case."""
    hops: int
    """Number of Received headers."""
    texts: tuple[str, ...]
    """The text that alone holds commands, or all if none does: what counts then depends on what is due."""
    several: bool = False
    """True if several texts would count: then none of them does, and `texts` is empty."""

    @property
    def text(self) -> str | None:
        """The text that is read for commands where nothing else decides; empty if `several` would count."""
        return next(iter(self.texts), "" if self.several else None)

    @property
    def plain(self) -> Part | None:
        """The text/plain part that is read for commands."""
        return next((part for part in self.shown_texts if part.text == self.text), None)

    @property
    def shown_texts(self) -> tuple[Part, ...]:
        """The text/plain parts that are no attachments, in the order in which they stand."""
        return tuple(_texts(self.root))

    @property
    def html(self) -> Part | None:
        """The first text/html part that is not an attachment, if there is no text beside it."""
        if self.several or (self.text or "").strip():
            return None
        return next((part for part in _shown(self.root) if part.content_type == "text/html"), None)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The leaf parts in the order in which they stand."""
        return tuple(part for part in self.root.walk() if not part.children)

    @property
    def is_encrypted(self) -> bool:
        """True if it is PGP/MIME (RFC 3156 4) or S/MIME (RFC 8551 3.3) that only its reader can decrypt."""
        if any(part.content_type == "application/pgp-encrypted" for part in self.parts):
            return True
        is_smime = self.root.content_type in {"application/pkcs7-mime", "application/x-pkcs7-mime"}
        return is_smime and self.root.parameters.get("smime-type") == "enveloped-data"

    def values(self, name: str) -> list[str]:
        """The values of all headers of this name."""
        return self.root.values(name)


def read_letter(raw: bytes, limits: Limits | None = None) -> Letter:
    """Read a letter; raises `Unreadable` beyond the limits, and nothing else, whatever the bytes."""
    limits = limits or Limits()
    try:
        if len(raw) > limits.message_bytes:
            raise _ExceededError(Phrase("more than {message_bytes} octets", message_bytes=limits.message_bytes))
        if raw.count(b"\n") > limits.message_lines:
            raise _ExceededError(Phrase("more than {message_lines} lines", message_lines=limits.message_lines))
        if len(raw) > limits.line_bytes and max(map(len, raw.split(b"\n"))) > limits.line_bytes:
            raise _ExceededError(Phrase("a line of more than {line_bytes} octets", line_bytes=limits.line_bytes))
        whole = _part(raw)
        _check_head(whole, limits)
        if len(whole.headers) > limits.headers:
            raise _ExceededError(Phrase("more than {headers} headers", headers=limits.headers))
    except _ExceededError as error:
        # As many headers as the limits allow: they say whom to answer.
        head = _part(raw[: limits.header_bytes])
        head = msgspec.structs.replace(head, headers=head.headers[: limits.headers])
        raise Unreadable(error.reason, _letter(head)) from None
    try:
        return _letter(_tree(whole, limits, 1, [0]))
    except _ExceededError as error:
        raise Unreadable(error.reason, _letter(whole)) from None


def received(raw: bytes, limits: Limits) -> Letter:
    """Read a letter that just came; also raises `Unreadable` for excess that an encoding hides.

    Letters accepted before are read by `read_letter`, whatever the limits are today.
    """
    letter = read_letter(raw, limits)
    if fault := _hidden(letter, limits):
        raise Unreadable(fault, _letter(_part(raw)))
    return letter


def _hidden(letter: Letter, limits: Limits) -> Phrase | None:
    """The limit that the letter exceeds once its encodings are undone, if any."""
    text = letter.text or ""
    lines = 0
    for part in letter.parts:
        if not part.content_type.startswith("text/"):
            continue
        content = part.content
        lines += content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")
        if part.encoding in {"base64", "quoted-printable"}:
            longest = max(map(len, content.replace(b"\r", b"\n").split(b"\n")))
            if longest > limits.line_bytes:
                return Phrase("a line of more than {line_bytes} octets", line_bytes=limits.line_bytes)
    if max(lines, sum(map(text.count, LINE_ENDS))) > limits.message_lines:
        return Phrase("more than {message_lines} lines", message_lines=limits.message_lines)
    return None


def decoded(data: bytes, charset: str = "") -> str:
    """Bytes as text, whatever they claim to be: an unknown or wrong charset costs characters, never an exception."""
    name = _codec(charset) or "ascii"
    if name in {"ascii", "utf-8"}:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return data.decode("utf-8" if name == "utf-8" else "cp1252", errors="replace")
    return data.decode(name, errors="replace")


def _check_head(part: Part, limits: Limits) -> None:
    if len(part.raw) - len(part.body) > limits.header_bytes:
        raise _ExceededError(Phrase("more than {header_bytes} octets of headers", header_bytes=limits.header_bytes))


def _tree(part: Part, limits: Limits, depth: int, count: list[int]) -> Part:
    """Cut an entity into its parts; `count` is the number of those cut so far."""
    count[0] += 1
    if count[0] > limits.parts:
        raise _ExceededError(Phrase("more than {parts} parts", parts=limits.parts))
    boundary = part.parameters.get("boundary", "").rstrip(" ")
    if not part.is_multipart or not boundary:
        return part
    if depth >= limits.depth:
        raise _ExceededError(Phrase("parts nested deeper than {depth}", depth=limits.depth))
    _check_head(part, limits)
    pieces = _pieces(part.body, boundary.encode("utf-8", "surrogateescape"))
    children = tuple(_tree(_part(piece), limits, depth + 1, count) for piece in pieces)
    return msgspec.structs.replace(part, children=children)


def _pieces(body: bytes, boundary: bytes) -> list[bytes]:
    """The bytes between the delimiter lines (RFC 2046 5.1.1); without a closing one the last runs to the end."""
    delimiter = b"--" + boundary
    pieces: list[bytes] = []
    start: int | None = None
    position = 0
    while position < len(body):
        end = body.find(b"\n", position) + 1 or len(body)
        if body.startswith(delimiter, position):
            rest = body[position + len(delimiter) : end].rstrip(b" \t\r\n")
            if rest in {b"", b"--"}:
                if start is not None:  # the one line end before the delimiter belongs to it
                    piece = body[start:position]
                    pieces.append(piece[:-2] if piece.endswith(b"\r\n") else piece.removesuffix(b"\n"))
                if rest:
                    return pieces
                start = end
        position = end
    if start is not None:
        pieces.append(body[start:])
    return pieces


_FIRST_LINE = re.compile(rb"[!-9;-~]++[ \t]*+:|From ")  # as a header, or as in an mbox
_LAST_HEADER = re.compile(rb"\n(?![!-9;-~]++[ \t]*+:|[ \t])|\Z")
_EMPTY_LINE = re.compile(rb"\r*+(?:\n|\Z)")
_FIELD = re.compile(rb"^([!-9;-~]++)[ \t]*+:([^\n]*+(?:\n[ \t][^\n]*+)*)", re.MULTILINE)


def _part(raw: bytes) -> Part:
    """The entity of these octets, not cut yet."""
    # The body begins after the first empty line, or at the first line that cannot be a header.
    last = _LAST_HEADER.search(raw) if _FIRST_LINE.match(raw) else None
    at = last.end() if last else 0
    empty = _EMPTY_LINE.match(raw, at)
    start = empty.end() if empty else at
    # Lower-case names, unfolded values.
    headers = tuple(
        (
            name.decode("ascii").lower(),
            b"".join(line.rstrip(b"\r") for line in value.split(b"\n")).decode("utf-8", "replace").strip(" \t\r"),
        )
        for name, value in _FIELD.findall(raw[:start])
    )
    first = dict(reversed(headers))  # of each name
    kind, parameters = _parametrised(first.get("content-type", ""))
    disposition, details = _parametrised(first.get("content-disposition", ""))
    filename = (details.get("filename") or parameters.get("name") or "").strip()
    return Part(
        raw,
        raw[start:],
        headers,
        kind if _TYPE.fullmatch(kind) else "text/plain",
        parameters,
        disposition,
        (_words(filename) or filename) if filename else None,
        _word(first.get("content-transfer-encoding", "")),
    )


def _letter(root: Part) -> Letter:
    sender, defect = author(root.values("from"), root.raw[: len(root.raw) - len(root.body)])
    addressed = [value for name, value in root.headers if name in ADDRESSED]
    recipients = [address for value in addressed for address in ADDRESSES.findall(value)]
    texts, several = _spoken(root)
    first = dict(reversed(root.headers))
    ids = MESSAGE_ID.findall(first.get("message-id", ""))
    return Letter(
        raw=root.raw,
        root=root,
        sender=sender,
        from_defect=defect,
        message_id=ids[0] if ids else None,
        in_reply_to=tuple(MESSAGE_ID.findall(first.get("in-reply-to", ""))),
        references=tuple(MESSAGE_ID.findall(first.get("references", ""))),
        subject=_words(first.get("subject", "")),
        recipients=tuple(dict.fromkeys(address.lower().rstrip(".") for address in recipients)),
        hops=len(root.values("received")),
        texts=texts,
        several=several,
    )


def _shown(root: Part) -> Iterator[Part]:
    return (part for part in root.walk() if not part.children and part.disposition != "attachment")


def _texts(root: Part) -> Iterator[Part]:
    return (part for part in _shown(root) if part.content_type == "text/plain")


def _spoken(root: Part) -> tuple[tuple[str, ...], bool]:
    """The texts of which one is read for commands, and whether several hold some, so that none is read.

    Mail programs cut a text where a picture stands, and gateways put a part of their own before or behind it. So the
    one part that holds a command is read; if none does, all with any words are left.
    """
    parts = list(_texts(root))
    written = [part for part in parts if part.text.strip()]
    # A file that a program shows beside the text is none, except where there is no other.
    texts = [part.text for part in [part for part in written if not part.filename] or written or parts[:1]]
    commanding = [text for text in texts if holds_commands(text)] if len(texts) > 1 else texts
    if len(commanding) > 1:
        return (), True
    return tuple(commanding or texts), False


_WORD_END = re.compile(r"[;(\s]")


def _word(value: str) -> str:
    """The first word of a structured header, in lower case, without parameters or comments."""
    return _WORD_END.split(value.strip(), maxsplit=1)[0].lower()


@lru_cache(maxsize=256)  # most letters say one of a few things here
def _parametrised(value: str) -> tuple[str, Mapping[str, str]]:
    """The leading word of a header such as Content-Type, and its parameters, RFC 2231 undone."""
    value = value[:PARAMETERS]
    header = Message()
    header["Content-Type"] = value
    parameters: dict[str, str] = {}
    try:
        pairs: list[Any] = header.get_params([], "Content-Type")[1:]
    except (ValueError, LookupError, TypeError):  # what the email package makes of hostile RFC 2231 numbering
        pairs = []
    for name, content in pairs:
        if isinstance(content, tuple):
            charset, _, text = content
            parameters.setdefault(name.lower(), decoded(text.encode("latin-1", "replace"), charset or ""))
        else:
            parameters.setdefault(name.lower(), content)
    return _word(value), parameters


def _codec(charset: str) -> str | None:
    try:
        name = codecs.lookup(charset[:40]).name
    except (LookupError, ValueError):
        return None
    return name if CHARSETS.fullmatch(name) else None


def _words(value: str) -> str:
    """A header's text with its encoded words decoded (RFC 2047), on one line."""
    if "=?" not in value:
        return " ".join(value.split())
    joined = BETWEEN_WORDS.sub(r"\1", value)

    def unworded(word: re.Match[str]) -> str:
        data = word[3].encode("ascii")
        return decoded(binascii.a2b_qp(data, header=True) if word[2] in "qQ" else _base64(data), word[1])

    return " ".join(ENCODED_WORD.sub(unworded, joined).split())


_SOFT_BREAK = re.compile(rb"=[ \t]++(?=\r?\n|\Z)")
"""A soft line break behind which blanks came on the way (RFC 2045 6.7): DKIM allows them, and no line may break."""


def unencoded(body: bytes, encoding: str) -> bytes:
    """A body with its transfer encoding undone; damaged ones give what can be read of them."""
    if encoding == "quoted-printable":
        return binascii.a2b_qp(_SOFT_BREAK.sub(b"=", body))
    return _base64(body) if encoding == "base64" else body


def _base64(data: bytes) -> bytes:
    """The readable part of base64: foreign octets and a cut-off end are ignored (RFC 2045 6.8)."""
    letters = re.sub(rb"[^A-Za-z0-9+/]", b"", data)
    letters = letters[: len(letters) - 1] if len(letters) % 4 == 1 else letters
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))
