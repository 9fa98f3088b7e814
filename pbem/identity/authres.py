"""Authentication-Results (RFC 8601): what our own mail server wrote above a letter when it accepted it.

Anybody can write this header. It counts only if the operator named the server that we trust, and then only where
no stranger can have put it: the topmost one of that name, with at most one Received above it.

That server must remove such headers from the letters that it accepts, and its filter understands less than a reader
may: config/postfix/pbem_headers knows one regular expression. So on arrival a header counts only in the one form that
any filter recognises: `Authentication-Results:` without blanks before the colon, then at once the server's name,
letter by letter, and in all the header no character but printable ASCII, blanks and folds. Whatever else might be
read as that server's word voids it (`is_unclear`). Implements protocol.md, "Identity", and reliability.md, case 24.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.structured_header import without_comments

if TYPE_CHECKING:
    from pbem.mail.message import Letter

LINE = 4000  # octets of a header that is taken apart
_PLAIN = re.compile(r"[\t -~]*+")
_SPACED = re.compile(rb"(?im)^authentication-results[ \t]++:")
_PAIR = re.compile(r"(?<![a-z0-9_-])([a-z0-9_-]++)(?:\s*+\.\s*+([a-z0-9_-]++))?\s*+=\s*+(\S++)", re.IGNORECASE)


_SIGNED = ("dkim", ("header", "d"))
_SENT = ("spf", ("smtp", "mailfrom"))
"""The methods that we ask about, each with the property that names a domain."""


def passed(letter: Letter, authserv_id: str) -> tuple[str, list[str]] | None:
    """The header of the server `authserv_id` that mentions DKIM, and the domains whose signatures it found good."""
    return _passed(letter, authserv_id, *_SIGNED)


def sent_from(letter: Letter, authserv_id: str) -> list[str]:
    """The domains of the return path for which the server `authserv_id` found the client entitled (SPF, RFC 7208)."""
    _, named = _passed(letter, authserv_id, *_SENT) or ("", [])
    return [name.rpartition("@")[2] for name in named]


def _passed(letter: Letter, authserv_id: str, method: str, of: tuple[str, str]) -> tuple[str, list[str]] | None:
    """The topmost header of our server that mentions a method, and the property `of` each result that is a pass."""
    if not authserv_id:
        return None
    hops = 0
    for name, value in letter.root.headers:
        hops += name == "received"
        if hops > 1:
            return None  # what stands here was written before the letter came to our server
        if name == "authentication-results" and (found := _results(value, authserv_id, method, of)) is not None:
            return value, found
    return None


def is_unclear(letter: Letter, authserv_id: str) -> bool:
    """Return whether the server `authserv_id` may have missed, and so not removed, a header that we would read.

    Such a header has blanks before its colon (RFC 5322 4.5), follows a bare LF among lines that end in CR LF, or is
    not in the one form that filters recognise. This is checked on arrival: what was accepted before stays as it is.
    """
    head = letter.raw[: len(letter.raw) - len(letter.root.body)]
    if 0 < head.count(b"\r\n") < head.count(b"\n") or _SPACED.search(head) is not None:
        return True
    read = (_passed(letter, authserv_id, *asked) for asked in (_SIGNED, _SENT))
    return not all(_is_strict(found[0], authserv_id) for found in read if found is not None)


def _is_strict(value: str, authserv_id: str) -> bool:
    """Return whether an unfolded value is in the one form that every filter for this server recognises.

    A comment, an escaped or a control character before the name, or a letter that only Unicode calls equal (U+212A),
    would hide it from the filter.
    """
    name, after = value[: len(authserv_id)], value[len(authserv_id) :]
    if not _PLAIN.fullmatch(value) or name.lower() != authserv_id.lower():
        return False
    return after[:1] in {"", " ", "\t", ";", "("} and "\\" not in (without_comments(value) or "\\")


def _results(value: str, authserv_id: str, method: str, of: tuple[str, str]) -> list[str] | None:
    """The property of each pass; None if the header is another server's or does not mention the method."""
    bare = without_comments(value) if len(value) <= LINE else None
    if bare is None:
        return None
    server, *results = (part.strip() for part in bare.split(";"))
    words = server.split()
    if not words or words[0].lower() != authserv_id.lower() or words[1:] not in ([], ["1"]):
        return None
    found: list[str] = []
    spoke = False
    for result in results:
        pairs = [(what.lower(), (kind or "").lower(), text) for what, kind, text in _PAIR.findall(result)]
        if not pairs or pairs[0][:2] != (method, ""):
            continue
        spoke = True
        named = [text for what, kind, text in pairs if (what, kind) == of]
        if pairs[0][2].lower() == "pass" and len(named) == 1:
            found.append(named[0].lower().rstrip("."))
    return found if spoke else None
