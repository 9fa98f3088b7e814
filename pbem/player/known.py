"""The facts that a player's memory keeps beside letters and forms: each kind is a type, read and written whole.

A kind belongs to the account or to a match: `Memory.known` takes
that place, and gives a fact without any content where nothing is known yet. Only types.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from pbem.json_object import JsonObject  # noqa: TC001 - msgspec reads the annotations


class Known(msgspec.Struct, omit_defaults=True):
    """A kind of facts, and the name under which the memory keeps it."""

    kind: ClassVar[str]


class AccountKnown(Known):
    """The server, as its newest letter had it, and the dialogue that opens the account."""

    kind = "account"

    server_key: str | None = None
    generation: int = 1
    """The number of times that the server was restored from a backup, plus one."""
    fingerprint: str = ""
    """The fingerprint of the key that was last registered, or what stands for it without a key."""
    challenge: str = ""
    asked_by: str = ""
    """The Message-ID of the letter that asked whether the mailbox is ours."""
    name: str | None = None
    """The name of the account, once it is open."""


class OpenMatches(Known):
    """The open list, by the newest answer to `list`: the items of its bulletin."""

    kind = "open"

    items: list[JsonObject] = []


class MatchKnown(Known):
    """A match: what was agreed on, what is held against the server, and the last proof."""

    kind = "match"

    agreed: JsonObject | None = None
    """The terms to which we agreed from here."""
    sealed: bool = False
    accused: str | None = None
    """The contradiction that was found."""
    taken_back: list[str] = []
    """The accusations that the player took back."""
    keys: dict[str, list[str]] = {}
    """The public keys of each seat in a sealed match, as they were told first."""
    begun: dict[int, tuple[str, JsonObject]] = {}
    """The hash of the terms, and the options, of each sealed game, as they were told first."""
    proved: int = 0
    """The number of ended games when the bundle was last verified."""
