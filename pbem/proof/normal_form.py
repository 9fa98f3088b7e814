"""The normal form of signed text: the one way in which all programs read what a signature covers, or refuse it.

The desk calls this on arrival, the proof later, and so do the other players' programs. Implements protocol.md,
"Identity".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from pbem import identity
from pbem.config.limits import Limits
from pbem.identity import Verdict
from pbem.mail import commands
from pbem.mail.message import Unreadable, read_letter
from pbem.mail.one_reading import doubt
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase
from pbem.proof import key_changes
from pbem.proof.listed_keys import parsed_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pbem.mail.message import Letter

VOCABULARY = identity.Vocabulary(tuple(commands.COMMANDS), commands.FIELDS)
"""The words by which a signed form is found in a letter."""

_SHOWN: Final = Limits(message_bytes=1 << 20)
"""Hardly wider than those of most servers, for the others' programs read every text of a game again and again: in
UTF-8, an accepted text may have three times as many octets."""

UNCLEAR: Final = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that some programs read as the end of a line or of the text, and others as a blank, or not at all."""


def normal_text(verdict: Verdict) -> str:
    """The text that a signature covers, in its one normal form, read only from the signed bytes."""
    return _in_normal_form(verdict, read_letter(verdict.signed) if verdict.entity else None)


def _in_normal_form(verdict: Verdict, entity: Letter | None) -> str:
    return _normal(verdict.signed.decode("utf-8", "replace") if entity is None else entity.text or "")


def _normal(text: str) -> str:
    """The text in its normal form: line ends LF, plain blanks, none at line ends, no invisible characters."""
    return "\n".join(line.rstrip() for line in commands.clean(text).split("\n"))


class JudgedText(msgspec.Struct, frozen=True):
    """A judged letter, as it counts on arrival: the text from which its commands are read."""

    verdict: Verdict
    text: str
    """The text from which commands are read."""
    words: str = ""
    """SHA-256 of the signed words, the same in any MIME encoding; empty if nothing is signed."""


def judged_text(letter: Letter, verdict: Verdict, read: Callable[[bytes], Letter] = read_letter) -> JudgedText:
    """A judged letter as it counts; the verdict is `refused` if programs might read the signed bytes differently.

    Only on arrival: later, the verdict decides, so that no accepted letter becomes invalid.
    """
    if verdict.kind != "valid":
        return JudgedText(verdict, letter.text or "")
    entity: Letter | None = None
    try:
        entity = read(verdict.signed) if verdict.entity else None
        fault = (doubt(entity.root) if entity else None) or _unclear(verdict, entity)
    except Unreadable as error:
        fault = Phrase("The signed letter cannot be read: {reason}.", reason=error.reason)
    if fault is not None:
        return JudgedText(Verdict("refused", fault, verdict.format), letter.text or "")
    text = _in_normal_form(verdict, entity)
    return JudgedText(verdict, text, hash_of_words(text, key_changes.files(entity.parts) if entity else ()))


def judged_by_others(content: bytes, keys: Iterable[str], server: str) -> JudgedText:
    """A signed text as the other players read it; `keys` are the signer's, as public text.

    The server on arrival and the other players' programs both call this, over the same octets, so that no letter
    counts that the others would read differently. Raises `BadKey`.
    """
    parsed = [parsed_key(public) for public in keys]
    try:
        letter = read_letter(b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + content, _SHOWN)
    except Unreadable as error:
        return JudgedText(Verdict("refused", error.reason), "")
    # One by one: a key that came later, and revokes a subkey which it shares, takes nothing back.
    verdicts = [identity.judge(letter, [key], server, words=VOCABULARY) for key in parsed]
    verdict = next((one for one in verdicts if one.kind == "valid"), None)
    verdict = verdict or identity.judge(letter, parsed, server, words=VOCABULARY)
    if verdict.kind != "valid":
        return JudgedText(verdict, "")
    text = normal_text(verdict)
    return JudgedText(verdict, text, hash_of_words(text))


def _unclear(verdict: Verdict, entity: Letter | None) -> Phrase | None:
    """The reason why programs may read the signed bytes differently, if there is one."""
    # An OpenPGP text signature verifies with CR or LF as line ends (RFC 9580 5.2.1.2), also within headers.
    around = verdict.signed.decode("latin-1")
    text: str | None = ""
    try:
        if entity is None:
            text = verdict.signed.decode()
        elif entity.plain is not None:
            text = entity.plain.unaltered
    except UnicodeDecodeError:
        text = None
    if text is None:
        return Phrase("The signed text is not in the character set that its letter declares: send it as UTF-8.")
    odd = UNCLEAR.search(text) or re.search(r"\r(?!\n)|\0", around)
    if odd is None:
        return None
    return Phrase(
        "The signed text contains a character that programs read in different ways, {name}: remove it, and sign"
        " it again.",
        name=f"U+{ord(odd[0]):04X}",
    )


def hash_of_words(text: str, files: Iterable[bytes] = ()) -> str:
    """The hash by which to recognise the same words: of a text in normal form, and of keys signed with it."""
    lines = [text.strip("\n"), *(sha256_hex(b" ".join(content.split())) for content in files)]
    return sha256_hex("\n".join(lines).encode("utf-8", "replace"))


def hash_of_entry_words(text: str) -> str:
    """The hash of what a letter says to a tournament, signed or not, as the tournament's entry names it."""
    return hash_of_words(_normal(text))
