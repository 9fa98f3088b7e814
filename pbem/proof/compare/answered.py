"""The outcomes of letters that answers told, compared with what the transcript says that these letters did.

So nothing that the server refused, or only asked about, can stand there as if it had been obeyed; and nothing that it
said to have obeyed at once can be missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.transcript import announcement, utc
from pbem.proof.compare.difference import differs
from pbem.proof.compare.finding import Finding
from pbem.proof.compare.letter_facts import is_signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.proof.compare.letter_facts import ShownLetter
    from pbem.proof.kept import Answered

OBEYED = {"done", "again"}

AT_ONCE = {"draw", "annul", "extend", "claim", "resign", "step", "reveal", "enter", "leave", "challenge", "rule"}
"""The commands that have an entry of their own as soon as they are done."""

BY_RECEIPT = {"setup", "seal", "orders", "clear"}
"""The commands whose answer brings a paper, which the transcript accounts for: `pbem.proof.fates`."""

OVER = {"decline", "withdraw"}
"""The commands after which a match never begins."""


def compare(letter: ShownLetter) -> Iterator[Finding]:
    """The finding about each command of which the letter tells another outcome than the transcript.

    The same octets may come again, and then have another outcome: what was refused may be obeyed, and what was obeyed
    is refused once its turn is over. But at one time they come only once.
    """
    index, answered = letter.index, letter.kept.answered
    obeyed = {(one.mail, one.command) for one in answered if one.outcome in OBEYED}
    for told in answered:
        used = index.used.get((told.mail, told.command))
        if used is None:
            found = _missing(letter, told)
        elif (told.mail, told.command) in obeyed or utc(used.received) != utc(told.received):
            continue
        else:
            reason = f"it says that `{told.command}` was {told.outcome}, and {used.where} that it was obeyed"
            found = differs(index, "answer", reason, is_signed=True)
        if found is None or told.server != index.server:
            continue
        if is_signature(index.key, told.signature, announcement(told.server, told.bulletin)):
            yield found


def _missing(letter: ShownLetter, told: Answered) -> Finding | None:
    """The finding about a letter that was done, and of which the transcript says nothing; None if it need not."""
    index = letter.index
    if told.outcome != "done" or told.about != index.place[1]:
        return None
    reason = f"it says that `{told.command}` was done, and "
    if told.command in BY_RECEIPT:
        mail = f"\nmail {told.mail}\n".encode()
        if any(mail in way for one in letter.kept.attached for way in one.ways):
            return None
        return Finding("open", "answer", reason + "does not bring the receipt")
    if told.command in AT_ONCE and index.goes_on and letter.ahead:
        return Finding("later", "answer", reason + "the bundle does not have that yet; ask for a newer one")
    if told.command in AT_ONCE | OVER:
        return differs(index, "answer", reason + "no entry is of it", is_signed=True)
    return None
