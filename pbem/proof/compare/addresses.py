"""The reply addresses that letters brought to a player without a key, and what the bundle says that they were for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.transcript import announcement
from pbem.proof.compare.difference import differs, not_signed_by_the_server
from pbem.proof.compare.finding import Finding
from pbem.proof.compare.letter_facts import is_signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.compare.letter_facts import Shown


def compare(letter: Shown) -> Iterator[Finding]:
    """The finding about each address of a letter by which another letter counted in the bundle."""
    index = letter.index
    for address in letter.kept.addresses:
        used = index.addresses.get(address.token)
        if (address.server, address.match) != index.place or used is None:
            continue
        what = "reply address"
        if not is_signature(index.key, address.signature, announcement(address.server, address.bulletin)):
            yield not_signed_by_the_server(index, what, None, None)
        elif used.place == address.place:
            yield Finding("agrees", what, used.place)
        else:
            reason = f"it was for {address.place}, and {used.path} says for {used.place}"
            yield differs(index, what, reason, is_signed=True)
