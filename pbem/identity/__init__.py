"""The signer of a letter: one graded verdict over a letter, whatever the format of its signature.

`signatures.py` finds the one signature of a letter, `repairs.py` the texts that it may cover; each format verifies in
its own module, with the keys that are pinned to the named player. On arrival, when the caller passes the time, more
is refused than later: signatures that will not hold for ever, and costly keys. An accepted letter is verified without
a time, so that neither a new rule nor today's date makes an old match unreadable. Implements protocol.md, "Identity".
"""

from __future__ import annotations

import codecs
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from pbem.identity import openpgp, smime, ssh
from pbem.identity.repairs import clear_readings, each_once, in_other_encodings, readings
from pbem.identity.signatures import UTF_16, WIDE, FoundSignature, find_signatures
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
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from pbem.mail.message import Letter

__all__ = ["STATES", "BadKey", "Format", "Key", "Verdict", "Vocabulary", "judge", "parse_key", "readings"]

_WORK = 8 * 2**20
"""Octets of all the texts that are tried on arrival: whoever signs something else would have hundreds verified."""

_KEY_WORK = 2**15
"""The octets that verifying by one key stands for, besides those of the text: the costliest takes a millisecond."""

_NAMED = 16
"""The most keys that are tried on arrival. Certificates may bear one name, and revoked keys add up."""

_ENCODED = Phrase("The file that was signed is in {encoding}: save it as UTF-8, sign it again, and send that.")


_Signature = openpgp.OpenpgpSignature | smime.SmimeSignature | ssh.SshSignature
"""One signature, not yet verified, as each format reads it.

`issuer` is the key that it names; `claims` compares that with a key, only a hint that saves work; `covers` returns
the signed bytes and the state of the key, or None. With the time of arrival, `covers` raises `BadSignature` for
signatures that will not last.
"""


_READERS: dict[Format | None, Callable[[Any], _Signature]] = {
    "openpgp": openpgp.read_signature,
    "smime": smime.read_signature,
    "ssh": ssh.read_signature,
}
"""The reader of signatures for each format: S/MIME's takes octets, SSH's text, OpenPGP's either."""


def parse_key(data: str | bytes, at: datetime | None = None) -> Key:
    """Read a public key of any format, from pasted text or an attached file; raises `BadKey`.

    Its state is as of the time `at`; without a time, expiry is not checked.
    """
    if isinstance(data, bytes):
        if data.startswith(UTF_16):
            raise BadKey(WIDE)
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
    found = list(islice(find_signatures(letter), 2))
    if not found:
        return Verdict("none", Phrase("The letter bears no signature."))
    if len(found) > 1:
        return Verdict("refused", Phrase("A letter may bear one signature; this one bears more."))
    if fault := found[0].fault:
        return Verdict("refused", fault, found[0].format)
    try:
        return _judged(found[0], keys, words, namespace or f"pbem@{server}", at)
    except BadSignature as error:
        return Verdict(error.kind, error.reason, found[0].format)


def _judged(
    found: FoundSignature, keys: Sequence[Key], words: Vocabulary, namespace: str, at: datetime | None
) -> Verdict:
    """The verdict over one signature; raises `BadSignature`."""
    signature = _READERS[found.format](found.armor)
    if isinstance(signature, ssh.SshSignature) and signature.namespace != namespace:
        made_for = ascii(signature.namespace[:64])
        raise BadSignature(
            Phrase("The signature was made for {found}, not for {namespace}.", found=made_for, namespace=namespace)
        )
    named = _named(signature, [key for key in keys if key.format == found.format], at)
    # No signature by a revoked OpenPGP certificate verifies any more: name that reason, and not a changed text.
    if isinstance(signature, openpgp.OpenpgpSignature):
        for key in filter(signature.revoked, named):
            return _graded(found, key, "revoked", b"")
    # What was accepted is found again with other keys beside its own, and by a later order of the readings.
    work = 4 * _WORK if at is None else _WORK // len(named)
    for encoding, message in _messages(found, signature, words):
        work -= len(message) + _KEY_WORK
        if work < 0:
            break
        for key in named:
            if (covered := signature.covers(key, message, at)) is None:
                continue
            if encoding:
                raise BadSignature(_ENCODED.given(encoding=encoding), "bad")
            signed, state = covered
            return _graded(found, key, key.state if key.state != "pinned" else state, signed)
    raise BadSignature(found.diagnosis(), "bad")


def _named(signature: _Signature, keys: Sequence[Key], at: datetime | None) -> list[Key]:
    """The keys of its format that a signature names; raises `BadSignature` if there is none."""
    if named := list(islice(filter(signature.claims, keys), None if at is None else _NAMED)):
        return named
    unknown = Phrase(
        "The signature was made by the key {name}, which is not one of your keys here.", name=signature.issuer
    )
    raise BadSignature(unknown, "unknown key")


def _messages(found: FoundSignature, signature: _Signature, words: Vocabulary) -> Iterator[tuple[str, bytes]]:
    """The texts that the signature may cover, each with ""; then those that only name a cause, with an encoding."""
    content = signature.content if isinstance(signature, smime.SmimeSignature) else None
    if found.way == "opaque" and content is None:
        raise BadSignature(Phrase("The S/MIME letter holds a signature but no text."), "bad")
    if found.way != "opaque" and content is not None:
        raise BadSignature(Phrase("The S/MIME signature carries its own text beside the one that it is attached to."))
    texts: Iterable[bytes]
    text = found.text
    if content is not None:
        texts = [content]
    elif isinstance(text, str):
        texts = each_once(clear_readings(text, words)) if found.way == "clear" else readings(text, words)
    elif found.way == "entity":
        lines = openpgp.canonical(text)
        bare = b"\r\n".join(line.rstrip(b" \t") for line in lines.split(b"\r\n"))
        texts = dict.fromkeys((lines, text, lines + b"\r\n", bare))
    else:
        texts = chain([text], readings(text.decode("utf-8", "replace"), words))
    yield from (("", reading) for reading in texts)
    if found.way == "pasted" and isinstance(text, str):
        yield from in_other_encodings(text, words)


def _graded(found: FoundSignature, key: Key, state: State, message: bytes) -> Verdict:
    if state == "pinned":
        signed_by = Phrase("Signed by the key {fingerprint}.", fingerprint=key.fingerprint)
        pasted = found.pasted(message)
        return Verdict("valid", signed_by, key.format, key.fingerprint, message, found.is_entity, pasted)
    reason = Phrase("The key {fingerprint} is {state}.", fingerprint=key.fingerprint, state=STATES[state])
    return Verdict(state, reason, key.format, key.fingerprint)
