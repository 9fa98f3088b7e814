"""Letters out: from a text and its headers to the fixed bytes that are stored and sent (RFC 5322, MIME, RFC 3834).

The same arguments give the same bytes: the boundary is made from the Message-ID; time and tokens are handed in.
Nothing that a stranger wrote can end a header: control characters become blanks in texts, and are refused in
addresses and identifiers. Implements protocol.md, "Addresses and threads", and reliability.md, cases 14 and 27.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from base64 import b64encode
from email.header import Header
from email.utils import format_datetime, quote
from itertools import count
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote as percent

import msgspec

from pbem.mail.message import MESSAGE_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from pbem.letters.render import Templates

LINE = 998  # octets in a line without its CRLF (RFC 5322 2.1.1)
FOLD = 76  # where encoded headers are folded (RFC 2047 2)
SUBJECT = 400  # characters; a longer one would not fit into a line when it has no blanks
REFERENCES = 20  # a thread's root and its latest letters say enough

BULLETIN = "X-Pbem-Bulletin"
RETURN = "X-Pbem-Return"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# dot-atom on both sides (RFC 5322 3.4.1): no quoted local parts, no address literals, no control characters.
ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,255}")
MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*")
PLAIN = b"\t\n" + bytes(range(ord(" "), ord("~") + 1))

Attachment = tuple[str, str, bytes]
"""File name, media type, content."""

Encrypted = tuple[Literal["openpgp", "smime"], bytes]
"""The format of what is encrypted, and its octets: armor for OpenPGP, DER for S/MIME."""

STEP = 32 * 1024
"""The length of what is encrypted is a multiple of this: lengths tell much about what happened. Answers and reports
of most turns are shorter; with a smaller step, a turn with hits is in another than one without."""

LETTER = "letter.txt"
"""The file that holds the text of an encrypted letter."""

Picture = tuple[str, str, bytes]
"""Content-ID without its brackets, file name, and content: a PNG that the HTML part shows as `cid:`."""


class Content(NamedTuple):
    """The content of a letter: its words, its pictures, and the files that it brings."""

    text: str
    html: str | None = None
    pictures: Sequence[Picture] = ()
    attachments: Sequence[Attachment] = ()


class MailingList(NamedTuple):
    """Letters of one kind: the name that they have as a list, and the command that leaves it."""

    name: str
    leave: str


class Encrypting(NamedTuple):
    """The encryption that keeps a letter from everybody but its reader."""

    subject: str
    """The subject that everybody may read."""
    cover: str
    """The text that a mail program quotes in an answer, which is not encrypted: it holds nothing secret."""
    encrypt: Callable[[bytes], Encrypted]


class _Entity(msgspec.Struct, frozen=True):
    """One MIME entity: its own headers, and its body with CRLF line ends."""

    headers: tuple[str, ...]
    body: bytes

    def __bytes__(self) -> bytes:
        return "".join(f"{line}\r\n" for line in self.headers).encode("ascii") + b"\r\n" + self.body


class Generation(NamedTuple):
    """The number of times that a store was restored from a backup, plus one."""

    number: int = 1
    forgotten: Mapping[str, Sequence[int]] = {}
    """The numbers of matches and tournaments that the last restore has forgotten, from and to."""


class Composer:
    """Builds the letters of one server, all from and to one mailbox; `sign` signs the finished bytes."""

    def __init__(
        self,
        server: str,
        mailbox: str,
        templates: Templates,
        *,
        address: str = "",
        delimiter: str = "+",
        generation: Generation | None = None,
        sign: Callable[[bytes, datetime], bytes] | None = None,
    ) -> None:
        self.server = server
        self.address = _address(address or f"{mailbox}@{server}")
        self.delimiter = delimiter
        self.templates = templates
        # A store that was restored from a backup says so, lest its letters be taken for those it has forgotten.
        self.generation = generation or Generation()
        self._mark = [f"X-Pbem-Generation: {self.generation.number}"] if self.generation.number > 1 else []
        self._sign = sign
        self._from = f"pbem <{self.address}>"

    def sub_address(self, detail: str) -> str:
        """The sub-address with this detail, such as "m17.token", if there are any; raises ValueError."""
        if not self.delimiter:
            return self.address
        local, _, domain = self.address.rpartition("@")
        return _address(f"{local}{self.delimiter}{detail}@{domain}")

    def answerable(self, reply_to: str | None, token: str, mark: Callable[[str], str]) -> tuple[str, str | None]:
        """The Message-ID of a letter, made from a token and the mark of that, and its Reply-To.

        Without sub-addresses, the detail is part of the Message-ID instead, which an answer
        names in its In-Reply-To: see `reply_address`.
        """
        if not self.delimiter and reply_to is not None:
            detail = reply_to.rpartition("@")[0]
            # Its secret is in the detail; a short one stays on one line, which some programs need to name it.
            token, reply_to = f"{token[:8]}.{detail}" if "." in detail else token, None
        return self.message_id(f"{mark(token)}.{token}"), reply_to

    def reply_address(self, detail: str) -> str:
        """The address by which an answer is recognised: a sub-address, or what stands for it."""
        return self.sub_address(detail) if self.delimiter else _address(f"{detail}@{self.server}")

    def message_id(self, token: str) -> str:
        """The Message-ID made from a token; raises ValueError."""
        return _message_id(f"<{token}@{self.server}>")

    def compose(  # noqa: PLR0913 - a letter has as many headers
        self,
        to: str,
        subject: str,
        content: Content,
        *,
        message_id: str,
        date: datetime,
        reply_to: str | None = None,
        in_reply_to: str | None = None,
        references: Sequence[str] = (),
        mailing: tuple[MailingList, str] | None = None,
        bulletin: bytes = b"",
        returns: str = "",
        encrypting: Encrypting | None = None,
    ) -> bytes:
        """The bytes of a letter, with CRLF line ends, in seven bits; `mailing`: its list, and where to leave it.

        Raises ValueError on a malformed address or Message-ID. Identifiers that come from others'
        letters (`in_reply_to`, `references`) are left out when they are malformed. `bulletin`, for programs,
        stands in a header field, where people do not see it; so does `returns`, by which a bounce is recognised.
        With `encrypting`, everything is encrypted except what mail needs on its way.
        """
        answer = in_reply_to if in_reply_to and MESSAGE_ID.fullmatch(in_reply_to) else None
        headers = [
            f"From: {self._from}",
            f"To: {_address(to)}",
            _header("Subject", subject),
            f"Date: {format_datetime(date)}",
            f"Message-ID: {_message_id(message_id)}",
        ]
        if reply_to:
            headers.append(f"Reply-To: {_address(reply_to)}")
        if answer:
            headers.append(f"In-Reply-To: {answer}")
        if thread := _thread(references):
            headers.append("References: " + "\r\n ".join(thread))
        headers += [
            # RFC 3834 5: so that no vacation program answers, nor another server like this one.
            f"Auto-Submitted: {'auto-replied' if answer else 'auto-generated'}",
            "X-Auto-Response-Suppress: All",
            f"X-Loop: {self.address}",
            *self._mark,
        ]
        told = self._listed(*mailing) if mailing else []
        if bulletin:
            told.append("\r\n ".join([f"{BULLETIN}:", *_base64(bulletin)]))
        token = [f"{RETURN}: {returns}"] if returns else []
        if encrypting:
            files = [(LETTER, "text/plain", content.text.encode("utf-8", "replace"))]
            files += [*((name, "image/png", image) for _, name, image in content.pictures), *content.attachments]
            open_headers = [
                _header("Subject", encrypting.subject) if h.startswith("Subject:") else h for h in headers
            ]
            inner = _protected(
                [*headers, *told], open_headers, _body(Content(encrypting.cover, attachments=files), message_id)
            )
            headers, body = open_headers, _wrapped(*encrypting.encrypt(inner), message_id)
        else:
            headers, body = [*headers, *told], _body(content, message_id)
        letter = bytes(_Entity((*headers, *token, "MIME-Version: 1.0", *body.headers), body.body))
        return self._sign(letter, date) if self._sign else letter

    def _listed(self, mailing: MailingList, leave_to: str) -> list[str]:
        """RFC 2919 3 and RFC 2369 3: the list's name, help, and how to leave it with one click."""
        return [
            f"List-Id: <{mailing.name}.{self.server}>",
            f"List-Help: <mailto:{self.address}?subject=help>",
            f"List-Unsubscribe:\r\n <mailto:{_address(leave_to)}?subject={percent(mailing.leave)}>",
        ]


def _address(text: str) -> str:
    if not ADDRESS.fullmatch(text):
        raise ValueError(f"{text!r} is no address")
    return text


def _message_id(text: str) -> str:
    if not MESSAGE_ID.fullmatch(text):
        raise ValueError(f"{text!r} is no Message-ID")
    return text


def _thread(references: Sequence[str]) -> list[str]:
    """The well-formed references; of a long thread the root and the latest."""
    good = [reference for reference in references if MESSAGE_ID.fullmatch(reference)]
    return [*good[:1], *good[1:][1 - REFERENCES :]]


def _header(name: str, value: str) -> str:
    """One unstructured header, folded and in ASCII."""
    value = CONTROL.sub(" ", value).encode("utf-8", "replace").decode().strip()[:SUBJECT]
    # A text that only looks like an encoded word must arrive as written.
    plain = value.isascii() and "=?" not in value
    if plain and len(name) + len(": ") + len(value) <= FOLD:
        return f"{name}: {value}"
    charset = "us-ascii" if plain else "utf-8"
    folded = Header(value, charset, maxlinelen=FOLD, header_name=name).encode(linesep="\r\n")
    # A line of blanks alone would end nothing, but is obsolete syntax (RFC 5322 3.2.2).
    lines = [line for line in folded.split("\r\n") if line.strip()]
    return f"{name}: " + "\r\n".join(lines)


def _body(content: Content, seed: str) -> _Entity:
    body = _text(content.text, "plain")
    if content.html is not None:
        page = _text(content.html, "html")
        if content.pictures:  # RFC 2387: the page first, then what it shows
            shown = (
                _file("image/png", "inline", name, image, f"Content-ID: {_message_id(f'<{content_id}>')}")
                for content_id, name, image in content.pictures
            )
            page = _multipart("related", [page, *shown], seed)
        body = _multipart("alternative", [body, page], seed)
    files = []
    for name, media_type, octets in content.attachments:
        if not MEDIA_TYPE.fullmatch(media_type):
            raise ValueError(f"{media_type!r} is no media type")
        charset = '; charset="utf-8"' if media_type.startswith("text/") else ""
        files.append(_file(f"{media_type}{charset}", "attachment", name, octets))
    return _multipart("mixed", [body, *files], seed) if files else body


def _text(text: str, kind: str) -> _Entity:
    data = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")
    if data and not data.endswith(b"\n"):
        data += b"\n"
    if not data.translate(None, PLAIN) and max(map(len, data.split(b"\n"))) <= LINE:
        charset, encoding = "us-ascii", "7bit"
    else:
        charset, encoding = "utf-8", "quoted-printable"
        data = binascii.b2a_qp(data, istext=True)
    headers = (f'Content-Type: text/{kind}; charset="{charset}"', f"Content-Transfer-Encoding: {encoding}")
    return _Entity(headers, data.replace(b"\n", b"\r\n"))


def _file(kind: str, disposition: str, filename: str, content: bytes, *more: str) -> _Entity:
    # The file name as a parameter: quoted, or by RFC 2231 when it is not ASCII.
    name = CONTROL.sub(" ", filename).replace("/", "_").strip()[:100] or "attachment"
    quoted = f'="{quote(name)}"' if name.isascii() else f"*=utf-8''{percent(name, safe='', errors='replace')}"
    headers = (
        f"Content-Type: {kind}",
        "Content-Transfer-Encoding: base64",  # exact for any bytes, signed texts among them
        *more,
        f"Content-Disposition: {disposition};\r\n filename{quoted}",
    )
    return _Entity(headers, "\r\n".join([*_base64(content), ""]).encode("ascii"))


def _base64(content: bytes) -> list[str]:
    """The lines of octets in base64 (RFC 2045 6.8)."""
    code = b64encode(content).decode("ascii")
    return [code[at : at + 76] for at in range(0, len(code), 76)]


def _protected(headers: Sequence[str], outside: Sequence[str], body: _Entity) -> bytes:
    """The entity that is encrypted: the letter with its headers (RFC 9788 5.2), and blanks behind its last part.

    `protected-headers` is the older mark (draft-autocrypt-lamps-protected-headers) that most programs look for.
    """
    first, *rest = body.headers
    inner = bytes(
        _Entity(
            (
                *headers,
                *(f"HP-Outer: {line}" for line in outside),
                f'{first};\r\n protected-headers="v1"; hp="cipher"',
                *rest,
            ),
            body.body,
        )
    )
    left = -len(inner) % STEP
    return inner + (b" " * 70 + b"\r\n") * (left // 72) + b" " * (left % 72)


def _wrapped(kind: Literal["openpgp", "smime"], content: bytes, seed: str) -> _Entity:
    """The encrypted octets as a body: PGP/MIME (RFC 3156 4), or S/MIME (RFC 8551 3.3)."""
    if kind == "smime":
        return _file(
            'application/pkcs7-mime; smime-type=enveloped-data;\r\n name="smime.p7m"',
            "attachment",
            "smime.p7m",
            content,
        )
    version = _Entity(("Content-Type: application/pgp-encrypted",), b"Version: 1\r\n")
    armor = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    kept = ("Content-Type: application/octet-stream", 'Content-Disposition: inline; filename="encrypted.asc"')
    made = _multipart("encrypted", [version, _Entity(kept, armor)], seed)
    return _Entity((f'{made.headers[0]};\r\n protocol="application/pgp-encrypted"',), made.body)


def _multipart(kind: str, parts: Sequence[_Entity], seed: str) -> _Entity:
    # The same for the same letter, and in no part; "=_" cannot occur in quoted-printable or base64 (RFC 2045 6.7).
    digests = (hashlib.sha256(f"{kind} {number} {seed}".encode()).hexdigest()[:32] for number in count())
    boundary = next(f"=_{one}" for one in digests if not any(f"=_{one}".encode() in part.body for part in parts))
    delimiter = f"--{boundary}".encode("ascii")
    # The CRLF before a delimiter belongs to the delimiter (RFC 2046 5.1.1).
    body = b"".join(delimiter + b"\r\n" + bytes(part) + b"\r\n" for part in parts) + delimiter + b"--\r\n"
    return _Entity((f'Content-Type: multipart/{kind};\r\n boundary="{boundary}"',), body)
