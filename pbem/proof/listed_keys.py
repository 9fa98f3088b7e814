"""The keys of players as a transcript lists them.

Implements protocol.md, "Transcript".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem import identity
from pbem.match.transcript import TranscriptError
from pbem.proof.bundle import LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pbem.identity import Key
    from pbem.match.transcript import Entry


@lru_cache(maxsize=256)
def parsed_key(public: str) -> Key:
    """A key as the transcript lists it, parsed once for all letters; pinned, so that it counts."""
    return replace(identity.parse_key(public), state="pinned")


def listed_keys(keys: Iterable[Mapping[str, str]]) -> list[Key]:
    """One player's listed keys; raises ValueError for more than anybody has, or if a fingerprint names another."""
    keys = tuple(keys)  # each may be tried
    if len(keys) > LIMITS.keys:
        raise ValueError(f"more than {LIMITS.keys} keys count for it")
    found = [parsed_key(key["public"]) for key in keys]
    for key, parsed in zip(keys, found, strict=True):
        if (parsed.format, parsed.fingerprint) != (key["format"], key["fingerprint"]):
            raise ValueError(f"the key {key['fingerprint']} is not the one that stands beside it")
    return found


def check_players(entry: Entry) -> None:
    """Check the keys of players that an entry lists: each once, by its fingerprint; who has none has a mailbox."""
    body = entry.body
    listed = body.get("players", {})  # of a tournament's result, a list of names
    named = [*(listed.values() if isinstance(listed, dict) else ()), body.get("player"), body.get("organiser")]
    players = [player for player in named if isinstance(player, dict)]
    try:
        if any(not (player["keys"] or "mailbox" in player) for player in players):
            raise ValueError("a player has neither a key nor a mailbox")
        for keys in (*(player["keys"] for player in players), body.get("added", ())):
            if len({key.fingerprint for key in listed_keys(keys)}) < len(keys):
                raise ValueError("a key is listed twice")
    except ValueError as error:
        raise TranscriptError(entry.seq, None, f"{entry.type}: {error}") from error
