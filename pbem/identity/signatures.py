"""The signatures of a letter: where each is, the text beside it, and the probable reason why one does not match it.

A signature is pasted below its text, attached beside it, a part of a signed MIME entity, or an S/MIME letter around
it. Nothing is verified here; `pbem/identity/__init__.py` judges. Implements RFC 1847, RFC 3156 and RFC 9580, 7.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Literal

import msgspec

from pbem.identity import openpgp, ssh
from pbem.identity.repairs import SMART
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from pbem.identity.verdict import Format
    from pbem.mail.message import Letter, Part

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
_SUFFIX: dict[Format, str] = {"openpgp": "asc", "smime": "asc", "ssh": "sig"}
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_ATTACH = Phrase(
    "Attach the text and its signature as two files, such as orders.txt and orders.txt.{suffix}: they arrive"
    " unchanged."
)
_CHANGED = Phrase("it was changed after signing")
WIDE = Phrase("The file is in UTF-16, as PowerShell 5 writes what `>` puts there: save it as UTF-8, and send that.")


class FoundSignature(msgspec.Struct, frozen=True):
    """One signature in a letter: its format, the signature itself, and the text beside it."""

    format: Format | None
    armor: str | bytes = ""
    text: bytes | str = ""
    fault: Phrase | None = None
    way: Literal["pasted", "clear", "attached", "entity", "opaque"] = "pasted"
    marks: tuple[str, ...] = ()
    """Features of the letter that explain a broken text: `flowed`, `html`."""
    whole: str = ""
    """The whole of a clear-signed message."""

    @property
    def is_entity(self) -> bool:
        """True if it covers a MIME entity with headers of its own."""
        return self.way in {"entity", "opaque"}

    def pasted(self, message: bytes) -> str:
        """The signed text with its signature below, which any letter can bring; empty if a text cannot hold it."""
        if self.whole:
            return self.whole
        if self.is_entity or not isinstance(self.armor, str):
            return ""
        try:
            text = message.decode()
        except UnicodeDecodeError:
            return ""
        line_end = "" if text.endswith("\n") else "\n"
        return f"{text}{line_end}{self.armor.strip()}\n"

    def diagnosis(self) -> Phrase:
        """The probable reason why it does not match its text, with advice on sending it."""
        if self.way == "attached":
            return Phrase(
                "The signature does not match the attached text: sign the file again, and attach both as they are."
            )
        if self.is_entity:
            cause = Phrase(
                "a server or mailing list on the way changed the signed part: a footer, other line ends or encoding"
            )
        else:
            cause = next((cause for holds, cause in self._causes() if holds), _CHANGED)
        return Phrase(
            "The signature does not match the text: {cause}. Sign it again, and send it unchanged. {advice}",
            cause=cause,
            advice=_ATTACH.given(suffix=_SUFFIX[self.format or "ssh"]),
        )

    def _causes(self) -> list[tuple[bool, Phrase]]:
        text = self.text if isinstance(self.text, str) else ""
        lines = text.splitlines()
        return [
            (any(line.lstrip().startswith(">") for line in lines), Phrase("the signed lines were quoted with `>`")),
            (_LINK.search(text) is not None, Phrase("its names or addresses were turned into links")),
            ("\ufffd" in text or "\u00c3" in text, Phrase("its letters were re-encoded into another character set")),
            (text.translate(SMART) != text, Phrase("quotes, dashes or dots were replaced by typographic ones")),
            (
                any(line.rstrip() == "--" or set(line) == {"_"} for line in lines),
                Phrase("a footer was added into it"),
            ),
            ("flowed" in self.marks, Phrase("your program sends format=flowed, which moves line ends and blanks")),
            (
                any(66 <= len(line) <= 79 and not _HASH.search(line) for line in lines),
                Phrase("its lines were wrapped"),
            ),
            ("html" in self.marks, Phrase("your program wrote it as HTML too, and changed blanks and line ends")),
        ]


def find_signatures(letter: Letter) -> Iterator[FoundSignature]:
    """All signatures of a letter, of any format; a letter may bear one."""
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


def _signed_entity(entity: Part) -> FoundSignature:
    """A multipart/signed container (RFC 1847): exactly two parts, the signed one and its signature."""
    children = entity.children
    kind = _DETACHED_TYPES.get(children[1].content_type) if len(children) == 2 else None
    if kind is None:
        return FoundSignature(
            None, fault=Phrase("This letter is signed in an unknown way, or was changed on its way.")
        )
    signature = children[1].content
    armor: bytes | str = signature
    if kind == "openpgp" and signature.lstrip()[:1] == b"-":
        armor = signature.decode("ascii", "replace")
    return FoundSignature(kind, armor, children[0].raw, way="entity")


def _in_part(part: Part, parts: Sequence[Part], shown: Container[tuple[str, ...]]) -> Iterator[FoundSignature]:
    kind = part.content_type
    name = (part.filename or "").lower()
    if kind in _OPAQUE_TYPES or name.endswith(".p7m"):
        yield FoundSignature("smime", part.content, way="opaque")
    elif _DETACHED_TYPES.get(kind) == "smime" or name.endswith(".p7s"):
        yield FoundSignature("smime", fault=_taken_apart("smime"))
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


def _signature_file(part: Part, parts: Sequence[Part]) -> Iterator[FoundSignature]:
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
    elif content.startswith(UTF_16):
        yield FoundSignature(None, fault=WIDE)
    # A key file beside the signed text is no signature.
    elif "-----BEGIN PGP PUBLIC KEY BLOCK-----" in text or part.content_type == "application/pgp-keys":
        return
    # The file may hold its text and a signature below; what has no name is none.
    elif part.filename and (inline := list(_inline(text, ()))):
        yield from inline
    elif not (part.filename or "").lower().endswith(".asc"):
        yield FoundSignature(
            None, fault=Phrase("This kind of signature file is not supported; `help signing` lists those that are.")
        )


def _detached(part: Part, parts: Sequence[Part], kind: Format, armor: str | bytes) -> FoundSignature:
    """Pair an attachment NAME.sig with its NAME."""
    signature = part.filename
    if not signature:
        return FoundSignature(kind, fault=_taken_apart(kind))
    name = signature.rpartition(".")[0]
    named = [other for other in parts if name and other.filename == name]
    if len(named) != 1:
        missing = Phrase(
            "{signature} must have exactly one attachment {name} beside it.",
            signature=ascii(signature),
            name=ascii(name),
        )
        return FoundSignature(kind, fault=missing)
    return FoundSignature(kind, armor, named[0].content, way="attached")


def _inline(text: str, marks: tuple[str, ...]) -> Iterator[FoundSignature]:
    for mark in _PASTED_CMS:
        for _ in _places(text, mark):
            yield FoundSignature(
                "smime", fault=Phrase("S/MIME signatures are read from S/MIME letters, not from pasted text.")
            )
    for _ in _places(text, openpgp.MESSAGE):
        opaque = Phrase(
            "An OpenPGP message that hides its text is not accepted: sign in the clear (`gpg --clearsign`). {advice}",
            advice=_ATTACH.given(suffix="asc"),
        )
        yield FoundSignature("openpgp", fault=opaque)
    yield from _inline_openpgp(text, marks)
    for at in _places(text, ssh.BEGIN):
        yield FoundSignature("ssh", _until(text, at, ssh.END), text[:at], marks=marks)


def _inline_openpgp(text: str, marks: tuple[str, ...]) -> Iterator[FoundSignature]:
    starts = list(_places(text, openpgp.CLEAR))
    ends = list(_places(text, openpgp.SIGNATURE))
    for at, end in enumerate(ends):
        start = starts[at] if at < len(starts) and starts[at] < end else None
        armor = _until(text, end, openpgp.SIGNATURE.replace("BEGIN", "END"))
        if start is None:
            yield FoundSignature("openpgp", armor, text[:end], marks=marks)
            continue
        region = text[start + len(openpgp.CLEAR) : end]
        _, _, region = region.partition("\n")
        # Armor headers, such as `Hash: SHA512`, and the empty line behind them (RFC 9580 7), if it is there.
        region = re.sub(r"\A(?:[A-Za-z]{1,20}:[^\n]*\n)*", "", region)
        first, _, rest = region.partition("\n")
        signed = rest if not first.strip() else region
        whole = f"{text[start:end]}{armor}\n"
        yield FoundSignature("openpgp", armor, signed.removesuffix("\n"), way="clear", marks=marks, whole=whole)
    for _ in starts[len(ends) :]:
        yield FoundSignature(
            "openpgp", fault=Phrase("The clear-signed text ends without its signature: send it whole.")
        )


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
