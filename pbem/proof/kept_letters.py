"""What a letter that a player kept tells of a match: the heads, papers and commitments that the server sent in it.

The other half of `letters/parts.txt` in each language: what `head` and `paper` print there is read here, after years
in mailboxes, quoted, forwarded, wrapped and saved again. Nothing is judged here; see `pbem.proof.compare`. Implements
protocol.md, "Transcript".
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from pbem.config import Limits
from pbem.mail.letter import Letter, Unreadable, read
from pbem.proof import bundle
from pbem.proof.compare import Attached, Kept, SignedHead, SignedPaper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.mail.letter import Part

__all__ = ["kept"]

LIMITS: Final = Limits(
    message_bytes=bundle.LIMITS.kept_octets,
    message_lines=2_000_000,
    headers=2000,
    header_bytes=1024 * 1024,
    parts=500,
)
"""Wider than those of the post office: bundles are large, and the reader's own mailbox is no attacker's."""

_DEPTH = 5  # letters within letters

# Blanks and line ends may have come in anywhere between and within the long hexadecimal numbers.
_64 = r"([0-9a-f](?:\s*[0-9a-f]){63})"
_128 = r"([0-9a-f](?:\s*[0-9a-f]){127})"
_KEY = rf"(?:\s+key\s+{_64}(?![0-9a-f]))?"
# In the words of each language of letters.
_SIGNED_BY = r"(?:signed\s+by|signiert\s+von)\s+([\w.-]{1,253}):"
_HEAD_BEGINS = (
    r"(?:Transcript\s+of|Protokoll\s+von)\s+(m[0-9]{1,9})\s+(?:after\s+entry|nach\s+Eintrag)\s+([0-9]{1,9}),\s+"
    + _SIGNED_BY
)
_PAPER_BEGINS = r"(?:Paper\s+of|Dokument\s+von)\s+(m[0-9]{1,9}),\s+" + _SIGNED_BY
_HEAD = re.compile(rf"{_HEAD_BEGINS}\s+head\s+{_64}\s+signature\s+{_128}{_KEY}")
_PAPER = re.compile(rf"{_PAPER_BEGINS}\s+sha256\s+{_64}\s+signature\s+{_128}{_KEY}")
_BEGINS = re.compile(rf"^(?:{_HEAD_BEGINS}|{_PAPER_BEGINS})", re.MULTILINE)
_AT_LEVEL = r"(?:,\s+(?:at\s+the\s+level|auf\s+der\s+Stufe)\s+mailbox)?"
_COMMITMENTS = re.compile(
    rf"(?:The\s+commitments\s+to\s+them|Die\s+Festlegungen\s+dazu):\s+((?:[^\s,:]+{_AT_LEVEL}:\s+{_64}\s+){{1,9}})"
)  # as many as there are seats, or a list without an end would be remembered number by number
_COMMITMENT = re.compile(rf"(?<![^\s,:])([^\s,:]++){_AT_LEVEL}:\s+{_64}(?![0-9a-f])")
_TERMS_OF = re.compile(r"[ \t]*(?:match|Partie)[ \t]+(m[0-9]{1,9})[ \t]*")
_TERMS_HASH = re.compile(r"[ \t]*[Hh]ash[ \t]+([0-9a-f]{64})[ \t]*")
_PREV = re.compile(
    rf"^(?:setup|orders)\s+(m[0-9]{{1,9}})\s+(?:game|turn)\s+[0-9]+\s+server\s+([\w.-]{{1,253}})\s+player\s+\S+\s+prev\s+{_64}\s",
    re.MULTILINE,
)
_REVISION = re.compile(
    r"(?:Your\s+setup\s+stands,\s+revision|Deine\s+Aufstellung\s+gilt,\s+Revision)\s+([0-9]{1,9}):"
)
# The number of none: what `html` makes of thousands of digits is an error.
_NO_CHARACTER = re.compile(r"&#(?:[0-9]{9,}|[xX][0-9a-fA-F]{9,});?")
_FOREIGN = re.compile(r"^[ \t>|]*: .*$", re.MULTILINE)
"""What a player wrote to others, as the letter that brings it marks each line: none of the server's words."""
_QUOTE = re.compile(r"^[ \t]*(?:[>|][ \t]?)+", re.MULTILINE)


def kept(source: str, raw: bytes) -> Kept:
    """What the letter tells; `source` names the place where it lay."""
    try:
        letter = read(raw, LIMITS)
    except Unreadable as error:
        return Kept(source, None, "", unread=f"the letter cannot be read: {error.reason}")
    texts, attachments, servers = _parts(letter, 0)
    texts = [_FOREIGN.sub("", text) for text in texts]
    own = "\n".join(_QUOTE.sub(lambda _: "\0", text) for text in texts)  # what is quoted is nobody's own word
    unquoted = "\n".join(line for line in own.split("\n") if "\0" not in line)
    everything = "\n".join(_QUOTE.sub("", text) for text in texts)
    heads, papers = tuple(_heads(everything)), tuple(_papers(everything))
    spoken: set[SignedHead | SignedPaper] = {*_heads(unquoted), *_papers(unquoted)}
    begun = len(_BEGINS.findall(unquoted))
    read_well = len(_HEAD.findall(unquoted)) + len(_PAPER.findall(unquoted))
    return Kept(
        source,
        letter.message_id,
        letter.subject,
        servers=frozenset(servers),
        heads=heads,
        papers=papers,
        commitments=tuple(_commitments(unquoted)),
        terms=tuple(_terms(unquoted)),
        quoted=frozenset(heads).difference(spoken) | frozenset(papers).difference(spoken),
        prevs=tuple((m[1], m[2], _hex(m[3])) for m in _PREV.finditer(unquoted)),
        revision=int(found[1]) if (found := _REVISION.search(unquoted)) else None,
        attached=tuple(attachments),
        faults=("a signed head or paper in it is cut off or damaged",) if read_well < begun else (),
    )


def _servers(letter: Letter) -> set[str]:
    """The host names that the letter may have come from by its own headers, which prove nothing."""
    sender = (letter.sender or "").rpartition("@")[2]
    named = (letter.message_id or "").rpartition("@")[2].rstrip(">")
    loops = [value.rpartition("@")[2].strip() for value in letter.values("x-loop")]
    return {name.lower() for name in (sender, named, *loops) if name}


def _parts(letter: Letter, depth: int) -> tuple[list[str], list[Attached], set[str]]:
    """The texts, attachments and servers of a letter, those of letters that it forwards among them."""
    servers = _servers(letter)
    texts: list[str] = []
    attachments: list[Attached] = []
    has_plain = any(part.content_type == "text/plain" and not part.filename for part in letter.parts)
    for part in letter.parts:
        if part.content_type == "message/rfc822" and depth < _DEPTH:
            try:
                inner = _parts(read(part.content, LIMITS), depth + 1)
            except Unreadable:
                continue
            texts += inner[0]
            attachments += inner[1]
            servers |= inner[2]
        elif part.filename:
            attachments.append(Attached(part.filename, tuple(_ways(part.content))))
        elif part.content_type == "text/html":
            if not has_plain:
                texts.append(_text_of_html(part))
        elif part.content_type.startswith("text/"):
            texts.append(part.text)
    return texts, attachments, servers


def _ways(content: bytes) -> Iterator[bytes]:
    """An attachment as it is, and as it was before a mail program changed its line ends."""
    lines = content.replace(b"\r\n", b"\n")
    yield from dict.fromkeys((content, lines, lines.rstrip(b"\n"), lines.rstrip(b"\n") + b"\n"))


def _text_of_html(part: Part) -> str:
    broken = re.sub(r"(?i)<(?:br|/?p|/?div|/?tr|/?pre)\b[^<>]{0,2000}>", "\n", part.text)
    told = _NO_CHARACTER.sub("\ufffd", re.sub(r"<[^<>]{0,2000}>", "", broken))
    return html.unescape(told).replace("\xa0", " ")


def _heads(text: str) -> Iterator[SignedHead]:
    for match in _HEAD.finditer(text):
        key = _hex(match[6]) if match[6] else None
        yield SignedHead(match[3], match[1], int(match[2]), _hex(match[4]), _hex(match[5]), key)


def _papers(text: str) -> Iterator[SignedPaper]:
    for match in _PAPER.finditer(text):
        key = _hex(match[5]) if match[5] else None
        yield SignedPaper(match[2], match[1], _hex(match[3]), _hex(match[4]), key)


def _commitments(text: str) -> Iterator[dict[str, str]]:
    for match in _COMMITMENTS.finditer(text):
        yield {found[1]: _hex(found[2]) for found in _COMMITMENT.finditer(match[1])}


def _terms(text: str) -> Iterator[tuple[str, str]]:
    """Each match whose terms are told, with their hash."""
    match = ""
    for line in text.split("\n"):
        if found := _TERMS_OF.fullmatch(line):
            match = found[1]
        elif match and (found := _TERMS_HASH.fullmatch(line)):
            yield match, found[1]
            match = ""


def _hex(text: str) -> str:
    return "".join(text.split())
