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
    from datetime import datetime

    from pbem.proof.compare.index import UsedLetter
    from pbem.proof.compare.letter_facts import ShownLetter
    from pbem.proof.kept import Answered

OBEYED = {"done", "again"}

AT_ONCE = {"draw", "annul", "extend", "claim", "resign", "step", "reveal", "enter", "leave", "challenge", "rule"}
"""The commands that have an entry of their own as soon as they are done."""

OVER = {"decline", "withdraw"}
"""The commands after which a match never begins."""


def compare(letter: ShownLetter) -> Iterator[Finding]:
    """The finding about each command of which the letter tells another outcome than the transcript.

    The same octets may come again, and then have another outcome: what was refused may be obeyed, and what was obeyed
    is refused once its turn is over. But at one time they come only once.
    """

    def came(one: UsedLetter | Answered) -> datetime:
        return utc(one.received)

    index, answered = letter.index, letter.kept.answered
    obeyed = {(one.mail, one.command) for one in answered if one.outcome in OBEYED}
    for told in answered:
        used = index.used.get((told.mail, told.command))
        reason = ""
        if used is None:
            stands = told.command in AT_ONCE | OVER and told.outcome == "done"
            if stands and (told.server, told.about) == index.place:
                reason = f"it says that `{told.command}` was done, and no entry is of it"
        elif (told.mail, told.command) not in obeyed and told.server == index.server and came(used) == came(told):
            reason = f"it says that `{told.command}` was {told.outcome}, and {used.where} that it was obeyed"
        if not reason or not is_signature(index.key, told.signature, announcement(told.server, told.bulletin)):
            continue
        if used is None and told.command in AT_ONCE and index.goes_on and letter.ahead:
            yield Finding("later", "answer", f"{reason}; ask for a newer one")
        else:
            yield differs(index, "answer", reason, is_signed=True)
