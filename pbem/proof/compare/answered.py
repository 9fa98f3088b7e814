"""The outcomes of letters that answers told, compared with what the bundle says that these letters did.

So nothing that the server refused, or only asked about, can stand in a bundle as if it had been obeyed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.transcript import announcement, utc
from pbem.proof.compare.difference import differs
from pbem.proof.compare.letter_facts import is_signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.compare.finding import Finding
    from pbem.proof.compare.letter_facts import Shown

OBEYED = {"done", "again"}


def compare(letter: Shown) -> Iterator[Finding]:
    """The finding about each command that the letter calls refused or asked about, although the bundle has it obeyed.

    The same octets may come again, and then have another outcome: what was refused may be obeyed, and what was obeyed
    is refused once its turn is over. But at one time they come only once.
    """
    index, answered = letter.index, letter.kept.answered
    obeyed = {(one.mail, one.command) for one in answered if one.outcome in OBEYED}
    for told in answered:
        used = index.used.get((told.mail, told.command))
        if used is None or (told.mail, told.command) in obeyed or told.server != index.server:
            continue
        if utc(used.received) != utc(told.received):
            continue
        if is_signature(index.key, told.signature, announcement(told.server, told.bulletin)):
            reason = f"it says that `{told.command}` was {told.outcome}, and {used.where} that it was obeyed"
            yield differs(index, "answer", reason, is_signed=True)
