"""`stop`: an address wants no more mail, and the proofs that its owner said so.

A letter that is signed, or that proves its mailbox, counts at once. Anybody may have sent any other `stop`: the
address is asked, at most once a week, and only an answer from there counts. If nobody vouches for the letter, the
question repeats nothing of it. Implements protocol.md, "Commands" (`stop`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.desk.answer_letter import SHORT
from pbem.desk.caller import Trust
from pbem.letters.draft import OutgoingLetter
from pbem.store.database import to_db

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.desk.caller import Caller
    from pbem.desk.wiring import Desk

_A_WEEK = timedelta(days=7)


def stop(desk: Desk, caller: Caller, place: Mapping[str, str]) -> bool:
    """Send the address no more mail, if its owner said so; otherwise ask there. Returns True if its owner did.

    `place` is the place that the letter names.
    """
    answered = next((token for token in caller.tokens if token.purpose == "stop"), None)
    if answered is not None:
        desk.mailboxes.use(answered, caller.letter, caller.now)
    elif not (caller.new and _says_its_place(desk, caller, place)):
        _ask(desk, caller)
        return False
    desk.people.opt_out(caller.address, to_db(caller.now))
    return True


def _says_its_place(desk: Desk, caller: Caller, place: Mapping[str, str]) -> bool:
    """True if the letter is this player's, for this server; a signed one that does not say so proves nothing."""
    wanted = {"server": desk.config.server, "player": caller.player.name if caller.player else ""}
    return caller.player is not None and (caller.verdict.kind != "valid" or place == wanted)


def _ask(desk: Desk, caller: Caller) -> None:
    address, now = caller.address, caller.now
    if desk.people.opted_out(address) or desk.mailboxes.asked("stop", address, _A_WEEK, now):
        return
    out = OutgoingLetter(SHORT, desk.letters.draft("letters/stop.txt"), asks=True, language=caller.language)
    out.reply_to = desk.mailboxes.ask("stop", address, caller.player.name if caller.player else "", now)
    if caller.trust is not Trust.STRANGER:
        out.answer(caller.letter)
    desk.letters.send(address, out, now)
