"""The keys that may sign the letters of a seat: those pinned at the start, and every change since.

Here live a change of keys as the transcript tells it, and which keys count after it. The desk decides beforehand
who may change what; the reader of a bundle proves it afterwards from the letters. A revoked key still counts for
letters that wait and cite the head that was printed before it was revoked. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pbem.match.transcript import sha256_hex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.json_object import JsonObject
    from pbem.match.documents import NamedMailbox

HOW: Mapping[str, str] = {
    "old-key": "signed",
    "recovery-code": "recovery code",
    "mailbox": "mailbox, after notice and delay",
}
"""The proofs that allow a change: the word in the player's own form, and the transcript's."""

_LETTERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "added": {"signed": ("old", "new")},
    "revoked": {"signed": ("old",)},
    "replaced": {"recovery code": ("new",), "mailbox, after notice and delay": ("new",)},
}
"""The letters that prove each kind of change: signed by an old key, by the new one, or by both."""


class Player(msgspec.Struct, frozen=True):
    """One player of a match: the name, and the public keys that letters may be signed with."""

    name: str
    keys: tuple[Mapping[str, str], ...]
    """Each with `format`, `fingerprint` and `public`."""
    former: tuple[tuple[str, Mapping[str, str]], ...] = ()
    """Revoked keys, each with the head that the last letters had printed then."""
    mailbox: str = ""
    """For a player who had no key at the start: the hash that stands for the mailbox, see `NamedMailbox`."""
    named: NamedMailbox | None = None
    """The paper with that hash, where it is at hand."""
    keyless: str = ""
    """The head that the last letters had printed when such a player got the first key."""

    def document(self) -> JsonObject:
        """The player as the transcript lists it: a JSON object."""
        mailbox = {"mailbox": self.mailbox} if self.mailbox else {}
        return {"name": self.name, "keys": [dict(key) for key in self.keys], **mailbox}

    @classmethod
    def read(cls, document: JsonObject) -> Player:
        """The player of such an object; raises LookupError and TypeError."""
        return cls(str(document["name"]), tuple(document["keys"]), mailbox=str(document.get("mailbox", "")))

    @property
    def ever(self) -> tuple[Mapping[str, str], ...]:
        """The keys that count, and then those that counted earlier."""
        return (*self.keys, *(key for _, key in self.former))

    @property
    def public_keys(self) -> list[str]:
        """The keys that letters told here may be signed with: a revoked one signed what was entered before."""
        return [key["public"] for key in self.ever]

    def keys_at(self, prev: str) -> tuple[Mapping[str, str], ...]:
        """The keys for letters that cite this head: keys revoked since then count, too."""
        return (*self.keys, *(key for cited, key in self.former if cited == prev))

    def mailbox_at(self, prev: str) -> bool:
        """True if letters without a signature count if this head is the last one printed."""
        return bool(self.mailbox) and (not (self.keys or self.keyless) or self.keyless == prev)

    def counts(self, level: str, key: str, prev: str) -> bool:
        """True if a letter that came at this level, by this key, counts if this head is the last one printed."""
        if level == "mailbox":
            return self.mailbox_at(prev)
        return any(pinned["fingerprint"] == key for pinned in self.keys_at(prev))


class KeyChange(msgspec.Struct, frozen=True):
    """One change: "added", "revoked" or "replaced" (the new key takes the place of all others)."""

    change: str
    how: str
    added: tuple[Mapping[str, str], ...] = ()
    revoked: tuple[str, ...] = ()
    """Fingerprints."""
    letters: Mapping[str, bytes] = {}
    """The letter signed by an old key ("old"), and the one signed by the new key ("new")."""

    def body(self, seat: int) -> JsonObject:
        """The body of the entry for this change."""
        return {
            "seat": seat,
            "change": self.change,
            "how": self.how,
            "added": [dict(key) for key in self.added],
            "revoked": sorted(self.revoked),
            "letters": {who: sha256_hex(letter) for who, letter in self.letters.items()},
        }

    @staticmethod
    def path(seq: int, seat: int, who: str) -> str:
        """The path of a letter of the change in the bundle."""
        return f"letters/keys-{seq}-seat-{seat}-{who}.eml"

    @classmethod
    def read(cls, body: JsonObject, letters: Mapping[str, bytes]) -> KeyChange:
        """The change in a transcript, with these letters; raises LookupError, TypeError and ValueError."""
        change = cls(
            str(body["change"]),
            str(body["how"]),
            tuple({str(name): str(value) for name, value in key.items()} for key in body["added"]),
            tuple(str(fingerprint) for fingerprint in body["revoked"]),
            letters,
        )
        change.check()
        return change

    def check(self) -> None:
        """Check that it is a change, with the letters that prove it; raises ValueError and LookupError."""
        if _LETTERS[self.change][self.how] != tuple(sorted(self.letters, reverse=True)):
            raise ValueError("the letters are not those of such a change")
        if len(self.added) != ("new" in self.letters):
            raise ValueError("not one new key")

    def after(self, player: Player, prev: str) -> Player:
        """The player after the change; `prev` is the head that the last letters printed; raises ValueError."""
        fingerprints = sorted(key["fingerprint"] for key in player.keys)
        known = {*fingerprints, *(key["fingerprint"] for _, key in player.former)}
        if not known.isdisjoint(new["fingerprint"] for new in self.added):
            raise ValueError("the new key is known already")
        revoked = sorted(self.revoked)
        wanted = {"added": [], "replaced": fingerprints}.get(self.change, revoked)
        if revoked != wanted or not set(revoked) <= set(fingerprints):
            raise ValueError("the keys that count no longer are not those of the seat")
        kept = tuple(key for key in player.keys if key["fingerprint"] not in self.revoked)
        gone = tuple((prev, key) for key in player.keys if key["fingerprint"] in self.revoked)
        if self.change == "revoked" and not len(gone) == 1 <= len(kept):
            raise ValueError("one key is revoked, and another must be left")
        keyless = player.keyless or ("" if player.keys else prev)
        return replace(player, keys=(*kept, *self.added), former=(*player.former, *gone), keyless=keyless)
