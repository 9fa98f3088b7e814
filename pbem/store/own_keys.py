"""The two keys that a store belongs to, recorded in it when it is made, and the name: checked at every start.

Without store.key nothing in the store opens, and with another signing.key no running match could be proved. So a
key is made only for a new store, and a start with other keys writes nothing. What players sign names the server:
under another name, no running match could go on. Implements reliability.md, case 37.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pbem.store.disk import THIS_DISK
from pbem.store.errors import StoreError
from pbem.store.vault import KeyFileError, Sealed, Vault, load_key, load_or_create_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pbem.store.database import Database
    from pbem.store.disk import Disk

_SEALED = "key check"
_SIGNED = "signing key"
_BACK = 'bring back the one it was made with (docs/operating.md, "A key is lost")'


class ForeignKeysError(StoreError):
    """These keys are not those of this store."""


class OwnKeys(NamedTuple):
    """The vault of a store, and the key that its transcripts are signed with."""

    vault: Vault
    signing: Ed25519PrivateKey

    @property
    def public(self) -> str:
        """The key by which players know this server, 64 hex digits."""
        return self.signing.public_key().public_bytes_raw().hex()


def load(store_key: Path, signing_key: Path, random: Callable[[int], bytes]) -> OwnKeys:
    """The keys of these files; raises `KeyFileError`."""
    return OwnKeys(Vault(load_key(store_key), random), Ed25519PrivateKey.from_private_bytes(load_key(signing_key)))


def make(store_key: Path, signing_key: Path, random: Callable[[int], bytes], disk: Disk = THIS_DISK) -> OwnKeys:
    """The keys of a new store, made where a start that broke off has not made them yet; raises `KeyFileError`."""
    for path in (store_key, signing_key):
        try:
            load_or_create_key(path, random, disk)
        except OSError as error:
            raise KeyFileError(f"{path} cannot be written: {error.strerror}") from error
    return load(store_key, signing_key, random)


def begun(database: Database) -> bool:
    """True if a store has keys that it belongs to: a first start that broke off leaves one that has none."""
    return database.engine.version > 0 and database.meta(_SEALED) is not None


def note(database: Database, keys: OwnKeys) -> None:
    """Note the keys of a store that has none noted."""
    with database.transaction():
        if database.meta(_SEALED) is None:
            database.set_meta(_SEALED, keys.vault.seal(b"pbem", _SEALED).hex())
            database.set_meta(_SIGNED, keys.public)


def check(database: Database, keys: OwnKeys) -> None:
    """Make sure that these are the keys of a store, before anything is written; raises `ForeignKeysError`."""
    try:
        if sealed := database.meta(_SEALED):
            keys.vault.open(bytes.fromhex(sealed), _SEALED)
    except (Sealed, ValueError):
        raise ForeignKeysError(f"store.key is not the key of this store: {_BACK}") from None
    if (database.meta(_SIGNED) or keys.public) != keys.public:
        raise ForeignKeysError(f"signing.key is not the key that this store signs with: {_BACK}")


def check_name(database: Database, server: str) -> None:
    """Make sure that matches are not continued under another name than that for which players sign."""
    running = "SELECT number FROM matches WHERE phase IN ('setup', 'playing') ORDER BY number DESC"
    for row in database.each(running):
        entry = database.scalar("SELECT entry FROM entries WHERE match = ? AND seq = 1", (row["number"],))
        try:
            named = json.loads(entry)["body"]["server"]
        except (ValueError, TypeError, LookupError):
            continue  # one match that cannot be read stops no other
        if named != server:
            raise StoreError(
                f"m{row['number']} is a match of {named}, and its players sign for that name:"
                f' write server = "{named}" again, and end such matches before it becomes {server}'
            )
        return
