"""The outcome of a letter that came, for the player, a person or a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from pbem.player.memory import SentForm


Kind = Literal[
    "foreign",
    "unpinned",
    "forged",
    "doubled",
    "news",
    "answer",
    "challenge",
    "account",
    "open",
    "contradiction",
    "forgotten",
    "unread",
    "bounced",
]


class Event(msgspec.Struct, frozen=True):
    """The outcome of a letter: its kind, the match that it is about, and what the player should know.

    `foreign`: not from this server; `unpinned`: it says so, but no key is known yet that would prove it; `forged`: it
    says so, and is not, or not for this player; `doubled`: it was read before; `news` about a match; an `answer` to a
    letter of ours; a `challenge`; an `account`; the `open` list; a `contradiction`, which accuses the server;
    `forgotten`: the server was restored from a backup, and told something before that it does not know any more;
    `unread`: what another player signed cannot be read; `bounced`: a letter of ours came back.
    """

    kind: Kind
    subject: str = ""
    match: str = ""
    said: str = ""
    faults: tuple[str, ...] = ()
    sent: SentForm | None = None
