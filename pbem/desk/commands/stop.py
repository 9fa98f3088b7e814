"""`stop`: an address wants no more mail, and the proofs that its owner said so.

A letter that is signed, or that proves its mailbox, counts at once. Anybody may have sent any other `stop`: the
address is asked, at most once a week, and only an answer from there counts. If nobody vouches for the letter, the
question repeats nothing of it. Implements protocol.md, "Commands" (`stop`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.desk.caller import SHORT, Caller, Trust
from pbem.letters.draft import OutgoingLetter
from pbem.store.database import to_db

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.desk.account_keys import Keyring
    from pbem.store.people import People

_A_WEEK = timedelta(days=7)


def stop(keys: Keyring, people: People, caller: Caller, place: Mapping[str, str]) -> bool:
    """Send the address no more mail, if its owner said so; otherwise ask there. Returns True if its owner did.

    `place` is the place that the letter names.
    """
    address, now, player = caller.address, caller.now, caller.player.name if caller.player else ""
    # A signed letter that does not say that it is this player's, for this server, proves nothing.
    says_place = caller.verdict.kind != "valid" or place == {"server": keys.config.server, "player": player}
    answered = next((token for token in caller.tokens if token.purpose == "stop"), None)
    if answered is not None:
        keys.mailboxes.use(answered, caller.letter, now)
    elif not (caller.new and player and says_place):
        if not people.opted_out(address) and not keys.mailboxes.asked("stop", address, _A_WEEK, now):
            text = keys.seats.letters.draft("letters/stop.txt")
            out = OutgoingLetter(SHORT, text, asks=True, language=caller.language)
            out.reply_to = keys.mailboxes.ask("stop", address, player, now)
            if caller.trust is not Trust.STRANGER:
                out.answer(caller.letter)
            keys.seats.letters.send(address, out, now)
        return False
    people.opt_out(address, to_db(now))
    return True
