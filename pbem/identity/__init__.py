"""The signer of a letter: one graded verdict over a letter, whatever the format of its signature.

This module finds the one signature of a letter and the text that it may cover; each format verifies in its own
module. The desk passes the keys that are pinned to the named player (no others are tried), and the words of forms. On
arrival, when the caller passes the time, more is refused than later: signatures that will not hold for ever, and
costly keys. An accepted letter is verified without a time, so that neither a new rule nor today's date makes an old
match unreadable. `pbem.proof.signed_letters`, where MIME is read, makes sure that all programs read the same words
from the signed bytes. Implements protocol.md, "Identity".
"""

from __future__ import annotations

import codecs
import re
from functools import cache, lru_cache
from hashlib import sha256
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from pbem.identity import openpgp, smime, ssh
from pbem.identity.verdict import (
    ENCRYPTED,
    STATES,
    BadKey,
    BadSignature,
    Format,
    Key,
    State,
    Verdict,
    Vocabulary,
)
from pbem.linked_names import unlinked
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
    from datetime import datetime

    from pbem.mail.message import Letter, Part

__all__ = ["STATES", "BadKey", "Format", "Key", "Verdict", "Vocabulary", "judge", "parse_key", "readings"]

_STARTS = 6
"""The most lines that look like the start of a signed form and are tried."""

_HEAD = 400
"""More words than the first line and the fields of any form have."""

_WORK = 8 * 2**20
"""Octets of all the texts that are tried on arrival: whoever signs something else would have hundreds verified."""

_KEY_WORK = 2**15
"""The octets that verifying by one key stands for, besides those of the text: the costliest takes a millisecond."""

_NAMED = 16
"""The most keys that are tried on arrival. Certificates may bear one name, and revoked keys add up."""

_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_BLANK = re.compile(r"[^\S\n]")
_SMART = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "--", "\u2026": "..."}
)
"""Typographic quotes, dashes and dots, and the plain ones that a mail program replaced by them."""

_LINK = re.compile(r"<(?:mailto:|https?://)|\]\((?:mailto:|https?://)", re.I)
"""A link that a mail program put behind words; a game's notation has none."""

_HASH = re.compile(r"[0-9a-f]{64}")
"""A hash: a line that contains one is long, although no program wrapped it."""

_DETACHED_TYPES: dict[str, Format] = {
    "application/pgp-signature": "openpgp",
    "application/pkcs7-signature": "smime",
    "application/x-pkcs7-signature": "smime",
}
_OPAQUE_TYPES = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_SUFFIXES = (".asc", ".sig", ".sign")
_PASTED_CMS = ("-----BEGIN PKCS7-----", "-----BEGIN CMS-----")

_ATTACH = Phrase(
    "Attach the text and its signature as two files, such as orders.txt and orders.txt.{suffix}: they arrive"
    " unchanged."
)
_CHANGED = Phrase("it was changed after signing")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WIDE = Phrase("The file is in UTF-16, as PowerShell 5 writes what `>` puts there: save it as UTF-8, and send that.")
_ENCODED = Phrase("The file that was signed is in {encoding}: save it as UTF-8, sign it again, and send that.")
_SUFFIX: dict[Format, str] = {"openpgp": "asc", "smime": "asc", "ssh": "sig"}


_Signature = openpgp.OpenpgpSignature | smime.SmimeSignature | ssh.SshSignature
"""One signature, not yet verified, as each format reads it.

`issuer` is the key that it names; `claims` compares that with a key, only a hint that saves work; `covers` returns
the signed bytes and the state of the key, or None. With the time of arrival, `covers` raises `BadSignature` for
signatures that will not last.
"""


_READERS: dict[Format | None, Callable[[Any], _Signature]] = {
    "openpgp": openpgp.read,
    "smime": smime.read,
    "ssh": ssh.read,
}
"""The reader of signatures for each format: S/MIME's takes octets, SSH's text, OpenPGP's either."""


class _Block(msgspec.Struct, frozen=True):
    """One signature in a letter: its format, the signature itself, and the texts that it may cover."""

    format: Format | None
    armor: str | bytes = ""
    text: bytes | str | None = None
    fault: Phrase | None = None
    way: Literal["pasted", "clear", "attached", "entity", "opaque"] = "pasted"
    marks: tuple[str, ...] = ()
    """Features of the letter that explain a broken text: `flowed`, `html`."""
    whole: str = ""
    """The whole of a clear-signed message."""


def parse_key(data: str | bytes, at: datetime | None = None) -> Key:
    """Read a public key of any format, from pasted text or an attached file; raises `BadKey`.

    Its state is as of the time `at`; without a time, expiry is not checked.
    """
    if isinstance(data, bytes):
        if data.startswith(_UTF_16):
            raise BadKey(_WIDE)
        data = data.removeprefix(codecs.BOM_UTF8)  # Windows begins texts so
        # The first octet of a binary OpenPGP packet has its high bit set (RFC 9580 4.2).
        if data[:1] >= b"\x80":
            return openpgp.parse(data, at)
        # A certificate in DER is a SEQUENCE, whose tag is 0x30.
        if data[:1] == b"\x30":
            return smime.parse(data, at)
        data = data.decode("utf-8", "replace")
    text = data.lstrip("\ufeff").strip()
    # A private key of any format: warn its owner.
    if "PRIVATE KEY" in text:
        raise BadKey(
            Phrase(
                "This is a private key: keep it to yourself, and send the public one. You had better make a new one."
            )
        )
    if "-----BEGIN PGP" in text:
        return openpgp.parse(text, at)
    if "-----BEGIN CERTIFICATE-----" in text:
        return smime.parse(text, at)
    return ssh.parse(text)


def judge(
    letter: Letter,
    keys: Sequence[Key],
    server: str,
    *,
    words: Vocabulary,
    namespace: str | None = None,
    at: datetime | None = None,
) -> Verdict:
    """Decide who signed this letter, trying only these keys.

    `words` help to find a form below a greeting. The namespace of an SSH signature must be `pbem@<server>`, or
    `namespace` if it is set. `at` is the time of arrival: a key that had expired by then does not count, and a
    signature that would not hold for ever is refused. Without `at`, the keys count as the caller pinned them; this
    serves to check again a letter that was received at an unknown time. Never raises.
    """
    if letter.is_encrypted:
        return Verdict("refused", ENCRYPTED)
    blocks = list(islice(_blocks(letter), 2))
    if not blocks:
        return Verdict("none", Phrase("The letter bears no signature."))
    if len(blocks) > 1:
        return Verdict("refused", Phrase("A letter may bear one signature; this one bears more."))
    block = blocks[0]
    if block.fault:
        return Verdict("refused", block.fault, block.format)
    try:
        return _judged(block, keys, words, namespace or f"pbem@{server}", at)
    except BadSignature as error:
        return Verdict(error.kind, error.reason, block.format)


def _judged(block: _Block, keys: Sequence[Key], words: Vocabulary, namespace: str, at: datetime | None) -> Verdict:
    """The verdict over one signature; raises `BadSignature`."""
    signature = _READERS[block.format](block.armor)
    if isinstance(signature, ssh.SshSignature) and signature.namespace != namespace:
        made_for = ascii(signature.namespace[:64])
        raise BadSignature(
            Phrase("The signature was made for {found}, not for {namespace}.", found=made_for, namespace=namespace)
        )
    most = None if at is None else _NAMED
    named = list(islice((key for key in keys if key.format == block.format and signature.claims(key)), most))
    if not named:
        unknown = Phrase(
            "The signature was made by the key {name}, which is not one of your keys here.", name=signature.issuer
        )
        raise BadSignature(unknown, "unknown key")
    # No signature by a revoked OpenPGP certificate verifies any more: name that reason, and not a changed text.
    for key in named:
        if isinstance(signature, openpgp.OpenpgpSignature) and signature.revoked(key):
            return _graded(key, "revoked", b"", block)
    tried = chain(
        (("", message) for message in _messages(block, signature, words)), _in_other_encodings(block, words)
    )
    # What was accepted is found again with other keys beside its own, and by a later order of the readings.
    work = 4 * _WORK if at is None else _WORK // len(named)
    for encoding, message in tried:
        work -= len(message) + _KEY_WORK
        if work < 0:
            break
        for key in named:
            covered = signature.covers(key, message, at)
            if covered is not None and encoding:
                raise BadSignature(_ENCODED.given(encoding=encoding), "bad")
            if covered is not None:
                signed, state = covered
                return _graded(key, key.state if key.state != "pinned" else state, signed, block)
    raise BadSignature(_diagnosis(block), "bad")


def _messages(block: _Block, signature: _Signature, words: Vocabulary) -> Iterable[bytes]:
    """The texts that the signature may cover: the one that it carries, or the readings of the one beside it."""
    content = signature.content if isinstance(signature, smime.SmimeSignature) else None
    if block.way == "opaque":
        if content is None:
            raise BadSignature(Phrase("The S/MIME letter holds a signature but no text."), "bad")
        return [content]
    if content is not None:
        raise BadSignature(Phrase("The S/MIME signature carries its own text beside the one that it is attached to."))
    return _candidates(block, words)


def _graded(key: Key, state: State, message: bytes, block: _Block) -> Verdict:
    if state == "pinned":
        entity = block.way in {"entity", "opaque"}
        pasted = "" if entity else _pasted(block, message)
        return Verdict("valid", _signed_by(key.fingerprint), key.format, key.fingerprint, message, entity, pasted)
    reason = Phrase("The key {fingerprint} is {state}.", fingerprint=key.fingerprint, state=STATES[state])
    return Verdict(state, reason, key.format, key.fingerprint)


def _pasted(block: _Block, message: bytes) -> str:
    """The signed text with its signature below, which any letter can bring; empty if a text cannot hold it."""
    if block.whole:
        return block.whole
    if not isinstance(block.armor, str) or block.format not in {"ssh", "openpgp"}:
        return ""
    try:
        text = message.decode()
    except UnicodeDecodeError:
        return ""
    line_end = "" if text.endswith("\n") else "\n"
    return f"{text}{line_end}{block.armor.strip()}\n"


@lru_cache(maxsize=256)  # one key makes many signatures
def _signed_by(fingerprint: str) -> Phrase:
    return Phrase("Signed by the key {fingerprint}.", fingerprint=fingerprint)


def _diagnosis(block: _Block) -> Phrase:
    """The probable reason why a signature does not match its text, with advice on sending it."""
    if block.way in {"entity", "opaque"}:
        cause = Phrase(
            "a server or mailing list on the way changed the signed part: a footer, other line ends or encoding"
        )
    elif block.way == "attached":
        return Phrase(
            "The signature does not match the attached text: sign the file again, and attach both as they are."
        )
    else:
        text = block.text if isinstance(block.text, str) else ""
        cause = next((cause for holds, cause in _causes(text, block.marks) if holds), _CHANGED)
    advice = _ATTACH.given(suffix=_SUFFIX[block.format or "ssh"])
    return Phrase(
        "The signature does not match the text: {cause}. Sign it again, and send it unchanged. {advice}",
        cause=cause,
        advice=advice,
    )


def _causes(text: str, marks: tuple[str, ...]) -> list[tuple[bool, Phrase]]:
    lines = text.splitlines()
    return [
        (any(line.lstrip().startswith(">") for line in lines), Phrase("the signed lines were quoted with `>`")),
        (_LINK.search(text) is not None, Phrase("its names or addresses were turned into links")),
        ("\ufffd" in text or "\u00c3" in text, Phrase("its letters were re-encoded into another character set")),
        (text.translate(_SMART) != text, Phrase("quotes, dashes or dots were replaced by typographic ones")),
        (any(line.rstrip() == "--" or set(line) == {"_"} for line in lines), Phrase("a footer was added into it")),
        ("flowed" in marks, Phrase("your program sends format=flowed, which moves line ends and blanks")),
        (any(66 <= len(line) <= 79 and not _HASH.search(line) for line in lines), Phrase("its lines were wrapped")),
        ("html" in marks, Phrase("your program wrote it as HTML too, and changed blanks and line ends")),
    ]


def _candidates(block: _Block, words: Vocabulary) -> Iterator[bytes]:
    text = block.text
    if block.way == "entity":
        assert isinstance(text, bytes)
        lines = openpgp.canonical(text)
        bare = b"\r\n".join(line.rstrip(b" \t") for line in lines.split(b"\r\n"))
        yield from dict.fromkeys((lines, text, lines + b"\r\n", bare))
    elif block.way == "clear":
        assert isinstance(text, str)
        yield from _each_once(_clear_readings(text, words))
    else:
        if isinstance(text, bytes):
            yield text
            text = text.decode("utf-8", "replace")
        yield from readings(text or "", words)


def _in_other_encodings(block: _Block, words: Vocabulary) -> Iterator[tuple[str, bytes]]:
    """A pasted text as Windows may have encoded the file that was signed, only to name the cause."""
    if block.way != "pasted" or not isinstance(block.text, str):
        return
    for start in _starts(block.text, words):
        lines = _trimmed(_BLANK.sub(" ", block.text[start:].replace("\r\n", "\n").translate(_INVISIBLE)))
        for text in ("\r\n".join([*lines, ""]), "\r\n".join(lines)):
            # `>` of PowerShell, and Notepad's "Unicode".
            yield "UTF-16", codecs.BOM_UTF16_LE + text.encode("utf-16-le", "replace")
            yield "UTF-16", codecs.BOM_UTF16_BE + text.encode("utf-16-be", "replace")
            # Notepad's "ANSI", and a pipe of PowerShell 5, which makes `?` of each foreign character.
            if not text.isascii():
                yield "Windows-1252", text.encode("cp1252", "replace")
                yield "ASCII", text.encode("ascii", "replace")


def _clear_readings(text: str, words: Vocabulary) -> Iterator[bytes]:
    """Texts of a clear-signed message: dashes unescaped, no blanks at line ends, CR LF between (RFC 9580 7.1)."""
    unescaped = readings(re.sub(r"^- ", "", text, flags=re.M), words)
    # Most readings differ only in line ends.
    for reading in _each_once(reading.replace(b"\r\n", b"\n") for reading in unescaped):
        message = b"\r\n".join(line.rstrip(b" \t\r") for line in reading.split(b"\n"))
        yield message.removesuffix(b"\r\n")
        yield message


def _blocks(letter: Letter) -> Iterator[_Block]:
    """All signatures of a letter, of any format; `judge` accepts exactly one."""
    parts = letter.parts
    # Each text that is shown, once: a gateway may put one of its own before or behind the signed one.
    texts = (letter.text or "", *(part.text for part in letter.shown_texts if not part.filename))
    shown = {tuple(text.split()): text for text in texts}
    flowed = any(part.parameters.get("format", "").lower() == "flowed" for part in parts)
    html = any(part.content_type == "text/html" for part in parts)
    marks = (*(["flowed"] if flowed else []), *(["html"] if html else []))
    for text in shown.values():
        yield from _inline(text, marks)
    # The signature part of a multipart/signed entity must not count again as an attachment.
    consumed: set[int] = set()
    for entity in letter.root.walk():
        if entity.content_type == "multipart/signed":
            consumed.update(id(child) for child in entity.children[1:])
            yield _signed_entity(entity)
    for part in parts:
        if id(part) not in consumed:
            yield from _in_part(part, parts, shown)


def _signed_entity(entity: Part) -> _Block:
    """A multipart/signed container (RFC 1847): exactly two parts, the signed one and its signature."""
    children = entity.children
    kind = _DETACHED_TYPES.get(children[1].content_type) if len(children) == 2 else None
    if kind is None:
        return _Block(None, fault=Phrase("This letter is signed in an unknown way, or was changed on its way."))
    signature = children[1].content
    armor: bytes | str = signature
    if kind == "openpgp" and signature.lstrip()[:1] == b"-":
        armor = signature.decode("ascii", "replace")
    return _Block(kind, armor, children[0].raw, way="entity")


def _in_part(part: Part, parts: Sequence[Part], shown: Container[tuple[str, ...]]) -> Iterator[_Block]:
    kind = part.content_type
    name = (part.filename or "").lower()
    if kind in _OPAQUE_TYPES or name.endswith(".p7m"):
        yield _Block("smime", part.content, way="opaque")
    elif _DETACHED_TYPES.get(kind) == "smime" or name.endswith(".p7s"):
        yield _Block("smime", fault=_taken_apart("smime"))
    elif name.endswith(_SUFFIXES) or kind == "application/pgp-signature":
        # The file's name and armor decide, not its type: mutt calls every .sig file application/pgp-signature.
        yield from _signature_file(part, parts)
    elif name:
        text = part.content.decode("utf-8", "replace")
        # Some programs send a text twice, once with a name: its signature must not count twice.
        if tuple(text.split()) not in shown:
            yield from _inline(text, ())


def _taken_apart(kind: Format) -> Phrase:
    return Phrase(
        "The signed part of this letter was taken apart on its way. {advice}",
        advice=_ATTACH.given(suffix=_SUFFIX[kind]),
    )


def _signature_file(part: Part, parts: Sequence[Part]) -> Iterator[_Block]:
    content = part.content
    text = content.decode("utf-8", "replace").lstrip("\ufeff").strip()
    signature: tuple[Format, str | bytes] | None = None
    if text.startswith(ssh.BEGIN):
        signature = ("ssh", text)
    elif text.startswith(openpgp.SIGNATURE):
        signature = ("openpgp", text)
    elif openpgp.is_signature(content):
        signature = ("openpgp", content)
    if signature is not None:
        yield _detached(part, parts, *signature)
    elif content.startswith(_UTF_16):
        yield _Block(None, fault=_WIDE)
    # A key file beside the signed text is no signature.
    elif "-----BEGIN PGP PUBLIC KEY BLOCK-----" in text or part.content_type == "application/pgp-keys":
        return
    # The file may hold its text and a signature below; what has no name is none.
    elif part.filename and (inline := list(_inline(text, ()))):
        yield from inline
    elif not (part.filename or "").lower().endswith(".asc"):
        yield _Block(
            None, fault=Phrase("This kind of signature file is not supported; `help signing` lists those that are.")
        )


def _detached(part: Part, parts: Sequence[Part], kind: Format, armor: str | bytes) -> _Block:
    """Pair an attachment NAME.sig with its NAME."""
    signature = part.filename
    if not signature:
        return _Block(kind, fault=_taken_apart(kind))
    name = signature.rpartition(".")[0]
    named = [other for other in parts if name and other.filename == name]
    if len(named) != 1:
        missing = Phrase(
            "{signature} must have exactly one attachment {name} beside it.",
            signature=ascii(signature),
            name=ascii(name),
        )
        return _Block(kind, fault=missing)
    return _Block(kind, armor, named[0].content, way="attached")


def _inline(text: str, marks: tuple[str, ...]) -> Iterator[_Block]:
    for mark in _PASTED_CMS:
        for _ in _places(text, mark):
            yield _Block(
                "smime", fault=Phrase("S/MIME signatures are read from S/MIME letters, not from pasted text.")
            )
    for _ in _places(text, openpgp.MESSAGE):
        opaque = Phrase(
            "An OpenPGP message that hides its text is not accepted: sign in the clear (`gpg --clearsign`). {advice}",
            advice=_ATTACH.given(suffix="asc"),
        )
        yield _Block("openpgp", fault=opaque)
    yield from _inline_openpgp(text, marks)
    for at in _places(text, ssh.BEGIN):
        yield _Block("ssh", _until(text, at, ssh.END), text[:at], marks=marks)


def _inline_openpgp(text: str, marks: tuple[str, ...]) -> Iterator[_Block]:
    starts = list(_places(text, openpgp.CLEAR))
    ends = list(_places(text, openpgp.SIGNATURE))
    for at, end in enumerate(ends):
        start = starts[at] if at < len(starts) and starts[at] < end else None
        armor = _until(text, end, openpgp.SIGNATURE.replace("BEGIN", "END"))
        if start is None:
            yield _Block("openpgp", armor, text[:end], marks=marks)
            continue
        region = text[start + len(openpgp.CLEAR) : end]
        _, _, region = region.partition("\n")
        # Armor headers, such as `Hash: SHA512`, and the empty line behind them (RFC 9580 7), if it is there.
        region = re.sub(r"\A(?:[A-Za-z]{1,20}:[^\n]*\n)*", "", region)
        first, _, rest = region.partition("\n")
        signed = rest if not first.strip() else region
        whole = f"{text[start:end]}{armor}\n"
        yield _Block("openpgp", armor, signed.removesuffix("\n"), way="clear", marks=marks, whole=whole)
    for _ in starts[len(ends) :]:
        yield _Block("openpgp", fault=Phrase("The clear-signed text ends without its signature: send it whole."))


def _until(text: str, at: int, mark: str) -> str:
    end = text.find(mark, at)
    return text[at:] if end < 0 else text[at : end + len(mark)]


def _places(text: str, mark: str) -> Iterator[int]:
    """The places of a mark outside quotes."""
    at = text.find(mark)
    while at >= 0:
        line = text.rfind("\n", 0, at) + 1
        if not text[line : min(at, line + 80)].lstrip().startswith(">"):
            yield at
        at = text.find(mark, at + len(mark))


def readings(text: str, words: Vocabulary) -> Iterator[bytes]:
    """The texts that a player may have signed before mail programs changed them, the likeliest first.

    The text as it came; then, from its start and from each line that begins a form: blanks at line ends,
    blank lines around, invisible characters and NBSP repaired; margins and blank lines dropped; a form's
    head lines broken again at their keywords; its body unwrapped, or put on one line; links of names left out.
    Each with LF and CRLF, with and without the last line end; the likeliest as files of Windows, too. A repair
    is safe whatever it does: only the very bytes that the player's key signed verify, and commands are read
    from those bytes alone.
    """
    return _each_once(
        repaired.encode("utf-8", "replace")
        for start in _starts(text, words)
        for repaired in _repairs(text[start:], words.fields)
    )


def _each_once(texts: Iterable[bytes]) -> Iterator[bytes]:
    seen = set()
    for text in texts:
        digest = sha256(text).digest()  # the readings of a long text would fill the memory
        if digest not in seen:
            seen.add(digest)
            yield text


def _starts(text: str, words: Vocabulary) -> Iterator[int]:
    yield 0
    for match in islice(_opening(words).finditer(text), _STARTS):
        yield match.start(1)


@cache
def _opening(words: Vocabulary) -> re.Pattern[str]:
    """A pattern for the beginning of a form's first line."""
    names = sorted({name.partition(" ")[0] for name in words.commands})
    return re.compile(rf"^[^\S\n]*({'|'.join(map(re.escape, names))})\b", re.I | re.M)


def _repairs(text: str, fields: Collection[str]) -> Iterator[str]:
    yield text
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    yield plain
    visible = _BLANK.sub(" ", plain.translate(_INVISIBLE))
    clean = _trimmed(visible)
    layouts = _layouts(clean, fields)
    files = layouts[:2]
    if (named := _trimmed(unlinked(visible, joined=True))) != clean:
        clean = named
        layouts += _layouts(clean, fields)
        files += _layouts(clean, fields)[:2]
    layouts += _flowed(plain)
    smart = [line.translate(_SMART) for line in clean]
    if smart != clean:
        layouts += _layouts(smart, fields)
    for lines in layouts:
        for line_end in ("\n", "\r\n"):
            whole = line_end.join(lines)
            yield whole + line_end
            yield whole
    # A file of Windows may begin with a byte order mark; a pipe of PowerShell adds a line end, `echo` of cmd.exe a
    # blank before that. Only what is likely to have been a file is tried so: each reading costs a verification.
    for lines, line_end in product(files, ("\n", "\r\n")):
        whole = line_end.join(lines)
        for mark, end in product(("\ufeff", ""), (line_end, "", f"{line_end}\r\n", "\r\n", " \r\n")):
            yield f"{mark}{whole}{end}"


def _trimmed(text: str) -> list[str]:
    """The lines of a text, without blanks at their ends and empty lines around."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n").split("\n")


def _flowed(text: str) -> list[list[str]]:
    """Undo format=flowed (RFC 3676 4): space-stuffing, then soft line ends; none if there is nothing to undo."""
    lines = text.strip("\n").split("\n")
    stuffed = [line.removeprefix(" ") for line in lines]
    runs: list[list[str]] = []
    soft = False
    for line in stuffed:
        if soft:
            runs[-1].append(line)
        else:
            runs.append([line])
        soft = line.endswith(" ") and line != "-- "
    return [undone for undone in (stuffed, ["".join(run) for run in runs]) if undone != lines]


def _layouts(clean: list[str], fields: Collection[str]) -> list[list[str]]:
    dense = [line.strip() for line in clean if line]
    head, body, tail = _form(dense, fields)
    return [clean, dense, [*head, *body, *tail], [*head, *_unwrapped(body), *tail], [*head, " ".join(body), *tail]]


def _form(lines: list[str], fields: Collection[str]) -> tuple[list[str], list[str], list[str]]:
    """Break a form at its keywords: first line and fields, body, `end`."""
    text = "\n".join(lines)
    tail: list[str] = []
    if (closed := re.search(r"\s(end)$", text, re.I)) is not None:
        text, tail = text[: closed.start()], [closed[1]]
    # A form begins with a few words; the rest of a long text is not taken apart.
    words = list(islice(re.finditer(r"\S+", text), _HEAD))
    # The first word is the command's name, and one of them, `challenge`, is also a field's.
    at = next((at for at, word in enumerate(words) if at and word[0].lower() in fields), len(words))
    head = [" ".join(word[0] for word in words[:at])]
    while at < len(words) and words[at][0].lower() in fields:
        head.append(" ".join(word[0] for word in words[at : at + 2]))
        at += 2
    if len(head) == 1 or at == _HEAD:
        return [], text.split("\n"), tail
    if at < len(words) and words[at][0].lower() == "final":
        head.append(words[at][0])
        at += 1
    body = text[words[at].start() :].split("\n") if at < len(words) else []
    return head, body, tail


def _unwrapped(lines: list[str]) -> list[str]:
    """Join each line to the previous one if it would not have fitted there: programs wrap at 72 to 78."""
    runs: list[list[str]] = []
    last = 0
    for line in lines:
        if runs and last + 1 + len(line.split(" ", 1)[0]) > 72:
            runs[-1].append(line)
        else:
            runs.append([line])
        last = len(line)
    return [" ".join(run) for run in runs]
