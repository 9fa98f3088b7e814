"""The letters of a key change, read the same way when they come and when a bundle is verified.

The signature of an old key must cover the new key itself, or its fingerprint; the new key signs a form that names
the player, the server, its own fingerprint and by which proof it comes. No store, no effect. Implements protocol.md,
"Identity".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from pbem.identity import BadKey, Key, parse_key
from pbem.mail.commands import masked
from pbem.mail.message import read_letter
from pbem.match.pinned_keys import HOW
from pbem.phrase import Phrase
from pbem.requests import AddKey, Confirm, RevokeKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pbem.identity import Verdict
    from pbem.mail.commands import AnyCommand
    from pbem.mail.message import Letter, Part
    from pbem.match.pinned_keys import KeyChange, Player
    from pbem.requests import AnyForm, Recover, Register

_KEY_FILES = (".pub", ".asc", ".pem", ".crt", ".cer", ".gpg", ".pgp")
_KEY_TYPES = frozenset({"application/pgp-keys", "application/x-x509-user-cert"})

_SHORTEST = 6
"""The least number of characters of a fingerprint, not counting its `SHA256:`."""

_FORMS = re.compile(r"\b(orders|setup|preview)\s+m[0-9]", re.I)
_QUOTES = re.compile(r"^[^\S\n]*>|<blockquote", re.I | re.M)


def asked(
    request: Register | AddKey | Recover,
    verdict: Verdict,
    letter: Letter,
    *,
    read: Callable[[bytes], Letter] = read_letter,
    parse_key: Callable[[str | bytes], Key] = parse_key,
) -> Key | None:
    """The new key that a command brings, covered by the letter's signature; None if it brings none.

    A letter without a signature covers nothing: then the attached key is taken as it is, and proves itself later.
    Raises `BadKey`.
    """
    if request.key:
        return parse_key(request.key)
    fingerprint = request.fingerprint if isinstance(request, AddKey) else None
    covered = read(verdict.signed).parts if verdict.entity else letter.parts if verdict.kind != "valid" else ()
    if fingerprint is None:
        return next(_attached(covered, parse_key), None)
    found = _attached(letter.parts, parse_key)
    return next((key for key in found if _plain(key.fingerprint) == _plain(fingerprint)), None)


def _attached(parts: Iterable[Part], parse_key: Callable[[str | bytes], Key]) -> Iterator[Key]:
    """The public keys among these parts; raises `BadKey` if the only one is faulty."""
    faults = []
    found = False
    for content in files(parts):
        try:
            key = parse_key(content)
        except BadKey as error:
            faults.append(error)
            continue
        found = True
        yield key
    if faults and not found:
        raise faults[0]


def files(parts: Iterable[Part]) -> Iterator[bytes]:
    """Contents of the parts that look like files of public keys."""
    for part in parts:
        name = (part.filename or "").lower()
        signature = b"-----BEGIN PGP SIG" in part.content[:200]
        if not signature and (name.endswith(_KEY_FILES) or part.content_type in _KEY_TYPES):
            yield part.content


def named(fingerprints: Iterable[str], given: str) -> list[str]:
    """The fingerprints that begin like this, however it was written."""
    start = _plain(given)
    return [one for one in fingerprints if _plain(one).startswith(start)] if len(start) >= _SHORTEST else []


def _plain(fingerprint: str) -> str:
    return fingerprint.lower().removeprefix("sha256:").replace(":", "").removesuffix("=")


class Spoken(msgspec.Struct, frozen=True):
    """A letter whose signature holds, and the commands in it."""

    letter: Letter
    verdict: Verdict
    commands: Sequence[AnyCommand]


def says(spoken: Spoken, who: str, change: KeyChange, player: Player, server: str) -> bool:
    """True if a letter says what a change of the player's keys requires: "old" asks for it, "new" confirms it.

    A revocation must name its place: nothing else of that change is signed.
    """
    places: set[tuple[str | None, str | None]] = {(server, player.name)}
    if change.change != "revoked":
        places |= {(None, player.name), (server, None), (None, None)}
    forms = [command.form for command in spoken.commands if not command.faults]
    return any((form.server, form.player) in places and _says(form, spoken, who, change, player) for form in forms)


def _says(form: AnyForm, spoken: Spoken, who: str, change: KeyChange, player: Player) -> bool:
    match form.request:
        case RevokeKey(fingerprint=given) if (who, change.change) == ("old", "revoked"):
            return named((key["fingerprint"] for key in player.keys), given) == [*change.revoked]
        case AddKey() as request if (who, change.change) == ("old", "added"):
            key = asked(request, spoken.verdict, spoken.letter)
            (added,) = change.added
            return key is not None and (key.format, key.fingerprint) == (added["format"], added["fingerprint"])
        case Confirm(name=player.name, proof=proof) as confirmed if who == "new" and form.server is not None:
            return confirmed.fingerprint == change.added[0]["fingerprint"] and HOW.get(proof or "") == change.how
    return False


def unfit(letter: Letter) -> Phrase | None:
    """The reason why a letter may not be shown to others, if any: it goes to opponents as proof of a new key."""
    text = "\n".join([letter.subject, letter.text or "", *map(_text, letter.parts)])
    if masked(text) != text:
        return Phrase("it holds what looks like a recovery code")
    if _FORMS.search(text):
        return Phrase("it holds orders or a setup")
    if _QUOTES.search(text):
        return Phrase("it quotes another letter")
    return None


def _text(part: Part) -> str:
    """The readable text of a part; the bytes of a signature may look like anything by chance."""
    try:
        return part.content.decode()
    except UnicodeDecodeError:
        return part.content.decode("utf-8", "replace") if part.content_type.startswith("text/") else ""
