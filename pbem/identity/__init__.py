"""Who signed this: one graded verdict over a letter, whatever the format of its signature.

Here lives finding the one signature of a letter and the text that it may cover; each format verifies in a
module of its own. No game knowledge, no store, no clock: the desk hands in the keys that are pinned to the
named player, and no others are tried. Implements protocol.md, "Identity".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from pbem.identity import ssh
from pbem.identity.verdict import BadKey, BadSignature, Format, Key, Kind, Part, Signable, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["BadKey", "BadSignature", "Format", "Key", "Kind", "Part", "Signable", "Verdict", "judge", "readings"]

_STARTS = 4
"""How many lines that look like the start of a signed form are tried."""

_FORM = re.compile(
    r"^[^\S\n]*(orders|setup|register|confirm|new|accept|decline|clear|preview|press|resign)\b", re.I | re.M
)
_FIELDS = frozenset({"server", "player", "prev", "rev", "challenge"})
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_BLANK = re.compile(r"[^\S\n]")

# Signatures that are seen, so that they count, but not understood.
_FOREIGN_TYPES: dict[str, Format] = {
    "application/pgp-signature": "openpgp",
    "application/pgp-encrypted": "openpgp",
    "application/pkcs7-signature": "smime",
    "application/x-pkcs7-signature": "smime",
    "application/pkcs7-mime": "smime",
    "application/x-pkcs7-mime": "smime",
}
_FOREIGN_MARKS: dict[str, Format] = {
    "-----BEGIN PGP SIGNATURE-----": "openpgp",
    "-----BEGIN PGP MESSAGE-----": "openpgp",
    "-----BEGIN PKCS7-----": "smime",
    "-----BEGIN CMS-----": "smime",
    "untrusted comment: signature": "minisign",
}


@dataclass(frozen=True, slots=True)
class _Block:
    """One signature in a letter: its format, its armor, and what it may cover."""

    format: Format | None
    armor: str = ""
    text: bytes | str | None = None
    fault: str = ""


def judge(letter: Signable, keys: Sequence[Key], server: str, *, namespace: str | None = None) -> Verdict:
    """Say who signed this letter, trying only the keys offered.

    The namespace of a signature must be `pbem@<server>`, or `namespace` where one is given. Never raises.
    """
    blocks = list(islice(_blocks(letter), 2))
    if not blocks:
        return Verdict("none", "The letter bears no signature.")
    if len(blocks) > 1:
        return Verdict("refused", "A letter may bear one signature; this one bears more.")
    block = blocks[0]
    if block.fault:
        return Verdict("refused", block.fault, block.format)
    return _judge_ssh(block, keys, namespace or f"pbem@{server}")


def _judge_ssh(block: _Block, keys: Sequence[Key], namespace: str) -> Verdict:
    try:
        signature = ssh.read(block.armor)
    except BadSignature as error:
        return Verdict(error.kind, str(error), "ssh")
    if signature.namespace != namespace:
        found = signature.namespace[:64]
        return Verdict("refused", f"The signature is made for {found!a}, not for {namespace}.", "ssh")
    name = ssh.fingerprint(signature.publickey)
    key = next((key for key in keys if key.format == "ssh" and key.fingerprint == name), None)
    if key is None:
        return Verdict("unknown key", f"The signature is by the key {name}, which is none of yours here.", "ssh")
    for message in _candidates(block.text):
        if ssh.verify(signature, key, message):
            return _graded(key, message)
    return Verdict("bad", "The signature does not fit the text: sign it again, and send it unchanged.", "ssh")


def _graded(key: Key, message: bytes) -> Verdict:
    if key.state == "pinned":
        return Verdict("valid", f"Signed by the key {key.fingerprint}.", key.format, key.fingerprint, message)
    return Verdict(key.state, f"The key {key.fingerprint} is {key.state}.", key.format, key.fingerprint)


def _candidates(text: bytes | str | None) -> Iterator[bytes]:
    if isinstance(text, bytes):
        yield text
        text = text.decode("utf-8", "replace")
    yield from readings(text or "")


def _blocks(letter: Signable) -> Iterator[_Block]:
    """Find every signature, of whatever format: exactly one may be there."""
    yield from _inline(letter.text or "")
    body = (letter.text or "").split()
    parts = letter.parts
    for part in parts:
        named_signature = part.filename is not None and part.filename.lower().endswith(".sig")
        # The name and the armor decide: mutt calls every .sig file application/pgp-signature.
        if named_signature and _armor(part).startswith(ssh.BEGIN):
            yield _detached(part, parts)
        elif (kind := _FOREIGN_TYPES.get(part.content_type.lower())) is not None or named_signature:
            yield _foreign(kind)
        elif part.filename:
            text = part.content.decode("utf-8", "replace")
            # Some programs name even the body: what was read as letter.text is not counted a second time.
            if text.split() != body:
                yield from _inline(text)


def _foreign(kind: Format | None) -> _Block:
    return _Block(kind, fault="This sort of signature is not understood: sign with ssh-keygen -Y sign.")


def _inline(text: str) -> Iterator[_Block]:
    for mark, kind in _FOREIGN_MARKS.items():
        for _ in _places(text, mark):
            yield _foreign(kind)
    for at in _places(text, ssh.BEGIN):
        end = text.find(ssh.END, at)
        armor = text[at:] if end < 0 else text[at : end + len(ssh.END)]
        yield _Block("ssh", armor, text[:at])


def _places(text: str, mark: str) -> Iterator[int]:
    """Where a mark stands outside of quotes."""
    at = text.find(mark)
    while at >= 0:
        line = text.rfind("\n", 0, at) + 1
        if not text[line : min(at, line + 80)].lstrip().startswith(">"):
            yield at
        at = text.find(mark, at + len(mark))


def _armor(part: Part) -> str:
    return part.content.decode("utf-8", "replace").lstrip("\ufeff").strip()


def _detached(part: Part, parts: Sequence[Part]) -> _Block:
    """Pair an attachment NAME.sig with its NAME."""
    signature = part.filename or ""
    name = signature.rpartition(".")[0]
    named = [other for other in parts if other.filename == name]
    if len(named) != 1:
        return _Block("ssh", fault=f"{signature!a} must have exactly one attachment {name!a} beside it.")
    return _Block("ssh", _armor(part), named[0].content)


def readings(text: str) -> Iterator[bytes]:
    """Give the texts that a player may have signed before mail programs changed them, the likeliest first.

    The text as it came; then, from its start and from each line that begins a form: blanks at line ends,
    blank lines around, invisible characters and NBSP repaired; margins and blank lines dropped; a form's
    head lines broken again at their keywords; its body unwrapped, or put on one line. Each with LF and CRLF,
    with and without the last line end. A repair is safe whatever it does: only the very bytes that the
    player's key signed verify, and commands are read from those bytes alone.
    """
    seen = set()
    starts = [0, *(match.start(1) for match in _FORM.finditer(text))]
    for start in starts[: _STARTS + 1]:
        for repaired in _repairs(text[start:]):
            data = repaired.encode("utf-8", "replace")
            if data not in seen:
                seen.add(data)
                yield data


def _repairs(text: str) -> Iterator[str]:
    yield text
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    yield plain
    clean = [line.rstrip() for line in _BLANK.sub(" ", plain.translate(_INVISIBLE)).strip("\n").split("\n")]
    while clean and not clean[0]:
        del clean[0]
    while clean and not clean[-1]:
        del clean[-1]
    dense = [line.strip() for line in clean if line]
    head, body, tail = _form(dense)
    layouts = [clean, dense, [*head, *body, *tail], [*head, *_unwrapped(body), *tail], [*head, " ".join(body), *tail]]
    for lines in layouts:
        for line_end in ("\n", "\r\n"):
            whole = line_end.join(lines)
            yield whole + line_end
            yield whole


def _form(lines: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Break a form at its keywords: first line and fields, body, `end`."""
    text = "\n".join(lines)
    tail: list[str] = []
    if (closed := re.search(r"\s(end)$", text, re.I)) is not None:
        text, tail = text[: closed.start()], [closed[1]]
    words = list(re.finditer(r"\S+", text))
    at = next((at for at, word in enumerate(words) if word[0].lower() in _FIELDS), len(words))
    head = [" ".join(word[0] for word in words[:at])]
    while at < len(words) and words[at][0].lower() in _FIELDS:
        head.append(" ".join(word[0] for word in words[at : at + 2]))
        at += 2
    if len(head) == 1:
        return [], text.split("\n"), tail
    if at < len(words) and words[at][0].lower() == "final":
        head.append(words[at][0])
        at += 1
    body = text[words[at].start() :].split("\n") if at < len(words) else []
    return head, body, tail


def _unwrapped(lines: list[str]) -> list[str]:
    """Join each line to the one before where it would not have fitted there: programs wrap at 72 to 78."""
    joined: list[str] = []
    last = 0
    for line in lines:
        if joined and last + 1 + len(line.split(" ", 1)[0]) > 72:
            joined[-1] += " " + line
        else:
            joined.append(line)
        last = len(line)
    return joined
