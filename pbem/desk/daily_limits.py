"""The table of daily limits of notices and answers, and the counts that read it.

Strangers can bring about most of these letters, so none of them is sent as often as it is asked for. A limit from the
configuration, or from the row of a command, is handed to them. Implements reliability.md, "Limits".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pbem.store.retention import count_today

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.store.database import Database


class DailyLimit(NamedTuple):
    """One row: the mark in the store, with gaps for whom or what it is about; the most a day; the letter."""

    mark: str
    most: int = 0
    """Zero where the configuration or the command says it."""
    template: str = ""
    """The letter to the operator that is counted."""


# Senders whom nobody vouches for, or in whose name somebody else may have written.

ANSWER_TO_STRANGER = DailyLimit("answers to {}", 3)
"""A mailbox: a short answer."""

REGISTERING_STRANGER = DailyLimit("answers to register to {}", 1)
"""A mailbox that got those: one more, to a `register`."""

ANSWER_TO_STRANGERS = DailyLimit("answers to strangers")
"""All such mailboxes together: both of them; `limits.answers_to_strangers`."""

REFUSED_SIGNATURE = DailyLimit("notices {}", 10)
"""A mailbox: that a letter in its name was refused for its signature."""

REFUSED_SIGNATURE_IN_ANSWER = DailyLimit("notices answered {}", 10)
"""A mailbox: the same of letters that answer ours: a machine may have written and signed them."""

NEW_MAILBOX = DailyLimit("{} at {}", 50)
"""A domain: the answer to the day's first letter of a mailbox that is no player's, `registering` or not.

Help desks answer each time from another address, and must not use up what newcomers need; a person who writes again
is answered.
"""

UNSIGNED = DailyLimit("unsigned {}", 50)
"""A mailbox: the answer to an unsigned letter, which anybody can write in its name."""

CHANGES_NOTHING = DailyLimit("changing nothing {}", 50)
"""A mailbox: the answer to an unsigned answer to ours that changes nothing: a machine may have written it."""

SIGNED_FOR_NOTHING = DailyLimit("signed for nothing {}", 200)
"""A player: the answer to a letter that a key signed and that changes nothing: gateways sign what machines write."""

WITHOUT_COMMAND = DailyLimit("without a command {}", 3)
"""A mailbox: the answer to an unsigned letter without a command, as answering machines write them."""

SAME_WORDS = DailyLimit("the same words {}", 30)
"""A mailbox, or a key's player, and commands at one place of a match: the answer to them, even if they had effect.

People and programs ask often, but not without end; gateways sign what answering machines write.
"""

# Players.

COMMAND = DailyLimit("{} {} {}")
"""A player: the answer to a command, by its row; separately for what others may write in the player's name."""

UNASKED = DailyLimit("unasked {}", 3)
"""A player: at once of a match with strangers; what comes after is named in one letter a day."""

SET_ASIDE = DailyLimit("set aside {}", 3)
"""A player's address: that a letter from there was set aside."""

RECOVERY = DailyLimit("recoveries {}", 5)
"""A player: that somebody says the keys are lost, in a letter that anybody can have written."""

RECOVERY_CONFIRMED = DailyLimit("recoveries confirmed {}", 5)
"""A player and the opponents: that a recovery by the mailbox alone waits for its delay."""

WRONG_CODE = DailyLimit("wrong codes {}")
"""The log: a wrong recovery code of a player, as a warning beyond `recovery.codes_per_day`; all are refused alike."""

ADDRESS_CHALLENGE = DailyLimit("address challenges {}", 5)
"""An address that a player names, and that need not have asked for it: a challenge."""

NOTIFY_CODE = DailyLimit("notify codes {}", 3)
"""A topic beside the mail, by its hash: a code for whoever named it."""

NOTIFICATION = DailyLimit("notifications {}", 30)
"""A player's topic: that something is due."""

NAMED = DailyLimit("named {}", 3)
"""A mailbox that players name, however they write its address: what they want sent there."""

NAMED_BY_PLAYERS = DailyLimit("named by players")
"""The same of all mailboxes together."""

KEY_CHANGE = DailyLimit("key changes {}", 10)
"""A player's opponents: that the keys changed."""

OUT_OF_REACH = DailyLimit("lost {}", 3)
"""A player's opponents: that letters no longer reach the player, who was heard from in between."""

# The operator.

PASSED_ON = DailyLimit("letters passed on", 20, "passed_on")
"""The operator: a letter to a role address, to which anybody may write."""

LETTER_SET_ASIDE = DailyLimit("letters set aside", 10, "operator")
"""The operator: that a letter was set aside; strangers may send many such."""

UNDELIVERED = DailyLimit("letters of failures", 10, "undelivered")
"""The operator: letters that were not delivered; a forged From must not fill a mailbox."""

CLOCK_LEAPT = DailyLimit("leaps of the clock", 5, "clock")
"""The operator: that the clock leapt, nobody vouches for it, and nothing is decided."""

OUTAGE = DailyLimit("outages", 5, "outage")
"""The operator: that the server was down, or its clock stood, and deadlines move."""

RULES_FAILED = DailyLimit("failed rules {}", 3, "rules_failed")
"""The operator: that the rules of another package failed, and a match is paused."""

UNKNOWN_HEAD = DailyLimit("unknown heads {}", 3, "unknown_head")
"""The operator: that a player cites a head which a match's transcript never had."""

WITNESS_REFUSED = DailyLimit("witness {}", 3, "witness_refused")
"""The operator: that a witness does not cosign."""

LITTLE_ROOM = DailyLimit("little room", 1, "room")
"""The operator: that the disk is filling up."""

# Witnesses.

WITNESS_BEHIND = DailyLimit("witness {} behind", 50)
"""A witness: the request from the size that it named."""


@dataclass(eq=False, repr=False)
class DailyCounts:
    """The counts of today."""

    _database: Database

    def left(self, limit: DailyLimit, now: datetime, *about: str, most: int | None = None) -> int:
        """Count once more, in the caller's transaction; returns how many may follow today.

        0: this is the last one; -1: the first that is too many. `most` is the limit where its row has none.
        """
        return (limit.most if most is None else most) - count_today(self._database, limit.mark.format(*about), now)
