"""The facts in a kept letter about a match: the heads, papers and commitments that the server sent in it.

The counterpart of `letters/parts.txt`: what `head` and `paper` print there is read here, in every language that has
a catalogue, after years in mailboxes, quoted, forwarded, wrapped and saved again. Nothing is judged here; see
`pbem.proof.compare`. Implements protocol.md, "Transcript".
"""

from __future__ import annotations

import base64
import html
import json
import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from pbem.config.limits import Limits
from pbem.i18n import LANGUAGES, catalogue, template_folder
from pbem.json_object import DEPTH, depth
from pbem.mail.compose import BULLETIN, LETTER
from pbem.mail.message import Letter, Unreadable, read_letter
from pbem.match.transcript import canonical, is_time, sha256_hex
from pbem.proof import bundle
from pbem.proof.kept import (
    Answered,
    Attached,
    Kept,
    Logged,
    ReplyAddress,
    SignedHead,
    SignedPaper,
    ToldFiles,
    ToldStanding,
)
from pbem.proof.mailbox_evidence import TOKEN, place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.i18n import Catalogue
    from pbem.json_object import JsonObject
    from pbem.mail.message import Part

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
_64 = r"[0-9a-f](?:\s*[0-9a-f]){63}"
_128 = r"[0-9a-f](?:\s*[0-9a-f]){127}"
_MATCH = "m[0-9]{1,9}"
_NUMBER = "[0-9]{1,9}"
_HEAD = re.compile("[mt][0-9]{1,9} [0-9]{1,9} [0-9a-f]{64} [0-9a-f]{128}")
_SEQ = re.compile(_NUMBER)
_KEY = re.compile("[0-9a-f]{64}")
_SERVER = r"[\w.-]{1,253}"
_PREV = re.compile(
    rf"^(?:setup|orders)\s+(m[0-9]{{1,9}})\s+(?:game|turn)\s+[0-9]+\s+server\s+([\w.-]{{1,253}})\s+player\s+\S+\s+prev\s+({_64})\s",
    re.MULTILINE,
)
# The number of none: what `html` makes of thousands of digits is an error.
_NO_CHARACTER = re.compile(r"&#(?:[0-9]{9,}|[xX][0-9a-fA-F]{9,});?")
_NOTE = re.compile(
    r"^[^\n]{1,253}\n[0-9]{1,15}\n[A-Za-z0-9+/]{43}=\n\n(?:— [^\n]{1,7100}\n){1,16}",
    re.MULTILINE,
)
"""The checkpoint of a log (docs/witnesses.md), whoever carries it."""
_FOREIGN = re.compile(r"^[ \t>|]*: .*$", re.MULTILINE)
"""The lines of press, as the letter that brings it marks them: a player's words, not the server's."""
_FORM = re.compile(r"(?ms)^[ \t]*server \S+\s+player \S+\s.*?(?:^[ \t]*end[ \t]*$|\Z)")
"""A form to send back, of which the text is a player's as well, such as a message."""
_QUOTE = re.compile(r"^[ \t]*(?:[>|][ \t]?)+", re.MULTILINE)


InBulletin = Answered | SignedHead | Logged | ReplyAddress | ToldFiles | ToldStanding
"""The facts of a match in a bulletin that a bundle may contradict."""
Fact = TypeVar("Fact", bound=InBulletin)


class _KeptWords:
    """The patterns of the facts in letters of one language: the messages of the templates, read backwards."""

    def __init__(self, known: Catalogue) -> None:
        head_begins = _reading(
            known.gettext("Transcript of %(id)s after entry %(seq)s, signed by %(server)s:"),
            {"id": _MATCH, "seq": _NUMBER, "server": _SERVER},
        )
        paper_begins = _reading(
            known.gettext("Paper of %(id)s, signed by %(server)s:"), {"id": _MATCH, "server": _SERVER}
        )
        key = rf"(?:\s+key\s+(?P<key>{_64})(?![0-9a-f]))?"
        signature = rf"\s+signature\s+(?P<signature>{_128}){key}"
        self.begins = [re.compile("^" + begins, re.MULTILINE) for begins in (head_begins, paper_begins)]
        self.head = re.compile(rf"{head_begins}\s+head\s+(?P<hash>{_64}){signature}")
        self.paper = re.compile(rf"{paper_begins}\s+sha256\s+(?P<hash>{_64}){signature}")
        at_level = f"(?:{_reading(known.gettext(', at the level mailbox'), {})})?"
        named = known.gettext("All setups for game %(game)s of %(id)s are in. The commitments to them:\n")
        commitments = _reading(named, {"game": _NUMBER, "id": _MATCH})
        # No more than there are seats: in a list without an end, the pattern would remember each number.
        self.commitments = re.compile(rf"{commitments}\s+(?P<listed>(?:[^\s,:]+{at_level}:\s+{_64}\s+){{1,9}})")
        self.commitment = re.compile(rf"(?<![^\s,:])([^\s,:]++){at_level}:\s+({_64})(?![0-9a-f])")
        terms = known.gettext("  match     %(id)s\n  game      %(title)s, rulings of edition %(edition)s\n")
        self.terms_of = re.compile(_reading(terms.strip().partition("\n")[0], {"id": _MATCH}))
        self.terms_hash = re.compile(_reading(known.gettext("  hash      %(hash)s"), {"hash": "[0-9a-f]{64}"}))


def _reading(message: str, facts: Mapping[str, str]) -> str:
    """The regular expression that reads a message again, however it was wrapped; each fact is a group."""
    said = r"\s+".join(re.escape(word) for word in message.split())
    for name, fact in facts.items():
        said = said.replace(re.escape(f"%({name})s"), f"(?P<{name}>{fact})")
    return said


@cache  # letters come by thousands
def _languages() -> tuple[_KeptWords, ...]:
    return tuple(_KeptWords(catalogue((template_folder(),), language)) for language in LANGUAGES)


def kept(source: str, raw: bytes) -> Kept:
    """The facts in a letter; `source` names its place."""
    try:
        letter = read_letter(raw, LIMITS)
    except Unreadable as error:
        return Kept(source, None, "", unread=f"the letter cannot be read: {error.reason}")
    if letter.is_encrypted:
        decrypt = "it is encrypted: keep what `gpg --decrypt` or `openssl cms -decrypt` makes of it, too"
        return Kept(source, letter.message_id, letter.subject, unread=decrypt)
    found = _Found()
    _take_apart(letter, found, 0)
    texts, pages = ([_FOREIGN.sub("", text) for text in those] for those in (found.texts, found.pages))
    unquoted = "\n".join(re.sub(r"(?m)^[ \t]*[>|].*\n?", "", text) for text in texts)  # a quote is nobody's own word
    told = _FORM.sub("", unquoted)
    everything = "\n".join(_QUOTE.sub("", text) for text in texts)
    # Most people read the page: what is signed there counts as well, and all else is in the text.
    page = "\n".join(pages)
    heads = tuple(dict.fromkeys([*_heads(everything), *_heads(page)]))
    papers = tuple(dict.fromkeys([*_papers(everything), *_papers(page)]))
    spoken: set[SignedHead | SignedPaper] = {*_heads(unquoted), *_papers(unquoted)}
    begun = sum(len(begins.findall(unquoted)) for words in _languages() for begins in words.begins)
    read_well = sum(len(whole.findall(unquoted)) for words in _languages() for whole in (words.head, words.paper))
    return Kept(
        source,
        letter.message_id,
        letter.subject,
        servers=frozenset(found.servers),
        heads=heads,
        for_programs=found.of(SignedHead),
        logged=found.of(Logged),
        standings=found.of(ToldStanding),
        addresses=found.of(ReplyAddress),
        answered=found.of(Answered),
        files=found.of(ToldFiles),
        notes=tuple(dict.fromkeys(_NOTE.findall(f"{everything}\n{_QUOTE.sub('', page)}\n"))),
        papers=papers,
        commitments=tuple(_commitments(told)),
        terms=tuple(_terms(told)),
        quoted=frozenset(heads).difference(spoken) | frozenset(papers).difference(spoken),
        prevs=tuple((m[1], m[2], _hex(m[3])) for m in _PREV.finditer(unquoted)),
        attached=tuple(found.attachments),
        faults=("a signed head or paper in it is cut off or damaged",) if read_well < begun else (),
    )


def _servers(letter: Letter) -> set[str]:
    """The host names from which the letter may have come, by its own headers, which prove nothing."""
    named = letter.sender, letter.message_id, *letter.values("x-loop")
    return {name.rpartition("@")[2].strip(" >").lower() for name in named if name}


class _Found(msgspec.Struct):
    """The contents of a letter, and of those that it forwards."""

    texts: list[str] = msgspec.field(default_factory=list)
    pages: list[str] = msgspec.field(default_factory=list)
    """The texts of HTML that stands beside a plain text."""
    attachments: list[Attached] = msgspec.field(default_factory=list)
    servers: set[str] = msgspec.field(default_factory=set)
    programs: list[InBulletin] = msgspec.field(default_factory=list)
    """The contents of bulletins."""

    def of(self, kind: type[Fact]) -> tuple[Fact, ...]:
        """The facts of a kind in bulletins."""
        return tuple(one for one in self.programs if isinstance(one, kind))


def _take_apart(letter: Letter, found: _Found, depth: int) -> None:
    """Add what is in a letter; forwarded letters inside it are read, too."""
    found.servers |= _servers(letter)
    found.programs += _for_programs(letter)
    has_plain = any(part.content_type == "text/plain" and not part.filename for part in letter.parts)
    for part in letter.parts:
        if part.content_type == "message/rfc822" and depth < _DEPTH:
            try:
                inner = read_letter(part.content, LIMITS)
            except Unreadable:
                continue
            _take_apart(inner, found, depth + 1)
        elif part.filename and (part.filename, part.content_type) != (LETTER, "text/plain"):
            # As it is, and as it may have been before a mail program changed its line ends.
            lines = part.content.replace(b"\r\n", b"\n")
            ways = (part.content, lines, lines.rstrip(b"\n"), lines.rstrip(b"\n") + b"\n")
            found.attachments.append(Attached(part.filename, tuple(dict.fromkeys(ways))))
        elif part.content_type == "text/html":
            (found.pages if has_plain else found.texts).append(_text_of_html(part))
        elif part.content_type.startswith("text/"):
            found.texts.append(part.text)


def unpacked(packed: str) -> Any:
    """The document of a bulletin; raises ValueError.

    A player's program reads it here, too: what it read otherwise, no letter could be compared by.
    """
    text = base64.b64decode("".join(packed.split()), validate=True).decode("utf-8-sig", "replace")
    if depth(text.encode()) > DEPTH:
        raise ValueError("nested too deep")
    return json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_no_number)


def _for_programs(letter: Letter) -> Iterator[InBulletin]:
    """Heads, addresses and the proof about the log in a letter's bulletin (docs/attachments.md), and nothing else."""
    for packed in letter.values(BULLETIN):
        try:
            document = unpacked(packed)
        except ValueError:
            continue
        if isinstance(document, dict) and isinstance(files := document.get("files"), dict):
            with suppress(TypeError):  # what no server writes
                yield ToldFiles(str(document.get("server")), frozenset(map(str, files.values())), *_signed(document))
        items = document.get("items") if isinstance(document, dict) else None
        listed = items if isinstance(items, list) else ()
        for item in (one for one in listed if isinstance(one, dict)):
            yield from _head_of(document, item)
            with suppress(TypeError):  # what no server writes
                yield from _rest_of(document, item)


def _head_of(document: JsonObject, item: JsonObject) -> Iterator[SignedHead | ToldStanding]:
    """The head in an item of a bulletin, and the generation in which it was the last."""
    place_of = "tournament" if item.get("about") == "tournament" else "match"
    match item:
        case {
            "head": {"seq": int(seq), "head": str(head), "signature": str(signature)},
        } if _HEAD.fullmatch(f"{(match := str(item.get(place_of)))} {seq} {head} {signature}"):
            server, key = str(document.get("server")), str(document.get("key"))
            yield SignedHead(server, match, seq, head, signature, key if _KEY.fullmatch(key) else None)
            if isinstance(generation := item.get("generation"), int):
                with suppress(TypeError):  # what no server writes
                    stands = str(item.get("phase")), item.get("paused")
                    yield ToldStanding(server, match, seq, head, generation, *stands, *_signed(document))


def _rest_of(document: JsonObject, item: JsonObject) -> Iterator[Logged | Answered | ReplyAddress]:
    """The proof about the log, the outcome or the reply address in an item of a bulletin; raises TypeError."""
    server = str(document.get("server"))
    match item:
        case {"about": "log", "match": str(match), "seq": int(seq), "proof": str(proof)} if _SEQ.fullmatch(str(seq)):
            yield Logged(server, match, seq, proof)
        case {
            "about": "log",
            "tournament": str(tournament),
            "seq": int(seq),
            "head": str(head),
            "proof": str(proof),
        } if _SEQ.fullmatch(str(seq)):
            yield Logged(server, tournament, seq, proof, head)
        case {
            "about": "command",
            "command": str(command),
            "outcome": str(outcome),
            "mail": str(mail),
            "received": str(received),
        } if is_time(received):
            about = (str(item.get("match")), str(item.get("tournament")))
            words = str(item.get("words"))
            yield Answered(server, mail, received, about, command, words, outcome, *_signed(document))
        case {
            "about": "reply",
            "match": str(match),
            "address": str(address),
            "game": int(game),
            "turn": int(turn),
        } if token := TOKEN.search(address.lower()):
            hashed = sha256_hex(token[1].encode())
            yield ReplyAddress(server, match, hashed, place(game, turn), *_signed(document))


def _signed(document: JsonObject) -> tuple[str, str]:
    """The hash of a bulletin as it is signed, and its signature; raises TypeError."""
    unsigned = {name: value for name, value in document.items() if name != "signature"}
    return sha256_hex(canonical(unsigned)), str(document.get("signature"))


def _number(written: str) -> int | float:
    """A number as browsers read it, in which 2.0 is 2."""
    number = float(written)
    return int(number) if number.is_integer() else number


def _no_number(written: str) -> float:
    raise ValueError(f"JSON has no {written}")


def _text_of_html(part: Part) -> str:
    broken = re.sub(r"(?i)<(?:br|/?p|/?div|/?tr|/?pre)\b[^<>]{0,2000}>", "\n", part.text)
    told = _NO_CHARACTER.sub("\ufffd", re.sub(r"<[^<>]{0,2000}>", "", broken))
    return html.unescape(told).replace("\xa0", " ")


def _heads(text: str) -> Iterator[SignedHead]:
    for match in _in_order(text, [words.head for words in _languages()]):
        key = _hex(match["key"]) if match["key"] else None
        head, signature = _hex(match["hash"]), _hex(match["signature"])
        yield SignedHead(match["server"], match["id"], int(match["seq"]), head, signature, key)


def _papers(text: str) -> Iterator[SignedPaper]:
    for match in _in_order(text, [words.paper for words in _languages()]):
        key = _hex(match["key"]) if match["key"] else None
        yield SignedPaper(match["server"], match["id"], _hex(match["hash"]), _hex(match["signature"]), key)


def _in_order(text: str, patterns: Sequence[re.Pattern[str]]) -> list[re.Match[str]]:
    """The matches of all these patterns, in the order of the text."""
    return sorted((match for pattern in patterns for match in pattern.finditer(text)), key=re.Match.start)


def _commitments(text: str) -> Iterator[tuple[str, int, dict[str, str]]]:
    for words in _languages():
        for match in words.commitments.finditer(text):
            listed = {found[1]: _hex(found[2]) for found in words.commitment.finditer(match["listed"])}
            yield match["id"], int(match["game"]), listed


def _terms(text: str) -> Iterator[tuple[str, str]]:
    """Each match whose terms are told, with their hash."""
    for words in _languages():
        match = ""
        for line in map(str.strip, text.split("\n")):
            if found := words.terms_of.fullmatch(line):
                match = found["id"]
            elif match and (found := words.terms_hash.fullmatch(line)):
                yield match, found["hash"]
                match = ""


def _hex(text: str) -> str:
    return "".join(text.split())
