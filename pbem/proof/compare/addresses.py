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
        if used is None or address.server != index.place[0]:
            continue
        told = (address.match, address.place)
        if told == (used.match, used.place) and address.match != index.place[1]:
            continue  # a player may agree in the answer to a letter about another match
        what = "reply address"
        if not is_signature(index.key, address.signature, announcement(address.server, address.bulletin)):
            yield not_signed_by_the_server(index, what, None, None)
        elif told == (used.match, used.place):
            yield Finding("agrees", what, used.place)
        else:
            reason = f"it was for {' '.join(told)}, and {used.path} says for {used.match} {used.place}"
            yield differs(index, what, reason, is_signed=True)
